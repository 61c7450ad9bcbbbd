//! Rows of links: packets pass from link to link without an event.
//!
//! A link *follows* other links, its *leaders*, if all of its packets arrive over these links and the router behind
//! them. Leaders compute arrival times in advance ([`predicts_arrivals`](lopsided_link::Link::predicts_arrivals)), so packets pass from leader to
//! follower without an event:
//!
//! - A link with one leader: the packet passes the leader, the router and the follower in one call, with its future
//!   arrival time. A row can consist of any number of links.
//! - A link with several leaders: packets wait in a [`MergePoint`] in front of the link, and enter it in batches.
//!
//! Rows never change a result: see `tests/regions.rs`.

use super::Network;
use crate::merge_point::MergePoint;
use crate::next_hop::{NextHop, NextHops};
use crate::node::{Leaders, NetNode};
use lopsided_core::{Duration, EventMask, Node, NodeId};
use std::sync::Arc;

impl<H: Node> Network<H> {
    /// Moves packets through rows of links without one event per link. Each pair is a list of leaders and their
    /// follower. All packets that reach the follower through its router must arrive over one of the leaders.
    ///
    /// A pair is ignored unless all of these hold:
    ///
    /// - the leaders and the follower compute arrival times in advance ([`predicts_arrivals`](lopsided_link::Link::predicts_arrivals)),
    /// - the leaders end at the router in front of the follower, and no stage, medium or edge sends packets to that
    ///   router,
    /// - a follower with several leaders has a delay.
    ///
    /// All pairs are ignored if an observer watches packets between hosts. Results do not depend on this setting.
    #[must_use]
    pub fn with_followers(mut self, pairs: impl IntoIterator<Item = (Vec<NodeId>, NodeId)>) -> Network<H> {
        // An observer of queues must see the entry of a packet into a link at the time of the entry, not in advance.
        if self.accounting.mask().has(EventMask::BETWEEN_HOSTS) {
            return self;
        }
        let mut leading = Vec::new();
        let mut merging = Vec::new();
        let mut all_in_rows = true;
        let senders = self.senders();
        // A node without leaders gets its packets directly from hosts, so it follows no link.
        for (leaders, follower) in pairs.into_iter().filter(|(leaders, _)| !leaders.is_empty()) {
            let Some(delay) = self.delay_in_row(&leaders, follower, &senders) else {
                all_in_rows = false;
                continue;
            };
            let row = &mut self.places[follower.index()].row;
            match leaders[..] {
                // A drop-tail link delivers packets in the order in which they entered. Packets from one leader
                // therefore need no sorting.
                [leader] => row.leaders = Leaders::One(leader),
                _ => {
                    // Packets from several leaders must be sorted by time.
                    row.leaders = Leaders::Several(self.merge_points.len() as u32);
                    self.merge_points.push((follower, MergePoint::new(delay)));
                    merging.push(leaders.clone());
                }
            }
            leading.extend(leaders);
        }
        // One next-hop table per router, shared by all leaders that end at the router.
        let mut next_hops: Vec<NextHops> = Vec::new();
        let mut numbers: Vec<Option<u32>> = vec![None; self.places.len()];
        for leader in leading {
            let router = self.places[leader.index()].outlet.node;
            let number = *numbers[router.index()].get_or_insert_with(|| {
                next_hops.push(self.next_hops_of(router));
                next_hops.len() as u32 - 1
            });
            self.places[leader.index()].row.leads_by = number;
        }
        // A second pass, because each table refers to the tables of the next routers.
        let leads_by = |link: NodeId| self.places.get(link.index()).map_or(u32::MAX, |place| place.row.leads_by);
        for number in 0..next_hops.len() {
            let indices = next_hops[number].next_hops_behind(&next_hops, leads_by);
            next_hops[number].set_next_hops(indices);
        }
        self.next_hops = Arc::new(next_hops);
        if all_in_rows {
            self.divide_into_regions(&merging, &senders);
        }
        self
    }

    /// Returns the delay of the link `follower` if it can follow these leaders.
    fn delay_in_row(&self, leaders: &[NodeId], follower: NodeId, senders: &[Vec<NodeId>]) -> Option<Duration> {
        let predicts_arrivals =
            |node: &NodeId| matches!(self.node(*node), NetNode::Link(link) if link.predicts_arrivals());
        // A link into which several nodes send cannot follow.
        let [router] = senders[follower.index()][..] else { return None };
        // Only links and hosts may send to the router. A stage, a medium or an edge could create packets that arrive
        // over none of the leaders.
        let is_plain = |node: &NodeId| matches!(self.node(*node), NetNode::Link(_) | NetNode::Host(_));
        if !matches!(self.node(router), NetNode::Router(_)) || !senders[router.index()].iter().all(is_plain) {
            return None;
        }
        if !leaders.iter().all(|leader| predicts_arrivals(leader) && self.behind(*leader) == router) {
            return None;
        }
        // The caller selects links by their role in the scenario, but this node may be a stage or a medium.
        let NetNode::Link(link) = self.node(follower) else { return None };
        // Without a delay the link needs each packet at the instant of its entry, so a merge point could not collect
        // packets of several leaders.
        let too_soon = leaders.len() > 1 && link.delay().is_zero();
        (link.predicts_arrivals() && !too_soon).then(|| link.delay())
    }

    /// Returns the nodes that send into each node.
    pub(crate) fn senders(&self) -> Vec<Vec<NodeId>> {
        let mut senders = vec![Vec::new(); self.places.len()];
        for from in (0..self.places.len()).map(|index| NodeId(index as u32)) {
            for wire in self.wires_of(from) {
                // An unconnected port leads to [`NOWHERE`], which is not a node.
                senders.get_mut(wire.node.index()).into_iter().for_each(|senders| senders.push(from));
            }
        }
        senders
    }

    /// Builds the next-hop table of a router. The leaders of all links must be set before.
    fn next_hops_of(&self, router: NodeId) -> NextHops {
        let NetNode::Router(node) = self.node(router) else { unreachable!("the first node of a row must be a router") };
        NextHops::new(node.routes(), |port| {
            let next = self.wire(router, port).node;
            let row = &self.places[next.index()].row;
            NextHop::new(next, row.follows(), row.merge_point())
        })
    }
}
