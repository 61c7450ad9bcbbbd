//! Media as scenarios choose them: by kind, each with keys of its own.

use super::*;
use lopsided_core::Rng;
use lopsided_queue::QueueConfig;
use lopsided_spec::{AnyPart, Chosen, Family, Fault, Kind, NameTaken, Part, Registry, Scalar, Value, ValueType};

/// What every medium has.
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

/// The kinds of media, the default first. A new one is a line here.
const MEDIUM_KINDS: &[fn() -> Kind<Vtable>] = &[
    entry::<PolledConfig>,
    entry::<PacketRadioConfig>,
    entry::<CsmaCdConfig>,
    entry::<WifiConfig>,
    entry::<DocsisConfig>,
];

static KINDS: Registry<Kind<Vtable>> = Registry::new(MEDIUM_KINDS);

/// All media, for whatever reads and writes scenarios.
pub static MEDIA: Family = Family {
    name: "medium",
    text: "A channel that several stations share.",
    shorthand: None,
    infer_kind: false,
    members: || KINDS.members(),
};

type BuildMedium = fn(&dyn AnyPart, &[String], Rng) -> Result<Box<dyn Medium>, Fault>;

#[derive(Clone, Copy)]
struct Vtable {
    settings: fn(&dyn AnyPart) -> &MediumSettings,
    build: BuildMedium,
}

impl Vtable {
    fn of<M: MediumKind>() -> Vtable {
        fn own<M: MediumKind>(part: &dyn AnyPart) -> &M {
            part.downcast::<M>().expect("a medium is built by its own kind")
        }
        Vtable {
            settings: |part| own::<M>(part).settings(),
            build: |part, stations, rng| own::<M>(part).build(stations, rng),
        }
    }
}

fn entry<M: MediumKind>() -> Kind<Vtable> {
    Kind::of::<M>(Vtable::of::<M>())
}

/// Makes a medium of one's own known to all scenarios of this process, by the name of its [`Part`].
///
/// # Errors
/// If a medium of this crate has the name. One that was registered before under the name is replaced.
pub fn register<M: MediumKind>() -> Result<(), NameTaken> {
    KINDS.register(entry::<M>())
}

/// A medium as plain data, of whatever kind.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumConfig(Chosen<Vtable>);

impl MediumConfig {
    /// A medium of that kind, which need not be one of this crate's.
    pub fn new<M: MediumKind>(config: M) -> MediumConfig {
        MediumConfig(Chosen::new(config, Vtable::of::<M>()))
    }

    /// The settings of its kind.
    pub fn part(&self) -> &dyn AnyPart {
        &*self.0.part
    }

    /// What every medium has.
    pub fn settings(&self) -> &MediumSettings {
        (self.0.build.settings)(&*self.0.part)
    }

    /// The medium of one run, for stations of these names. Its random draws are keyed by the run's seed and its name.
    pub fn build(&self, stations: &[String], seed: u64) -> Result<Box<dyn Medium>, Fault> {
        let rng = Rng::for_role(seed, &format!("{}/medium", self.settings().name));
        (self.0.build.build)(&*self.0.part, stations, rng)
    }
}

impl Scalar for MediumConfig {
    const TYPE: ValueType = ValueType::Family(&MEDIA);

    fn to_value(&self) -> Value {
        self.0.to_value()
    }

    fn from_value(value: Value) -> Result<MediumConfig, String> {
        Chosen::from_value(value, &KINDS).map(MediumConfig)
    }
}
