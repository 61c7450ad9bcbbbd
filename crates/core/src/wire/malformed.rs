//! Why octets cannot be read as a packet.

use std::fmt;

/// Why octets are not a packet that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The octets end before a header or the packet does.
    Truncated,
    /// Neither version 4 of IP nor 6.
    NotIp,
    /// A fragment: only whole packets are read.
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
