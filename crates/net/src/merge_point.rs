//! The merge point in front of a link with several leaders. It stores the packets that are in flight to the link, in
//! the order in which they will enter the link.
//!
//! A leader computes the arrival time of a packet as soon as the packet enters the leader (see `network/rows.rs`). The
//! packet then waits here without an event, because other leaders may have earlier packets.
//!
//! A packet that enters the link at t leaves it at t + delay at the earliest. The link therefore waits until t + delay
//! ([`MergePoint::due`]), and then accepts in one batch all packets that have entered since t.
//!
//! Invariants:
//!
//! - Packets leave in order of entry time, then by the number of the leader, then in the order of addition.
//! - [`MergePoint::due`] is never too late: each new earliest packet updates it, and the caller then updates the link's
//!   event.
//! - The conservation check counts packets that wait here as packets in the network.
//!
//! A batch is sorted when it leaves. Packets with much later entry times are put aside.

use crate::next_hop::HopIndex;
use lopsided_core::{Bytes, Count, Duration, NodeId, Packet, Time};

/// A packet that will enter a link. The size is stored separately, because the processor's cache may no longer contain
/// the packet when the packet enters.
#[derive(Debug)]
pub(crate) struct Entering {
    /// The time at which the packet enters the link.
    pub at: Time,
    /// The packet.
    pub packet: Packet,
    /// The leader over which the packet arrives.
    pub from: NodeId,
    /// The packet's size in bytes; 0 if the size does not fit into 16 bits.
    size: u16,
    /// The next hop behind the link; [`HopIndex::UNKNOWN`] if it is looked up later.
    pub next_hop: HopIndex,
}

impl Entering {
    /// Creates the entry of a packet of `size` bytes that enters the link at `at`.
    #[inline(always)]
    pub fn new(at: Time, from: NodeId, packet: Packet, size: Bytes, next_hop: HopIndex) -> Entering {
        let size = u16::try_from(size.get()).unwrap_or(0);
        Entering { at, packet, from, size, next_hop }
    }

    /// Returns the packet's size.
    #[inline(always)]
    pub fn size(&self) -> Bytes {
        if self.size == 0 { self.packet.size() } else { Bytes::new(u64::from(self.size)) }
    }
}

/// The merge point in front of one link.
#[derive(Debug)]
pub(crate) struct MergePoint {
    /// The delay of the link.
    pub delay: Duration,
    /// Entry time of the earliest packet; `Time::MAX` if there is none.
    first: Time,
    /// The packets, in the order in which they were added.
    coming: Waiting,
    /// Packets that enter the link much later than the last batch. Usually empty.
    later: Waiting,
    /// The earliest entry time in `later`; `Time::MAX` if the list is empty.
    first_later: Time,
}

/// Packets in front of a link, in the order of addition. In a [`Batch`], `None` is a packet that has entered the link.
pub(crate) type Waiting = Vec<Option<Entering>>;

/// The packets that leave a merge point together. All merge points share its memory.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The next packets that enter the link, in order of entry.
    pub ready: Vec<Entering>,
    /// The packets of the merge point, in the order in which they were added.
    packets: Waiting,
    /// Indexes in `packets`, in order of entry. The packets are not moved, because there are hundreds of thousands of
    /// them in large networks.
    order: Vec<u32>,
    /// Number of indexes in `order` whose packets have moved to `ready`.
    loaded: usize,
    /// For each bucket of entry times, the index in `order` at which the bucket begins.
    buckets: Vec<u32>,
}

/// Lists with more packets than this are divided into buckets by entry time before they are sorted.
const FEW: usize = 32;
/// Maximum number of buckets, as a power of 2.
const MOST_BUCKETS: u32 = 16;
/// Packets are put aside if the number of packets in `coming` exceeds the size of the last batch by more than this
/// factor.
const MANY: usize = 4;
/// Maximum number of packets in [`Batch::ready`]. The processor can fetch this many packets from memory in parallel.
const LOADED: usize = 64;

/// Returns the time at which a packet enters the link; `Time::MAX` if it has entered already.
#[inline(always)]
fn time(entering: &Option<Entering>) -> Time {
    entering.as_ref().map_or(Time::MAX, |entering| entering.at)
}

/// Returns the sort key of a packet: entry time, then leader. One number is compared faster than a pair.
#[inline(always)]
fn key(entering: &Option<Entering>) -> u128 {
    let leader = entering.as_ref().map_or(u32::MAX, |entering| entering.from.0);
    u128::from(time(entering).as_nanos()) << 32 | u128::from(leader)
}

impl MergePoint {
    /// Creates the merge point in front of a link with this delay.
    pub fn new(delay: Duration) -> MergePoint {
        let (coming, later) = (Vec::new(), Vec::new());
        MergePoint { delay, first: Time::MAX, coming, later, first_later: Time::MAX }
    }

    /// Moves all packets of another merge point to this merge point. No leader may have packets in both.
    pub fn append(&mut self, other: &mut MergePoint) {
        self.coming.append(&mut other.coming);
        self.first = self.first.min(std::mem::replace(&mut other.first, Time::MAX));
    }

    /// Returns the entry time of the first packet; `Time::MAX` if there is no packet.
    #[inline]
    pub fn first(&self) -> Time {
        self.first
    }

    /// Returns the time by which the link must have received the first packet; `Time::MAX` if there is no packet.
    #[inline]
    pub fn due(&self) -> Time {
        if self.first == Time::MAX { Time::MAX } else { self.first + self.delay }
    }

    /// Adds a packet. Returns true if the packet is the earliest packet, which changes [`MergePoint::due`]. A full
    /// merge point may take over the memory of `spare`.
    #[inline(always)]
    pub fn add(&mut self, entering: Entering, spare: &mut Waiting) -> bool {
        // A packet that enters at the same time as the first packet queues behind the first packet. The time of the
        // link's next event does not change.
        let is_first = entering.at < self.first;
        if is_first {
            self.first = entering.at;
        }
        if self.coming.len() == self.coming.capacity() {
            self.make_room(spare);
        }
        self.coming.push(Some(entering));
        is_first
    }

    /// Takes over the memory of `spare` if it is larger, or grows the list by 25 %. With 10,000 flows the list contains
    /// 400,000 packets.
    #[cold]
    fn make_room(&mut self, spare: &mut Waiting) {
        if self.coming.len() < spare.capacity() {
            spare.append(&mut self.coming);
            std::mem::swap(&mut self.coming, spare);
        } else {
            self.coming.reserve_exact((self.coming.len() / 4).max(FEW));
        }
    }

    /// Moves the packets that enter the link by `until` to an empty batch. Call [`Batch::load`] until it returns false,
    /// and then call [`MergePoint::finish`].
    pub fn take(&mut self, until: Time, batch: &mut Batch) {
        if self.first_later <= until {
            // Packets with equal keys must keep the order in which they were added. The packets in `later` were added
            // first.
            self.later.append(&mut self.coming);
            std::mem::swap(&mut self.coming, &mut self.later);
            self.first_later = Time::MAX;
        }
        batch.packets = std::mem::take(&mut self.coming);
        batch.sort(self.first, until);
        let stays = |at: &Time| *at > until;
        let times = batch.packets.iter().map(time);
        self.first = if batch.order.len() == batch.packets.len() {
            Time::MAX
        } else {
            times.filter(stays).min().unwrap_or(Time::MAX)
        };
        self.first = self.first.min(self.first_later);
    }

    /// Takes back the packets of a batch that enter later. If there are few, `spare` takes over the batch's memory, so that
    /// merge points that are full at different times need the memory only once.
    pub fn finish(&mut self, batch: &mut Batch, spare: &mut Waiting) {
        let taken = batch.order.len();
        let mut rest = std::mem::take(&mut batch.packets);
        let (used, places) = (rest.len(), rest.capacity());
        if taken == rest.len() {
            // All packets have entered the link, so every entry is `None`. `clear` would call a destructor for each entry.
            while let Some(entry) = rest.pop() {
                debug_assert!(entry.is_none(), "a packet of the batch has not entered the link");
                std::mem::forget(entry);
            }
        } else {
            rest.retain(Option::is_some);
        }
        // The list may come from a merge point with more packets, or from a burst.
        if places > FEW && 2 * used < places {
            rest.shrink_to(places - places / 4);
        }
        if MANY * rest.len() <= taken && rest.capacity() > spare.capacity() {
            let mut few = Waiting::with_capacity(rest.len());
            few.append(&mut rest);
            *spare = std::mem::replace(&mut rest, few);
        }
        // Packets of this batch may have passed through the link and further links back to this merge point.
        rest.append(&mut self.coming);
        self.coming = rest;
        if self.coming.len() > MANY * taken.max(FEW) {
            self.put_aside();
        }
    }

    /// Moves the packets in the last 75 % of the time span from `coming` to `later`.
    #[cold]
    fn put_aside(&mut self) {
        let times = || self.coming.iter().map(time);
        let (Some(first), Some(last)) = (times().min(), times().max()) else { return };
        let border = first + (last - first) / MANY as u64;
        let (soon, later) = std::mem::take(&mut self.coming).into_iter().partition(|entering| time(entering) <= border);
        self.coming = soon;
        // Append these packets at the end, because the packets already in `later` were added earlier.
        self.later.extend::<Waiting>(later);
        self.first_later = self.later.iter().map(time).min().unwrap_or(Time::MAX);
    }

    /// Returns the number and total size of the packets in this merge point.
    pub fn held(&self) -> Count {
        Count::of(self.coming.iter().chain(&self.later).flatten().map(|entering| entering.size()))
    }
}

impl Batch {
    /// Moves the next packets to `ready`. Returns false if the batch is empty.
    pub fn load(&mut self) -> bool {
        let Batch { ready, packets, order, loaded, .. } = self;
        let next = &order[*loaded..order.len().min(*loaded + LOADED)];
        *loaded += next.len();
        ready.extend(next.iter().map(|place| packets[*place as usize].take().expect("a packet enters once")));
        !ready.is_empty()
    }

    /// Computes `order` for the packets that enter the link by `until`. `first` is the earliest entry time.
    fn sort(&mut self, first: Time, until: Time) {
        self.order.clear();
        self.loaded = 0;
        if self.packets.len() > FEW {
            self.scatter(first, until);
        } else {
            let places = (0..).zip(&self.packets);
            self.order.extend(places.filter(|(_, entering)| time(entering) <= until).map(|(place, _)| place));
        }
        let Batch { packets, order, .. } = self;
        insertion_sort(order, |place| key(&packets[place as usize]));
    }

    /// Fills `order` for a long list that is almost sorted, by sorting buckets of entry time.
    fn scatter(&mut self, first: Time, until: Time) {
        let Batch { packets, order, buckets, .. } = self;
        let (first, last) = (first.as_nanos(), until.as_nanos());
        let wanted = packets.len().ilog2().min(MOST_BUCKETS);
        let shift = (u64::BITS - (last - first).leading_zeros()).saturating_sub(wanted);
        let bucket = |at: Time| ((at.as_nanos() - first) >> shift) as usize;
        buckets.clear();
        buckets.resize(bucket(until) + 2, 0);
        let enters = |(_, at): &(u32, Time)| *at <= until;
        let times = || (0..).zip(packets.iter().map(time)).filter(enters);
        // Counting sort: first count the packets of each bucket. The running sums are then the positions at which the
        // buckets begin.
        for (_, at) in times() {
            buckets[bucket(at) + 1] += 1;
        }
        let mut sum = 0;
        for count in &mut *buckets {
            sum += *count;
            *count = sum;
        }
        order.reserve_exact(sum as usize);
        order.resize(sum as usize, 0);
        for (place, at) in times() {
            let next = &mut buckets[bucket(at)];
            order[*next as usize] = place;
            *next += 1;
        }
        let mut from = 0;
        for to in &*buckets {
            let to = *to as usize;
            // An insertion sort would take quadratic time for a bucket with many packets.
            if to > from + FEW {
                order[from..to].sort_by_key(|place| key(&packets[*place as usize]));
            }
            from = to;
        }
    }
}

/// Sorts a list by key, in linear time if the list is almost sorted. The sort is stable: elements with equal keys keep
/// their order.
#[inline(always)]
fn insertion_sort<K: Ord + Copy>(list: &mut [u32], key: impl Fn(u32) -> K) {
    let Some((&first, _)) = list.split_first() else { return };
    let mut largest = key(first);
    for next in 1..list.len() {
        let (moved, own) = (list[next], key(list[next]));
        if own >= largest {
            largest = own;
            continue;
        }
        let mut place = next;
        while place > 0 && key(list[place - 1]) > own {
            list[place] = list[place - 1];
            place -= 1;
        }
        list[place] = moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopsided_core::packet::{FlowId, IpHeader, NewPacket, UdpHeader};
    use lopsided_core::{Payload, Transport};
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    fn entering(number: u64, at: u64, from: u32) -> Entering {
        let ip = IpHeader::v4(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
        let new = NewPacket::new(FlowId(0), ip, Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 }), Payload::EMPTY);
        let packet = Packet::unbooked(number, Time::ZERO, new);
        let size = packet.size();
        Entering::new(Time::from_nanos(at), NodeId(from), packet, size, HopIndex::UNKNOWN)
    }

    /// Entries must stay small, because the merge point of a busy link can hold 500,000 packets.
    #[test]
    fn an_entry_has_24_octets_and_stores_the_packets_size() {
        assert_eq!(size_of::<Entering>(), 24);
        for octets in [0, 65_507, 65_508, 100_000] {
            let ip = IpHeader::v4(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
            let transport = Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 });
            let new = NewPacket::new(FlowId(0), ip, transport, Payload::virtual_len(octets));
            let packet = Packet::unbooked(1, Time::ZERO, new);
            let size = packet.size();
            assert_eq!(Entering::new(Time::ZERO, NodeId(0), packet, size, HopIndex::UNKNOWN).size(), size);
        }
    }

    proptest! {
        /// Each step adds early and late packets, and takes a batch. The batch must contain exactly the packets whose
        /// entry time is reached.
        #[test]
        fn batches_are_ordered_by_time_then_link_then_arrival(
            steps in prop::collection::vec(
                (prop::collection::vec((prop_oneof![0u64..30, 0u64..9_000_000], 0u32..3), 0..40), 0u64..3_000_000),
                1..20,
            ),
        ) {
            let mut merge_point = MergePoint::new(Duration::from_millis(1));
            let (mut batch, mut spare) = (Batch::default(), Waiting::new());
            let (mut waiting, mut now, mut number) = (Vec::new(), 0, 0);
            for (added, on) in steps {
                for (later, from) in added {
                    number += 1;
                    let at = now + 1 + later;
                    waiting.push((at, from, number));
                    let first = waiting.iter().map(|(at, ..)| *at).min();
                    let was_first = merge_point.add(entering(number, at, from), &mut spare);
                    prop_assert!(!was_first || first == Some(at));
                    prop_assert_eq!(Some(merge_point.due()), first.map(|at| Time::from_nanos(at + 1_000_000)));
                }
                now += on;
                waiting.sort();
                let entered = waiting.partition_point(|(at, ..)| *at <= now);
                let mut taken = Vec::new();
                if merge_point.first() <= Time::from_nanos(now) {
                    merge_point.take(Time::from_nanos(now), &mut batch);
                    while batch.load() {
                        taken.extend(batch.ready.drain(..).map(|of| (of.at.as_nanos(), of.from.0, of.packet.id())));
                    }
                    merge_point.finish(&mut batch, &mut spare);
                }
                prop_assert_eq!(taken, waiting.drain(..entered).collect::<Vec<_>>());
                prop_assert_eq!(merge_point.held().packets, waiting.len() as u64);
            }
        }
    }
}
