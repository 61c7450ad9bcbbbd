//! The runs of SACKed segments, disjoint and ordered. A look-up takes logarithmic time.

use crate::growth::make_room;
use std::collections::VecDeque;

/// A run of SACKed segments: the offsets `[start, end)` and the record numbers `first..next`.
#[derive(Debug, Clone, Copy)]
pub(super) struct SackRange {
    pub start: u64,
    pub end: u64,
    pub first: u64,
    pub next: u64,
}

/// Linux merges SACKed segments only if the result has fewer bytes (`tcp_skb_shift`: 65535 parts of at least 8 bytes).
const MERGE_LIMIT: u64 = 65_535 * 8;

impl SackRange {
    /// Number of segments that remain if Linux merges the run's segments.
    fn merged(&self) -> u32 {
        let bytes = self.end - self.start;
        if bytes < MERGE_LIMIT {
            return 1;
        }
        let segments = self.next - self.first;
        let each = (MERGE_LIMIT - 1) * segments / bytes;
        segments.div_ceil(each) as u32
    }
}

/// The runs, in ascending order.
///
/// Look-ups check the highest run first, because a SACK block usually extends it.
#[derive(Debug, Default)]
pub(super) struct SackRanges {
    runs: VecDeque<SackRange>,
    /// Number of segments that remain if Linux merges each run's segments.
    merged: u32,
}

impl SackRanges {
    pub const fn new() -> SackRanges {
        SackRanges { runs: VecDeque::new(), merged: 0 }
    }

    /// Number of segments that remain if Linux merges each run's segments.
    pub fn merged(&self) -> u32 {
        self.merged
    }

    /// Removes all runs and frees their memory.
    pub fn clear(&mut self) {
        *self = SackRanges::default();
    }

    /// The runs in descending order.
    pub fn descending(&self) -> impl Iterator<Item = &SackRange> {
        self.runs.iter().rev()
    }

    #[cfg(test)]
    pub fn ascending(&self) -> impl Iterator<Item = &SackRange> {
        self.runs.iter()
    }

    /// The highest run.
    #[inline]
    pub fn last(&self) -> Option<&SackRange> {
        self.runs.back()
    }

    /// Number of runs that begin at or before `offset`.
    #[inline]
    fn up_to(&self, offset: u64) -> usize {
        match self.last() {
            Some(last) if last.start > offset => self.runs.partition_point(|run| run.start <= offset),
            _ => self.runs.len(),
        }
    }

    /// The lowest run that ends at or after `offset`.
    pub fn reaching(&self, offset: u64) -> Option<SackRange> {
        self.at_or_below(offset).filter(|run| offset <= run.end).or_else(|| self.beginning_at_or_above(offset))
    }

    /// The lowest run that begins at or after `offset`.
    pub fn beginning_at_or_above(&self, offset: u64) -> Option<SackRange> {
        if self.last().is_none_or(|last| last.start < offset) {
            return None;
        }
        self.runs.get(self.runs.partition_point(|run| run.start < offset)).copied()
    }

    /// The highest run that begins at or before `offset`.
    pub fn at_or_below(&self, offset: u64) -> Option<SackRange> {
        self.up_to(offset).checked_sub(1).map(|place| self.runs[place])
    }

    /// Inserts a run that touches no other run.
    pub fn insert(&mut self, run: SackRange) {
        self.merged += run.merged();
        make_room(&mut self.runs);
        self.runs.insert(self.up_to(run.start), run);
    }

    /// Replaces the run that begins where `run` begins.
    pub fn replace(&mut self, run: SackRange) {
        if let Some(place) = self.up_to(run.start).checked_sub(1) {
            self.merged += run.merged();
            self.merged -= std::mem::replace(&mut self.runs[place], run).merged();
        }
    }

    /// Removes the highest run that begins at or before `offset`.
    pub fn remove(&mut self, offset: u64) {
        let place = self.up_to(offset).checked_sub(1);
        if let Some(run) = place.and_then(|place| self.runs.remove(place)) {
            self.merged -= run.merged();
        }
    }

    /// Removes everything below the acknowledged offset `una`: whole runs, and the beginning of a run that contains
    /// `una`. `base` is the number of the first remaining record.
    pub fn cut(&mut self, una: u64, base: u64) {
        while let Some(run) = self.runs.front_mut() {
            self.merged -= run.merged();
            if run.end > una {
                // The acknowledgement covers the beginning of the run.
                run.start = run.start.max(una);
                run.first = run.first.max(base);
                self.merged += run.merged();
                return;
            }
            self.runs.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of `segments` segments of 1448 bytes from `first` on.
    fn run(first: u64, segments: u64) -> SackRange {
        let next = first + segments;
        SackRange { start: 1448 * first, end: 1448 * next, first, next }
    }

    #[test]
    fn linux_merges_fewer_than_524280_sacked_bytes() {
        assert_eq!([1, 362, 363, 724, 725].map(|segments| run(0, segments).merged()), [1, 1, 2, 2, 3]);
    }

    #[test]
    fn each_change_of_a_run_changes_the_number_of_merged_segments() {
        let mut ranges = SackRanges::default();
        ranges.insert(run(400, 300));
        ranges.insert(run(0, 362));
        assert_eq!(ranges.merged(), 2);
        ranges.replace(run(400, 725));
        assert_eq!(ranges.merged(), 4);
        ranges.cut(1448 * 500, 500);
        assert_eq!(ranges.merged(), 2);
        ranges.remove(1448 * 500);
        assert_eq!(ranges.merged(), 0);
    }
}
