//! Scripted exchanges of segments, one file per topic: the segments that a connection sends, with their times, in
//! answer to a peer that the script plays.
//!
//! Expected values come from the RFC that a test names, or from the documented behaviour of the named stack.

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
mod quick_acks;
mod receive_memory;
mod recovery;
mod script;
mod sending;
mod socket_options;
mod spec;
mod timeouts;
mod wrap;
