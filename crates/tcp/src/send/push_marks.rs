//! Which segments carry PSH.
//!
//! RFC 9293 section 3.9.1.2 leaves the choice to the sender if a write has no PUSH. 4.4BSD's descendants set PSH on a
//! segment that empties the send buffer. Linux sets it on the segment in which a write ends, and within a long write on
//! the first segment beyond half of the largest offered window since the last mark (`forced_push`). If a write
//! continues in a short unsent segment, the mark moves along. A FIN alone has no PSH.
//!
//! Not modelled: MSG_MORE, corking, and segmentation offload, which marks whole trains of segments.

use crate::profile::PushRule;
use std::collections::VecDeque;
use std::ops::Range;

/// Marked segment ends, as stream offsets.
#[derive(Debug, Default)]
pub(super) struct PushMarks {
    /// In ascending order.
    marks: VecDeque<u64>,
    /// Start of the segment at the tail.
    tail: u64,
    /// The last mark (Linux's `pushed_seq`).
    pushed: u64,
    /// A range without marks, after a segment that was checked.
    clear: Range<u64>,
}

/// The inputs of the marks.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteState {
    /// End of the stream before and after this write.
    pub from: u64,
    pub to: u64,
    /// The first byte never sent.
    pub nxt: u64,
    pub mss: u64,
    pub largest_window: u64,
}

impl PushMarks {
    /// Records a write.
    pub fn on_write(&mut self, write: WriteState) {
        if write.to == write.from {
            return;
        }
        if write.nxt >= write.from {
            // All data is sent: a sent segment cannot grow.
            self.tail = write.from;
        } else if self.marks.back() == Some(&write.from) && write.from - self.tail < write.mss {
            self.marks.pop_back();
        }
        if write.from - self.tail > write.mss {
            // The segment size is now smaller than the segment at the tail.
            self.tail = write.from;
        }
        let mut end = self.tail + write.mss;
        while end < write.to {
            if end > self.pushed + write.largest_window / 2 {
                self.mark(end);
            }
            self.tail = end;
            end += write.mss;
        }
        self.mark(write.to);
    }

    /// Bytes that the tail segment lacks to be full, if it was not sent.
    pub fn unfilled(&self, nxt: u64, data_end: u64, mss: u64) -> u64 {
        if nxt < data_end { mss.saturating_sub(data_end - self.tail.max(nxt)) } else { 0 }
    }

    fn mark(&mut self, end: u64) {
        self.marks.push_back(end);
        self.pushed = end;
    }

    /// True if a segment that ends at this offset carries PSH.
    #[inline]
    pub fn is_marked(&mut self, rule: PushRule, end: u64, data_end: u64) -> bool {
        match rule {
            PushRule::EmptiesBuffer => end == data_end,
            PushRule::Linux => !self.clear.contains(&end) && self.find(end),
        }
    }

    #[inline(never)]
    fn find(&mut self, end: u64) -> bool {
        let next = self.marks.partition_point(|mark| *mark < end);
        let next = self.marks.get(next).copied();
        self.clear = end..next.unwrap_or(end);
        next == Some(end)
    }

    /// Drops the marks before this acknowledged offset.
    #[inline]
    pub fn release(&mut self, offset: u64) {
        while self.marks.front().is_some_and(|mark| *mark <= offset) {
            self.marks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn write(marks: &mut PushMarks, from: u64, to: u64, nxt: u64) {
        marks.on_write(WriteState { from, to, nxt, mss: MSS, largest_window: 20_000 });
    }

    fn marked(marks: &mut PushMarks) -> Vec<u64> {
        (1..100_000).filter(|end| marks.is_marked(PushRule::Linux, *end, 0)).collect()
    }

    #[test]
    fn a_write_marks_its_end_and_the_first_segment_beyond_each_half_window() {
        let mut marks = PushMarks::default();
        write(&mut marks, 0, 35_500, 0);
        assert_eq!(marked(&mut marks), [11_000, 22_000, 33_000, 35_500]);
        marks.release(20_000);
        assert_eq!(marked(&mut marks), [22_000, 33_000, 35_500]);
    }

    #[test]
    fn a_write_that_goes_on_in_a_short_segment_takes_the_mark_along() {
        let mut marks = PushMarks::default();
        write(&mut marks, 0, 300, 0);
        write(&mut marks, 300, 700, 0);
        assert_eq!(marked(&mut marks), [700]);
        // After it was sent, the next write begins another segment.
        write(&mut marks, 700, 900, 700);
        assert_eq!(marked(&mut marks), [700, 900]);
    }

    #[test]
    fn a_full_segment_keeps_its_mark() {
        let mut marks = PushMarks::default();
        write(&mut marks, 0, 10_000, 0);
        write(&mut marks, 10_000, 10_500, 0);
        assert_eq!(marked(&mut marks), [10_000, 10_500]);
    }
}
