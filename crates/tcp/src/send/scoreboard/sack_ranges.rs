//! The runs of SACKed segments, disjoint and ordered. A look-up takes logarithmic time.

use std::collections::VecDeque;

/// A run of SACKed segments: the offsets `[start, end)` and the record numbers `first..next`.
#[derive(Debug, Clone, Copy)]
pub(super) struct SackRange {
    pub start: u64,
    pub end: u64,
    pub first: u64,
    pub next: u64,
}

/// The runs, in ascending order.
///
/// Look-ups check the highest run first, because a SACK block usually extends it.
#[derive(Debug, Default)]
pub(super) struct SackRanges(VecDeque<SackRange>);

impl SackRanges {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes all runs and frees their memory.
    pub fn clear(&mut self) {
        self.0 = VecDeque::new();
    }

    /// The runs in descending order.
    pub fn descending(&self) -> impl Iterator<Item = &SackRange> {
        self.0.iter().rev()
    }

    #[cfg(test)]
    pub fn ascending(&self) -> impl Iterator<Item = &SackRange> {
        self.0.iter()
    }

    /// The highest run.
    #[inline]
    pub fn last(&self) -> Option<&SackRange> {
        self.0.back()
    }

    /// Number of runs that begin at or before `offset`.
    #[inline]
    fn up_to(&self, offset: u64) -> usize {
        match self.last() {
            Some(last) if last.start > offset => self.0.partition_point(|run| run.start <= offset),
            _ => self.0.len(),
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
        self.0.get(self.0.partition_point(|run| run.start < offset)).copied()
    }

    /// The highest run that begins at or before `offset`.
    pub fn at_or_below(&self, offset: u64) -> Option<SackRange> {
        self.up_to(offset).checked_sub(1).map(|place| self.0[place])
    }

    /// Inserts a run that touches no other run.
    pub fn insert(&mut self, run: SackRange) {
        self.0.insert(self.up_to(run.start), run);
    }

    /// Replaces the run that begins where `run` begins.
    pub fn replace(&mut self, run: SackRange) {
        if let Some(place) = self.up_to(run.start).checked_sub(1) {
            self.0[place] = run;
        }
    }

    /// Removes the highest run that begins at or before `offset`.
    pub fn remove(&mut self, offset: u64) {
        if let Some(place) = self.up_to(offset).checked_sub(1) {
            self.0.remove(place);
        }
    }

    /// Removes everything below the acknowledged offset `una`: whole runs, and the beginning of a run that contains
    /// `una`. `base` is the number of the first remaining record.
    pub fn cut(&mut self, una: u64, base: u64) {
        while let Some(run) = self.0.front_mut() {
            if run.end > una {
                // The acknowledgement covers the beginning of the run.
                run.start = run.start.max(una);
                run.first = run.first.max(base);
                return;
            }
            self.0.pop_front();
        }
    }
}
