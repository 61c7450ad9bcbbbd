//! The transmit path of a drop-tail FIFO and the line behind it, without jitter and header compression.
//!
//! A packet in a drop-tail FIFO is never dropped or overtaken after it has entered. Its fate can therefore be computed
//! at its entry, in one call of [`DropTailPath::take_in`] and without an event. The entry may even be in the future, if
//! the previous link has computed it ([`crate::Link::pass_through`]).
//!
//! # Fate and statistics
//!
//! The fate of a packet and its statistics are computed at different times:
//!
//! - **Fate**: when the packet enters.
//! - **Statistics** (backlog, sojourn times, events for observers): when virtual time reaches the event. A packet that
//!   arrives before [`Cx::unseen_until`] is counted on entry. Any other packet gets a transit record in `transits`, for
//!   [`DropTailPath::count_transits`].
//!
//! # Rings
//!
//! Packets and records are stored in ring buffers (rings). Packets enter in order of time, so each ring is sorted by
//! time, with the oldest entry first.
//!
//! - `waiting`: the packets in the buffer just after the latest entry. This ring decides whether the buffer has room.
//! - `packets`: the packets for which this link schedules an arrival event. Packets that pass through are not in this
//!   ring.
//! - `transits`: the transit records of packets that an observer may see in the queue or on the line.
//! - `drops.coming`: the packets that will be dropped: refused packets at their entry, lost packets at their departure
//!   from the queue.
//!
//! # Counters
//!
//! The counters `departed` and `entered` are positions in `transits`. Only [`DropTailPath::count_transits`] changes
//! them:
//!
//! ```text
//! transits:   [ on the line | in the queue      | not entered yet ]
//! positions:   0..departed   departed..entered   entered..
//! ```
//!
//! # Invariants
//!
//! - `departed <= entered <= transits.len()`.
//! - `next_departure` belongs to the first entry of `waiting`, `next_arrival` to the first entry of `packets`. Both are
//!   `Time::MAX` if their ring is empty.
//! - `waiting_bytes` is the sum of the sizes in `waiting`, and the buffer of `rare.room` is charged with the same
//!   packets.
//! - While `transits` contains a record, every later packet also gets a record.
//! - While an observer watches queues, every packet has a record. No packet leaves `packets` or `drops.coming` before
//!   its record is counted.

use crate::line::{Line, Measured, dequeued};
use crate::loss::Loss;
use lopsided_core::{Bytes, Count, Cx, DropReason, EventMask, Packet, Time};
use lopsided_queue::{Backlog, BufferLimit};
use std::collections::VecDeque;

/// The transmit path of a drop-tail FIFO: see the documentation of this module.
#[derive(Debug)]
pub(crate) struct DropTailPath {
    /// The packets that are in the buffer just after the latest entry.
    waiting: VecDeque<Waiting>,
    /// Total size of the packets in `waiting`, in bytes.
    waiting_bytes: Bytes,
    /// Departure of the first packet in `waiting`; `Time::MAX` if `waiting` is empty.
    next_departure: Time,
    /// Capacity of the buffer in packets; `usize::MAX` if its limit is in bytes.
    places: usize,
    /// The packets for which this link schedules an arrival event, in order of arrival.
    packets: VecDeque<Arriving>,
    /// Arrival of the first packet in `packets`; `Time::MAX` if `packets` is empty.
    next_arrival: Time,
    /// The transit records; `None` before the first record.
    transits: Option<Box<Transits>>,
    /// `None` if the limit is in packets and the line has no loss model.
    rare: Option<Box<RareState>>,
    /// The packets that this link will drop. `None` until the first drop.
    drops: Option<Box<Drops>>,
}

/// Rarely used state, boxed to keep a plain link small.
#[derive(Debug)]
struct RareState {
    /// The buffer; `None` if its limit is in packets (see `places`).
    room: Option<BufferLimit>,
    /// The loss model of the line, if there is one.
    loss: Option<Loss>,
}

/// A packet in the buffer: its departure from the queue, and its size. Packed, because padding would add a third.
#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(4))]
struct Waiting {
    departs: Time,
    size: u32,
}

/// A packet for which this link schedules an arrival event.
#[derive(Debug)]
struct Arriving {
    at: Time,
    packet: Packet,
}

/// Dropped packets.
#[derive(Debug, Default)]
struct Drops {
    /// Packets that will be dropped, in order of time.
    coming: VecDeque<PendingDrop>,
    /// Number and total size of the packets that the line has lost so far.
    lost: Count,
}

/// A packet that will be dropped: refused at its entry, or lost when it leaves the queue.
#[derive(Debug)]
struct PendingDrop {
    at: Time,
    packet: Packet,
    why: DropReason,
}

/// The reason why a packet does not arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// The buffer is full when the packet enters.
    Full,
    /// The line loses the packet at its departure from the queue, which happens at this time.
    Lost(Time, DropReason),
}

/// The transit record of a packet: its times and sizes.
#[derive(Clone, Copy, Debug)]
struct Transit {
    enters: Time,
    departs: Time,
    /// Arrival at the far end; `Time::MAX` if the line loses the packet.
    arrives: Time,
    /// Size of the IP packet in bytes.
    size: u32,
    /// Size on the wire in bytes.
    wire: u32,
}

/// The transit records of the packets that an observer may see in the queue or on the line. They are in a box, because
/// most links of a large network have no record.
#[derive(Debug, Default)]
struct Transits {
    records: VecDeque<Transit>,
    /// Number of records whose enqueue event is already counted in the statistics.
    entered: u32,
    /// Number of records whose dequeue event is already counted in the statistics.
    departed: u32,
}

/// The transit records of a link without records.
static NO_TRANSITS: Transits = Transits { records: VecDeque::new(), entered: 0, departed: 0 };

/// Rings up to this capacity never shrink. Larger rings release memory, because large topologies have thousands of
/// links.
const ROOMY: usize = 8;
/// A ring is shrunk if its length is below its capacity divided by this number.
const SPARSE: usize = 4;
/// Number of departures between two checks for unused memory; a power of two.
const LOOK: u64 = 64;

impl Transit {
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    fn wire(&self) -> Bytes {
        Bytes::new(u64::from(self.wire))
    }

    fn is_lost(&self) -> bool {
        self.arrives == Time::MAX
    }

    /// Returns the time at which the packet arrives or is lost.
    fn ends(&self) -> Time {
        if self.is_lost() { self.departs } else { self.arrives }
    }
}

impl RareState {
    /// True if a limit in bytes leaves room for a packet of this size.
    fn fits(&self, size: Bytes) -> bool {
        self.room.as_ref().is_none_or(|room| room.fits(size))
    }
}

impl Drops {
    /// Inserts a packet behind all packets that are dropped at the same time or earlier.
    fn add(&mut self, end: PendingDrop) {
        let behind = self.coming.iter().rev().take_while(|other| other.at > end.at).count();
        self.coming.insert(self.coming.len() - behind, end);
    }
}

impl DropTailPath {
    pub(crate) fn new(room: BufferLimit, loss: Option<Loss>) -> DropTailPath {
        let (places, room) = match room.packets() {
            Some(packets) => (packets as usize, None),
            None => (usize::MAX, Some(room)),
        };
        let rare = (room.is_some() || loss.is_some()).then(|| Box::new(RareState { room, loss }));
        DropTailPath {
            waiting: VecDeque::new(),
            waiting_bytes: Bytes::ZERO,
            next_departure: Time::MAX,
            places,
            packets: VecDeque::new(),
            next_arrival: Time::MAX,
            transits: None,
            rare,
            drops: None,
        }
    }

    #[inline]
    fn transits(&self) -> &Transits {
        self.transits.as_deref().unwrap_or(&NO_TRANSITS)
    }

    /// The transit records, to add or to count a record.
    fn transits_mut(&mut self) -> &mut Transits {
        self.transits.get_or_insert_default()
    }

    /// True if there is no transit record.
    #[inline(always)]
    fn has_no_records(&self) -> bool {
        self.transits.as_ref().is_none_or(|transits| transits.records.is_empty())
    }

    /// Accepts a packet that enters at `at`. Returns true if this packet is now the next to arrive.
    #[inline(always)]
    pub(crate) fn handle_packet(
        &mut self,
        packet: Packet,
        size: Bytes,
        at: Time,
        line: &mut Line,
        measured: &mut Measured,
        cx: &mut Cx<'_>,
    ) -> bool {
        let arrives = match self.take_in(size, at, line, measured, cx) {
            Ok(arrives) => arrives,
            Err(ending) => {
                self.end(packet, at, ending, measured, cx);
                return false;
            }
        };
        // Packets arrive in the order in which they entered, so this packet is the next to arrive only if `packets` was
        // empty.
        let is_next = arrives < self.next_arrival;
        if is_next {
            self.next_arrival = arrives;
        }
        self.packets.push_back(Arriving { at: arrives, packet });
        self.catch_up(measured, cx);
        is_next
    }

    /// Returns the arrival time of a packet that enters at `at`, or the reason why the packet does not arrive. The
    /// caller must pass a packet that does not arrive to [`DropTailPath::end`].
    #[inline(always)]
    pub(crate) fn take_in(
        &mut self,
        size: Bytes,
        at: Time,
        line: &mut Line,
        measured: &mut Measured,
        cx: &mut Cx<'_>,
    ) -> Result<Time, Ending> {
        // Fast path: the line is idle, so the queue is empty and the packet takes no room in the buffer. Only the
        // serializer counts such a packet.
        if self.rare.is_none() && self.has_no_records() {
            if let Some((arrives, passed)) = line.pass(at, size, cx.unseen_until()) {
                if u64::from(passed) % LOOK == 0 {
                    self.tidy(at);
                }
                return Ok(arrives);
            }
        }
        // Departures at the time of an entry are processed before the entry. Packets that depart at `at` make room for
        // this packet.
        if self.next_departure <= at {
            self.release_until(at);
        }
        if !self.fits(size) {
            return Err(Ending::Full);
        }
        let (wire, departs, sent) = line.send(at, size);
        let arrives = match self.rare.as_mut().and_then(|rare| rare.loss.as_mut()?.drop_reason(departs)) {
            None => line.arrival(sent),
            Some(why) => {
                self.lose(size, at, departs, wire, measured, cx);
                return Err(Ending::Lost(departs, why));
            }
        };
        self.take_transit(size, at, (departs, arrives, arrives), wire, measured, cx);
        Ok(arrives)
    }

    /// Counts a packet that the line loses at its departure from the queue. Not inlined, because losses are rare.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, size: Bytes, at: Time, departs: Time, wire: Bytes, measured: &mut Measured, cx: &mut Cx<'_>) {
        self.take_transit(size, at, (departs, Time::MAX, departs), wire, measured, cx);
    }

    /// Counts a packet or stores its transit record. The arrival is `Time::MAX` if the line loses the packet.
    #[inline(always)]
    fn take_transit(
        &mut self,
        size: Bytes,
        at: Time,
        (departs, arrives, ends): (Time, Time, Time),
        wire: Bytes,
        measured: &mut Measured,
        cx: &mut Cx<'_>,
    ) {
        // A packet that finds the line idle departs at once and takes no room in the buffer.
        let mut backlog = Backlog { packets: 1, bytes: size };
        // The line is busy, so the packet waits in the buffer.
        if departs > at {
            self.wait(departs, size);
            backlog = Backlog { packets: self.waiting.len() as u32, bytes: self.waiting_bytes };
        }
        // The whole transit ends before an observer can read the statistics, so the packet is counted in one step.
        if ends < cx.unseen_until() && self.has_no_records() {
            measured.queue.crossed(at, departs, size, backlog);
            measured.wire_bytes += wire;
            self.look_at_room(measured);
        } else {
            let (size, wire) = (size.get() as u32, wire.get() as u32);
            self.note_transit(Transit { enters: at, departs, arrives, size, wire }, backlog, measured, cx);
        }
    }

    /// True if the line may lose packets.
    fn loses(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.loss.is_some())
    }

    /// True if the buffer has room for a packet of this size.
    #[inline(always)]
    fn fits(&self, size: Bytes) -> bool {
        self.waiting.len() < self.places && self.rare.as_ref().is_none_or(|rare| rare.fits(size))
    }

    /// Adds a packet of this size to the end of the buffer.
    #[inline(always)]
    fn wait(&mut self, departs: Time, size: Bytes) {
        if let Some(room) = self.rare.as_mut().and_then(|rare| rare.room.as_mut()) {
            room.charge(size);
        }
        if self.waiting.is_empty() {
            self.next_departure = departs;
        }
        make_room(&mut self.waiting);
        self.waiting.push_back(Waiting { departs, size: size.get() as u32 });
        self.waiting_bytes += size;
    }

    /// Removes the packets that depart by `at` from the buffer. At least one packet must depart by then.
    #[inline(always)]
    fn release_until(&mut self, at: Time) {
        while let Some(first) = self.waiting.pop_front() {
            let size = Bytes::new(u64::from(first.size));
            if let Some(room) = self.rare.as_mut().and_then(|rare| rare.room.as_mut()) {
                room.release(size);
            }
            self.waiting_bytes -= size;
            self.next_departure = self.waiting.front().map_or(Time::MAX, |next| next.departs);
            if self.next_departure > at {
                break;
            }
        }
    }

    /// Stores a packet's transit record, unless the transit ends before an observer can sample the link. `backlog`
    /// includes the packet.
    #[inline(never)]
    fn note_transit(&mut self, transit: Transit, backlog: Backlog, measured: &mut Measured, cx: &mut Cx<'_>) {
        let unseen_until = cx.unseen_until();
        let counted_until = unseen_until.max(cx.now());
        // Count finished transits first. If no record remains, this packet can also be counted in one step.
        if self.transits().records.front().is_some_and(|first| first.ends() <= counted_until) {
            self.count_transits(counted_until, measured, cx);
        }
        if transit.ends() < unseen_until && self.has_no_records() {
            measured.queue.crossed(transit.enters, transit.departs, transit.size(), backlog);
            measured.wire_bytes += transit.wire();
            self.look_at_room(measured);
        } else {
            // The statistics may already include departures up to `counted_until`, although those packets are still in
            // the buffer when this packet enters. The backlog in the statistics is then too small, so record the
            // largest backlog now. If the packet enters after `counted_until`, the backlog will be correct.
            if transit.enters <= counted_until {
                measured.queue.notice(backlog);
            }
            let records = &mut self.transits_mut().records;
            make_room(records);
            records.push_back(transit);
        }
    }

    /// Updates the statistics to the current time and reports the events. Does nothing if no observer watches queues.
    #[inline]
    pub(crate) fn catch_up(&mut self, measured: &mut Measured, cx: &mut Cx<'_>) {
        if cx.is_watched(EventMask::QUEUES) {
            self.count_until(cx.now(), measured, cx);
        }
    }

    /// Updates the statistics to time `until`. Before this call, every packet that enters at or before `until` must have
    /// been accepted.
    #[inline(never)]
    pub(crate) fn count_until(&mut self, until: Time, measured: &mut Measured, cx: &mut Cx<'_>) {
        self.count_transits(until, measured, cx);
        self.let_end(until, measured, cx);
    }

    /// Counts entries and departures up to `until`. No observer may read the statistics before `until`.
    fn count_transits(&mut self, until: Time, measured: &mut Measured, cx: &mut Cx<'_>) {
        // Departures at the time of an entry are counted before the entry.
        let enters = |transits: &Transits| {
            transits.records.get(transits.entered as usize).filter(|transit| transit.enters <= until).copied()
        };
        while let Some(transit) = enters(self.transits()) {
            self.count_departures(transit.enters, measured, cx);
            self.count_entry(transit, measured, cx);
            self.transits_mut().entered += 1;
        }
        self.count_departures(until, measured, cx);
        let Some(transits) = self.transits.as_deref_mut() else { return };
        // Only records at the front are removed. The counters are positions relative to the front, so both decrease
        // with each removal.
        while transits.departed > 0 && transits.records.front().is_some_and(|first| first.ends() <= until) {
            transits.records.pop_front();
            transits.entered -= 1;
            transits.departed -= 1;
        }
    }

    /// Checks for unused memory every [`LOOK`] departures. Call after each departure.
    #[inline(always)]
    fn look_at_room(&mut self, measured: &Measured) {
        if measured.queue.sent_packets() & (LOOK - 1) == 0 {
            self.give_back_room();
        }
    }

    /// Removes departed packets from the buffer, because the fast path does not remove them. Also releases unused
    /// memory.
    #[cold]
    fn tidy(&mut self, at: Time) {
        if self.next_departure <= at {
            self.release_until(at);
        }
        self.give_back_room();
    }

    /// Releases unused memory of all rings.
    #[cold]
    fn give_back_room(&mut self) {
        give_back_room(&mut self.waiting);
        give_back_room(&mut self.packets);
        if let Some(transits) = &mut self.transits {
            give_back_room(&mut transits.records);
        }
    }

    /// Counts the entry of a packet, given its record. This must be the next record to count.
    #[inline]
    fn count_entry(&self, transit: Transit, measured: &mut Measured, cx: &mut Cx<'_>) {
        measured.queue.entered(transit.enters, transit.size());
        if cx.is_watched(EventMask::QUEUES) {
            let Backlog { packets, bytes } = measured.queue.backlog();
            cx.at(transit.enters).trace_enqueued(self.packet(self.transits().entered), packets, bytes);
        }
    }

    /// Counts the departures, up to `until`, of packets whose entry has been counted.
    #[inline(always)]
    fn count_departures(&mut self, until: Time, measured: &mut Measured, cx: &mut Cx<'_>) {
        while let Some(transits) = self.transits.as_deref_mut().filter(|all| all.departed < all.entered) {
            let number = transits.departed;
            let transit = transits.records[number as usize];
            if transit.departs > until {
                return;
            }
            measured.queue.left(transit.departs, transit.enters, transit.size());
            measured.wire_bytes += transit.wire();
            self.look_at_room(measured);
            let (backlog, path) = (measured.queue.backlog(), &*self);
            cx.at(transit.departs)
                .trace(EventMask::QUEUES, || dequeued(path.packet(number), backlog, transit.departs, transit.enters));
            self.transits_mut().departed += 1;
            // Drop the packet now, so that observers see the loss before any later event.
            if transit.is_lost() && cx.is_watched(EventMask::QUEUES) {
                self.let_end(transit.departs, measured, cx);
            }
        }
    }

    /// Returns the packet of a transit record. Valid only while an observer watches queues.
    fn packet(&self, transit: u32) -> &Packet {
        let transit = transit as usize;
        // The last record belongs to the last packet, so count positions from the back.
        if !self.loses() {
            return &self.packets[self.packets.len() - (self.transits().records.len() - transit)].packet;
        }
        // With a loss model, the packets of this and later records are in two rings: `packets`, and `drops.coming` if
        // the line loses them.
        let on = self.transits().records.range(transit..);
        let lost = on.filter(|transit| transit.is_lost()).count();
        let drops = self.drops.iter().flat_map(|drops| drops.coming.iter().rev());
        match self.transits().records[transit].is_lost() {
            false => &self.packets[self.packets.len() - (self.transits().records.len() - transit - lost)].packet,
            true => {
                let mut on_the_line = drops.filter(|end| end.why != DropReason::QueueFull);
                &on_the_line.nth(lost - 1).expect("a lost packet is kept until it is counted").packet
            }
        }
    }

    /// Stores a packet until the time of its drop.
    #[cold]
    #[inline(never)]
    pub(crate) fn end(&mut self, packet: Packet, at: Time, ending: Ending, measured: &mut Measured, cx: &mut Cx<'_>) {
        let drops = self.drops.get_or_insert_default();
        drops.add(match ending {
            Ending::Full => PendingDrop { at, packet, why: DropReason::QueueFull },
            Ending::Lost(departs, why) => PendingDrop { at: departs, packet, why },
        });
        // A loss is computed when the packet enters, but happens when the packet departs. Between these times the
        // buffer may refuse other packets. With a loss model, drops after `at` are therefore reported later, so that all
        // drops are reported in order of time.
        let known = if self.loses() { at } else { Time::MAX };
        self.catch_up(measured, cx);
        self.let_end(cx.unseen_until().max(cx.now()).min(known), measured, cx);
    }

    /// Drops the packets whose drop or loss is at or before `until`.
    #[inline]
    fn let_end(&mut self, until: Time, measured: &mut Measured, cx: &mut Cx<'_>) {
        let Some(Drops { coming, lost, .. }) = self.drops.as_deref_mut() else { return };
        while coming.front().is_some_and(|first| first.at <= until) {
            let Some(PendingDrop { at, packet, why }) = coming.pop_front() else { return };
            // `offered` with an unchanged backlog counts the packet as arrived and dropped.
            match why {
                DropReason::QueueFull => measured.queue.offered(at, packet.size(), measured.queue.backlog()),
                _ => lost.record(packet.size()),
            }
            cx.at(at).drop(packet, why);
        }
    }

    /// Returns the time of this link's next arrival event.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Time> {
        (self.next_arrival != Time::MAX).then_some(self.next_arrival)
    }

    /// Removes and returns the first packet of `packets` if it has arrived by `now`.
    #[inline]
    pub(crate) fn take_arrived(&mut self, now: Time) -> Option<Packet> {
        if self.next_arrival > now {
            return None;
        }
        let first = self.packets.pop_front()?;
        self.next_arrival = self.packets.front().map_or(Time::MAX, |next| next.at);
        Some(first.packet)
    }

    /// Stores a packet again. The packet arrives at `at`, before all other packets.
    pub(crate) fn take_back(&mut self, packet: Packet, at: Time) {
        self.packets.push_front(Arriving { at, packet });
        self.next_arrival = at;
    }

    /// Returns the number and total size of the packets in this link.
    pub(crate) fn held(&self) -> Count {
        let arriving = self.packets.iter().map(|arriving| arriving.packet.size());
        let ending = self.drops.iter().flat_map(|drops| &drops.coming).map(|end| end.packet.size());
        Count::of(arriving.chain(ending))
    }

    /// Returns the number and total size of the packets in the queue, according to the statistics.
    pub(crate) fn waiting(&self) -> Count {
        let Transits { records, entered, departed } = self.transits();
        Count::of(records.range(*departed as usize..*entered as usize).map(Transit::size))
    }

    /// Returns the number and total size of the packets on the line, according to the statistics.
    pub(crate) fn in_flight(&self) -> Count {
        let Transits { records, departed, .. } = self.transits();
        let on_the_line = records.range(..*departed as usize).filter(|transit| !transit.is_lost());
        Count::of(on_the_line.map(Transit::size))
    }

    /// Returns the number and total size of the packets that the line has lost, according to the statistics.
    pub(crate) fn lost(&self) -> Count {
        self.drops.as_ref().map_or(Count::ZERO, |drops| drops.lost)
    }
}

/// Grows a full ring by 25 %. Doubling would waste memory: a link with 10,000 flows has 500,000 records.
#[inline(always)]
fn make_room<T>(ring: &mut VecDeque<T>) {
    #[cold]
    fn grow<T>(ring: &mut VecDeque<T>) {
        ring.reserve_exact((ring.len() / 4).max(ROOMY / 2));
    }
    if ring.len() == ring.capacity() {
        grow(ring);
    }
}

/// Halves the capacity of a ring if its length is below `capacity / `[`SPARSE`].
fn give_back_room<T>(ring: &mut VecDeque<T>) {
    let places = ring.capacity();
    if places > ROOMY && SPARSE * ring.len() < places {
        ring.shrink_to(places / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_grows_by_a_quarter_and_a_sparse_ring_returns_half() {
        let mut ring: VecDeque<u64> = VecDeque::with_capacity(64);
        make_room(&mut ring);
        assert_eq!(ring.capacity(), 64, "an empty ring has room");
        ring.extend(0..64);
        make_room(&mut ring);
        assert_eq!(ring.capacity(), 80);
        ring.truncate(20);
        give_back_room(&mut ring);
        assert_eq!(ring.capacity(), 80, "a quarter is in use");
        ring.truncate(19);
        give_back_room(&mut ring);
        assert_eq!(ring.capacity(), 40);
        ring.clear();
        (0..9).for_each(|_| give_back_room(&mut ring));
        assert_eq!(ring.capacity(), 5, "a small ring keeps its room");
        ring.extend(0..5);
        make_room(&mut ring);
        assert_eq!(ring.capacity(), 9, "a small ring grows by 4 places");
    }

    /// Each packet in flight has at least one entry in each of four links, so these sizes determine the memory of large
    /// runs.
    #[test]
    fn a_link_and_its_entries_for_a_packet_stay_small() {
        assert!(size_of::<crate::Link>() <= 464, "a link takes {}", size_of::<crate::Link>());
        assert_eq!((size_of::<Arriving>(), size_of::<Waiting>(), size_of::<Transit>()), (16, 12, 32));
    }
}
