//! The report of out-of-order and duplicate data by SACK (RFC 2018 and RFC 2883).

use std::ops::Range;

/// Number of SACK blocks that a receiver stores (Linux).
const BLOCKS_REMEMBERED: usize = 4;
/// Number of SACK blocks that fit in every ACK, even with timestamps and a DSACK (Linux).
const BLOCKS_EXPECTED: usize = 2;

/// The SACK blocks of the next ACK, as ranges of stream offsets.
///
/// # Invariants
///
/// - No two blocks touch, and there are at most four. The most recently changed block is the first (RFC 2018 section 4).
/// - A duplicate is stored only if the peer uses SACK and the profile reports duplicates.
#[derive(Debug)]
pub(super) struct SackReport {
    /// True if the peer has agreed to use SACK.
    agreed: bool,
    /// True if duplicates are reported by DSACK.
    reports_duplicates: bool,
    blocks: Vec<Range<u64>>,
    /// A range that was received twice, to be reported in one ACK (RFC 2883).
    duplicate: Option<Range<u64>>,
}

impl SackReport {
    pub fn new(reports_duplicates: bool) -> SackReport {
        SackReport { agreed: false, reports_duplicates, blocks: Vec::new(), duplicate: None }
    }

    pub fn agree(&mut self, agreed: bool) {
        self.agreed = agreed;
    }

    pub fn is_agreed(&self) -> bool {
        self.agreed
    }

    /// True if the next ACK carries a SACK block.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.agreed && (!self.blocks.is_empty() || self.duplicate.is_some())
    }

    /// Number of SACK blocks in the next segment if at most `room` fit.
    #[inline]
    pub fn count(&self, room: usize) -> usize {
        if !self.is_due() {
            return 0;
        }
        (self.blocks.len() + usize::from(self.duplicate.is_some())).min(room)
    }

    /// Start of the duplicate range that the next ACK reports; `None` if it reports none.
    pub fn duplicate_start(&self) -> Option<u64> {
        self.duplicate.as_ref().filter(|_| self.agreed).map(|range| range.start)
    }

    /// Returns at most `room` ranges for the next ACK. A duplicate is reported only once (RFC 2883 section 4).
    pub fn take(&mut self, room: usize) -> impl Iterator<Item = Range<u64>> + '_ {
        self.duplicate.take().into_iter().chain(self.blocks.iter().cloned()).take(room)
    }

    /// Adds an out-of-order block, and joins it with the blocks that it touches. The joined block becomes the first.
    pub fn remember(&mut self, from: u64, to: u64) {
        let mut front = from..to;
        if let Some((first, others)) = self.blocks.split_first_mut().filter(|(first, _)| first.end == from) {
            // Usual case: the segment extends the block that grew last.
            if others.iter().all(|other| other.end < first.start || to < other.start) {
                first.end = to;
                return;
            }
        }
        if let Some(at) = self.touched(from, to) {
            let touched = self.blocks.remove(at);
            front = from.min(touched.start)..to.max(touched.end);
            self.blocks.retain(|block| {
                let apart = block.end < front.start || front.end < block.start;
                if !apart {
                    front = front.start.min(block.start)..front.end.max(block.end);
                }
                apart
            });
        }
        self.blocks.insert(0, front);
        // Linux's tp->selective_acks stores four blocks.
        self.blocks.truncate(BLOCKS_REMEMBERED);
    }

    /// Position of the first block that `[from, to)` touches.
    #[inline]
    fn touched(&self, from: u64, to: u64) -> Option<usize> {
        self.blocks.iter().position(|block| from <= block.end && block.start <= to)
    }

    /// True if `[from, to)` would displace a block that no ACK has reported.
    #[inline]
    pub fn hides_a_block(&self, from: u64, to: u64) -> bool {
        self.touched(from, to).unwrap_or(self.blocks.len()) >= BLOCKS_EXPECTED
    }

    /// Deletes the blocks that do not begin after the acknowledgement number `next`.
    pub fn acknowledge(&mut self, next: u64) {
        self.blocks.retain(|block| block.start > next);
    }

    /// Deletes all blocks, because all data has arrived.
    pub fn complete(&mut self) {
        self.blocks.clear();
    }

    /// Adds a range to the duplicate range, if the two ranges touch (Linux).
    pub fn extend_duplicate(&mut self, start: u64, end: u64) {
        match &mut self.duplicate {
            Some(range) if start <= range.end && range.start <= end => {
                *range = range.start.min(start)..range.end.max(end);
            }
            Some(_) => {}
            None => self.report_duplicate(start, end),
        }
    }

    /// Stores a duplicate range, which the next ACK reports (RFC 2883).
    pub fn report_duplicate(&mut self, start: u64, end: u64) {
        if self.reports_duplicates && self.agreed && end > start {
            self.duplicate = Some(start..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ranges: &[Range<u64>]) -> SackReport {
        let mut report = SackReport::new(true);
        report.agree(true);
        ranges.iter().for_each(|range| report.remember(range.start, range.end));
        report
    }

    fn blocks(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        report(ranges).take(4).collect()
    }

    /// RFC 2018 section 4: the first block contains the segment that arrived last.
    #[test]
    fn the_block_that_changed_last_is_the_first() {
        assert_eq!(blocks(&[20..30, 50..60]), [50..60, 20..30]);
        assert_eq!(blocks(&[20..30, 50..60, 30..40]), [20..40, 50..60]);
        assert_eq!(blocks(&[20..30, 50..60, 10..20]), [10..30, 50..60]);
        // The usual case: the segment extends the first block, and does not touch the next one.
        assert_eq!(blocks(&[50..60, 20..30, 30..49]), [20..49, 50..60]);
        assert_eq!(blocks(&[50..60, 20..30, 30..50]), std::slice::from_ref(&(20..60)));
        assert_eq!(blocks(&[10..20, 20..30]), std::slice::from_ref(&(10..30)));
        assert_eq!(blocks(&[10..20, 30..40, 50..60, 15..55]), std::slice::from_ref(&(10..60)));
        assert_eq!(blocks(&[1..2, 3..4, 5..6, 7..8, 9..10]), [9..10, 7..8, 5..6, 3..4]);
    }

    #[test]
    fn blocks_are_deleted_when_they_are_acknowledged() {
        let mut report = report(&[20..30, 50..60, 80..90]);
        report.acknowledge(50);
        assert_eq!(report.take(4).collect::<Vec<_>>(), std::slice::from_ref(&(80..90)));
        report.complete();
        assert!(!report.is_due());
    }

    /// RFC 2883 section 4: a duplicate is the first block of one ACK.
    #[test]
    fn a_duplicate_is_reported_once_and_before_the_blocks() {
        let mut report = report(std::slice::from_ref(&(50..60)));
        report.report_duplicate(5, 5);
        assert_eq!(report.duplicate_start(), None, "an empty range");
        report.report_duplicate(10, 20);
        report.extend_duplicate(20, 25);
        report.extend_duplicate(5, 10);
        report.extend_duplicate(30, 40);
        report.extend_duplicate(1, 4);
        assert_eq!((report.duplicate_start(), report.count(4), report.count(1)), (Some(5), 2, 1));
        assert_eq!(report.take(4).collect::<Vec<_>>(), [5..25, 50..60]);
        assert_eq!((report.duplicate_start(), report.count(4)), (None, 1));
        report.extend_duplicate(7, 9);
        assert_eq!(report.take(1).collect::<Vec<_>>(), std::slice::from_ref(&(7..9)));
    }

    #[test]
    fn without_an_agreement_nothing_is_reported() {
        let mut report = SackReport::new(true);
        report.remember(20, 30);
        report.report_duplicate(1, 2);
        assert!(!report.is_agreed() && !report.is_due() && report.count(4) == 0 && report.duplicate_start().is_none());
        report.agree(true);
        assert!(report.is_agreed() && report.is_due() && report.duplicate_start().is_none());
        let mut plain = SackReport::new(false);
        plain.agree(true);
        plain.report_duplicate(1, 2);
        assert!(!plain.is_due());
    }

    #[test]
    fn the_third_block_hides_an_unreported_one() {
        let report = report(&[20..30, 50..60]);
        assert_eq!(
            [(60, 70), (0, 10), (10, 20)].map(|(from, to)| report.hides_a_block(from, to)),
            [false, true, false]
        );
    }
}
