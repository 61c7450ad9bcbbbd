//! Fetches an object over a TCP that hides losses, and repairs the object. This is the session level of the Fast
//! Wireless Protocol (Havey 2015, section 3.3.4).
//!
//! The receiver requests the whole object on one connection. On a second connection, it requests the ranges that its
//! TCP replaced with placeholders (setting `placeholders`; RFC 9110, section 14). The object is complete when every
//! byte has arrived once.
//!
//! Design choices:
//!
//! - The dissertation finds placeholders by searching for their marker, but data can contain the same bytes. Here TCP
//!   reports the placeholders.
//! - The dissertation uses `curl` for the ranges. By default all requests share a connection that stays open. With
//!   `range_connections`, each range has a connection of its own, as with one `curl` per range: a handshake and a
//!   request precede the data. The client aborts such a connection if the header of its response is missing.
//! - If the header of a response is missing, the client searches for the next header. It requests all ranges before
//!   that header again.
//!
//! Left out: TLS, and the applications that section 3.5 proposes: use of the object before it is complete, and ranges
//! that are no longer requested after a deadline.

mod client;
mod config;

pub use client::RepairClient;
pub use config::RepairConfig;

use crate::config::pair;
use crate::http::HttpServer;
use crate::{AppError, AppPair, AppSettings, FlowContext, RunApplications, Side};

impl AppSettings for RepairConfig {
    fn build(&self, _flow: &FlowContext, _own: &RunApplications) -> Result<AppPair, AppError> {
        Ok(pair(HttpServer::new(false), RepairClient::new(*self), Side::From, false))
    }
}
