//! A fast hash function for the tables of connections.
//!
//! It multiplies by random numbers, as wyhash does. The standard library's SipHash takes 10 % of the time of an
//! analysis. Constant numbers would let a hostile capture give all its connections the same hash.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Random numbers of a hash function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeds {
    start: u64,
    factor: u64,
}

impl Default for Seeds {
    fn default() -> Seeds {
        let random = RandomState::new();
        // An even factor would drop bits.
        Seeds { start: random.hash_one(0), factor: random.hash_one(1) | 1 }
    }
}

impl BuildHasher for Seeds {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded { value: self.start, factor: self.factor }
    }
}

/// The hash value of the data so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Folded {
    value: u64,
    factor: u64,
}

impl Hasher for Folded {
    fn finish(&self) -> u64 {
        self.value
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_ne_bytes(word));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.value ^ value) * u128::from(self.factor);
        self.value = product as u64 ^ (product >> 64) as u64;
    }

    fn write_u128(&mut self, value: u128) {
        self.write_u64(value as u64);
        self.write_u64((value >> 64) as u64);
    }
}
