//! The memory records of received data, joined as in Linux: a segment joins the record that ends where the segment
//! begins, and the records around a filled hole join, as long as a record has at most 17 fragments (MAX_SKB_FRAGS). A
//! full record is never split. A segment is one fragment, or two if it spans two of the [pages](Pages) that the
//! sender's writes filled, because no data is copied between two hosts of one kernel.
//!
//! Verified with captures of Linux 6.1.

use super::pages::Pages;
use std::collections::{BTreeMap, VecDeque};

const RECORD_FRAGMENTS: u32 = 17;

#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// Stream offset of its end.
    end: u64,
    /// 0 if there is no record.
    fragments: u32,
}

impl Record {
    fn is_none(self) -> bool {
        self.fragments == 0
    }

    /// The record, if it ends at `offset`.
    fn reaching(self, offset: u64) -> Option<Record> {
        (self.end == offset).then_some(self)
    }

    /// Joins two records, if the result is not too large.
    #[inline(always)]
    fn joined_by(self, next: Record) -> Option<Record> {
        let fragments = self.fragments + next.fragments;
        (fragments <= RECORD_FRAGMENTS).then_some(Record { end: next.end, fragments })
    }
}

/// The records of unread in-order data and of held data.
#[derive(Debug, Default)]
pub(super) struct Records {
    unread: VecDeque<Record>,
    /// The last record, which may still grow: usually the only one, because data is read at once.
    last: Record,
    /// Held records by their start.
    held: BTreeMap<u64, Record>,
    pages: Pages,
}

impl Records {
    pub fn unread(&self) -> u64 {
        self.unread.len() as u64 + u64::from(!self.last.is_none())
    }

    pub fn held(&self) -> u64 {
        self.held.len() as u64
    }

    /// End of the first unread record.
    pub fn first_end(&self) -> Option<u64> {
        let first = self.unread.front().copied().unwrap_or(self.last);
        (!first.is_none()).then_some(first.end)
    }

    /// Sets the payload of full segments.
    pub fn expect(&mut self, mss: u32) {
        self.pages.expect(mss);
    }

    /// Adds an in-order segment.
    #[inline(always)]
    pub fn append(&mut self, start: u64, end: u64) {
        self.pages.forget_before(start);
        let record = self.record(start, end);
        self.queue(record);
    }

    /// The record of a single segment.
    #[inline(always)]
    fn record(&mut self, start: u64, end: u64) -> Record {
        Record { end, fragments: self.pages.fragments(start, end) }
    }

    /// Adds a held segment and removes what it covers.
    pub fn hold(&mut self, start: u64, end: u64) {
        let record = self.record(start, end);
        // Usually after all held data.
        if let Some(mut last) = self.held.last_entry().filter(|last| *last.key() < start) {
            match last.get().reaching(start).and_then(|before| before.joined_by(record)) {
                Some(joined) => *last.get_mut() = joined,
                None => drop(self.held.insert(start, record)),
            }
            return;
        }
        let covered: Vec<u64> =
            self.held.range(start..end).filter(|(_, record)| record.end <= end).map(|(at, _)| *at).collect();
        for at in covered {
            self.held.remove(&at);
        }
        let before = self.held.range_mut(..start).next_back().map(|(_, before)| before);
        let joined = before.and_then(|before| Some((before.reaching(start)?.joined_by(record)?, before)));
        match joined {
            Some((joined, before)) => *before = joined,
            None => drop(self.held.insert(start, record)),
        }
    }

    /// Joins everything before `next`, which is in order now.
    pub fn advance(&mut self, next: u64) {
        while let Some(first) = self.held.first_entry().filter(|first| *first.key() < next) {
            let record = first.remove();
            self.queue(record);
        }
    }

    /// Drops the records before `offset`, which the application has read.
    #[inline(always)]
    pub fn release(&mut self, offset: u64) {
        if !self.unread.is_empty() {
            self.release_whole(offset);
        }
        if self.last.end <= offset {
            self.last = Record::default();
        }
    }

    fn release_whole(&mut self, offset: u64) {
        while self.unread.front().is_some_and(|record| record.end <= offset) {
            self.unread.pop_front();
        }
    }

    #[inline(always)]
    fn queue(&mut self, record: Record) {
        if self.last.is_none() {
            self.last = record;
        } else if let Some(joined) = self.last.joined_by(record) {
            self.last = joined;
        } else {
            self.unread.push_back(std::mem::replace(&mut self.last, record));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(records: &mut Records, segments: std::ops::Range<u64>) {
        segments.for_each(|number| records.hold(number, number + 1));
    }

    /// Captures of Linux 6.1: next to a hole of one segment, runs of 20, 55 and 18 segments take one record more than
    /// their number, counting the hole's segment, requires.
    #[test]
    fn the_segment_that_fills_a_hole_joins_no_full_record() {
        for (run, expected) in [(20, 3), (55, 5), (18, 3), (16, 1), (17, 2)] {
            let mut records = Records::default();
            hold(&mut records, 1..run + 1);
            records.append(0, 1);
            records.advance(run + 1);
            assert_eq!((records.unread(), records.held()), (expected, 0), "a run of {run}");
            records.release(run);
            assert_eq!(records.unread(), 1, "the last one is not read yet");
            records.release(run + 1);
            assert_eq!(records.unread(), 0);
        }
    }

    /// A capture of Linux 6.1: next to a hole of one segment at byte 1,633,344, a run of 85 segments of 1,448 bytes,
    /// four of them across two pages, takes six records.
    #[test]
    fn a_segment_across_two_pages_counts_twice() {
        let (first, mss) = (1_633_344, 1448);
        let mut records = Records::default();
        for number in 1..86 {
            records.hold(first + number * mss, first + (number + 1) * mss);
        }
        assert_eq!(records.held(), 6);
        records.append(first, first + mss);
        records.advance(first + 86 * mss);
        assert_eq!((records.unread(), records.held()), (7, 0));
    }

    #[test]
    fn a_segment_between_two_runs_joins_the_first_alone() {
        let mut records = Records::default();
        hold(&mut records, 1..6);
        hold(&mut records, 7..12);
        hold(&mut records, 6..7);
        assert_eq!(records.held(), 2);
        records.hold(3, 20);
        assert_eq!(records.held(), 2, "the second run was covered");
    }
}
