//! Runs of out-of-order bytes. They are ordered and disjoint, and a look-up takes logarithmic time.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

/// Runs `[start, end)`, keyed by start. The offsets are of type `T`.
#[derive(Clone, Debug)]
pub(super) struct Runs<T = u64>(BTreeMap<T, T>);

impl<T> Default for Runs<T> {
    fn default() -> Runs<T> {
        Runs(BTreeMap::new())
    }
}

impl<T: Copy + Ord> Runs<T> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The runs that overlap or touch `[from, to)`, in order.
    pub fn touching(&self, from: T, to: T) -> impl Iterator<Item = (T, T)> + '_ {
        let before = self.0.range(..=from).next_back().filter(|(_, end)| from <= **end);
        let after = self.0.range((Excluded(from), Unbounded)).take_while(move |(start, _)| **start <= to);
        before.into_iter().chain(after).map(|(start, end)| (*start, *end))
    }

    /// Appends `[from, to)` if it extends the last run or begins after it. Otherwise returns false and changes nothing.
    pub fn append(&mut self, from: T, to: T) -> bool {
        match self.0.last_entry() {
            Some(mut last) if *last.get() == from => *last.get_mut() = to,
            Some(last) if *last.get() > from => return false,
            _ => drop(self.0.insert(from, to)),
        }
        true
    }

    /// Inserts `[from, to)` and joins it with all runs that it touches. Returns the runs that were joined.
    pub fn insert(&mut self, from: T, to: T) -> Vec<(T, T)> {
        let joined: Vec<(T, T)> = self.touching(from, to).collect();
        let mut whole = (from, to);
        for (start, end) in &joined {
            self.0.remove(start);
            whole = (whole.0.min(*start), whole.1.max(*end));
        }
        self.0.insert(whole.0, whole.1);
        joined
    }

    /// Removes and returns the first run if it begins at or before `next`.
    pub fn pop_reached(&mut self, next: T) -> Option<(T, T)> {
        self.0.first_entry().filter(|first| *first.key() <= next).map(|first| first.remove_entry())
    }
}

#[cfg(test)]
mod tests {
    use super::Runs;
    use std::cell::Cell;
    use std::cmp::Ordering;

    thread_local!(static COMPARISONS: Cell<u64> = const { Cell::new(0) });

    /// A stream offset that counts its comparisons.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Counted(u64);

    impl Ord for Counted {
        fn cmp(&self, other: &Counted) -> Ordering {
            COMPARISONS.set(COMPARISONS.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Counted) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    /// Returns the number of comparisons for storing one byte after each hole in this order, and then filling all
    /// holes.
    fn cost(order: impl Iterator<Item = u64>) -> u64 {
        COMPARISONS.set(0);
        let (mut runs, mut held) = (Runs::default(), 0);
        for place in order {
            assert!(runs.insert(Counted(2 * place + 1), Counted(2 * place + 2)).is_empty());
            held += 1;
        }
        for place in 0..held {
            let taken = runs.pop_reached(Counted(2 * place + 1));
            assert_eq!(taken, Some((Counted(2 * place + 1), Counted(2 * place + 2))));
        }
        assert!(runs.is_empty());
        COMPARISONS.get()
    }

    #[test]
    fn holes_in_any_order_cost_n_log_n() {
        const MANY: u64 = 100_000;
        // 61,681 is coprime to 100,000, so the product visits each position once, in scattered order.
        let orders: [(&str, Box<dyn Iterator<Item = u64>>); 3] = [
            ("up", Box::new(0..MANY)),
            ("down", Box::new((0..MANY).rev())),
            ("all over", Box::new((0..MANY).map(|place| place * 61_681 % MANY))),
        ];
        for (order, places) in orders {
            let each = cost(places) as f64 / MANY as f64;
            // Each hole costs two searches, an insertion and a removal. A tree of 100,000 runs has 5 levels with up to
            // 11 comparisons each.
            assert!(each < 12.0 * (MANY as f64).log2(), "{order}: {each} comparisons a hole");
        }
    }

    #[test]
    fn what_lies_behind_all_is_appended_or_joined_to_the_last() {
        let mut runs = Runs::default();
        assert!(runs.append(10, 20) && runs.append(30, 40) && runs.append(40, 45));
        assert!(!runs.append(44, 50) && !runs.append(5, 7), "it overlaps, or lies before");
        assert_eq!(runs.touching(0, 100).collect::<Vec<_>>(), [(10, 20), (30, 45)]);
    }

    #[test]
    fn what_touches_is_joined_and_handed_out() {
        let mut runs = Runs::default();
        assert!(runs.insert(10, 20).is_empty());
        assert!(runs.insert(30, 40).is_empty());
        assert_eq!(runs.touching(20, 25).collect::<Vec<_>>(), [(10, 20)], "next to it");
        assert_eq!(runs.touching(21, 29).count(), 0);
        assert_eq!(runs.insert(15, 30), [(10, 20), (30, 40)]);
        assert_eq!(runs.pop_reached(9), None);
        assert_eq!(runs.pop_reached(10), Some((10, 40)));
    }
}
