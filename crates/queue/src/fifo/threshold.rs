//! A FIFO that marks every packet above a threshold and none below it, as DCTCP requires of a switch (RFC 8257, section
//! 3.1).
//!
//! The threshold is a queue length or a time. A queue length is compared with the backlog when a packet arrives. A time
//! is compared with the sojourn time when a packet departs (RFC 9332, appendix A.1; `ce_threshold` of Linux's codel and
//! fq_codel).
//!
//! The setting `ect` selects the packets that may be marked: all ECN-capable packets (RFC 3168, section 5), or only L4S
//! packets with ECT(1) (RFC 9331, section 5). An L4S threshold marks so early that ECT(0) flows would starve. Packets
//! that may not be marked are dropped only if there is no room.
//!
//! Not modelled: a separate queue for ECT(1), and the coupling of two queues (RFC 9332).

use crate::{Backlog, Buffer, Fifo, FifoConfig, Limit, Qdisc, QueuedPacket, Threshold};
use lopsided_core::{Bytes, Cx, Duration, Ecn, MarkReason, Packet};
use lopsided_spec::{Amount, Choice, Fault, Key, Part, Scalar, Value, ValueType, key};

/// Settings of a queue that marks above a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThresholdConfig {
    /// Capacity of the queue.
    pub limit: Limit,
    /// The threshold.
    pub mark_threshold: MarkThreshold,
    /// The packets that may be marked.
    pub ect: Markable,
}

impl Default for ThresholdConfig {
    /// The default is a sojourn time of 0, so that every packet that has to wait is marked.
    fn default() -> ThresholdConfig {
        let mark_threshold = MarkThreshold::Sojourn(Duration::ZERO);
        ThresholdConfig { limit: Limit::default(), mark_threshold, ect: Markable::Ect }
    }
}

impl Part for ThresholdConfig {
    const NAME: &'static str = "step";
    const TEXT: &'static str = "Marks all packets above a threshold, as DCTCP requires.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<ThresholdConfig>] = &[
        key("limit", |step: &mut Self| &mut step.limit, "Limit of the queue."),
        key(
            "mark_threshold",
            |step: &mut Self| &mut step.mark_threshold,
            "A packet is marked if the queue on its arrival is longer than this value (such as \"20 packets\" or \"30 kB\"), or if it waited longer than this value (such as \"1 ms\").",
        )
        .required("\"20 packets\" or \"1 ms\""),
        key(
            "ect",
            |step: &mut Self| &mut step.ect,
            "Packets that may be marked: all ECN-capable packets (ect), or only packets with ECT(1), which request low latency (ect1, RFC 9331).",
        ),
    ];
}

/// The threshold above which packets are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkThreshold {
    /// A packet is marked if the backlog at its arrival exceeds this threshold.
    Depth(Threshold),
    /// A packet is marked if its sojourn time exceeds this threshold.
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

/// The packets that may be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markable {
    /// Packets with ECT(0) or ECT(1).
    Ect,
    /// Packets with ECT(1) only.
    Ect1,
}

impl Choice for Markable {
    const WORDS: &'static [(&'static str, Markable)] = &[("ect", Markable::Ect), ("ect1", Markable::Ect1)];
}

/// A FIFO queue that marks above a threshold.
#[derive(Debug)]
pub struct ThresholdFifo {
    fifo: Fifo,
    mark_threshold: MarkThreshold,
    ect: Markable,
}

impl ThresholdFifo {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// Returns an error if the limit is zero.
    pub fn new(config: &ThresholdConfig) -> Result<ThresholdFifo, Fault> {
        let fifo = Fifo::new(&FifoConfig::new(config.limit))?;
        Ok(ThresholdFifo { fifo, mark_threshold: config.mark_threshold, ect: config.ect })
    }

    /// Sets CE if the packet is ECN-capable and the setting `ect` permits a mark.
    fn mark(&self, packet: &mut Packet, cx: &mut Cx<'_>) {
        // `cx.mark` ignores packets that are not ECN-capable.
        if self.ect == Markable::Ect || packet.ecn() != Ecn::Ect0 {
            cx.mark(packet, MarkReason::Threshold);
        }
    }
}

impl Qdisc for ThresholdFifo {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        if let MarkThreshold::Depth(depth) = self.mark_threshold {
            // Mark the packet only if there is room for it. Otherwise the FIFO drops the packet, and the mark must not
            // be counted.
            if depth.measure(self.fifo.backlog()) > depth.count() && self.fifo.room().fits(packet.size()) {
                self.mark(&mut packet, cx);
            }
        }
        self.fifo.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let mut given = self.fifo.dequeue(cx)?;
        if let MarkThreshold::Sojourn(longest) = self.mark_threshold {
            // RFC 9332, appendix A.1: mark only if the sojourn time is strictly longer than the threshold.
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

    fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        self.fifo.buffer_mut()
    }
}
