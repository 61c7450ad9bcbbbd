//! Settings of disciplines in scenarios, and the construction of a queue from its settings.

use crate::{Limit, Queue};
use lopsided_core::Rng;
use lopsided_spec::{AnyPart, Chosen, Fault, Part, Scalar};
use std::sync::Arc;

/// A discipline that scenarios can choose. Its settings are a [`Part`]; `build` turns them into a queue.
///
/// [`crate::QUEUES`] lists the built-in disciplines. Add your own with [`crate::register`] or [`QueueConfig::new`].
///
/// # Examples
///
/// A discipline without keys that stores at most two packets:
///
/// ```
/// use lopsided_queue::{Discipline, Fifo, FifoConfig, Limit, Queue, QueueConfig, QueuePlace};
/// use lopsided_spec::{Fault, Key, Part};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Tiny;
///
/// impl Part for Tiny {
///     const NAME: &'static str = "tiny";
///     const TEXT: &'static str = "Two packets.";
///     const KEYS: &'static [Key<Tiny>] = &[];
/// }
///
/// impl Discipline for Tiny {
///     fn build(&self, _: &QueuePlace<'_>) -> Result<Queue, Fault> {
///         Fifo::new(&FifoConfig::new(Limit::Packets(2))).map(Queue::Fifo)
///     }
/// }
///
/// let config = QueueConfig::new(Tiny);
/// assert_eq!(config.kind(), "tiny");
/// assert!(config.build(1, "link/up").is_ok());
/// ```
pub trait Discipline: Part {
    /// Builds an empty queue.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings contradict each other; the [`Fault`] names the key.
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault>;
}

/// A function that builds the queue of one discipline from its settings.
pub type BuildQueue = Arc<dyn Fn(&dyn AnyPart, &QueuePlace<'_>) -> Result<Queue, Fault> + Send + Sync>;

/// Builds a queue of discipline `D`. `part` must contain the settings of `D`.
pub(crate) fn build_as<D: Discipline>(part: &dyn AnyPart, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
    part.downcast::<D>().expect("a queue is built by its own discipline").build(place)
}

/// The seed of the run and the role of the queue, which together determine the queue's random stream.
#[derive(Clone, Debug)]
pub struct QueuePlace<'a> {
    /// Seed of the run.
    pub seed: u64,
    /// Role of the queue, such as `link/up`.
    pub role: &'a str,
}

impl QueuePlace<'_> {
    /// Returns the random stream of this queue.
    pub fn rng(&self) -> Rng {
        Rng::for_role(self.seed, &format!("{}/queue", self.role))
    }
}

/// The settings of a queue of any discipline.
///
/// # Examples
///
/// ```
/// use lopsided_queue::{CodelQueueConfig, Limit, Qdisc, QueueConfig};
///
/// let config = QueueConfig::new(CodelQueueConfig { limit: Limit::Packets(500), ..CodelQueueConfig::default() });
/// assert_eq!(config.kind(), "codel");
/// assert_eq!(config.limit(), Some(Limit::Packets(500)));
/// let queue = config.build(1, "link/up").unwrap();
/// assert_eq!(queue.backlog().packets, 0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig(pub(crate) Chosen<BuildQueue>);

impl QueueConfig {
    /// Wraps the settings of a discipline, from this crate or from another.
    pub fn new<D: Discipline>(config: D) -> QueueConfig {
        QueueConfig(Chosen::new(config, Arc::new(build_as::<D>)))
    }

    /// Returns the settings as type `D`; `None` if the settings belong to another discipline.
    pub fn get<D: Discipline>(&self) -> Option<&D> {
        self.0.part.downcast()
    }

    /// Returns the settings without their type, for code that handles all disciplines.
    pub fn part(&self) -> &dyn AnyPart {
        &*self.0.part
    }

    /// Returns the discipline's name.
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// Returns the limit of the whole queue. `None` if the discipline has no key `limit`, or if the value of that key
    /// is a plain number of packets.
    pub fn limit(&self) -> Option<Limit> {
        Limit::from_value(self.0.part.get("limit")).ok()
    }

    /// Builds an empty queue. The run's seed and the queue's role, such as `"link/up"`, determine the queue's random
    /// stream.
    ///
    /// # Errors
    /// Returns an error if the discipline rejects its settings; the [`Fault`] names the key.
    pub fn build(&self, seed: u64, role: &str) -> Result<Queue, Fault> {
        (self.0.build)(&*self.0.part, &QueuePlace { seed, role })
    }
}

impl<D: Discipline> From<D> for QueueConfig {
    fn from(config: D) -> QueueConfig {
        QueueConfig::new(config)
    }
}
