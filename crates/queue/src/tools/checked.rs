//! Checks after every operation that a discipline fulfils its contract. Each enqueued packet must be dequeued once, be
//! dropped once with a reason, or be part of the backlog. The packet's ECN field may change only by a mark that the
//! discipline reports.
//!
//! The discipline uses a private `Accounting`. The events of the private accounting are checked, and then copied to the
//! accounting of the run. The checks are slow, so use them only in tests and debug runs.

use crate::{Backlog, ClassStats, Qdisc, QueuedPacket, Sensing, Waiting};
use lopsided_core::{
    Accounting, Bytes, Cx, DropReason, Ecn, Event, EventMask, MarkReason, NodeId, Observer, Packet, Time,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A queue that is checked after every operation. Panics if the queue violates its contract.
///
/// # Examples
///
/// ```
/// use lopsided_queue::{CheckedQdisc, FifoConfig, Qdisc, Queue, QueueConfig};
///
/// let fifo: Queue = QueueConfig::new(FifoConfig::default()).build(1, "link/up").unwrap();
/// let checked = CheckedQdisc::new(fifo);
/// assert_eq!(checked.backlog().packets, 0);
/// ```
#[derive(Debug)]
pub struct CheckedQdisc<Q> {
    queue: Q,
    /// The packets that the queue must contain, by packet number.
    inside: BTreeMap<u64, Entry>,
    /// Total size of the packets in `inside`.
    bytes: Bytes,
    /// The accounting to which the discipline reports drops and marks.
    private: Accounting,
    /// Events that the private accounting reported since the last operation.
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Time of the last operation.
    latest: Time,
    /// Time and result of the last `peek`. `None` after an enqueue or a removal, which may change the head.
    shown: Option<(Time, Bytes)>,
}

/// A packet that the queue must contain, as it was when it was enqueued.
#[derive(Debug)]
struct Entry {
    size: Bytes,
    enqueued_at: Time,
    ecn: Ecn,
}

/// An event of the private accounting.
#[derive(Debug)]
enum Seen {
    Enqueued(Packet, Backlog),
    Marked(Packet, MarkReason),
    Dropped(Packet, DropReason),
}

/// An observer that records the events of the private accounting.
struct EventRecorder(Arc<Mutex<Vec<Seen>>>);

impl Observer for EventRecorder {
    fn mask(&self) -> EventMask {
        EventMask::QUEUES | EventMask::DROPS
    }

    fn record(&mut self, _at: Time, _node: NodeId, event: &Event<'_>) {
        let seen = match event {
            Event::Enqueued { packet, backlog_packets, backlog_bytes } => {
                Seen::Enqueued(copy(packet), Backlog { packets: *backlog_packets, bytes: *backlog_bytes })
            }
            Event::Marked { packet, why } => Seen::Marked(copy(packet), *why),
            Event::Dropped { packet, why } => Seen::Dropped(copy(packet), *why),
            other => panic!("a discipline must not report {other:?}"),
        };
        self.0.lock().expect("the audit never panics while it holds the lock").push(seen);
    }
}

impl<Q: Qdisc> CheckedQdisc<Q> {
    /// Wraps an empty queue.
    ///
    /// # Panics
    ///
    /// Panics if the queue is not empty.
    pub fn new(queue: Q) -> CheckedQdisc<Q> {
        assert_eq!(queue.backlog(), Backlog::default(), "the queue must be empty");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut private = Accounting::new(1);
        private.subscribe(Box::new(EventRecorder(seen.clone())));
        CheckedQdisc {
            queue,
            inside: BTreeMap::new(),
            bytes: Bytes::ZERO,
            private,
            seen,
            latest: Time::ZERO,
            shown: None,
        }
    }

    /// Returns the wrapped queue.
    pub fn inner(&self) -> &Q {
        &self.queue
    }

    /// Checks that time does not go backwards.
    fn on_the_clock(&mut self, now: Time) {
        assert!(now >= self.latest, "the time went back from {:?} to {now:?}", self.latest);
        self.latest = now;
    }

    /// Adds a packet to the expected contents of the queue.
    fn put(&mut self, packet: &Packet, enqueued_at: Time) {
        let entry = Entry { size: packet.size(), enqueued_at, ecn: packet.ecn() };
        self.bytes += entry.size;
        assert!(self.inside.insert(packet.id(), entry).is_none(), "packet {} was enqueued twice", packet.id());
    }

    /// Updates the size of the offered packet, which an ACK filter may lengthen.
    fn resize(&mut self, offered: &Packet, cx: &mut Cx<'_>) {
        let Some(entry) = self.inside.get_mut(&offered.id()) else { return };
        let before = std::mem::replace(&mut entry.size, offered.size());
        if before != entry.size {
            self.bytes = self.bytes - before + entry.size;
            cx.record_rewrite(offered, before);
        }
    }

    /// Removes a packet from the expected contents of the queue. Panics if the packet is missing or has changed.
    fn take(&mut self, packet: &Packet, how: &str) -> Entry {
        let entry = self.inside.remove(&packet.id());
        let entry = entry.unwrap_or_else(|| panic!("{how} packet {}, which is not in the queue", packet.id()));
        assert_eq!(entry.size, packet.size(), "packet {} changed its size", packet.id());
        assert_eq!(
            entry.ecn,
            packet.ecn(),
            "packet {} changed its ECN field without a mark in the accounting",
            packet.id()
        );
        self.bytes -= entry.size;
        entry
    }

    /// Copies the events to the accounting of the run, and compares them with the expected contents. `offered` is the
    /// number of the enqueued packet.
    fn post(&mut self, offered: Option<u64>, cx: &mut Cx<'_>) {
        // Take the events of this operation, so that the recorder is empty for the next one.
        let events = std::mem::take(&mut *self.seen.lock().expect("the recorder never panics"));
        let (mut enqueued, mut refused) = (false, false);
        for seen in events {
            match seen {
                Seen::Enqueued(packet, backlog) => {
                    assert_eq!(Some(packet.id()), offered, "the discipline enqueued a packet that was not offered");
                    assert!(!enqueued && !refused, "packet {} was enqueued twice, or after its drop", packet.id());
                    enqueued = true;
                    self.resize(&packet, cx);
                    cx.trace_enqueued(&packet, backlog.packets, backlog.bytes);
                }
                Seen::Marked(packet, why) => {
                    let entry = self.inside.get_mut(&packet.id());
                    let entry = entry.unwrap_or_else(|| panic!("marked packet {} is not in the queue", packet.id()));
                    entry.ecn = Ecn::Ce;
                    cx.record_mark(&packet, why);
                }
                Seen::Dropped(packet, why) => {
                    if Some(packet.id()) == offered && !enqueued {
                        self.resize(&packet, cx);
                    }
                    self.take(&packet, "the discipline dropped");
                    // A discipline may drop other packets to make room, but it must enqueue or drop the offered packet.
                    refused |= Some(packet.id()) == offered;
                    cx.drop(packet, why);
                }
            }
        }
        assert!(offered.is_none() || enqueued || refused, "packet {offered:?} was neither enqueued nor dropped");
    }

    /// Compares the result of `dequeue` with the earlier results of `peek` and `ready_at`.
    fn check_promises(&mut self, ready: Option<Time>, waiting: usize, given: Option<&QueuedPacket>) {
        match (given, self.shown.take()) {
            // A later arrival may change the head, so the size must match only at the instant of the `peek`.
            (Some(given), Some((at, size))) if at == self.latest => {
                assert_eq!(given.packet.size(), size, "`peek` returned another size");
            }
            // If a packet was ready, `dequeue` may return `None` only if it dropped packets, or if `ready_at` now
            // returns a later time.
            (None, _) if ready == Some(self.latest) && waiting == self.inside.len() => {
                assert_ne!(self.queue.ready_at(self.latest), ready, "ready, but no packet was dequeued or dropped");
            }
            _ => {}
        }
    }

    /// Compares the backlog and `ready_at` with the expected contents of the queue.
    fn check(&self) {
        let inside = Backlog { packets: self.inside.len() as u32, bytes: self.bytes };
        assert_eq!(self.queue.backlog(), inside, "in = out + dropped + backlog does not hold");
        // `ready_at` must agree with the backlog.
        let ready = self.queue.ready_at(self.latest);
        assert_eq!(ready.is_some(), inside.packets > 0, "`ready_at` contradicts the backlog");
        assert!(ready.is_none_or(|ready| ready >= self.latest), "`ready_at` returned a time in the past");
    }
}

impl<Q: Qdisc> Qdisc for CheckedQdisc<Q> {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.on_the_clock(cx.now());
        self.shown = None;
        let id = packet.id();
        self.put(&packet, cx.now());
        // The discipline uses the private accounting; `post` copies its events.
        self.queue.enqueue(packet, &mut Cx::new(cx.now(), NodeId(0), &mut self.private));
        self.post(Some(id), cx);
        self.check();
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.on_the_clock(cx.now());
        // Read `ready_at` and the number of packets before the dequeue changes them.
        let (ready, waiting) = (self.queue.ready_at(cx.now()), self.inside.len());
        let given = self.queue.dequeue(&mut Cx::new(cx.now(), NodeId(0), &mut self.private));
        self.post(None, cx);
        if let Some(waiting) = &given {
            let entry = self.take(&waiting.packet, "the discipline dequeued");
            let id = waiting.packet.id();
            assert_eq!(entry.enqueued_at, waiting.enqueued_at, "packet {id} has a wrong `enqueued_at`");
        }
        self.check();
        self.check_promises(ready, waiting, given.as_ref());
        given
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        self.queue.ready_at(now)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        self.on_the_clock(cx.now());
        let size = self.queue.peek(&mut Cx::new(cx.now(), NodeId(0), &mut self.private));
        self.post(None, cx);
        self.shown = size.map(|size| (cx.now(), size));
        self.check();
        size
    }

    fn sensing(&mut self) -> Option<&mut dyn Sensing> {
        self.queue.sensing()
    }

    fn removes(&mut self) -> bool {
        self.queue.removes()
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        self.on_the_clock(cx.now());
        self.shown = None;
        let removed = self.queue.remove(waiting, &mut Cx::new(cx.now(), NodeId(0), &mut self.private));
        self.post(None, cx);
        if let Some(packet) = &removed {
            // `remove` must return exactly the requested packet.
            assert_eq!(packet.id(), waiting.id, "the discipline removed another packet");
            self.take(packet, "the discipline removed");
        }
        self.check();
        removed
    }

    fn next_place(&self) -> Option<u64> {
        self.queue.next_place()
    }

    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        self.queue.classes(out);
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        self.queue.gauges(out);
    }
}

/// Copies a packet, to report its event to the accounting of the run.
fn copy(packet: &Packet) -> Packet {
    Packet::unbooked(packet.id(), packet.sent_at().unwrap_or(Time::ZERO), packet.to_new())
}
