//! The passage of a packet from a node to the next one: over wires and routers, and through rows of links.

use super::Network;
use crate::merge_point::Entering;
use crate::next_hop::{Follower, HopIndex};
use crate::node::{Attachment, NetNode};
use lopsided_core::{Bytes, Cx, Node, NodeId, Packet, Time};
use lopsided_link::Link;

impl<H: Node> Network<H> {
    /// Delivers the packet to the node at the far end of the wire, through all routers. `another_arrives` is true if
    /// another packet arrives over the same wire at the same time.
    #[inline(always)]
    pub(super) fn forward(&mut self, mut wire: Attachment, mut packet: Packet, mut another_arrives: bool) {
        loop {
            let mut cx = Cx::new(self.now, wire.node, &mut self.accounting);
            match &mut self.places[wire.node.index()].node {
                NetNode::Router(router) => match router.forward(&mut packet) {
                    Ok(port) => {
                        wire = self.wire(wire.node, port);
                        // The router may send the other packet to another node.
                        another_arrives = false;
                        continue;
                    }
                    Err(why) => return cx.drop(packet, why),
                },
                // The packet belongs to the reverse direction, and the queue of this link only observes it
                // (`Link::SENSED`). If the queue sends a packet in response, the link sends it in a separate event.
                NetNode::Link(link) if wire.port == Link::SENSED => {
                    let passing = link.pass_reverse(packet, &mut cx);
                    self.queue.set(wire.node.index(), link.poll_timeout());
                    let Some(on) = passing else { return };
                    packet = on;
                    wire = self.wire(wire.node, Link::SENSED);
                    another_arrives = false;
                    continue;
                }
                NetNode::Link(_) => {
                    let size = packet.size();
                    return self.cross(wire.node, packet, size, self.now);
                }
                NetNode::Host(host) => {
                    if another_arrives {
                        host.expect_another();
                    }
                    host.handle_packet(wire.port, packet, &mut cx);
                    // Most received segments trigger no immediate response. The host then need not be polled.
                    if host.has_given_all() {
                        let due = host.poll_timeout();
                        return self.queue.set(wire.node.index(), due);
                    }
                }
                NetNode::Custom(custom) => custom.handle_packet(wire.port, packet, &mut cx),
                NetNode::Edge => {
                    let delivered = cx.deliver(packet);
                    return self.egress.push_back((wire.node, delivered));
                }
            }
            return self.dirty.push(wire.node);
        }
    }

    /// Moves the packet into a link at the time `at`, which is now or in the future, and then through all following
    /// links. `size` is the packet's size in bytes.
    #[inline(always)]
    pub(crate) fn cross(&mut self, mut node: NodeId, mut packet: Packet, size: Bytes, mut at: Time) {
        loop {
            let place = &mut self.places[node.index()];
            let next_hops = self.next_hops.get(place.row.leads_by as usize);
            let next = next_hops.and_then(|next_hops| next_hops.follower(node, &mut packet));
            // This is the last link of the row. The packet arrives by an event, or enters the inlet of a region.
            let Some(next) = next else {
                if let Some(region) = self.region_behind(node) {
                    return self.put_inbound(region, at, packet);
                }
                let NetNode::Link(link) = &mut self.places[node.index()].node else {
                    unreachable!("rows are of links")
                };
                let mut cx = Cx::new(self.now, node, &mut self.accounting);
                if link.handle_packet_at(packet, size, at, &mut cx) {
                    self.rearm(node);
                }
                return;
            };
            let NetNode::Link(link) = &mut place.node else {
                unreachable!("the node after a link in a row must be a link")
            };
            let mut cx = Cx::new(self.now, node, &mut self.accounting);
            // `pass_through` returns `None` if the link drops or loses the packet. The link has then notified the
            // accounting.
            let Some(passed) = link.pass_through(packet, size, at, &mut cx) else { return };
            (at, packet) = passed;
            match next {
                Follower::Of(next) => node = next,
                Follower::OfSeveral(merge_point, next_hop) => {
                    let (link, merge_point) = &mut self.merge_points[merge_point];
                    // The link's time changes only if this packet is the earliest at the merge point.
                    if merge_point.add(Entering::new(at, node, packet, size, next_hop), &mut self.spare) {
                        let link = *link;
                        self.rearm(link);
                    }
                    return;
                }
            }
        }
    }

    /// Moves all packets that enter the link by `until` from its merge point into the link. Afterwards the caller must
    /// update the link's event time.
    pub(crate) fn admit(&mut self, number: usize, until: Time) {
        let (link, merge_point) = &mut self.merge_points[number];
        let link = *link;
        if merge_point.first() > until {
            return;
        }
        let mut batch = self.batch.take().unwrap_or_default();
        merge_point.take(until, &mut batch);
        while batch.load() {
            batch.ready.drain(..).for_each(|entering| self.pass_shared(link, entering));
        }
        self.merge_points[number].1.finish(&mut batch, &mut self.spare);
        self.batch = Some(batch);
    }

    /// Moves a packet of a merge point into the link behind the merge point, and through all links that follow.
    #[inline(always)]
    fn pass_shared(&mut self, link: NodeId, entering: Entering) {
        let (mut at, size, next_hop, mut packet) = (entering.at, entering.size(), entering.next_hop, entering.packet);
        let mut node = link;
        // The next hop behind this link was computed together with the previous hop. This saves a look-up.
        if next_hop != HopIndex::UNKNOWN {
            let place = &mut self.places[link.index()];
            let next_hops = &self.next_hops[place.row.leads_by as usize];
            let NetNode::Link(link) = &mut place.node else {
                unreachable!("the node after a link in a row must be a link")
            };
            let mut cx = Cx::new(self.now, node, &mut self.accounting);
            node = next_hops.follower_by(next_hop);
            let Some(passed) = link.pass_through(packet, size, at, &mut cx) else { return };
            (at, packet) = passed;
        }
        // The processor's cache may no longer contain the link of a region, so the packet waits in the inlet until the
        // region runs.
        if let Some(region) = self.region_behind(node) {
            self.put_inbound(region, at, packet);
        } else {
            self.cross(node, packet, size, at);
        }
    }

    /// Returns the region to which a link belongs; `None` if the link leads to no host.
    #[inline(always)]
    pub(crate) fn region_behind(&self, link: NodeId) -> Option<usize> {
        self.region_of.get(link.index()).filter(|region| **region != u32::MAX).map(|region| *region as usize)
    }

    /// Adds a packet to the inlet of a region. The packet enters the region's link at `at`, as the last packet.
    #[inline(always)]
    pub(crate) fn put_inbound(&mut self, region: usize, at: Time, packet: Packet) {
        self.inbound_packets += 1;
        self.inbound[region].push(at, packet);
    }
}
