//! Where several links lead into one: the packets on their way to it, in the order in which they enter it.
//!
//! When a packet enters one of the links before, the instant at which it reaches the one behind is known, but others
//! may still come before it. So it waits here, at the cost of no event, until the link behind needs it: the link's
//! delay later, for it has nothing to give before that. Whatever enters by then is known then, and goes through in the
//! order of time; of equal times, by the number of the link before, as the network's order has it.
//!
//! Most packets come nearly in the order in which they enter, and are sorted in as they come. Those that enter later
//! than a stretch of time from now, behind a long line or a long queue, are put aside and sorted when that stretch
//! begins.

use crate::onward::Way;
use lopsided_core::{Bytes, Count, Duration, NodeId, Packet, Time};
use std::collections::VecDeque;

/// A packet on its way to a link, with all that the link asks of it: as it enters, the packet itself has long left the
/// processor's cache.
#[derive(Debug)]
pub(crate) struct Entering {
    pub at: Time,
    pub packet: Packet,
    /// The link before.
    pub from: NodeId,
    /// Its octets; 0 where they are more than fit.
    size: u16,
    /// Where it goes on behind the link.
    pub way: Way,
}

impl Entering {
    #[inline(always)]
    pub fn new(at: Time, from: NodeId, packet: Packet, size: Bytes, way: Way) -> Entering {
        let size = u16::try_from(size.get()).unwrap_or(0);
        Entering { at, packet, from, size, way }
    }

    #[inline(always)]
    pub fn size(&self) -> Bytes {
        if self.size == 0 { self.packet.size() } else { Bytes::new(u64::from(self.size)) }
    }

    fn key(&self) -> (Time, NodeId) {
        (self.at, self.from)
    }
}

#[derive(Debug)]
pub(crate) struct Confluence {
    /// How long after its first packet enters the link must have it.
    slack: Duration,
    delay: Duration,
    stretch: Duration,
    coming: Coming,
}

/// What is known at one time takes so many stretches at most.
const MOST_STRETCHES: u64 = 4;
/// Shorter ones would be begun anew for every few packets.
const LEAST_STRETCH: Duration = Duration::from_millis(1);

/// How far a place is looked for step by step.
const NEAR: usize = 8;

#[derive(Debug)]
struct Coming {
    /// When the first packet of all enters; `Time::MAX` where there is none.
    first: Time,
    /// What enters by the end of this stretch of time is in one of the two rows, in order.
    until: Time,
    /// What was known when the stretch began, and what has come since.
    known: VecDeque<Entering>,
    since: VecDeque<Entering>,
    /// None of what has come since enters after this.
    last: Time,
    /// What enters later, in the order in which it came, and the earliest of it.
    later: Vec<Entering>,
    first_later: Time,
}

impl Confluence {
    /// Before a link with this delay. `in_time`: what enters must be known to the link at once, for somebody else waits
    /// for it.
    pub fn new(delay: Duration, in_time: bool) -> Confluence {
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
        Confluence { slack, delay, stretch: delay.max(LEAST_STRETCH), coming }
    }

    /// Before the same link in a part of the network.
    pub fn part(&self, in_time: bool) -> Confluence {
        Confluence::new(self.delay, in_time)
    }

    /// What comes to one goes to the other.
    pub fn exchange(&mut self, other: &mut Confluence) {
        std::mem::swap(&mut self.coming, &mut other.coming);
    }

    /// When the link must have the first packet; `Time::MAX` where none comes.
    #[inline]
    pub fn due(&self) -> Time {
        if self.coming.first == Time::MAX { Time::MAX } else { self.coming.first + self.slack }
    }

    /// One more packet. True if it is the first now.
    #[inline(always)]
    pub fn add(&mut self, entering: Entering) -> bool {
        let coming = &mut self.coming;
        let at = entering.at;
        let is_first = at < coming.first;
        if is_first {
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

    /// The first packet, if it enters by `until`.
    #[inline]
    pub fn take(&mut self, until: Time) -> Option<Entering> {
        let coming = &mut self.coming;
        let first = if coming.known.is_empty() {
            if coming.since.front().is_some_and(|first| first.at <= until) { coming.since.pop_front() } else { None }
        } else {
            coming.take_of_both(until)
        };
        if first.is_some() { first } else { self.take_later(until) }
    }

    /// As [`Confluence::take`], where nothing of this stretch enters by then.
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

    /// The packets on their way.
    pub fn held(&self) -> Count {
        let Coming { known, since, later, .. } = &self.coming;
        Count::of(known.iter().chain(since).chain(later).map(|entering| entering.size()))
    }
}

impl Coming {
    fn find_first(&mut self) {
        let first = |row: &VecDeque<Entering>| row.front().map_or(Time::MAX, |entering| entering.at);
        self.first = first(&self.since).min(first(&self.known)).min(self.first_later);
    }

    #[cold]
    fn put_aside(&mut self, entering: Entering) {
        self.first_later = self.first_later.min(entering.at);
        self.later.push(entering);
    }

    /// Behind all that enters no later: mostly a few places before the end.
    #[inline(never)]
    fn sort_in(&mut self, entering: Entering) {
        let later = |other: &Entering| other.key() > entering.key();
        let near = self.since.iter().rev().take(NEAR).take_while(|other| later(other)).count();
        let place =
            if near < NEAR { self.since.len() - near } else { self.since.partition_point(|other| !later(other)) };
        self.since.insert(place, entering);
    }

    /// The first of the two rows.
    fn take_of_both(&mut self, until: Time) -> Option<Entering> {
        let row = match (self.known.front(), self.since.front()) {
            (Some(known), Some(since)) if since.key() < known.key() => &mut self.since,
            (None, _) => &mut self.since,
            (Some(_), _) => &mut self.known,
        };
        if row.front()?.at <= until { row.pop_front() } else { None }
    }

    /// Sorts in what enters within the next stretch from `now` on; there is nothing else. It is longer where packets come
    /// from far apart, so that those behind it are not looked at too often.
    #[cold]
    fn begin_stretch(&mut self, now: Time, stretch: Duration) {
        let last = self.later.iter().map(|entering| entering.at).max().unwrap_or(self.first_later);
        self.until = now + stretch.max((last - self.first_later) / MOST_STRETCHES);
        let (soon, later): (Vec<Entering>, Vec<Entering>) =
            std::mem::take(&mut self.later).into_iter().partition(|entering| entering.at <= self.until);
        self.known = soon.into();
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

    /// A link that many share has half a million of them.
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
        /// Each step adds packets, near and far, and lets in what has entered: all of that, in order, and no more.
        #[test]
        fn what_entered_comes_in_order_of_time_then_link_then_arrival(
            steps in prop::collection::vec(
                (prop::collection::vec((prop_oneof![0u64..30, 0u64..9_000_000], 0u32..3), 0..40), 0u64..3_000_000),
                1..20,
            ),
        ) {
            let mut confluence = Confluence::new(Duration::from_millis(1), false);
            let (mut waiting, mut now, mut number) = (Vec::new(), 0, 0);
            for (added, on) in steps {
                for (later, from) in added {
                    number += 1;
                    let at = now + 1 + later;
                    waiting.push((at, from, number));
                    let first = waiting.iter().map(|(at, ..)| *at).min();
                    let was_first = confluence.add(entering(number, at, from));
                    prop_assert!(!was_first || first == Some(at));
                    prop_assert_eq!(Some(confluence.due()), first.map(|at| Time::from_nanos(at + 1_000_000)));
                }
                now += on;
                waiting.sort();
                let entered = waiting.partition_point(|(at, ..)| *at <= now);
                for (at, from, number) in waiting.drain(..entered) {
                    let taken = confluence.take(Time::from_nanos(now)).expect("it has entered");
                    prop_assert_eq!((taken.at.as_nanos(), taken.from.0, taken.packet.id()), (at, from, number));
                }
                prop_assert!(confluence.take(Time::from_nanos(now)).is_none());
                prop_assert_eq!(confluence.held().packets, waiting.len() as u64);
            }
        }
    }
}
