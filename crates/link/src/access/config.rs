//! Access methods in scenarios: their settings, and the shaper that is built from them.

use crate::shaper::{AnyShaper, Shaper};
use lopsided_core::{BitRate, Rng};
use lopsided_spec::{AnyPart, Chosen, Fault, Part};

/// An access method that scenarios can choose. Its settings are a [`Part`]; `build` turns them into a [`Shaper`].
///
/// [`crate::ACCESS`] lists the built-in kinds. Pass an access method from another crate to [`AccessConfig::new`].
///
/// # Examples
///
/// A line that sends at half of its rate:
///
/// ```
/// use lopsided_core::{BitRate, Rng};
/// use lopsided_link::{AccessConfig, AccessKind, AnyShaper, Serializer, Shaper};
/// use lopsided_spec::{Fault, Key, Part};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct HalfRate;
///
/// impl Part for HalfRate {
///     const NAME: &'static str = "half_rate";
///     const TEXT: &'static str = "Sends at half of the line's rate.";
///     const KEYS: &'static [Key<HalfRate>] = &[];
/// }
///
/// impl AccessKind for HalfRate {
///     fn build(&self, rate: Option<BitRate>, _rng: Rng) -> Result<Box<dyn Shaper>, Fault> {
///         let rate = rate.ok_or_else(|| Fault::new("kind", "the line needs a rate"))?;
///         Ok(Box::new(AnyShaper::Serializer(Serializer::new(BitRate::from_bps(rate.as_bps() / 2)))))
///     }
/// }
///
/// let shaper = AccessConfig::new(HalfRate).build(Some(BitRate::from_bps(10_000_000)), 1, "link/up")?;
/// assert_eq!(shaper.rate(), Some(BitRate::from_bps(5_000_000)));
/// # Ok::<(), Fault>(())
/// ```
pub trait AccessKind: Part {
    /// Builds the shaper of one run. `rate` is the direction's rate. No other part uses `rng`.
    ///
    /// # Errors
    ///
    /// Returns an error if the kind needs a rate and none is given, or if its settings contradict each other.
    fn build(&self, rate: Option<BitRate>, rng: Rng) -> Result<Box<dyn Shaper>, Fault>;
}

pub(super) type BuildShaper = fn(&dyn AnyPart, Option<BitRate>, Rng) -> Result<Box<dyn Shaper>, Fault>;

pub(super) fn build_as<A: AccessKind>(
    part: &dyn AnyPart,
    rate: Option<BitRate>,
    rng: Rng,
) -> Result<Box<dyn Shaper>, Fault> {
    part.downcast::<A>().expect("an access method is built by its own kind").build(rate, rng)
}

/// The settings of an access method of any kind.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessConfig(pub(super) Chosen<BuildShaper>);

impl AccessConfig {
    /// Wraps the settings of a kind, from this crate or from another.
    pub fn new<A: AccessKind>(config: A) -> AccessConfig {
        AccessConfig(Chosen::new(config, build_as::<A>))
    }

    /// Returns the kind's name.
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// Builds the shaper of one run. The seed and `role`, such as `link/up`, determine its random stream.
    ///
    /// # Errors
    ///
    /// Returns an error if the kind needs a rate and none is given, or if its settings contradict each other.
    pub fn build(&self, rate: Option<BitRate>, seed: u64, role: &str) -> Result<AnyShaper, Fault> {
        let rng = Rng::for_role(seed, &format!("{role}/access"));
        (self.0.build)(&*self.0.part, rate, rng).map(AnyShaper::Custom)
    }
}
