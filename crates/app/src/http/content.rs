//! The contents of objects: a fixed pattern, so that a receiver can verify any part of an object.

use std::sync::OnceLock;

/// Size of the longest header that either end accepts, in bytes.
pub(crate) const MAX_HEADER: usize = 16 << 10;

/// Period of the pattern in bytes. It is a prime, so data that is shifted by a power of 2 does not match the pattern.
const PERIOD: usize = 65_521;

/// Returns two periods of the pattern, so that any section of up to one period is contiguous.
fn pattern() -> &'static [u8] {
    static PATTERN: OnceLock<Vec<u8>> = OnceLock::new();
    // The constant is 2^64 divided by the golden ratio (Fibonacci hashing), so neighbouring positions have very
    // different bytes.
    let octet = |place: usize| (((place % PERIOD) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    PATTERN.get_or_init(|| (0..2 * PERIOD).map(octet).collect())
}

/// Returns at most `len` bytes of the pattern from position `from`. Returns fewer bytes if the stored pattern ends
/// first.
fn piece(from: u64, len: usize) -> &'static [u8] {
    let at = (from % PERIOD as u64) as usize;
    &pattern()[at..at + len.min(PERIOD)]
}

/// Returns the bytes `from` to `from + len` of an object.
pub(crate) fn content(from: u64, len: u64) -> Vec<u8> {
    let mut octets = Vec::with_capacity(len as usize);
    while octets.len() < len as usize {
        octets.extend_from_slice(piece(from + octets.len() as u64, len as usize - octets.len()));
    }
    octets
}

/// Returns true if `octets` are the contents of an object from position `from` on.
pub(crate) fn is_content(from: u64, octets: &[u8]) -> bool {
    let places = (from..).step_by(PERIOD);
    octets.chunks(PERIOD).zip(places).all(|(part, place)| part == piece(place, part.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_at_an_offset_does_not_depend_on_the_range() {
        let whole = content(0, 3 * PERIOD as u64);
        assert_eq!(whole[..4], [0x00, 0x9e, 0x3c, 0xda], "the highest octets of multiples");
        for (from, len) in [(0, 0), (5, 1), (PERIOD - 1, 2), (7, PERIOD), (PERIOD - 3, 2 * PERIOD)] {
            let part = content(from as u64, len as u64);
            assert_eq!(part, whole[from..from + len]);
            assert!(is_content(from as u64, &part));
            assert!(len == 0 || !is_content(from as u64 + 1, &part), "one octet later");
        }
    }
}
