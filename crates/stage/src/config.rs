//! Settings of stages in scenarios, and the construction of a stage from its settings.

use crate::{Stage, StageNode};
use lopsided_core::Rng;
use lopsided_spec::{AnyPart, Choice, Chosen, Fault, Part};

/// A stage that scenarios can choose. Its settings are a [`Part`]; `build` turns them into a [`Stage`].
///
/// # Examples
///
/// A stage in front of the queue that forwards every packet:
///
/// ```
/// use lopsided_core::{Cx, Packet};
/// use lopsided_spec::{Fault, Key, Part};
/// use lopsided_stage::{Outlet, Stage, StageKind, StageRole, StageSide};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Wire;
///
/// impl Part for Wire {
///     const NAME: &'static str = "wire";
///     const TEXT: &'static str = "Forwards every packet.";
///     const KEYS: &'static [Key<Wire>] = &[];
/// }
///
/// impl Stage for Wire {
///     fn handle_packet(&mut self, packet: Packet, out: &mut Outlet, _cx: &mut Cx<'_>) {
///         out.forward(packet);
///     }
/// }
///
/// impl StageKind for Wire {
///     fn side(&self) -> StageSide {
///         StageSide::Entry
///     }
///
///     fn build(&self, _role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault> {
///         Ok(Box::new(Wire))
///     }
/// }
///
/// assert!(Wire.build(&StageRole { seed: 1, role: "link/up/stage 1" }).is_ok());
/// ```
pub trait StageKind: Part {
    /// Returns the side of the queue on which the stage is placed.
    fn side(&self) -> StageSide;

    /// Builds the stage of one run.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings contradict each other.
    fn build(&self, role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault>;
}

/// The place of a stage in a link direction: in front of the queue, or behind the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageSide {
    /// In front of the queue.
    Entry,
    /// Behind the line.
    Exit,
}

impl Choice for StageSide {
    const WORDS: &'static [(&'static str, StageSide)] = &[("entry", StageSide::Entry), ("exit", StageSide::Exit)];
}

/// The position of a stage in a run. The position determines the stage's random stream.
#[derive(Clone, Copy, Debug)]
pub struct StageRole<'a> {
    /// Seed of the run.
    pub seed: u64,
    /// Position of the stage, such as `link/up/stage 1`.
    pub role: &'a str,
}

impl StageRole<'_> {
    /// Returns the random stream of this stage.
    pub fn rng(&self) -> Rng {
        Rng::for_role(self.seed, self.role)
    }
}

type BuildStage = fn(&dyn AnyPart, &StageRole<'_>) -> Result<Box<dyn Stage>, Fault>;

/// The two methods of a [`StageKind`], as functions that take type-erased settings.
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
    /// Wraps the settings of a kind, from this crate or from another.
    pub fn new<S: StageKind>(config: S) -> StageConfig {
        StageConfig(Chosen::new(config, Vtable::of::<S>()))
    }

    /// Returns the kind's name.
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// Returns the side of the queue on which the stage is placed.
    pub fn side(&self) -> StageSide {
        (self.0.build.side)(&*self.0.part)
    }

    /// Builds the node of one run.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings contradict each other.
    pub fn build(&self, role: &StageRole<'_>) -> Result<StageNode, Fault> {
        (self.0.build.build)(&*self.0.part, role).map(StageNode::new)
    }
}
