//! Web pages: a client that asks for the objects of a page over parallel or multiplexed connections, and a server that
//! answers.
//!
//! Requests and responses are real HTTP/1.1 text (RFC 9112) with byte ranges (RFC 9110 section 14), so that a capture
//! of a run shows them. Multiplexing uses the frame layout of HTTP/2 (RFC 9113 section 4.1) with plain text in place of
//! compressed header fields, one round-robin over the open streams and no flow control of its own: what matters to TCP
//! is that all objects share one connection.
//!
//! Leaves out: TLS, header compression, priorities, redirects, caches.

mod client;
mod frames;
mod message;
mod server;

pub use client::HttpClient;
#[cfg(test)]
pub(crate) use message::response_text;
pub(crate) use message::{Head, Request, parse_response};
pub use server::HttpServer;

use crate::config::pair;
use crate::{AppError, AppPair, AppSettings, Applications, FlowContext, Side};
use lopsided_core::{Bytes, Duration};
use lopsided_spec::{Fault, Key, Part, key};

/// A web workload: pages of objects, one page after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpConfig {
    /// Objects of a page, beside the index.
    pub objects: u32,
    /// The size of each.
    pub object_size: Bytes,
    /// The size of the index, which must be whole before the objects are asked for. Zero: there is none.
    pub index_size: Bytes,
    /// The size of a request; one that is smaller than the text it needs takes what it needs.
    pub request_size: Bytes,
    /// Connections that may be open at once.
    pub connections: u32,
    /// All requests share one connection as streams.
    pub multiplexed: bool,
    /// How many pages; `None`: until the flow stops.
    pub pages: Option<u32>,
    /// Between the end of a page and the start of the next, on new connections.
    pub pause: Duration,
}

impl Default for HttpConfig {
    /// One page of twenty objects over six connections, as browsers open them to one host.
    fn default() -> HttpConfig {
        HttpConfig {
            objects: 20,
            object_size: Bytes::new(20_000),
            index_size: Bytes::new(20_000),
            request_size: Bytes::new(400),
            connections: 6,
            multiplexed: false,
            pages: Some(1),
            pause: Duration::ZERO,
        }
    }
}

impl Part for HttpConfig {
    const NAME: &'static str = "http";
    const TEXT: &'static str =
        "Web pages: the receiver of data asks for the objects of a page, one page after the other.";
    const KEYS: &'static [Key<HttpConfig>] = &[
        key("objects", |http| &mut http.objects, "Objects of a page, beside the index."),
        key("object_size", |http| &mut http.object_size, "The size of each."),
        key(
            "index_size",
            |http| &mut http.index_size,
            "The size of the index, which must be whole before the objects are asked for; \"0 B\": there is none.",
        ),
        key(
            "request_size",
            |http| &mut http.request_size,
            "The size of a request; one that is smaller than the text it needs takes what it needs.",
        ),
        key("connections", |http| &mut http.connections, "Connections that may be open at once."),
        key("multiplexed", |http| &mut http.multiplexed, "All requests share one connection as streams, as in HTTP/2."),
        key("pages", |http: &mut Self| &mut http.pages, "How many pages.").none_word("forever"),
        key(
            "pause",
            |http| &mut http.pause,
            "Between the end of a page and the start of the next, on new connections.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.connections == 0 {
            return Err(Fault::new("connections", "this must be at least 1"));
        }
        if self.pages == Some(0) {
            return Err(Fault::new("pages", "this must be at least 1"));
        }
        if self.page_size() == Bytes::ZERO {
            return Err(Fault::new("objects", "a page of nothing"));
        }
        Ok(())
    }
}

impl AppSettings for HttpConfig {
    fn build(&self, _flow: &FlowContext, _own: &Applications) -> Result<AppPair, AppError> {
        Ok(pair(HttpServer::new(self.multiplexed), HttpClient::new(*self), Side::From, false))
    }
}

impl HttpConfig {
    /// The octets of one page's objects, the index among them.
    pub fn page_size(&self) -> Bytes {
        Bytes::new(self.index_size.get() + u64::from(self.objects) * self.object_size.get())
    }
}

/// The longest header section that either end reads.
pub(crate) const MAX_HEADER: usize = 16 << 10;

/// The octets `[from, from + len)` of an object: a pattern in which every octet depends on its place, so that a
/// receiver can check them: the highest octet of its number times a large odd one.
pub(crate) fn content(from: u64, len: u64) -> Vec<u8> {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    // Four at a time, each by adding: a product for every octet costs more than all the TCP around it.
    let start = from.wrapping_mul(FACTOR);
    let mut lanes = [0, 1, 2, 3].map(|lane: u64| start.wrapping_add(lane.wrapping_mul(FACTOR)));
    let mut octets = vec![0; len as usize];
    for four in octets.chunks_mut(4) {
        for (octet, lane) in four.iter_mut().zip(&mut lanes) {
            *octet = (*lane >> 56) as u8;
            *lane = lane.wrapping_add(FACTOR.wrapping_mul(4));
        }
    }
    octets
}
