//! The TCP ACK Rate Request option (TARR; Gomez and Crowcroft, draft-ietf-tcpm-ack-rate-request): the data sender
//! requests one ACK for every R full-sized segments. Both ends must use the policy.
//!
//! This sender requests `acks_per_rtt` ACKs per congestion window, with at most `max_delack` segments per ACK. Each
//! data segment repeats a request until a window of data is acknowledged. R = 0 (an immediate ACK) is never sent.
//!
//! The option has kind 254 (RFC 6994) with the identifier 0x00AC, and one byte with R in its upper seven bits.
//!
//! Not modelled: the negotiation in the handshake (both ends must be configured) and the last bit of the byte.

use super::contract::{AckDecision, AckPolicy, AckView, ArrivedData, PeerFeedback, SenderView};
use crate::profile::AckSettings;
use lopsided_core::packet::OtherOptions;
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Duration, Time};

/// Experimental kind of the option (RFC 6994).
const KIND: u8 = 254;
/// Identifier of the experiment (RFC 6994).
const IDENTIFIER: [u8; 2] = [0x00, 0xac];
/// Maximum R: the field has seven bits.
const MOST: u32 = 127;

#[derive(Debug)]
pub(super) struct AckRateRequest {
    timeout: Duration,
    /// Maximum R that this sender requests.
    most: u32,
    /// Number of ACKs per congestion window that this sender requests.
    acks_per_window: u64,
    /// R as the peer requested it, in segments per ACK.
    segments: u32,
    /// True if the peer requested an immediate ACK.
    immediate: bool,
    /// R of the last request that this end sent; `None` before the first.
    asked: Option<u32>,
    /// Number of bytes that must still be acknowledged before the peer has certainly received the last request.
    unknown: u64,
}

impl AckRateRequest {
    pub fn new(settings: &AckSettings) -> AckRateRequest {
        AckRateRequest {
            timeout: settings.max_delay,
            most: settings.max_delack.clamp(1, MOST),
            acks_per_window: u64::from(settings.acks_per_rtt.max(1)),
            segments: settings.segments,
            immediate: false,
            asked: None,
            unknown: 0,
        }
    }
}

impl AckPolicy for AckRateRequest {
    fn name(&self) -> &'static str {
        "tarr"
    }

    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision {
        let immediate = std::mem::take(&mut self.immediate);
        match data.arrival.at_once() {
            Some(why) => AckDecision::Now(why),
            None if view.unacked_segments >= self.segments => AckDecision::Now(AckReason::Count),
            None if immediate => AckDecision::Now(AckReason::Quick),
            None => AckDecision::By(now + self.timeout),
        }
    }

    fn option_room(&self) -> u32 {
        8
    }

    fn options(&mut self, _now: Time, sender: &SenderView) -> OtherOptions {
        let mut options = OtherOptions::new();
        if !sender.has_data {
            return options;
        }
        let mss = sender.mss.get().max(1);
        let wanted = (sender.cwnd.get() / (mss * self.acks_per_window)).clamp(1, u64::from(self.most)) as u32;
        // Repeat a new request until a window of data has been acknowledged, because some segments may be lost.
        if self.asked != Some(wanted) {
            self.asked = Some(wanted);
            self.unknown = sender.outstanding.get() + mss;
        }
        if self.unknown > 0 {
            options.push(KIND, &[IDENTIFIER[0], IDENTIFIER[1], (wanted as u8) << 1]);
        }
        options
    }

    fn on_feedback(&mut self, _now: Time, feedback: &PeerFeedback<'_>, _sender: &SenderView) {
        self.unknown = self.unknown.saturating_sub(feedback.acked);
        if let Some(&[high, low, request]) = feedback.options.get(KIND) {
            match request >> 1 {
                _ if [high, low] != IDENTIFIER => {}
                0 => self.immediate = true,
                segments => self.segments = u32::from(segments),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::receive::ack_policy::arrivals::{self, IN_ORDER, arrived};
    use lopsided_core::packet::Flags;
    use lopsided_core::{Bytes, Ecn};

    const NOW: Time = Time::from_nanos(1_000_000_000);

    fn policy() -> AckRateRequest {
        AckRateRequest::new(&AckSettings { max_delack: 100, acks_per_rtt: 4, ..Profile::ns2_reno().ack })
    }

    fn sender(segments: u64) -> SenderView {
        let window = Bytes::new(1000 * segments);
        let (mss, srtt) = (Bytes::new(1000), Some(Duration::from_millis(100)));
        SenderView { cwnd: window, mss, srtt, window, has_data: true, outstanding: window, undisturbed: true }
    }

    fn feedback(policy: &mut AckRateRequest, options: &OtherOptions, acked: u64) {
        let feedback = PeerFeedback { ecn: Ecn::NotEct, flags: Flags::ACK, options, len: 1000, acked };
        policy.on_feedback(NOW, &feedback, &sender(1));
    }

    fn acknowledges(policy: &mut AckRateRequest, waiting: u32) -> bool {
        matches!(policy.on_data(NOW, &arrived(IN_ORDER), &arrivals::waiting(waiting)), AckDecision::Now(_))
    }

    #[test]
    fn the_request_is_encoded_as_in_the_draft_and_repeated_until_it_is_acknowledged() {
        let mut policy = policy();
        let sent_options = policy.options(NOW, &sender(40));
        assert_eq!(sent_options.get(KIND), Some([0x00, 0xac, 10 << 1].as_slice()), "four ACKs for forty segments");
        assert!(!policy.options(NOW, &sender(40)).is_empty(), "the first may be lost");
        feedback(&mut policy, &OtherOptions::new(), 41_000);
        assert!(policy.options(NOW, &sender(40)).is_empty());
        assert_eq!(policy.options(NOW, &sender(80)).get(KIND), Some([0x00, 0xac, 20 << 1].as_slice()));
        assert_eq!(policy.options(NOW, &sender(4000)).get(KIND), Some([0x00, 0xac, 100 << 1].as_slice()));
    }

    #[test]
    fn the_receiver_applies_the_requested_ratio_and_zero_requests_an_immediate_ack() {
        let mut policy = policy();
        let request = |request: u8| {
            let mut options = OtherOptions::new();
            options.push(KIND, &[0x00, 0xac, request << 1]);
            options
        };
        feedback(&mut policy, &request(5), 0);
        assert_eq!([4, 5].map(|waiting| acknowledges(&mut policy, waiting)), [false, true]);
        feedback(&mut policy, &request(0), 0);
        assert_eq!([1, 1, 5].map(|waiting| acknowledges(&mut policy, waiting)), [true, false, true]);
        let mut foreign = OtherOptions::new();
        foreign.push(KIND, &[0xab, 0xcd, 2 << 1]);
        feedback(&mut policy, &foreign, 0);
        assert!(!acknowledges(&mut policy, 4), "the option of another experiment is ignored");
    }
}
