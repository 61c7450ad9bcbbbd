//! Scripted exchanges of segments, one file per topic. The script plays the peer, and checks the connection's segments
//! and their send times.
//!
//! The expected values come from the RFC or from the documented behaviour of the stack that the test names.

mod accurate_ecn;
mod acking;
mod closing;
mod ecn;
mod freebsd_recovery;
mod handshake;
mod hostile;
mod info;
mod leaving;
mod linux_6_12;
mod path_mtu;
mod placeholders;
mod quick_acks;
mod receive_memory;
mod receive_window;
mod recovery;
mod sack_blocks;
mod script;
mod sending;
mod socket_options;
mod spec;
mod timeouts;
mod told;
mod wrap;
