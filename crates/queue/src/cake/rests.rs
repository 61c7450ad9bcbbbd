//! Busy flows that are left out of so many rounds because their turns would be empty.
//!
//! A flow gets a part of the quantum in its turn, divided by the busy flows of its host: with a thousand of them an
//! octet or two, and it owes a packet. Linux passes over it some 700 times, and so each packet costs 700 turns. Here
//! the flow rests for seven eighths of those rounds and is paid for them at once. Should a host meanwhile lose an
//! eighth of its busy flows, which gives the others more in each round, all come back early.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The flows of a tin that rest.
#[derive(Debug, Default)]
pub(super) struct Rests {
    round: u64,
    /// How many flows have ever rested: of two that come back in one round, the first to rest is the first.
    count: u64,
    /// The round in which a flow comes back, the order in which it came, and its place.
    flows: BinaryHeap<Reverse<(u64, u64, usize)>>,
}

impl Rests {
    /// The flow rests for so many rounds.
    pub fn add(&mut self, flow: usize, rounds: u64) {
        self.count += 1;
        self.flows.push(Reverse((self.round + rounds, self.count, flow)));
    }

    /// A round begins; with nobody awake, the first in which one comes back.
    pub fn begin_round(&mut self, nobody_awake: bool) {
        self.round += 1;
        if nobody_awake {
            let first = self.flows.peek().map_or(0, |Reverse((round, ..))| *round);
            self.round = self.round.max(first);
        }
    }

    /// A flow that comes back in this round.
    pub fn rise(&mut self) -> Option<usize> {
        self.flows.peek().filter(|Reverse((round, ..))| *round <= self.round)?;
        self.flows.pop().map(|Reverse((.., flow))| flow)
    }

    /// A flow that comes back now, and how many rounds early.
    pub fn rouse(&mut self) -> Option<(usize, u64)> {
        let Reverse((round, _, flow)) = self.flows.pop()?;
        Some((flow, round.saturating_sub(self.round)))
    }

    /// All that rest.
    pub fn flows(&self) -> impl Iterator<Item = usize> {
        self.flows.iter().map(|Reverse((.., flow))| *flow)
    }
}
