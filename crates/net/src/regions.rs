//! The regions of a network, and the time up to which each region can run ahead.
//!
//! A *region* is a host with the link that leads to the host. Hosts affect each other only after a link's delay. A
//! region can therefore handle all its events up to its *safe time* without interruption, while its state stays in the
//! cache. These are the conservative windows of Chandy and Misra (1979).
//!
//! Regions behind the same links form a *group* with one clock. A *shared link* is a link with a merge point, outside
//! of all regions.
//!
//! # Safe time
//!
//! - Take each group or shared link that feeds a shared link. Add the delay of the links in between to the time up to
//!   which this feeder is finished. Up to the minimum of these times, all entries of the shared link are known.
//! - A packet that is not known yet leaves the shared link after this minimum plus the link's delay, and after the
//!   packets in its queue: [`Link::no_arrival_until`](lopsided_link::Link::no_arrival_until).
//! - The safe time of a group is the minimum of these times over all links that feed the group.
//!
//! # Why the result is the same as with one global order of events
//!
//! - A region receives every packet that arrives by its safe time before it runs up to this time.
//! - Packets enter a shared link in order of time, then by the number of the leader, then in the order in which the
//!   leader delivered them. The global order of events is the same.
//! - Digest, counters and packet numbers are kept per node.

use lopsided_core::{Duration, NodeId, Packet, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// A source of packets for a group or a shared link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Feeder {
    /// The hosts of the group with this number.
    Group(usize),
    /// The shared link whose merge point has this number.
    Shared(usize),
}

/// All feeders of a group or shared link, each with its minimum delay to the group or link.
pub(crate) type Feeders = Vec<(Feeder, Duration)>;

/// A host and the link that leads to this host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub host: NodeId,
    pub link: NodeId,
}

/// Regions with the same feeders.
#[derive(Debug)]
pub(crate) struct Group {
    /// All events up to this time are done.
    pub clock: Time,
    /// The last instant of the group's open time window, or of its latest time window if none is open.
    pub end: Time,
    /// The indexes of the group's regions in [`Regions::regions`].
    pub regions: Range<usize>,
    /// The sources of the group's packets.
    pub feeders: Feeders,
}

/// A link with a merge point.
#[derive(Debug)]
pub(crate) struct SharedLink {
    /// Every packet with an entry time up to this time is already in the link.
    pub known: Time,
    /// The delay of the link.
    pub delay: Duration,
    /// Packets that have not entered the link yet leave the link after this time.
    pub quiet_until: Time,
    /// The sources of the link's packets.
    pub feeders: Feeders,
}

/// A time window: an interval of virtual time in which regions of one group are being handled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The next region to run.
    pub region: usize,
    /// The region after the last region of the time window.
    pub until_region: usize,
    /// All events of the group up to and including `begin` are done.
    pub begin: Time,
    /// The last instant of the time window.
    pub end: Time,
    /// The time of the region's latest event in this time window, or `begin`.
    pub now: Time,
}

impl Window {
    /// Divides the remaining regions of the time window into at most `most` shares of equal size.
    pub fn shares(self, most: usize) -> impl Iterator<Item = Window> {
        let size = (self.until_region - self.region).div_ceil(most).max(1);
        let share =
            move |first: usize| Window { region: first, until_region: self.until_region.min(first + size), ..self };
        (self.region..self.until_region).step_by(size).map(share)
    }
}

/// The packets that will enter the link of a region, in order of their entry times.
///
/// The hosts at the two ends of a path take turns, so most inlets are empty at any time. After a region has run, an empty
/// inlet keeps memory for a few packets only ([`Inlet::places`]).
#[derive(Debug, Default)]
pub(crate) struct Inlet {
    packets: VecDeque<(Time, Packet)>,
    /// Number of packets in the last time window. The next allocation reserves memory for this number.
    expected: usize,
}

/// Minimum capacity of an inlet with memory, in packets.
const ROOMY: usize = 8;
/// Maximum number of packets for which all empty inlets together keep memory, unless [`ROOMY`] requires more.
const KEPT: usize = 16_384;

impl Inlet {
    /// Returns the maximum capacity, in packets, with which an empty inlet keeps its memory if there are `inlets` inlets.
    pub fn places(inlets: usize) -> usize {
        (KEPT / inlets.max(1)).max(ROOMY)
    }

    /// Returns the number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns all packets with their entry times.
    pub fn iter(&self) -> impl Iterator<Item = &(Time, Packet)> {
        self.packets.iter()
    }

    /// Returns the entry time of the first packet.
    #[inline]
    pub fn first(&self) -> Option<Time> {
        self.packets.front().map(|(at, _)| *at)
    }

    /// Removes and returns the first packet with its entry time.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, Packet)> {
        self.packets.pop_front()
    }

    /// Adds a packet behind all others.
    #[inline(always)]
    pub fn push(&mut self, at: Time, packet: Packet) {
        if self.packets.len() == self.packets.capacity() {
            self.make_room();
        }
        self.packets.push_back((at, packet));
    }

    #[cold]
    fn make_room(&mut self) {
        let more = if self.packets.capacity() == 0 { self.expected } else { self.packets.len() / 4 };
        self.packets.reserve_exact(more.max(ROOMY));
    }

    /// Frees the memory if the inlet is empty and has a capacity of more than `places` packets. `used` is the number of
    /// packets that the last time window needed.
    #[inline]
    pub fn free_if_empty(&mut self, used: usize, places: usize) {
        if self.packets.is_empty() && self.packets.capacity() > places {
            *self = Inlet { packets: VecDeque::new(), expected: used };
        }
    }
}

/// The regions of a network.
#[derive(Debug)]
pub(crate) struct Regions {
    /// All regions, by group.
    pub regions: Vec<Region>,
    /// All groups.
    pub groups: Vec<Group>,
    /// The shared links, by the number of the merge point.
    pub shared: Vec<SharedLink>,
    /// The time windows that are being handled. If a part of a time window is finished, only the rest is stored.
    pub open: Vec<Window>,
    /// Number of events handled so far in the open time windows.
    pub handled: u64,
    /// Number of events per second of virtual time in the latest time windows.
    pub pace: f64,
}

impl Regions {
    /// Returns the minimum time by which a group can run ahead of its feeders.
    pub fn lookahead(&self) -> Duration {
        let of = |(feeder, delay): &(Feeder, Duration)| match feeder {
            Feeder::Group(_) => *delay,
            Feeder::Shared(shared) => *delay + self.shared[*shared].delay,
        };
        self.groups.iter().flat_map(|group| &group.feeders).map(of).min().unwrap_or(Duration::ZERO)
    }

    /// Returns the group whose clock is furthest behind, and its clock. `None` if there is no group.
    pub fn earliest(&self) -> Option<(usize, Time)> {
        self.groups.iter().map(|group| group.clock).enumerate().min_by_key(|(_, clock)| *clock)
    }

    /// Opens the next time window of the group that is furthest behind. Returns false if all clocks have reached
    /// `until`.
    pub fn open(&mut self, until: Time) -> bool {
        let Some((group, _)) = self.earliest().filter(|(_, clock)| *clock < until) else { return false };
        self.open_window_of(group, until);
        assert!(!self.open.is_empty(), "a time window is longer than 0");
        true
    }

    /// Opens a time window of every other group that can run.
    pub fn open_others(&mut self, until: Time) {
        (0..self.groups.len()).for_each(|group| self.open_window_of(group, until));
    }

    fn open_window_of(&mut self, group: usize, until: Time) {
        let end = self.safe(group).min(until);
        let group = &mut self.groups[group];
        // Open a time window only if it ends later than the group's open or latest time window.
        if end > group.end {
            group.end = end;
            let Range { start: region, end: until_region } = group.regions;
            self.open.push(Window { region, until_region, begin: group.clock, end, now: group.clock });
        }
    }

    /// Closes the open time windows: moves each group's clock to the end of its window.
    pub fn close(&mut self) {
        let mut longest = Duration::ZERO;
        for group in &mut self.groups {
            longest = longest.max(group.end - group.clock);
            group.clock = group.end;
        }
        self.pace = self.handled as f64 / longest.as_secs_f64();
        self.handled = 0;
    }

    /// Returns the safe time of a group: the time up to which the group can run.
    pub fn safe(&self, group: usize) -> Time {
        self.done(&self.groups[group].feeders)
    }

    /// Returns the time up to which all entries of a shared link are known.
    pub fn entered(&self, shared: usize) -> Time {
        self.done(&self.shared[shared].feeders)
    }

    /// Returns the time up to which all packets from these feeders are known.
    fn done(&self, feeders: &Feeders) -> Time {
        let done = |feeder: Feeder| match feeder {
            Feeder::Group(group) => self.groups[group].clock,
            Feeder::Shared(shared) => self.shared[shared].quiet_until,
        };
        feeders.iter().map(|(feeder, delay)| done(*feeder) + *delay).min().unwrap_or(Time::MAX)
    }

    /// Moves all clocks forward to `time`. No event may be pending before `time`.
    pub fn skip_to(&mut self, time: Time) {
        for group in &mut self.groups {
            group.clock = group.clock.max(time);
            group.end = group.end.max(time);
        }
        for shared in &mut self.shared {
            shared.known = shared.known.max(time);
            shared.quiet_until = shared.quiet_until.max(time + shared.delay);
        }
    }
}
