//! Where a network can be cut into parts that run on threads of their own.
//!
//! A line can be cut where the network falls apart without it, and where both of its directions
//! [foretell](lopsided_link::Link::foretells): then the arrival of a packet is known as it enters, at least the line's
//! delay ahead. Of such lines those are cut that leave the parts with the most equal share of the work; the shortest
//! delay among them is how far the parts run on without a word of each other.
//!
//! Left out: networks that somebody watches (the order of what they are told is one), networks with edges, and meshes
//! in which no line is the only way.

use crate::network::{NetNode, Network};
use lopsided_core::{Duration, EventMask, Node, NodeId};

/// The two links of a line.
pub type LinePair = (NodeId, NodeId);

/// A part with less than this share of the work of what it is cut from is not worth a thread.
const LEAST_SHARE: f64 = 0.1;
/// A line whose delay is shorter than this share of the longest is not cut: it would stop the parts too often.
const LEAST_DELAY: f64 = 0.1;

/// Which node is in which part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// The part of each node, counted from 0.
    pub(crate) part_of: Vec<usize>,
    pub(crate) parts: usize,
    /// The links that lead from one part to another.
    pub(crate) exits: Vec<NodeId>,
    pub(crate) lookahead: Duration,
}

impl Division {
    /// At most `most` parts of a network with these lines, or none where it cannot be cut. `work` is what each node has
    /// to do, in any unit.
    pub fn of<H: Node>(network: &Network<H>, lines: &[LinePair], work: &[u64], most: usize) -> Option<Division> {
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

    pub fn parts(&self) -> usize {
        self.parts
    }

    /// The links that are cut.
    pub fn exits(&self) -> &[NodeId] {
        &self.exits
    }

    /// How far the parts run on without a word of each other.
    pub fn lookahead(&self) -> Duration {
        self.lookahead
    }
}

/// A line that might be cut.
#[derive(Clone, Copy, Debug)]
struct Join {
    links: LinePair,
    delay: Duration,
}

/// The lines that might be cut.
fn candidates<H: Node>(network: &Network<H>, lines: &[LinePair]) -> Vec<Join> {
    let delay = |node: NodeId| match network.node(node) {
        NetNode::Link(link) if link.foretells() => Some(link.delay()).filter(|delay| !delay.is_zero()),
        _ => None,
    };
    let foretold = |&links: &LinePair| Some(Join { links, delay: delay(links.0)?.min(delay(links.1)?) });
    let mut joins: Vec<Join> = lines.iter().filter_map(foretold).collect();
    let longest = joins.iter().map(|join| join.delay).max().unwrap_or(Duration::ZERO);
    joins.retain(|join| join.delay.as_secs_f64() >= LEAST_DELAY * longest.as_secs_f64());
    joins
}

/// What stays together whatever is cut: the nodes that are joined by other ways than candidate lines.
struct Blocks {
    block_of: Vec<usize>,
    /// The work of each block.
    work: Vec<u64>,
    /// The block behind each node by its port 0, of links.
    behind: Vec<Option<usize>>,
}

impl Blocks {
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

    /// The component of each block when only these lines join them.
    fn components(&self, joins: &[Join]) -> Vec<usize> {
        let mut sets = Sets::new(self.work.len());
        for join in joins {
            let (one, other) = self.ends(join);
            sets.join(one, other);
        }
        sets.numbered().0
    }

    /// The line, by its place, that cuts the heaviest component into the two most equal ones; none where nothing worth
    /// it falls off.
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
            .max()
            .map(|best| best.2)
    }
}

/// A line that is the only way between its two sides.
struct Bridge {
    /// Its place in the lines.
    join: usize,
    /// The work on one of its sides, and on both.
    beyond: u64,
    whole: u64,
}

/// The bridges among the lines, by Tarjan's search (1974), without recursion: a topology may be a long row.
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
        // A block on the way, the line that it was reached by, and how many of its lines were tried.
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
                        _ if Some(line) == by => {}
                        Some(seen) => lowest[block] = lowest[block].min(seen),
                        None => way.push((next, Some(line), 0)),
                    }
                }
                None => {
                    way.pop();
                    if let (Some(join), Some(&(parent, ..))) = (by, way.last()) {
                        lowest[parent] = lowest[parent].min(lowest[block]);
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

/// Disjoint sets of the numbers below a count.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Sets {
        Sets((0..count).collect())
    }

    fn root(&mut self, mut of: usize) -> usize {
        while self.0[of] != of {
            self.0[of] = self.0[self.0[of]];
            of = self.0[of];
        }
        of
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }

    /// The set of each number, counted from 0 in order of their first members, and how many there are.
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
