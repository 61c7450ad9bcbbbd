//! The size of the peer's full segments, measured as in Linux (`tcp_measure_rcv_mss`): the largest size seen counts as
//! full. A shorter size counts as full after two segments in a row that do not end a message.

/// The assumed size before any segment: RFC 9293's default, and the smallest that a peer may use.
const DEFAULT: u32 = 536;
const LEAST: u32 = 88;

#[derive(Debug, Clone, Copy)]
pub(super) struct SegmentSize {
    full: u32,
    /// Size of the last segment, if it was short but may be all that fits.
    short: Option<u32>,
}

impl SegmentSize {
    pub fn new() -> SegmentSize {
        SegmentSize { full: DEFAULT, short: None }
    }

    /// Sets the agreed segment size `mss` and the first window.
    pub fn agree(&mut self, mss: u32, window: u64) {
        let half = (window / 2).min(u64::from(DEFAULT)) as u32;
        self.full = mss.min(half).max(LEAST);
    }

    pub fn full(self) -> u32 {
        self.full
    }

    /// Measures an in-order segment with `len` bytes of data and a SACK option of `sack` bytes, which could have been
    /// data. `ends`: it carries PSH or FIN.
    pub fn measure(&mut self, len: u32, sack: u32, ends: bool) {
        let before = self.short.take();
        if len >= self.full {
            self.full = len;
            return;
        }
        let size = len + sack;
        if size >= DEFAULT || (size >= LEAST && !ends) {
            self.short = Some(size);
            if before == self.short {
                self.full = size;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_full_and_so_is_what_comes_twice() {
        let mut size = SegmentSize::new();
        size.agree(1448, 65_160);
        assert_eq!(size.full(), 536);
        size.measure(1448, 0, false);
        size.measure(1000, 0, true);
        assert_eq!(size.full(), 1448, "one short segment may be the end of a message");
        size.measure(1000, 0, true);
        assert_eq!(size.full(), 1000, "two of a size are all that fits");
        size.measure(400, 0, true);
        size.measure(400, 0, true);
        assert_eq!(size.full(), 1000, "unless they are pushed and small");
        size.measure(400, 0, false);
        size.measure(388, 12, false);
        assert_eq!(size.full(), 400, "SACK blocks take of a segment's room");
    }

    #[test]
    fn a_small_maximum_is_full_from_the_beginning() {
        let mut size = SegmentSize::new();
        size.agree(524, 65_500);
        assert_eq!(size.full(), 524);
    }
}
