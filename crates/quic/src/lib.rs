//! QUIC flows: a real stack (quinn-proto, RFC 9000 and RFC 9002) as a transport of lopsided's hosts, in virtual time.
//!
//! - [`QuicConfig`] holds the settings that a scenario may change, and the named ACK behaviours with their sources.
//! - `quinn/` is all that names quinn: the endpoint behind [`lopsided_app::Transport`], a session without encryption, and
//!   congestion controls. An update of quinn touches that folder only.
//! - `frames.rs` reads the packets, which are not encrypted, for counters and qlog.
//!
//! # What is real and what is not
//!
//! Packets have the sizes of QUIC version 1 with TLS 1.3 and AES-GCM: 16-byte tags, padded Initial packets of 1,200 bytes and
//! more, a certificate flight of a configurable size. Their contents are not encrypted; the tag holds a checksum instead of
//! an authentication code, so that a changed packet is discarded as a real endpoint discards it. Networks between the
//! endpoints must treat the contents as unreadable: no stage of lopsided reads them.
//!
//! # Determinism
//!
//! Every source of randomness that quinn offers is seeded from the flow's own stream: the endpoint's generator, the
//! connection IDs, the keys of tokens. An instant is a base plus the simulator's nanoseconds, and only differences reach the
//! packets.
//!
//! Leaves out: 0-RTT, Retry, migration, datagrams (RFC 9221), multipath, real encryption and its cost.

mod config;
pub mod frames;
#[cfg(feature = "stack")]
mod quinn;

pub use config::{CcSource, QuicConfig};
#[cfg(feature = "stack")]
pub use quinn::{Clock, QuicEndpoint};
