//! The settings of media in scenarios, and the construction of a medium from its settings.

use super::Medium;
use lopsided_core::Rng;
use lopsided_queue::QueueConfig;
use lopsided_spec::{AnyPart, Chosen, Fault, Part};

/// The settings that all kinds of medium share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MediumSettings {
    /// Name of the medium. A link that connects a station has this name as one of its two ends.
    pub name: String,
    /// The queue of each station.
    pub queue: QueueConfig,
}

/// A medium that scenarios can choose. Its settings are a [`Part`]; `build` turns them into a [`Medium`].
///
/// [`crate::MEDIA`] lists the built-in kinds. Pass a medium from another crate to [`MediumConfig::new`].
///
/// # Examples
///
/// A channel whose stations are polled, without losses:
///
/// ```
/// use lopsided_core::Rng;
/// use lopsided_link::{Medium, MediumConfig, MediumKind, MediumSettings, PolledConfig};
/// use lopsided_spec::{Fault, Key, Part, key};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Clear(PolledConfig);
///
/// impl Part for Clear {
///     const NAME: &'static str = "clear";
///     const TEXT: &'static str = "Polls its stations and loses nothing.";
///     const KEYS: &'static [Key<Clear>] =
///         &[key("name", |clear: &mut Self| &mut clear.0.settings.name, "Name by which links refer to the medium.").required("\"m\"")];
/// }
///
/// impl MediumKind for Clear {
///     fn settings(&self) -> &MediumSettings {
///         &self.0.settings
///     }
///
///     fn build(&self, stations: &[String], rng: Rng) -> Result<Box<dyn Medium>, Fault> {
///         PolledConfig { loss: 0.0, ..self.0.clone() }.build(stations, rng)
///     }
/// }
///
/// assert_eq!(MediumConfig::new(Clear::default()).part().info().name, "clear");
/// ```
pub trait MediumKind: Part {
    /// Returns the settings that all kinds of medium share.
    fn settings(&self) -> &MediumSettings;

    /// Builds the medium of one run for stations with these names. No other part uses `rng`.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings name an unknown station or do not fit the number of stations.
    fn build(&self, stations: &[String], rng: Rng) -> Result<Box<dyn Medium>, Fault>;
}

type BuildMedium = fn(&dyn AnyPart, &[String], Rng) -> Result<Box<dyn Medium>, Fault>;

/// The two methods of a [`MediumKind`], as functions that take type-erased settings.
#[derive(Clone, Copy)]
pub(super) struct Vtable {
    settings: fn(&dyn AnyPart) -> &MediumSettings,
    build: BuildMedium,
}

impl Vtable {
    pub(super) fn of<M: MediumKind>() -> Vtable {
        fn own<M: MediumKind>(part: &dyn AnyPart) -> &M {
            part.downcast::<M>().expect("a medium is built by its own kind")
        }
        Vtable {
            settings: |part| own::<M>(part).settings(),
            build: |part, stations, rng| own::<M>(part).build(stations, rng),
        }
    }
}

/// The settings of a medium of any kind.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumConfig(pub(super) Chosen<Vtable>);

impl MediumConfig {
    /// Wraps the settings of a kind, from this crate or from another.
    pub fn new<M: MediumKind>(config: M) -> MediumConfig {
        MediumConfig(Chosen::new(config, Vtable::of::<M>()))
    }

    /// Returns the kind's own settings.
    pub fn part(&self) -> &dyn AnyPart {
        &*self.0.part
    }

    /// Returns the settings that all kinds of medium share.
    pub fn settings(&self) -> &MediumSettings {
        (self.0.build.settings)(&*self.0.part)
    }

    /// Builds the medium of one run for stations with these names. The run's seed and the medium's name determine its
    /// random stream.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings name an unknown station or do not fit the number of stations.
    pub fn build(&self, stations: &[String], seed: u64) -> Result<Box<dyn Medium>, Fault> {
        let rng = Rng::for_role(seed, &format!("{}/medium", self.settings().name));
        (self.0.build.build)(&*self.0.part, stations, rng)
    }
}
