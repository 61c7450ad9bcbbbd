//! HTB, hierarchical token bucket: a tree of classes. Each class has a guaranteed `rate`, and can borrow from its
//! parent up to its `ceil` (Devera 2002, HTB Linux queuing discipline manual; tc-htb(8)).
//!
//! Each class has two token buckets. The first one fills at `rate`, up to `burst`. The second one fills at `ceil`, up
//! to `cburst`. A token is the right to send for 1 ns at the bucket's rate.
//!
//! | bucket at ceil | bucket at rate | the class |
//! |---|---|---|
//! | negative | | cannot send, nor can classes that borrow through it |
//! | not negative | negative | borrows from its parent, if the parent can send or borrow |
//! | not negative | not negative | can send |
//!
//! A sent packet removes tokens from its class and all ancestors of the class. In classes below the lender, only the
//! bucket at `ceil` is charged.
//!
//! Classes that can send without borrowing are served first. Borrowing classes follow, beginning with the classes whose
//! lender is deepest in the tree. If several classes borrow from the same level, the lowest `prio` is served first.
//! Classes with the same `prio` share by deficit round robin with `quantum` bytes.
//!
//! Not modelled: the queue for unclassified packets (`direct_qlen`), Linux's `hysteresis`, and offload to hardware.

mod config;
mod wheel;

pub use config::{HtbClass, HtbConfig};

use crate::classful::classes::Classes;
use crate::{
    Backlog, Class, Classifier, Discipline, Qdisc, Queue, QueueConfig, QueuePlace, QueuedPacket, Rule, Waiting,
};
use lopsided_core::{BitRate, Bytes, Cx, Duration, Packet, Time};
use lopsided_spec::{Fault, Part};
use wheel::Wheel;

/// Maximum number of tokens that a bucket gains at once, and maximum debt of a bucket, in ns.
const LONGEST: i64 = 60_000_000_000;

/// HTB: the tree of classes, and the queues of the leaves.
#[derive(Debug)]
pub struct Htb {
    nodes: Vec<Node>,
    /// The disciplines of the leaves.
    leaves: Classes,
    /// The node number of each leaf.
    leaf_nodes: Vec<usize>,
    overhead: Bytes,
    /// The nodes of each level.
    by_level: Vec<Vec<usize>>,
    /// The classes that can send without borrowing, by level (0 for leaves) and priority.
    rows: Vec<[Wheel; HtbConfig::PRIORITIES]>,
    /// Bit mask of the rows that are not empty.
    occupied: u64,
}

const _: () = assert!(HtbConfig::MOST_LEVELS * HtbConfig::PRIORITIES <= 64, "a row has a bit");

/// Returns the bit of a row in `occupied`.
fn row_bit(level: usize, prio: usize) -> u64 {
    1 << (level * HtbConfig::PRIORITIES + prio)
}

/// Returns the bits of all rows of a level.
fn row_bits(level: usize) -> u64 {
    ((1 << HtbConfig::PRIORITIES) - 1) << (level * HtbConfig::PRIORITIES)
}

impl Discipline for HtbConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Htb::new(self, place)?)))
    }
}

/// A class of the tree.
#[derive(Debug)]
struct Node {
    parent: Option<usize>,
    level: usize,
    rate: Bucket,
    ceil: Bucket,
    /// Time up to which tokens have been added to the buckets.
    counted: Time,
    mode: Mode,
    /// Time at which a negative bucket reaches 0, so that the mode can improve. `None` if the class can send.
    better_at: Option<Time>,
    kind: Kind,
}

/// A leaf with a queue, or an inner class with children.
#[derive(Debug)]
enum Kind {
    Leaf(Leaf),
    /// For each priority, the children that borrow from this class.
    Inner(Box<[Wheel; HtbConfig::PRIORITIES]>),
}

/// The state of a leaf.
#[derive(Debug)]
struct Leaf {
    /// Index of the leaf in `Htb::leaves`.
    number: usize,
    prio: usize,
    quantum: i64,
    /// Bytes that the leaf may still send in its turn, for each level from which it can borrow.
    deficit: [i64; HtbConfig::MOST_LEVELS],
    /// True while the leaf's discipline has a packet ready.
    active: bool,
    /// Time at which a packet will be ready, if the leaf's discipline delays all its packets.
    ready_at: Option<Time>,
}

/// The mode of a class: see the table in the documentation of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Cannot send.
    Blocked,
    /// The class can send if its parent can send or borrow.
    Borrows,
    /// Can send.
    Sends,
}

/// A token bucket. One token is the right to send for 1 ns at the bucket's rate.
#[derive(Debug)]
struct Bucket {
    rate: BitRate,
    depth: i64,
    tokens: i64,
    /// Size and token cost of the last packet.
    last: (Bytes, i64),
}

impl Bucket {
    fn new(rate: BitRate, depth: Bytes) -> Bucket {
        let depth = nanos_at(rate, depth);
        Bucket { rate, depth, tokens: depth, last: (Bytes::ZERO, 0) }
    }

    /// Adds the tokens of `waited` nanoseconds, and removes the tokens of a packet of `size` bytes.
    fn charge(&mut self, waited: i64, size: Bytes) {
        if self.last.0 != size {
            self.last = (size, nanos_at(self.rate, size));
        }
        let left = self.depth.min(self.tokens + waited) - self.last.1;
        self.tokens = left.max(1 - LONGEST);
    }
}

/// Returns the transmission time of `size` at `rate`, in nanoseconds.
fn nanos_at(rate: BitRate, size: Bytes) -> i64 {
    rate.time_to_send(size, 0).0.as_nanos() as i64
}

impl Node {
    /// Returns the nanoseconds since tokens were last added, at most [`LONGEST`].
    fn waited(&self, now: Time) -> i64 {
        (now.saturating_since(self.counted).as_nanos()).min(LONGEST as u64) as i64
    }

    /// Returns the mode after `waited` nanoseconds, and the time in nanoseconds until the mode can improve.
    fn mode_after(&self, waited: i64) -> (Mode, i64) {
        let (rate, ceil) = (self.rate.tokens + waited, self.ceil.tokens + waited);
        if ceil < 0 {
            (Mode::Blocked, -ceil)
        } else if rate < 0 {
            (Mode::Borrows, -rate)
        } else {
            (Mode::Sends, 0)
        }
    }

    /// True if the class has packets of this priority to send.
    fn wants(&self, prio: usize) -> bool {
        match &self.kind {
            Kind::Leaf(leaf) => leaf.active && leaf.prio == prio,
            Kind::Inner(feeds) => !feeds[prio].is_empty(),
        }
    }
}

impl Htb {
    /// Creates empty classes with full buckets.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings of the discipline or of a leaf's queue are invalid.
    pub fn new(config: &HtbConfig, place: &QueuePlace<'_>) -> Result<Htb, Fault> {
        config.check_all()?;
        let (mut nodes, mut leaf_nodes, mut children): (Vec<Node>, _, _) = (Vec::new(), Vec::new(), Vec::new());
        for (number, class) in config.classes.iter().enumerate() {
            let is_leaf = config.is_leaf(number);
            let kind = if is_leaf {
                let queue = class.queue.clone().unwrap_or_else(|| QueueConfig::packets(1000));
                let queue = queue.build(place.seed, &format!("{}/class {number}", place.role))?;
                children.push((format!("class {number}"), Box::new(queue) as Box<dyn Qdisc>));
                leaf_nodes.push(number);
                Kind::Leaf(Leaf {
                    number: leaf_nodes.len() - 1,
                    prio: class.prio as usize,
                    quantum: config.quantum(number).get() as i64,
                    deficit: [0; HtbConfig::MOST_LEVELS],
                    active: false,
                    ready_at: None,
                })
            } else {
                Kind::Inner(Box::default())
            };
            let burst = |given: Option<Bytes>| given.unwrap_or(Bytes::new(1600));
            nodes.push(Node {
                parent: class.parent.map(|parent| parent as usize),
                // As in Linux, leaves have level 0 and roots the highest level.
                level: if is_leaf { 0 } else { HtbConfig::MOST_LEVELS - 1 - config.depth(number) },
                rate: Bucket::new(class.rate, burst(class.burst)),
                ceil: Bucket::new(class.ceil.unwrap_or(class.rate), burst(class.cburst)),
                counted: Time::ZERO,
                mode: Mode::Sends,
                better_at: None,
                kind,
            });
        }
        let leaf_of = |class: usize| leaf_nodes.iter().position(|node| *node == class).expect("checked: it is a leaf");
        // The rules in the settings contain class numbers, but the classifier needs leaf numbers.
        let to_leaf = |rule: &Rule| Rule { class: leaf_of(rule.class as usize) as u32, ..rule.clone() };
        let rules = config.classify.iter().map(to_leaf).collect();
        let default = config.default_leaf();
        if !config.is_leaf(default) {
            return Err(Fault::new("default_class", format!("class {default} has children")));
        }
        let classifier = Classifier { rules, default: leaf_of(default) };
        let at_level = |level| (0..nodes.len()).filter(|node| nodes[*node].level == level).collect();
        let by_level = (0..HtbConfig::MOST_LEVELS).map(at_level).collect();
        let rows = std::iter::repeat_with(Default::default).take(HtbConfig::MOST_LEVELS).collect();
        let leaves = Classes::new(classifier, children, "class")?;
        Ok(Htb { nodes, leaves, leaf_nodes, overhead: config.overhead, by_level, rows, occupied: 0 })
    }

    /// Returns the state of the leaf with this node number.
    fn leaf(&mut self, node: usize) -> &mut Leaf {
        match &mut self.nodes[node].kind {
            Kind::Leaf(leaf) => leaf,
            Kind::Inner(_) => unreachable!("packets are in leaves"),
        }
    }

    /// Returns the round robin of the children that borrow from an inner class at this priority.
    fn feed(&mut self, node: usize, prio: usize) -> &mut Wheel {
        match &mut self.nodes[node].kind {
            Kind::Inner(feeds) => &mut feeds[prio],
            Kind::Leaf(_) => unreachable!("a parent class is not a leaf"),
        }
    }

    /// Adds a class with packets to its row, or to its parent's round robin if it must borrow.
    fn attach(&mut self, node: usize, prio: usize) {
        let Node { mode, level, parent, .. } = self.nodes[node];
        match (mode, parent) {
            (Mode::Sends, _) => {
                self.rows[level][prio].insert(node);
                self.occupied |= row_bit(level, prio);
            }
            (Mode::Borrows, Some(parent)) => {
                let feed = self.feed(parent, prio);
                let was_empty = feed.is_empty();
                feed.insert(node);
                // If another child already borrows from the parent, the parent itself has already been added.
                if was_empty {
                    self.attach(parent, prio);
                }
            }
            _ => {}
        }
    }

    /// Reverses [`Htb::attach`].
    fn detach(&mut self, node: usize, prio: usize) {
        let Node { mode, level, parent, .. } = self.nodes[node];
        match (mode, parent) {
            (Mode::Sends, _) => {
                self.rows[level][prio].remove(node);
                if self.rows[level][prio].is_empty() {
                    self.occupied &= !row_bit(level, prio);
                }
            }
            (Mode::Borrows, Some(parent)) => {
                let feed = self.feed(parent, prio);
                // As in Linux, a borrowing class that is removed during its turn continues the turn if it is added
                // again before the next turn begins.
                feed.remove_for_now(node);
                if feed.is_empty() {
                    self.detach(parent, prio);
                }
            }
            _ => {}
        }
    }

    /// Updates the mode of a class after its tokens have changed or time has passed.
    fn update_mode(&mut self, node: usize, now: Time) {
        let (mode, wait) = self.nodes[node].mode_after(self.nodes[node].waited(now));
        if mode != self.nodes[node].mode {
            // The mode determines which round robin contains the class. Remove the class before the mode changes, and
            // add it again afterwards.
            let wanted: [bool; HtbConfig::PRIORITIES] = std::array::from_fn(|prio| self.nodes[node].wants(prio));
            let wanted = || (0..HtbConfig::PRIORITIES).filter(|prio| wanted[*prio]);
            wanted().for_each(|prio| self.detach(node, prio));
            self.nodes[node].mode = mode;
            wanted().for_each(|prio| self.attach(node, prio));
        }
        let better = now + Duration::from_nanos(wait.max(1) as u64);
        self.nodes[node].better_at = (mode != Mode::Sends).then_some(better);
    }

    /// Updates whether a leaf is active, that is, whether its discipline has a packet ready.
    fn update_leaf(&mut self, node: usize, now: Time) {
        let number = self.leaf(node).number;
        // The leaf's discipline may delay packets, as `tbf` does.
        let ready = self.leaves.class_ready_at(number, now);
        let is_active = ready == Some(now);
        let leaf = self.leaf(node);
        leaf.ready_at = ready.filter(|_| !is_active);
        let (was_active, prio) = (leaf.active, leaf.prio);
        if was_active != is_active {
            if was_active {
                self.detach(node, prio);
            }
            self.leaf(node).active = is_active;
            if is_active {
                self.attach(node, prio);
            }
        }
    }

    /// Applies the mode changes that are due for the classes of a level.
    fn catch_up(&mut self, level: usize, now: Time) {
        for at in 0..self.by_level[level].len() {
            let node = self.by_level[level][at];
            if self.nodes[node].better_at.is_some_and(|at| at <= now) {
                self.update_mode(node, now);
            }
            if let Kind::Leaf(Leaf { ready_at: Some(at), .. }) = self.nodes[node].kind {
                if at <= now {
                    self.update_leaf(node, now);
                }
            }
        }
    }

    /// Returns the leaf that has the turn in a row.
    fn current_leaf(&mut self, level: usize, prio: usize) -> Option<usize> {
        // Follow the path from the row down to a leaf. In each round robin on the path, choose the class that has the
        // turn.
        let (mut way, mut depth) = ([0; HtbConfig::MOST_LEVELS], 0);
        if self.rows[level][prio].is_empty() {
            return None;
        }
        loop {
            let wheel = self.wheel(level, prio, way[..depth].last());
            match wheel.turn() {
                None => {
                    wheel.begin_again();
                    // All children of this class have had their turn. This ends the turn of the class itself.
                    if depth > 0 {
                        depth -= 1;
                        self.wheel(level, prio, way[..depth].last()).advance();
                    }
                }
                Some(node) if matches!(self.nodes[node].kind, Kind::Leaf(_)) => return Some(node),
                Some(node) => {
                    way[depth] = node;
                    depth += 1;
                }
            }
        }
    }

    /// Returns the round robin of the parent's children; without a parent, the round robin of the row.
    fn wheel(&mut self, level: usize, prio: usize, parent: Option<&usize>) -> &mut Wheel {
        match parent {
            None => &mut self.rows[level][prio],
            Some(parent) => self.feed(*parent, prio),
        }
    }

    /// Dequeues a packet from the leaf that has the turn in a row.
    fn dequeue_row(&mut self, level: usize, prio: usize, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let now = cx.now();
        while let Some(node) = self.current_leaf(level, prio) {
            let number = self.leaf(node).number;
            let given = self.leaves.act(number, |class: &mut Class| class.dequeue(cx));
            let Some(given) = given else {
                // The leaf's discipline returned no packet, because it dropped all its packets or delays them.
                self.update_leaf(node, now);
                continue;
            };
            let size = given.packet.size() + self.overhead;
            let leaf = self.leaf(node);
            // A leaf takes part in a separate round robin on each level, so each level has its own deficit.
            leaf.deficit[level] -= size.get() as i64;
            // The leaf has used its quantum, so continue with the next class in the lender's round robin.
            if leaf.deficit[level] < 0 {
                leaf.deficit[level] += leaf.quantum;
                match self.nodes[node].parent {
                    Some(parent) if level > 0 => self.feed(parent, prio).advance(),
                    _ => self.rows[0][prio].advance(),
                }
            }
            self.update_leaf(node, now);
            self.charge(node, level, size, now);
            return Some(given);
        }
        None
    }

    /// Charges a packet to its leaf and to all ancestors of the leaf.
    fn charge(&mut self, leaf: usize, lender_level: usize, size: Bytes, now: Time) {
        let mut paying = Some(leaf);
        while let Some(at) = paying {
            let node = &mut self.nodes[at];
            let waited = node.waited(now);
            // As in Linux's htb_charge_class, the lender and its ancestors are also charged at their guaranteed rate.
            if node.level >= lender_level {
                node.rate.charge(waited, size);
            } else {
                // Classes below the lender borrow, so their tokens at the guaranteed rate are not charged.
                node.rate.tokens += waited;
            }
            node.ceil.charge(waited, size);
            node.counted = now;
            paying = node.parent;
            self.update_mode(at, now);
        }
    }
}

impl Qdisc for Htb {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let number = self.leaves.classify(&packet);
        self.leaves.enqueue_to(number, packet, cx);
        self.update_leaf(self.leaf_nodes[number], cx.now());
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        // As in Linux's htb_dequeue, start with the leaves. A leaf borrows from a level only if no packet can be sent
        // from a lower level.
        for level in 0..HtbConfig::MOST_LEVELS {
            self.catch_up(level, cx.now());
            if self.occupied & row_bits(level) == 0 {
                continue;
            }
            for prio in 0..HtbConfig::PRIORITIES {
                if self.occupied & row_bit(level, prio) == 0 {
                    continue;
                }
                if let Some(given) = self.dequeue_row(level, prio, cx) {
                    return Some(given);
                }
            }
        }
        None
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        if self.backlog().packets == 0 {
            return None;
        }
        if self.occupied != 0 {
            return Some(now);
        }
        let leaf_ready = |node: &Node| match &node.kind {
            Kind::Leaf(leaf) => leaf.ready_at,
            Kind::Inner(_) => None,
        };
        let changes = self.nodes.iter().flat_map(|node| [node.better_at, leaf_ready(node)]).flatten();
        Some(changes.min().expect("a queued packet waits for a bucket or for its discipline").max(now))
    }

    fn backlog(&self) -> Backlog {
        self.leaves.backlog()
    }

    fn children(&self) -> Option<&Classes> {
        Some(&self.leaves)
    }

    fn children_mut(&mut self) -> Option<&mut Classes> {
        Some(&mut self.leaves)
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        let (number, packet) = self.leaves.remove(waiting, cx)?;
        self.update_leaf(self.leaf_nodes[number], cx.now());
        Some(packet)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        for (number, node) in self.nodes.iter().enumerate() {
            out(&format!("class {number}/tokens_ms"), node.rate.tokens as f64 / 1e6);
            out(&format!("class {number}/ctokens_ms"), node.ceil.tokens as f64 / 1e6);
        }
        self.leaves.gauges(out);
    }
}
