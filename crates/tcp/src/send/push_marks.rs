//! Which segments carry PSH.
//!
//! RFC 9293 section 3.9.1.2 leaves it to the sender where a write without a PUSH ends. 4.4BSD's descendants set it on a
//! segment that empties the send buffer. Linux marks the segment in which a write ends, and within a long write the
//! first one beyond half of the largest offered window since the last mark (`forced_push`). A write that goes on in a
//! short segment which has not been sent takes the mark along. A FIN alone has none.
//!
//! Left out: MSG_MORE and corking; segmentation offload, which marks whole trains of segments.

use crate::profile::PushRule;
use std::collections::VecDeque;
use std::ops::Range;

/// The ends of the segments, as offsets in the stream, that are marked.
#[derive(Debug, Default)]
pub(super) struct PushMarks {
    /// In ascending order.
    marks: VecDeque<u64>,
    /// Where the segment at the tail begins.
    tail: u64,
    /// The last mark (Linux's `pushed_seq`).
    pushed: u64,
    /// Where none is, behind a segment that was asked about.
    clear: Range<u64>,
}

/// What the marks depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteState {
    /// Where the stream ended before this write, and ends now.
    pub from: u64,
    pub to: u64,
    /// The first octet that was never sent.
    pub nxt: u64,
    pub mss: u64,
    pub largest_window: u64,
}

impl PushMarks {
    /// Notes a write.
    pub fn on_write(&mut self, write: WriteState) {
        if write.to == write.from {
            return;
        }
        if write.nxt >= write.from {
            // All is sent: a segment that is on its way takes no more.
            self.tail = write.from;
        } else if self.marks.back() == Some(&write.from) && write.from - self.tail < write.mss {
            self.marks.pop_back();
        }
        if write.from - self.tail > write.mss {
            // Segments have become shorter than the one at the tail.
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

    /// What the segment at the tail lacks to be full, if it was not sent.
    pub fn unfilled(&self, nxt: u64, data_end: u64, mss: u64) -> u64 {
        if nxt < data_end { mss.saturating_sub(data_end - self.tail.max(nxt)) } else { 0 }
    }

    fn mark(&mut self, end: u64) {
        self.marks.push_back(end);
        self.pushed = end;
    }

    /// Whether a segment that ends at this offset carries PSH.
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

    /// Everything before this offset is acknowledged.
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
        // Once that was sent the next write begins another segment.
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
