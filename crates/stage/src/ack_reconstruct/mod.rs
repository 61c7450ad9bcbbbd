//! ACK reconstruction (Balakrishnan, Padmanabhan and Katz, The Effects of Asymmetry on TCP Performance, 1999, section
//! 6.4; RFC 3449, section 5.3.1). Behind a slow line, the stage recreates ACKs that were filtered or dropped in front
//! of that line. A sender whose window grows with each ACK then receives a smooth stream of ACKs.
//!
//! If an ACK acknowledges more than `threshold` segments, the stage inserts ACKs before it, one for each `every`
//! segments. The inserted ACKs and, after them, the arriving ACK are spread over the mean time between arriving ACKs,
//! which is an exponential average with the weight `gain`. A gap of `d` segments is divided evenly by `ceil(d / every)
//! - 1` inserted ACKs. With `text = true` the stage inserts one ACK less, as the paper's text describes.
//!
//! With `spacing = "interval"` the stage paces ACKs like the authors' code in ns-2 (`interval.rs`).
//!
//! The stage never acknowledges data that the receiver has not acknowledged: an inserted number is between two numbers
//! that arrived. An inserted ACK is a copy of the arriving one with its own number and the smaller of the two windows.
//! Only plain ACKs are spread. An ACK with data, flags, SACK blocks or counts of ECN marks is forwarded at once, after
//! the waiting ACKs of its connection. Losing the stage's state does no harm. No ACK waits longer than `max_delay`.

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
