//! Tests of the trace events of a connection with a loss, and of a connection without enabled events.

use super::pair::connection_config;
use crate::{Connection, Profile, Segment};
use lopsided_core::tcp_event::{CaReason, CaState, LossRule, Reduction, TcpEvent, TcpEventMask};
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
