//! The media that scenarios choose by kind: this crate's, and those that users register.

use super::config::Vtable;
use super::*;
use lopsided_spec::{Family, Kind, NameTaken, Registry, family_value};

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

family_value!(MediumConfig, MEDIA, KINDS);
