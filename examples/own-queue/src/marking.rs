//! A drop-tail queue that marks an arriving packet if the queue already contains at least a given number of packets.

use lopsided_core::{Bytes, Cx, DropReason, MarkReason, Packet};
use lopsided_queue::{Backlog, Discipline, Limit, Qdisc, Queue, QueuePlace, QueuedPacket};
use lopsided_spec::{Fault, Key, Part, ValueType, key};
use std::collections::VecDeque;

/// The keys of a scenario's `queue` table with `kind = "marking"`.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkingConfig {
    pub limit: Limit,
    pub mark_above: u32,
}

impl Default for MarkingConfig {
    fn default() -> MarkingConfig {
        MarkingConfig { limit: Limit::Packets(50), mark_above: 20 }
    }
}

impl Part for MarkingConfig {
    const NAME: &'static str = "marking";
    const TEXT: &'static str = "Marks what arrives behind a number of packets.";
    const KEYS: &'static [Key<MarkingConfig>] = &[
        key("limit", |config: &mut Self| &mut config.limit, "Packets that may wait."),
        key("mark_above", |config: &mut Self| &mut config.mark_above, "A packet that finds so many waiting is marked.")
            .typed(ValueType::Packets),
    ];

    fn check(&self) -> Result<(), Fault> {
        match self.limit {
            Limit::Packets(1..) => Ok(()),
            _ => Err(Fault::new("limit", "this counts packets, from 1 up")),
        }
    }
}

impl Discipline for MarkingConfig {
    fn build(&self, _place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        self.check()?;
        let MarkingConfig { limit: Limit::Packets(limit), mark_above } = *self else { unreachable!("it was checked") };
        Ok(Queue::Custom(Box::new(Marking { ring: VecDeque::new(), backlog: Backlog::default(), limit, mark_above })))
    }
}

#[derive(Debug)]
struct Marking {
    ring: VecDeque<QueuedPacket>,
    backlog: Backlog,
    limit: u32,
    mark_above: u32,
}

impl Qdisc for Marking {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        if self.backlog.packets >= self.limit {
            cx.drop(packet, DropReason::QueueFull);
            return;
        }
        if self.backlog.packets >= self.mark_above {
            // `mark` ignores packets that are not ECN-capable. It marks and counts all other packets.
            cx.mark(&mut packet, MarkReason::Threshold);
        }
        let size = packet.size();
        self.backlog.add(&packet, size, cx);
        self.ring.push_back(QueuedPacket { packet, enqueued_at: cx.now() });
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let head = self.ring.pop_front()?;
        self.backlog.remove(head.packet.size());
        Some(head)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// This method is optional. Without it, a token bucket removes the packet at the head of the queue and holds it
    /// until enough tokens are available.
    fn peek(&mut self, _cx: &mut Cx<'_>) -> Option<Bytes> {
        self.ring.front().map(|head| head.packet.size())
    }
}
