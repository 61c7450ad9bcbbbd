//! Settings of a fetch that requests missing parts of the object again.

use lopsided_core::{Bytes, Duration};
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of a fetch that requests missing parts of the object again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairConfig {
    /// Size of the object.
    pub size: Bytes,
    /// Size of each request. A request is never smaller than its text.
    pub request_size: Bytes,
    /// A connection is replaced if no data arrives on this connection for this time.
    pub stall_timeout: Duration,
    /// Maximum number of connections for repairs. Each carries one request and is then closed. `None`: all requests
    /// share a connection that stays open.
    pub range_connections: Option<u32>,
}

impl Default for RepairConfig {
    /// Returns a fetch of 10 MB with requests of 100 bytes, like the requests of curl.
    fn default() -> RepairConfig {
        RepairConfig {
            size: Bytes::new(10_000_000),
            request_size: Bytes::new(100),
            stall_timeout: Duration::from_secs(1),
            range_connections: None,
        }
    }
}

impl Part for RepairConfig {
    const NAME: &'static str = "repair";
    const TEXT: &'static str = "Fetches one object. Byte ranges that TCP replaced with placeholders are requested again (Fast Wireless Protocol, Havey 2015).";
    const KEYS: &'static [Key<RepairConfig>] = &[
        key("size", |repair| &mut repair.size, "Size of the object."),
        key(
            "request_size",
            |repair| &mut repair.request_size,
            "Size of a request. A request is never smaller than its text.",
        ),
        key(
            "stall_timeout",
            |repair| &mut repair.stall_timeout,
            "A connection on which no data arrives for this time is closed and opened again.",
        ),
        key(
            "range_connections",
            |repair: &mut Self| &mut repair.range_connections,
            "Largest number of connections for missing ranges at a time. Each fetches one range and is closed, as with one `curl` for each range. `shared`: one connection for all ranges, which stays open.",
        )
        .none_word("shared"),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.size == Bytes::ZERO {
            return Err(Fault::new("size", "the size must be at least 1 B"));
        }
        if self.stall_timeout.is_zero() {
            return Err(Fault::new("stall_timeout", "this must be longer than 0 s"));
        }
        if self.range_connections == Some(0) {
            return Err(Fault::new("range_connections", "without a connection no range could be fetched"));
        }
        Ok(())
    }
}
