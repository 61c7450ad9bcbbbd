//! Runs a simulated network with real packets in real time. [`lopsided_net`] has no clock of its own. This crate
//! advances the network by the machine's clock.
//!
//! [`pump`] is the main loop. It reads time and packets from an [`Io`]. The `Io` is the machine's clock with TUN
//! devices, or in tests a virtual clock, with which the digest equals the simulator's digest.
//!
//! Only this crate reads clocks and makes system calls. Each use of `unsafe` states its reason. Left out: Ethernet.

#![deny(missing_docs)]

mod clock;
#[cfg(target_os = "linux")]
pub mod command;
#[cfg(target_os = "linux")]
pub mod emulate;
#[cfg(target_os = "linux")]
pub mod endpoint;
#[cfg(target_os = "linux")]
mod linux;
mod pump;
#[cfg(target_os = "linux")]
mod rate;
#[cfg(target_os = "linux")]
pub mod reflect;
#[cfg(target_os = "linux")]
mod segments;
#[cfg(target_os = "linux")]
pub mod shape;
#[cfg(target_os = "linux")]
pub mod world;

pub use clock::Clock;
#[cfg(target_os = "linux")]
pub use linux::Tun;
pub use pump::{Io, Pumped, Wake, pump};
