//! The share of superfluous ACKs that is removed; the paper leaves it open.

use super::{AckFilterConfig, Pick};
use lopsided_core::Rng;

/// Selects the ACKs to remove.
#[derive(Debug)]
pub(super) struct Share {
    share: f64,
    pick: Pick,
    rng: Rng,
    /// Accumulated fraction of an ACK.
    credit: f64,
}

impl Share {
    pub fn new(config: &AckFilterConfig, rng: Rng) -> Share {
        Share { share: config.share, pick: config.pick, rng, credit: 0.0 }
    }

    #[inline]
    pub fn is_all(&self) -> bool {
        self.share >= 1.0
    }

    /// True if the next superfluous ACK is removed.
    #[inline]
    pub fn takes(&mut self) -> bool {
        self.is_all() || self.takes_next()
    }

    fn takes_next(&mut self) -> bool {
        match self.pick {
            Pick::Random => self.rng.unit() < self.share,
            Pick::Even => {
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
