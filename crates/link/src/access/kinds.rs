//! The access methods that scenarios choose by kind.

use super::config::{BuildShaper, build_as};
use super::*;
use lopsided_spec::{Family, Kind, Registry, family_value};

/// The built-in kinds. The first kind is the default. To add a kind, add a line.
const ACCESS_KINDS: &[fn() -> Kind<BuildShaper>] = &[
    entry::<TraceConfig>,
    entry::<RatesConfig>,
    entry::<ReallocationConfig>,
    entry::<GrantsConfig>,
    entry::<AggregationConfig>,
];

static KINDS: Registry<Kind<BuildShaper>> = Registry::new(ACCESS_KINDS);

/// The family of all access methods, for code that reads and writes scenarios.
pub static ACCESS: Family = Family {
    name: "access",
    text: "Schedule of the transmissions on a line that has no fixed rate.",
    shorthand: None,
    infer_kind: false,
    members: || KINDS.members(),
};

fn entry<A: AccessKind>() -> Kind<BuildShaper> {
    Kind::of::<A>(build_as::<A>)
}

family_value!(AccessConfig, ACCESS, KINDS);
