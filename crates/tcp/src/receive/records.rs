//! The memory records of received data (socket buffers), joined as in Linux.
//!
//! A segment joins the record that ends where the segment begins. The records on both sides of a filled gap also join.
//! A record has at most 17 fragments (MAX_SKB_FRAGS). A segment is one fragment, or two if it spans two of the sender's
//! [pages](Pages).
//!
//! The model was verified with captures of Linux 6.1.

use super::pages::Pages;
use crate::growth::make_room;
use std::collections::VecDeque;

/// Maximum number of fragments of a record.
const RECORD_FRAGMENTS: u32 = 17;

#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// End of the record, as a stream offset.
    end: u64,
    /// Number of memory fragments; 0 if the record does not exist.
    fragments: u32,
}

impl Record {
    fn is_none(self) -> bool {
        self.fragments == 0
    }

    /// Returns the record if it ends at `offset`; otherwise `None`.
    fn reaching(self, offset: u64) -> Option<Record> {
        (self.end == offset).then_some(self)
    }

    /// Joins two records; `None` if the result would have too many fragments.
    #[inline(always)]
    fn joined_by(self, next: Record) -> Option<Record> {
        let fragments = self.fragments + next.fragments;
        (fragments <= RECORD_FRAGMENTS).then_some(Record { end: next.end, fragments })
    }
}

/// The memory records of the unread in-order data and of the out-of-order data.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// All unread records except the last.
    unread: VecDeque<Record>,
    /// The last unread record, which may still grow. Usually there is no other record.
    last: Record,
    /// Records of out-of-order data with their start offsets, in ascending order.
    held: VecDeque<(u64, Record)>,
    pages: Pages,
}

impl Records {
    /// Number of unread records.
    pub fn unread(&self) -> u64 {
        self.unread.len() as u64 + u64::from(!self.last.is_none())
    }

    /// Number of records of out-of-order data.
    pub fn held(&self) -> u64 {
        self.held.len() as u64
    }

    /// End of the first unread record, as a stream offset.
    pub fn first_end(&self) -> Option<u64> {
        let first = self.unread.front().copied().unwrap_or(self.last);
        (!first.is_none()).then_some(first.end)
    }

    /// Sets the payload of full segments, in bytes.
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

    /// Returns the record of a single segment.
    #[inline(always)]
    fn record(&mut self, start: u64, end: u64) -> Record {
        Record { end, fragments: self.pages.fragments(start, end) }
    }

    /// Adds an out-of-order segment and removes the records that it covers.
    pub fn hold(&mut self, start: u64, end: u64) {
        let record = self.record(start, end);
        // Usual case: the segment follows all out-of-order data.
        let place = match self.held.back() {
            Some((last, _)) if *last >= start => self.held.partition_point(|(at, _)| *at < start),
            _ => self.held.len(),
        };
        while self.held.get(place).is_some_and(|(_, held)| held.end <= end) {
            self.held.remove(place);
        }
        let before = place.checked_sub(1).map(|before| &mut self.held[before].1);
        let joined = before.and_then(|before| Some((before.reaching(start)?.joined_by(record)?, before)));
        match joined {
            Some((joined, before)) => *before = joined,
            None => {
                make_room(&mut self.held);
                self.held.insert(place, (start, record));
            }
        }
    }

    /// Moves the out-of-order records before `next` to the unread records, because their data is in order now.
    pub fn advance(&mut self, next: u64) {
        while let Some((_, record)) = self.held.front().copied().filter(|(at, _)| *at < next) {
            self.held.pop_front();
            self.queue(record);
        }
        // Free the memory, because data is rarely out of order.
        if self.held.is_empty() {
            self.held = VecDeque::new();
        }
    }

    /// Deletes the records before `offset`, which the application has read.
    #[inline(always)]
    pub fn release(&mut self, offset: u64) {
        if !self.unread.is_empty() {
            self.release_whole(offset);
        }
        if self.last.end <= offset {
            self.last = Record::default();
        }
    }

    /// Deletes the records that end before `offset`, except the last.
    fn release_whole(&mut self, offset: u64) {
        while self.unread.front().is_some_and(|record| record.end <= offset) {
            self.unread.pop_front();
        }
    }

    /// Appends a record to the unread records. Joins the record with the last unread record if possible.
    #[inline(always)]
    fn queue(&mut self, record: Record) {
        if self.last.is_none() {
            self.last = record;
        } else if let Some(joined) = self.last.joined_by(record) {
            self.last = joined;
        } else {
            make_room(&mut self.unread);
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

    /// Compares with captures of Linux 6.1, in which 20, 55 or 18 segments arrived after a gap of one segment. After
    /// the gap was filled, the data occupied one record more than 17 segments per record would require.
    #[test]
    fn the_segment_that_fills_a_hole_is_not_added_to_a_full_record() {
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

    /// Compares with a capture of Linux 6.1: 85 segments of 1,448 bytes occupy 6 records, because 4 of the segments
    /// span two pages.
    #[test]
    fn a_segment_that_spans_two_pages_counts_twice() {
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
    fn a_segment_between_two_runs_is_added_to_the_first_run_only() {
        let mut records = Records::default();
        hold(&mut records, 1..6);
        hold(&mut records, 7..12);
        hold(&mut records, 6..7);
        assert_eq!(records.held(), 2);
        records.hold(3, 20);
        assert_eq!(records.held(), 2, "the second run was covered");
    }
}
