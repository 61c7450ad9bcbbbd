//! How marks are fed back, and the header bits that say so.

use lopsided_core::Ecn;
use lopsided_core::packet::Flags;

/// How marks are fed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// They are not: packets are not capable.
    None,
    /// One a round trip: the echo goes on until the sender says that it slowed down (RFC 3168 section 6.1.3).
    Classic,
    /// The echo comes and goes with the marks (RFC 8257 section 3.2).
    DctcpEcho,
    /// A count of all marks (RFC 9768).
    Accurate,
}

/// The three bits as a number: AE, CWR, ECE.
pub(crate) fn ace_of(flags: Flags) -> u8 {
    (flags.0 >> 6) as u8 & 7
}

/// The three bits from a number.
pub(crate) fn flags_of(ace: u8) -> Flags {
    Flags(u16::from(ace & 7) << 6)
}

/// How a handshake tells which codepoint a SYN or SYN/ACK arrived with (RFC 9768 tables 2 and 3).
pub(crate) fn handshake_ace(arrived: Ecn) -> u8 {
    match arrived {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}
