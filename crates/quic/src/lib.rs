//! QUIC flows: a real stack (quinn-proto, RFC 9000 and RFC 9002) as a transport of lopsided's hosts, in virtual time.
//!
//! - [`QuicConfig`] contains the settings that a scenario may change, and the named ACK behaviours with their sources.
//! - The folder `quinn/` contains all code that uses quinn: the endpoint behind [`lopsided_app::Transport`], a session
//!   without encryption, and congestion controls. The feature `noq` replaces quinn with its fork noq-proto
//!   (`stack.rs`).
//! - `frames.rs` parses the packets, which are not encrypted, for counters and qlog.
//!
//! # Deviations from real QUIC
//!
//! Packets have the sizes of QUIC version 1 with TLS 1.3 and AES-GCM, but their contents are not encrypted. The tag
//! contains a checksum, so an endpoint discards a changed packet. Stages must treat the contents as if they were
//! encrypted.
//!
//! # Determinism
//!
//! Every random source of quinn is seeded from the flow's own random stream. quinn's instants are a base plus the
//! simulator's time in nanoseconds. Only differences between instants affect packets.
//!
//! Left out: 0-RTT, Retry, migration, datagrams (RFC 9221), multipath, real encryption and its cost.

#![deny(missing_docs)]

mod config;
pub mod frames;
#[cfg(feature = "stack")]
mod quinn;

pub use config::{CcSource, QuicConfig};
#[cfg(feature = "stack")]
pub use quinn::{Clock, QuicEndpoint, forged_packet};
