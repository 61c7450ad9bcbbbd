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
