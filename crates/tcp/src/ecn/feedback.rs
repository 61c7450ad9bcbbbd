//! The kinds of ECN feedback, and their header bits.

use lopsided_core::Ecn;
use lopsided_core::packet::Flags;

/// The way in which the receiver feeds CE marks back to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// No feedback: packets are not ECN-capable.
    None,
    /// One signal per round trip: the receiver sends ECE until the sender's CWR (RFC 3168 section 6.1.3).
    Classic,
    /// ECE reports the mark of each segment (RFC 8257 section 3.2).
    DctcpEcho,
    /// Counters of all marks (RFC 9768).
    Accurate,
}

/// The bits AE, CWR and ECE as a number (the ACE field).
pub(crate) fn ace_of(flags: Flags) -> u8 {
    (flags.0 >> 6) as u8 & 7
}

/// The bits AE, CWR and ECE of a number.
pub(crate) fn flags_of(ace: u8) -> Flags {
    Flags(u16::from(ace & 7) << 6)
}

/// The ACE field that reports the ECN field of a SYN or SYN-ACK (RFC 9768 tables 2 and 3).
pub(crate) fn handshake_ace(arrived: Ecn) -> u8 {
    match arrived {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}
