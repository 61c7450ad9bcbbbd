//! Congestion control: the interface of a controller, and one file per algorithm.
//!
//! A controller sets targets (window, threshold, pacing rate). The connection detects losses and selects the segments
//! to send. During fast recovery the connection also reduces the window to the target (RFC 6937), unless the controller
//! [owns the recovery](Controller::owns_recovery).
//!
//! Most algorithms define only how the window grows and how it is reduced, as a [`WindowAlgorithm`].
//! [`WindowController`] turns such an algorithm into a controller.

mod bbr;
mod bbr3;
mod bic;
mod classic_queue;
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

pub use controller::{Acked, CcState, Controller, EcnUse, Feedback, Idle, Lost, PathState, RateSample, Setup, Signal};
pub use cubic::Cubic;
pub(crate) use registry::maker;
pub use registry::{CONTROLLERS, ControllerFactory, NameTaken, RunControllers, build, text};
pub use reno::Reno;
pub use window::{Window, WindowAlgorithm, WindowController};
