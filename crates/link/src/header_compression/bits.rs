//! Bit fields without gaps, and the encoding of a number by its low bits (W-LSB; RFC 5795).

/// Packs bit fields in the order in which they are sent.
#[derive(Debug, Default)]
pub(super) struct BitWriter {
    octets: Vec<u8>,
    bits: u32,
}

impl BitWriter {
    /// Appends the low `width` bits of `value`, the most significant bit first.
    pub fn put(&mut self, value: u32, width: u32) {
        for bit in (0..width).rev() {
            // The last byte is full.
            if self.bits % 8 == 0 {
                self.octets.push(0);
            }
            let last = self.octets.last_mut().expect("a byte was pushed above");
            *last |= ((value >> bit & 1) as u8) << (7 - self.bits % 8);
            self.bits += 1;
        }
    }

    /// Returns the bytes. The last byte is padded with zeros.
    pub fn into_octets(self) -> Vec<u8> {
        self.octets
    }
}

/// Reads the fields that a [`BitWriter`] packed.
#[derive(Debug)]
pub(super) struct BitReader<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub fn new(octets: &'a [u8]) -> BitReader<'a> {
        BitReader { octets, at: 0 }
    }

    /// Reads the next `width` bits. `None` if fewer bits are left.
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

/// Encodes a number by its low `bits` bits. The receiver knows an interval of 2^`bits` numbers, and decodes the bits to
/// the only number in this interval that has the same low bits. The interval starts at the receiver's reference minus
/// `below`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lsb {
    pub bits: u32,
    pub below: u32,
}

impl Lsb {
    /// True if a receiver with this reference decodes the low bits of `value` to `value`.
    pub fn fits(self, value: u32, reference: u32) -> bool {
        self.bits >= 32 || value.wrapping_sub(reference.wrapping_sub(self.below)) >> self.bits == 0
    }

    /// Returns the low bits of `value`.
    pub fn low(self, value: u32) -> u32 {
        if self.bits >= 32 { value } else { value & ((1 << self.bits) - 1) }
    }

    /// Returns the number that the receiver decodes from these low bits.
    pub fn value(self, low: u32, reference: u32) -> u32 {
        if self.bits >= 32 {
            return low;
        }
        // The interval starts at `base`. The offset of the value in the interval is the difference of the low bits,
        // modulo the interval's size.
        let base = reference.wrapping_sub(self.below);
        base.wrapping_add(self.low(low.wrapping_sub(base)))
    }
}
