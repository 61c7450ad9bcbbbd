//! Tests of ACK pacing. ACKs must leave at the rate of the data that they release, and no ACK may wait for longer than
//! the maximum.

use crate::common::{Bench, at};
use lopsided_core::packet::{Flags, SackBlock};
use lopsided_core::{BitRate, Duration, Seq};
use lopsided_stage::AckPacingConfig;
use proptest::prelude::*;

const MOST: Duration = Duration::from_millis(100);

/// Creates a stage that paces at 1,000 bytes per millisecond.
fn bench() -> Bench {
    let rate = BitRate::from_bps(8_000_000);
    Bench::of(AckPacingConfig { rate, max_delay: MOST, ..AckPacingConfig::default() })
}

#[test]
fn the_acks_of_a_burst_are_spread_by_the_data_that_they_release() {
    let mut bench = bench();
    for ack in [1000, 3000, 5000, 10_000, 11_000] {
        bench.ack(at(10), ack);
    }
    bench.run_until(at(100));
    // The first ACK only creates the state of the connection.
    let expected = [(1000, at(10)), (3000, at(10)), (5000, at(12)), (10_000, at(14)), (11_000, at(19))];
    assert_eq!(bench.passed(), expected);
    bench.ack(at(100), 13_000);
    assert_eq!(bench.passed().last(), Some(&(13_000, at(100))), "after a pause, an ACK is not delayed");
}

#[test]
fn other_segments_release_waiting_acks_and_no_ack_exceeds_the_maximum_delay() {
    let mut bench = bench();
    for ack in [1000, 51_000, 101_000, 401_000, 402_000] {
        bench.ack(at(0), ack);
    }
    bench.offer(at(10), 402_000, 0, |header| {
        header.options.push_sack(SackBlock { start: Seq::new(500_000), end: Seq::new(501_000) });
    });
    assert_eq!(bench.numbers(), [1000, 51_000, 101_000, 401_000, 402_000, 402_000]);
    bench.ack(at(20), 700_000);
    bench.ack(at(20), 701_000);
    bench.run_until(at(1000));
    assert_eq!(bench.passed()[6..], [(700_000, at(101)), (701_000, at(120))], "at most `max_delay`");
}

#[test]
fn an_ack_waits_only_for_the_data_that_plain_acks_release() {
    let mut bench = bench();
    bench.ack(at(0), 1000);
    // The segment with ECE acknowledges 50,000 bytes and is not paced.
    bench.offer(at(0), 51_000, 0, |header| header.flags = header.flags.with(Flags::ECE));
    bench.ack(at(0), 55_000);
    // A duplicate ACK releases no data, so it is not paced either.
    bench.ack(at(1), 55_000);
    bench.ack(at(2), 56_000);
    bench.run_until(at(100));
    let expected = [(1000, at(0)), (51_000, at(0)), (55_000, at(0)), (55_000, at(1)), (56_000, at(4))];
    assert_eq!(bench.passed(), expected);
}

proptest! {
    #[test]
    fn each_ack_is_forwarded_once_in_order_and_in_time(
        steps in prop::collection::vec((0..40_u64, 0..60_000_u32, any::<bool>()), 1..100),
    ) {
        let mut bench = bench();
        let (mut now, mut ack, mut came) = (0, 1000, Vec::new());
        for (wait, more, plain) in steps {
            (now, ack) = (now + wait, ack + more);
            came.push((ack, at(now)));
            bench.offer(at(now), ack, 0, |header| {
                if !plain {
                    header.flags = header.flags.with(Flags::ECE);
                }
            });
        }
        bench.run_until(at(now) + MOST);
        prop_assert_eq!(bench.held().packets, 0);
        prop_assert_eq!(bench.passed().len(), came.len());
        for ((went, when), (ack, came)) in bench.passed().into_iter().zip(came) {
            prop_assert_eq!(went, ack);
            prop_assert!(came <= when && when <= came + MOST);
        }
    }
}
