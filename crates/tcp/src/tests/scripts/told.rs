//! The calls by which a connection notifies its congestion control of ACKs, losses and the path (see
//! [`crate::Controller`]).

use super::script::{MSS, NO_SACK, PEER, Peer, Script, TIMESTAMPS, freebsd, linux};
use crate::ack_policy::{AckDecision, AckPolicy, AckView, ArrivedData, PeerFeedback, SenderView};
use crate::cc::{Idle, Signal};
use crate::tests::witness::{Record, Told, Witness};
use crate::{CaState, Profile};
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Bytes, Duration, Payload, Time};
use std::sync::{Arc, Mutex};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn segments(number: u64) -> Bytes {
    Bytes::new(number * MSS)
}

fn established(profile: Profile, peer: Peer) -> (Record, Script) {
    let (record, controller) = Witness::with_record(&profile, MSS);
    let t = Script::established_under(profile, peer, controller);
    record.take();
    (record, t)
}

#[test]
fn a_plain_ack_is_described_alike_with_and_without_prediction() {
    for predicted in [true, false] {
        let (record, mut t) = established(linux(), PEER);
        t.connection.prediction.off = !predicted;
        t.sends_train(100, 30_000, 1, 10_001);
        assert!(matches!(record.take()[..], [(_, Told::Idle(Idle::TransmitStart { since: Duration::ZERO }))]));
        t.deliver(200, "ack 3001");
        let (ack, path) = record.ack();
        assert_eq!((ack.delivered, ack.cumulative, ack.segments), (segments(3), segments(3), 3));
        assert_eq!((ack.rtt, ack.newest_rtt), (Some(MS(100)), Some(MS(100))));
        assert!(ack.predicted && ack.may_raise && ack.cwnd_limited && ack.cwnd_full);
        assert!(!ack.told && !ack.maybe_delayed && !ack.in_recovery && !ack.ecn_echo);
        assert_eq!((ack.prior_in_flight, ack.reduced_to, ack.ca_state), (segments(10), None, CaState::Open));
        assert_eq!((ack.marked, ack.forward_ms), (Bytes::ZERO, None));
        // Three segments in the 100 ms since the handshake.
        assert_eq!((ack.rate.delivered, ack.rate.interval), (segments(3), MS(100)));
        assert_eq!((ack.rate.prior_delivered, ack.rate.tx_in_flight), (Bytes::ZERO, segments(3)));
        assert_eq!((ack.rate.lost, ack.rate.lost_since_sent), (Bytes::ZERO, Bytes::ZERO));
        assert_eq!((path.in_flight, path.delivered, path.lost), (segments(7), segments(3), Bytes::ZERO));
        assert_eq!((path.una, path.nxt, path.mss), (3000, 10_000, Bytes::new(MSS)));
        assert!(path.sack && !path.app_limited);
        assert_eq!((path.srtt, path.min_rtt), (Some(MS(100)), Some(MS(100))));
        // A segment that changes the peer's window is not predicted.
        t.deliver(210, "ack 4001 win 500000");
        assert!(!record.ack().0.predicted);
        t.deliver(220, "ack 6001");
        let (ack, _) = record.ack();
        assert!(!ack.predicted, "the window grows back");
        assert_eq!((ack.rtt, ack.newest_rtt), (Some(MS(120)), Some(MS(120))));
    }
}

/// Linux counts segments, so the short end of a write counts as a full segment, whether an ACK covers it or not.
#[test]
fn acks_around_the_short_end_of_a_write_are_predicted() {
    for predicted in [true, false] {
        let (record, mut t) = established(linux(), PEER);
        t.connection.prediction.off = !predicted;
        t.connection.write(&Payload::virtual_len(2_500)).expect("open");
        t.write(100, 7_000);
        t.expect_train(100, 1, 2001);
        t.expect(100, "2001:2501 .");
        t.expect_train(100, 2501, 9501);
        for (ack, delivered, left) in [(1001, 1, 9), (2501, 2, 7), (4501, 2, 5)] {
            let before = t.connection.prediction.taken;
            t.deliver(200, &format!("ack {ack}"));
            assert_eq!(t.connection.prediction.taken - before, u64::from(predicted), "{ack}");
            let (acked, path) = record.ack();
            assert_eq!((acked.delivered, path.in_flight), (segments(delivered), segments(left)));
        }
    }
}

#[test]
fn an_ack_of_segments_sent_at_different_times_has_two_samples() {
    for predicted in [true, false] {
        let (record, mut t) = established(linux(), TIMESTAMPS);
        t.connection.prediction.off = !predicted;
        t.sends_train(100, 2000, 1, 2001);
        t.sends_train(150, 1000, 2001, 3001);
        record.take();
        t.inject(260, "ack 3001 ts 250:150");
        let (ack, _) = record.ack();
        assert_eq!((ack.rtt, ack.newest_rtt), (Some(MS(160)), Some(MS(110))));
        // The peer's clock starts at an offset, so only differences of the forward delay are known.
        let first = ack.forward_ms.expect("timestamps");
        t.sends_train(300, 1000, 3001, 4001);
        t.inject(460, "ack 4001 ts 420:300");
        let (ack, _) = record.ack();
        assert_eq!(ack.forward_ms.map(|ms| ms.wrapping_sub(first)), Some(20));
        assert!(!ack.cwnd_full, "one segment does not fill the window");
    }
}

#[test]
fn sacks_and_losses_are_described() {
    let (record, mut t) = established(linux(), PEER);
    t.sends_train(100, 60_000, 1, 10_001);
    record.take();
    t.answers(200, "ack 1 sack 1001:2001", "10001:11001 .");
    let told = record.take();
    assert!(matches!(told[..], [(_, Told::Arrival(_)), (_, Told::Ack(..)), ..]), "{told:?}");
    let Told::Ack(ack, path) = told[1].1.clone() else { unreachable!() };
    assert!(ack.told && !ack.may_raise && !ack.predicted);
    assert_eq!((ack.delivered, ack.cumulative, ack.segments), (segments(1), Bytes::ZERO, 0));
    assert_eq!((ack.ca_state, ack.rtt, ack.newest_rtt), (CaState::Disorder, Some(MS(100)), Some(MS(100))));
    assert_eq!((path.in_flight, path.una), (segments(9), 0));
    t.answers(201, "ack 1 sack 1001:3001", "11001:12001 .");
    record.take();
    // The third SACK marks the first segment as lost (RFC 8985 section 6.2 and RFC 6675).
    t.answers(202, "ack 1 sack 1001:4001", "1:1001 .");
    let told = record.take();
    let lost: Vec<_> =
        told.iter().filter_map(|(_, told)| if let Told::Lost(lost) = told { Some(lost) } else { None }).collect();
    assert_eq!(lost.len(), 1);
    assert_eq!((lost[0].start, lost[0].end, lost[0].tx_in_flight), (0, 1000, segments(1)));
    assert_eq!((lost[0].lost_since_sent, lost[0].app_limited), (segments(1), false));
    // The connection notifies the controller of the loss, then of the signal, then of the ACK.
    let order: Vec<&str> = told
        .iter()
        .map(|(_, told)| match told {
            Told::Arrival(_) => "arrival",
            Told::Lost(_) => "lost",
            Told::Congestion(..) => "congestion",
            Told::Ack(..) => "ack",
            _ => "other",
        })
        .collect();
    assert_eq!(order, ["arrival", "lost", "congestion", "ack"]);
    let Told::Arrival(arrived) = told[0].1 else { unreachable!() };
    assert_eq!(
        (arrived.ca_state, arrived.delivered, arrived.rate.delivered),
        (CaState::Disorder, segments(1), Bytes::ZERO)
    );
    let Told::Congestion(signal, path) = told[2].1 else { unreachable!() };
    assert_eq!((signal, path.in_flight), (Signal::Loss, segments(8)));
    let Told::Ack(ack, path) = told[3].1.clone() else { unreachable!() };
    assert!(ack.in_recovery && ack.reduced_to.is_none());
    assert_eq!((ack.rate.lost, path.lost, path.ca_state), (segments(1), segments(1), CaState::Recovery));
    // Twelve segments are outstanding, three are SACKed and one is lost.
    assert_eq!(path.in_flight, segments(8));
    assert_eq!(ack.prior_in_flight, segments(10));
    t.deliver(203, "ack 1 sack 1001:5001");
    let (ack, _) = record.ack();
    assert_eq!(
        ack.reduced_to,
        Some(segments(9)),
        "eight segments in flight and the retransmission, not the controller's five"
    );
    // The ACK of all data ends the recovery.
    t.deliver(310, "ack 12001");
    let told = record.take();
    assert!(told.iter().any(|(_, told)| matches!(told, Told::Recovered)), "{told:?}");
    t.expect_ca_state(CaState::Open);
}

#[test]
fn without_sack_each_duplicate_delivers_one_segment() {
    // RFC 6937 section 3: the number of delivered segments is estimated from duplicate ACKs.
    let (record, mut t) = established(linux(), NO_SACK);
    t.sends_train(100, 60_000, 1, 10_001);
    record.take();
    let mut delivered = 0;
    for at in [200, 201, 202, 203] {
        t.deliver(at, "ack 1");
        delivered += record.acks().iter().map(|(ack, _)| ack.delivered.get()).sum::<u64>();
    }
    assert_eq!(delivered, 4 * MSS);
    // The retransmission fills the gap of one segment: of the five segments that the ACK covers, one is new.
    t.deliver(302, "ack 5001");
    let acks = record.acks();
    assert_eq!(acks[0].0.delivered, segments(1));
    assert_eq!((acks[0].0.cumulative, acks[0].0.segments), (segments(5), 5));
    assert!(!acks[0].1.sack);
}

#[test]
fn a_pause_and_an_unused_window_are_reported() {
    let (record, mut t) = established(linux(), PEER);
    t.sends_train(100, 2000, 1, 2001);
    t.inject(200, "ack 2001");
    let (ack, path) = record.ack();
    assert!(!ack.cwnd_full && path.app_limited);
    t.sends_train(250, 1000, 2001, 3001);
    let told = record.take();
    assert!(matches!(told[..], [(_, Told::Idle(Idle::TransmitStart { since }))] if since == MS(150)), "{told:?}");
    t.inject(350, "ack 3001");
    let (ack, _) = record.ack();
    assert!(ack.rate.app_limited && !ack.cwnd_limited);
}

/// RFC 5681 section 4.1 and RFC 2861: FreeBSD restarts from the initial window, Linux halves the window per RTO.
#[test]
fn an_idle_period_restarts_the_window() {
    for (profile, expected) in
        [(freebsd(), Idle::Restart { window: segments(4) }), (linux(), Idle::Unused { window: segments(10) })]
    {
        let (record, mut t) = established(profile, PEER);
        t.write(100, 12_000);
        t.drain();
        for (at, ack) in [(200, 4001), (300, 10_001), (400, 12_001)] {
            t.deliver(at, &format!("ack {ack}"));
        }
        record.take();
        t.write(10_000, 1000);
        t.drain();
        let told = record.take();
        let start = Idle::TransmitStart { since: MS(9800) };
        let idle = |(_, told): &(Time, Told)| if let Told::Idle(idle) = told { Some(*idle) } else { None };
        assert_eq!(told.iter().filter_map(idle).collect::<Vec<_>>(), [expected, start]);
    }
}

/// A policy that acknowledges at once and records the state of this end's sender.
#[derive(Debug)]
struct Reader(Arc<Mutex<Vec<(u64, u32, SenderView)>>>);

impl AckPolicy for Reader {
    fn name(&self) -> &str {
        "reader"
    }

    fn on_data(&mut self, _now: Time, _data: &ArrivedData, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Count)
    }

    fn option_room(&self) -> u32 {
        4
    }

    fn on_feedback(&mut self, _now: Time, feedback: &PeerFeedback<'_>, sender: &SenderView) {
        self.0.lock().expect("no test panicked with it").push((feedback.acked, feedback.len, *sender));
    }
}

#[test]
fn an_ack_policy_sees_the_sender_before_each_ack_is_processed() {
    let read = Arc::new(Mutex::new(Vec::new()));
    let mut t = Script::established(linux(), PEER);
    t.connection.set_ack_policy(Box::new(Reader(Arc::clone(&read))));
    let last = || read.lock().expect("no test panicked with it").pop().expect("a segment");
    t.write(100, 60_000);
    t.drain();
    t.deliver(200, "ack 3001");
    let (acked, len, view) = last();
    // The policy's option takes 4 bytes of each segment.
    assert_eq!((acked, len, view.outstanding), (3000, 0, Bytes::new(10 * (MSS - 4))));
    assert_eq!((view.cwnd, view.window, view.mss), (segments(10), segments(10), segments(1)));
    assert!(view.undisturbed && !view.has_data);
    assert_eq!(view.srtt, Some(MS(100)));
    // The peer's window limits the sender.
    t.deliver(201, "ack 3001 win 8192");
    t.deliver(202, "ack 3001 win 8192");
    assert_eq!(last().2.window, Bytes::new(8192));
    t.deliver(203, "1:501 ack 3001 sack 4001:6001");
    let (acked, len, view) = last();
    assert_eq!((acked, len), (0, 500));
    assert!(view.undisturbed);
    t.deliver(204, "ack 3001 sack 4001:7001");
    assert!(!last().2.undisturbed);
    t.deliver(205, "ack 90001");
    assert_eq!(last().0, 0, "data that was never sent");
}
