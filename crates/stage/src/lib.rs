//! Stages stand before or behind the queue and line of a link direction. They may drop, change, create, merge or hold
//! packets. ACK filters, proxies and reconstruction at the far end of a line are stages.
//!
//! A stage implements [`Stage`]; its settings are a [`lopsided_spec::Part`] that implements [`StageKind`], one line in
//! [`STAGES`]. [`StageNode`] puts it into a network.
//!
//! A stage cannot look into a queue: a mechanism that must is a queue discipline.

#![warn(missing_docs)]

mod ack_pacing;
mod ack_reconstruct;
mod ack_thinning;
mod config;
mod held_acks;
mod kinds;
mod mtu_gate;
mod reflector;
mod stage;

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
