//! The memory pages that the peer's writes filled, in stream order. The size of a page is 32 KiB. Linux begins a new
//! page early if a full segment leaves less than 32 bytes of the current page (`skb_page_frag_refill`).
//!
//! The model was verified with captures of Linux 6.1. Not modelled: writes that end within a segment, and segments of
//! different sizes.

/// Size of a page, in bytes.
const PAGE: u64 = 32_768;
/// Minimum number of bytes that must be left in a page for the next segment to use it.
const SCRAP: u64 = 32;

#[derive(Debug, Default)]
pub(super) struct Pages {
    /// Payload of a full segment, in bytes; 0 before the handshake.
    mss: u64,
    /// Start of the first page that may still be needed.
    first: u64,
    /// Start and end of the page that the last look-up found.
    start: u64,
    end: u64,
}

impl Pages {
    /// Sets the payload of full segments, in bytes.
    pub fn expect(&mut self, mss: u32) {
        self.mss = u64::from(mss);
    }

    /// Deletes the pages before `offset`.
    #[inline(always)]
    pub fn forget_before(&mut self, offset: u64) {
        if offset >= self.end {
            self.find(offset);
            self.first = self.start;
        }
    }

    /// Number of pages that a segment spans. Each page is one memory fragment of the segment.
    #[inline(always)]
    pub fn fragments(&mut self, start: u64, end: u64) -> u32 {
        if start < self.start || start >= self.end {
            self.find(start);
        }
        if end <= self.end { 1 } else { self.fragments_beyond(end) }
    }

    fn fragments_beyond(&self, end: u64) -> u32 {
        let (mut fragments, mut reached) = (1, self.end);
        while reached < end {
            reached = self.end_of(reached);
            fragments += 1;
        }
        fragments
    }

    /// Makes the page that contains `offset` the current page.
    fn find(&mut self, offset: u64) {
        // If the offset is before the cached page, search again from the first page that is still needed.
        if offset < self.start {
            (self.start, self.end) = (self.first, self.end_of(self.first));
        }
        while offset >= self.end {
            (self.start, self.end) = (self.end, self.end_of(self.end));
        }
    }

    /// End of the page that begins at `start`.
    fn end_of(&self, start: u64) -> u64 {
        let end = start + PAGE;
        let left = end.checked_rem(self.mss).unwrap_or(SCRAP);
        if left < SCRAP { end - left } else { end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_with_less_than_32_octets_left_is_full() {
        let mut pages = Pages::default();
        pages.expect(1448);
        let segment = |n: u64| (n * 1448, (n + 1) * 1448);
        let mut fragments = |n| pages.fragments(segment(n).0, segment(n).1);
        assert_eq!((fragments(21), fragments(22)), (1, 2), "912 octets of the first page are left for the 23rd");
        // The 27th page would end 8 bytes after the start of segment 612, so that segment begins a new page.
        assert_eq!((fragments(610), fragments(611), fragments(633)), (1, 1, 2));
        assert_eq!((fragments(22), fragments(23)), (2, 1), "and back");
        pages.forget_before(611 * 1448);
        assert_eq!(pages.fragments(segment(633).0, segment(633).1), 2);
        let start = 611 * 1448;
        assert_eq!(pages.fragments(start, start + 3 * PAGE), 3, "a segment may be larger than a page");
        // 31 bytes after the last full segment are left unused, and 32 bytes are used.
        pages.expect(1000);
        assert_eq!([263, 264].map(|start| pages.end_of(start)), [33_000, 33_032]);
    }
}
