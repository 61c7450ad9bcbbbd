//! Runs of out-of-order bytes. They are ordered and disjoint, and a look-up takes logarithmic time.

use crate::growth::make_room;
use std::collections::VecDeque;
use std::ops::Range;

/// Runs `[start, end)` in ascending order. The offsets are of type `T`.
#[derive(Clone, Debug)]
pub(super) struct Runs<T = u64>(VecDeque<(T, T)>);

impl<T> Default for Runs<T> {
    fn default() -> Runs<T> {
        Runs(VecDeque::new())
    }
}

impl<T: Copy + Ord> Runs<T> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Positions of the runs that overlap or touch `[from, to)`.
    fn touched(&self, from: T, to: T) -> Range<usize> {
        let first = match self.0.back() {
            Some((_, end)) if *end < from => self.0.len(),
            _ => self.0.partition_point(|(_, end)| *end < from),
        };
        first..first + self.0.range(first..).take_while(|(start, _)| *start <= to).count()
    }

    /// The runs that overlap or touch `[from, to)`, in order.
    pub fn touching(&self, from: T, to: T) -> impl Iterator<Item = (T, T)> + '_ {
        self.0.range(self.touched(from, to)).copied()
    }

    /// Appends `[from, to)` if it extends the last run or begins after it. Otherwise returns false and changes nothing.
    pub fn append(&mut self, from: T, to: T) -> bool {
        match self.0.back_mut() {
            Some((_, end)) if *end == from => *end = to,
            Some((_, end)) if *end > from => return false,
            _ => {
                make_room(&mut self.0);
                self.0.push_back((from, to));
            }
        }
        true
    }

    /// Inserts `[from, to)` and joins it with all runs that it touches. Returns the runs that were joined.
    pub fn insert(&mut self, from: T, to: T) -> Vec<(T, T)> {
        let touched = self.touched(from, to);
        let joined: Vec<(T, T)> = self.0.drain(touched.clone()).collect();
        let whole = joined.iter().fold((from, to), |all, run| (all.0.min(run.0), all.1.max(run.1)));
        make_room(&mut self.0);
        self.0.insert(touched.start, whole);
        joined
    }

    /// Removes and returns the first run if it begins at or before `next`.
    pub fn pop_reached(&mut self, next: T) -> Option<(T, T)> {
        self.0.front().filter(|(start, _)| *start <= next)?;
        let first = self.0.pop_front();
        // Free the memory, because data is rarely out of order.
        if self.0.is_empty() {
            self.0 = VecDeque::new();
        }
        first
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

    /// Stores one byte after each hole in the given order, and then fills all holes. Returns the number of comparisons.
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
    fn holes_in_any_order_cost_n_log_n_comparisons() {
        const MANY: u64 = 20_000;
        // 61,681 is coprime to 20,000, so the product visits each position once, in scattered order.
        let orders: [(&str, Box<dyn Iterator<Item = u64>>); 3] = [
            ("up", Box::new(0..MANY)),
            ("down", Box::new((0..MANY).rev())),
            ("all over", Box::new((0..MANY).map(|place| place * 61_681 % MANY))),
        ];
        for (order, places) in orders {
            let each = cost(places) as f64 / MANY as f64;
            // Each hole costs a binary search and a few comparisons.
            assert!(each < 2.0 * (MANY as f64).log2(), "{order}: {each} comparisons a hole");
        }
    }

    #[test]
    fn a_run_after_all_others_is_appended_or_merged_with_the_last() {
        let mut runs = Runs::default();
        assert!(runs.append(10, 20) && runs.append(30, 40) && runs.append(40, 45));
        assert!(!runs.append(44, 50) && !runs.append(5, 7), "overlapping or earlier");
        assert_eq!(runs.touching(0, 100).collect::<Vec<_>>(), [(10, 20), (30, 45)]);
    }

    #[test]
    fn adjacent_runs_are_merged_and_returned() {
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
