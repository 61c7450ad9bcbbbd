//! Chooses where to cut a network into parts that run on threads of their own.
//!
//! A line can be cut if both of these hold:
//!
//! - The line is a bridge: without it the network falls into two components.
//! - Both of its links [foretell](lopsided_link::Link::foretells) and have a delay. The arrival time of a packet is
//!   then known when the packet enters, at least the delay ahead, so the part behind the line can run for that long
//!   without waiting for packets.
//!
//! The cut that divides the work most equally is chosen first, then the next one, up to the wanted number of parts. The
//! shortest delay of all cut lines is the *lookahead*: the length of the windows in which the parts run in parallel.
//!
//! Not divided are networks with observers, because observers receive events in one order, networks with edges, and
//! meshes in which no line is a bridge.

use crate::network::{NetNode, Network};
use lopsided_core::{Duration, EventMask, Node, NodeId};

/// The two links of a line, one per direction.
pub type LinePair = (NodeId, NodeId);

/// Minimum share of the work that a cut must separate. A smaller part is not worth a thread.
const LEAST_SHARE: f64 = 0.1;
/// Minimum delay of a cut line, as a share of the longest delay. Shorter windows would make the threads wait too often.
const LEAST_DELAY: f64 = 0.1;

/// The part of each node, and the lines that are cut.
///
/// # Examples
///
/// Two routers, joined by a line of 10 Mbit/s and 20 ms:
///
/// ```
/// use lopsided_core::{Accounting, BitRate, Duration, NodeId, Port};
/// use lopsided_link::{Link, LinkConfig};
/// use lopsided_net::{Attachment, Division, NetNode, Network, Router, Routes};
/// use lopsided_queue::QueueConfig;
///
/// let router = || NetNode::Router(Box::new(Router::new(Routes::default())));
/// let rate = Some(BitRate::from_bps(10_000_000));
/// let config = LinkConfig::new(rate, Duration::from_millis(20), QueueConfig::packets(50));
/// let link = |role| NetNode::Link(Box::new(config.build(1, role).unwrap()));
/// let nodes: Vec<NetNode<Link>> = vec![router(), router(), link("there"), link("back")];
/// let to = |node| vec![Attachment { node: NodeId(node), port: Port(0) }];
/// let network = Network::new(nodes, &[to(2), to(3), to(1), to(0)], Accounting::new(4));
///
/// let work = [1, 1, 0, 0];
/// let division = Division::of(&network, &[(NodeId(2), NodeId(3))], &work, 2).unwrap();
/// assert_eq!((division.parts(), division.lookahead()), (2, Duration::from_millis(20)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// The part of each node, from 0.
    pub(crate) part_of: Vec<usize>,
    /// Number of parts.
    pub(crate) parts: usize,
    /// The links that lead from one part into another.
    pub(crate) exits: Vec<NodeId>,
    /// The shortest delay of the cut links.
    pub(crate) lookahead: Duration,
}

impl Division {
    /// Divides a network into at most `most` parts, along some of these lines. `work` is the work of each node, in any
    /// unit. `None` if no line can be cut.
    pub fn of<H: Node>(network: &Network<H>, lines: &[LinePair], work: &[u64], most: usize) -> Option<Division> {
        // Observers receive events in one order, which parallel parts do not have.
        if network.accounting().mask() != EventMask::NONE || network.nodes().any(|node| matches!(node, NetNode::Edge)) {
            return None;
        }
        let mut uncut = candidates(network, lines);
        let blocks = Blocks::of(network, &uncut, work);
        let mut cut: Vec<Join> = Vec::new();
        while cut.len() + 1 < most {
            let Some(best) = blocks.best_cut(&uncut) else { break };
            cut.push(uncut.swap_remove(best));
        }
        let lookahead = cut.iter().map(|join| join.delay).min()?;
        let part_of_block = blocks.components(&uncut);
        let part_of = blocks.block_of.iter().map(|block| part_of_block[*block]).collect();
        let exits = cut.iter().flat_map(|join| [join.links.0, join.links.1]).collect();
        Some(Division { part_of, parts: cut.len() + 1, exits, lookahead })
    }

    /// Number of parts, at least 2.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// The links that are cut: both links of each cut line.
    pub fn exits(&self) -> &[NodeId] {
        &self.exits
    }

    /// How far the parts can run in parallel before they must exchange packets.
    pub fn lookahead(&self) -> Duration {
        self.lookahead
    }
}

/// A line that may be cut.
#[derive(Clone, Copy, Debug)]
struct Join {
    /// The line's links.
    links: LinePair,
    /// The shorter delay of both links.
    delay: Duration,
}

/// The lines that may be cut: both of their links foretell, and their delays are not much shorter than the longest one.
fn candidates<H: Node>(network: &Network<H>, lines: &[LinePair]) -> Vec<Join> {
    let delay = |node: NodeId| match network.node(node) {
        NetNode::Link(link) if link.foretells() => Some(link.delay()).filter(|delay| !delay.is_zero()),
        _ => None,
    };
    let foretold = |&links: &LinePair| Some(Join { links, delay: delay(links.0)?.min(delay(links.1)?) });
    let mut joins: Vec<Join> = lines.iter().filter_map(foretold).collect();
    let longest = joins.iter().map(|join| join.delay).max().unwrap_or(Duration::ZERO);
    // The shortest delay is the window of all parts.
    joins.retain(|join| join.delay.as_secs_f64() >= LEAST_DELAY * longest.as_secs_f64());
    joins
}

/// The nodes that stay together however the network is cut. A block is a set of nodes that are joined by wires other
/// than the candidate lines.
struct Blocks {
    /// The block of each node.
    block_of: Vec<usize>,
    /// The work of each block.
    work: Vec<u64>,
    /// The block at the far end of each link that may be cut; `None` for other nodes.
    behind: Vec<Option<usize>>,
}

impl Blocks {
    /// Builds the blocks, given the lines that may be cut.
    fn of<H: Node>(network: &Network<H>, candidates: &[Join], work: &[u64]) -> Blocks {
        let count = network.nodes().count();
        let mut may_be_cut = vec![false; count];
        candidates
            .iter()
            .flat_map(|join| [join.links.0, join.links.1])
            .for_each(|link| may_be_cut[link.index()] = true);
        let mut sets = Sets::new(count);
        for (node, cut) in may_be_cut.iter().enumerate() {
            if !cut {
                network.wires_of(NodeId(node as u32)).iter().for_each(|wire| sets.join(node, wire.node.index()));
            }
        }
        let (block_of, blocks) = sets.numbered();
        let mut of_block = vec![0; blocks];
        block_of.iter().zip(work).for_each(|(block, work)| of_block[*block] += work);
        let behind =
            (0..count).map(|node| may_be_cut[node].then(|| block_of[network.behind(NodeId(node as u32)).index()]));
        let behind = behind.collect();
        Blocks { block_of, work: of_block, behind }
    }

    /// The two blocks that a line joins.
    fn ends(&self, join: &Join) -> (usize, usize) {
        let (there, back) = join.links;
        let end = |link: NodeId| self.behind[link.index()].unwrap_or(self.block_of[link.index()]);
        (end(back), end(there))
    }

    /// The connected component of each block if only these lines join the blocks.
    fn components(&self, joins: &[Join]) -> Vec<usize> {
        let mut sets = Sets::new(self.work.len());
        for join in joins {
            let (one, other) = self.ends(join);
            sets.join(one, other);
        }
        sets.numbered().0
    }

    /// The index of the line that divides the component with the most work most equally. `None` if every cut would
    /// separate too little work.
    fn best_cut(&self, joins: &[Join]) -> Option<usize> {
        let bridges = bridges(self, joins);
        let worth = |bridge: &Bridge| {
            let (small, whole) = (bridge.beyond.min(bridge.whole - bridge.beyond), bridge.whole);
            (small as f64 >= LEAST_SHARE * whole as f64 && small > 0).then_some(small)
        };
        let heaviest = bridges.iter().filter(|bridge| worth(bridge).is_some()).map(|bridge| bridge.whole).max()?;
        let of_heaviest = bridges.iter().filter(|bridge| bridge.whole == heaviest);
        of_heaviest
            .filter_map(|bridge| Some((worth(bridge)?, joins[bridge.join].delay, bridge.join)))
            // The most equal cut; of equal cuts the longest delay, then the highest index, so the result is
            // deterministic.
            .max()
            .map(|best| best.2)
    }
}

/// A line that is the only path between its two sides.
struct Bridge {
    /// The line's index.
    join: usize,
    /// The work on one side of the line.
    beyond: u64,
    /// The work on both sides.
    whole: u64,
}

/// Finds all bridges among the lines with Tarjan's depth-first search (1974). A loop instead of recursion, because a
/// topology may be a row of thousands of nodes.
fn bridges(blocks: &Blocks, joins: &[Join]) -> Vec<Bridge> {
    let count = blocks.work.len();
    let mut leads: Vec<Vec<(usize, usize)>> = vec![Vec::new(); count];
    for (place, join) in joins.iter().enumerate() {
        let (one, other) = blocks.ends(join);
        leads[one].push((other, place));
        leads[other].push((one, place));
    }
    let mut seen: Vec<Option<usize>> = vec![None; count];
    let mut lowest = vec![0; count];
    let mut work = blocks.work.clone();
    let mut bridges: Vec<Bridge> = Vec::new();
    let mut number = 0;
    for root in 0..count {
        if seen[root].is_some() {
            continue;
        }
        let first_bridge = bridges.len();
        // Each entry: a block on the current path, the line to it, and the number of its lines that were tried.
        let mut way: Vec<(usize, Option<usize>, usize)> = vec![(root, None, 0)];
        while let Some(&mut (block, by, ref mut tried)) = way.last_mut() {
            if seen[block].is_none() {
                seen[block] = Some(number);
                lowest[block] = number;
                number += 1;
            }
            match leads[block].get(*tried) {
                Some(&(next, line)) => {
                    *tried += 1;
                    match seen[next] {
                        // The line that led here does not count as a second path.
                        _ if Some(line) == by => {}
                        Some(seen) => lowest[block] = lowest[block].min(seen),
                        None => way.push((next, Some(line), 0)),
                    }
                }
                None => {
                    way.pop();
                    if let (Some(join), Some(&(parent, ..))) = (by, way.last()) {
                        lowest[parent] = lowest[parent].min(lowest[block]);
                        // No path leads from this block's subtree to the parent or above, other than this line.
                        if seen[parent].is_some_and(|parent| lowest[block] > parent) {
                            bridges.push(Bridge { join, beyond: work[block], whole: 0 });
                        }
                        work[parent] += work[block];
                    }
                }
            }
        }
        bridges[first_bridge..].iter_mut().for_each(|bridge| bridge.whole = work[root]);
    }
    bridges
}

/// Disjoint sets of the numbers from 0 to a count (union-find).
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Sets {
        Sets((0..count).collect())
    }

    fn root(&mut self, mut of: usize) -> usize {
        while self.0[of] != of {
            // Path halving.
            self.0[of] = self.0[self.0[of]];
            of = self.0[of];
        }
        of
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }

    /// The set of each number, and the number of sets. Sets are numbered from 0 by their first members.
    fn numbered(mut self) -> (Vec<usize>, usize) {
        let mut numbers = vec![None; self.0.len()];
        let mut count = 0;
        let of = (0..self.0.len())
            .map(|member| {
                let root = self.root(member);
                *numbers[root].get_or_insert_with(|| {
                    count += 1;
                    count - 1
                })
            })
            .collect();
        (of, count)
    }
}
