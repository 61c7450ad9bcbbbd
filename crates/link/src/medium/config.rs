//! Media as scenarios choose them: by kind, each with keys of its own.

use super::{CsmaCdConfig, Medium, PacketRadioConfig, PolledConfig};
use lopsided_core::Rng;
use lopsided_queue::QueueConfig;
use lopsided_spec::{AnyPart, Family, Fault, Member, Part, Scalar, Value, ValueType};
use std::fmt;

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

    /// The medium of one run, with its own stream of random numbers.
    fn build(&self, stations: usize, rng: Rng) -> Result<Box<dyn Medium>, Fault>;
}

/// The kinds of media, the default first. A new one is a line here.
const KINDS: &[fn() -> Entry] = &[Entry::of::<PolledConfig>, Entry::of::<PacketRadioConfig>, Entry::of::<CsmaCdConfig>];

/// All media, for whatever reads and writes scenarios.
pub static MEDIA: Family = Family {
    name: "medium",
    text: "A channel that several stations share.",
    shorthand: None,
    infer_kind: false,
    members: || KINDS.iter().map(|kind| kind().member).collect(),
};

struct Entry {
    member: Member,
    vtable: Vtable,
}

type BuildMedium = fn(&dyn AnyPart, usize, Rng) -> Result<Box<dyn Medium>, Fault>;

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

impl Entry {
    fn of<M: MediumKind>() -> Entry {
        Entry { member: Member::of::<M>(), vtable: Vtable::of::<M>() }
    }
}

/// A medium as plain data, of whatever kind.
#[derive(Clone)]
pub struct MediumConfig {
    part: Box<dyn AnyPart>,
    vtable: Vtable,
}

impl MediumConfig {
    /// A medium of that kind, which need not be one of this crate's.
    pub fn new<M: MediumKind>(config: M) -> MediumConfig {
        MediumConfig { part: Box::new(config), vtable: Vtable::of::<M>() }
    }

    /// The settings of its kind.
    pub fn part(&self) -> &dyn AnyPart {
        &*self.part
    }

    /// What every medium has.
    pub fn settings(&self) -> &MediumSettings {
        (self.vtable.settings)(&*self.part)
    }

    /// The medium of one run, for so many stations. Its random draws are keyed by the run's seed and its name.
    pub fn build(&self, stations: usize, seed: u64) -> Result<Box<dyn Medium>, Fault> {
        let rng = Rng::for_role(seed, &format!("{}/medium", self.settings().name));
        (self.vtable.build)(&*self.part, stations, rng)
    }
}

impl fmt::Debug for MediumConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.fmt(f)
    }
}

impl PartialEq for MediumConfig {
    fn eq(&self, other: &MediumConfig) -> bool {
        *self.part == *other.part
    }
}

impl Scalar for MediumConfig {
    const TYPE: ValueType = ValueType::Family(&MEDIA);

    fn to_value(&self) -> Value {
        Value::Part(self.part.clone())
    }

    fn from_value(value: Value) -> Result<MediumConfig, String> {
        let Value::Part(part) = value else { return Err("a medium is a table".to_owned()) };
        let kind = part.info().name;
        let found = KINDS.iter().map(|kind| kind()).find(|entry| entry.member.info.name == kind);
        let vtable = found.ok_or_else(|| format!("there is no medium `{kind}`"))?.vtable;
        Ok(MediumConfig { part, vtable })
    }
}
