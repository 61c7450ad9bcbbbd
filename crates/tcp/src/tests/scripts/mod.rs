//! Scripted exchanges of segments, one file a topic: what a connection sends, and when, in answer to a peer that the
//! script plays.
//!
//! Expected values come from the RFC that a test names, or from what the named stack is documented to do.

mod accurate_ecn;
mod acking;
mod closing;
mod ecn;
mod freebsd_recovery;
mod handshake;
mod hostile;
mod info;
mod leaving;
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
