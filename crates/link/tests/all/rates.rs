//! Checks the exact rates and times of the serializer and the token bucket against arithmetic, Linux and merritt2010.

use crate::common::{Bench, Fate, Touch, kbit, nanos, octets, packet, run};
use lopsided_core::{BitRate, Duration, Node, Port, Time};
use lopsided_link::{Framing, LinkConfig, ShaperConfig};
use lopsided_queue::{FqCodelConfig, QueueConfig};

fn plain(rate: BitRate, delay: Duration, limit: u32) -> LinkConfig {
    LinkConfig::new(Some(rate), delay, QueueConfig::packets(limit))
}

fn shaped(rate: BitRate, delay: Duration, limit: u32, shaper: ShaperConfig) -> LinkConfig {
    LinkConfig { shaper: Some(shaper), ..plain(rate, delay, limit) }
}

fn tbf(burst: u64) -> ShaperConfig {
    ShaperConfig { burst: octets(burst), interval: None, line_rate: None }
}

/// Returns the settings of a router in merritt2010, table 4.3: a Bc of `bc_bits` every 4 ms, and bursts at 100 Mbit/s.
fn router(bc_bits: u64) -> (BitRate, ShaperConfig) {
    let (interval, line_rate) = (Some(Duration::from_millis(4)), Some(kbit(100_000)));
    (BitRate::from_bps(bc_bits * 250), ShaperConfig { burst: octets(bc_bits / 8), interval, line_rate })
}

fn arrivals(bench: &Bench) -> Vec<(u64, u64)> {
    let arrival = |fate: &Fate| match *fate {
        Fate::Delivered(id, at) => (id, at.as_nanos()),
        Fate::Dropped(..) => unreachable!("this list contains only deliveries"),
    };
    bench.delivered().iter().map(arrival).collect()
}

/// Keeps the link's queue non-empty for `count` packets. Returns the arrival of the last packet.
fn saturate(config: &LinkConfig, count: u64, size: u32) -> (Bench, Time) {
    let mut bench = Bench::new(config.build(1, "link").unwrap());
    let mut now = Time::ZERO;
    let mut offered = 0;
    while (bench.delivered().len() as u64) < count {
        while offered < count && bench.view(now, |link| link.counters().waiting.packets) < 2 {
            bench.touch(now, Touch::Packet(size));
            offered += 1;
        }
        now = bench.link.poll_timeout().expect("packets are in flight");
        bench.run_until(now);
    }
    (bench, now)
}

#[test]
fn a_million_packets_take_exactly_their_bits_divided_by_the_rate() {
    // At these rates, a packet does not take a whole number of nanoseconds: 1,500 bytes take 3,999,966.6669 ns at the
    // first rate.
    for (bps, size) in [(3_000_025, 1500), (999_999_937, 1500), (196_000, 41)] {
        let config = plain(BitRate::from_bps(bps), Duration::ZERO, 10);
        let count = 1_000_000;
        let (_, end) = saturate(&config, count, size);
        let exact = u128::from(size) * 8 * u128::from(count) * 1_000_000_000 / u128::from(bps);
        assert_eq!(u128::from(end.as_nanos()), exact, "{bps} bit/s");
    }
}

#[test]
fn a_bucket_sends_its_burst_and_then_exactly_its_rate() {
    let (size, count) = (1500_u32, 100_000_u64);
    for bps in [3_000_025, 999_999_937] {
        let config = shaped(BitRate::from_bps(bps), Duration::ZERO, 10, tbf(1600));
        let (_, end) = saturate(&config, count, size);
        let bits = u128::from(size) * 8 * u128::from(count) - 1600 * 8;
        assert_eq!(u128::from(end.as_nanos()), (bits * 1_000_000_000).div_ceil(u128::from(bps)));
    }
    // With refills, the bits beyond the first burst take whole intervals, rounded up.
    let (rate, shaper) = router(784);
    let (_, end) = saturate(
        &LinkConfig { shaper: Some(ShaperConfig { line_rate: None, ..shaper }), ..plain(rate, Duration::ZERO, 10) },
        1000,
        size,
    );
    let lumps = (u64::from(size) * 8 * 1000 - 784).div_ceil(784);
    assert_eq!(end, nanos(lumps * 4_000_000));
}

/// With a serializer, a packet leaves the queue when its first bit is sent. With a token bucket, a packet leaves when
/// the bucket has enough tokens for the packet.
#[test]
fn the_limit_counts_packets_that_wait_for_tokens_but_not_the_packet_in_service() {
    let burst_of = |config: &LinkConfig| {
        let mut bench = Bench::new(config.build(1, "link").unwrap());
        (0..100).for_each(|_| bench.touch(nanos(0), Touch::Packet(1500)));
        let counters = bench.view(nanos(0), |link| link.counters());
        (counters.waiting.packets, counters.in_flight.packets + counters.delivered.packets)
    };
    assert_eq!(burst_of(&plain(kbit(3000), Duration::ZERO, 5)), (5, 1));
    // The bucket is full at the start, so one packet leaves at once and five wait.
    assert_eq!(burst_of(&shaped(kbit(3000), Duration::ZERO, 5, tbf(1600))), (5, 1));
    // The bucket is smaller than a packet, so no packet leaves at once.
    assert_eq!(burst_of(&shaped(kbit(3000), Duration::ZERO, 5, tbf(1499))), (5, 0));
}

/// With Linux 6.1 (tbf with 3 Mbit/s and burst 1,600, child pfifo with limit 50), the largest RTT was 222.05 ms. The
/// base RTT and the transmission of 50 packets take 221.87 ms.
#[test]
fn a_full_linux_tbf_has_the_computed_largest_delay() {
    let config = shaped(kbit(3000), Duration::from_millis(10), 50, tbf(1600));
    let config = LinkConfig { framing: Framing::ETHERNET, ..config };
    // Packets arrive faster than the bucket's rate, so the queue is full again after each departure.
    let touches: Vec<(Time, Touch)> = (0..40_000).map(|id| (nanos(id * 100_000), Touch::Packet(1500))).collect();
    let bench = run(config.build(1, "link").unwrap(), &touches);
    let longest = bench.transits(|id| nanos((id - 1) * 100_000)).into_iter().max().unwrap();
    let rtt_ms = longest.as_millis_f64() + 10.0;
    let exact = 20.0 + 50.0 * 1514.0 * 8.0 / 3000.0;
    assert!(
        (exact - 0.1..exact + 1e-6).contains(&rtt_ms),
        "{rtt_ms} ms; an arrival just after a departure would see {exact}"
    );
    assert!((rtt_ms - 222.05).abs() < 0.3, "Linux has 222.05 ms, this {rtt_ms} ms");
}

#[test]
fn a_token_bucket_sends_at_the_times_computed_by_hand() {
    // At 8 Mbit/s a byte takes 1 us.
    let config = shaped(kbit(8000), Duration::ZERO, 10, tbf(1600));
    let touches = [
        (0, 1500),      // full bucket: at once, 100 left
        (0, 1500),      // needs 1400 more: 1400 us
        (0, 100),       // 1500 us
        (10_000, 1000), // full again: at once, 600 left
        (10_100, 600),  // 700 there: at once, 100 left
        (10_100, 600),  // 500 more: 10 600
    ];
    let touches: Vec<_> = touches.iter().map(|&(us, size)| (nanos(us * 1000), Touch::Packet(size))).collect();
    let bench = run(config.build(1, "link").unwrap(), &touches);
    let expected = [(1, 0), (2, 1400), (3, 1500), (4, 10_000), (5, 10_100), (6, 10_600)];
    assert_eq!(arrivals(&bench), expected.map(|(id, us)| (id, us * 1000)));
}

/// As in Linux, tbf dequeues from an empty queue, and the discipline then removes the empty flow. htb never dequeues
/// from an empty queue.
#[test]
fn only_a_token_bucket_dequeues_from_an_empty_queue() {
    for (shaper, listed) in [(Some(tbf(1600)), 0.0), (None, 1.0)] {
        let queue = QueueConfig::new(FqCodelConfig::default());
        let config = LinkConfig { shaper, ..LinkConfig::new(Some(kbit(3000)), Duration::ZERO, queue) };
        let mut bench = Bench::new(config.build(1, "link").unwrap());
        bench.touch(nanos(0), Touch::Packet(1500));
        let mut flows = None;
        bench.view(nanos(0), |link| {
            link.gauges(&mut |_, name, value| flows = if name == "active_flows" { Some(value) } else { flows });
        });
        assert_eq!(flows, Some(listed));
    }
}

/// On merritt2010's line of 3000/1000 kbit/s, the token bucket of the downlink gets 1,500 bytes every 4 ms. The interface
/// behind it sends a full packet in 120 µs.
#[test]
fn the_packets_of_a_refill_leave_as_a_burst_at_the_line_rate() {
    let (rate, shaper) = router(12_000);
    let config = shaped(rate, Duration::ZERO, 50, shaper);
    let sizes = [1500, 1500, 1500, 500, 500, 500, 500];
    let touches = sizes.map(|size| (nanos(1_000_000), Touch::Packet(size)));
    let bench = run(config.build(1, "link").unwrap(), &touches);
    // An idle bucket stores the tokens of one refill. The last packet waits for the next refill.
    let expected = [(1, 1_120), (2, 4_120), (3, 8_120), (4, 12_040), (5, 12_080), (6, 12_120), (7, 16_040)];
    assert_eq!(arrivals(&bench), expected.map(|(id, us)| (id, us * 1000)));
}

/// MER-A03: on the 3000/100 uplink Bc is 400 bits. 1,500 bytes need 30 refills, and an ACK of 40 bytes needs one.
#[test]
fn tokens_accumulate_while_a_packet_waits() {
    let (rate, shaper) = router(400);
    let config = shaped(rate, Duration::ZERO, 50, ShaperConfig { line_rate: None, ..shaper });
    let touches = [1500, 1500, 40, 40].map(|size| (nanos(0), Touch::Packet(size)));
    let bench = run(config.build(1, "link").unwrap(), &touches);
    // The bucket starts with 400 bits, so the first packet needs 29 refills and the second packet 30. An ACK needs 320
    // of the 400 bits of a refill.
    assert_eq!(arrivals(&bench), [(1, 116_000_000), (2, 236_000_000), (3, 240_000_000), (4, 244_000_000)]);
}

#[test]
fn an_idle_link_stores_the_tokens_of_one_burst() {
    let (rate, shaper) = router(12_000);
    let config = shaped(rate, Duration::ZERO, 50, ShaperConfig { line_rate: None, ..shaper });
    let touches = [1500, 1500].map(|size| (Time::ZERO + Duration::from_secs(3600), Touch::Packet(size)));
    let bench = run(config.build(1, "link").unwrap(), &touches);
    let hour = 3_600_000_000_000;
    assert_eq!(arrivals(&bench), [(1, hour), (2, hour + 4_000_000)]);
}

/// A later start shifts all times of a run by the same amount. Twice the rate halves all times.
#[test]
fn results_scale_with_time_and_rate() {
    let sizes = [1500, 40, 576, 1500, 1500, 52, 1500, 1000];
    let outcome = |rate: u64, start: u64, gap: u64, shaper: Option<ShaperConfig>| {
        let config = LinkConfig { shaper, ..plain(kbit(rate), Duration::from_nanos(gap * 7), 2) };
        let at = |index: u64| nanos(start + gap * index * index);
        let touches: Vec<_> = (0..).zip(sizes).map(|(index, size)| (at(index), Touch::Packet(size))).collect();
        let bench = run(config.build(1, "link").unwrap(), &touches);
        let mut all: Vec<Fate> = bench.delivered().to_vec();
        all.extend(bench.drops());
        let fate = |fate| match fate {
            Fate::Delivered(id, at) => (id, true, at.as_nanos() - start),
            Fate::Dropped(id, at, _) => (id, false, at.as_nanos() - start),
        };
        all.into_iter().map(fate).collect::<Vec<_>>()
    };
    for interval in [None, Some(Duration::from_micros(800))] {
        let shaper = |halves: u64| {
            let interval = interval.map(|interval| interval / halves);
            ShaperConfig { burst: octets(2000), interval, line_rate: Some(kbit(100_000 * halves)) }
        };
        for shaped in [false, true] {
            let gate = |halves| shaped.then(|| shaper(halves));
            let base = outcome(10_000, 0, 40_000, gate(1));
            assert!(base.iter().any(|(_, delivered, _)| !delivered), "some packet should have been dropped");
            assert_eq!(outcome(10_000, 8_000_000, 40_000, gate(1)), base, "later");
            let halved: Vec<_> = base.iter().map(|&(id, delivered, at)| (id, delivered, at / 2)).collect();
            assert_eq!(outcome(20_000, 0, 20_000, gate(2)), halved, "faster");
        }
    }
}

/// Because of lazy departures, a link needs only one event per packet, with any shaper.
#[test]
fn a_link_needs_one_event_per_packet() {
    let delay = Duration::from_micros(1500);
    let (rate, shaper) = router(9600);
    let configs = [
        plain(kbit(3000), delay, 1000),
        shaped(kbit(3000), delay, 1000, tbf(1600)),
        shaped(rate, delay, 1000, shaper),
        LinkConfig::new(None, delay, QueueConfig::packets(1000)),
    ];
    for config in configs {
        let touches: Vec<_> = (0..500).map(|id| (nanos(id * 3_000_000), Touch::Packet(1500))).collect();
        let bench = run(config.build(1, "link").unwrap(), &touches);
        assert_eq!(bench.timeouts, 500, "{config:?}");
    }
}

#[test]
fn a_link_returns_arrived_packets_with_the_time_of_the_next() {
    for queue in [QueueConfig::packets(10), FqCodelConfig::default().into()] {
        let config = LinkConfig { queue, ..plain(kbit(8000), Duration::from_millis(5), 10) };
        let mut bench = Bench::new(config.build(1, "link").unwrap());
        (0..2).for_each(|_| bench.touch(nanos(0), Touch::Packet(1000)));
        let arrived = [(5, None, Some(6)), (6, Some(1), Some(7)), (7, Some(2), None)].map(|(ms, id, next)| {
            let found = bench.with_cx(nanos(ms * 1_000_000), |link, cx| link.next_arrived(cx));
            (found.0.map(|packet| packet.id()) == id) && found.1 == next.map(|ms: u64| nanos(ms * 1_000_000))
        });
        assert_eq!(arrived, [true; 3]);
    }
}

/// A packet must take time, so that packets leave a link in the order of their arrivals at the next link.
#[test]
fn a_link_predicts_arrivals_if_each_packet_takes_time() {
    let predicts = |gbit: u64, delay| {
        let config = plain(BitRate::from_bps(gbit * 1_000_000_000), Duration::from_nanos(delay), 10);
        config.build(1, "link").unwrap().predicts_arrivals()
    };
    // An IP header of 20 bytes takes 1 ns at 160 Gbit/s.
    assert_eq!([(160, 0), (161, 0), (161, 1)].map(|(gbit, delay)| predicts(gbit, delay)), [true, false, true]);
}

/// A network may return the packet that it has just passed through a link, to let the link deliver it.
#[test]
fn a_packet_that_is_taken_back_arrives_before_the_others() {
    let config = plain(kbit(8000), Duration::from_millis(5), 10);
    let mut bench = Bench::new(config.build(1, "link").unwrap());
    let (first, at) = bench.with_cx(nanos(0), |link, cx| {
        let new = packet(1, 1000, nanos(0));
        let size = new.size();
        let (at, first) = link.pass_through(new, size, nanos(0), cx).expect("the packet arrives");
        link.handle_packet(Port(0), packet(2, 1000, nanos(0)), cx);
        (first, at)
    });
    assert_eq!(at, nanos(6_000_000));
    bench.link.take_back(first, at);
    assert_eq!(bench.link.poll_timeout(), Some(at));
    bench.run_until(Time::MAX);
    assert_eq!(bench.delivered(), [Fate::Delivered(1, at), Fate::Delivered(2, nanos(7_000_000))]);
}
