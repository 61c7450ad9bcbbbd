//! The stages that scenarios choose by kind: the built-in stages and the stages that users register.
//!
//! Everything else about a stage is in its own file.

use crate::config::Vtable;
use crate::*;
use lopsided_spec::{Family, Kind, NameTaken, Registry, family_value};

/// The built-in stages. The first stage is the default. To add a stage, add a line.
const STAGE_KINDS: &[fn() -> Kind<Vtable>] = &[
    entry::<AckThinningConfig>,
    entry::<AckReconstructConfig>,
    entry::<AckExpandConfig>,
    entry::<AckPacingConfig>,
    entry::<ReflectorConfig>,
];

static KINDS: Registry<Kind<Vtable>> = Registry::new(STAGE_KINDS);

/// The family of all stages, for code that reads and writes scenarios.
pub static STAGES: Family = Family {
    name: "stage",
    text: "Stages that process packets before the queue or after the line.",
    shorthand: None,
    infer_kind: false,
    members: || KINDS.members(),
};

fn entry<S: StageKind>() -> Kind<Vtable> {
    Kind::of::<S>(Vtable::of::<S>())
}

/// Registers your own stage for all scenarios of this process, under the name of its [`Part`](lopsided_spec::Part).
/// Replaces a stage that you registered earlier under the same name.
///
/// # Errors
/// Returns [`NameTaken`] if a built-in stage already has this name.
pub fn register<S: StageKind>() -> Result<(), NameTaken> {
    KINDS.register(entry::<S>())
}

family_value!(StageConfig, STAGES, KINDS);
