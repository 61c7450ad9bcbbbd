//! One object over several connections, at the share of one: Receiver Driven Rate Adaptation (Havey 2015, chapter 2).
//!
//! What to ask for and when is `lopsided-rdra`'s; here are the connections, requests for byte ranges (RFC 9110 section
//! 14), and the answers, whose octets are checked. The server is that of web pages.
//!
//! Leaves out: TLS, redirects, a server that knows no ranges.

mod client;
mod config;

pub use client::RdraClient;
pub use config::RdraConfig;

use crate::config::pair;
use crate::http::HttpServer;
use crate::{AppError, AppPair, AppSettings, FlowContext, RunApplications, Side};

impl AppSettings for RdraConfig {
    fn build(&self, _flow: &FlowContext, _own: &RunApplications) -> Result<AppPair, AppError> {
        Ok(pair(HttpServer::new(false), RdraClient::new(*self), Side::From, false))
    }
}
