//! ACK reconstruction (Balakrishnan, Padmanabhan and Katz, The Effects of Asymmetry on TCP Performance, 1999, section
//! 6.4; RFC 3449, section 5.3.1). Behind a slow line, the stage recreates the ACKs that were filtered or dropped in
//! front of the line, so that the sender receives a smooth stream of ACKs.
//!
//! If an ACK acknowledges more than `threshold` segments, the stage inserts ACKs before it: one for each `every`
//! segments. These ACKs are spread over the mean time between arriving ACKs, which is an exponential average with the
//! weight `gain`. With `text = true` the stage inserts one ACK fewer, as in the paper's text.
//!
//! With `spacing = "interval"`, the stage paces ACKs like the authors' code in ns-2 (`interval.rs`).
//!
//! An inserted ACK is a copy of the arriving ACK. Its number is between the numbers of the arriving ACK and the
//! previous ACK, and its window is the smaller of their windows. Only plain ACKs are spread, by at most `max_delay`.
//! Other segments are forwarded at once, after the waiting ACKs of their connection.

mod config;
mod interval;
mod mean;
mod share;

use crate::held_acks::HeldAcks;
use crate::{Stage, StageKind, StageRole, StageSide};
pub use config::{AckReconstructConfig, Spacing};
use interval::ByInterval;
use lopsided_spec::{Fault, Part};
use share::ByShare;

impl StageKind for AckReconstructConfig {
    fn side(&self) -> StageSide {
        self.side
    }

    fn build(&self, _role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault> {
        self.check()?;
        Ok(match self.spacing {
            Spacing::Share => Box::new(HeldAcks::new(ByShare::new(*self))),
            Spacing::Interval => Box::new(HeldAcks::new(ByInterval::new(*self))),
        })
    }
}
