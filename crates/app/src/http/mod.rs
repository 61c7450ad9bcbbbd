//! Web pages: a client that asks for the objects of a page over parallel or multiplexed connections, and a server that
//! answers.
//!
//! Requests and responses are real HTTP/1.1 text (RFC 9112) with byte ranges (RFC 9110 section 14), so that a capture
//! of a run shows them. Multiplexing uses the frame layout of HTTP/2 (RFC 9113 section 4.1) with plain text in place of
//! compressed header fields, one round-robin over the open streams and no flow control of its own: what matters to TCP
//! is that all objects share one connection.
//!
//! Over a transport with streams the client opens one connection for a page and a stream for each request, and ends its side
//! of the stream behind the request (RFC 9114 section 4.1).
//!
//! Leaves out: TLS, header compression, priorities, redirects, caches.

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
