//! Tests of ACK thinning. One of `keep` pure cumulative ACKs must be forwarded. Other segments must be neither delayed
//! nor dropped.

use crate::common::{Bench, at};
use lopsided_core::packet::{Flags, SackBlock, TcpHeader};
use lopsided_core::{DropReason, Duration, Seq};
use lopsided_stage::AckThinningConfig;
use proptest::prelude::*;

const MOST: Duration = Duration::from_millis(10);

fn keeping(keep: u32) -> Bench {
    Bench::of(AckThinningConfig { keep, max_delay: MOST, ..AckThinningConfig::default() })
}

fn thinned(bench: &Bench) -> u64 {
    bench.dropped(DropReason::AckThinned)
}

#[test]
fn one_of_four_acks_is_forwarded_after_the_first_ack() {
    let mut bench = keeping(4);
    (0..9).for_each(|n| bench.ack(at(0), 100 + n * 10));
    assert_eq!(bench.numbers(), [100, 140, 180]);
    assert_eq!(thinned(&bench), 6);
}

#[test]
fn the_last_ack_is_forwarded_after_the_maximum_delay() {
    let mut bench = keeping(4);
    (0..3).for_each(|n| bench.ack(at(n), 100 + n as u32 * 10));
    bench.run_until(at(100));
    assert_eq!(bench.passed(), [(100, at(0)), (120, at(1) + MOST)]);
}

/// After an ACK that leaves at its deadline, or another segment, `keep` more ACKs must arrive.
#[test]
fn each_forwarded_acknowledgement_restarts_the_count() {
    let mut bench = keeping(4);
    [100, 110].into_iter().for_each(|ack| bench.ack(at(0), ack));
    [120, 130, 140, 150, 160, 170].into_iter().for_each(|ack| bench.ack(at(50), ack));
    bench.offer(at(50), 180, 100, |_| {});
    [190, 200, 210, 220].into_iter().for_each(|ack| bench.ack(at(50), ack));
    assert_eq!(bench.numbers(), [100, 110, 150, 170, 180, 220]);
}

#[test]
fn other_segments_are_forwarded_at_once_after_the_held_ack() {
    let sack = |header: &mut TcpHeader| {
        header.options.push_sack(SackBlock { start: Seq::new(500), end: Seq::new(600) });
    };
    type Change = fn(&mut TcpHeader);
    let changes: [(&str, u32, Change); 6] = [
        ("payload", 100, |_| {}),
        ("sack", 0, sack),
        ("ece", 0, |header| header.flags = header.flags.with(Flags::ECE)),
        ("cwr", 0, |header| header.flags = header.flags.with(Flags::CWR)),
        ("ae", 0, |header| header.flags = header.flags.with(Flags::AE)),
        ("fin", 0, |header| header.flags = header.flags.with(Flags::FIN)),
    ];
    for (what, payload, change) in changes {
        let mut bench = keeping(4);
        bench.ack(at(0), 100);
        bench.ack(at(0), 110);
        bench.offer(at(0), 120, payload, change);
        assert_eq!(bench.numbers(), [100, 110, 120], "{what}");
    }
}

#[test]
fn a_segment_that_ends_a_connection_begins_no_new_state() {
    for end in [Flags::FIN, Flags::RST] {
        let mut bench = keeping(4);
        bench.ack(at(0), 100);
        bench.offer(at(0), 110, 0, |header| header.flags = header.flags.with(end));
        bench.ack(at(0), 120);
        assert_eq!(bench.numbers(), [100, 110, 120], "the ACK after the end is the first of its connection");
    }
}

#[test]
fn duplicates_and_older_acks_are_forwarded_at_once() {
    let mut bench = keeping(4);
    [100, 110, 110, 110, 105].into_iter().for_each(|ack| bench.ack(at(0), ack));
    assert_eq!(bench.numbers(), [100, 110, 110, 110, 105]);
    assert_eq!(thinned(&bench), 0);
}

proptest! {
    /// For any input, forwarded numbers are in the order of arrival, and each number is acknowledged within the maximum
    /// delay.
    #[test]
    fn every_number_is_acknowledged_in_time(
        keep in 1..6_u32,
        acks in prop::collection::vec((0..4_u32, 0..6_u64, 0..8_u32), 1..80),
    ) {
        let mut bench = keeping(keep);
        let (mut now, mut ack, mut came) = (0, 1000, Vec::new());
        for (step, wait, odd) in acks {
            now += wait;
            ack += step * 10;
            let flags = |header: &mut TcpHeader| if odd == 0 { header.flags = header.flags.with(Flags::ECE) };
            bench.offer(at(now), ack, 0, flags);
            came.push((ack, at(now)));
        }
        bench.run_until(at(now + 1000));
        prop_assert!(bench.numbers().is_sorted());
        for (ack, when) in &came {
            let covered = bench.passed().into_iter().find(|(passed, _)| passed >= ack);
            prop_assert!(covered.is_some_and(|(_, at)| at <= *when + MOST));
        }
        prop_assert_eq!(came.len() as u64, bench.segments.len() as u64 + thinned(&bench));
    }
}
