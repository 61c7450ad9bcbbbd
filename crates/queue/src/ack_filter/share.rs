//! How many of the superfluous ACKs go, and which: the paper leaves it open.

use super::{AckFilterConfig, Pick};
use lopsided_core::Rng;

/// Picks the share that goes.
#[derive(Debug)]
pub(super) struct Share {
    share: f64,
    pick: Pick,
    rng: Rng,
    /// What of an ACK the share has not taken yet.
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

    /// Whether the next superfluous ACK is one that goes.
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
