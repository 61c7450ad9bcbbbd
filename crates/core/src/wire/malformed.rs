//! The reasons why bytes cannot be parsed as a packet.

use std::fmt;

/// The reason why bytes cannot be parsed as a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// The bytes end before the end of a header or of the packet.
    Truncated,
    /// The IP version is neither 4 nor 6.
    NotIp,
    /// The packet is a fragment. Only whole packets are parsed.
    Fragment,
    /// A header's length fields contradict each other.
    Length,
    /// A checksum is wrong.
    Checksum,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Truncated => "the packet ends too early",
            Malformed::NotIp => "not an IP packet",
            Malformed::Fragment => "a fragment of a packet",
            Malformed::Length => "the length fields of the headers contradict each other",
            Malformed::Checksum => "wrong checksum",
        })
    }
}

impl std::error::Error for Malformed {}
