//! A replay through a link or its queue reports the departure time of each packet, and which packets were dropped or
//! marked.

use crate::common::nanos;
use lopsided_core::packet::UdpHeader;
use lopsided_core::{BitRate, Bytes, DropReason, Duration, Ecn, FlowId, IpHeader, NewPacket, Payload, Time, Transport};
use lopsided_link::{LinkConfig, Replayed, ShaperConfig, replay, replay_at_instants};
use lopsided_queue::{CodelConfig, CodelQueueConfig, QueueConfig};
use std::net::Ipv4Addr;

/// Returns packets of 1,500 bytes that arrive at these times in ms. A packet takes 1.5 ms at 8 Mbit/s.
fn arrivals(ms: &[u64]) -> Vec<(Time, NewPacket)> {
    let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2)).with_ecn(Ecn::Ect0);
    let transport = Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 });
    let new = NewPacket::new(FlowId(0), ip, transport, Payload::virtual_len(1472));
    ms.iter().map(|ms| (nanos(ms * 1_000_000), new.clone())).collect()
}

fn line(queue: QueueConfig) -> LinkConfig {
    LinkConfig::new(Some(BitRate::from_bps(8_000_000)), Duration::from_millis(5), queue)
}

fn departs(micros: u64, place: u32) -> Replayed {
    Replayed { left: Some((nanos(micros * 1000), place)), ..Replayed::default() }
}

fn full(ms: u64) -> Replayed {
    Replayed { dropped: Some((nanos(ms * 1_000_000), DropReason::QueueFull)), ..Replayed::default() }
}

#[test]
fn a_link_sends_queued_packets_and_drops_packets_above_the_limit() {
    let config = line(QueueConfig::packets(2));
    let found = replay(&config, 1, "link", arrivals(&[0, 0, 0, 0, 10]), Duration::ZERO).unwrap();
    assert_eq!(found, [departs(0, 0), departs(1500, 1), departs(3000, 2), full(0), departs(10_000, 3)]);
}

#[test]
fn with_a_credit_the_second_packet_departs_earlier() {
    let config = line(QueueConfig::packets(9));
    let found = replay(&config, 1, "link", arrivals(&[10, 10, 10, 30]), Duration::from_millis(1)).unwrap();
    assert_eq!(found, [departs(10_000, 0), departs(10_500, 1), departs(12_000, 2), departs(30_000, 3)]);
}

#[test]
fn without_a_credit_the_link_has_its_own_shaper() {
    let shaper = Some(ShaperConfig { burst: Bytes::new(3000), ..ShaperConfig::default() });
    let config = LinkConfig { shaper, ..line(QueueConfig::packets(9)) };
    let found = replay(&config, 1, "link", arrivals(&[10, 10, 10]), Duration::ZERO).unwrap();
    assert_eq!(found, [departs(10_000, 0), departs(10_000, 1), departs(11_500, 2)]);
}

#[test]
fn a_queue_is_served_at_the_given_instants() {
    let config = line(QueueConfig::packets(2));
    let instants = [3, 3, 20].map(|ms| nanos(ms * 1_000_000));
    // An arrival at the time of a departure is processed first, so the third packet finds two packets in the queue. One
    // packet has no recorded departure.
    let found = replay_at_instants(&config, 1, "link", arrivals(&[0, 0, 3, 4, 20, 20]), &instants).unwrap();
    let still = Replayed::default();
    assert_eq!(found, [departs(3000, 0), departs(3000, 1), full(3), departs(20_000, 2), still, full(20)]);
}

#[test]
fn a_replay_reports_marks() {
    let codel = CodelConfig { ecn: true, ..CodelConfig::default() };
    let queue = CodelQueueConfig { codel, ..CodelQueueConfig::default() };
    let found = replay(&line(QueueConfig::new(queue)), 1, "link", arrivals(&[0; 200]), Duration::ZERO).unwrap();
    assert!(found.iter().all(|fate| fate.left.is_some() && fate.dropped.is_none()));
    let first = found.iter().position(|fate| fate.marked).expect("CoDel marks packets of a queue of 300 ms");
    // CoDel starts to mark once the sojourn times have exceeded 5 ms for 100 ms. The first marked packet departs after
    // 105 ms.
    assert!((70..=72).contains(&first), "{first}");
}
