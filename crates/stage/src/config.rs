//! A stage in a scenario: its settings, which have keys of their own, and the stage built from them.

use crate::{Stage, StageNode};
use lopsided_core::Rng;
use lopsided_spec::{AnyPart, Choice, Chosen, Fault, Part};

/// A stage that scenarios can choose: its settings, declared as a [`Part`], and how it is built from them.
pub trait StageKind: Part {
    /// The side of the queue and the line.
    fn side(&self) -> StageSide;

    /// Builds the stage of a run.
    fn build(&self, role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault>;
}

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

/// A stage's place in a run, which seeds its random numbers.
#[derive(Clone, Copy, Debug)]
pub struct StageRole<'a> {
    /// The run's seed, which keys the stage's random numbers.
    pub seed: u64,
    /// The place in words, such as `link/up/stage 1`.
    pub role: &'a str,
}

impl StageRole<'_> {
    /// This stage's own stream of random numbers.
    pub fn rng(&self) -> Rng {
        Rng::for_role(self.seed, self.role)
    }
}

type BuildStage = fn(&dyn AnyPart, &StageRole<'_>) -> Result<Box<dyn Stage>, Fault>;

#[derive(Clone, Copy)]
pub(crate) struct Vtable {
    side: fn(&dyn AnyPart) -> StageSide,
    build: BuildStage,
}

impl Vtable {
    pub(crate) fn of<S: StageKind>() -> Vtable {
        fn settings<S: StageKind>(part: &dyn AnyPart) -> &S {
            part.downcast::<S>().expect("a stage is built by its own kind")
        }
        Vtable { side: |part| settings::<S>(part).side(), build: |part, role| settings::<S>(part).build(role) }
    }
}

/// The settings of a stage of any kind.
#[derive(Clone, Debug, PartialEq)]
pub struct StageConfig(pub(crate) Chosen<Vtable>);

impl StageConfig {
    /// Settings of any kind, also of one from outside this crate.
    pub fn new<S: StageKind>(config: S) -> StageConfig {
        StageConfig(Chosen::new(config, Vtable::of::<S>()))
    }

    /// The kind's name.
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// The side of the queue that the stage is on.
    pub fn side(&self) -> StageSide {
        (self.0.build.side)(&*self.0.part)
    }

    /// Builds the node of a run.
    pub fn build(&self, role: &StageRole<'_>) -> Result<StageNode, Fault> {
        (self.0.build.build)(&*self.0.part, role).map(StageNode::new)
    }
}
