//! Real packets in real time: the network of [`lopsided_net`], which knows no clock, driven by the machine's.
//!
//! [`pump`] is the loop, over an [`Io`] that brings the time and the packets: the machine's clock and TUN devices here,
//! and in tests a clock that is made. On such a clock the pump gives the simulator's digest, for the order of things is
//! in the network and nowhere else.
//!
//! This crate alone reads clocks and asks the kernel for anything; its modules with `unsafe` in them say why.
//! Leaves out: Ethernet. Packets are those of IP, as a TUN device gives them.

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
