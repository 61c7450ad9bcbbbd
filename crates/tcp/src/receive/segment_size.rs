//! Estimates the size of the peer's full segments as Linux does (`tcp_measure_rcv_mss`): the largest size received
//! counts as full. A shorter size counts as full after two consecutive segments of that size that do not end a message.

/// Assumed payload before any segment has arrived, in bytes (RFC 9293 section 3.7.1).
const DEFAULT: u32 = 536;
/// Smallest payload that counts as a full segment, in bytes (Linux's TCP_MIN_MSS).
const LEAST: u32 = 88;

#[derive(Debug, Clone, Copy)]
pub(super) struct SegmentSize {
    /// Estimated payload of a full segment, in bytes.
    full: u32,
    /// Size of the last segment if it was shorter than `full` and may be a new full size; otherwise `None`.
    short: Option<u32>,
}

impl SegmentSize {
    pub fn new() -> SegmentSize {
        SegmentSize { full: DEFAULT, short: None }
    }

    /// Sets the initial estimate from the negotiated segment size `mss` and the first window.
    pub fn agree(&mut self, mss: u32, window: u64) {
        let half = (window / 2).min(u64::from(DEFAULT)) as u32;
        self.full = mss.min(half).max(LEAST);
    }

    pub fn full(self) -> u32 {
        self.full
    }

    /// Updates the estimate from an in-order segment with `len` bytes of data and a SACK option of `sack` bytes. `ends`
    /// is true if the segment carries PSH or FIN.
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
    fn the_largest_segment_counts_as_full_and_so_does_a_repeated_size() {
        let mut size = SegmentSize::new();
        size.agree(1448, 65_160);
        assert_eq!(size.full(), 536);
        size.measure(1448, 0, false);
        size.measure(1000, 0, true);
        assert_eq!(size.full(), 1448, "one short segment may be the end of a message");
        size.measure(1000, 0, true);
        assert_eq!(size.full(), 1000, "two segments of the same size set the estimate");
        size.measure(400, 0, true);
        size.measure(400, 0, true);
        assert_eq!(size.full(), 1000, "small segments with PSH do not");
        size.measure(400, 0, false);
        size.measure(388, 12, false);
        assert_eq!(size.full(), 400, "the SACK option counts as part of the size");
    }

    #[test]
    fn a_small_mss_counts_as_full_from_the_start() {
        let mut size = SegmentSize::new();
        size.agree(524, 65_500);
        assert_eq!(size.full(), 524);
    }
}
