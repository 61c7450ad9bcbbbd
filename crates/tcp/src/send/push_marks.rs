//! Chooses the segments that carry PSH.
//!
//! RFC 9293 section 3.9.1.2 lets the sender choose. 4.4BSD sets PSH on a segment that empties the send buffer.
//! Linux sets PSH on the last segment of each write, and once per half of the largest advertised window
//! (`forced_push`). If a write fills the send buffer, its last segment has PSH only if it waits for the window.
//!
//! Not implemented: MSG_MORE, corking, and segmentation offload.

use crate::profile::PushRule;
use std::collections::VecDeque;
use std::ops::Range;

/// The end offsets of the segments that carry PSH.
#[derive(Debug, Default)]
pub(crate) struct PushMarks {
    /// Stream offsets in ascending order.
    marks: VecDeque<u64>,
    /// Start offset of the last segment of the stream.
    tail: u64,
    /// End offset of the last segment with a mark (Linux's `pushed_seq`).
    pushed: u64,
    /// A range of offsets without marks, cached from the last look-up.
    clear: Range<u64>,
}

/// The state of the stream at a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteState {
    /// End of the stream before this write.
    pub from: u64,
    /// End of the stream after this write.
    pub to: u64,
    /// The first byte that was never sent.
    pub nxt: u64,
    /// Payload of a full segment, in bytes.
    pub mss: u64,
    /// The largest window that the peer has offered, in bytes.
    pub largest_window: u64,
    /// True if the segment at the end of the write carries PSH.
    pub ends_marked: bool,
}

impl PushMarks {
    /// Records a write.
    pub fn on_write(&mut self, write: WriteState) {
        if write.to == write.from {
            return;
        }
        if write.nxt >= write.from {
            // All data has been sent, and a segment that was sent cannot grow, so the write begins another segment.
            self.tail = write.from;
        } else if self.marks.back() == Some(&write.from) && (1..write.mss).contains(&(write.from - self.tail)) {
            self.marks.pop_back();
        }
        if write.from - self.tail > write.mss {
            // The last segment is longer than the new segment size, so the write begins another segment.
            self.tail = write.from;
        }
        let mut end = self.tail + write.mss;
        while end < write.to {
            // forced_push: the receiving application should get data before the peer's window is full.
            if end > self.pushed + write.largest_window / 2 {
                self.mark(end);
            }
            self.tail = end;
            end += write.mss;
        }
        if write.ends_marked || write.to > self.pushed + write.largest_window / 2 {
            self.mark(write.to);
        }
    }

    /// Returns the number of bytes by which the last segment is shorter than a full segment; 0 if the last segment has
    /// been sent or completed.
    pub fn unfilled(&self, nxt: u64, data_end: u64, mss: u64) -> u64 {
        let tail = self.tail.max(nxt);
        if tail < data_end { mss.saturating_sub(data_end - tail) } else { 0 }
    }

    /// Completes the last segment: the next write begins another segment at `data_end`.
    pub fn complete(&mut self, data_end: u64) {
        self.tail = data_end;
    }

    fn mark(&mut self, end: u64) {
        self.marks.push_back(end);
        self.pushed = end;
    }

    /// True if a segment that ends at the given offset carries PSH.
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

    /// Deletes the marks up to the acknowledged offset.
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
        marks.on_write(WriteState { from, to, nxt, mss: MSS, largest_window: 20_000, ends_marked: true });
    }

    fn marked(marks: &mut PushMarks) -> Vec<u64> {
        (1..100_000).filter(|end| marks.is_marked(PushRule::Linux, *end, 0)).collect()
    }

    #[test]
    fn a_write_sets_push_at_its_end_and_after_each_half_window() {
        let mut marks = PushMarks::default();
        write(&mut marks, 0, 35_500, 0);
        assert_eq!(marked(&mut marks), [11_000, 22_000, 33_000, 35_500]);
        marks.release(20_000);
        assert_eq!(marked(&mut marks), [22_000, 33_000, 35_500]);
    }

    #[test]
    fn a_write_that_extends_a_short_segment_moves_its_push_mark() {
        let mut marks = PushMarks::default();
        write(&mut marks, 0, 300, 0);
        write(&mut marks, 300, 700, 0);
        assert_eq!(marked(&mut marks), [700]);
        // The short segment has been sent, so the next write begins another segment.
        write(&mut marks, 700, 900, 700);
        assert_eq!(marked(&mut marks), [700, 900]);
    }

    #[test]
    fn a_full_segment_keeps_its_push_mark() {
        let mut marks = PushMarks::default();
        write(&mut marks, 0, 10_000, 0);
        write(&mut marks, 10_000, 10_500, 0);
        assert_eq!(marked(&mut marks), [10_000, 10_500]);
    }

    #[test]
    fn a_tail_longer_than_a_new_segment_size_is_not_extended() {
        let mut marks = PushMarks::default();
        write(&mut marks, 0, 900, 0);
        marks.on_write(WriteState { from: 900, to: 1000, nxt: 0, mss: 500, largest_window: 20_000, ends_marked: true });
        // The write begins another segment, so the first mark stays.
        assert_eq!(marked(&mut marks), [900, 1000]);
        write(&mut marks, 1000, 1000, 0);
        assert_eq!(marked(&mut marks), [900, 1000], "an empty write");
    }

    #[test]
    fn a_segment_of_exactly_one_mss_is_extended_by_another_segment() {
        let mut marks = PushMarks::default();
        write(&mut marks, 0, 999, 0);
        write(&mut marks, 999, 1000, 0);
        assert_eq!(marked(&mut marks), [1000]);
        write(&mut marks, 1000, 2500, 0);
        assert_eq!(marked(&mut marks), [1000, 2500]);
    }

    #[test]
    fn the_space_in_the_last_segment_counts_from_its_start() {
        let mut marks = PushMarks::default();
        write(&mut marks, 0, 2300, 0);
        assert_eq!([0, 2000, 2100, 2300].map(|nxt| marks.unfilled(nxt, 2300, MSS)), [700, 700, 800, 0]);
        assert_eq!(marks.unfilled(0, 2300, 200), 0);
    }

    #[test]
    fn bsd_sets_push_on_the_segment_that_empties_the_buffer() {
        let mut marks = PushMarks::default();
        let pushed = [900, 1000, 1100].map(|end| marks.is_marked(PushRule::EmptiesBuffer, end, 1000));
        assert_eq!(pushed, [false, true, false]);
        marks.on_write(WriteState { from: 0, to: 1000, nxt: 0, mss: MSS, largest_window: 20_000, ends_marked: true });
        marks.release(999);
        assert!(marks.is_marked(PushRule::Linux, 1000, 0));
        marks.release(1000);
        marks.clear = 0..0;
        assert!(!marks.is_marked(PushRule::Linux, 1000, 0));
    }
}
