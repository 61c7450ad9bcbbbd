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
use crate::{AppError, AppPair, AppSettings, FlowContext, RunApplications, Side};
use lopsided_core::{Bytes, Duration};
use lopsided_spec::{Fault, Key, Part, key};
use std::sync::OnceLock;

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
    fn build(&self, _flow: &FlowContext, _own: &RunApplications) -> Result<AppPair, AppError> {
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

/// Octets after which an object's content repeats: a prime, so that what is out of place by a power of two does not fit.
const PERIOD: usize = 65_521;

/// Two periods of the content, so that as much as one of it stands in one piece wherever it begins. Every octet depends on its place, by
/// which a receiver can check it: the highest octet of its number times a large odd one.
fn pattern() -> &'static [u8] {
    static PATTERN: OnceLock<Vec<u8>> = OnceLock::new();
    let octet = |place: usize| (((place % PERIOD) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    PATTERN.get_or_init(|| (0..2 * PERIOD).map(octet).collect())
}

/// The octets from `from` on as far as they stand in one piece, `len` at most.
fn piece(from: u64, len: usize) -> &'static [u8] {
    let at = (from % PERIOD as u64) as usize;
    &pattern()[at..at + len.min(PERIOD)]
}

/// The octets `[from, from + len)` of an object.
pub(crate) fn content(from: u64, len: u64) -> Vec<u8> {
    let mut octets = Vec::with_capacity(len as usize);
    while octets.len() < len as usize {
        octets.extend_from_slice(piece(from + octets.len() as u64, len as usize - octets.len()));
    }
    octets
}

/// Whether these are the octets of an object from `from` on.
pub(crate) fn is_content(from: u64, octets: &[u8]) -> bool {
    let places = (from..).step_by(PERIOD);
    octets.chunks(PERIOD).zip(places).all(|(part, place)| part == piece(place, part.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_that_of_its_place() {
        let whole = content(0, 3 * PERIOD as u64);
        assert_eq!(whole[..4], [0x00, 0x9e, 0x3c, 0xda], "the highest octets of multiples");
        for (from, len) in [(0, 0), (5, 1), (PERIOD - 1, 2), (7, PERIOD), (PERIOD - 3, 2 * PERIOD)] {
            let part = content(from as u64, len as u64);
            assert_eq!(part, whole[from..from + len]);
            assert!(is_content(from as u64, &part));
            assert!(len == 0 || !is_content(from as u64 + 1, &part), "an octet further");
        }
    }
}
