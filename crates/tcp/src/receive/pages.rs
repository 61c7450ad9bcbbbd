//! The pages of a sender's memory that its writes filled, one behind another from the stream's first octet: 32 KiB
//! each, but Linux begins another where less than 32 octets are left as a segment is full (`skb_page_frag_refill`).
//!
//! By captures of 6.1. Left out: writes that end within a segment, and segments of other than the full size, which may
//! begin a page too.

/// Octets of a page, and those that are not worth being filled.
const PAGE: u64 = 32_768;
const SCRAP: u64 = 32;

#[derive(Debug, Default)]
pub(super) struct Pages {
    mss: u64,
    /// Where the first page begins that may be asked for, and the page that was asked for last.
    first: u64,
    start: u64,
    end: u64,
}

impl Pages {
    /// Full segments have so many octets.
    pub fn expect(&mut self, mss: u32) {
        self.mss = u64::from(mss);
    }

    /// No segment before `offset` is asked for any more.
    #[inline(always)]
    pub fn forget_before(&mut self, offset: u64) {
        if offset >= self.end {
            self.find(offset);
            self.first = self.start;
        }
    }

    /// The pages that a segment lies on: one fragment of memory each.
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

    /// Makes the page with `offset` the current one.
    fn find(&mut self, offset: u64) {
        if offset < self.start {
            (self.start, self.end) = (self.first, self.end_of(self.first));
        }
        while offset >= self.end {
            (self.start, self.end) = (self.end, self.end_of(self.end));
        }
    }

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
        // The 27th page would end eight octets into the 612th segment.
        assert_eq!((fragments(610), fragments(611), fragments(633)), (1, 1, 2));
        assert_eq!((fragments(22), fragments(23)), (2, 1), "and back");
        pages.forget_before(611 * 1448);
        assert_eq!(pages.fragments(segment(633).0, segment(633).1), 2);
        let start = 611 * 1448;
        assert_eq!(pages.fragments(start, start + 3 * PAGE), 3, "a segment may be larger than a page");
    }
}
