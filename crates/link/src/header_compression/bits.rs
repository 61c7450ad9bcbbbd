//! Fields of some bits, one after the other, and numbers of which only the low bits are sent (W-LSB, RFC 5795's least
//! significant bits).

/// Bits in the order in which they go over the line.
#[derive(Debug, Default)]
pub(super) struct BitWriter {
    octets: Vec<u8>,
    bits: u32,
}

impl BitWriter {
    pub fn put(&mut self, value: u32, width: u32) {
        for bit in (0..width).rev() {
            if self.bits % 8 == 0 {
                self.octets.push(0);
            }
            let last = self.octets.last_mut().expect("one was pushed");
            *last |= ((value >> bit & 1) as u8) << (7 - self.bits % 8);
            self.bits += 1;
        }
    }

    /// The bytes, the last one padded with zeros.
    pub fn into_octets(self) -> Vec<u8> {
        self.octets
    }
}

/// The same, read.
#[derive(Debug)]
pub(super) struct BitReader<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub fn new(octets: &'a [u8]) -> BitReader<'a> {
        BitReader { octets, at: 0 }
    }

    /// `None` after the end.
    pub fn take(&mut self, width: u32) -> Option<u32> {
        let mut value = 0;
        for _ in 0..width {
            let octet = self.octets.get(self.at / 8)?;
            value = value << 1 | u32::from(octet >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }
}

/// The low bits of a number that lies within a window starting `below` under a reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lsb {
    pub bits: u32,
    pub below: u32,
}

impl Lsb {
    /// True if a receiver with this reference decodes the bits to `value`.
    pub fn fits(self, value: u32, reference: u32) -> bool {
        self.bits >= 32 || value.wrapping_sub(reference.wrapping_sub(self.below)) >> self.bits == 0
    }

    pub fn low(self, value: u32) -> u32 {
        if self.bits >= 32 { value } else { value & ((1 << self.bits) - 1) }
    }

    /// The value that the bits represent.
    pub fn value(self, low: u32, reference: u32) -> u32 {
        if self.bits >= 32 {
            return low;
        }
        let base = reference.wrapping_sub(self.below);
        base.wrapping_add(self.low(low.wrapping_sub(base)))
    }
}
