//! The accounting of a run: packets and bytes that each node took in, let out and lost, and the running digest.

use crate::{Bytes, DropReason, Event, EventMask, NodeId, Observer, Packet, Time};

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

/// One node's accounting. `created` and `consumed` are for hosts, `lost` for every node.
#[derive(Clone, Debug, Default)]
pub struct NodeCounters {
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

impl NodeCounters {
    pub fn lost_total(&self) -> u64 {
        self.lost_packets.iter().sum()
    }

    pub fn lost(&self, why: DropReason) -> u64 {
        self.lost_packets[why as usize]
    }
}

/// The accounting of all nodes, and who is watching.
#[derive(Default)]
pub struct Accounting {
    nodes: Vec<NodeCounters>,
    observers: Vec<Box<dyn Observer>>,
    mask: EventMask,
}

impl std::fmt::Debug for Accounting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accounting").field("nodes", &self.nodes).field("observers", &self.observers.len()).finish()
    }
}

impl Accounting {
    pub fn new(nodes: usize) -> Accounting {
        Accounting { nodes: vec![NodeCounters::default(); nodes], observers: Vec::new(), mask: EventMask::default() }
    }

    pub fn subscribe(&mut self, observer: Box<dyn Observer>) {
        let wants = observer.mask();
        self.mask.hosts |= wants.hosts;
        self.mask.queues |= wants.queues;
        self.mask.drops |= wants.drops;
        self.observers.push(observer);
    }

    pub fn into_observers(self) -> Vec<Box<dyn Observer>> {
        self.observers
    }

    pub fn node(&self, node: NodeId) -> &NodeCounters {
        &self.nodes[node.index()]
    }

    pub fn nodes(&self) -> &[NodeCounters] {
        &self.nodes
    }

    pub fn mask(&self) -> EventMask {
        self.mask
    }

    /// All nodes' digests in one.
    pub fn digest(&self) -> u64 {
        let mut all = Digest::default();
        for accounting in &self.nodes {
            all.mix(accounting.digest.value());
        }
        all.value()
    }

    pub(crate) fn node_mut(&mut self, node: NodeId) -> &mut NodeCounters {
        &mut self.nodes[node.index()]
    }

    #[cold]
    pub(crate) fn publish(&mut self, at: Time, node: NodeId, event: &Event<'_>) {
        for observer in &mut self.observers {
            let wants = observer.mask();
            let wanted = match event {
                Event::Sent(_) | Event::Received(_) => wants.hosts,
                Event::Enqueued { .. } | Event::Dequeued { .. } | Event::Marked { .. } => wants.queues,
                Event::Dropped { .. } => wants.drops,
            };
            if wanted {
                observer.record(at, node, event);
            }
        }
    }

    pub(crate) fn record_drop(&mut self, at: Time, node: NodeId, packet: Packet, why: DropReason) {
        let accounting = self.node_mut(node);
        accounting.lost_packets[why as usize] += 1;
        accounting.lost_bytes += packet.size();
        accounting.digest.mix(at.as_nanos() ^ packet.id.rotate_left(20) ^ why as u64);
        if self.mask.drops {
            self.publish(at, node, &Event::Dropped { packet: &packet, why });
        }
    }
}
