//! A FIFO that marks every packet above a threshold and none below it: what DCTCP expects of a switch (RFC 8257 section 3.1).
//!
//! The threshold is a depth, held against what an arriving packet finds, or a time, held against how long a departing packet waited: the
//! native step of a DualPI2's low-latency queue (RFC 9332 appendix A.1), and what the `ce_threshold` of Linux's codel and fq_codel does.
//!
//! Which packets it may mark is a choice: all that are capable (RFC 3168 section 5 makes ECT(0) and ECT(1) equal; data centres), or only those
//! that ask for L4S with ECT(1) (RFC 9331 section 5: a sender of ECT(0) takes each mark for a loss, and a step would starve it). Packets that
//! it may not mark pass, and are dropped only for want of room; `red` with equal thresholds and a weight of 1 drops them at the step.
//!
//! Left out: a queue of its own for ECT(1), and the coupling to another (RFC 9332): this is one queue.

use crate::{Backlog, Fifo, FifoConfig, Limit, Qdisc, QueueError, QueuedPacket, Threshold};
use lopsided_core::{Bytes, Cx, Duration, Ecn, Packet};

/// A step-marking queue as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThresholdConfig {
    pub limit: Limit,
    pub above: MarkThreshold,
    pub marks: Markable,
}

/// Where the step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkThreshold {
    /// A packet is marked that finds more than this waiting.
    Depth(Threshold),
    /// A packet is marked that waited longer than this.
    Sojourn(Duration),
}

/// Which packets may be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markable {
    /// Those of ECT(0) and ECT(1).
    Ect,
    /// Those of ECT(1).
    Ect1,
}

/// A FIFO with a step.
#[derive(Debug)]
pub struct ThresholdFifo {
    fifo: Fifo,
    above: MarkThreshold,
    marks: Markable,
}

impl ThresholdFifo {
    pub fn new(config: &ThresholdConfig) -> Result<ThresholdFifo, QueueError> {
        Ok(ThresholdFifo { fifo: Fifo::new(&FifoConfig::new(config.limit))?, above: config.above, marks: config.marks })
    }

    fn mark(&self, packet: &mut Packet, cx: &mut Cx<'_>) {
        if self.marks == Markable::Ect || packet.ecn != Ecn::Ect0 {
            cx.mark(packet);
        }
    }
}

impl Qdisc for ThresholdFifo {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        if let MarkThreshold::Depth(depth) = self.above {
            if depth.measure(self.fifo.backlog()) > depth.count() && self.fifo.room().fits(packet.size()) {
                self.mark(&mut packet, cx);
            }
        }
        self.fifo.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let mut given = self.fifo.dequeue(cx)?;
        if let MarkThreshold::Sojourn(longest) = self.above {
            if cx.now() - given.enqueued_at > longest {
                self.mark(&mut given.packet, cx);
            }
        }
        Some(given)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn head_size(&self) -> Option<Bytes> {
        self.fifo.head_size()
    }
}
