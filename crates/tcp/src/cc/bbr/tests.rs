use super::*;
use crate::cc::RateSample;
use crate::cc::tests::path::{MSS, Path, acked, controller, path_state, setup};

/// The line is fully used, the queue is short, and nothing is lost.
#[test]
fn fills_the_line_without_filling_the_queue() {
    let mut path = Path::new(controller("bbr"), 20.0, Duration::from_millis(50), 1000);
    path.run(Duration::from_secs(5));
    let share = path.run(Duration::from_secs(30));
    assert!(share > 0.97, "{share}");
    assert_eq!(path.losses, 0);
    // The BDP is 86 segments. With a gain of 2 and the allowances for offload and aggregated ACKs, the window is about
    // twice the BDP.
    let window = path.controller.cwnd().get() / MSS;
    assert!((172..=190).contains(&window), "{window} segments");
}

/// Section 4.3.4.4 of the draft: at least every 10 s the window shrinks to 4 segments for 200 ms.
#[test]
fn probes_for_the_rtt_every_ten_seconds() {
    let mut path = Path::new(controller("bbr"), 20.0, Duration::from_millis(50), 1000);
    path.run(Duration::from_secs(60));
    let mut probes: Vec<Time> = Vec::new();
    for (at, window) in &path.trace {
        if *window <= LEAST_WINDOW
            && probes.last().is_none_or(|last| at.saturating_since(*last) > Duration::from_secs(1))
        {
            probes.push(*at);
        }
    }
    let gaps: Vec<f64> = probes.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    assert!(gaps.len() >= 4 && gaps.iter().all(|gap| (10.0..10.6).contains(gap)), "{gaps:?}");
}

/// Section 4.3.4.4: rates measured during ProbeRTT are ignored. Here 200 ms are 10 rounds, so the maximum would contain
/// no other rates.
#[test]
fn probe_rtt_keeps_the_estimate_of_the_bandwidth() {
    let mut path = Path::new(controller("bbr"), 20.0, Duration::from_millis(10), 1000);
    path.run(Duration::from_secs(9));
    let share = path.run(Duration::from_secs(5));
    assert!(share > 0.96, "{share} of a line that a probe leaves idle for 0.2 of 5 s");
}

/// Section 4.3.2.1: BBR finds the bandwidth in log2(BDP) rounds, and leaves Startup three rounds later.
#[test]
fn startup_finds_the_bandwidth_and_drains_its_queue() {
    let mut bbr = Path::new(controller("bbr"), 20.0, Duration::from_millis(50), 1000);
    bbr.run(Duration::from_millis(1000));
    let rate = bbr.controller.pacing_rate().map_or(0, BitRate::as_bps);
    // In ProbeBW the rate is 20 Mbit/s of payload plus headers, minus 1 %, times a gain between 0.75 and 1.25.
    assert!((15_000_000..26_000_000).contains(&rate), "{rate} bit/s");
}

#[test]
fn a_recovery_conserves_packets_and_restores_the_window() {
    let mut path = Path::new(controller("bbr"), 20.0, Duration::from_millis(50), 1000);
    path.run(Duration::from_secs(5));
    let (mut bbr, now) = (path.controller, path.now);
    let before = bbr.cwnd();
    let state = PathState { in_flight: Bytes::new(80 * MSS), delivered: Bytes::new(1 << 40), ..path_state() };
    bbr.on_congestion(now, Signal::Loss, &state);
    let ack = |ca_state| Acked { ca_state, ..crate::cc::tests::path::acked(1, Duration::from_millis(60)) };
    bbr.on_ack(now, &ack(CaState::Recovery), &state);
    assert_eq!(bbr.cwnd().get(), 81 * MSS, "the bytes in flight plus the delivered bytes");
    bbr.on_ack(now, &ack(CaState::Open), &state);
    assert!(bbr.cwnd() >= before.min(Bytes::new(150 * MSS)), "{:?} of {before:?}", bbr.cwnd());
}

/// BBR uses a token bucket's rate after two consecutive intervals with heavy loss and similar rates.
#[test]
fn a_policer_is_recognised() {
    let mut policer = Policer::default();
    let mut path = path_state();
    let mut now = Time::ZERO;
    for _ in 0..12 {
        now += Duration::from_millis(100);
        path.delivered += Bytes::new(25_000);
        path.lost += Bytes::new(10_000);
        policer.watch(now, true, false, true, true, &path);
    }
    let rate = policer.rate().expect("two similar intervals");
    assert!((rate - 250_000.0).abs() < 20_000.0, "{rate} B/s of 250 000");
    let over = (0..60).position(|_| policer.watch(now, false, false, true, true, &path) == Judgement::Over);
    assert!(over.is_some_and(|rounds| (40..=48).contains(&rounds)), "{over:?}");
}

/// bbr_update_ack_aggregation counts whole segments, so ACKs of two segments are one segment ahead.
#[test]
fn acks_at_the_bandwidth_count_as_one_segment_ahead() {
    let mut aggregation = Aggregation::default();
    // The bandwidth is 1 segment per ms.
    let bandwidth = fixed_point::bandwidth(Bytes::new(1000 * MSS), MSS, Duration::from_secs(1));
    let rate = RateSample { delivered: Bytes::new(MSS), interval: Duration::from_millis(1), ..RateSample::default() };
    let ack = Acked { rate, ..acked(2, Duration::from_millis(20)) };
    let mut ahead = |ms, expected| {
        aggregation.update(Time::ZERO + Duration::from_millis(ms), &ack, false, bandwidth, 100, MSS);
        assert_eq!(aggregation.allowance(bandwidth), expected, "after {ms} ms");
    };
    ahead(10, 2);
    ahead(12, 3);
    ahead(13, 4);
}

#[test]
fn phases_depend_on_the_seed() {
    let cycles = |seed| {
        let mut bbr = Bbr::new(&Setup { seed, ..setup() });
        (0..20)
            .map(|_| {
                bbr.enter_probe_bw(Time::ZERO);
                bbr.cycle
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(cycles(1), cycles(1));
    assert_ne!(cycles(1), cycles(2));
    assert!(!cycles(3).contains(&1), "the first phase is never the draining phase");
}

/// Linux (`is_ack_delayed`): an ACK that may be delayed starts ProbeRTT, but does not replace an expired minimum RTT.
#[test]
fn a_delayed_ack_does_not_replace_an_expired_minimum_rtt() {
    for (maybe_delayed, expected) in [(true, 50), (false, 90)] {
        let mut bbr = Bbr::new(&setup());
        let rtt = Duration::from_millis(50);
        bbr.on_established(Time::ZERO, &PathState { min_rtt: Some(rtt), ..path_state() });
        let ack = Acked { maybe_delayed, ..acked(1, Duration::from_millis(90)) };
        bbr.on_ack(Time::ZERO + Duration::from_secs(11), &ack, &path_state());
        assert_eq!((bbr.mode, bbr.min_rtt), (Mode::ProbeRtt, Some(Duration::from_millis(expected))));
    }
}

/// Linux (`bbr_packets_in_net_at_edt`): Drain ends when the estimate at the next departure is one BDP.
#[test]
fn drain_ends_if_the_estimate_at_the_next_departure_is_one_bdp() {
    let rtt = Duration::from_millis(100);
    for (wait_ms, expected) in [(0, Mode::Drain), (19, Mode::Drain), (20, Mode::ProbeBw)] {
        let mut bbr = Bbr::new(&setup());
        bbr.on_established(Time::ZERO, &PathState { min_rtt: Some(rtt), ..path_state() });
        bbr.mode = Mode::Drain;
        bbr.filled = true;
        // The line delivers one segment per 10 ms, so the BDP is ten segments. The allowance is three or four segments.
        bbr.bandwidth.add(BANDWIDTH_ROUNDS, 0, fixed_point::BW_UNIT / 10_000 + 1);
        bbr.pacer.rate = 50_000.0;
        let target = bbr.in_flight_for(bbr.bandwidth.max(), UNIT) / MSS;
        let now = Time::ZERO + Duration::from_secs(1);
        let path = PathState { in_flight: Bytes::new((target + 2) * MSS), ..path_state() };
        let ack = Acked { next_departure: now + Duration::from_millis(wait_ms), ..acked(1, rtt) };
        bbr.check_drain(now, &ack, &path);
        assert_eq!(bbr.mode, expected, "{wait_ms} ms before the next segment");
    }
}

/// Returns a controller in ProbeBW with a BDP of ten segments: one segment per 10 ms, and an RTT of 100 ms.
fn ten_segments() -> Bbr {
    let mut bbr = Bbr::new(&setup());
    bbr.on_established(Time::ZERO, &PathState { min_rtt: Some(Duration::from_millis(100)), ..path_state() });
    bbr.bandwidth.add(BANDWIDTH_ROUNDS, 0, fixed_point::BW_UNIT / 10_000 + 1);
    (bbr.filled, bbr.mode, bbr.cycle) = (true, Mode::ProbeBw, 2);
    bbr.pacer.rate = 50_000.0;
    bbr
}

/// Linux (`bbr_min_tso_segs`, `bbr_tso_segs_goal`): 1/1024 s of data, at least one segment below 1.2 Mbit/s and two
/// segments above, at most 64 kB.
#[test]
fn a_burst_lasts_a_millisecond() {
    let mut bbr = ten_segments();
    let mut at = |rate| {
        bbr.pacer.rate = rate;
        bbr.burst()
    };
    assert_eq!([at(149_999.0), at(150_000.0), at(5.0 * 1024.0 * MSS as f64), at(1e12)], [1, 2, 5, 65_535 / MSS]);
}

/// Linux (`bbr_quantization_budget`): three bursts, an even number, and two more segments while BBR probes.
#[test]
fn the_budget_has_three_bursts_and_is_even() {
    let mut bbr = ten_segments();
    assert_eq!([bbr.with_budget(10), bbr.with_budget(11)], [14, 14]);
    bbr.cycle = 0;
    assert_eq!(bbr.with_budget(10), 16);
    bbr.mode = Mode::Startup;
    assert_eq!(bbr.with_budget(10), 14);
    assert_eq!((bbr.bdp(bbr.bandwidth(), UNIT), bbr.bdp(bbr.bandwidth(), 2 * UNIT)), (11, 21));
    bbr.min_rtt = None;
    assert_eq!(bbr.bdp(bbr.bandwidth(), UNIT), INITIAL_SEGMENTS);
}

/// Linux (`bbr_is_next_cycle_phase`).
#[test]
fn a_phase_lasts_a_round_trip_and_ends_by_the_data_in_flight() {
    let over = |cycle, ms: u64, segments: u64, lost: u64| {
        let mut bbr = ten_segments();
        bbr.cycle = cycle;
        bbr.cycle_at = Time::from_nanos(1_000_000_000);
        let now = bbr.cycle_at + Duration::from_millis(ms);
        let rate = RateSample { lost: Bytes::new(lost), ..RateSample::default() };
        let ack = Acked {
            prior_in_flight: Bytes::new(segments * MSS),
            next_departure: now,
            rate,
            ..acked(1, Duration::from_millis(100))
        };
        bbr.is_phase_over(now, &ack)
    };
    // Probing lasts longer than one RTT, until data is lost or 1.25 BDP are in flight, with the allowance.
    assert_eq!([over(0, 101, 5, 0), over(0, 101, 5, 1), over(0, 101, 40, 0)], [false, true, true]);
    assert_eq!([over(0, 100, 40, 1), over(0, 99, 40, 1)], [false, false]);
    // 1.25 BDP are 13 segments, and 18 with three bursts and two segments. One burst leaves next.
    assert_eq!([over(0, 101, 16, 0), over(0, 101, 17, 0)], [false, true]);
    // Draining ends after one RTT, or earlier if at most one BDP with its allowance is in flight: 11 + 3 segments.
    assert_eq!([over(1, 50, 15, 0), over(1, 50, 14, 0), over(1, 101, 40, 0)], [false, true, true]);
    // Cruising ends after one RTT.
    assert_eq!([over(2, 100, 1, 1), over(2, 101, 40, 0)], [false, true]);
}

/// Linux (`bbr_check_full_bw_reached`): three rounds without growth by a quarter.
#[test]
fn the_pipe_is_full_after_three_rounds_without_growth() {
    let mut bbr = Bbr::new(&setup());
    let mut after = |rate, starts, limited| {
        bbr.bandwidth = RunningMax::default();
        bbr.bandwidth.add(BANDWIDTH_ROUNDS, 0, rate);
        bbr.rounds.start = starts;
        bbr.check_full(limited);
        (bbr.full, bbr.full_rounds, bbr.filled)
    };
    assert_eq!(after(1000, true, false), (Some(1000), 0, false));
    assert_eq!(after(1249, true, false), (Some(1000), 1, false));
    assert_eq!(after(1249, false, false).1, 1, "within a round");
    assert_eq!(after(1249, true, true).1, 1, "the application limits the rate");
    assert_eq!(after(1250, true, false), (Some(1250), 0, false));
    assert_eq!(
        [after(1300, true, false).2, after(1300, true, false).2, after(1300, true, false).2],
        [false, false, true]
    );
}

#[test]
fn probe_rtt_ends_after_its_time_and_restores_the_window() {
    for (filled, ms, expected) in
        [(true, 1200, Mode::ProbeRtt), (true, 1204, Mode::ProbeBw), (false, 1204, Mode::Startup)]
    {
        let mut bbr = ten_segments();
        (bbr.mode, bbr.filled, bbr.prior_cwnd) = (Mode::ProbeRtt, filled, 30 * MSS);
        bbr.cwnd = 4 * MSS;
        bbr.probe_rtt_until = Some(Time::from_nanos(1_200_000_000));
        bbr.leave_probe_rtt(Time::ZERO + Duration::from_millis(ms));
        assert_eq!(bbr.mode, expected, "{ms} ms");
        let left = expected != Mode::ProbeRtt;
        assert_eq!(bbr.cwnd, if left { 30 * MSS } else { 4 * MSS });
        assert_eq!(bbr.min_rtt_at, if left { Time::from_nanos(1_204_000_000) } else { Time::ZERO });
    }
    let mut bbr = ten_segments();
    bbr.mode = Mode::ProbeRtt;
    bbr.leave_probe_rtt(Time::from_nanos(u64::MAX / 2));
    assert_eq!(bbr.mode, Mode::ProbeRtt, "the data in flight has not drained yet");
}

/// Section 4.3.4.4: ProbeRTT starts once the data in flight has drained to four segments, and lasts a round.
#[test]
fn probe_rtt_waits_for_the_data_in_flight_and_for_a_round() {
    let mut bbr = ten_segments();
    bbr.mode = Mode::ProbeRtt;
    let path = |segments: u64| PathState { in_flight: Bytes::new(segments * MSS), ..path_state() };
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    bbr.probe_rtt(at(100), &path(5));
    assert_eq!(bbr.probe_rtt_until, None);
    bbr.probe_rtt(at(102), &path(4));
    assert_eq!(bbr.probe_rtt_until, Some(at(300)), "on a tick of 4 ms");
    bbr.probe_rtt(at(400), &path(4));
    assert_eq!(bbr.mode, Mode::ProbeRtt, "the round is not over");
    bbr.rounds.start = true;
    bbr.probe_rtt(at(404), &path(4));
    assert_eq!(bbr.mode, Mode::ProbeBw);
}

#[test]
fn the_minimum_rtt_expires_after_more_than_ten_seconds() {
    for (seconds, expired) in [(10, false), (11, true)] {
        for restarting in [false, true] {
            let mut bbr = ten_segments();
            (bbr.restarting, bbr.cwnd) = (restarting, 20 * MSS);
            let ack = acked(1, Duration::from_millis(120));
            bbr.update_min_rtt(Time::ZERO + Duration::from_secs(seconds), &ack, &path_state());
            let probes = expired && !restarting;
            assert_eq!(bbr.mode, if probes { Mode::ProbeRtt } else { Mode::ProbeBw });
            assert_eq!(bbr.prior_cwnd, if probes { 20 * MSS } else { 0 });
            assert_eq!(bbr.min_rtt, Some(Duration::from_millis(if expired { 120 } else { 100 })));
            assert_eq!(bbr.restarting, restarting, "an ACK without a rate sample");
        }
    }
}

/// Linux (`bbr_save_cwnd`): a window that a recovery or ProbeRTT has reduced does not replace a larger saved window.
#[test]
fn only_a_settled_window_replaces_the_saved_window() {
    let saved = |mode, ca_state| {
        let mut bbr = ten_segments();
        (bbr.mode, bbr.ca_state, bbr.cwnd, bbr.prior_cwnd) = (mode, ca_state, 10 * MSS, 30 * MSS);
        bbr.keep_window();
        bbr.prior_cwnd / MSS
    };
    assert_eq!(saved(Mode::ProbeBw, CaState::Open), 10);
    assert_eq!(saved(Mode::ProbeBw, CaState::Cwr), 10);
    assert_eq!(saved(Mode::ProbeBw, CaState::Recovery), 30);
    assert_eq!(saved(Mode::ProbeBw, CaState::Loss), 30);
    assert_eq!(saved(Mode::ProbeRtt, CaState::Open), 30);
}

#[test]
fn a_timeout_keeps_the_data_in_flight_and_an_undo_forgets_the_plateau() {
    let mut bbr = ten_segments();
    (bbr.full, bbr.cwnd) = (Some(5), 20 * MSS);
    let path = PathState { in_flight: Bytes::new(3 * MSS), ..path_state() };
    bbr.on_congestion(Time::ZERO, Signal::Loss, &path);
    assert_eq!((bbr.cwnd, bbr.full, bbr.prior_cwnd), (20 * MSS, Some(5), 20 * MSS));
    bbr.on_congestion(Time::ZERO, Signal::Timeout { consecutive: 1 }, &path);
    assert_eq!((bbr.cwnd, bbr.full, bbr.ca_state), (4 * MSS, None, CaState::Loss));
    (bbr.full, bbr.full_rounds) = (Some(5), 2);
    bbr.on_undo(Time::ZERO);
    assert_eq!((bbr.full, bbr.full_rounds), (None, 0));
    bbr.adopt(Time::ZERO, Bytes::new(7 * MSS), None);
    assert_eq!((bbr.cwnd(), bbr.ssthresh()), (Bytes::new(7 * MSS), None));
}

/// The allowance for aggregated ACKs covers the last five to ten rounds.
#[test]
fn aggregation_is_forgotten_after_ten_rounds() {
    let mut aggregation = Aggregation::default();
    let bandwidth = fixed_point::bandwidth(Bytes::new(1000 * MSS), MSS, Duration::from_secs(1));
    let rate = RateSample { delivered: Bytes::new(MSS), interval: Duration::from_millis(1), ..RateSample::default() };
    let mut left = Vec::new();
    for round in 0..10u64 {
        // After a first burst of 50 segments, ACKs arrive far behind the bandwidth.
        let ack = Acked { rate, ..acked(if round == 0 { 50 } else { 1 }, Duration::from_millis(20)) };
        let now = Time::ZERO + Duration::from_secs(10 * round);
        aggregation.update(now, &ack, true, bandwidth, 100, MSS);
        left.push(aggregation.allowance(bandwidth));
    }
    assert_eq!(left, [50, 50, 50, 50, 50, 50, 50, 50, 50, 1]);
    // At most 100 ms of the bandwidth, rounded down, and at most one window.
    aggregation.extra = [500, 0];
    assert_eq!(aggregation.allowance(bandwidth), 99);
    aggregation.extra = [0, 0];
    aggregation.update(
        Time::from_nanos(1 << 40),
        &Acked { rate, ..acked(90, Duration::ZERO) },
        false,
        bandwidth,
        20,
        MSS,
    );
    assert_eq!(aggregation.extra[0], 20);
    let empty = Acked { rate: RateSample::default(), ..acked(90, Duration::ZERO) };
    aggregation.update(Time::from_nanos(1 << 41), &empty, true, bandwidth, 200, MSS);
    assert_eq!(aggregation.extra[0], 20, "an ACK without a sample");
}

/// Linux (`bbr_lt_bw_sampling`).
#[test]
fn an_interval_of_the_policer_has_bounds() {
    let judged = |rounds: u32, delivered: u64, lost: u64, ms: u64, app_limited_at: u32| {
        let mut policer = Policer::default();
        let mut path = path_state();
        let mut now = Time::ZERO;
        policer.watch(now, true, false, false, true, &path);
        for _interval in 0..2 {
            for round in 1..=rounds {
                now += Duration::from_millis(ms) / u64::from(rounds);
                path.delivered += Bytes::new(delivered / u64::from(rounds));
                path.lost += Bytes::new(lost / u64::from(rounds));
                policer.watch(now, round == rounds, round == app_limited_at, true, true, &path);
            }
        }
        policer.rate().map(|rate| rate.round() as u64)
    };
    // 48,000 bytes in 480 ms are 100,000 bytes per second.
    assert_eq!(judged(4, 48_000, 24_000, 480, 0), Some(100_000));
    assert_eq!(judged(3, 48_000, 24_000, 480, 0), None, "too few rounds");
    assert_eq!(judged(16, 48_000, 24_000, 480, 0), Some(100_000));
    assert_eq!(judged(17, 47_600, 23_800, 480, 0), None, "too many rounds");
    assert_eq!(judged(4, 51_200, 10_000, 512, 0), Some(100_000), "50/256 of the delivered bytes are lost");
    assert_eq!(judged(4, 51_200, 9_996, 512, 0), None);
    assert_eq!(judged(4, 4_000, 4_000, 1, 0), Some(4_000_000), "an interval of 1 ms");
    assert_eq!(judged(4, 48_000, 24_000, 480, 2), None, "an application limits the rate");
}

#[test]
fn similar_rates_of_two_intervals_indicate_a_policer() {
    let judged = |first: f64, second: f64| {
        let mut policer = Policer::default();
        let mut path = path_state();
        let mut now = Time::ZERO;
        policer.watch(now, true, false, false, true, &path);
        for rate in [first, second] {
            for round in 1..=4 {
                now += Duration::from_millis(250);
                path.delivered += Bytes::new((rate / 4.0) as u64);
                path.lost += Bytes::new((rate / 4.0) as u64);
                policer.watch(now, round == 4, false, true, true, &path);
            }
        }
        policer.rate()
    };
    assert_eq!(judged(100_000.0, 112_500.0), Some(106_250.0), "an eighth apart");
    assert_eq!(judged(100_000.0, 112_600.0), None);
    assert_eq!(judged(100_000.0, 87_500.0), Some(93_750.0));
    assert_eq!(judged(1_000.0, 1_500.0), Some(1_250.0), "500 bytes per second apart");
    assert_eq!(judged(1_000.0, 1_504.0), None);
}
