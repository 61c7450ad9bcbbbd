//! The disciplines that scenarios choose by kind: the built-in ones and those that users register.
//!
//! All other code of a discipline is in the discipline's own file.

use crate::config::{BuildQueue, build_as};
use crate::*;
use lopsided_spec::{Family, Fault, Kind, Member, NameTaken, Part, Registry, family_value};
use std::sync::Arc;

/// The disciplines of this crate. The first one is the default. To add a discipline, add a line.
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

/// The family of all disciplines, for code that reads and writes scenarios.
pub static QUEUES: Family = Family {
    name: "queue",
    text: "A queue discipline and its limit.",
    shorthand: Some("limit"),
    infer_kind: false,
    members: || KINDS.members(),
};

/// Disciplines that dequeue from their child only while the child contains packets, as in Linux. A RED queue inside one
/// of these disciplines never detects an idle time.
const DEQUEUE_ONLY_NONEMPTY: &[&str] = &[TbfConfig::NAME, HtbConfig::NAME, DrrConfig::NAME];

/// True if a RED queue inside a discipline of this kind never detects an idle time.
#[doc(hidden)]
pub fn dequeues_only_nonempty(kind: &str) -> bool {
    DEQUEUE_ONLY_NONEMPTY.contains(&kind)
}

fn entry<D: Discipline>() -> Kind<BuildQueue> {
    Kind::of::<D>(Arc::new(build_as::<D>))
}

/// Registers your own discipline for all scenarios of this process, under the name of its [`Part`]. Replaces a
/// discipline that you registered earlier under the same name.
///
/// # Errors
///
/// Returns [`NameTaken`] if a built-in discipline already has this name.
pub fn register<D: Discipline>() -> Result<(), NameTaken> {
    KINDS.register(entry::<D>())
}

/// Like [`register`], for a discipline whose keys are known only at run time.
///
/// # Errors
/// Returns the same errors as [`register`].
pub fn register_member(member: Member, build: BuildQueue) -> Result<(), NameTaken> {
    KINDS.register(Kind { member, build })
}

// Disciplines with children have keys of type `QueueConfig` or `Vec<QueueConfig>`.
family_value!(QueueConfig, QUEUES, KINDS);

impl Default for QueueConfig {
    fn default() -> QueueConfig {
        QueueConfig::new(FifoConfig::default())
    }
}

impl QueueConfig {
    /// Returns the settings of a drop-tail FIFO queue with room for `limit` packets.
    pub fn packets(limit: u32) -> QueueConfig {
        QueueConfig::new(FifoConfig::new(Limit::Packets(limit)))
    }
}

// These implementations are in this file because `Queue` has a variant for each of the three disciplines. The files of
// the disciplines must not depend on `Queue`.

impl Discipline for FifoConfig {
    fn build(&self, _place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Fifo::new(self).map(Queue::Fifo)
    }
}

impl Discipline for ThresholdConfig {
    fn build(&self, _place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        ThresholdFifo::new(self).map(Queue::Threshold)
    }
}

impl Discipline for RedConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Red::new(self, place.rng()).map(|red| Queue::Red(Box::new(red)))
    }
}
