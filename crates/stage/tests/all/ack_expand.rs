//! Tests of the expander of compacted ACKs (RFC 3449, section 5.3.2).

use crate::common::{Bench, at};
use lopsided_core::packet::{AckPrefix, SackBlock, TcpHeader};
use lopsided_core::{Duration, Seq, Time};
use lopsided_stage::AckExpandConfig;

fn bench() -> Bench {
    Bench::of(AckExpandConfig::default())
}

fn compacted(bench: &mut Bench, now: Time, ack: u32, removed: u8, spacing_ms: Option<u64>) {
    let prefix = AckPrefix { removed, octets: 10, spacing: spacing_ms.map(Duration::from_millis) };
    bench.offer(now, ack, 0, |header| prefix.write(&mut header.options));
}

#[test]
fn without_a_spacing_all_acks_leave_at_once() {
    let mut bench = bench();
    bench.ack(at(0), 100);
    compacted(&mut bench, at(1), 130, 2, None);
    assert_eq!(bench.passed(), [(100, at(0)), (110, at(1)), (120, at(1)), (130, at(1))]);
    assert!(bench.segments.iter().all(|(header, _)| AckPrefix::of(&header.options).is_none()), "the prefix is removed");
}

#[test]
fn with_a_spacing_the_acks_leave_with_the_spacing_of_their_arrivals() {
    let mut bench = bench();
    compacted(&mut bench, at(1), 130, 2, Some(4));
    compacted(&mut bench, at(2), 150, 1, Some(3));
    bench.run_until(at(100));
    assert_eq!(bench.passed(), [(110, at(1)), (120, at(5)), (130, at(9)), (140, at(9)), (150, at(12))]);
}

#[test]
fn other_segments_stay_in_order() {
    let sack = |header: &mut TcpHeader| {
        header.options.push_sack(SackBlock { start: Seq::new(500), end: Seq::new(600) });
    };
    let mut bench = bench();
    compacted(&mut bench, at(0), 120, 1, Some(10));
    bench.ack(at(1), 130);
    assert_eq!(bench.numbers(), [110], "a plain ACK waits for earlier ACKs");
    bench.run_until(at(20));
    assert_eq!(bench.passed()[1..], [(120, at(10)), (130, at(10))]);
    compacted(&mut bench, at(30), 150, 1, Some(10));
    bench.offer(at(31), 150, 0, sack);
    assert_eq!(bench.passed()[3..], [(140, at(30)), (150, at(31)), (150, at(31))], "a loss is reported without delay");
}

#[test]
fn the_number_and_the_delay_of_new_acks_are_limited() {
    let mut bench = Bench::of(AckExpandConfig { most: 2, ..AckExpandConfig::default() });
    compacted(&mut bench, at(0), 300, 20, Some(80));
    bench.run_until(at(1000));
    assert_eq!(bench.passed(), [(280, at(0)), (290, at(80)), (300, at(100))]);
}
