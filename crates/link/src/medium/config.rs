//! A medium in scenarios: its settings, and the medium built from them.

use super::Medium;
use lopsided_core::Rng;
use lopsided_queue::QueueConfig;
use lopsided_spec::{AnyPart, Chosen, Fault, Part};

/// The settings that every medium has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MediumSettings {
    /// A node's name: links join stations to it.
    pub name: String,
    /// The queue of each station.
    pub queue: QueueConfig,
}

/// A medium that scenarios can choose: its settings, declared as a [`Part`], and how it is built from them.
pub trait MediumKind: Part {
    fn settings(&self) -> &MediumSettings;

    /// The medium of one run for stations of these names, with its own stream of random numbers.
    fn build(&self, stations: &[String], rng: Rng) -> Result<Box<dyn Medium>, Fault>;
}

type BuildMedium = fn(&dyn AnyPart, &[String], Rng) -> Result<Box<dyn Medium>, Fault>;

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

/// A medium as plain data, of whatever kind.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumConfig(pub(super) Chosen<Vtable>);

impl MediumConfig {
    /// A medium of that kind, which need not be one of this crate's.
    pub fn new<M: MediumKind>(config: M) -> MediumConfig {
        MediumConfig(Chosen::new(config, Vtable::of::<M>()))
    }

    /// The settings of its kind.
    pub fn part(&self) -> &dyn AnyPart {
        &*self.0.part
    }

    /// The settings that every medium has.
    pub fn settings(&self) -> &MediumSettings {
        (self.0.build.settings)(&*self.0.part)
    }

    /// Builds the medium of one run for stations with these names. Its random numbers are keyed by the run's seed and
    /// its name.
    ///
    /// # Errors
    ///
    /// If the settings name an unknown station or do not fit the number of stations.
    pub fn build(&self, stations: &[String], seed: u64) -> Result<Box<dyn Medium>, Fault> {
        let rng = Rng::for_role(seed, &format!("{}/medium", self.settings().name));
        (self.0.build.build)(&*self.0.part, stations, rng)
    }
}
