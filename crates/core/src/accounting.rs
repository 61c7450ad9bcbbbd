//! The accounting of a run: for each node, the packets that it originated, delivered, changed and dropped, and their
//! digest. The accounting also owns the memory for new packets.

use crate::packet::{AroundTcp, Fields, Ledger, NewPacket, TcpHeader};
use crate::{Bytes, DropReason, Event, EventMask, MarkReason, NodeId, Observer, Packet, Time, Transport};
use std::fmt;
use std::ops::{Add, AddAssign};

/// A 64-bit hash of the events of a node's packets, in order; not cryptographic. Equal digests mean equal results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0x6c6f_7073_6964_6564)
    }
}

impl Digest {
    #[inline]
    /// Mixes a word into the digest.
    pub fn mix(&mut self, word: u64) {
        // The multiply-rotate hash of Firefox (FxHash): one multiplication per word.
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    /// Returns the hash of all words that have been mixed in.
    pub fn value(self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// A number of packets and the sum of their sizes. A packet's size includes the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Count {
    /// Number of packets.
    pub packets: u64,
    /// Number of bytes.
    pub bytes: Bytes,
}

impl Count {
    /// No packets.
    pub const ZERO: Count = Count { packets: 0, bytes: Bytes::ZERO };

    /// Adds a packet of `size` bytes.
    #[inline]
    pub fn record(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }

    #[inline]
    /// Removes one packet of `size` bytes.
    pub fn remove(&mut self, size: Bytes) {
        self.packets -= 1;
        self.bytes -= size;
    }

    /// Counts one packet for each of the given sizes.
    pub fn of(sizes: impl Iterator<Item = Bytes>) -> Count {
        let mut count = Count::default();
        sizes.for_each(|size| count.record(size));
        count
    }
}

impl Add for Count {
    type Output = Count;
    fn add(self, other: Count) -> Count {
        Count { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Count {
    fn sum<I: Iterator<Item = Count>>(iter: I) -> Count {
        iter.fold(Count::ZERO, Add::add)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets ({} B)", self.packets, self.bytes.get())
    }
}

/// One node's accounting.
#[derive(Clone, Debug, Default)]
pub struct NodeCounters {
    /// Packets that the node created.
    pub originated: Count,
    /// Packets that reached their destination at this node.
    pub delivered: Count,
    /// Digest of the node's packets.
    pub digest: Digest,
    /// Rare counters; `None` while all of them are zero.
    rare: Option<Box<Rare>>,
}

/// Counters that few nodes need.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// Packets that a stage at this node merged into other packets, and the bytes that stages added to packets and
    /// removed from packets.
    absorbed: Count,
    bytes_added: Bytes,
    bytes_removed: Bytes,
    dropped: [Count; DropReason::COUNT],
    marked: [Count; MarkReason::COUNT],
}

impl NodeCounters {
    /// Returns the packets that were dropped for this reason.
    pub fn dropped(&self, why: DropReason) -> Count {
        self.rare.as_ref().map_or(Count::ZERO, |rare| rare.dropped[why as usize])
    }

    /// Returns the packets that were dropped for any reason.
    pub fn dropped_total(&self) -> Count {
        self.rare.iter().flat_map(|rare| rare.dropped).sum()
    }

    /// Returns the packets that the node's queue marked as CE for this reason, including packets that were already
    /// marked when they arrived.
    pub fn marked(&self, why: MarkReason) -> Count {
        self.rare.as_ref().map_or(Count::ZERO, |rare| rare.marked[why as usize])
    }

    /// Returns the packets that were marked for any reason.
    pub fn marked_total(&self) -> Count {
        self.rare.iter().flat_map(|rare| rare.marked).sum()
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}

/// The accounting of all nodes of a network, and the observers.
///
/// # Examples
///
/// ```
/// use lopsided_core::{Accounting, Count};
///
/// let accounting = Accounting::new(2);
/// let sum = accounting.conservation(Count::ZERO);
/// assert!(sum.holds());
/// ```
#[derive(Default)]
pub struct Accounting {
    nodes: Vec<NodeCounters>,
    mask: EventMask,
    /// Time until which no observer reads the nodes' measurements.
    unseen_until: Time,
    interrupted: bool,
    /// Memory of delivered and dropped packets, which new packets reuse.
    #[expect(clippy::vec_box, reason = "a packet is this box")]
    free: Vec<Box<Fields>>,
    ledger: Ledger,
    observers: Vec<Box<dyn Observer>>,
    /// Backlog of the queue's other classes while the code of one class runs. See [`crate::Cx::within_class`].
    other_backlog: (u32, Bytes),
}

impl fmt::Debug for Accounting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounting").field("nodes", &self.nodes).field("observers", &self.observers.len()).finish()
    }
}

impl Accounting {
    /// Creates the accounting of a network with `nodes` nodes.
    pub fn new(nodes: usize) -> Accounting {
        Accounting { nodes: vec![NodeCounters::default(); nodes], ..Accounting::default() }
    }

    /// Creates a second accounting for the same network, for another thread: zero counters and no observers.
    #[doc(hidden)]
    pub fn part(&self) -> Accounting {
        Accounting { ledger: self.ledger.clone(), ..Accounting::new(self.nodes.len()) }
    }

    /// Swaps the counters of one node between two accountings of the same network.
    #[doc(hidden)]
    pub fn swap_node(&mut self, node: NodeId, other: &mut Accounting) {
        std::mem::swap(self.node_mut(node), other.node_mut(node));
    }

    /// Divides the unused packet memory equally between this accounting and `other`, so that threads need not allocate
    /// memory.
    #[doc(hidden)]
    pub fn share_boxes(&mut self, other: &mut Accounting) {
        let half = (self.free.len() + other.free.len()) / 2;
        let (more, less) =
            if self.free.len() > half { (&mut self.free, &mut other.free) } else { (&mut other.free, &mut self.free) };
        less.extend(more.drain(half.min(more.len())..));
    }

    /// Frees the memory that is reserved for new packets.
    #[doc(hidden)]
    pub fn free_reserves(&mut self) {
        self.free = Vec::new();
    }

    /// Adds an observer of packet events.
    pub fn subscribe(&mut self, observer: Box<dyn Observer>) {
        self.mask |= observer.mask();
        self.observers.push(observer);
        // Reset this time, because it was declared before this observer existed. The new observer may read counters
        // earlier.
        self.unseen_until = Time::ZERO;
    }

    /// Limits the events that observers receive to `kinds`.
    ///
    /// If `kinds` excludes events of links, the links may count departures late. Before you include these events again,
    /// make the links count all departures.
    #[doc(hidden)]
    pub fn hear(&mut self, kinds: EventMask) {
        let wanted = self.observers.iter().fold(EventMask::NONE, |all, observer| all | observer.mask());
        self.mask = wanted & kinds;
        self.unseen_until = Time::ZERO;
    }

    /// Declares that no observer reads the nodes' counters before `until`, so nodes may count events late.
    #[doc(hidden)]
    pub fn promise_unseen(&mut self, until: Time) {
        // An observer of events between hosts must receive each departure when it occurs.
        self.unseen_until = if self.mask.has(EventMask::BETWEEN_HOSTS) { Time::ZERO } else { until };
    }

    /// See [`crate::Cx::unseen_until`].
    #[inline]
    #[doc(hidden)]
    pub fn unseen_until(&self) -> Time {
        self.unseen_until
    }

    /// Returns the counters of one node.
    pub fn node(&self, node: NodeId) -> &NodeCounters {
        &self.nodes[node.index()]
    }

    /// Returns the counters of all nodes, by node number.
    pub fn nodes(&self) -> &[NodeCounters] {
        &self.nodes
    }

    /// Returns the kinds of events that at least one observer needs.
    pub fn mask(&self) -> EventMask {
        self.mask
    }

    /// Returns true if a node has requested an interrupt since the last call of this function, see
    /// [`crate::Cx::interrupt`].
    #[inline]
    #[doc(hidden)]
    pub fn take_interrupt(&mut self) -> bool {
        std::mem::take(&mut self.interrupted)
    }

    #[inline]
    pub(crate) fn interrupt(&mut self) {
        self.interrupted = true;
    }

    /// Returns a digest of the digests of all nodes.
    pub fn digest(&self) -> u64 {
        let mut all = Digest::default();
        // Mix the nodes in the order of their numbers, so that the digest depends neither on the order of events at
        // different nodes nor on the number of threads.
        for counters in &self.nodes {
            all.mix(counters.digest.value());
        }
        all.value()
    }

    /// Returns the sums over all nodes. `held` is the number of packets that are still in the nodes.
    pub fn conservation(&self, held: Count) -> Conservation {
        let mut sum = Conservation { held, ..Conservation::default() };
        for counters in &self.nodes {
            sum.originated += counters.originated;
            sum.delivered += counters.delivered;
            sum.dropped += counters.dropped_total();
            // Most nodes have no rare counters, because they never drop, mark or change a packet. Skip them.
            let Some(rare) = &counters.rare else { continue };
            sum.absorbed += rare.absorbed;
            sum.bytes_added += rare.bytes_added;
            sum.bytes_removed += rare.bytes_removed;
        }
        sum
    }

    pub(crate) fn other_backlog(&mut self) -> &mut (u32, Bytes) {
        &mut self.other_backlog
    }

    #[inline]
    pub(crate) fn node_mut(&mut self, node: NodeId) -> &mut NodeCounters {
        &mut self.nodes[node.index()]
    }

    #[cold]
    pub(crate) fn publish(&mut self, at: Time, node: NodeId, event: &Event<'_>) {
        let kind = event.kind();
        // `mask` is the union over all observers, so check each observer's own mask again.
        for observer in &mut self.observers {
            if observer.mask().has(kind) {
                observer.record(at, node, event);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn originate(&mut self, at: Time, node: NodeId, new: NewPacket) -> Packet {
        // Count the packet at the node that creates it; its delivery or drop may be counted at another node.
        let counters = self.node_mut(node);
        let size = new.size();
        counters.originated.record(size);
        // Put the node's number into the upper 24 bits, so that packet numbers do not depend on the order in which
        // nodes are called.
        let id = u64::from(node.0) << 40 | counters.originated.packets;
        let booking = self.ledger.book(id);
        match self.free.pop() {
            Some(mut place) => {
                place.renew(id, at, size, new, booking);
                Packet(place)
            }
            None => Packet(Box::new(Fields::new(id, at, size, new, booking))),
        }
    }

    #[inline(always)]
    pub(crate) fn originate_tcp(
        &mut self,
        node: NodeId,
        write: impl FnOnce(&mut TcpHeader) -> Option<AroundTcp>,
    ) -> Option<Packet> {
        // If `write` returns `None`, the new memory stays in the free list for the next segment.
        if self.free.is_empty() {
            self.free.push(Box::new(Fields::blank()));
        }
        // Let `write` fill the header in place, because a TCP header is too large to be moved for every segment.
        let header = self.free.last_mut()?.tcp_mut();
        let around = write(header)?;
        let size = Bytes::new(u64::from(around.ip.addresses.header_len() + header.len() + around.payload.len()));
        let counters = &mut self.nodes[node.index()];
        counters.originated.record(size);
        let id = u64::from(node.0) << 40 | counters.originated.packets;
        let mut place = self.free.pop()?;
        place.renew_around_tcp(id, size, around, self.ledger.book(id));
        Some(Packet(place))
    }

    #[inline]
    pub(crate) fn delivered(&mut self, at: Time, node: NodeId, packet: &mut Packet) {
        // The caller owns the packet from now on, and may drop it without an error.
        packet.0.booking.end();
        let counters = self.node_mut(node);
        counters.delivered.record(packet.size());
        // Include the advertised window in the digest. Otherwise a changed window would become visible only after the
        // sender has used it up.
        let window = match packet.transport() {
            Transport::Tcp(header) => u64::from(header.window),
            Transport::Udp(_) | Transport::Other { .. } => 0,
        };
        // Combine time, packet number and window in one word, because this code runs for every delivered packet.
        counters.digest.mix(at.as_nanos() ^ packet.id().rotate_left(20) ^ window << 44);
    }

    pub(crate) fn dropped(&mut self, at: Time, node: NodeId, packet: Packet, why: DropReason) {
        let counters = self.node_mut(node);
        counters.rare().dropped[why as usize].record(packet.size());
        counters.digest.mix(at.as_nanos() ^ packet.id().rotate_left(20) ^ why as u64);
        if self.mask.has(EventMask::DROPS) {
            self.publish(at, node, &Event::Dropped { packet: &packet, why });
        }
        self.recycle(packet);
    }

    pub(crate) fn marked(&mut self, at: Time, node: NodeId, packet: &Packet, why: MarkReason) {
        let counters = self.node_mut(node);
        counters.rare().marked[why as usize].record(packet.size());
        // The constant distinguishes a mark from a delivery at the same time.
        counters.digest.mix(at.as_nanos() ^ packet.id().rotate_left(20) ^ u64::MAX);
        if self.mask.has(EventMask::QUEUES) {
            self.publish(at, node, &Event::Marked { packet, why });
        }
    }

    pub(crate) fn rewritten(&mut self, at: Time, node: NodeId, packet: &Packet, before: Bytes) {
        let counters = self.node_mut(node);
        let rare = counters.rare();
        rare.bytes_added += packet.size().saturating_sub(before);
        rare.bytes_removed += before.saturating_sub(packet.size());
        // Include the new size, so that two different changes of the same packet result in different digests.
        counters.digest.mix(at.as_nanos() ^ packet.id().rotate_left(20) ^ packet.size().get() << 48);
        if self.mask.has(EventMask::STAGES) {
            self.publish(at, node, &Event::Rewritten { packet, before });
        }
    }

    pub(crate) fn absorbed(&mut self, at: Time, node: NodeId, packet: Packet) {
        let counters = self.node_mut(node);
        counters.rare().absorbed.record(packet.size());
        // The constant distinguishes an absorbed packet from a delivered or marked packet.
        counters.digest.mix(at.as_nanos() ^ packet.id().rotate_left(20) ^ u64::MAX >> 1);
        if self.mask.has(EventMask::STAGES) {
            self.publish(at, node, &Event::Absorbed { packet: &packet });
        }
        self.recycle(packet);
    }

    #[inline(always)]
    pub(crate) fn recycle(&mut self, packet: Packet) {
        let mut place = packet.0;
        // Free the large fields now. The next packet overwrites the small fields.
        place.clear();
        if self.free.len() == self.free.capacity() {
            self.make_room();
        }
        self.free.push(place);
    }

    /// Grows the list of free boxes by 25 % instead of doubling it, because a large network contains a million packets.
    #[cold]
    fn make_room(&mut self) {
        self.free.reserve_exact((self.free.len() / 4).max(64));
    }
}

/// Totals of a run: the packets and bytes that were created, delivered, dropped, absorbed, changed, or are still in
/// the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Conservation {
    /// Packets that a host or stage created.
    pub originated: Count,
    /// Packets that reached their destination.
    pub delivered: Count,
    /// Packets that were dropped.
    pub dropped: Count,
    /// Packets that a stage merged into other packets.
    pub absorbed: Count,
    /// Bytes that rewriting added to packets.
    pub bytes_added: Bytes,
    /// Bytes that rewriting removed from packets.
    pub bytes_removed: Bytes,
    /// Packets that are still in queues, in stages or in flight.
    pub held: Count,
}

impl Conservation {
    /// True if every originated packet was delivered, dropped, absorbed or is still held, and the bytes add up.
    pub fn holds(&self) -> bool {
        let ended = self.delivered + self.dropped + self.absorbed + self.held;
        self.originated.packets == ended.packets
            && self.originated.bytes + self.bytes_added == ended.bytes + self.bytes_removed
    }
}

impl fmt::Display for Conservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conservation { originated, delivered, dropped, absorbed, bytes_added, bytes_removed, held } = self;
        write!(
            f,
            "{originated} originated; {delivered} delivered, {dropped} dropped, {absorbed} absorbed, {held} held; "
        )?;
        write!(f, "rewriting added {} B and removed {} B", bytes_added.get(), bytes_removed.get())
    }
}
