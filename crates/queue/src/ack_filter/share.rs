//! Selects the fraction of superfluous ACKs that is removed. The paper does not define this selection.

use super::{AckFilterConfig, Pick};
use lopsided_core::Rng;

/// Selects which superfluous ACKs are removed.
#[derive(Debug)]
pub(super) struct Share {
    share: f64,
    pick: Pick,
    rng: Rng,
    /// Sum of `share` over all superfluous ACKs so far, minus the number of removed ACKs; always below 1.
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

    /// Decides on the next superfluous ACK. Returns true if the ACK is to be removed.
    #[inline]
    pub fn takes(&mut self) -> bool {
        self.is_all() || self.takes_next()
    }

    fn takes_next(&mut self) -> bool {
        match self.pick {
            Pick::Random => self.rng.unit() < self.share,
            Pick::Even => {
                // Error accumulation as in Bresenham's line algorithm: with a share of 0.25, every 4th ACK is removed.
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
