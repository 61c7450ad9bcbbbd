//! A web workload's settings.

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

impl HttpConfig {
    /// The octets of one page's objects, the index among them.
    pub fn page_size(&self) -> Bytes {
        Bytes::new(self.index_size.get() + u64::from(self.objects) * self.object_size.get())
    }
}
