//! The policer drops packets that exceed the token bucket, and delays no packet.

use crate::common::{Drops, cx, packet};
use lopsided_core::{BitRate, Bytes, DropReason, Time};
use lopsided_queue::{Limit, PolicerConfig, Qdisc, QueueConfig};
use lopsided_spec::Part;
use proptest::prelude::*;

fn policer(burst: u64) -> QueueConfig {
    // At this rate, tokens for 1,000 bytes take 8 ms.
    let rate = BitRate::from_bps(1_000_000);
    QueueConfig::new(PolicerConfig { rate, burst: Bytes::new(burst), limit: Limit::Packets(100) })
}

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

#[test]
fn a_burst_passes_and_packets_in_excess_are_dropped_as_policed() {
    let mut queue = policer(3000).build(1, "test").unwrap().checked();
    let (drops, mut accounting) = Drops::watched();
    for id in 1..=5 {
        queue.enqueue(packet(id, 1000), &mut cx(at(0), &mut accounting));
    }
    // Packet 6 arrives 1 ms before there are enough tokens. At 8 ms there are tokens for exactly one packet.
    for (id, millis) in [(6, 7), (7, 8), (8, 8)] {
        queue.enqueue(packet(id, 1000), &mut cx(at(millis), &mut accounting));
    }
    let policed = [4, 5, 6, 8].map(|id| (id, DropReason::Policed));
    assert_eq!(drops.seen(), policed);
    let mut left = Vec::new();
    while let Some(given) = queue.dequeue(&mut cx(at(9), &mut accounting)) {
        left.push(given.packet.id());
    }
    assert_eq!(left, [1, 2, 3, 7]);
}

proptest! {
    /// In any interval, the policer accepts at most the bucket's depth plus the tokens added in that interval.
    #[test]
    fn accepted_packets_do_not_exceed_rate_and_burst(
        gaps in proptest::collection::vec(0..20_000_u64, 1..200),
        size in 28..1500_u32,
    ) {
        let mut queue = policer(3000).build(1, "test").unwrap().checked();
        let (drops, mut accounting) = Drops::watched();
        let mut now = 0;
        for (id, gap) in gaps.iter().enumerate() {
            now += gap;
            let time = Time::from_nanos(now * 1000);
            queue.enqueue(packet(id as u64, size), &mut cx(time, &mut accounting));
            queue.dequeue(&mut cx(time, &mut accounting));
        }
        let passed = (gaps.len() - drops.seen().len()) as u64 * u64::from(size);
        prop_assert!(passed * 8 <= 3000 * 8 + now);
        // The bucket is full, so the first packet is accepted.
        prop_assert!(drops.seen().first().is_none_or(|(id, _)| *id > 0));
    }
}

#[test]
fn a_bucket_must_have_room_for_a_full_packet() {
    for (burst, valid) in [(0, false), (1499, false), (1500, true)] {
        let policer = PolicerConfig { burst: Bytes::new(burst), ..PolicerConfig::default() };
        assert_eq!(policer.check().is_ok(), valid, "{burst} bytes");
    }
}
