//! Segments that were cut before the segment size changed. Linux cuts the stream when the application writes, so older
//! data keeps its segment boundaries.

/// The range of the stream that is cut into segments of the old size.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OldSegments {
    from: u64,
    end: u64,
    size: u64,
}

impl OldSegments {
    /// Records that the stream from `nxt` to `end` is cut into segments of `size` bytes. `full` is the new payload of a
    /// full segment. A last segment of at most `full` bytes is not recorded, because later writes can extend it.
    pub fn new(nxt: u64, end: u64, size: u64, full: u64) -> OldSegments {
        let last = (end.saturating_sub(nxt)) % size.max(1);
        OldSegments { from: nxt, end: if last > full { end } else { end - last }, size }
    }

    /// Records that the segments from `nxt` to `end` are complete, so later writes cannot extend the last segment.
    pub fn complete(nxt: u64, end: u64, size: u64) -> OldSegments {
        OldSegments { from: nxt, end, size }
    }

    /// Number of bytes from `nxt` to the end of the old segment that contains `nxt`; `None` if no old segment does.
    #[inline]
    pub fn left(&self, nxt: u64) -> Option<u64> {
        if nxt < self.end { Some(self.left_of(nxt)) } else { None }
    }

    /// Returns the number of old segments from `nxt` on, and the offset at which newer data begins.
    #[inline]
    pub fn from(&self, nxt: u64) -> (u64, u64) {
        if nxt < self.end { (self.count_from(nxt), self.end) } else { (0, nxt) }
    }

    #[cold]
    fn count_from(&self, nxt: u64) -> u64 {
        (self.end - self.from).div_ceil(self.size) - (nxt - self.from) / self.size
    }

    #[cold]
    fn left_of(&self, nxt: u64) -> u64 {
        let ends = self.from + ((nxt - self.from) / self.size + 1) * self.size;
        ends.min(self.end) - nxt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ends of the recorded segments: whole segments of `size` bytes, and the remaining segment if it is
    /// longer than `full`.
    fn cut(nxt: u64, end: u64, size: u64, full: u64) -> Vec<u64> {
        let whole = (end - nxt) / size;
        let mut ends: Vec<u64> = (1..=whole).map(|number| nxt + number * size).collect();
        if (end - nxt) % size > full {
            ends.push(end);
        }
        ends
    }

    #[test]
    fn the_rest_of_the_old_segment_is_known_at_each_offset() {
        let (nxt, size, full) = (7, 10, 6);
        for end in nxt..nxt + 40 {
            let old = OldSegments::new(nxt, end, size, full);
            let ends = cut(nxt, end, size, full);
            for at in nxt..nxt + 50 {
                let segment = ends.iter().find(|segment| at < **segment);
                assert_eq!(old.left(at), segment.map(|segment| segment - at), "{at} of {end}");
                let from = ends.iter().filter(|segment| at < **segment).count() as u64;
                let newer = ends.last().map_or(at, |last| at.max(*last));
                assert_eq!(old.from(at), (from, newer), "{at} of {end}");
            }
        }
    }
}
