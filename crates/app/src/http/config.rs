//! Settings of web pages.

use lopsided_core::{Bytes, Duration};
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of a web workload: pages that are loaded one after the other, each with several objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpConfig {
    /// Number of objects per page, not counting the index.
    pub objects: u32,
    /// Size of each object.
    pub object_size: Bytes,
    /// Size of the index; 0 for a page without an index. Objects are requested after the index is complete.
    pub index_size: Bytes,
    /// Size of each request. A request is never smaller than its text.
    pub request_size: Bytes,
    /// Maximum number of parallel connections.
    pub connections: u32,
    /// True if all requests share one connection as streams, as in HTTP/2.
    pub multiplexed: bool,
    /// Number of pages; `None` to continue until the flow stops.
    pub pages: Option<u32>,
    /// Time between the end of a page and the start of the next page. Each page opens new connections.
    pub pause: Duration,
}

impl Default for HttpConfig {
    /// Returns a page of 20 objects over 6 connections. Browsers open up to 6 connections to a host.
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
        "Web pages. The data receiver loads one page after another and requests the objects of each page.";
    const KEYS: &'static [Key<HttpConfig>] = &[
        key("objects", |http| &mut http.objects, "Number of objects of a page, in addition to the index."),
        key("object_size", |http| &mut http.object_size, "Size of each object."),
        key(
            "index_size",
            |http| &mut http.index_size,
            "Size of the index, which the client must have received before it requests the objects; \"0 B\": no \
             index.",
        ),
        key(
            "request_size",
            |http| &mut http.request_size,
            "Size of a request. A request is never smaller than its text.",
        ),
        key("connections", |http| &mut http.connections, "Maximum number of parallel connections."),
        key("multiplexed", |http| &mut http.multiplexed, "All requests share one connection as streams, as in HTTP/2."),
        key("pages", |http: &mut Self| &mut http.pages, "Number of pages.").none_word("forever"),
        key(
            "pause",
            |http| &mut http.pause,
            "Time from the end of a page to the start of the next page. Each page uses new connections.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.connections == 0 {
            return Err(Fault::new("connections", "this must be at least 1"));
        }
        if self.pages == Some(0) {
            return Err(Fault::new("pages", "this must be at least 1"));
        }
        // An empty page would complete immediately, and the pages would follow one another in an endless loop.
        if self.page_size() == Bytes::ZERO {
            return Err(Fault::new("objects", "a page must contain at least 1 B"));
        }
        Ok(())
    }
}

impl HttpConfig {
    /// Returns the size of one page: all objects and the index.
    pub fn page_size(&self) -> Bytes {
        Bytes::new(self.index_size.get() + u64::from(self.objects) * self.object_size.get())
    }
}
