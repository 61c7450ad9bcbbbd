//! RFC 5690: acknowledgement congestion control (AckCC). The data sender detects lost or marked ACKs and sends the
//! receiver the ACK Ratio: the number of segments that an ACK covers. Both ends must use the policy.
//!
//! **Sender** (sections 4.4, 4.5). A pure ACK for more segments than the ratio shows that an ACK was lost. A window of
//! data with a lost or marked ACK doubles the ratio R. After cwnd / (MSS (R^2 - R)) windows without a lost or marked
//! ACK, R decreases by one. R is at most the greater of 2 and half the window in segments, and at most `max_delack` (J
//! in section 4.5).
//!
//! **Receiver** (sections 4.3, 4.6). The receiver sends an ACK for every R segments. The first three out-of-order
//! segments of a loss event are acknowledged at once.
//!
//! Each data segment carries the ratio in an option of 3 bytes with an experimental kind.
//!
//! Not modelled: the handshake option, ECN-capable ACKs (use `marks = "all"`), the pacing of section 4.7 (use
//! `max_burst`) and growth by bytes (use `abc`).

use super::contract::{AckDecision, AckPolicy, AckView, Arrival, ArrivedData, PeerFeedback, SenderView};
use crate::profile::AckSettings;
use lopsided_core::packet::OtherOptions;
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Duration, Ecn, Time};
use std::ops::RangeInclusive;

/// An experimental option kind (RFC 4727).
const KIND: u8 = 253;
/// Initial ACK ratio, in segments per ACK.
const FIRST: u32 = 2;
/// Minimum number of ACKs per window (K).
const ACKS_PER_WINDOW: u64 = 2;
/// Number of out-of-order segments that are acknowledged at once.
const DUPLICATES_AT_ONCE: u32 = 3;
/// Maximum delay of an ACK (section 4.6).
const LONGEST: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct AckRatio {
    timeout: Duration,
    receiver: Receiver,
    sender: Sender,
}

/// The ratio that the peer requested, and the state of this end's own ACKs.
#[derive(Debug)]
struct Receiver {
    ratio: u32,
    /// Number of out-of-order segments since the current loss event began.
    out_of_order: u32,
    /// Number of out-of-order segments that no ACK has reported yet.
    held: u32,
}

/// The ratio that this end requests from the peer, and the measurements from which it is computed.
#[derive(Debug)]
struct Sender {
    /// Maximum ratio (J).
    most: u32,
    /// The ratio that this end requests.
    ratio: u32,
    /// The largest ratio that the peer may still use. More segments per ACK mean that an ACK was lost.
    allowed: u32,
    /// Bytes that must still be acknowledged before the current window ends.
    window_left: u64,
    /// True if an ACK in the current window was lost or marked.
    lossy: bool,
    /// Number of windows since an ACK was last lost or marked.
    clean: u64,
    /// Number of windows without a lost or marked ACK after which the ratio is reduced by one.
    needed: u64,
}

impl AckRatio {
    pub fn new(settings: &AckSettings) -> AckRatio {
        AckRatio {
            timeout: settings.max_delay.min(LONGEST),
            receiver: Receiver { ratio: FIRST, out_of_order: 0, held: 0 },
            sender: Sender {
                most: settings.max_delack.clamp(FIRST, 255),
                ratio: FIRST,
                allowed: FIRST,
                window_left: 0,
                lossy: false,
                clean: 0,
                needed: 1,
            },
        }
    }
}

impl Sender {
    /// Returns the ratios that are permitted for the current congestion window.
    fn bounds(&self, view: &SenderView) -> RangeInclusive<u32> {
        let (cwnd, mss) = (view.cwnd.get(), view.mss.get().max(1));
        let most = u32::try_from(cwnd.div_ceil(ACKS_PER_WINDOW * mss)).unwrap_or(u32::MAX).max(FIRST).min(self.most);
        let least = if cwnd >= 4 * mss { FIRST } else { 1 };
        least.min(most)..=most
    }

    /// Processes an acknowledgement of `acked` bytes. `pure` is true if the segment carries no data, `marked` if it is
    /// CE-marked.
    fn on_ack(&mut self, acked: u64, pure: bool, marked: bool, view: &SenderView) {
        let mss = view.mss.get().max(1);
        // The bounds depend on cwnd, so apply them at every ACK, even within a window of data.
        self.change(self.ratio, view);
        // Section 4.4: an ACK for more segments than the ratio means that an earlier ACK was lost.
        let lost = pure && view.undisturbed && acked > u64::from(self.allowed) * mss;
        if (lost || marked) && !self.lossy {
            let doubled = 2 * self.ratio;
            (self.lossy, self.clean, self.window_left) = (true, 0, view.cwnd.get());
            self.change(doubled, view);
            let ratio = u64::from(self.ratio);
            // Section 4.5: number of windows until the next decrease, cwnd / (MSS (R^2 - R)).
            self.needed = view.cwnd.get().div_ceil(mss * (ratio * ratio - ratio).max(1)).max(1);
            return;
        }
        self.window_left = self.window_left.saturating_sub(acked);
        if self.window_left > 0 {
            return;
        }
        self.window_left = view.cwnd.get();
        self.allowed = self.ratio;
        self.clean = if std::mem::take(&mut self.lossy) { 0 } else { self.clean + 1 };
        if self.clean >= self.needed {
            self.clean = 0;
            self.change(self.ratio.saturating_sub(1), view);
        }
    }

    /// Changes the ratio within its bounds. The peer may use the old ratio until a window of data is acknowledged.
    fn change(&mut self, to: u32, view: &SenderView) {
        let bounds = self.bounds(view);
        self.ratio = to.clamp(*bounds.start(), *bounds.end());
        self.allowed = self.allowed.max(self.ratio);
    }
}

impl AckPolicy for AckRatio {
    fn name(&self) -> &'static str {
        "rfc5690"
    }

    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision {
        let Receiver { ratio, out_of_order, held } = &mut self.receiver;
        match data.arrival {
            Arrival::OutOfOrder => {
                *out_of_order += 1;
                *held += 1;
                // RFC 5681, section 3.2: the sender needs three duplicate ACKs to retransmit, so the first three are
                // sent at once.
                let at_once = *ratio <= FIRST || *out_of_order <= DUPLICATES_AT_ONCE || *held >= *ratio;
                if at_once { AckDecision::Now(AckReason::OutOfOrder) } else { AckDecision::By(now + self.timeout) }
            }
            Arrival::InOrder { closed_gap: false, gaps_left: false } => {
                *out_of_order = 0;
                let enough = view.unacked_segments >= *ratio;
                if enough { AckDecision::Now(AckReason::Count) } else { AckDecision::By(now + self.timeout) }
            }
            // RFC 5681, section 4.2: data that fills all or part of a gap is acknowledged at once.
            Arrival::InOrder { gaps_left, .. } => {
                *out_of_order = if gaps_left { *out_of_order } else { 0 };
                AckDecision::Now(AckReason::GapFilled)
            }
            Arrival::Duplicate => AckDecision::Now(AckReason::Duplicate),
        }
    }

    fn on_ack_sent(&mut self, _now: Time, _covered: bool) {
        self.receiver.held = 0;
    }

    fn holds_duplicate(&self) -> bool {
        self.receiver.held > 0
    }

    fn option_room(&self) -> u32 {
        4
    }

    fn options(&mut self, _now: Time, sender: &SenderView) -> OtherOptions {
        let mut options = OtherOptions::new();
        if sender.has_data {
            options.push(KIND, &[self.sender.ratio as u8]);
        }
        options
    }

    fn on_feedback(&mut self, _now: Time, feedback: &PeerFeedback<'_>, sender: &SenderView) {
        if let Some(&[ratio]) = feedback.options.get(KIND) {
            self.receiver.ratio = u32::from(ratio).max(1);
        }
        let pure = feedback.len == 0;
        let marked = pure && feedback.ecn == Ecn::Ce;
        if feedback.acked > 0 || marked {
            self.sender.on_ack(feedback.acked, pure, marked, sender);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::receive::ack_policy::arrivals::{self, IN_ORDER, arrived};
    use lopsided_core::Bytes;
    use lopsided_core::packet::Flags;

    const NOW: Time = Time::from_nanos(1_000_000_000);
    const MSS: u64 = 1000;

    fn policy() -> AckRatio {
        AckRatio::new(&AckSettings { max_delack: 16, ..Profile::ns2_reno().ack })
    }

    fn sender(segments: u64, undisturbed: bool) -> SenderView {
        let window = Bytes::new(MSS * segments);
        SenderView {
            cwnd: window,
            mss: Bytes::new(MSS),
            srtt: Some(Duration::from_millis(100)),
            window,
            has_data: true,
            outstanding: window,
            undisturbed,
        }
    }

    /// Simulates the arrival of a pure ACK for `segments` segments while cwnd is `window` segments.
    fn acked(policy: &mut AckRatio, segments: u64, window: u64, ecn: Ecn) {
        let options = OtherOptions::new();
        let feedback = PeerFeedback { ecn, flags: Flags::ACK, options: &options, len: 0, acked: MSS * segments };
        policy.on_feedback(NOW, &feedback, &sender(window, true));
    }

    fn asks(policy: &mut AckRatio) -> u32 {
        u32::from(policy.options(NOW, &sender(40, true)).get(KIND).expect("a data segment carries the ratio")[0])
    }

    #[test]
    fn lost_acks_double_the_ratio_once_per_window() {
        let mut policy = policy();
        assert_eq!(asks(&mut policy), 2);
        for _ in 0..20 {
            acked(&mut policy, 2, 40, Ecn::NotEct);
        }
        assert_eq!(asks(&mut policy), 2, "no ACK was lost");
        acked(&mut policy, 4, 40, Ecn::NotEct);
        assert_eq!(asks(&mut policy), 4);
        // The peer now sends one ACK for four segments. The ratio allows this, so no ACK counts as lost.
        for _ in 0..10 {
            acked(&mut policy, 4, 40, Ecn::NotEct);
        }
        assert_eq!(asks(&mut policy), 4);
        acked(&mut policy, 8, 40, Ecn::NotEct);
        acked(&mut policy, 8, 40, Ecn::NotEct);
        assert_eq!(asks(&mut policy), 8, "two losses in one window double the ratio once");
    }

    #[test]
    fn a_mark_counts_as_a_loss_and_the_ratio_stays_within_its_bounds() {
        let mut policy = policy();
        for _ in 0..10 {
            acked(&mut policy, 1, 40, Ecn::Ce);
            for _ in 0..40 {
                acked(&mut policy, 1, 40, Ecn::NotEct);
            }
        }
        assert!(asks(&mut policy) <= 16, "J");
        acked(&mut policy, 1, 9, Ecn::Ce);
        assert_eq!(asks(&mut policy), 5, "half of nine segments, rounded up");
        acked(&mut policy, 1, 2, Ecn::NotEct);
        assert_eq!(asks(&mut policy), 2, "at least two ACKs for a window of four, whatever is lost");
        for _ in 0..20 {
            acked(&mut policy, 1, 2, Ecn::NotEct);
        }
        assert_eq!(asks(&mut policy), 1, "as the RFC allows for fewer than four segments");
        acked(&mut policy, 1, 4, Ecn::NotEct);
        assert_eq!(asks(&mut policy), 2);
    }

    #[test]
    fn windows_without_ack_loss_reduce_the_ratio_by_one_as_in_rfc_4341() {
        let mut policy = policy();
        acked(&mut policy, 4, 40, Ecn::NotEct);
        assert_eq!(asks(&mut policy), 4);
        // Section 4.5: with cwnd = 40 segments and R = 4, R decreases after cwnd / (R^2 - R) = 40 / (16 - 4) windows
        // without a lost ACK, rounded up to 4. The window with the lost ACK is not counted.
        for window in 0..5 {
            assert_eq!(asks(&mut policy), 4, "window {window}");
            for _ in 0..10 {
                acked(&mut policy, 4, 40, Ecn::NotEct);
            }
        }
        assert_eq!(asks(&mut policy), 3);
    }

    #[test]
    fn the_ratio_does_not_change_while_data_is_lost() {
        let mut policy = policy();
        let options = OtherOptions::new();
        let feedback = PeerFeedback { ecn: Ecn::NotEct, flags: Flags::ACK, options: &options, len: 0, acked: 30 * MSS };
        policy.on_feedback(NOW, &feedback, &sender(40, false));
        assert_eq!(asks(&mut policy), 2);
    }

    #[test]
    fn a_receiver_applies_the_requested_ratio_and_delays_duplicates_after_the_third() {
        let mut policy = policy();
        let mut options = OtherOptions::new();
        options.push(KIND, &[4]);
        let feedback = PeerFeedback { ecn: Ecn::NotEct, flags: Flags::ACK, options: &options, len: 1000, acked: 0 };
        policy.on_feedback(NOW, &feedback, &sender(1, true));
        let mut on = |arrival, waiting| {
            let decision = policy.on_data(NOW, &arrived(arrival), &arrivals::waiting(waiting));
            let now = matches!(decision, AckDecision::Now(_));
            if now {
                policy.on_ack_sent(NOW, true);
            }
            now
        };
        assert_eq!([on(IN_ORDER, 1), on(IN_ORDER, 3), on(IN_ORDER, 4)], [false, false, true]);
        let duplicates: Vec<bool> = (0..11).map(|_| on(Arrival::OutOfOrder, 0)).collect();
        assert_eq!(
            duplicates,
            [[true; 3].as_slice(), &[false, false, false, true], &[false, false, false, true]].concat()
        );
        assert!(on(Arrival::InOrder { closed_gap: false, gaps_left: true }, 1), "a filled gap is acknowledged at once");
    }

    /// RFC 5681 section 3.2: a duplicate ACK that waits still has to be sent for each out-of-order segment.
    #[test]
    fn a_held_duplicate_is_announced_until_an_ack_is_sent() {
        let mut policy = policy();
        policy.receiver.ratio = 4;
        let mut held = |arrival, sent: bool| {
            policy.on_data(NOW, &arrived(arrival), &arrivals::waiting(1));
            if sent {
                policy.on_ack_sent(NOW, true);
            }
            policy.holds_duplicate()
        };
        assert!(!held(IN_ORDER, false));
        assert_eq!(
            [true, true, true, false, true].map(|sent| held(Arrival::OutOfOrder, sent)),
            [false, false, false, true, false]
        );
    }
}
