//! Tests of the access methods. Each of them must produce the same results with the drop-tail path, with the queued
//! path, and with an observer.

use crate::common::{Fate, Touch, nanos, octets, run};
use lopsided_core::{BitRate, Duration, Time};
use lopsided_link::{
    AccessConfig, AggregationConfig, GrantsConfig, JitterConfig, LinkConfig, RateStep, RatesConfig, ReallocationConfig,
    TraceConfig, parse_trace,
};
use lopsided_queue::QueueConfig;
use lopsided_spec::Part;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn micros(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn rate(bps: u64) -> BitRate {
    BitRate::from_bps(bps)
}

fn line(access: AccessConfig) -> LinkConfig {
    let queue = QueueConfig::packets(1000);
    LinkConfig { access: Some(access), ..LinkConfig::new(Some(rate(10_000_000)), Duration::ZERO, queue) }
}

/// Returns the arrival times of packets in microseconds. `packets` contains the entry time in microseconds and the size
/// of each packet.
fn arrivals(config: &LinkConfig, packets: &[(u64, u32)]) -> Vec<u64> {
    let touches: Vec<_> = packets.iter().map(|(us, size)| (nanos(us * 1000), Touch::Packet(*size))).collect();
    times(run(config.build(1, "link").unwrap(), &touches).delivered())
}

fn times(fates: &[Fate]) -> Vec<u64> {
    let time = |fate: &Fate| match fate {
        Fate::Delivered(_, at) => at.as_nanos() / 1000,
        other => panic!("{other:?}"),
    };
    fates.iter().map(time).collect()
}

fn trace(times: &[u64]) -> AccessConfig {
    AccessConfig::new(TraceConfig { opportunities: times.to_vec(), ..TraceConfig::default() })
}

#[test]
fn a_trace_is_followed_octet_by_octet_and_restarts() {
    // One opportunity at 0 ms, one at 4 ms, two at 10 ms. The trace then restarts: 10, 14, 20 ms and so on.
    let config = line(trace(&[0, 4, 10, 10]));
    let packets = [(0, 1500), (0, 1500), (0, 1500), (0, 1500), (0, 1500), (0, 1500)];
    assert_eq!(arrivals(&config, &packets), [0, 4000, 10_000, 10_000, 10_000, 14_000]);
    // The queue was empty until 9 ms. Three opportunities follow at 10 ms: two of the first trace, and the first of the next.
    let late: Vec<_> = (0..4).map(|_| (9000, 1500)).collect();
    assert_eq!(arrivals(&config, &late), [10_000, 10_000, 10_000, 14_000]);
    // Fifteen small packets share an opportunity. A large packet continues in the next opportunity.
    let small: Vec<_> = (0..16).map(|_| (1, 100)).collect();
    let found = arrivals(&config, &small);
    assert!(found[..15].iter().all(|at| *at == 4000) && found[15] == 10_000, "{found:?}");
    assert_eq!(arrivals(&config, &[(1, 700), (1, 1500)]), [4000, 10_000]);
    // An unused opportunity is lost. A packet can use an opportunity at the instant of its own arrival.
    assert_eq!(arrivals(&config, &[(4001, 1500), (14_000, 1500), (14_001, 1500)]), [10_000, 14_000, 20_000]);
}

#[test]
fn errors_in_a_trace_file_name_the_line() {
    let wrong = |text: &str| parse_trace(text).unwrap_err();
    assert_eq!(parse_trace("0\n5\n5\n12\n").unwrap(), [0, 5, 5, 12]);
    assert_eq!(parse_trace("1\r\n2\r\n").unwrap(), [1, 2]);
    assert_eq!(wrong(""), "the trace has no opportunities");
    assert_eq!(wrong("0\n0\n"), "the trace has no length: its last time is 0");
    assert_eq!(wrong("0\nfive\n"), "line 2: \"five\" is not a whole number of milliseconds");
    assert_eq!(wrong("0\n5.5\n"), "line 2: \"5.5\" is not a whole number of milliseconds");
    assert_eq!(wrong("0\n\n7\n"), "line 2: \"\" is not a whole number of milliseconds");
    assert_eq!(wrong("0\n-3\n"), "line 2: \"-3\" is not a whole number of milliseconds");
    assert_eq!(wrong("9\n3\n"), "line 2: 3 comes after 9, but times must not decrease");
    assert!(wrong("99999999999999999999999").starts_with("line 1"));
    assert!(wrong("18446744073709551615").contains("1,000 years"));
    assert!(wrong(&"\u{0}x".repeat(10_000)).len() < 250);
}

#[test]
fn a_packet_continues_at_the_new_rate_after_an_outage() {
    let step = |ms: u64, bps: Option<u64>| RateStep { at: Duration::from_millis(ms), rate: bps.map(rate) };
    let steps = vec![step(0, Some(1_000_000)), step(10, None), step(20, Some(12_000_000))];
    let config = line(AccessConfig::new(RatesConfig { steps, repeat: None }));
    // A packet contains 12 kbit. The line sends 6 kbit at 1 Mbit/s in the 6 ms before the outage. It sends the other
    // 6 kbit at 12 Mbit/s in the 0.5 ms after the outage.
    assert_eq!(arrivals(&config, &[(4000, 1500), (4000, 1500)]), [20_500, 21_500]);
}

#[test]
fn each_reallocation_begins_with_an_outage() {
    let period = Duration::from_secs(1);
    let (low, high, gap) = (rate(12_000_000), rate(12_000_000), Duration::from_millis(100));
    let config =
        line(AccessConfig::new(ReallocationConfig { period, low, high, gap, ..ReallocationConfig::default() }));
    // A packet takes 1 ms. The line is silent from 0 to 100 ms, from 1,000 to 1,100 ms and so on.
    let packets = [(0, 1500), (500_000, 1500), (1_050_000, 1500), (2_100_000, 1500)];
    assert_eq!(arrivals(&config, &packets), [101_000, 501_000, 1_101_000, 2_101_000]);
}

#[test]
fn a_request_is_granted_in_a_slot_that_later_packets_may_also_use() {
    // A request opportunity every 2 ms, a grant 4 ms after the request, and slots of 2 ms that carry 2,500 bytes each.
    let grants = GrantsConfig::default();
    let config = line(AccessConfig::new(grants.clone()));
    // The request is sent at 2 ms, and the slot from 6 ms to 8 ms is granted. The second packet arrives before this
    // slot begins.
    assert_eq!(arrivals(&config, &[(1, 1000), (5000, 1000)]), [8000, 8000]);
    // 5,000 bytes take two slots.
    assert_eq!(arrivals(&config, &[(1, 1500), (1, 1500), (1, 1500), (1, 500)]), [8000, 10_000, 10_000, 10_000]);
    // A packet that arrives after the start of the slot needs a new request.
    assert_eq!(arrivals(&config, &[(1, 1000), (6000, 1000)]), [8000, 8000]);
    assert_eq!(arrivals(&config, &[(1, 1000), (6001, 1000)]), [8000, 14_000]);
    // With proactive grants no request is needed.
    let proactive = line(AccessConfig::new(GrantsConfig { proactive: true, ..grants.clone() }));
    assert_eq!(arrivals(&proactive, &[(1, 1000), (6001, 1000)]), [4000, 10_000]);
    // A block in error arrives 8 ms later for each retransmission, and later blocks wait for it.
    let error = GrantsConfig { error: 0.999_999, retransmissions: 2, ..grants };
    assert_eq!(arrivals(&line(AccessConfig::new(error)), &[(1, 1000)]), [24_000]);
}

#[test]
fn packets_that_wait_for_the_medium_leave_in_one_aggregate() {
    let wifi = AggregationConfig { access_delay: micros(500), overhead: micros(100), ..AggregationConfig::default() };
    let config = LinkConfig { rate: Some(rate(120_000_000)), ..line(AccessConfig::new(wifi)) };
    // Each packet takes 100 µs at 120 Mbit/s. The first two packets are on the air until 700 µs. The third packet
    // arrives before that time. It waits for the end of their overhead and for the medium.
    assert_eq!(arrivals(&config, &[(0, 1500), (100, 1500), (550, 1500)]), [600, 700, 1400]);
}

#[test]
fn jitter_keeps_the_order_unless_reordering_is_enabled() {
    let packets: Vec<_> = (0..200).map(|number| (nanos(number * MS / 10), Touch::Packet(100))).collect();
    let order = |reorder: bool| {
        let jitter = JitterConfig { spread: Duration::from_millis(5), reorder };
        let queue = QueueConfig::packets(1000);
        let config =
            LinkConfig { jitter, ..LinkConfig::new(Some(rate(100_000_000)), Duration::from_millis(10), queue) };
        let bench = run(config.build(1, "link").unwrap(), &packets);
        let fates = bench.delivered().to_vec();
        let mut by_time: Vec<_> = fates
            .iter()
            .map(|fate| match fate {
                Fate::Delivered(id, at) => (*at, *id),
                other => panic!("{other:?}"),
            })
            .collect();
        for (at, id) in &by_time {
            let sent = nanos((id - 1) * MS / 10) + Duration::from_millis(10);
            assert!(*at >= sent && *at <= sent + Duration::from_micros(5008), "{id} at {at:?}");
        }
        by_time.sort();
        by_time.into_iter().map(|(_, id)| id).collect::<Vec<_>>()
    };
    assert!(order(false).is_sorted() && !order(true).is_sorted());
}

/// Packets wait in the queue for 1 ms each, so a packet that is still in the queue may overtake packets on the line.
#[test]
fn a_queued_packet_that_overtakes_arrives_on_time() {
    let jitter = JitterConfig { spread: Duration::from_millis(50), reorder: true };
    let queue = QueueConfig::packets(1000);
    let config = LinkConfig { jitter, ..LinkConfig::new(Some(rate(12_000_000)), Duration::from_millis(10), queue) };
    let burst = vec![(nanos(0), Touch::Packet(1500)); 100];
    let looks = (0..2000).map(|step| (nanos(step * MS / 10), Touch::Observe));
    let watched: Vec<_> = burst.iter().copied().chain(looks).collect();
    let arrived = |touches: &[_]| run(config.build(1, "link").unwrap(), touches).delivered().to_vec();
    assert_eq!(arrived(&burst), arrived(&watched));
}

fn access() -> impl Strategy<Value = AccessConfig> {
    let trace = prop::collection::vec(0..20_u64, 1..20).prop_map(|mut times| {
        times.sort_unstable();
        times.push(20);
        AccessConfig::new(TraceConfig { opportunities: times, ..TraceConfig::default() })
    });
    let rates = (1..30_000_000_u64, 0..30_000_000_u64, 1..10_u64).prop_map(|(first, second, at)| {
        let steps = vec![
            RateStep { at: Duration::ZERO, rate: Some(rate(first)) },
            RateStep { at: Duration::from_millis(at), rate: Some(rate(second)) },
        ];
        AccessConfig::new(RatesConfig { steps, repeat: Some(Duration::from_millis(12)) })
    });
    let drawn = (1..20_000_000_u64, 0..10_u64, 0..3_u64).prop_map(|(low, spread, gap)| {
        AccessConfig::new(ReallocationConfig {
            period: Duration::from_millis(5),
            low: rate(low),
            high: rate(2 * low),
            gap: Duration::from_millis(gap),
            delay_spread: Duration::from_millis(spread),
        })
    });
    let grants = (1..5000_u64, 0..5000_u64, 50..3000_u64, any::<bool>(), 0.0..0.5_f64).prop_map(
        |(request, grant, slot, proactive, error)| {
            AccessConfig::new(GrantsConfig {
                request_interval: micros(request),
                grant_delay: micros(grant),
                slot: micros(slot),
                proactive,
                error,
                ..GrantsConfig::default()
            })
        },
    );
    let wifi = (0..1000_u64, 0..1000_u64, 1500..9000_u64).prop_map(|(access, contention, most)| {
        AccessConfig::new(AggregationConfig {
            access_delay: micros(access),
            contention: micros(contention),
            max_size: octets(most),
            ..AggregationConfig::default()
        })
    });
    prop_oneof![trace, rates, drawn, grants, wifi]
}

fn touches() -> impl Strategy<Value = Vec<(Time, Touch)>> {
    let gap = prop_oneof![3 => Just(0), 3 => 1..500_000_u64, 3 => 1..5_000_000_u64, 1 => Just(MS)];
    let size = prop_oneof![Just(40), Just(1500), 28..1501_u32];
    prop::collection::vec((gap, size), 1..60).prop_map(|steps| {
        let mut now = 0;
        let at = |(gap, size)| {
            now += gap;
            (nanos(now), Touch::Packet(size))
        };
        steps.into_iter().map(at).collect()
    })
}

proptest! {
    #[test]
    fn rates_above_10_tbit_per_second_are_rejected(above in 10_000_000_000_001..=u64::MAX) {
        for (high, valid) in [(above, false), (10_000_000_000_000, true)] {
            let step = |(ms, bps)| RateStep { at: Duration::from_millis(ms), rate: Some(rate(bps)) };
            let listed = RatesConfig { steps: [(0, 1), (1, high)].map(step).into(), repeat: None };
            prop_assert_eq!(listed.check().is_ok(), valid);
            let drawn = ReallocationConfig { low: rate(1), high: rate(high), ..ReallocationConfig::default() };
            prop_assert_eq!(drawn.check().is_ok(), valid);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn neither_path_nor_observer_affects_the_results(access in access(), touches in touches(), limit in 1..30_u32) {
        let config = LinkConfig { queue: QueueConfig::packets(limit), ..line(access) };
        let conveyor = run(config.build(7, "link").unwrap(), &touches);
        let audited = LinkConfig { audit: true, ..config.clone() };
        let queued = run(audited.build(7, "link").unwrap(), &touches);
        let end = touches.last().unwrap().0.as_nanos() + 100 * MS;
        let looks = (0..end).step_by(70_000).map(|at| (nanos(at), Touch::Observe));
        let mut watched: Vec<_> = touches.iter().copied().chain(looks).collect();
        watched.sort_by_key(|(at, _)| *at);
        let watched = run(audited.build(7, "link").unwrap(), &watched);
        prop_assert_eq!(conveyor.delivered(), queued.delivered());
        prop_assert_eq!(conveyor.drops(), queued.drops());
        prop_assert_eq!(queued.delivered(), watched.delivered());
        prop_assert!(times(conveyor.delivered()).is_sorted());
    }
}
