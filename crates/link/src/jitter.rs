//! Delay that varies from packet to packet, and the resulting reordering.
//!
//! The additional delay is uniform from 0 to `spread`. By default, a packet that would overtake its predecessor arrives
//! at the same time as the predecessor. With `reorder`, packets overtake each other, as on parallel paths.

use lopsided_core::{Duration, Rng, Time};
use lopsided_spec::{Fault, Key, Part, key, part_value};

/// Settings of jitter. By default the delay is constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JitterConfig {
    /// Maximum addition to the propagation delay. The addition is uniformly distributed from 0.
    pub spread: Duration,
    /// True if packets may overtake each other.
    pub reorder: bool,
}

impl Part for JitterConfig {
    const NAME: &'static str = "jitter";
    const TEXT: &'static str = "Propagation delay that varies from packet to packet.";
    const SHORTHAND: Option<&'static str> = Some("spread");
    const KEYS: &'static [Key<JitterConfig>] = &[
        key(
            "spread",
            |jitter: &mut Self| &mut jitter.spread,
            "A random time from 0 to this value is added to the delay of each packet.",
        ),
        key(
            "reorder",
            |jitter| &mut jitter.reorder,
            "If true, packets may overtake each other. If false, packets keep their order.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.spread > Duration::from_secs(3600) {
            return Err(Fault::new("spread", "the spread must be at most 1 h"));
        }
        Ok(())
    }
}

part_value!(JitterConfig);

/// The jitter of one link in one run.
#[derive(Debug)]
pub(crate) struct Jitter {
    config: JitterConfig,
    rng: Rng,
    /// The latest arrival so far.
    latest: Time,
}

impl JitterConfig {
    /// Builds the state of one run; `None` if the delay is constant.
    pub(crate) fn build(&self, seed: u64, role: &str) -> Option<Jitter> {
        let rng = || Rng::for_role(seed, &format!("{role}/jitter"));
        (!self.spread.is_zero()).then(|| Jitter { config: *self, rng: rng(), latest: Time::ZERO })
    }
}

impl Jitter {
    /// Returns the arrival time of a packet that would arrive at `arrives` without jitter.
    pub fn delay(&mut self, arrives: Time) -> Time {
        let later = arrives + Duration::from_nanos(self.rng.below(self.config.spread.as_nanos() + 1));
        if self.config.reorder {
            return later;
        }
        // Without reordering, a packet never arrives before its predecessor.
        self.latest = self.latest.max(later);
        self.latest
    }

    /// True if packets may overtake each other.
    pub fn reorders(&self) -> bool {
        self.config.reorder
    }
}
