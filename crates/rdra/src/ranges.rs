//! Sets of byte offsets of an object.

use std::ops::Range;

/// A set of byte offsets, stored as ascending ranges that do not touch.
///
/// # Examples
///
/// ```
/// use lopsided_rdra::Ranges;
///
/// let mut missing = Ranges::whole(1_000);
/// missing.remove(&(100..200));
/// assert_eq!(missing.octets(), 900);
/// assert_eq!(missing.take_first(500), Some(0..100));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    ranges: Vec<Range<u64>>,
    /// Number of bytes in all ranges.
    octets: u64,
}

impl Ranges {
    /// Returns the set of all offsets below `size`.
    pub fn whole(size: u64) -> Ranges {
        let mut all = Ranges::default();
        all.insert(0..size);
        all
    }

    /// Returns the number of bytes in all ranges.
    pub fn octets(&self) -> u64 {
        self.octets
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.octets == 0
    }

    /// Returns the ranges in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.iter().cloned()
    }

    /// Adds a range. Merges it with all ranges that overlap or touch it.
    pub fn insert(&mut self, new: Range<u64>) {
        if new.is_empty() {
            return;
        }
        // Ranges that only touch the new range are also merged, so that the set never contains adjacent ranges.
        let from = self.ranges.partition_point(|range| range.end < new.start);
        let to = self.ranges.partition_point(|range| range.start <= new.end);
        let mut merged = new;
        for range in &self.ranges[from..to] {
            merged = merged.start.min(range.start)..merged.end.max(range.end);
            self.octets -= range.end - range.start;
        }
        self.octets += merged.end - merged.start;
        self.ranges.splice(from..to, [merged]);
    }

    /// Removes the offsets of a range from the set.
    pub fn remove(&mut self, gone: &Range<u64>) {
        if gone.is_empty() {
            return;
        }
        let from = self.ranges.partition_point(|range| range.end <= gone.start);
        let to = self.ranges.partition_point(|range| range.start < gone.end);
        let mut kept = Vec::new();
        for range in &self.ranges[from..to] {
            self.octets -= range.end - range.start;
            kept.extend([range.start..gone.start, gone.end..range.end].into_iter().filter(|part| !part.is_empty()));
        }
        self.octets += kept.iter().map(|part| part.end - part.start).sum::<u64>();
        self.ranges.splice(from..to, kept);
    }

    /// Removes and returns the start of the lowest range, at most `most` bytes. Returns `None` if the set is empty.
    pub fn take_first(&mut self, most: u64) -> Option<Range<u64>> {
        let first = self.ranges.first()?;
        let taken = first.start..first.end.min(first.start.saturating_add(most));
        self.remove(&taken);
        (!taken.is_empty()).then_some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The set behaves like a set of individual offsets.
        #[test]
        fn ranges_behave_like_a_set_of_offsets(steps in prop::collection::vec((any::<bool>(), 0u64..40, 0u64..12), 0..40)) {
            let (mut ranges, mut plain) = (Ranges::default(), [false; 64]);
            for (inserts, start, len) in steps {
                let range = start..start + len;
                plain[start as usize..(start + len) as usize].fill(inserts);
                if inserts { ranges.insert(range) } else { ranges.remove(&range) }
                let mut shown = [false; 64];
                for part in ranges.iter() {
                    prop_assert!(!part.is_empty());
                    shown[part.start as usize..part.end as usize].fill(true);
                }
                prop_assert_eq!(shown, plain);
                prop_assert_eq!(ranges.octets(), plain.iter().filter(|set| **set).count() as u64);
                let apart = ranges.ranges.windows(2).all(|pair| pair[0].end < pair[1].start);
                prop_assert!(apart, "{:?}", ranges);
            }
        }
    }
}
