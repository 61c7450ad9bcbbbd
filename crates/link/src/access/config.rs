//! Ways to send as scenarios choose them: by kind, each with keys of its own.

use super::{AggregationConfig, GrantsConfig, RatesConfig, ReallocationConfig, TraceConfig};
use crate::shaper::{AnyShaper, Shaper};
use lopsided_core::{BitRate, Rng};
use lopsided_spec::{AnyPart, Chosen, Family, Fault, Kind, Part, Registry, Scalar, Value, ValueType};

/// A way to send that scenarios can choose: its settings, declared as a [`Part`], and how it is built from them.
pub trait AccessKind: Part {
    /// The shaper of one run. `rate` is that of the direction; `rng` is the shaper's own stream.
    fn build(&self, rate: Option<BitRate>, rng: Rng) -> Result<Box<dyn Shaper>, Fault>;
}

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

type BuildShaper = fn(&dyn AnyPart, Option<BitRate>, Rng) -> Result<Box<dyn Shaper>, Fault>;

fn entry<A: AccessKind>() -> Kind<BuildShaper> {
    Kind::of::<A>(build_as::<A>)
}

fn build_as<A: AccessKind>(part: &dyn AnyPart, rate: Option<BitRate>, rng: Rng) -> Result<Box<dyn Shaper>, Fault> {
    part.downcast::<A>().expect("a way to send is built by its own kind").build(rate, rng)
}

/// A way to send as plain data, of whatever kind.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessConfig(Chosen<BuildShaper>);

impl AccessConfig {
    /// A way of that kind, which need not be one of this crate's.
    pub fn new<A: AccessKind>(config: A) -> AccessConfig {
        AccessConfig(Chosen::new(config, build_as::<A>))
    }

    /// The kind's name.
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// The shaper of one run, whose random draws are keyed by the link's role, such as `link/up`.
    pub fn build(&self, rate: Option<BitRate>, seed: u64, role: &str) -> Result<AnyShaper, Fault> {
        let rng = Rng::for_role(seed, &format!("{role}/access"));
        (self.0.build)(&*self.0.part, rate, rng).map(AnyShaper::Custom)
    }
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
