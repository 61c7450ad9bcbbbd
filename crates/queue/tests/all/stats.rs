//! Statistics of a queue, compared with values computed by hand.

use lopsided_core::{Bytes, Count, Duration, Time};
use lopsided_queue::{Backlog, QueueSample, QueueStats};

fn ns(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn backlog(packets: u32, bytes: u64) -> Backlog {
    Backlog { packets, bytes: Bytes::new(bytes) }
}

/// Returns the statistics of these events, up to the time `upto`. Times are in ns:
///
/// - A packet of 100 B is queued from 10 to 40, and a packet of 200 B from 20 to 70.
/// - A packet of 300 B is dropped on arrival at 30.
/// - A packet of 400 B is enqueued at 50 and dropped at 60.
fn history(upto: u64) -> QueueStats {
    let mut stats = QueueStats::default();
    type Step<'a> = (u64, &'a dyn Fn(&mut QueueStats));
    let steps: [Step<'_>; 7] = [
        (10, &|stats| stats.offered(ns(10), Bytes::new(100), backlog(1, 100))),
        (20, &|stats| stats.entered(ns(20), Bytes::new(200))),
        (30, &|stats| stats.offered(ns(30), Bytes::new(300), backlog(2, 300))),
        (40, &|stats| stats.left(ns(40), ns(10), Bytes::new(100))),
        (50, &|stats| stats.offered(ns(50), Bytes::new(400), backlog(2, 600))),
        (60, &|stats| stats.settle(ns(60), backlog(1, 200))),
        (70, &|stats| stats.left(ns(70), ns(20), Bytes::new(200))),
    ];
    steps.iter().filter(|(at, _)| *at <= upto).for_each(|(_, step)| step(&mut stats));
    stats
}

#[test]
fn the_statistics_cover_all_packets_of_a_run() {
    let stats = history(100);
    assert_eq!(stats.mean_packets(ns(100)), (30 + 50 + 10) as f64 / 100.0);
    assert_eq!(stats.mean_bytes(ns(100)), (30 * 100 + 50 * 200 + 10 * 400) as f64 / 100.0);
    assert_eq!(stats.max_backlog(), backlog(2, 600));
    assert_eq!(stats.mean_sojourn(), Some(Duration::from_nanos(40)));
    assert_eq!(stats.max_sojourn(), Duration::from_nanos(50));
    assert_eq!(stats.sojourns().quantile(0.5), Some(Duration::from_nanos(30)));
    assert_eq!((stats.arrived_packets(), stats.sent_packets(), stats.dropped_packets()), (4, 2, 2));
    assert_eq!((stats.sent_bytes(), stats.dropped_bytes()), (Bytes::new(300), Bytes::new(700)));
}

/// Packets that find the queue empty can be recorded together.
#[test]
fn packets_that_pass_at_once_can_be_recorded_together() {
    let (mut together, mut one_by_one) = (QueueStats::default(), QueueStats::default());
    together.passed(Count { packets: 3, bytes: Bytes::new(1000) }, Bytes::new(500));
    together.passed(Count::default(), Bytes::new(9000));
    for (at, size) in [(10, 300), (20, 500), (30, 200)] {
        one_by_one.crossed(ns(at), ns(at), Bytes::new(size), backlog(1, size));
    }
    assert_eq!(together.max_backlog(), one_by_one.max_backlog());
    assert_eq!((together.sent_packets(), together.sent_bytes()), (3, Bytes::new(1000)));
    assert_eq!(one_by_one.sent_bytes(), Bytes::new(1000));
    assert_eq!(together.mean_sojourn(), Some(Duration::ZERO));
    assert_eq!(together.sojourns().quantile(1.0), Some(Duration::ZERO));
}

/// One call per packet gives the same statistics as two calls, one at the arrival and one at the departure.
#[test]
fn one_call_per_packet_gives_the_same_statistics_as_two() {
    let (mut at_once, mut in_time) = (QueueStats::default(), QueueStats::default());
    let transits = [(10, 10, 100, backlog(1, 100)), (20, 45, 200, backlog(1, 200)), (30, 60, 300, backlog(2, 500))];
    for (comes, departs, size, with_it) in transits {
        at_once.crossed(ns(comes), ns(departs), Bytes::new(size), with_it);
    }
    in_time.entered(ns(10), Bytes::new(100));
    in_time.left(ns(10), ns(10), Bytes::new(100));
    in_time.entered(ns(20), Bytes::new(200));
    in_time.entered(ns(30), Bytes::new(300));
    in_time.left(ns(45), ns(20), Bytes::new(200));
    in_time.left(ns(60), ns(30), Bytes::new(300));
    let statistics = |stats: &QueueStats| (stats.mean_packets(ns(70)), stats.mean_bytes(ns(70)), stats.max_backlog());
    assert_eq!(statistics(&at_once), statistics(&in_time));
    assert_eq!(at_once.sojourns().quantile(0.9), in_time.sojourns().quantile(0.9));
    assert_eq!(at_once.sample(), in_time.sample());
}

#[test]
fn the_mean_includes_queued_packets() {
    let stats = history(20);
    assert_eq!(stats.mean_packets(ns(30)), (20 + 10) as f64 / 30.0);
    assert_eq!(stats.mean_bytes(ns(30)), (20 * 100 + 10 * 200) as f64 / 30.0);
}

#[test]
fn a_sample_contains_the_sojourn_times_of_its_interval() {
    let mut stats = history(40);
    let first = stats.sample();
    assert_eq!(
        (first.sojourn_mean, first.sojourn_max),
        (Some(Duration::from_nanos(30)), Some(Duration::from_nanos(30)))
    );
    let none = stats.sample();
    assert_eq!(none, QueueSample { sojourn_mean: None, sojourn_max: None, ..first });
    stats.left(ns(45), ns(20), Bytes::new(200));
    let second = stats.sample();
    assert_eq!(second.sojourn_mean, Some(Duration::from_nanos(25)));
    assert_eq!(second.sojourn_max, Some(Duration::from_nanos(25)));
    assert_eq!(stats.max_sojourn(), Duration::from_nanos(30), "the longest sojourn time of the run");
    assert_eq!((second.arrived_packets, second.sent_packets, second.dropped_packets), (3, 2, 1));
}

/// The sums of times wrap around at 2^64 twice in this test, but the means must be correct.
#[test]
fn a_long_run_does_not_overflow() {
    let mut stats = QueueStats::default();
    let day = 86_400_000_000_000;
    for turn in 1..1000 {
        stats.entered(ns(turn * day), Bytes::new(1_000_000));
        stats.left(ns(turn * day + day / 2), ns(turn * day), Bytes::new(1_000_000));
    }
    let end = ns(1000 * day);
    assert!((stats.mean_packets(end) - 999.0 / 2000.0).abs() < 1e-9);
    assert!((stats.mean_bytes(end) - 999_000_000.0 / 2000.0).abs() < 1e-3);
}
