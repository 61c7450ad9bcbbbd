//! QUIC flows: a real stack (quinn-proto, RFC 9000 and RFC 9002) as a transport of lopsided's hosts, in virtual time.
//!
//! - [`QuicConfig`] holds the settings that a scenario may change, and the named ACK behaviours with their sources.
//! - The folder `quinn/` contains all code that uses quinn: the endpoint behind [`lopsided_app::Transport`], a session
//!   without encryption, and congestion controls. An update of quinn changes that folder only.
//!   The feature `noq` replaces quinn with its fork noq-proto; `stack.rs` holds most of the differences.
//! - `frames.rs` parses the packets, which are not encrypted, for counters and qlog.
//!
//! # Deviations from real QUIC
//!
//! Packets have the sizes of QUIC version 1 with TLS 1.3 and AES-GCM: tags of 16 bytes, Initial packets padded to at
//! least 1,200 bytes, a certificate flight of a configurable size. Their contents are not encrypted. The tag holds a
//! checksum instead of an authentication code, so an endpoint discards a changed packet as a real one does. Stages of
//! the network must treat the contents as unreadable; all stages of lopsided do.
//!
//! # Determinism
//!
//! Every random source of quinn is seeded from the flow's own stream: the endpoint's generator, the connection IDs, the
//! keys of tokens. An instant is a base plus the simulator's nanoseconds; only differences of instants affect packets.
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
