//! One object over a channel whose losses TCP hides, made whole by requests for what is missing: the session level of
//! the Fast Wireless Protocol (Havey 2015, section 3.3.4).
//!
//! The receiver of data asks for the whole object on one connection. Where its TCP has placeholders (`placeholders` of
//! its stack), it asks for those ranges (RFC 9110 section 14) on another, one request behind the other; what is missing
//! in an answer is asked for again. The object is complete when every octet has come once.
//!
//! Chosen here: the dissertation finds placeholders by a search for their marker, which data could look like; here TCP
//! names them. It runs one `curl` for each range; here requests follow each other on a connection that stays. Where the
//! head of an answer is missing, the next answer's is looked for, and what lies between is asked for again.
//!
//! Leaves out: TLS; playing the part of the object that is there.

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
