//! Random streams, each seeded by the seed of the run and by a role. The numbers of one part never depend on other
//! parts or threads.
//!
//! The distributions are implemented here, because a library may change its results between minor versions.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

/// A stream of random numbers for one role of a run.
///
/// # Examples
///
/// ```
/// use lopsided_core::Rng;
///
/// let mut loss = Rng::for_role(1, "link/up/loss");
/// let mut jitter = Rng::for_role(1, "link/up/jitter");
/// assert_ne!(loss.next_u64(), jitter.next_u64());
/// assert_eq!(Rng::for_role(1, "link/up/loss").below(100), Rng::for_role(1, "link/up/loss").below(100));
/// ```
#[derive(Clone, Debug)]
pub struct Rng(Pcg64Mcg);

impl Rng {
    /// Creates the stream of a role such as `"link/up/loss"`. The stream is the same on every machine.
    pub fn for_role(seed: u64, role: &str) -> Rng {
        // Hash the role with FNV-1a, then mix in the seed with two rounds of SplitMix64.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in role.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        // Derive two words, because the generator has 128 bits of state.
        let high = split_mix(hash ^ split_mix(seed));
        let low = split_mix(high ^ seed.rotate_left(32));
        Rng(Pcg64Mcg::new((u128::from(high) << 64) | u128::from(low)))
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform number in [0, 1), made from 53 random bits, which is the precision of `f64`.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns true with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns a uniform number in 0..bound, by Lemire's multiplication without rejection. The bias is at most bound /
    /// 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

fn split_mix(value: u64) -> u64 {
    // Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014: the constants of SplitMix64.
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
