//! Receiver Driven Rate Adaptation (Havey 2015, chapter 2): one object over several connections that together take the
//! share of one connection.
//!
//! The crate `lopsided-rdra` decides what to request and when. This module holds the connections, sends requests for
//! byte ranges (RFC 9110, section 14) and checks the bytes of the responses. The server is the one for web pages.
//!
//! Left out: TLS, redirects, servers without range support.

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
