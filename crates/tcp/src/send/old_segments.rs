//! Segments that were cut before the segment size changed. Linux cuts the stream into segments when the application
//! writes, so data written before the change keeps its old segment boundaries. If an old segment is longer than the new
//! size, its rest is sent in a separate segment.

/// The range of the stream that is cut into segments of the old size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OldSegments {
    from: u64,
    end: u64,
    size: u64,
}

impl OldSegments {
    /// Records that the stream from `nxt` to `end` is cut into segments of `size` bytes. `full` is the new payload of a
    /// full segment. If the last old segment is not longer than `full`, later writes extend it, so it is not recorded.
    pub fn new(nxt: u64, end: u64, size: u64, full: u64) -> OldSegments {
        let last = (end.saturating_sub(nxt)) % size.max(1);
        OldSegments { from: nxt, end: if last > full { end } else { end - last }, size }
    }

    /// Number of bytes from `nxt` to the end of its old segment; `None` if `nxt` is not in an old segment.
    #[inline]
    pub fn left(&self, nxt: u64) -> Option<u64> {
        if nxt < self.end { Some(self.left_of(nxt)) } else { None }
    }

    #[cold]
    fn left_of(&self, nxt: u64) -> u64 {
        let ends = self.from + ((nxt - self.from) / self.size + 1) * self.size;
        ends.min(self.end) - nxt
    }
}
