//! The Internet checksum (RFC 1071): the one's complement of the one's complement sum of 16-bit words.

/// A running sum over pieces of data. Every piece but the last must have an even length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum(u64);

impl Checksum {
    /// Adds bytes to the sum.
    pub fn add(&mut self, octets: &[u8]) {
        // Long pieces are added in larger words of the machine's byte order (RFC 1071 section 2 (B) and (C)).
        let (long, octets) = octets.split_at(if octets.len() < LONG { 0 } else { octets.len() & !3 });
        let own: u64 =
            long.chunks_exact(4).map(|word| u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))).sum();
        self.0 += u64::from(u16::from_be(folded(own)));
        let words = octets.chunks_exact(2);
        let odd = words.remainder();
        // 2^48 words fit before the carries must be folded in.
        self.0 += words.map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u64>();
        if let [last] = odd {
            self.0 += u64::from(*last) << 8;
        }
    }

    /// The value for the header's checksum field. The field must have been zero in the sum.
    pub fn value(self) -> u16 {
        !self.folded()
    }

    /// True if the data is intact. The sum must include the checksum field as received.
    pub fn is_intact(self) -> bool {
        self.folded() == 0xffff
    }

    fn folded(self) -> u16 {
        folded(self.0)
    }
}

/// Octets in pieces shorter than this are added word by word.
const LONG: usize = 64;

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
