//! ACK congestion control (Balakrishnan, Padmanabhan and Katz, The Effects of Asymmetry on TCP Performance, 1999). The
//! receiver sends one ACK for every `d` segments, and adapts `d` to the congestion on the path of the ACKs. Both ends
//! must use the policy.
//!
//! **By marks** (section 6.1, `acc`): a router marks ACKs (RED with `marks = "all"`), and the data sender echoes the
//! mark. The receiver then doubles `d`, at most once per round trip. Each round trip without a mark reduces `d` by one.
//! `d` is at most `max_delack`, and at most the sender's window divided by `min_acks_per_window`. The authors' code in
//! ns-2 uses 25 segments and 2 ACKs per window.
//!
//! **A round trip** starts at the last byte that has arrived. It ends when data arrives that is one sender's window
//! beyond that byte, because the ACKs of all earlier data have then reached the sender. The authors' code uses the
//! sender's echo of the receiver's clock.
//!
//! **By the window only** (section 8.2, `acc_peerwin`): marks are ignored, and `d` is always the largest permitted
//! value. The paper uses 8 segments and 5 ACKs per window.
//!
//! Each data segment carries a TCP option of 4 bytes with the sender's window in segments and the echoed mark. The
//! option has an experimental kind (RFC 6994), because the paper assigns no kind.
//!
//! **Marked duplicates** (section 6.3): after `mark_duplicates` out-of-order segments, duplicate ACKs carry a flag that
//! requests a retransmission. The paper does not specify `mark_duplicates`.

use super::contract::{AckDecision, AckPolicy, AckView, Arrival, ArrivedData, PeerFeedback, SenderView};
use crate::profile::AckSettings;
use lopsided_core::packet::OtherOptions;
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Duration, Ecn, Time};

/// Kind of the option, from the experimental range (RFC 6994).
const KIND: u8 = 254;
/// Bit of the option that is set if a marked ACK arrived.
const MARKED: u16 = 1 << 15;

#[derive(Debug)]
pub(super) struct AckCongestionControl {
    name: &'static str,
    timeout: Duration,
    /// Maximum number of segments that one ACK may cover.
    most: u32,
    /// Minimum number of ACKs for one window of the peer.
    acks_per_window: u32,
    /// Number of segments that an ACK covers (`d`). `None` for `acc_peerwin`, which always uses the maximum that the
    /// bounds permit.
    delayed: Option<u32>,
    /// The window that the peer last reported, in segments.
    peer_window: u32,
    /// True if the peer has echoed a mark since the last data segment was processed.
    mark_echoed: bool,
    /// End of the received data, as a stream offset.
    came: u64,
    /// End of the data whose ACKs have certainly reached the peer, as a stream offset.
    known: u64,
    /// Value of `came` when a mark last raised `delayed`.
    raised: u64,
    /// Value of `came` when `delayed` last fell.
    lowered: u64,
    /// Duplicate ACKs are marked once this number of segments has arrived out of order; 0 disables the marks.
    mark_from: u32,
    /// Number of segments that arrived out of order since data last arrived in order.
    out_of_order: u32,
    /// True if a marked ACK arrived from the peer and no outgoing segment has echoed the mark yet.
    echo_is_due: bool,
}

impl AckCongestionControl {
    /// Creates the policy `acc`, which adapts to marks.
    pub fn by_marks(settings: &AckSettings) -> AckCongestionControl {
        AckCongestionControl { name: "acc", delayed: Some(1), ..AckCongestionControl::by_window(settings) }
    }

    /// Creates the policy `acc_peerwin`, which uses only the peer's window.
    pub fn by_window(settings: &AckSettings) -> AckCongestionControl {
        AckCongestionControl {
            name: "acc_peerwin",
            timeout: settings.max_delay,
            most: settings.max_delack.max(1),
            acks_per_window: settings.min_acks_per_window.max(1),
            delayed: None,
            peer_window: 0,
            mark_echoed: false,
            came: 0,
            known: 0,
            raised: 0,
            lowered: 0,
            mark_from: settings.mark_duplicates,
            out_of_order: 0,
            echo_is_due: false,
        }
    }

    /// Returns the maximum number of segments that one ACK may cover now.
    fn bound(&self) -> u32 {
        (self.peer_window / self.acks_per_window).clamp(1, self.most)
    }

    /// Returns the number of segments that one ACK covers now.
    fn segments(&self) -> u32 {
        self.delayed.map_or(self.bound(), |delayed| delayed.min(self.bound()))
    }

    /// Adapts `d` after data up to the offset `end` has arrived. `mss` is the peer's segment size in bytes.
    fn adapt(&mut self, end: u64, mss: u32) {
        self.came = self.came.max(end);
        // The sender sends at most one window beyond the last ACK that it received.
        self.known = self.known.max(end.saturating_sub(u64::from(self.peer_window) * u64::from(mss)));
        let mark_echoed = std::mem::take(&mut self.mark_echoed);
        let Some(delayed) = &mut self.delayed else { return };
        // Change `d` at most once per round trip. After an increase, wait until the ACKs of all data that had arrived
        // by then have reached the sender.
        if self.known < self.raised {
            return;
        }
        if mark_echoed {
            *delayed = (2 * *delayed).min(self.most);
            self.raised = self.came;
        } else if self.known >= self.lowered {
            *delayed = (*delayed - 1).max(1);
            self.lowered = self.came;
        }
    }
}

impl AckPolicy for AckCongestionControl {
    fn name(&self) -> &str {
        self.name
    }

    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision {
        self.adapt(data.end, view.rcv_mss);
        match data.arrival {
            Arrival::OutOfOrder => self.out_of_order += 1,
            Arrival::InOrder { .. } => self.out_of_order = 0,
            Arrival::Duplicate => {}
        }
        let segments = self.segments();
        match data.arrival.at_once() {
            Some(why) => AckDecision::Now(why),
            None if view.unacked_segments >= segments => AckDecision::Now(AckReason::Count),
            None => AckDecision::By(now + self.timeout),
        }
    }

    fn asks_retransmit(&self) -> bool {
        self.mark_from > 0 && self.out_of_order >= self.mark_from
    }

    fn option_room(&self) -> u32 {
        4
    }

    fn options(&mut self, _now: Time, sender: &SenderView) -> OtherOptions {
        let mut options = OtherOptions::new();
        if sender.has_data {
            let window = (sender.window.get() / sender.mss.get().max(1)).min(u64::from(MARKED - 1)) as u16;
            let mark = if std::mem::take(&mut self.echo_is_due) { MARKED } else { 0 };
            options.push(KIND, &(window | mark).to_be_bytes());
        }
        options
    }

    fn on_feedback(&mut self, _now: Time, feedback: &PeerFeedback<'_>, _sender: &SenderView) {
        if let Some(&[high, low]) = feedback.options.get(KIND) {
            let value = u16::from_be_bytes([high, low]);
            self.peer_window = u32::from(value & (MARKED - 1));
            self.mark_echoed |= value & MARKED != 0;
        }
        self.echo_is_due |= feedback.len == 0 && feedback.ecn == Ecn::Ce;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use lopsided_core::Bytes;
    use lopsided_core::packet::Flags;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn policy(by_marks: bool) -> AckCongestionControl {
        let settings = AckSettings { max_delack: 25, min_acks_per_window: 2, ..Profile::ns2_reno().ack };
        if by_marks { AckCongestionControl::by_marks(&settings) } else { AckCongestionControl::by_window(&settings) }
    }

    fn sender(window: u64, has_data: bool) -> SenderView {
        let mss = Bytes::new(1000);
        SenderView {
            cwnd: Bytes::new(1000 * window),
            mss,
            srtt: None,
            window: Bytes::new(1000 * window),
            has_data,
            outstanding: Bytes::new(1000 * window),
            undisturbed: true,
        }
    }

    /// Simulates the arrival of a segment that reports the peer's window (in segments), with or without a mark.
    fn report_window(policy: &mut AckCongestionControl, window: u64, marked: bool) {
        let mut peer = super::tests::policy(true);
        peer.echo_is_due = marked;
        let options = peer.options(at(1), &sender(window, true));
        let feedback = PeerFeedback { ecn: Ecn::NotEct, flags: Flags::ACK, options: &options, len: 1000, acked: 0 };
        policy.on_feedback(at(1), &feedback, &sender(1, false));
    }

    /// Simulates the arrival of segment `number` from a sender with 100 outstanding segments.
    fn comes(policy: &mut AckCongestionControl, number: u64, marked: bool) -> u32 {
        report_window(policy, 100, marked);
        policy.adapt(1000 * (number + 1), 1000);
        policy.segments()
    }

    #[test]
    fn a_mark_doubles_the_ack_ratio_and_an_unmarked_round_trip_reduces_it_by_one() {
        let mut policy = policy(true);
        assert_eq!(comes(&mut policy, 1000, false), 1);
        assert_eq!(comes(&mut policy, 1001, true), 2);
        assert_eq!(comes(&mut policy, 1050, true), 2, "at most one increase per round trip");
        assert_eq!(comes(&mut policy, 1100, true), 2);
        let raised = [4, 8, 16, 25];
        assert_eq!(
            [1101, 1201, 1301, 1401].map(|number| comes(&mut policy, number, true)),
            raised,
            "at most max_delack"
        );
        assert_eq!(comes(&mut policy, 1500, false), 25);
        assert_eq!(comes(&mut policy, 1501, false), 24);
        assert_eq!(comes(&mut policy, 1600, false), 24);
        assert_eq!(comes(&mut policy, 1601, false), 23);
        let last = (0..40).map(|round| comes(&mut policy, 1701 + 100 * round, false)).last();
        assert_eq!(last, Some(1));
    }

    #[test]
    fn the_peers_window_limits_the_ack_ratio() {
        let mut policy = policy(false);
        assert_eq!(policy.segments(), 1, "before the peer has reported its window");
        for (window, expected) in [(1, 1), (10, 5), (49, 24), (1000, 25)] {
            report_window(&mut policy, window, false);
            assert_eq!(policy.segments(), expected, "{window}");
        }
    }

    #[test]
    fn a_marked_ack_is_echoed_once_and_marked_data_never() {
        let mut policy = policy(true);
        let arrives = |policy: &mut AckCongestionControl, len, ecn| {
            let options = OtherOptions::new();
            let feedback = PeerFeedback { ecn, flags: Flags::ACK, options: &options, len, acked: 0 };
            policy.on_feedback(at(1), &feedback, &sender(1, true));
        };
        let tells =
            |policy: &mut AckCongestionControl| policy.options(at(1), &sender(3, true)).get(KIND).map(<[u8]>::to_vec);
        arrives(&mut policy, 1000, Ecn::Ce);
        assert_eq!(tells(&mut policy), Some(vec![0, 3]));
        arrives(&mut policy, 0, Ecn::Ce);
        assert_eq!(tells(&mut policy), Some(vec![0x80, 3]));
        assert_eq!(tells(&mut policy), Some(vec![0, 3]));
        assert!(policy.options(at(1), &sender(3, false)).is_empty(), "an ACK carries no window");
    }
}
