//! The runs of SACKed segments, disjoint and ordered. A look-up takes logarithmic time.

use std::collections::BTreeMap;

/// A run of SACKed segments: the offsets `[start, end)` and the record numbers `first..next`.
#[derive(Debug, Clone, Copy)]
pub(super) struct SackRange {
    pub start: u64,
    pub end: u64,
    pub first: u64,
    pub next: u64,
}

/// The runs, keyed by start offset. A run whose beginning was acknowledged keeps its old key.
///
/// Look-ups check the highest run first, because a SACK block usually extends it.
#[derive(Debug, Default)]
pub(super) struct SackRanges(BTreeMap<u64, SackRange>);

impl SackRanges {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The runs in descending order.
    pub fn descending(&self) -> impl Iterator<Item = &SackRange> {
        self.0.values().rev()
    }

    #[cfg(test)]
    pub fn ascending(&self) -> impl Iterator<Item = &SackRange> {
        self.0.values()
    }

    /// The highest run.
    pub fn last(&self) -> Option<&SackRange> {
        self.0.last_key_value().map(|(_, run)| run)
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
        self.0.range(offset..).next().map(|(_, run)| *run)
    }

    /// The highest run that begins at or before `offset`.
    pub fn at_or_below(&self, offset: u64) -> Option<SackRange> {
        if let Some(last) = self.last().filter(|last| last.start <= offset) {
            return Some(*last);
        }
        self.0.range(..=offset).next_back().map(|(_, run)| *run)
    }

    /// Inserts a run that touches no other run.
    pub fn insert(&mut self, run: SackRange) {
        self.0.insert(run.start, run);
    }

    /// Replaces the run that begins where `run` begins.
    pub fn replace(&mut self, run: SackRange) {
        if let Some(mut last) = self.0.last_entry().filter(|last| *last.key() <= run.start) {
            *last.get_mut() = run;
        } else if let Some((_, stored)) = self.0.range_mut(..=run.start).next_back() {
            *stored = run;
        }
    }

    /// Removes the run with the highest key that is at most `offset`.
    pub fn remove(&mut self, offset: u64) {
        if let Some(last) = self.0.last_entry().filter(|last| *last.key() <= offset) {
            last.remove();
        } else if let Some((&key, _)) = self.0.range(..=offset).next_back() {
            self.0.remove(&key);
        }
    }

    /// Removes the runs below the acknowledged offset `una`. `base` is the number of the first remaining record.
    pub fn cut(&mut self, una: u64, base: u64) {
        while let Some(mut run) = self.0.first_entry() {
            if run.get().end > una {
                // The acknowledgement covers the beginning of the run.
                let left = run.get_mut();
                left.start = left.start.max(una);
                left.first = left.first.max(base);
                return;
            }
            run.remove();
        }
    }
}
