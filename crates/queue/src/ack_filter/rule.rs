//! Which waiting ACKs a new one makes superfluous.

use super::ack::{Ack, SackCover};
use lopsided_core::packet::Flags;
use lopsided_spec::Choice;

/// The rule by which a filter judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FilterRule {
    /// Every earlier ACK with a smaller number (balakrishnan1999 section 6.2). What it says of SACK and ECN goes with
    /// it.
    #[default]
    Cumulative,
    /// As `Cumulative`, and those with the same number and another window (section 8.4, as implemented in PPP).
    Window,
    /// CAKE's `ack-filter`: of the ACKs that the new one covers the oldest, if there are two with the same ECN flags and
    /// no other between them.
    Conservative,
    /// CAKE's `ack-filter-aggressive`: also the only one, if it is the connection's last packet and its ECN flags are
    /// the same.
    Aggressive,
    /// What the new one covers in full, counts of marks included.
    AccurateEcn,
}

impl Choice for FilterRule {
    const WORDS: &'static [(&'static str, FilterRule)] = &[
        ("cumulative", FilterRule::Cumulative),
        ("window", FilterRule::Window),
        ("conservative", FilterRule::Conservative),
        ("aggressive", FilterRule::Aggressive),
        ("accurate_ecn", FilterRule::AccurateEcn),
    ];
}

/// CAKE: neither number, timestamps nor SACK blocks say anything that the newer one does not, and that says more.
#[inline]
pub(super) fn is_covered(older: &Ack, newer: &Ack) -> bool {
    newer.is_at_least(older)
        && match newer.covers_sack_of(older) {
            None => false,
            Some(SackCover::More) => true,
            Some(SackCover::Same) => older.number != newer.number,
        }
}

/// CAKE leaves alone what it does not know, the flag and the options of accurate ECN among it.
#[inline]
pub(super) fn is_known_to_cake(ack: &Ack) -> bool {
    !ack.flags.has(Flags::AE) && ack.accurate_ecn().is_none()
}

/// CAKE asks for the same flags of RFC 3168 in all ACKs between the one that goes and the new one.
#[inline]
pub(super) fn has_flags_as(one: &Ack, other: &Ack) -> bool {
    (one.flags.0 ^ other.flags.0) & (Flags::ECE.0 | Flags::CWR.0) == 0
}

/// Whether the ECN flags tell a sender without accurate ECN the same.
#[inline]
pub(super) fn says_same_of_ecn(older: &Ack, newer: &Ack) -> bool {
    older.feedback() == newer.feedback()
}

/// With accurate ECN: whether a sender that saw `before` and sees `newer` counts the marks as one that also saw `older`
/// between them. The three flags count modulo 8, so both steps together must stay below; and a sender that cannot be
/// sure of that, as more than seven segments of `segment` octets are acknowledged at once, goes by the option (RFC 9768
/// section 3.2.2.5.2 and appendix A).
pub(super) fn counts_as_well(before: &Ack, older: &Ack, newer: &Ack, segment: u32) -> bool {
    let step = |from: &Ack, to: &Ack| to.ace().wrapping_sub(from.ace()) & 7;
    let counted_by_option = match (older.accurate_ecn(), newer.accurate_ecn()) {
        (None, None) => newer.number.since(before.number) <= 7 * segment,
        (None, Some(_)) => true,
        (Some(_), None) => false,
        (Some(older), Some(newer)) => {
            let told = |older: Option<u32>, newer: Option<u32>| older.is_none() || newer.is_some();
            told(older.ce(), newer.ce()) && told(older.ect0(), newer.ect0()) && told(older.ect1(), newer.ect1())
        }
    };
    counted_by_option && step(before, older) + step(older, newer) <= 7
}
