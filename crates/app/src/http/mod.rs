//! Web pages: a client that requests the objects of a page over parallel connections or over one multiplexed
//! connection, and a server that responds.
//!
//! Requests and responses are real HTTP/1.1 text (RFC 9112) with byte ranges (RFC 9110, section 14). Multiplexing uses
//! the frame layout of HTTP/2 (RFC 9113, section 4.1), with header fields as plain text, round-robin service and no
//! HTTP/2 flow control.
//!
//! If the transport has streams, the client opens one connection per page and one stream per request (RFC 9114, section
//! 4.1).
//!
//! Left out: TLS, header compression, priorities, redirects, caches.

mod client;
mod config;
pub(crate) mod content;
mod frames;
mod message;
mod server;

pub use client::HttpClient;
pub use config::HttpConfig;
#[cfg(test)]
pub(crate) use message::response_text;
pub(crate) use message::{Head, Request, parse_response};
pub use server::HttpServer;

use crate::config::pair;
use crate::{AppError, AppPair, AppSettings, FlowContext, Opening, RunApplications, Side};

impl AppSettings for HttpConfig {
    fn build(&self, flow: &FlowContext, _own: &RunApplications) -> Result<AppPair, AppError> {
        let (server, client) = match flow.opening {
            Opening::Sender => (HttpServer::new(self.multiplexed), HttpClient::new(*self)),
            Opening::Receiver => (HttpServer::new(false), HttpClient::over_streams(*self)),
        };
        Ok(pair(server, client, Side::From, false))
    }
}
