//! A discipline in scenarios: its settings, and the queue built from them.

use crate::{Limit, Queue};
use lopsided_core::Rng;
use lopsided_spec::{AnyPart, Chosen, Fault, Part, Scalar};
use std::sync::Arc;

/// A discipline that scenarios can choose: its settings, declared as a [`Part`], and how it is built from them.
pub trait Discipline: Part {
    /// The empty queue.
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault>;
}

/// Builds the queue of one discipline from its settings.
pub type BuildQueue = Arc<dyn Fn(&dyn AnyPart, &QueuePlace<'_>) -> Result<Queue, Fault> + Send + Sync>;

pub(crate) fn build_as<D: Discipline>(part: &dyn AnyPart, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
    part.downcast::<D>().expect("a queue is built by its own discipline").build(place)
}

/// Position of a queue, which keys its random numbers.
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
pub struct QueueConfig(pub(crate) Chosen<BuildQueue>);

impl QueueConfig {
    /// A queue of that discipline, which need not be one of this crate's.
    pub fn new<D: Discipline>(config: D) -> QueueConfig {
        QueueConfig(Chosen::new(config, Arc::new(build_as::<D>)))
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

    /// The limit of the whole queue; `None` if the discipline has no such key.
    pub fn limit(&self) -> Option<Limit> {
        Limit::from_value(self.0.part.get("limit")).ok()
    }

    /// The empty queue. Its random draws are keyed by the run's seed and its role, such as `"link/up"`.
    ///
    /// # Errors
    /// If the discipline refuses its settings; the [`Fault`] names the key.
    pub fn build(&self, seed: u64, role: &str) -> Result<Queue, Fault> {
        (self.0.build)(&*self.0.part, &QueuePlace { seed, role })
    }
}

impl<D: Discipline> From<D> for QueueConfig {
    fn from(config: D) -> QueueConfig {
        QueueConfig::new(config)
    }
}
