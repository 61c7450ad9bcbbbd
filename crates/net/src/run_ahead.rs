//! Divides a network into regions, and runs each region ahead to its safe time: see [`regions`](crate::regions).

use crate::network::{Network, Progress};
use crate::node::NetNode;
use crate::regions::{Feeder, Feeders, Group, Inlet, Region, Regions, SharedLink, Window};
use lopsided_core::{Cx, Duration, EventMask, Node, NodeId, Packet, Time};
use std::collections::BTreeMap;

/// Regions are used only if the lookahead is at least this duration plus `LOOKAHEAD_PER_REGION` for each region. A
/// visit of a region takes 2 ns, so all visits together take at most 2 % of the simulated time.
const LEAST_LOOKAHEAD: Duration = Duration::from_micros(10);
const LOOKAHEAD_PER_REGION: Duration = Duration::from_nanos(100);

/// The source of all packets of a link.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// A host. Its packets arrive over links with one leader each.
    Host(NodeId),
    /// A shared link, by the number of its merge point.
    Shared(usize),
    /// No packets enter the link.
    Nothing,
}

/// Division into regions.
impl<H: Node> Network<H> {
    /// Divides the network into regions if this saves time. `leaders` lists the leaders of the link behind each merge
    /// point.
    pub(crate) fn divide_into_regions(&mut self, leaders: &[Vec<NodeId>], senders: &[Vec<NodeId>]) {
        let Some(regions) = self.regions_behind(leaders, senders) else { return };
        self.region_of = vec![u32::MAX; self.places.len()];
        for (number, region) in regions.regions.iter().enumerate() {
            self.region_of[region.link.index()] = number as u32;
        }
        self.inbound.resize_with(regions.regions.len(), Inlet::default);
        if self.crews.threads > 1 {
            self.crews.outlets = self.outlets(&regions, senders);
        }
        self.regions = Some(Box::new(regions));
    }

    fn regions_behind(&self, leaders: &[Vec<NodeId>], senders: &[Vec<NodeId>]) -> Option<Regions> {
        // Observers need all events in one order of time. On a single thread, regions save too little time in a network
        // without a shared link.
        if self.accounting.mask() != EventMask::NONE || (leaders.is_empty() && self.crews.threads < 2) {
            return None;
        }
        // The regions, grouped by the shared link that feeds them.
        let mut by_source: BTreeMap<Option<usize>, Vec<Region>> = BTreeMap::new();
        for region in self.hosts_and_links(senders)? {
            let shared = match self.source(region.link, senders)?.0 {
                Source::Shared(shared) => Some(shared),
                Source::Host(_) | Source::Nothing => None,
            };
            by_source.entry(shared).or_default().push(region);
        }
        let mut group_of = vec![0; self.places.len()];
        for (group, regions) in by_source.values().enumerate() {
            regions.iter().for_each(|region| group_of[region.host.index()] = group);
        }
        let feeders = |links: &mut dyn Iterator<Item = NodeId>| -> Option<Feeders> {
            let mut least: BTreeMap<Feeder, Duration> = BTreeMap::new();
            for link in links {
                let (source, delay) = self.source(link, senders)?;
                let feeder = match source {
                    Source::Host(host) => Feeder::Group(group_of[host.index()]),
                    Source::Shared(shared) => Feeder::Shared(shared),
                    Source::Nothing => continue,
                };
                least.entry(feeder).and_modify(|least| *least = delay.min(*least)).or_insert(delay);
            }
            Some(least.into_iter().collect())
        };
        let (mut all, mut groups, mut shared) = (Vec::new(), Vec::new(), Vec::new());
        for regions in by_source.into_values() {
            let feeders = feeders(&mut regions.iter().map(|region| region.link))?;
            groups.push(Group {
                clock: self.now,
                end: self.now,
                regions: all.len()..all.len() + regions.len(),
                feeders,
            });
            all.extend(regions);
        }
        for ((link, _), leaders) in self.merge_points.iter().zip(leaders) {
            let NetNode::Link(node) = self.node(*link) else { return None };
            let feeders = feeders(&mut leaders.iter().copied())?;
            let (known, delay) = (self.now, node.delay());
            shared.push(SharedLink { known, delay, quiet_until: known + delay, feeders });
        }
        let regions = Regions { regions: all, groups, shared, open: Vec::new(), handled: 0, pace: 0.0 };
        let least = LEAST_LOOKAHEAD + LOOKAHEAD_PER_REGION * regions.regions.len() as u64;
        (regions.lookahead() >= least).then_some(regions)
    }

    /// Returns every host with the link that leads to it; `None` if the network cannot be divided into regions.
    fn hosts_and_links(&self, senders: &[Vec<NodeId>]) -> Option<Vec<Region>> {
        let mut regions = Vec::new();
        for (index, node) in self.nodes().enumerate() {
            let is_link = |node: NodeId| matches!(self.node(node), NetNode::Link(_));
            match node {
                NetNode::Link(link) if link.predicts_arrivals() && senders[index].len() < 2 => {
                    let behind = self.behind(NodeId(index as u32)).index();
                    if !matches!(self.places.get(behind)?.node, NetNode::Host(_) | NetNode::Router(_)) {
                        return None;
                    }
                }
                NetNode::Host(_) => match senders[index][..] {
                    [link] if is_link(link) => regions.push(Region { host: NodeId(index as u32), link }),
                    _ => return None,
                },
                NetNode::Router(_) if senders[index].iter().all(|from| is_link(*from)) => {}
                _ => return None,
            }
        }
        Some(regions)
    }

    /// Returns, for each region, the links that its packets cross before a shared link or another region's link.
    fn outlets(&self, regions: &Regions, senders: &[Vec<NodeId>]) -> Vec<Vec<NodeId>> {
        let mut outlets = vec![Vec::new(); regions.regions.len()];
        let numbers: BTreeMap<NodeId, usize> =
            (0..).zip(&regions.regions).map(|(number, of)| (of.host, number)).collect();
        for link in (0..self.places.len()).map(|index| NodeId(index as u32)) {
            if let (None, Some((Source::Host(host), _))) = (self.region_behind(link), self.source(link, senders)) {
                outlets[numbers[&host]].push(link);
            }
        }
        outlets
    }

    /// Returns the source of a link's packets, and the delay from this source to the end of `link`. `None` if the links
    /// form a loop.
    fn source(&self, mut link: NodeId, senders: &[Vec<NodeId>]) -> Option<(Source, Duration)> {
        let mut delay = Duration::ZERO;
        for _ in 0..self.places.len() {
            let place = &self.places[link.index()];
            let NetNode::Link(node) = &place.node else { return None };
            if let Some(shared) = place.row.merge_point() {
                return Some((Source::Shared(shared as usize), delay));
            }
            delay += node.delay();
            match (place.row.follows(), &senders[link.index()][..]) {
                (Some(leader), _) => link = leader,
                (None, [from]) if matches!(self.node(*from), NetNode::Host(_)) => {
                    return Some((Source::Host(*from), delay));
                }
                (None, _) => return Some((Source::Nothing, delay)),
            }
        }
        None
    }
}

/// The run.
impl<H: Node> Network<H> {
    /// Runs all regions up to and including `until`, or until the number of events reaches `last`.
    pub(crate) fn run_ahead(&mut self, until: Time, last: u64) -> Progress {
        let Some(mut regions) = self.regions.take() else { return Progress::Reached };
        let began = self.now;
        regions.skip_to(began);
        let mut progress = Progress::Reached;
        while !regions.open.is_empty() || self.open_window(&mut regions, until) {
            progress = self.run_open(&mut regions, last);
            if !regions.open.is_empty() {
                break;
            }
            regions.close();
            self.now = began;
            self.let_in(&mut regions, until);
            if progress == Progress::Paused {
                break;
            }
        }
        self.now = began;
        match progress {
            Progress::Paused => self.now = began.max(regions.earliest().map_or(began, |(_, clock)| clock)),
            // The caller may read statistics after this call, so the links must have received every packet that entered
            // by now.
            Progress::Reached => regions.regions.iter().enumerate().for_each(|(number, region)| {
                self.let_into_link(number, region.link, began, until);
            }),
        }
        self.regions = Some(regions);
        progress
    }

    /// Opens the next time window, which ends at `until` at the latest. Returns false if all regions have reached
    /// `until`.
    fn open_window(&mut self, regions: &mut Regions, until: Time) -> bool {
        // If no packet is about to enter a region, skip the idle time before the next event.
        if self.inbound_packets == 0 {
            let next = self.queue.first().map_or(until, |(time, _)| time);
            let next = self.merge_points.iter().map(|(_, merge_point)| merge_point.first()).fold(next, Time::min);
            regions.skip_to(Time::from_nanos(next.min(until).as_nanos().saturating_sub(1)));
        }
        let opened = regions.open(until);
        if opened {
            self.run_on_threads(regions, until);
        }
        opened
    }

    /// Runs the regions of the open time windows to the end of these windows.
    fn run_open(&mut self, regions: &mut Regions, last: u64) -> Progress {
        let before = self.events;
        while let Some(window) = regions.open.pop() {
            if let Some(rest) = self.run_window(regions, window, last) {
                regions.open.push(rest);
                break;
            }
        }
        regions.handled += self.events - before;
        // Each thread compares only its own events with the budget. All threads together may therefore handle more
        // events than the budget.
        if regions.open.is_empty() && self.events <= last { Progress::Reached } else { Progress::Paused }
    }

    /// Runs the regions of the time window. If the number of events reaches `last`, returns the unfinished part of the
    /// window.
    pub(crate) fn run_window(&mut self, regions: &Regions, mut window: Window, last: u64) -> Option<Window> {
        while window.region < window.until_region {
            let region = regions.regions[window.region];
            let due = |node: NodeId| self.queue.get(node.index()).is_some_and(|time| time <= window.end);
            let enters = || self.inbound[window.region].first().is_some_and(|at| at <= window.end);
            let is_due = due(region.host) || enters() || due(region.link);
            if is_due && self.run_region(region, &window, last) == Progress::Paused {
                if self.now != self.instant.0 {
                    self.instant = (self.now, self.events);
                }
                return Some(Window { now: self.now, ..window });
            }
            window.region += 1;
            window.now = window.begin;
        }
        None
    }

    /// Runs the next region to the end of the time window, or to `last` events.
    fn run_region(&mut self, Region { host, link }: Region, window: &Window, last: u64) -> Progress {
        self.now = window.now;
        let number = window.region;
        let packets = self.inbound[number].len();
        let port = self.places[link.index()].outlet.port;
        let mut own = self.queue.get(host.index()).unwrap_or(Time::MAX);
        // The next packet that arrives at the host.
        let mut next = None;
        let progress = loop {
            if next.is_none() {
                next = self.next_arriving(number, link, window.begin);
            }
            let arrives = next.as_ref().map_or(Time::MAX, |(at, _)| *at);
            let time = own.min(arrives);
            if time > window.end {
                break Progress::Reached;
            }
            if self.events >= last {
                break Progress::Paused;
            }
            self.now = self.now.max(time);
            self.events += 1;
            // At equal times the node with the lower number acts first, as in the global order of events.
            let link_acts = if link < host { arrives <= own } else { arrives < own };
            let arrived = if link_acts { next.take() } else { None };
            if arrived.is_some() {
                next = self.next_arriving(number, link, window.begin);
            }
            let NetNode::Host(node) = &mut self.places[host.index()].node else { unreachable!("it is a host") };
            let mut cx = Cx::new(self.now, host, &mut self.accounting);
            if let Some((_, packet)) = arrived {
                if next.as_ref().is_some_and(|(at, _)| *at == time) {
                    node.expect_another();
                }
                node.handle_packet(port, packet, &mut cx);
                if node.has_given_all() {
                    own = node.poll_timeout().unwrap_or(Time::MAX);
                    continue;
                }
            } else {
                node.handle_timeout(&mut cx);
            }
            own = self.send_all(host).unwrap_or(Time::MAX);
        };
        if let (Some((at, packet)), NetNode::Link(node)) = (next, &mut self.places[link.index()].node) {
            node.take_back(packet, at);
        }
        self.queue.set(host.index(), Some(own));
        self.rearm(link);
        self.inbound_packets -= packets - self.inbound[number].len();
        // The link counts packets up to the start of the next time window, so it must have received all packets that
        // enter by then.
        self.let_into_link(number, link, window.begin, window.end);
        let places = Inlet::places(self.inbound.len());
        self.inbound[number].free_if_empty(packets, places);
        progress
    }

    /// Removes and returns the next packet that arrives over the link of a region, with its arrival time. Packets in
    /// the link precede packets in the inlet. All events before `begin` must be done.
    #[inline(always)]
    fn next_arriving(&mut self, number: usize, link: NodeId, begin: Time) -> Option<(Time, Packet)> {
        let NetNode::Link(node) = &mut self.places[link.index()].node else { unreachable!("a link leads here") };
        if let Some(at) = node.poll_timeout() {
            let (_, packet) = node.poll_transmit(&mut Cx::new(at, link, &mut self.accounting))?;
            return Some((at, packet));
        }
        // A packet that the link drops does not arrive, so continue with the next packet.
        loop {
            let (at, packet) = self.inbound[number].pop()?;
            let size = packet.size();
            let mut cx = Cx::new(begin.min(at), link, &mut self.accounting);
            if let Some(arriving) = node.pass_through(packet, size, at, &mut cx) {
                return Some(arriving);
            }
        }
    }

    /// Sends all packets that a host can send now, and returns the host's next event time.
    #[inline(always)]
    fn send_all(&mut self, host: NodeId) -> Option<Time> {
        loop {
            let NetNode::Host(node) = &mut self.places[host.index()].node else { unreachable!("it is a host") };
            let sent = node.poll_transmit(&mut Cx::new(self.now, host, &mut self.accounting));
            let Some((port, packet)) = sent else { return node.poll_timeout() };
            // The host has no further packet. Skip the poll that would return `None`.
            let (is_last, due) = (node.has_given_all(), node.poll_timeout());
            let link = self.wire(host, port).node;
            let size = packet.size();
            self.cross(link, packet, size, self.now);
            if is_last {
                return due;
            }
        }
    }

    /// Moves the packets that enter the link of a region by `until` from the inlet into the link.
    fn let_into_link(&mut self, number: usize, link: NodeId, begin: Time, until: Time) {
        let inlet = &mut self.inbound[number];
        let packets = inlet.len();
        let NetNode::Link(node) = &mut self.places[link.index()].node else { unreachable!("a link leads to a host") };
        while inlet.first().is_some_and(|at| at <= until) {
            let Some((at, packet)) = inlet.pop() else { break };
            let size = packet.size();
            // The link counts departures up to the time of this context. This time must not be later than the entry of
            // this packet or of any later packet.
            node.handle_packet_at(packet, size, at, &mut Cx::new(begin.min(at), link, &mut self.accounting));
        }
        if inlet.len() < packets {
            self.inbound_packets -= packets - inlet.len();
            self.rearm(link);
        }
    }

    /// Moves packets from the merge points into the shared links, up to the latest time for which all entries are
    /// known. `now` is the time at which the run began.
    fn let_in(&mut self, regions: &mut Regions, until: Time) {
        let mut goes_on = true;
        // Repeat until nothing changes, because a shared link may feed another shared link.
        while std::mem::take(&mut goes_on) {
            for number in 0..regions.shared.len() {
                let entered = regions.entered(number).min(until);
                if entered > regions.shared[number].known {
                    goes_on = true;
                    self.admit(number, entered);
                    let link = self.merge_points[number].0;
                    self.rearm(link);
                    let shared = &mut regions.shared[number];
                    shared.known = entered;
                    if let NetNode::Link(node) = &self.places[link.index()].node {
                        shared.quiet_until = node.no_arrival_until(entered);
                    }
                }
            }
        }
    }
}
