//! Runs of SACKed segments: apart from each other, in order, and found in logarithmic time, however many holes there
//! are between them and in whichever order they came.

use std::collections::BTreeMap;

/// A run of SACKed segments: offsets `[start, end)` are records `first..next`.
#[derive(Debug, Clone, Copy)]
pub(super) struct SackRange {
    pub start: u64,
    pub end: u64,
    pub first: u64,
    pub next: u64,
}

/// The runs by where they began. Of the first an acknowledgement may have taken a part since.
///
/// What a block is about is mostly the highest run: that is looked at before the tree is searched.
#[derive(Debug, Default)]
pub(super) struct SackRanges(BTreeMap<u64, SackRange>);

impl SackRanges {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// From the highest down.
    pub fn descending(&self) -> impl Iterator<Item = &SackRange> {
        self.0.values().rev()
    }

    #[cfg(test)]
    pub fn ascending(&self) -> impl Iterator<Item = &SackRange> {
        self.0.values()
    }

    pub fn last(&self) -> Option<&SackRange> {
        self.0.last_key_value().map(|(_, run)| run)
    }

    /// The lowest run that ends at `offset` or behind it.
    pub fn reaching(&self, offset: u64) -> Option<SackRange> {
        self.at_or_below(offset).filter(|run| offset <= run.end).or_else(|| self.beginning_at_or_above(offset))
    }

    /// The lowest run that begins at `offset` or behind it.
    pub fn beginning_at_or_above(&self, offset: u64) -> Option<SackRange> {
        if self.last().is_none_or(|last| last.start < offset) {
            return None;
        }
        self.0.range(offset..).next().map(|(_, run)| *run)
    }

    /// The highest run that begins at `offset` or before it.
    pub fn at_or_below(&self, offset: u64) -> Option<SackRange> {
        if let Some(last) = self.last().filter(|last| last.start <= offset) {
            return Some(*last);
        }
        self.0.range(..=offset).next_back().map(|(_, run)| *run)
    }

    /// Puts in a run that touches no other.
    pub fn insert(&mut self, run: SackRange) {
        self.0.insert(run.start, run);
    }

    /// Takes out the run that begins at `offset` or closest before it.
    pub fn remove(&mut self, offset: u64) {
        if let Some(last) = self.0.last_entry().filter(|last| *last.key() <= offset) {
            last.remove();
        } else if let Some((&key, _)) = self.0.range(..=offset).next_back() {
            self.0.remove(&key);
        }
    }

    /// An acknowledgement up to `una`, below which records end at `base`: what it covers of the runs is gone.
    pub fn cut(&mut self, una: u64, base: u64) {
        while let Some(mut run) = self.0.first_entry() {
            if run.get().end > una {
                // A run that begins below the acknowledgement is cut to what is left of it.
                let left = run.get_mut();
                left.start = left.start.max(una);
                left.first = left.first.max(base);
                return;
            }
            run.remove();
        }
    }
}
