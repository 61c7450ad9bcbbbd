//! Repair of an object that arrives over a TCP that hides losses: the session level of the Fast Wireless Protocol
//! (Havey 2015, section 3.3.4).
//!
//! The receiver requests the whole object on one connection, and ranges with placeholders (`placeholders` of its stack)
//! on a second one (RFC 9110, section 14). The object is complete when every byte has arrived once.
//!
//! Choices made here:
//!
//! - The dissertation finds placeholders by searching for their marker, which data can resemble. Here TCP reports them.
//! - The dissertation runs one `curl` per range. Here all requests share a connection that stays open.
//! - If the head of a response is missing, the client searches for the next head and requests everything before it
//!   again.
//!
//! Left out: TLS, and use of the object before it is complete.

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
