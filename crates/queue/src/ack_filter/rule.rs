//! The rules that decide which waiting ACKs a new ACK makes superfluous.

use super::ack::{Ack, SackCover};
use lopsided_core::packet::Flags;
use lopsided_spec::Choice;

/// A rule that decides which waiting ACKs are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FilterRule {
    /// Every earlier ACK with a smaller number (balakrishnan1999, section 6.2), whatever SACK blocks and ECN flags it
    /// has.
    #[default]
    Cumulative,
    /// Like `Cumulative`, and also ACKs with the same number and another window (section 8.4, as implemented in PPP).
    Window,
    /// CAKE's `ack-filter`: the oldest of the ACKs that the new ACK covers, if at least two in sequence have the same
    /// ECN flags.
    Conservative,
    /// CAKE's `ack-filter-aggressive`: like `Conservative`, and also a single covered ACK, if it is the connection's
    /// last packet and has the new ACK's ECN flags.
    Aggressive,
    /// ACKs that the new one covers completely, counts of marks included.
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

/// CAKE: true if the newer ACK reports everything that the older one does in number, timestamps and SACK blocks, and
/// more.
#[inline]
pub(super) fn is_covered(older: &Ack, newer: &Ack) -> bool {
    newer.is_at_least(older)
        && match newer.covers_sack_of(older) {
            None => false,
            Some(SackCover::More) => true,
            Some(SackCover::Same) => older.number != newer.number,
        }
}

/// True for an ACK that CAKE may remove: it keeps ACKs with unknown fields, such as those of accurate ECN.
#[inline]
pub(super) fn is_known_to_cake(ack: &Ack) -> bool {
    !ack.flags.has(Flags::AE) && ack.accurate_ecn().is_none()
}

/// True if both ACKs have the same RFC 3168 flags. CAKE requires this of all ACKs between the removed one and the new
/// one.
#[inline]
pub(super) fn has_flags_as(one: &Ack, other: &Ack) -> bool {
    (one.flags.0 ^ other.flags.0) & (Flags::ECE.0 | Flags::CWR.0) == 0
}

/// True if a sender without accurate ECN reads the same from both ACKs' ECN flags.
#[inline]
pub(super) fn says_same_of_ecn(older: &Ack, newer: &Ack) -> bool {
    older.feedback() == newer.feedback()
}

/// For accurate ECN: true if a sender that receives `before` and then `newer` counts the same marks as one that also
/// receives `older` in between.
pub(super) fn counts_as_well(before: &Ack, older: &Ack, newer: &Ack, segment: u32) -> bool {
    // RFC 9768, section 3.2.2: the ACE field counts modulo 8, so both steps together must stay below 8.
    let step = |from: &Ack, to: &Ack| to.ace().wrapping_sub(from.ace()) & 7;
    let counted_by_option = match (older.accurate_ecn(), newer.accurate_ecn()) {
        // RFC 9768, section 3.2.2.5.2 and appendix A: if one ACK covers more than 7 full segments, the field may have
        // wrapped, and the sender relies on the option.
        (None, None) => newer.number.since(before.number) <= 7 * segment,
        (None, Some(_)) => true,
        (Some(_), None) => false,
        (Some(older), Some(newer)) => {
            // A counter that the older option carries must be in the newer one too.
            let told = |older: Option<u32>, newer: Option<u32>| older.is_none() || newer.is_some();
            told(older.ce(), newer.ce()) && told(older.ect0(), newer.ect0()) && told(older.ect1(), newer.ect1())
        }
    };
    counted_by_option && step(before, older) + step(older, newer) <= 7
}
