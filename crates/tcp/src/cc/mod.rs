//! Congestion control: the contract, and one file for each algorithm.
//!
//! A controller sets targets (window, threshold, pacing rate). It does not detect loss and does not decide which
//! segment to send: that is the connection's part, and during fast recovery the connection paces the way down to the
//! target itself (RFC 6937), unless the controller says that it [owns the recovery](Controller::owns_recovery).
//!
//! Most algorithms only say how the window grows and how far it falls: a [`WindowAlgorithm`]. [`WindowController`]
//! makes a controller of it.

mod bbr;
mod bbr3;
mod bic;
mod compound;
mod controller;
mod cubic;
mod dctcp;
mod delay;
pub mod harness;
mod highspeed;
mod htcp;
mod hybla;
mod hystart;
mod illinois;
mod ledbat;
mod path_model;
mod prague;
mod registry;
mod reno;
mod round;
mod scalable;
mod vegas;
mod veno;
mod westwood;
mod window;
mod yeah;

#[cfg(test)]
mod tests;

pub use controller::{Acked, CcState, Controller, EcnUse, Lost, PathState, RateSample, Setup, Signal};
pub use cubic::Cubic;
pub(crate) use registry::maker;
pub use registry::{CONTROLLERS, ControllerFactory, NameTaken, RunControllers, build, text};
pub use reno::Reno;
pub use window::{Window, WindowAlgorithm, WindowController};
