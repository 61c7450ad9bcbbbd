//! A policy with its own TCP options, modelled on RFC 5690: the data sender requests a number of segments per ACK.

use super::pair::connection_config;
use crate::ack_policy::{AckDecision, AckPolicy, AckView, Arrival, ArrivedData, PeerFeedback, SenderView};
use crate::{ConnConfig, Connection, Profile, Segment};
use lopsided_core::packet::OtherOptions;
use lopsided_core::tcp_event::{AckReason, TcpEvent, TcpEventMask};
use lopsided_core::{Duration, Ecn, Payload, Time};

/// An experimental option kind.
const KIND: u8 = 253;
/// Identifier of the experiment (RFC 6994).
const EXPERIMENT: u8 = 0x56;

/// A policy that requests 8 ACKs per window.
#[derive(Debug)]
struct Ratio {
    /// The number of segments per ACK that the peer requested.
    requested: u64,
}

impl AckPolicy for Ratio {
    fn name(&self) -> &str {
        "ratio"
    }

    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision {
        match data.arrival {
            Arrival::InOrder { closed_gap: false, gaps_left: false } => {
                if u64::from(view.unacked_segments) >= self.requested {
                    AckDecision::Now(AckReason::Count)
                } else {
                    AckDecision::By(now + Duration::from_millis(40))
                }
            }
            _ => AckDecision::Now(AckReason::OutOfOrder),
        }
    }

    fn option_room(&self) -> u32 {
        4
    }

    fn options(&mut self, _now: Time, sender: &SenderView) -> OtherOptions {
        let ratio = if sender.has_data { (sender.cwnd.get() / sender.mss.get() / 8).clamp(1, 255) } else { 0 };
        let mut options = OtherOptions::new();
        options.push(KIND, &[EXPERIMENT, ratio as u8]);
        options
    }

    fn on_feedback(&mut self, _now: Time, feedback: &PeerFeedback<'_>, _sender: &SenderView) {
        if let Some([EXPERIMENT, ratio]) = feedback.options.get(KIND) {
            if feedback.len > 0 {
                self.requested = u64::from(*ratio);
            }
        }
    }
}

fn config(client: bool) -> ConnConfig {
    ConnConfig { ack_policy: Box::new(Ratio { requested: 1 }), ..connection_config(Profile::linux_6_1(), client) }
}

#[test]
fn the_sender_requests_an_ack_ratio_from_the_receiver() {
    let mut now = Time::ZERO;
    let mut client = Connection::connect(config(true));
    let mut server = Connection::listen(config(false));
    server.listen_to(TcpEventMask::ACK);
    let (mut data, mut late_data, mut late_acks) = (0, 0, 0);
    let mut answers = Vec::new();
    while data < 2000 {
        client.write(&Payload::virtual_len(1 << 20)).expect("open");
        let sent: Vec<Segment> = std::iter::from_fn(|| client.poll_segment(now)).collect();
        let mut acks = Vec::new();
        for Segment { header, payload, .. } in &sent {
            assert!(header.len() + payload.len() <= 1480, "the option reduces the payload");
            let requests = header.options.other().get(KIND).is_some_and(|option| option[1] > 0);
            assert_eq!(requests, !payload.is_empty(), "only data segments request an ACK ratio");
            data += u64::from(!payload.is_empty());
            late_data += u64::from(data > 1000);
            server.handle_segment(now, header, payload, Ecn::NotEct);
            let _ = server.read(now, u64::MAX);
            acks.extend(std::iter::from_fn(|| server.poll_segment(now)));
            late_acks += if data > 1000 { acks.len() as u64 } else { 0 };
            answers.append(&mut acks);
        }
        for Segment { header, payload, .. } in answers.drain(..) {
            client.handle_segment(now, &header, &payload, Ecn::NotEct);
        }
        now += Duration::from_millis(10);
        client.handle_timeout(now);
        server.handle_timeout(now);
        answers.extend(std::iter::from_fn(|| server.poll_segment(now)));
    }
    let cwnd = client.cwnd().get() / 1444;
    assert!(late_data / late_acks.max(1) > 8, "{late_acks} ACKs of {late_data} segments in a window of {cwnd}");
    let reasons = std::iter::from_fn(|| server.poll_trace())
        .filter(|timed| matches!(timed.event, TcpEvent::AckSent { why: AckReason::Count, .. }));
    assert!(reasons.count() > 10);
}
