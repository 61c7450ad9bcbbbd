//! The size of the peer's full segments, measured as Linux does it (`tcp_measure_rcv_mss`): the largest seen counts as
//! full, and so does a shorter size once two segments in a row had it that are no end of a message.

/// What a segment is taken for before any was seen: RFC 9293's default, and the smallest that a peer may use.
const DEFAULT: u32 = 536;
const LEAST: u32 = 88;

#[derive(Debug, Clone, Copy)]
pub(super) struct SegmentSize {
    full: u32,
    /// The size of the last segment, where that was short and yet may be all that fits.
    short: Option<u32>,
}

impl SegmentSize {
    pub fn new() -> SegmentSize {
        SegmentSize { full: DEFAULT, short: None }
    }

    /// The handshake agreed on segments of at most `mss`, with a first window of `window`.
    pub fn agree(&mut self, mss: u32, window: u64) {
        let half = (window / 2).min(u64::from(DEFAULT)) as u32;
        self.full = mss.min(half).max(LEAST);
    }

    pub fn full(self) -> u32 {
        self.full
    }

    /// A segment arrived in order, with `len` octets of data and `sack` octets of SACK option, which it might have had
    /// as data. `ends`: it carries PSH or FIN.
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
