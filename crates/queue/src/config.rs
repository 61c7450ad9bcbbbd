//! Queue disciplines as scenarios choose them: by kind, each with keys of its own.

use crate::{
    AsqmConfig, BdpConfig, CodelQueueConfig, FifoConfig, FqCodelConfig, Limit, PieQueueConfig, PolicerConfig,
    PrioConfig, Queue, RedConfig, ThresholdConfig,
};
use lopsided_core::Rng;
use lopsided_spec::{AnyPart, Family, Fault, Member, Part, Scalar, Value, ValueType};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// A discipline that scenarios can choose: its settings, declared as a [`Part`], and how it is built from them.
pub trait Discipline: Part {
    /// The empty queue.
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault>;
}

/// The disciplines of this crate, the default first. A new one is a line here.
const DISCIPLINES: &[fn() -> Entry] = &[
    Entry::of::<FifoConfig>,
    Entry::of::<RedConfig>,
    Entry::of::<ThresholdConfig>,
    Entry::of::<CodelQueueConfig>,
    Entry::of::<FqCodelConfig>,
    Entry::of::<PieQueueConfig>,
    Entry::of::<AsqmConfig>,
    Entry::of::<BdpConfig>,
    Entry::of::<PrioConfig>,
    Entry::of::<PolicerConfig>,
];

/// Those of users: see [`register`].
static REGISTERED: RwLock<Vec<Entry>> = RwLock::new(Vec::new());

/// All disciplines, for whatever reads and writes scenarios.
pub static QUEUES: Family = Family {
    name: "queue",
    text: "A queue discipline and what it may hold.",
    shorthand: Some("limit"),
    infer_kind: false,
    members: || entries().into_iter().map(|entry| entry.member).collect(),
};

/// Builds the queue of one discipline from its settings.
pub type BuildQueue = Arc<dyn Fn(&dyn AnyPart, &QueuePlace<'_>) -> Result<Queue, Fault> + Send + Sync>;

#[derive(Clone)]
struct Entry {
    member: Member,
    build: BuildQueue,
}

impl Entry {
    fn of<D: Discipline>() -> Entry {
        Entry { member: Member::of::<D>(), build: Arc::new(build_as::<D>) }
    }
}

fn entries() -> Vec<Entry> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    DISCIPLINES.iter().map(|entry| entry()).chain(registered.iter().cloned()).collect()
}

/// Makes a discipline of one's own known to all scenarios of this process, by the name of its [`Part`].
///
/// # Errors
/// If a discipline of this crate has the name. One that was registered before under the name is replaced.
pub fn register<D: Discipline>() -> Result<(), NameTaken> {
    register_member(Member::of::<D>(), Arc::new(build_as::<D>))
}

/// As [`register`], for a discipline whose keys are known only as the program runs.
///
/// # Errors
/// As [`register`].
pub fn register_member(member: Member, build: BuildQueue) -> Result<(), NameTaken> {
    let name = member.info.name;
    if DISCIPLINES.iter().any(|entry| entry().member.info.name == name) {
        return Err(NameTaken(name));
    }
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    registered.retain(|entry| entry.member.info.name != name);
    registered.push(Entry { member, build });
    Ok(())
}

/// The name of a discipline of this crate, wanted for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameTaken(pub &'static str);

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the queue discipline {:?} is built in: choose another name", self.0)
    }
}

impl std::error::Error for NameTaken {}

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
#[derive(Clone)]
pub struct QueueConfig {
    part: Box<dyn AnyPart>,
    build: BuildQueue,
}

impl QueueConfig {
    /// A queue of that discipline, which need not be one of this crate's.
    pub fn new<D: Discipline>(config: D) -> QueueConfig {
        QueueConfig { part: Box::new(config), build: Arc::new(build_as::<D>) }
    }

    /// A drop-tail FIFO of that many packets.
    pub fn packets(limit: u32) -> QueueConfig {
        QueueConfig::new(FifoConfig::new(Limit::Packets(limit)))
    }

    /// The settings, if the queue is of this discipline.
    pub fn get<D: Discipline>(&self) -> Option<&D> {
        self.part.downcast()
    }

    /// The settings, of whatever discipline.
    pub fn part(&self) -> &dyn AnyPart {
        &*self.part
    }

    /// The discipline's name.
    pub fn kind(&self) -> &'static str {
        self.part.info().name
    }

    /// What the queue may hold in all; `None` where the discipline has no such key.
    pub fn limit(&self) -> Option<Limit> {
        Limit::from_value(self.part.get("limit")).ok()
    }

    /// The empty queue. Its random draws are keyed by the run's seed and its role, such as `"link/up"`.
    pub fn build(&self, seed: u64, role: &str) -> Result<Queue, Fault> {
        (self.build)(&*self.part, &QueuePlace { seed, role })
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

impl fmt::Debug for QueueConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.fmt(f)
    }
}

impl PartialEq for QueueConfig {
    fn eq(&self, other: &QueueConfig) -> bool {
        *self.part == *other.part
    }
}

/// A queue is itself a value of a key: a discipline with children has keys of type `QueueConfig` or `Vec<QueueConfig>`.
impl Scalar for QueueConfig {
    const TYPE: ValueType = ValueType::Family(&QUEUES);

    fn to_value(&self) -> Value {
        Value::Part(self.part.clone())
    }

    fn from_value(value: Value) -> Result<QueueConfig, String> {
        let Value::Part(part) = value else { return Err("a queue is a table".to_owned()) };
        let kind = part.info().name;
        let found = entries().into_iter().find(|entry| entry.member.info.name == kind);
        let build = found.ok_or_else(|| format!("there is no queue discipline `{kind}`"))?.build;
        Ok(QueueConfig { part, build })
    }
}
