//! What objects are made of, so that whoever receives a piece can check it.

use std::sync::OnceLock;

/// The longest header section that either end reads.
pub(crate) const MAX_HEADER: usize = 16 << 10;

/// Octets after which an object's content repeats: a prime, so that what is out of place by a power of two does not
/// fit.
const PERIOD: usize = 65_521;

/// Two periods of the content, so that as much as one of it stands in one piece wherever it begins. Every octet depends
/// on its place, by which a receiver can check it: the highest octet of its number times a large odd one.
fn pattern() -> &'static [u8] {
    static PATTERN: OnceLock<Vec<u8>> = OnceLock::new();
    let octet = |place: usize| (((place % PERIOD) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    PATTERN.get_or_init(|| (0..2 * PERIOD).map(octet).collect())
}

/// The octets from `from` on as far as they stand in one piece, `len` at most.
fn piece(from: u64, len: usize) -> &'static [u8] {
    let at = (from % PERIOD as u64) as usize;
    &pattern()[at..at + len.min(PERIOD)]
}

/// The octets `[from, from + len)` of an object.
pub(crate) fn content(from: u64, len: u64) -> Vec<u8> {
    let mut octets = Vec::with_capacity(len as usize);
    while octets.len() < len as usize {
        octets.extend_from_slice(piece(from + octets.len() as u64, len as usize - octets.len()));
    }
    octets
}

/// Whether these are the octets of an object from `from` on.
pub(crate) fn is_content(from: u64, octets: &[u8]) -> bool {
    let places = (from..).step_by(PERIOD);
    octets.chunks(PERIOD).zip(places).all(|(part, place)| part == piece(place, part.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_that_of_its_place() {
        let whole = content(0, 3 * PERIOD as u64);
        assert_eq!(whole[..4], [0x00, 0x9e, 0x3c, 0xda], "the highest octets of multiples");
        for (from, len) in [(0, 0), (5, 1), (PERIOD - 1, 2), (7, PERIOD), (PERIOD - 3, 2 * PERIOD)] {
            let part = content(from as u64, len as u64);
            assert_eq!(part, whole[from..from + len]);
            assert!(is_content(from as u64, &part));
            assert!(len == 0 || !is_content(from as u64 + 1, &part), "an octet further");
        }
    }
}
