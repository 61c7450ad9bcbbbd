//! Stages: elements in front of the queue or behind the line of a link direction, such as ACK thinning. A stage may
//! drop, change, create, merge or delay packets.
//!
//! A stage implements [`Stage`]. Its settings are a [`lopsided_spec::Part`] that implements [`StageKind`] and is listed
//! in [`STAGES`]. [`StageNode`] turns a stage into a node of a network.
//!
//! Implement a mechanism that needs access to the queue as a queue discipline instead.

#![deny(missing_docs)]

mod ack_expand;
mod ack_pacing;
mod ack_reconstruct;
mod ack_thinning;
mod config;
mod held_acks;
mod kinds;
mod mtu_gate;
mod reflector;
mod stage;

pub use ack_expand::AckExpandConfig;
pub use ack_pacing::AckPacingConfig;
pub use ack_reconstruct::{AckReconstructConfig, Spacing};
pub use ack_thinning::AckThinningConfig;
pub use config::{StageConfig, StageKind, StageRole, StageSide};
pub use kinds::{STAGES, register};
pub use mtu_gate::MtuGate;
pub use reflector::{Reflector, ReflectorConfig};
pub use stage::{Outlet, Stage, StageNode};

/// The code in README.md, which the documentation tests compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
