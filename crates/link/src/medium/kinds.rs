//! The media that scenarios choose by kind: the built-in media and the media that users register.

use super::config::Vtable;
use super::*;
use lopsided_spec::{Family, Kind, NameTaken, Registry, family_value};

/// The built-in media. The first medium is the default. To add a medium, add a line.
const MEDIUM_KINDS: &[fn() -> Kind<Vtable>] = &[
    entry::<PolledConfig>,
    entry::<PacketRadioConfig>,
    entry::<CsmaCdConfig>,
    entry::<WifiConfig>,
    entry::<DocsisConfig>,
];

static KINDS: Registry<Kind<Vtable>> = Registry::new(MEDIUM_KINDS);

/// The family of all media, for code that reads and writes scenarios.
pub static MEDIA: Family = Family {
    name: "medium",
    text: "A channel that several stations share.",
    shorthand: None,
    infer_kind: false,
    members: || KINDS.members(),
};

fn entry<M: MediumKind>() -> Kind<Vtable> {
    Kind::of::<M>(Vtable::of::<M>())
}

/// Registers your own medium for all scenarios of this process, under the name of its [`Part`](lopsided_spec::Part).
/// Replaces a medium that you registered earlier under the same name.
///
/// # Errors
///
/// Returns [`NameTaken`] if a built-in medium already has this name.
pub fn register<M: MediumKind>() -> Result<(), NameTaken> {
    KINDS.register(entry::<M>())
}

family_value!(MediumConfig, MEDIA, KINDS);
