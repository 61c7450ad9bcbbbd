//! Stages as scenarios choose them: by kind, each with keys of its own.

use crate::{AckThinningConfig, ReflectorConfig, Stage, StageNode};
use lopsided_core::Rng;
use lopsided_spec::{AnyPart, Choice, Family, Fault, Member, Part, Scalar, Value, ValueType};
use std::fmt;

/// A stage that scenarios can choose: its settings, declared as a [`Part`], and how it is built from them.
pub trait StageKind: Part {
    /// On which side of the queue and the line it stands.
    fn side(&self) -> StageSide;

    /// The stage of one run.
    fn build(&self, role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault>;
}

/// The kinds of stages, the default first. A new one is a line here.
const KINDS: &[fn() -> Entry] = &[Entry::of::<AckThinningConfig>, Entry::of::<ReflectorConfig>];

/// All stages, for whatever reads and writes scenarios.
pub static STAGES: Family = Family {
    name: "stage",
    text: "What packets meet on one side of the queue and the line.",
    shorthand: None,
    infer_kind: false,
    members: || KINDS.iter().map(|kind| kind().member).collect(),
};

/// A side of a direction's queue and line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageSide {
    /// Before the queue.
    Entry,
    /// Behind the line.
    Exit,
}

impl Choice for StageSide {
    const WORDS: &'static [(&'static str, StageSide)] = &[("entry", StageSide::Entry), ("exit", StageSide::Exit)];
}

/// Where a stage stands, which keys its random draws.
#[derive(Clone, Copy, Debug)]
pub struct StageRole<'a> {
    pub seed: u64,
    /// Such as `link/up/stage 1`.
    pub role: &'a str,
}

impl StageRole<'_> {
    /// This stage's own stream of random numbers.
    pub fn rng(&self) -> Rng {
        Rng::for_role(self.seed, self.role)
    }
}

struct Entry {
    member: Member,
    vtable: Vtable,
}

type BuildStage = fn(&dyn AnyPart, &StageRole<'_>) -> Result<Box<dyn Stage>, Fault>;

#[derive(Clone, Copy)]
struct Vtable {
    side: fn(&dyn AnyPart) -> StageSide,
    build: BuildStage,
}

impl Vtable {
    fn of<S: StageKind>() -> Vtable {
        fn settings<S: StageKind>(part: &dyn AnyPart) -> &S {
            part.downcast::<S>().expect("a stage is built by its own kind")
        }
        Vtable { side: |part| settings::<S>(part).side(), build: |part, role| settings::<S>(part).build(role) }
    }
}

impl Entry {
    fn of<S: StageKind>() -> Entry {
        Entry { member: Member::of::<S>(), vtable: Vtable::of::<S>() }
    }
}

/// A stage as plain data, of whatever kind.
#[derive(Clone)]
pub struct StageConfig {
    part: Box<dyn AnyPart>,
    vtable: Vtable,
}

impl StageConfig {
    /// A stage of that kind, which need not be one of this crate's.
    pub fn new<S: StageKind>(config: S) -> StageConfig {
        StageConfig { part: Box::new(config), vtable: Vtable::of::<S>() }
    }

    /// The kind's name.
    pub fn kind(&self) -> &'static str {
        self.part.info().name
    }

    pub fn side(&self) -> StageSide {
        (self.vtable.side)(&*self.part)
    }

    /// The node of one run.
    pub fn build(&self, role: &StageRole<'_>) -> Result<StageNode, Fault> {
        (self.vtable.build)(&*self.part, role).map(StageNode::new)
    }
}

impl fmt::Debug for StageConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.fmt(f)
    }
}

impl PartialEq for StageConfig {
    fn eq(&self, other: &StageConfig) -> bool {
        *self.part == *other.part
    }
}

impl Scalar for StageConfig {
    const TYPE: ValueType = ValueType::Family(&STAGES);

    fn to_value(&self) -> Value {
        Value::Part(self.part.clone())
    }

    fn from_value(value: Value) -> Result<StageConfig, String> {
        let Value::Part(part) = value else { return Err("a stage is a table".to_owned()) };
        let kind = part.info().name;
        let found = KINDS.iter().map(|kind| kind()).find(|entry| entry.member.info.name == kind);
        let vtable = found.ok_or_else(|| format!("there is no stage `{kind}`"))?.vtable;
        Ok(StageConfig { part, vtable })
    }
}
