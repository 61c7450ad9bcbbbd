//! Data written before the segment size changed stays in segments of the old size, as in a stack that cuts the stream
//! when it is written (Linux). The rest of an old segment is sent by itself.

/// The range of old segments in the stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OldSegments {
    from: u64,
    end: u64,
    size: u64,
}

impl OldSegments {
    /// From `nxt` to `end` the stream was cut into segments of `size` bytes; a full segment now has `full`. The last
    /// old segment still grows if it is not full.
    pub fn new(nxt: u64, end: u64, size: u64, full: u64) -> OldSegments {
        let last = (end.saturating_sub(nxt)) % size.max(1);
        OldSegments { from: nxt, end: if last > full { end } else { end - last }, size }
    }

    /// Number of bytes from `nxt` to the end of its segment.
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
