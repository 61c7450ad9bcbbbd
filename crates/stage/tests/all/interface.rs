//! Tests of the properties that all kinds of stages have in common: names, positions, and reported quantities.

use crate::common::{Bench, at};
use lopsided_core::packet::{AckPrefix, UdpHeader};
use lopsided_core::{
    Accounting, BitRate, Bytes, Cx, Duration, FlowId, IpHeader, NewPacket, Node, NodeId, Packet, Payload, Transport,
};
use lopsided_queue::{AsqmConfig, Qdisc as _, QueueConfig};
use lopsided_spec::Part;
use lopsided_stage::{
    AckExpandConfig, AckPacingConfig, AckReconstructConfig, AckThinningConfig, Reflector, ReflectorConfig, Spacing,
    StageConfig, StageKind, StageNode, StageSide, register,
};
use proptest::prelude::*;
use std::net::Ipv4Addr;

#[test]
fn settings_report_the_name_and_the_side_of_their_kind() {
    fn reported(config: impl StageKind) -> (&'static str, StageSide) {
        let config = StageConfig::new(config);
        (config.kind(), config.side())
    }
    assert_eq!(reported(AckThinningConfig::default()), ("ack_thinning", StageSide::Entry));
    assert_eq!(reported(AckReconstructConfig::default()), ("ack_reconstruct", StageSide::Exit));
    assert_eq!(reported(AckExpandConfig::default()), ("ack_expand", StageSide::Exit));
    assert_eq!(reported(AckPacingConfig::default()), ("ack_pacing", StageSide::Exit));
    assert_eq!(reported(ReflectorConfig), ("reflector", StageSide::Exit));
    let entry = AckPacingConfig { side: StageSide::Entry, ..AckPacingConfig::default() };
    assert_eq!(reported(entry), ("ack_pacing", StageSide::Entry));
    assert!(register::<AckPacingConfig>().is_err(), "a built-in stage already has this name");
}

/// The network must connect the opposite direction to a stage that sends packets back.
#[test]
fn only_stages_that_send_packets_back_see_the_opposite_direction() {
    assert!(StageNode::new(Box::new(Reflector::default())).sees_reverse());
    assert!(!Bench::of(AckThinningConfig::default()).stages[0].sees_reverse());
}

#[test]
fn settings_with_which_acks_would_stop_are_refused() {
    let rate = |bps| AckPacingConfig { rate: BitRate::from_bps(bps), ..AckPacingConfig::default() };
    assert_eq!(Part::check(&rate(0)).map_err(|fault| fault.key), Err("rate"));
    assert_eq!(Part::check(&rate(1)), Ok(()));
    let keep = |keep| AckThinningConfig { keep, ..AckThinningConfig::default() };
    assert_eq!(Part::check(&keep(0)).map_err(|fault| fault.key), Err("keep"));
    assert_eq!(Part::check(&keep(1)), Ok(()));
}

#[test]
fn a_reflector_counts_the_sensing_packets_that_it_sends_back() {
    let mut queue = QueueConfig::new(AsqmConfig::default()).build(1, "link/up").expect("a queue");
    let mut reflector = StageNode::new(Box::new(Reflector::default()));
    let mut accounting = Accounting::new(1);
    let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
    let udp = Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 });
    let mut ports = Vec::new();
    for at_ms in 0..12 {
        let mut cx = Cx::new(at(at_ms), NodeId(0), &mut accounting);
        let data = NewPacket::new(FlowId(0), ip, udp.clone(), Payload::virtual_len(1000));
        queue.enqueue(Packet::unbooked(at_ms, at(at_ms), data.clone()), &mut cx);
        let sensing = queue.sensing().and_then(|sensing| sensing.poll_originate());
        for new in sensing.into_iter().chain([data]) {
            reflector.handle_packet(StageNode::FORWARD, Packet::unbooked(99, at(at_ms), new), &mut cx);
            ports.extend(reflector.poll_transmit(&mut cx).map(|(port, _)| port));
        }
    }
    let back = ports.iter().filter(|port| **port != StageNode::FORWARD).count();
    assert_eq!((ports.len(), back), (12 + 3, 3), "one sensing packet follows four data packets");
    let mut turned = None;
    reflector.sample(&mut |_, name, value| turned = turned.or((name == "turned_packets").then_some(value)));
    assert_eq!(turned, Some(3.0));
}

/// Returns a quantity that the only stage of the bench reports.
fn quantity(bench: &Bench, wanted: &str) -> Option<u64> {
    let mut found = None;
    bench.stages[0].sample(&mut |_, name, value| {
        if name == wanted {
            found = Some(value as u64);
        }
    });
    found
}

proptest! {
    /// The quantities agree with what an observer of both sides of the stage counts.
    #[test]
    fn stages_report_the_acks_that_they_delayed_created_and_removed(
        steps in prop::collection::vec((0..40_u64, 0..20_000_u32), 1..60),
        removed in prop::collection::vec(0..4_u8, 60),
    ) {
        let segment = Bytes::new(1000);
        let share = AckReconstructConfig { segment, ..AckReconstructConfig::default() };
        let interval = AckReconstructConfig { spacing: Spacing::Interval, ..share };
        let rate = BitRate::from_bps(8_000_000);
        let mut pacing = Bench::of(AckPacingConfig { rate, ..AckPacingConfig::default() });
        let mut thinning = Bench::of(AckThinningConfig { keep: 3, ..AckThinningConfig::default() });
        let mut fillers = [Bench::of(share), Bench::of(interval)];
        let mut expander = Bench::of(AckExpandConfig::default());
        let (mut now, mut ack, mut arrivals, mut more) = (0, 1000, Vec::new(), 0);
        for ((wait, new), removed) in steps.iter().zip(&removed) {
            // The numbers of the ACKs differ, so that each departure belongs to one arrival.
            (now, ack) = (now + wait, ack + new + 1);
            arrivals.push(at(now));
            for bench in [&mut pacing, &mut thinning].into_iter().chain(&mut fillers) {
                bench.ack(at(now), ack);
            }
            more += u64::from(*removed);
            let prefix = AckPrefix { removed: *removed, octets: 1, spacing: Some(Duration::from_millis(1)) };
            expander.offer(at(now), ack, 0, |header| if *removed > 0 { prefix.write(&mut header.options) });
        }
        for bench in [&mut pacing, &mut thinning, &mut expander].into_iter().chain(&mut fillers) {
            bench.run_until(at(now) + Duration::from_secs(1));
            prop_assert_eq!(quantity(bench, "arrived_packets"), Some(arrivals.len() as u64));
            prop_assert_eq!(quantity(bench, "sent_packets"), Some(bench.segments.len() as u64));
        }
        let late = pacing.passed().iter().zip(&arrivals).filter(|((_, left), came)| left > came).count();
        prop_assert_eq!(quantity(&pacing, "delayed_packets"), Some(late as u64));
        let missing = arrivals.len() - thinning.segments.len();
        prop_assert_eq!(quantity(&thinning, "thinned_packets"), Some(missing as u64));
        prop_assert_eq!(quantity(&expander, "expanded_packets"), Some(more));
        prop_assert_eq!(expander.segments.len() as u64, arrivals.len() as u64 + more);
        for bench in &fillers {
            let absorbed = bench.accounting.conservation(bench.held()).absorbed.packets;
            let created = bench.segments.len() as u64 + absorbed - arrivals.len() as u64;
            prop_assert_eq!(quantity(bench, "inserted_packets"), Some(created));
        }
    }
}
