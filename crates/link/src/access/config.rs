//! Access methods in scenarios: their settings, and the shaper built from them.

use crate::shaper::{AnyShaper, Shaper};
use lopsided_core::{BitRate, Rng};
use lopsided_spec::{AnyPart, Chosen, Fault, Part};

/// A way to send that scenarios can choose: its settings, declared as a [`Part`], and how it is built from them.
pub trait AccessKind: Part {
    /// The shaper of one run. `rate` is that of the direction; `rng` is the shaper's own stream.
    fn build(&self, rate: Option<BitRate>, rng: Rng) -> Result<Box<dyn Shaper>, Fault>;
}

pub(super) type BuildShaper = fn(&dyn AnyPart, Option<BitRate>, Rng) -> Result<Box<dyn Shaper>, Fault>;

pub(super) fn build_as<A: AccessKind>(
    part: &dyn AnyPart,
    rate: Option<BitRate>,
    rng: Rng,
) -> Result<Box<dyn Shaper>, Fault> {
    part.downcast::<A>().expect("a way to send is built by its own kind").build(rate, rng)
}

/// A way to send as plain data, of whatever kind.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessConfig(pub(super) Chosen<BuildShaper>);

impl AccessConfig {
    /// A way of that kind, which need not be one of this crate's.
    pub fn new<A: AccessKind>(config: A) -> AccessConfig {
        AccessConfig(Chosen::new(config, build_as::<A>))
    }

    /// The kind's name.
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// Builds the shaper of one run; `role`, such as `link/up`, keys its random numbers.
    ///
    /// # Errors
    ///
    /// If the kind needs a rate and has none, or if its settings do not fit each other.
    pub fn build(&self, rate: Option<BitRate>, seed: u64, role: &str) -> Result<AnyShaper, Fault> {
        let rng = Rng::for_role(seed, &format!("{role}/access"));
        (self.0.build)(&*self.0.part, rate, rng).map(AnyShaper::Custom)
    }
}
