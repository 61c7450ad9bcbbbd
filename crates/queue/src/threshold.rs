//! A FIFO that marks every packet above a threshold and none below it: what DCTCP expects of a switch (RFC 8257 section
//! 3.1).
//!
//! The threshold is a depth, held against what an arriving packet finds, or a time, held against how long a departing
//! packet waited: the native step of a DualPI2's low-latency queue (RFC 9332 appendix A.1), and what the `ce_threshold`
//! of Linux's codel and fq_codel does.
//!
//! Which packets it may mark is a choice: all that are capable (RFC 3168 section 5 makes ECT(0) and ECT(1) equal; data
//! centres), or only those that ask for L4S with ECT(1) (RFC 9331 section 5: a sender of ECT(0) takes each mark for a
//! loss, and a step would starve it). Packets that it may not mark pass, and are dropped only for want of room; `red`
//! with equal thresholds and a weight of 1 drops them at the step.
//!
//! Left out: a queue of its own for ECT(1), and the coupling to another (RFC 9332): this is one queue.

use crate::{Backlog, Fifo, FifoConfig, Limit, Qdisc, QueuedPacket, Threshold, Waiting};
use lopsided_core::{Bytes, Cx, Duration, Ecn, MarkReason, Packet};
use lopsided_spec::{Amount, Choice, Fault, Key, Part, Scalar, Value, ValueType, key};

/// A step-marking queue as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThresholdConfig {
    pub limit: Limit,
    pub mark_threshold: MarkThreshold,
    pub ect: Markable,
}

impl Default for ThresholdConfig {
    /// Marks every packet that had to wait.
    fn default() -> ThresholdConfig {
        let mark_threshold = MarkThreshold::Sojourn(Duration::ZERO);
        ThresholdConfig { limit: Limit::default(), mark_threshold, ect: Markable::Ect }
    }
}

impl Part for ThresholdConfig {
    const NAME: &'static str = "step";
    const TEXT: &'static str = "Marks all packets above a threshold, as DCTCP wants.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<ThresholdConfig>] = &[
        key("limit", |step: &mut Self| &mut step.limit, "What the queue may hold."),
        key(
            "mark_threshold",
            |step: &mut Self| &mut step.mark_threshold,
            "A packet is marked that finds more than this waiting, such as \"20 packets\" or \"30 kB\", or that has waited longer \
             than this, such as \"1 ms\".",
        )
        .required("\"20 packets\" or \"1 ms\""),
        key(
            "ect",
            |step: &mut Self| &mut step.ect,
            "Which packets may be marked: all that are capable of ECN, or those of ECT(1) alone, which ask for low latency \
             (RFC 9331).",
        ),
    ];
}

/// Position of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkThreshold {
    /// A packet is marked that finds more than this waiting.
    Depth(Threshold),
    /// A packet is marked that waited longer than this.
    Sojourn(Duration),
}

impl Scalar for MarkThreshold {
    const TYPE: ValueType = ValueType::DepthOrTime;

    fn to_value(&self) -> Value {
        match *self {
            MarkThreshold::Depth(depth) => depth.to_value(),
            MarkThreshold::Sojourn(longest) => Value::Amount(Amount::Time(longest)),
        }
    }

    fn from_value(value: Value) -> Result<MarkThreshold, String> {
        match value {
            Value::Amount(Amount::Time(longest)) => Ok(MarkThreshold::Sojourn(longest)),
            depth => Threshold::from_value(depth).map(MarkThreshold::Depth),
        }
    }
}

/// Which packets may be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markable {
    /// Packets with ECT(0) or ECT(1).
    Ect,
    /// Packets with ECT(1).
    Ect1,
}

impl Choice for Markable {
    const WORDS: &'static [(&'static str, Markable)] = &[("ect", Markable::Ect), ("ect1", Markable::Ect1)];
}

/// A FIFO with a step.
#[derive(Debug)]
pub struct ThresholdFifo {
    fifo: Fifo,
    mark_threshold: MarkThreshold,
    ect: Markable,
}

impl ThresholdFifo {
    pub fn new(config: &ThresholdConfig) -> Result<ThresholdFifo, Fault> {
        let fifo = Fifo::new(&FifoConfig::new(config.limit))?;
        Ok(ThresholdFifo { fifo, mark_threshold: config.mark_threshold, ect: config.ect })
    }

    fn mark(&self, packet: &mut Packet, cx: &mut Cx<'_>) {
        if self.ect == Markable::Ect || packet.ecn() != Ecn::Ect0 {
            cx.mark(packet, MarkReason::Threshold);
        }
    }
}

impl Qdisc for ThresholdFifo {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        if let MarkThreshold::Depth(depth) = self.mark_threshold {
            if depth.measure(self.fifo.backlog()) > depth.count() && self.fifo.room().fits(packet.size()) {
                self.mark(&mut packet, cx);
            }
        }
        self.fifo.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let mut given = self.fifo.dequeue(cx)?;
        if let MarkThreshold::Sojourn(longest) = self.mark_threshold {
            if cx.now() - given.enqueued_at > longest {
                self.mark(&mut given.packet, cx);
            }
        }
        Some(given)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        self.fifo.peek(cx)
    }

    fn removes(&self) -> bool {
        true
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        self.fifo.remove(waiting, cx)
    }
}
