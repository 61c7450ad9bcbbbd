//! The nodes of a network, and the data that the network stores with each node.

use crate::Router;
use lopsided_core::{Count, Node, NodeId, Port, Time};
use lopsided_link::Link;

/// A node of a network whose hosts have the type `H`. An enum avoids dynamic dispatch for links, hosts and routers.
#[derive(Debug)]
pub enum NetNode<H> {
    /// One direction of a line, with its queue. The wire of port 0 leads to the node behind the link.
    Link(Box<Link>),
    /// A host: the source and destination of packets.
    Host(Box<H>),
    /// A router, which forwards packets immediately and stores none.
    Router(Box<Router>),
    /// Any other node: a stage, a medium, or a node type of the user.
    Custom(Box<dyn Node>),
    /// An edge of the network, with one port. Packets from outside enter through [`Network::inject`] and leave through
    /// [`Network::poll_egress`].
    Edge,
}

impl<H: Node> NetNode<H> {
    #[inline(always)]
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        match self {
            NetNode::Link(link) => link.poll_timeout(),
            NetNode::Host(host) => host.poll_timeout(),
            NetNode::Custom(node) => node.poll_timeout(),
            NetNode::Router(_) | NetNode::Edge => None,
        }
    }

    /// Returns the number and total size of the packets in the node.
    pub(crate) fn held(&self) -> Count {
        match self {
            NetNode::Link(link) => link.held(),
            NetNode::Host(host) => host.held(),
            NetNode::Custom(node) => node.held(),
            NetNode::Router(_) | NetNode::Edge => Count::ZERO,
        }
    }

    /// Calls `out` with the part, quantity and value of each current measurement of the node.
    pub fn sample(&self, out: &mut dyn FnMut(&str, &str, f64)) {
        match self {
            NetNode::Link(link) => Node::sample(&**link, out),
            NetNode::Host(host) => host.sample(out),
            NetNode::Custom(node) => node.sample(out),
            NetNode::Router(_) | NetNode::Edge => {}
        }
    }
}

/// The far end of a wire: a node and one of its ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attachment {
    /// The node at the end of the wire.
    pub node: NodeId,
    /// The port at which packets arrive.
    pub port: Port,
}

/// A node and its data for forwarding. They are stored together, so that one cache miss loads both.
#[derive(Debug)]
pub(crate) struct Place<H> {
    pub node: NetNode<H>,
    /// The far end of the wire at port 0.
    pub outlet: Attachment,
    /// Index in `Network::wires` of the node's first wire.
    pub first_wire: u32,
    pub row: Row,
}

/// The relation of a link to its leaders and followers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub leaders: Leaders,
    /// Index in `Network::next_hops` of the table of the router behind this link; `u32::MAX` if this link is not a
    /// leader.
    pub leads_by: u32,
}

impl Row {
    /// The value for a node that is neither a leader nor a follower.
    pub const APART: Row = Row { leaders: Leaders::None, leads_by: u32::MAX };

    /// Index of the merge point in front of this link; `None` unless the link has several leaders.
    #[inline(always)]
    pub fn merge_point(&self) -> Option<u32> {
        if let Leaders::Several(merge_point) = self.leaders { Some(merge_point) } else { None }
    }

    /// The only leader of this link; `None` if the link has no leader or several leaders.
    pub fn follows(&self) -> Option<NodeId> {
        if let Leaders::One(leader) = self.leaders { Some(leader) } else { None }
    }
}

/// The leaders of a link.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Leaders {
    None,
    One(NodeId),
    /// Several leaders, with the index of the merge point in front of the link.
    Several(u32),
}

/// The far end of port 0 of a node that has no ports.
pub(crate) const NOWHERE: Attachment = Attachment { node: NodeId(u32::MAX), port: Port(0) };
