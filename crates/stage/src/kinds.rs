//! The stages that scenarios choose by kind: this crate's, and those that users register.
//!
//! No other file of this crate uses this one: a stage is complete in its own file.

use crate::config::Vtable;
use crate::*;
use lopsided_spec::{Family, Kind, NameTaken, Registry, family_value};

/// The kinds of stages, the default first. A new one is a line here.
const STAGE_KINDS: &[fn() -> Kind<Vtable>] =
    &[entry::<AckThinningConfig>, entry::<AckReconstructConfig>, entry::<AckPacingConfig>, entry::<ReflectorConfig>];

static KINDS: Registry<Kind<Vtable>> = Registry::new(STAGE_KINDS);

/// All stages, for readers and writers of scenarios.
pub static STAGES: Family = Family {
    name: "stage",
    text: "What packets meet on one side of the queue and the line.",
    shorthand: None,
    infer_kind: false,
    members: || KINDS.members(),
};

fn entry<S: StageKind>() -> Kind<Vtable> {
    Kind::of::<S>(Vtable::of::<S>())
}

/// Registers a user's stage for all scenarios of this process, under the name of its [`Part`]. It replaces a stage that
/// was registered before under the name.
///
/// # Errors
/// If a stage of this crate has the name.
pub fn register<S: StageKind>() -> Result<(), NameTaken> {
    KINDS.register(entry::<S>())
}

family_value!(StageConfig, STAGES, KINDS);
