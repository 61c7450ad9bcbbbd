//! Tests of the trace events of a connection with a loss, and of a connection without enabled events.

use super::delivery::LIMIT;
use super::pair::{Faults, Pair, connection_config};
use crate::{Connection, Profile, Segment};
use lopsided_core::tcp_event::{CaReason, CaState, LossRule, Reduction, TcpEvent, TcpEventMask, TimedTcpEvent};
use lopsided_core::{Duration, Ecn, Payload, Time};

/// Returns the client's events of the kinds in `mask`. The RTT is 20 ms, and the twelfth data segment is lost.
fn events(mask: TcpEventMask) -> Vec<TcpEvent> {
    let mut client = Connection::connect(connection_config(Profile::linux_6_1(), true));
    let mut server = Connection::listen(connection_config(Profile::linux_6_1(), false));
    client.listen_to(mask);
    let mut now = Time::ZERO;
    let mut data = 0;
    let mut events_seen = Vec::new();
    for _ in 0..10 {
        client.write(&Payload::virtual_len(30_000)).expect("open");
        let sent: Vec<Segment> = std::iter::from_fn(|| client.poll_segment(now)).collect();
        now += Duration::from_millis(10);
        for segment in sent {
            data += u32::from(!segment.payload.is_empty());
            if segment.payload.is_empty() || data != 12 {
                server.handle_segment(now, &segment.header, &segment.payload, Ecn::NotEct);
            }
        }
        let _ = server.read(now, u64::MAX);
        let answers: Vec<Segment> = std::iter::from_fn(|| server.poll_segment(now)).collect();
        now += Duration::from_millis(10);
        for segment in answers {
            client.handle_segment(now, &segment.header, &segment.payload, Ecn::NotEct);
        }
        client.handle_timeout(now);
        server.handle_timeout(now);
        events_seen.extend(std::iter::from_fn(|| client.poll_trace()).map(|timed| timed.event));
    }
    events_seen
}

#[test]
fn a_loss_is_reported_from_its_detection_to_the_end_of_the_recovery() {
    let events_seen = events(TcpEventMask::ALL);
    let at = |wanted: &dyn Fn(&TcpEvent) -> bool| events_seen.iter().position(wanted).expect("it happened");
    let lost = at(&|event| matches!(event, TcpEvent::Lost { segments: 1, rule: LossRule::Rack, .. }));
    let reduced =
        at(&|event| matches!(event, TcpEvent::CwndReduced { signal: Reduction::Loss, from, to } if to < from));
    let entered =
        at(&|event| matches!(event, TcpEvent::CaState { to: CaState::Recovery, why: CaReason::LossDetected, .. }));
    let again = at(&|event| matches!(event, TcpEvent::Retransmitted { probe: false, .. }));
    let over = at(&|event| {
        matches!(event, TcpEvent::CaState { from: CaState::Recovery, to: CaState::Open, why: CaReason::Completed })
    });
    assert!(lost < reduced && reduced < entered && entered < again && again < over, "{events_seen:#?}");
}

#[test]
fn only_the_enabled_events_are_created() {
    assert_eq!(events(TcpEventMask::NONE), []);
    let some = events(TcpEventMask::LOSS.with(TcpEventMask::RETRANSMIT));
    let all = events(TcpEventMask::ALL);
    let kept: Vec<TcpEvent> = all
        .into_iter()
        .filter(|event| matches!(event, TcpEvent::Lost { .. } | TcpEvent::Retransmitted { .. }))
        .collect();
    assert_eq!(some, kept);
    assert!(!some.is_empty());
}

/// Each lost segment is announced once, and each retransmission follows an announcement or is a probe.
#[test]
fn losses_and_retransmissions_are_announced_at_their_times() {
    // With these seeds, no timeout is spurious.
    for seed in 1..3 {
        let faults = Faults { loss: 0.03, ..Faults::NONE };
        let mut pair = Pair::new(Profile::linux_6_1(), Profile::linux_6_1(), faults, seed);
        (pair.synthetic, pair.stays_open) = (true, true);
        pair.client.listen_to(TcpEventMask::ALL);
        pair.transfer(&[1; 400_000], &[], LIMIT);
        let events: Vec<TimedTcpEvent> = std::iter::from_fn(|| pair.client.poll_trace()).collect();
        assert!(events.is_sorted_by_key(|timed| timed.at), "in the order of time");
        let (mut lost, mut again, mut probes, mut limited) = (0, 0, 0, 0);
        for timed in &events {
            match timed.event {
                TcpEvent::Lost { segments, .. } => lost += segments,
                TcpEvent::Retransmitted { probe: true, .. } => probes += 1,
                TcpEvent::Retransmitted { probe: false, .. } => again += 1,
                TcpEvent::Limited { .. } => limited += 1,
                _ => {}
            }
            if let TcpEvent::Retransmitted { start, .. } = timed.event {
                let sent = pair.sent.iter().any(|(at, to_server, header, len)| {
                    *at == timed.at && *to_server && *len > 0 && header.seq == pair.client.send.seq(start)
                });
                assert!(sent, "the event has the time of the segment: {timed:?}");
            }
        }
        assert!(lost > 0 && limited > 0);
        assert_eq!(lost, again, "seed {seed}, {probes} probes");
        assert_eq!(u64::from(again + probes), pair.client.counters().retransmits);
    }
}
