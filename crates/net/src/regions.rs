//! The regions of a network, and how far each of them can run ahead.
//!
//! A *region* is a host with the link that leads to it. Hosts affect each other only through links, and a drop-tail
//! link with a delay hands on a packet no sooner than its delay after the packet's entry. So a region can handle all its
//! events up to its *safe time* in one go, before the next region handles its own. The code and the state of one host
//! then stay in the processor's cache. These are the conservative windows of Chandy and Misra (1979).
//!
//! Regions behind the same links are a *group*, with one clock. All events of a group up to its clock are done. A
//! *shared link* is a link with a merge point. It is no part of a region: it takes the packets that entered by the time
//! up to which all entries are known, in order of time.
//!
//! # Safe time
//!
//! - All entries of a shared link are known up to the minimum, over the groups and shared links that feed it, of the
//!   time up to which they are done plus the delay of the links between.
//! - A packet that is not known yet leaves the shared link after that time plus the delay of the link, and not before the
//!   link has sent the packets that wait in its queue: [`Link::no_arrival_until`](lopsided_link::Link::no_arrival_until).
//! - The safe time of a group is the minimum of these times over all links that feed the group.
//!
//! # Why the result is that of one order of all events
//!
//! - A region gets every packet that arrives by its safe time before it runs up to that time.
//! - Packets enter a shared link in order of time, then by the number of the leader, then in the order in which the
//!   leader delivered them. This is the order of events.
//! - Digest, counters and packet numbers are kept per node.

use lopsided_core::{Duration, NodeId, Packet, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// The source of a group's or a shared link's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Feeder {
    /// The hosts of a group, by its number.
    Group(usize),
    /// A shared link, by the number of its merge point.
    Shared(usize),
}

/// All feeders of a group or a shared link, each with the minimum delay of the links in between.
pub(crate) type Feeders = Vec<(Feeder, Duration)>;

/// A host and the link that leads to it.
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
    /// The end of the window that is open, or of the latest window.
    pub end: Time,
    /// The indexes of its regions in [`Regions::regions`].
    pub regions: Range<usize>,
    /// The sources of its packets.
    pub feeders: Feeders,
}

/// A link with a merge point.
#[derive(Debug)]
pub(crate) struct SharedLink {
    /// All packets that enter by this time have entered the link.
    pub known: Time,
    /// The delay of the link.
    pub delay: Duration,
    /// A packet that is not known yet leaves the link after this time.
    pub quiet_until: Time,
    /// The sources of its packets.
    pub feeders: Feeders,
}

/// The events of a group, or of a share of its regions, between two times, while they are handled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The next region to run.
    pub region: usize,
    /// The region after the last one.
    pub until_region: usize,
    /// All events of the group up to `begin` are done.
    pub begin: Time,
    /// The last instant of the window.
    pub end: Time,
    /// The time of the latest event of the region that runs next, or `begin` if that region had no event yet.
    pub now: Time,
}

impl Window {
    /// Divides the regions that have not begun into at most this number of shares.
    pub fn shares(self, most: usize) -> impl Iterator<Item = Window> {
        let size = (self.until_region - self.region).div_ceil(most).max(1);
        let share =
            move |first: usize| Window { region: first, until_region: self.until_region.min(first + size), ..self };
        (self.region..self.until_region).step_by(size).map(share)
    }
}

/// The packets on their way into the link of a region, in order of time, each with the time at which it enters the link.
pub(crate) type Inlet = VecDeque<(Time, Packet)>;

/// Capacity up to which an inlet is never shrunk.
pub(crate) const ROOMY: usize = 8;

/// Releases a quarter of an inlet's memory if a window used little of it. `used` is the number of packets before the
/// window.
#[inline]
pub(crate) fn give_back_room(inlet: &mut Inlet, used: usize) {
    let places = inlet.capacity();
    if places > ROOMY && 2 * used < places {
        inlet.shrink_to(places - places / 4);
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
    /// The windows that are handled, or what is left of their shares.
    pub open: Vec<Window>,
    /// Number of events so far in the windows that are open.
    pub handled: u64,
    /// Number of events per second of simulated time in the latest windows.
    pub pace: f64,
}

impl Regions {
    /// The minimum time by which a group can run ahead of the groups and shared links that feed it.
    pub fn lookahead(&self) -> Duration {
        let of = |(feeder, delay): &(Feeder, Duration)| match feeder {
            Feeder::Group(_) => *delay,
            Feeder::Shared(shared) => *delay + self.shared[*shared].delay,
        };
        self.groups.iter().flat_map(|group| &group.feeders).map(of).min().unwrap_or(Duration::ZERO)
    }

    /// The group whose clock is the furthest behind.
    pub fn earliest(&self) -> Option<(usize, Time)> {
        self.groups.iter().map(|group| group.clock).enumerate().min_by_key(|(_, clock)| *clock)
    }

    /// Opens the next window of the group whose clock is the furthest behind. False if all clocks have reached `until`.
    pub fn open(&mut self, until: Time) -> bool {
        let Some((group, _)) = self.earliest().filter(|(_, clock)| *clock < until) else { return false };
        self.open_window_of(group, until);
        assert!(!self.open.is_empty(), "a window has a length");
        true
    }

    /// Opens a window of every other group that can run.
    pub fn open_others(&mut self, until: Time) {
        (0..self.groups.len()).for_each(|group| self.open_window_of(group, until));
    }

    fn open_window_of(&mut self, group: usize, until: Time) {
        let end = self.safe(group).min(until);
        let group = &mut self.groups[group];
        // `end` is later than `clock` only while the window is open.
        if end > group.end {
            group.end = end;
            let Range { start: region, end: until_region } = group.regions;
            self.open.push(Window { region, until_region, begin: group.clock, end, now: group.clock });
        }
    }

    /// Moves the clocks to the ends of the open windows, of which all events are done.
    pub fn close(&mut self) {
        let mut longest = Duration::ZERO;
        for group in &mut self.groups {
            longest = longest.max(group.end - group.clock);
            group.clock = group.end;
        }
        self.pace = self.handled as f64 / longest.as_secs_f64();
        self.handled = 0;
    }

    /// The time up to which a group can run.
    pub fn safe(&self, group: usize) -> Time {
        self.done(&self.groups[group].feeders)
    }

    /// The time up to which all entries of a shared link are known.
    pub fn entered(&self, shared: usize) -> Time {
        self.done(&self.shared[shared].feeders)
    }

    /// No packet that is not known yet comes from these feeders up to this time.
    fn done(&self, feeders: &Feeders) -> Time {
        let done = |feeder: Feeder| match feeder {
            Feeder::Group(group) => self.groups[group].clock,
            Feeder::Shared(shared) => self.shared[shared].quiet_until,
        };
        feeders.iter().map(|(feeder, delay)| done(*feeder) + *delay).min().unwrap_or(Time::MAX)
    }

    /// Moves all clocks to this time: nothing happens before.
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
