//! The books of a run: packets and bytes that each node took in, let out and lost, and the running digest.

use crate::{Bytes, DropReason, Event, Interest, NodeId, Packet, Sink, Time};

/// A 64-bit running hash of everything that a node saw, in order. Not cryptographic: it tells runs apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0x6c6f_7073_6964_6564)
    }
}

impl Digest {
    #[inline]
    pub fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    pub fn value(self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// One node's books. `created` and `consumed` are for hosts, `lost` for every node.
#[derive(Clone, Debug, Default)]
pub struct NodeBooks {
    pub created_packets: u64,
    pub created_bytes: Bytes,
    pub consumed_packets: u64,
    pub consumed_bytes: Bytes,
    pub lost_packets: [u64; DropReason::ALL.len()],
    pub lost_bytes: Bytes,
    /// Packets that the node's queue marked as having experienced congestion.
    pub marked_packets: u64,
    pub digest: Digest,
}

impl NodeBooks {
    pub fn lost_total(&self) -> u64 {
        self.lost_packets.iter().sum()
    }

    pub fn lost(&self, why: DropReason) -> u64 {
        self.lost_packets[why as usize]
    }
}

/// The books of all nodes, and who is watching.
#[derive(Default)]
pub struct Books {
    nodes: Vec<NodeBooks>,
    sinks: Vec<Box<dyn Sink>>,
    interest: Interest,
}

impl std::fmt::Debug for Books {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Books").field("nodes", &self.nodes).field("sinks", &self.sinks.len()).finish()
    }
}

impl Books {
    pub fn new(nodes: usize) -> Books {
        Books { nodes: vec![NodeBooks::default(); nodes], sinks: Vec::new(), interest: Interest::default() }
    }

    pub fn watch(&mut self, sink: Box<dyn Sink>) {
        let wants = sink.interest();
        self.interest.hosts |= wants.hosts;
        self.interest.queues |= wants.queues;
        self.interest.drops |= wants.drops;
        self.sinks.push(sink);
    }

    pub fn into_sinks(self) -> Vec<Box<dyn Sink>> {
        self.sinks
    }

    pub fn node(&self, node: NodeId) -> &NodeBooks {
        &self.nodes[node.index()]
    }

    pub fn nodes(&self) -> &[NodeBooks] {
        &self.nodes
    }

    pub fn interest(&self) -> Interest {
        self.interest
    }

    /// All nodes' digests in one.
    pub fn digest(&self) -> u64 {
        let mut all = Digest::default();
        for books in &self.nodes {
            all.mix(books.digest.value());
        }
        all.value()
    }

    pub(crate) fn node_mut(&mut self, node: NodeId) -> &mut NodeBooks {
        &mut self.nodes[node.index()]
    }

    #[cold]
    pub(crate) fn tell(&mut self, at: Time, node: NodeId, event: &Event<'_>) {
        for sink in &mut self.sinks {
            let wants = sink.interest();
            let wanted = match event {
                Event::Sent(_) | Event::Received(_) => wants.hosts,
                Event::Enqueued { .. } | Event::Dequeued { .. } | Event::Marked { .. } => wants.queues,
                Event::Dropped { .. } => wants.drops,
            };
            if wanted {
                sink.record(at, node, event);
            }
        }
    }

    pub(crate) fn lose(&mut self, at: Time, node: NodeId, packet: Packet, why: DropReason) {
        let books = self.node_mut(node);
        books.lost_packets[why as usize] += 1;
        books.lost_bytes += packet.size();
        books.digest.mix(at.as_nanos() ^ packet.id.rotate_left(20) ^ why as u64);
        if self.interest.drops {
            self.tell(at, node, &Event::Dropped { packet: &packet, why });
        }
    }
}
