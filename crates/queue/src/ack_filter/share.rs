//! The proportion of superfluous ACKs that is removed, which the paper leaves open.

use super::{AckFilterConfig, Pick};
use lopsided_core::Rng;

/// Selects the superfluous ACKs to remove.
#[derive(Debug)]
pub(super) struct Share {
    share: f64,
    pick: Pick,
    rng: Rng,
    /// Fraction of an ACK that is due, from the proportions of the ACKs judged so far.
    credit: f64,
}

impl Share {
    pub fn new(config: &AckFilterConfig, rng: Rng) -> Share {
        Share { share: config.share, pick: config.pick, rng, credit: 0.0 }
    }

    /// True if every superfluous ACK is removed.
    #[inline]
    pub fn is_all(&self) -> bool {
        self.share >= 1.0
    }

    /// Judges the next superfluous ACK. True if it is removed.
    #[inline]
    pub fn takes(&mut self) -> bool {
        self.is_all() || self.takes_next()
    }

    fn takes_next(&mut self) -> bool {
        match self.pick {
            Pick::Random => self.rng.unit() < self.share,
            Pick::Even => {
                // Bresenham-like: at a proportion of 0.25, every 4th ACK is removed.
                self.credit += self.share;
                let takes = self.credit >= 1.0;
                if takes {
                    self.credit -= 1.0;
                }
                takes
            }
        }
    }
}
