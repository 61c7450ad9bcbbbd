//! Queue disciplines as scenarios choose them: by kind, each with keys of its own.

use crate::*;
use lopsided_core::Rng;
use lopsided_spec::{
    AnyPart, Chosen, Family, Fault, Kind, Member, NameTaken, Part, Registry, Scalar, Value, ValueType,
};
use std::sync::Arc;

/// A discipline that scenarios can choose: its settings, declared as a [`Part`], and how it is built from them.
pub trait Discipline: Part {
    /// The empty queue.
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault>;
}

/// The disciplines of this crate, the default first. A new one is a line here.
const DISCIPLINES: &[fn() -> Kind<BuildQueue>] = &[
    entry::<FifoConfig>,
    entry::<RedConfig>,
    entry::<ThresholdConfig>,
    entry::<CodelQueueConfig>,
    entry::<FqCodelConfig>,
    entry::<PieQueueConfig>,
    entry::<FqPieConfig>,
    entry::<DocsisPieConfig>,
    entry::<DualPi2Config>,
    entry::<CobaltQueueConfig>,
    entry::<CakeConfig>,
    entry::<AsqmConfig>,
    entry::<BdpConfig>,
    entry::<PrioConfig>,
    entry::<PolicerConfig>,
    entry::<AckFilterConfig>,
    entry::<AfvqConfig>,
    entry::<HtbConfig>,
    entry::<TbfConfig>,
    entry::<DrrConfig>,
    entry::<FqConfig>,
    entry::<SfqConfig>,
    entry::<WfqConfig>,
    entry::<CbwfqConfig>,
    entry::<WredConfig>,
    entry::<AredConfig>,
    entry::<ChokeConfig>,
];

static KINDS: Registry<Kind<BuildQueue>> = Registry::new(DISCIPLINES);

/// All disciplines, for whatever reads and writes scenarios.
pub static QUEUES: Family = Family {
    name: "queue",
    text: "A queue discipline and what it may hold.",
    shorthand: Some("limit"),
    infer_kind: false,
    members: || KINDS.members(),
};

/// Builds the queue of one discipline from its settings.
pub type BuildQueue = Arc<dyn Fn(&dyn AnyPart, &QueuePlace<'_>) -> Result<Queue, Fault> + Send + Sync>;

fn entry<D: Discipline>() -> Kind<BuildQueue> {
    Kind::of::<D>(Arc::new(build_as::<D>))
}

/// Makes a discipline of one's own known to all scenarios of this process, by the name of its [`Part`].
///
/// # Errors
/// If a discipline of this crate has the name. One that was registered before under the name is replaced.
pub fn register<D: Discipline>() -> Result<(), NameTaken> {
    KINDS.register(entry::<D>())
}

/// As [`register`], for a discipline whose keys are known only as the program runs.
///
/// # Errors
/// As [`register`].
pub fn register_member(member: Member, build: BuildQueue) -> Result<(), NameTaken> {
    KINDS.register(Kind { member, build })
}

fn build_as<D: Discipline>(part: &dyn AnyPart, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
    part.downcast::<D>().expect("a queue is built by its own discipline").build(place)
}

/// Where a queue stands, which keys its random draws.
#[derive(Clone, Debug)]
pub struct QueuePlace<'a> {
    pub seed: u64,
    /// Such as `link/up`.
    pub role: &'a str,
}

impl QueuePlace<'_> {
    /// This queue's own stream of random numbers.
    pub fn rng(&self) -> Rng {
        Rng::for_role(self.seed, &format!("{}/queue", self.role))
    }
}

/// A queue as plain data, of whatever discipline.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig(Chosen<BuildQueue>);

impl QueueConfig {
    /// A queue of that discipline, which need not be one of this crate's.
    pub fn new<D: Discipline>(config: D) -> QueueConfig {
        QueueConfig(Chosen::new(config, Arc::new(build_as::<D>)))
    }

    /// A drop-tail FIFO of that many packets.
    pub fn packets(limit: u32) -> QueueConfig {
        QueueConfig::new(FifoConfig::new(Limit::Packets(limit)))
    }

    /// The settings, if the queue is of this discipline.
    pub fn get<D: Discipline>(&self) -> Option<&D> {
        self.0.part.downcast()
    }

    /// The settings, of whatever discipline.
    pub fn part(&self) -> &dyn AnyPart {
        &*self.0.part
    }

    /// The discipline's name.
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// What the queue may hold in all; `None` where the discipline has no such key.
    pub fn limit(&self) -> Option<Limit> {
        Limit::from_value(self.0.part.get("limit")).ok()
    }

    /// The empty queue. Its random draws are keyed by the run's seed and its role, such as `"link/up"`.
    pub fn build(&self, seed: u64, role: &str) -> Result<Queue, Fault> {
        (self.0.build)(&*self.0.part, &QueuePlace { seed, role })
    }
}

impl<D: Discipline> From<D> for QueueConfig {
    fn from(config: D) -> QueueConfig {
        QueueConfig::new(config)
    }
}

impl Default for QueueConfig {
    fn default() -> QueueConfig {
        QueueConfig::new(FifoConfig::default())
    }
}

/// A queue is itself a value of a key: a discipline with children has keys of type `QueueConfig` or `Vec<QueueConfig>`.
impl Scalar for QueueConfig {
    const TYPE: ValueType = ValueType::Family(&QUEUES);

    fn to_value(&self) -> Value {
        self.0.to_value()
    }

    fn from_value(value: Value) -> Result<QueueConfig, String> {
        Chosen::from_value(value, &KINDS).map(QueueConfig)
    }
}
