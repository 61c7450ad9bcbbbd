//! One object over a channel whose losses TCP hides, made whole by requests for what is missing: the session level of the Fast Wireless
//! Protocol (Havey 2015, section 3.3.4).
//!
//! The receiver of data asks for the whole object on one connection. Where its TCP has placeholders (`placeholders` of its stack), it asks for
//! those ranges (RFC 9110 section 14) on another, one request behind the other; what is missing in an answer is asked for again. The object is
//! complete when every octet has come once.
//!
//! Chosen here: the dissertation finds placeholders by a search for their marker, which data could look like; here TCP names them. It runs
//! one `curl` for each range; here requests follow each other on a connection that stays. Where the head of an answer is missing, the next
//! answer's is looked for, and what lies between is asked for again.
//!
//! Leaves out: TLS; playing the part of the object that is there.

mod client;

pub use client::RepairClient;

use crate::config::pair;
use crate::http::HttpServer;
use crate::{AppError, AppPair, AppSettings, FlowContext, RunApplications, Side};
use lopsided_core::{Bytes, Duration};
use lopsided_spec::{Fault, Key, Part, key};

/// An object that is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairConfig {
    pub size: Bytes,
    pub request_size: Bytes,
    pub stall_timeout: Duration,
}

impl Default for RepairConfig {
    /// A request as curl writes it takes about a hundred octets.
    fn default() -> RepairConfig {
        RepairConfig {
            size: Bytes::new(10_000_000),
            request_size: Bytes::new(100),
            stall_timeout: Duration::from_secs(1),
        }
    }
}

impl Part for RepairConfig {
    const NAME: &'static str = "repair";
    const TEXT: &'static str = "One object, whose octets that TCP had placeholders for are fetched again by requests for ranges \
         (Fast Wireless Protocol, Havey 2015).";
    const KEYS: &'static [Key<RepairConfig>] = &[
        key("size", |repair| &mut repair.size, "The size of the object."),
        key(
            "request_size",
            |repair| &mut repair.request_size,
            "The size of a request; one that is smaller than the text it needs takes what it needs.",
        ),
        key(
            "stall_timeout",
            |repair| &mut repair.stall_timeout,
            "A connection on which nothing came for so long is given up, and opened anew.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.size == Bytes::ZERO {
            return Err(Fault::new("size", "an object of nothing"));
        }
        if self.stall_timeout.is_zero() {
            return Err(Fault::new("stall_timeout", "this must be longer than nothing"));
        }
        Ok(())
    }
}

impl AppSettings for RepairConfig {
    fn build(&self, _flow: &FlowContext, _own: &RunApplications) -> Result<AppPair, AppError> {
        Ok(pair(HttpServer::new(false), RepairClient::new(*self), Side::From, false))
    }
}
