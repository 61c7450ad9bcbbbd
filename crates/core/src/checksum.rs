//! The Internet checksum (RFC 1071): the one's complement of the one's complement sum of 16-bit words.

/// The Internet checksum of data that is added in pieces. Each piece except the last must have an even length.
///
/// # Examples
///
/// ```
/// use lopsided_core::wire::Checksum;
///
/// let mut sum = Checksum::default();
/// sum.add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]); // The example of RFC 1071, section 3.
/// assert_eq!(sum.value(), !0xddf2);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum(u64);

impl Checksum {
    /// Adds bytes to the sum.
    pub fn add(&mut self, octets: &[u8]) {
        // RFC 1071 section 2 (B) and (C): add long pieces in larger words, in the byte order of the machine.
        let (long, octets) = octets.split_at(if octets.len() < LONG { 0 } else { octets.len() & !3 });
        // RFC 1071, section 2 (B): the sum does not depend on the byte order, so compute it in native order and swap
        // its bytes once.
        let own: u64 =
            long.chunks_exact(4).map(|word| u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))).sum();
        self.0 += u64::from(u16::from_be(folded(own)));
        let words = octets.chunks_exact(2);
        let odd = words.remainder();
        // No carry is needed here: a 64-bit sum of 16-bit words overflows only after 2^48 words.
        self.0 += words.map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u64>();
        // RFC 1071, section 1: an odd byte is padded with zero on the right.
        if let [last] = odd {
            self.0 += u64::from(*last) << 8;
        }
    }

    /// Returns the value for the header's checksum field. The field must be zero in the data that was added.
    pub fn value(self) -> u16 {
        !self.folded()
    }

    /// Returns true if the data is intact. The data that was added must include the checksum field as received.
    pub fn is_intact(self) -> bool {
        self.folded() == 0xffff
    }

    fn folded(self) -> u16 {
        folded(self.0)
    }
}

/// Pieces shorter than this number of bytes are added in 16-bit words, because splitting them would take longer.
const LONG: usize = 64;

/// Adds the carries to the low 16 bits (one's complement addition).
fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
