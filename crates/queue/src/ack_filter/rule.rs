//! Which waiting ACKs a new one makes superfluous.

use super::ack::{Ack, SackCover};
use lopsided_core::packet::Flags;
use lopsided_spec::Choice;

/// The rule by which a filter judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FilterRule {
    /// Every earlier ACK with a smaller number (balakrishnan1999 section 6.2), including its SACK and ECN reports.
    #[default]
    Cumulative,
    /// As `Cumulative`, plus ACKs with the same number and another window (section 8.4, as implemented in PPP).
    Window,
    /// CAKE's `ack-filter`: of the ACKs that the new one covers the oldest, if there are two with the same ECN flags and
    /// no other between them.
    Conservative,
    /// CAKE's `ack-filter-aggressive`: also the only one, if it is the connection's last packet and its ECN flags are
    /// the same.
    Aggressive,
    /// ACKs that the new one covers completely, including counts of marks.
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

/// CAKE: true if the older ACK's number, timestamps and SACK blocks add nothing to the newer one's, and the newer one
/// reports more.
#[inline]
pub(super) fn is_covered(older: &Ack, newer: &Ack) -> bool {
    newer.is_at_least(older)
        && match newer.covers_sack_of(older) {
            None => false,
            Some(SackCover::More) => true,
            Some(SackCover::Same) => older.number != newer.number,
        }
}

/// CAKE keeps ACKs with unknown fields, among them the flag and options of accurate ECN.
#[inline]
pub(super) fn is_known_to_cake(ack: &Ack) -> bool {
    !ack.flags.has(Flags::AE) && ack.accurate_ecn().is_none()
}

/// CAKE requires equal RFC 3168 flags in all ACKs between the removed one and the new one.
#[inline]
pub(super) fn has_flags_as(one: &Ack, other: &Ack) -> bool {
    (one.flags.0 ^ other.flags.0) & (Flags::ECE.0 | Flags::CWR.0) == 0
}

/// True if the ECN flags have the same meaning for a sender without accurate ECN.
#[inline]
pub(super) fn says_same_of_ecn(older: &Ack, newer: &Ack) -> bool {
    older.feedback() == newer.feedback()
}

/// With accurate ECN: true if a sender that saw `before` and sees `newer` counts the marks like one that also saw
/// `older` between them. The three flags count modulo 8, so both steps together must stay below 8. If more than seven
/// segments of `segment` bytes are acknowledged at once, a sender cannot be sure and uses the option (RFC 9768 section
/// 3.2.2.5.2 and appendix A).
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
