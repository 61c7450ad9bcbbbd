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

use crate::{Backlog, Depth, Fifo, FifoConfig, Limit, Qdisc, QueueError, Waiting};
use lopsided_core::{Bytes, Cx, Ecn, Packet, Span};

/// A step-marking queue as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepConfig {
    pub limit: Limit,
    pub above: Step,
    pub marks: Markable,
}

/// Where the step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A packet is marked that finds more than this waiting.
    Depth(Depth),
    /// A packet is marked that waited longer than this.
    Sojourn(Span),
}

/// Which packets may be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markable {
    /// Those of ECT(0) and ECT(1).
    Capable,
    /// Those of ECT(1).
    LowLatency,
}

/// A FIFO with a step.
#[derive(Debug)]
pub struct StepFifo {
    fifo: Fifo,
    above: Step,
    marks: Markable,
}

impl StepFifo {
    pub fn new(config: &StepConfig) -> Result<StepFifo, QueueError> {
        Ok(StepFifo { fifo: Fifo::new(&FifoConfig::new(config.limit))?, above: config.above, marks: config.marks })
    }

    fn mark(&self, packet: &mut Packet, cx: &mut Cx<'_>) {
        if self.marks == Markable::Capable || packet.ecn != Ecn::Capable0 {
            cx.mark(packet);
        }
    }
}

impl Qdisc for StepFifo {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        if let Step::Depth(depth) = self.above
            && depth.measure(self.fifo.backlog()) > depth.count()
            && self.fifo.room().fits(packet.size())
        {
            self.mark(&mut packet, cx);
        }
        self.fifo.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        let mut given = self.fifo.dequeue(cx)?;
        if let Step::Sojourn(longest) = self.above
            && cx.now() - given.since > longest
        {
            self.mark(&mut given.packet, cx);
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
