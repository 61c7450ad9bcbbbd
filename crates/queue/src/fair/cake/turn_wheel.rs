//! A timer wheel for busy flows that skip the rounds in which they could not send.
//!
//! The flows of a host share one quantum. If a host has 1,000 flows, the share of a flow is 1 or 2 bytes, and Linux
//! visits the flow about 700 times per packet. In this module, the flow skips these rounds, and receives the service of
//! all skipped rounds at once. If more than half of a host's busy flows become empty, all flows return early.
//!
//! Each slot of the wheel represents a future round.

use super::ways::PLACES;

/// Marks the end of a list.
const NONE: u32 = u32::MAX;

/// The flows of a tin that skip rounds.
#[derive(Debug, Default)]
pub(super) struct TurnWheel {
    /// The current round.
    round: u64,
    /// Number of flows in the wheel.
    count: usize,
    /// First and last flow of each slot's list.
    slots: Vec<(u32, u32)>,
    /// For each flow, the next flow in its slot's list.
    next: Vec<u32>,
}

impl TurnWheel {
    /// Returns the number of rounds that have started.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Maximum number of rounds that a flow can skip.
    pub const MOST: u64 = PLACES as u64 - 1;

    /// Makes a flow skip `rounds` rounds, at least one.
    pub fn add(&mut self, flow: usize, rounds: u64) {
        debug_assert!((1..=TurnWheel::MOST).contains(&rounds));
        // Most tins never use the wheel, so it is allocated when the first flow is added.
        if self.slots.is_empty() {
            self.slots = vec![(NONE, NONE); PLACES];
            self.next = vec![NONE; PLACES];
        }
        let (slot, added) = (TurnWheel::slot(self.round + rounds), flow as u32);
        let (first, last) = &mut self.slots[slot];
        if *first == NONE {
            *first = added;
        } else {
            self.next[*last as usize] = added;
        }
        *last = added;
        self.count += 1;
    }

    /// Starts a round. If `none_active` is true, continues with the next round in which a flow returns.
    pub fn begin_round(&mut self, none_active: bool) {
        self.round += 1;
        // While no flow is active, rounds in which no flow returns have no effect.
        if none_active && self.count > 0 {
            while self.slots[TurnWheel::slot(self.round)].0 == NONE {
                self.round += 1;
            }
        }
    }

    /// Removes and returns the next flow that is due in this round, in the order of addition.
    pub fn next_due(&mut self) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        self.take(TurnWheel::slot(self.round))
    }

    /// Removes and returns the flow that is due next, before its round starts. The search starts `early` rounds from
    /// now. Pass 0 in the first call, and the updated value in the following calls.
    pub fn next_early(&mut self, early: &mut u64) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        loop {
            if let Some(flow) = self.take(TurnWheel::slot(self.round + *early)) {
                return Some(flow);
            }
            *early += 1;
        }
    }

    /// Returns all flows in the wheel.
    pub fn flows(&self) -> impl Iterator<Item = usize> {
        let flow = |number: u32| (number != NONE).then_some(number as usize);
        let in_list = move |first: u32| std::iter::successors(flow(first), move |number| flow(self.next[*number]));
        self.slots.iter().flat_map(move |(first, _)| in_list(*first))
    }

    /// Removes and returns the first flow of a slot.
    fn take(&mut self, slot: usize) -> Option<usize> {
        let (first, _) = &mut self.slots[slot];
        let flow = (*first != NONE).then_some(*first as usize)?;
        // The next flow in the list becomes the first, so the list keeps its order.
        *first = std::mem::replace(&mut self.next[flow], NONE);
        self.count -= 1;
        Some(flow)
    }

    fn slot(round: u64) -> usize {
        round as usize % PLACES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopsided_core::Rng;

    /// Compares the wheel with a plain list that is searched at each step.
    #[test]
    fn flows_return_in_their_round_in_the_order_in_which_they_were_added() {
        let (mut wheel, mut rng) = (TurnWheel::default(), Rng::for_role(1, "test"));
        let (mut round, mut list, mut came): (u64, Vec<(u64, usize)>, _) = (0, Vec::new(), 0);
        for step in 0..20_000 {
            let flow = rng.below(PLACES as u64) as usize;
            if step % 3 == 0 && list.iter().all(|(_, other)| *other != flow) {
                let rounds = 1 + rng.below(if step % 2 == 0 { 20 } else { TurnWheel::MOST });
                wheel.add(flow, rounds);
                list.push((round + rounds, flow));
            }
            let all_return = step % 5_000 == 4_999;
            let is_active = rng.below(2) == 0;
            wheel.begin_round(!is_active);
            round += 1;
            // A stable sort keeps the flows of a round in the order in which they were added.
            list.sort_by_key(|(round, _)| *round);
            if !is_active {
                round = list.first().map_or(round, |(first, _)| round.max(*first));
            }
            let due = list.iter().take_while(|(of, _)| *of == round).count();
            for (_, flow) in list.drain(..due) {
                assert_eq!(wheel.next_due(), Some(flow));
                came += 1;
            }
            assert_eq!(wheel.next_due(), None);
            assert_eq!(wheel.flows().count(), list.len());
            if all_return {
                let mut early = 0;
                for (of, flow) in list.drain(..) {
                    assert_eq!((wheel.next_early(&mut early), early), (Some(flow), of - round));
                }
                assert_eq!(wheel.next_early(&mut early), None);
            }
        }
        assert!(came > 3_000, "{came}");
    }
}
