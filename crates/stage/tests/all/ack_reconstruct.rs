//! Tests of ACK reconstruction. Gaps must be filled evenly. Data that the receiver has not acknowledged must not be
//! acknowledged. No ACK may wait for longer than the maximum.

use crate::common::{Bench, at};
use lopsided_core::packet::{Flags, SackBlock};
use lopsided_core::{Duration, Seq};
use lopsided_spec::Part;
use lopsided_stage::{AckReconstructConfig, Spacing};
use proptest::prelude::*;

const MOST: Duration = Duration::from_millis(100);

/// Returns settings for segments of 1,000 bytes.
fn config() -> AckReconstructConfig {
    AckReconstructConfig {
        segment: lopsided_core::Bytes::new(1000),
        max_delay: MOST,
        ..AckReconstructConfig::default()
    }
}

#[test]
fn a_gap_of_eight_segments_takes_three_acks_and_the_mean_interval() {
    let mut bench = Bench::of(config());
    bench.ack(at(0), 1000);
    bench.ack(at(20), 9000);
    bench.run_until(at(100));
    let expected = [(1000, at(0)), (3000, at(25)), (5000, at(30)), (7000, at(35)), (9000, at(40))];
    assert_eq!(bench.passed(), expected);
    // The paper's text inserts one ACK fewer.
    let mut bench = Bench::of(AckReconstructConfig { text: true, ..config() });
    bench.ack(at(0), 1000);
    bench.ack(at(20), 9000);
    bench.run_until(at(100));
    assert_eq!(bench.numbers(), [1000, 3000, 5000, 9000]);
}

#[test]
fn a_gap_must_exceed_the_threshold() {
    // With one segment per ACK, a gap of `threshold` segments would have room for another ACK.
    for (every, number, expected) in [(1, 3000, vec![3000]), (1, 3001, vec![2000, 3000, 3001]), (2, 3000, vec![3000])] {
        let mut bench = Bench::of(AckReconstructConfig { every, threshold: 2, ..config() });
        bench.ack(at(0), 1000);
        bench.ack(at(20), number);
        bench.run_until(at(200));
        assert_eq!(bench.numbers()[1..], expected, "{every} segments per ACK, up to {number}");
    }
}

#[test]
fn a_duplicate_is_forwarded_at_once_after_the_waiting_acks() {
    let mut bench = Bench::of(config());
    bench.ack(at(0), 1000);
    bench.ack(at(20), 9000);
    bench.ack(at(21), 9000);
    assert_eq!(bench.numbers(), [1000, 3000, 5000, 7000, 9000, 9000]);
}

#[test]
fn a_gain_is_above_0_and_at_most_1() {
    for (gain, valid) in [(0.0, false), (1e-9, true), (1.0, true), (1.01, false), (f64::NAN, false)] {
        assert_eq!(AckReconstructConfig { gain, ..config() }.check().is_ok(), valid, "{gain}");
    }
}

#[test]
fn acks_without_a_gap_are_forwarded_at_once_and_no_segment_overtakes_another() {
    let mut bench = Bench::of(config());
    bench.ack(at(0), 1000);
    bench.ack(at(20), 3000);
    assert_eq!(bench.passed(), [(1000, at(0)), (3000, at(20))]);
    bench.ack(at(40), 11_000);
    bench.offer(at(41), 11_000, 0, |header| {
        header.options.push_sack(SackBlock { start: Seq::new(20_000), end: Seq::new(21_000) });
    });
    assert_eq!(bench.numbers()[2..], [5000, 7000, 9000, 11_000, 11_000], "all waiting ACKs, then the SACK");
    assert_eq!(bench.passed().last().unwrap().1, at(41));
}

#[test]
fn an_inserted_ack_has_the_smaller_window_of_its_neighbours() {
    for (before, after, expected) in [(50, 40, [40, 40, 40]), (30, 40, [30, 30, 40])] {
        let mut bench = Bench::of(config());
        bench.offer(at(0), 1000, 0, |header| header.window = before);
        bench.offer(at(10), 7000, 0, |header| header.window = after);
        bench.run_until(at(1000));
        let windows: Vec<u16> = bench.segments[1..].iter().map(|(header, _)| header.window).collect();
        assert_eq!(windows, expected);
    }
}

fn paced() -> AckReconstructConfig {
    AckReconstructConfig { spacing: Spacing::Interval, ..config() }
}

#[test]
fn the_pacer_sends_one_ack_for_each_two_segments() {
    let mut bench = Bench::of(paced());
    bench.ack(at(0), 1000);
    bench.ack(at(20), 9000);
    bench.run_until(at(39));
    assert_eq!(bench.passed(), [(1000, at(0)), (3000, at(20))], "the first missing ACK is sent at once");
    // Each arriving ACK acknowledges two segments. For each arriving ACK, one ACK leaves. Its number is six segments
    // below the number of the arriving ACK.
    for step in 1..4 {
        bench.ack(at(20 + 19 * u64::from(step)), 9000 + 2000 * step);
    }
    assert_eq!(bench.passed()[2..], [(5000, at(39)), (7000, at(58)), (9000, at(77))]);
    bench.run_until(at(1000));
    assert_eq!(bench.numbers()[5..], [11_000, 13_000, 15_000]);
}

#[test]
fn samples_start_at_the_last_ack_that_was_forwarded_at_once() {
    let config = AckReconstructConfig { gain: 1.0, max_delay: at(500) - at(0), ..paced() };
    let mut bench = Bench::of(config);
    bench.ack(at(0), 1000);
    bench.ack(at(20), 9000);
    // The sample is the 30 ms since the first ACK, not the 10 ms since the previous ACK. The next ACKs therefore leave
    // every 30 ms instead of every 20 ms.
    bench.ack(at(30), 11_000);
    bench.run_until(at(500));
    let expected = [(1000, 0), (3000, 20), (5000, 30), (7000, 60), (9000, 80), (11_000, 120)];
    assert_eq!(bench.passed(), expected.map(|(number, ms)| (number, at(ms))));
}

#[test]
fn a_configured_mean_is_used_before_the_first_sample() {
    let config = AckReconstructConfig { interval: Some(Duration::from_millis(10)), gain: 0.25, ..paced() };
    let mut bench = Bench::of(config);
    bench.ack(at(0), 1000);
    bench.ack(at(20), 9000);
    bench.run_until(at(32));
    assert_eq!(bench.passed().len(), 2);
    bench.run_until(at(33));
    assert_eq!(bench.passed().len(), 3, "one mean interval of 12.5 ms after the previous ACK");
    bench.run_until(at(200));
}

#[test]
fn a_busy_pacer_absorbs_duplicates_and_an_idle_pacer_forwards_them() {
    let mut bench = Bench::of(paced());
    bench.ack(at(0), 1000);
    bench.ack(at(20), 7000);
    bench.ack(at(21), 7000);
    bench.run_until(at(100));
    assert_eq!(bench.numbers(), [1000, 3000, 5000, 7000], "no number is forwarded twice");
    // The first ACK with this number is forwarded at once and is not a duplicate. After its duplicate, all ACKs are
    // forwarded at once, up to and including the first ACK for new data, whose gap is not filled.
    for number in [7000, 7000, 15_000, 21_000] {
        bench.ack(at(100), number);
    }
    assert_eq!(bench.numbers()[4..], [7000, 7000, 15_000, 17_000]);
    bench.run_until(at(300));
    assert_eq!(bench.held().packets, 0);
}

#[test]
fn the_pacer_forwards_window_updates_and_acks_that_end_an_echo() {
    let mut bench = Bench::of(paced());
    bench.ack(at(0), 1000);
    bench.ack(at(20), 9000);
    bench.offer(at(21), 9000, 0, |header| header.window = 200);
    assert_eq!(bench.numbers(), [1000, 3000, 5000, 7000, 9000, 9000]);
    for flags in [Flags::ACK.with(Flags::ECE), Flags::ACK] {
        bench.offer(at(22), 9000, 0, |header| (header.window, header.flags) = (200, flags));
    }
    assert_eq!(bench.numbers()[6..], [9000, 9000]);
}

#[test]
fn with_a_configured_mean_the_time_since_the_handshake_is_the_first_sample() {
    let config = AckReconstructConfig { interval: Some(Duration::from_millis(10)), gain: 0.5, ..paced() };
    let mut bench = Bench::of(config);
    bench.offer(at(0), 1, 0, |header| header.flags = header.flags.with(Flags::SYN));
    bench.ack(at(20), 1000);
    bench.ack(at(40), 6000);
    bench.run_until(at(100));
    // The mean is 10 ms at the start, 15 ms after the first ACK's sample of 20 ms, and 17.5 ms after the second ACK's
    // sample.
    let last = bench.passed().last().copied().unwrap();
    assert_eq!(last, (6000, at(40) + Duration::from_micros(2 * 17_500)));
}

proptest! {
    #[test]
    fn no_number_is_sent_before_it_arrived_and_no_ack_waits_too_long(
        steps in prop::collection::vec((0..40_u64, 0..30_000_u32, any::<bool>()), 1..100),
        paces in any::<bool>(),
    ) {
        let mut bench = Bench::of(if paces { paced() } else { config() });
        let (mut now, mut ack, mut arrived) = (0, 1000, Vec::new());
        for (wait, more, plain) in steps {
            (now, ack) = (now + wait, ack + more);
            arrived.push((ack, at(now)));
            bench.offer(at(now), ack, 0, |header| {
                if !plain {
                    header.flags = header.flags.with(Flags::ECE);
                }
            });
        }
        bench.run_until(at(now) + MOST);
        prop_assert_eq!(bench.held().packets, 0);
        prop_assert_eq!(bench.passed().last().unwrap().0, ack);
        let mut reached = 0;
        for (number, when) in bench.passed() {
            prop_assert!(number >= reached, "went back to {}", number);
            reached = number;
            let known = arrived.iter().filter(|(_, came)| *came <= when).map(|(ack, _)| *ack).max();
            prop_assert!(known >= Some(number), "{} was not acknowledged by {:?}", number, when);
        }
    }
}
