//! The ways to send that scenarios choose by kind.

use super::config::{BuildShaper, build_as};
use super::*;
use lopsided_spec::{Chosen, Family, Kind, Registry, Scalar, Value, ValueType};

/// The kinds, the default first. A new one is a line here.
const ACCESS_KINDS: &[fn() -> Kind<BuildShaper>] = &[
    entry::<TraceConfig>,
    entry::<RatesConfig>,
    entry::<ReallocationConfig>,
    entry::<GrantsConfig>,
    entry::<AggregationConfig>,
];

static KINDS: Registry<Kind<BuildShaper>> = Registry::new(ACCESS_KINDS);

/// All ways to send, for whatever reads and writes scenarios.
pub static ACCESS: Family = Family {
    name: "access",
    text: "When the line gives leave to send, where that is more than a rate.",
    shorthand: None,
    infer_kind: false,
    members: || KINDS.members(),
};

fn entry<A: AccessKind>() -> Kind<BuildShaper> {
    Kind::of::<A>(build_as::<A>)
}

impl Scalar for AccessConfig {
    const TYPE: ValueType = ValueType::Family(&ACCESS);

    fn to_value(&self) -> Value {
        self.0.to_value()
    }

    fn from_value(value: Value) -> Result<AccessConfig, String> {
        Chosen::from_value(value, &KINDS).map(AccessConfig)
    }
}
