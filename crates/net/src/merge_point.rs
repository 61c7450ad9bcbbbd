//! The merge point in front of a link with several leaders: packets in flight to the link, in the order in which they
//! will enter it.
//!
//! A leader computes the arrival time of a packet as soon as the packet enters the leader (see `network.rs`). At that
//! moment a packet of another leader may still arrive at the link earlier. So the packet waits here, without an event,
//! until the link needs it.
//!
//! When does the link need it? A packet that enters the link at time t leaves it at t + delay at the earliest. The link
//! therefore has nothing to deliver before t + delay, and may accept all packets of that span in one batch
//! ([`MergePoint::due`]). By then every packet that enters at t is here.
//!
//! Invariants:
//!
//! - Packets leave in order of entry time. Packets with equal times leave by the number of the leader, and then in the
//!   order in which they came, exactly as if each arrival were an event of the network.
//! - [`MergePoint::due`] is never too late: each new earliest packet updates it, and the caller then updates the link's
//!   event.
//! - The conservation check counts packets that wait here as held.
//!
//! Most packets arrive here almost in order, so a new packet is inserted near the end of a list. A packet that enters
//! the link much later, after a long delay or queue of its leader, would make this list long. Packets later than the
//! current *stretch* of time are put aside unsorted, and are sorted when their stretch begins.

use crate::next_hop::Way;
use lopsided_core::{Bytes, Count, Duration, NodeId, Packet, Time};
use std::collections::VecDeque;

/// A packet on its way to a link. It stores the packet's size because the packet itself has left the processor's cache
/// by the time it enters the link.
#[derive(Debug)]
pub(crate) struct Entering {
    /// The time at which the packet enters the link.
    pub at: Time,
    /// The packet.
    pub packet: Packet,
    /// The leader that the packet comes from.
    pub from: NodeId,
    /// The packet's size in bytes; 0 if the size does not fit into 16 bits.
    size: u16,
    /// The next hop behind the link, if it is known.
    pub way: Way,
}

impl Entering {
    /// A packet of this size that enters the link at `at`.
    #[inline(always)]
    pub fn new(at: Time, from: NodeId, packet: Packet, size: Bytes, way: Way) -> Entering {
        let size = u16::try_from(size.get()).unwrap_or(0);
        Entering { at, packet, from, size, way }
    }

    /// The packet's size.
    #[inline(always)]
    pub fn size(&self) -> Bytes {
        if self.size == 0 { self.packet.size() } else { Bytes::new(u64::from(self.size)) }
    }

    /// The sort key: entry time, then leader.
    fn key(&self) -> (Time, NodeId) {
        (self.at, self.from)
    }
}

/// The merge point in front of one link.
#[derive(Debug)]
pub(crate) struct MergePoint {
    /// Time from the first packet's entry until the link must have the packet.
    slack: Duration,
    /// The delay of the link.
    delay: Duration,
    /// The usual length of a stretch.
    stretch: Duration,
    /// The packets.
    coming: Coming,
}

/// The packets put aside at one time are sorted in at most this number of stretches, so that each packet is looked at
/// only a few times.
const MOST_STRETCHES: u64 = 4;
/// The minimum length of a stretch: a shorter one would begin for every few packets.
const LEAST_STRETCH: Duration = Duration::from_millis(1);

/// Number of places from the end of the list that are tried one by one before a binary search.
const NEAR: usize = 8;

/// The packets at a merge point, in three lists.
#[derive(Debug)]
struct Coming {
    /// Entry time of the earliest packet; `Time::MAX` if there is none.
    first: Time,
    /// End of the current stretch. All packets that enter by then are in `known` or `since`; each of these lists is
    /// sorted.
    until: Time,
    /// Packets that were put aside before the stretch began.
    known: VecDeque<Entering>,
    /// Packets added since the stretch began.
    since: VecDeque<Entering>,
    /// The latest entry time in `since`.
    last: Time,
    /// Packets that enter after the stretch, in the order in which they were added.
    later: Vec<Entering>,
    /// The earliest entry time in `later`; `Time::MAX` if the list is empty.
    first_later: Time,
}

impl MergePoint {
    /// The merge point in front of a link with this delay. `in_time` is true if the link leads into another part of a
    /// divided network: the other part needs each packet by the end of the window, so no packet may wait for the link's
    /// delay.
    pub fn new(delay: Duration, in_time: bool) -> MergePoint {
        let coming = Coming {
            first: Time::MAX,
            until: Time::ZERO,
            known: VecDeque::new(),
            since: VecDeque::new(),
            last: Time::ZERO,
            later: Vec::new(),
            first_later: Time::MAX,
        };
        let slack = if in_time { Duration::ZERO } else { delay };
        MergePoint { slack, delay, stretch: delay.max(LEAST_STRETCH), coming }
    }

    /// An empty merge point in front of the same link, for a part of the network.
    pub fn part(&self, in_time: bool) -> MergePoint {
        MergePoint::new(self.delay, in_time)
    }

    /// Swaps the packets of two merge points.
    pub fn exchange(&mut self, other: &mut MergePoint) {
        std::mem::swap(&mut self.coming, &mut other.coming);
    }

    /// Time by which the link must have the first packet; `Time::MAX` if there is no packet.
    #[inline]
    pub fn due(&self) -> Time {
        if self.coming.first == Time::MAX { Time::MAX } else { self.coming.first + self.slack }
    }

    /// Adds a packet. Returns true if it is now the earliest one, so that [`MergePoint::due`] changed.
    #[inline(always)]
    pub fn add(&mut self, entering: Entering) -> bool {
        let coming = &mut self.coming;
        let at = entering.at;
        // Equal times keep the earlier entry first, so the link's time does not change.
        let is_first = at < coming.first;
        if is_first {
            // The merge point was empty: a stretch starts with this packet.
            if coming.first == Time::MAX {
                coming.until = at + self.stretch;
            }
            coming.first = at;
        }
        if at > coming.until {
            coming.put_aside(entering);
        } else if at <= coming.last {
            coming.sort_in(entering);
        } else {
            coming.last = at;
            coming.since.push_back(entering);
        }
        is_first
    }

    /// Removes and returns the first packet if it enters by `until`.
    #[inline]
    pub fn take(&mut self, until: Time) -> Option<Entering> {
        let coming = &mut self.coming;
        let first = if coming.known.is_empty() {
            if coming.since.front().is_some_and(|first| first.at <= until) { coming.since.pop_front() } else { None }
        } else {
            coming.take_of_both(until)
        };
        // The common case ends here: packets come in order within the current stretch.
        if first.is_some() { first } else { self.take_later(until) }
    }

    /// The slow path of [`MergePoint::take`]: no packet of `since` enters by `until`.
    #[cold]
    fn take_later(&mut self, until: Time) -> Option<Entering> {
        let coming = &mut self.coming;
        if coming.known.is_empty() && coming.since.is_empty() && coming.first_later <= until {
            coming.begin_stretch(until, self.stretch);
        }
        let taken = coming.take_of_both(until);
        if taken.is_none() {
            coming.find_first();
        }
        taken
    }

    /// Number and size of the packets here.
    pub fn held(&self) -> Count {
        let Coming { known, since, later, .. } = &self.coming;
        Count::of(known.iter().chain(since).chain(later).map(|entering| entering.size()))
    }
}

impl Coming {
    /// Computes `first` again.
    fn find_first(&mut self) {
        let first = |row: &VecDeque<Entering>| row.front().map_or(Time::MAX, |entering| entering.at);
        self.first = first(&self.since).min(first(&self.known)).min(self.first_later);
    }

    /// Adds a packet that enters after the current stretch.
    #[cold]
    fn put_aside(&mut self, entering: Entering) {
        self.first_later = self.first_later.min(entering.at);
        self.later.push(entering);
    }

    /// Inserts a packet into `since`, after all packets that enter at the same time or earlier. The place is mostly
    /// near the end.
    #[inline(never)]
    fn sort_in(&mut self, entering: Entering) {
        let later = |other: &Entering| other.key() > entering.key();
        let near = self.since.iter().rev().take(NEAR).take_while(|other| later(other)).count();
        let place =
            if near < NEAR { self.since.len() - near } else { self.since.partition_point(|other| !later(other)) };
        self.since.insert(place, entering);
    }

    /// Removes and returns the first packet of `known` and `since` if it enters by `until`.
    fn take_of_both(&mut self, until: Time) -> Option<Entering> {
        let row = match (self.known.front(), self.since.front()) {
            (Some(known), Some(since)) if since.key() < known.key() => &mut self.since,
            (None, _) => &mut self.since,
            (Some(_), _) => &mut self.known,
        };
        if row.front()?.at <= until { row.pop_front() } else { None }
    }

    /// Begins a stretch at `now`, and sorts the packets that enter during it. `known` and `since` must be empty. The
    /// stretch is longer if the packets put aside are far apart, so that the rest of them is not looked at too often.
    #[cold]
    fn begin_stretch(&mut self, now: Time, stretch: Duration) {
        let last = self.later.iter().map(|entering| entering.at).max().unwrap_or(self.first_later);
        // Far-apart packets get longer stretches, so that `later` is searched only a few times.
        self.until = now + stretch.max((last - self.first_later) / MOST_STRETCHES);
        let (soon, later): (Vec<Entering>, Vec<Entering>) =
            std::mem::take(&mut self.later).into_iter().partition(|entering| entering.at <= self.until);
        self.known = soon.into();
        // A stable sort: packets with equal keys keep the order in which they came.
        self.known.make_contiguous().sort_by_key(Entering::key);
        self.first_later = later.iter().map(|entering| entering.at).min().unwrap_or(Time::MAX);
        self.later = later;
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
        Entering::new(Time::from_nanos(at), NodeId(from), packet, size, Way::UNKNOWN)
    }

    /// A merge point in front of a busy link can hold 500,000 of these.
    #[test]
    fn what_enters_takes_little_and_knows_its_size() {
        assert_eq!(size_of::<Entering>(), 24);
        for octets in [0, 65_507, 65_508, 100_000] {
            let ip = IpHeader::v4(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
            let transport = Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 });
            let new = NewPacket::new(FlowId(0), ip, transport, Payload::virtual_len(octets));
            let packet = Packet::unbooked(1, Time::ZERO, new);
            let size = packet.size();
            assert_eq!(Entering::new(Time::ZERO, NodeId(0), packet, size, Way::UNKNOWN).size(), size);
        }
    }

    proptest! {
        /// Each step adds packets that enter soon and packets that enter late, then takes all packets that have
        /// entered: exactly these packets, in order.
        #[test]
        fn what_entered_comes_in_order_of_time_then_link_then_arrival(
            steps in prop::collection::vec(
                (prop::collection::vec((prop_oneof![0u64..30, 0u64..9_000_000], 0u32..3), 0..40), 0u64..3_000_000),
                1..20,
            ),
        ) {
            let mut merge_point = MergePoint::new(Duration::from_millis(1), false);
            let (mut waiting, mut now, mut number) = (Vec::new(), 0, 0);
            for (added, on) in steps {
                for (later, from) in added {
                    number += 1;
                    let at = now + 1 + later;
                    waiting.push((at, from, number));
                    let first = waiting.iter().map(|(at, ..)| *at).min();
                    let was_first = merge_point.add(entering(number, at, from));
                    prop_assert!(!was_first || first == Some(at));
                    prop_assert_eq!(Some(merge_point.due()), first.map(|at| Time::from_nanos(at + 1_000_000)));
                }
                now += on;
                waiting.sort();
                let entered = waiting.partition_point(|(at, ..)| *at <= now);
                for (at, from, number) in waiting.drain(..entered) {
                    let taken = merge_point.take(Time::from_nanos(now)).expect("it has entered");
                    prop_assert_eq!((taken.at.as_nanos(), taken.from.0, taken.packet.id()), (at, from, number));
                }
                prop_assert!(merge_point.take(Time::from_nanos(now)).is_none());
                prop_assert_eq!(merge_point.held().packets, waiting.len() as u64);
            }
        }
    }
}
