//! Replays the arrivals of a capture through a link, to compare the fate of each packet with its fate in the capture.
//!
//! Packets enter at the recorded times. There are no end hosts, so a loss in the replay does not affect later packets.

use crate::{AnyShaper, LinkConfig, LinkError, Shaper};
use lopsided_core::{
    Accounting, BitRate, Bytes, Cx, DropReason, Duration, Event, EventMask, NewPacket, Node, NodeId, Observer, Packet,
    Port, Time,
};
use lopsided_queue::Qdisc;
use std::sync::{Arc, Mutex};

/// The fate of a replayed packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Replayed {
    /// Departure time, and the packet's position among all departures. `None` if the packet did not depart.
    pub left: Option<(Time, u32)>,
    /// Time and reason of the drop; `None` if the packet was not dropped.
    pub dropped: Option<(Time, DropReason)>,
    /// True if the queue marked the packet with ECN.
    pub marked: bool,
}

/// Replays packets through a link, in order of time. Returns the fate of each packet. With a `credit`, the transmission
/// of the first packet in a busy period ends earlier by this time, as with a bucket of this depth in Linux's `htb`.
///
/// # Errors
///
/// Returns an error if the link cannot be built.
#[doc(hidden)]
pub fn replay(
    config: &LinkConfig,
    seed: u64,
    role: &str,
    arrivals: Vec<(Time, NewPacket)>,
    credit: Duration,
) -> Result<Vec<Replayed>, LinkError> {
    let shaper = match config.rate {
        // Linux's htb can send a burst after an idle time. A plain serializer cannot.
        Some(rate) if !credit.is_zero() => {
            AnyShaper::Custom(Box::new(Credited { rate, credit, free_at: Time::ZERO, carry: 0 }))
        }
        _ => config.build_shaper(seed, role)?,
    };
    // Use the configured link, except for its shaper.
    let mut link = config.build_with(config.queue.build(seed, role)?, shaper, seed, role)?;
    let (fates, mut accounting) = Fates::of(arrivals.len());
    for (id, (at, new)) in arrivals.into_iter().enumerate() {
        let mut cx = Cx::new(at, NodeId(0), &mut accounting);
        // A packet's number is its position in the result.
        let packet = Packet::unbooked(id as u64, at, new);
        link.handle_packet(Port(0), packet, &mut cx);
        while let Some((_, arrived)) = link.poll_transmit(&mut cx) {
            cx.deliver(arrived);
        }
    }
    while let Some(at) = link.poll_timeout() {
        let mut cx = Cx::new(at, NodeId(0), &mut accounting);
        link.handle_timeout(&mut cx);
        while let Some((_, arrived)) = link.poll_transmit(&mut cx) {
            cx.deliver(arrived);
        }
    }
    Ok(fates.taken())
}

/// Replays packets through the link's discipline, without its line. One packet is dequeued at each of the `instants`,
/// which are in order of time. A packet that arrives at one of the instants is enqueued first. Returns the fate of each
/// packet.
///
/// # Errors
///
/// Returns an error if the queue cannot be built.
#[doc(hidden)]
pub fn replay_at_instants(
    config: &LinkConfig,
    seed: u64,
    role: &str,
    arrivals: Vec<(Time, NewPacket)>,
    instants: &[Time],
) -> Result<Vec<Replayed>, LinkError> {
    let mut queue = config.queue.build(seed, role)?;
    let (fates, mut accounting) = Fates::of(arrivals.len());
    let mut arrivals = arrivals.into_iter().enumerate().peekable();
    for instant in instants.iter().copied().chain([Time::MAX]) {
        while let Some((id, (at, new))) = arrivals.next_if(|(_, (at, _))| *at <= instant) {
            let mut cx = Cx::new(at, NodeId(0), &mut accounting);
            queue.enqueue(Packet::unbooked(id as u64, at, new), &mut cx);
        }
        if instant < Time::MAX {
            let mut cx = Cx::new(instant, NodeId(0), &mut accounting);
            if let Some(given) = queue.dequeue(&mut cx) {
                fates.left(given.packet.id(), instant);
                cx.deliver(given.packet);
            }
        }
    }
    let done = fates.taken();
    // Packets that are still in the queue have no recorded departure. Deliver them as well, because every packet that
    // the accounting has counted must be delivered or dropped.
    let mut now = instants.last().copied().unwrap_or_default();
    while let Some(ready) = queue.ready_at(now) {
        now = ready;
        let mut cx = Cx::new(now, NodeId(0), &mut accounting);
        if let Some(given) = queue.dequeue(&mut cx) {
            cx.deliver(given.packet);
        }
    }
    Ok(done)
}

/// A line that may start a transmission up to `credit` earlier after an idle time.
#[derive(Debug)]
struct Credited {
    rate: BitRate,
    credit: Duration,
    free_at: Time,
    carry: u64,
}

impl Shaper for Credited {
    fn needs_size(&self) -> bool {
        false
    }

    fn advance_idle(&mut self, _now: Time) {}

    fn advance_backlogged(&mut self, _now: Time, _wire: Bytes) {}

    fn ready_at(&mut self, _wire: Bytes) -> Time {
        self.free_at
    }

    fn transmit(&mut self, start: Time, wire: Bytes) -> Time {
        // After an idle time, the line starts as if the packet had arrived `credit` earlier. A full bucket has this
        // effect.
        let credited = Time::from_nanos(start.as_nanos().saturating_sub(self.credit.as_nanos()));
        if credited > self.free_at {
            (self.free_at, self.carry) = (credited, 0);
        }
        let (takes, carry) = self.rate.time_to_send(wire, self.carry);
        (self.free_at, self.carry) = (self.free_at + takes, carry);
        self.free_at.max(start)
    }

    fn rate(&self) -> Option<BitRate> {
        Some(self.rate)
    }
}

/// An observer that records the fate of each packet by its number, and counts departures.
#[derive(Clone, Debug)]
struct Fates(Arc<Mutex<(Vec<Replayed>, u32)>>);

impl Fates {
    fn of(packets: usize) -> (Fates, Accounting) {
        let fates = Fates(Arc::new(Mutex::new((vec![Replayed::default(); packets], 0))));
        let mut accounting = Accounting::new(1);
        accounting.subscribe(Box::new(fates.clone()));
        (fates, accounting)
    }

    /// Changes the recorded fate of a packet. Ignores packets that the discipline created.
    fn change(&self, id: u64, change: impl FnOnce(&mut Replayed)) {
        let mut fates = self.0.lock().expect("no thread panics while it writes");
        if let Some(fate) = fates.0.get_mut(id as usize) {
            change(fate);
        }
    }

    fn left(&self, id: u64, at: Time) {
        let place = {
            let mut fates = self.0.lock().expect("no thread panics while it writes");
            // The second field of the tuple counts departures.
            fates.1 += 1;
            fates.1 - 1
        };
        self.change(id, |fate| fate.left = Some((at, place)));
    }

    fn taken(&self) -> Vec<Replayed> {
        std::mem::take(&mut self.0.lock().expect("no thread panics while it writes").0)
    }
}

impl Observer for Fates {
    fn mask(&self) -> EventMask {
        EventMask::QUEUES | EventMask::DROPS
    }

    fn record(&mut self, at: Time, _node: NodeId, event: &Event<'_>) {
        match event {
            Event::Dequeued { packet, .. } => self.left(packet.id(), at),
            Event::Dropped { packet, why } => self.change(packet.id(), |fate| fate.dropped = Some((at, *why))),
            Event::Marked { packet, .. } => self.change(packet.id(), |fate| fate.marked = true),
            _ => {}
        }
    }
}
