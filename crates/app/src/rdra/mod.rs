//! Receiver Driven Rate Adaptation (Havey 2015, chapter 2): downloads one object over several connections, which
//! together use the bandwidth share of one connection.
//!
//! The crate `lopsided-rdra` decides which ranges to request and when. This module sends the range requests (RFC 9110,
//! section 14) and verifies the responses of the HTTP server.
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
