//! The header bits that carry ECN feedback.

use lopsided_core::Ecn;
use lopsided_core::packet::Flags;

/// Returns the bits AE, CWR and ECE as a 3-bit number (the ACE field).
pub(crate) fn ace_of(flags: Flags) -> u8 {
    (flags.0 >> 6) as u8 & 7
}

/// Converts a 3-bit number (the ACE field) to the flags AE, CWR and ECE.
pub(crate) fn flags_of(ace: u8) -> Flags {
    Flags(u16::from(ace & 7) << 6)
}

/// Returns the ACE field that reports the ECN field of a SYN or SYN-ACK (RFC 9768 tables 2 and 3).
pub(crate) fn handshake_ace(arrived: Ecn) -> u8 {
    match arrived {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}
