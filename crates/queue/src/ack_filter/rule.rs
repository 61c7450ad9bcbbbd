//! The rules that decide which queued ACKs a new ACK makes superfluous.

use super::ack::{Ack, SackCover};
use lopsided_core::packet::Flags;
use lopsided_spec::Choice;

/// A rule that decides which queued ACKs are removed when a new ACK arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FilterRule {
    /// Removes every earlier ACK with a smaller number (balakrishnan1999, section 6.2).
    #[default]
    Cumulative,
    /// Like `Cumulative`, but also removes ACKs with the same number and a different window (section 8.4).
    Window,
    /// CAKE's `ack-filter`: removes the oldest covered ACK if at least two consecutive ACKs with the same ECN flags are
    /// covered.
    Conservative,
    /// CAKE's `ack-filter-aggressive`: also removes a single covered ACK with the same ECN flags if it is the
    /// connection's latest packet.
    Aggressive,
    /// Removes ACKs that the new ACK covers completely, including their counts of ECN marks.
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

/// CAKE's test: true if `newer` contains all information of `older` and additional information.
#[inline]
pub(super) fn is_covered(older: &Ack, newer: &Ack) -> bool {
    newer.is_at_least(older)
        && match newer.covers_sack_of(older) {
            None => false,
            Some(SackCover::More) => true,
            Some(SackCover::Same) => older.number != newer.number,
        }
}

/// True if CAKE can compare all fields of the ACK. CAKE cannot compare the fields of accurate ECN.
#[inline]
pub(super) fn is_comparable_for_cake(ack: &Ack) -> bool {
    !ack.flags.has(Flags::AE) && ack.accurate_ecn().is_none()
}

/// True if both ACKs have the same RFC 3168 flags.
#[inline]
pub(super) fn has_flags_as(one: &Ack, other: &Ack) -> bool {
    (one.flags.0 ^ other.flags.0) & (Flags::ECE.0 | Flags::CWR.0) == 0
}

/// True if the ECN flags of both ACKs have the same meaning for a sender without accurate ECN.
#[inline]
pub(super) fn same_ecn_meaning(older: &Ack, newer: &Ack) -> bool {
    older.feedback() == newer.feedback()
}

/// For accurate ECN: true if the sender counts the same number of marks when the ACK `older` is removed.
pub(super) fn counts_as_well(before: &Ack, older: &Ack, newer: &Ack, segment: u32) -> bool {
    // RFC 9768, section 3.2.2: the ACE field counts modulo 8. The increase from `before` to `newer` must therefore be
    // below 8.
    let step = |from: &Ack, to: &Ack| to.ace().wrapping_sub(from.ace()) & 7;
    let counted_by_option = match (older.accurate_ecn(), newer.accurate_ecn()) {
        // RFC 9768, section 3.2.2.5.2 and appendix A: if one ACK covers more than 7 full segments, the ACE field may
        // have wrapped around, and the sender needs the option.
        (None, None) => newer.number.since(before.number) <= 7 * segment,
        (None, Some(_)) => true,
        (Some(_), None) => false,
        (Some(older), Some(newer)) => {
            // Each counter that the older option contains must also be in the newer option.
            let is_kept = |older: Option<u32>, newer: Option<u32>| older.is_none() || newer.is_some();
            is_kept(older.ce(), newer.ce())
                && is_kept(older.ect0(), newer.ect0())
                && is_kept(older.ect1(), newer.ect1())
        }
    };
    counted_by_option && step(before, older) + step(older, newer) <= 7
}
