use super::*;
use crate::cc::RateSample;
use crate::cc::tests::path::{MSS, Path, acked, path_state, setup};

const RTT: Duration = Duration::from_millis(50);

fn bbr3() -> Bbr3 {
    let mut bbr3 = Bbr3::new(&setup());
    bbr3.on_established(Time::from_nanos(1), &PathState { srtt: Some(RTT), min_rtt: Some(RTT), ..path_state() });
    bbr3
}

/// A controller on a network whose delivery rate each test chooses. Each step is one round trip at a given rate.
struct Rounds {
    bbr3: Bbr3,
    now: Time,
    state: PathState,
    rtt: Duration,
    /// Bytes in flight when the ACK arrives and when the acknowledged segment was sent. With `None`, the bytes of one
    /// round are in flight, at most one window.
    in_flight: Option<u64>,
    app_limited: bool,
    ca_state: CaState,
}

impl Rounds {
    fn new() -> Rounds {
        let state = PathState { srtt: Some(RTT), min_rtt: Some(RTT), ..path_state() };
        let (rtt, ca_state) = (RTT, CaState::Open);
        Rounds { bbr3: bbr3(), now: Time::from_nanos(1), state, rtt, in_flight: None, app_limited: false, ca_state }
    }

    /// Returns a controller in ProbeBW with a bandwidth of 2 MB/s and therefore a BDP of 100 kB.
    fn probing() -> Rounds {
        let mut rounds = Rounds::new();
        for _ in 0..5 {
            rounds.step(2e6);
        }
        assert_eq!(rounds.bbr3.state, State::ProbeBwCruise, "the pipe is full and nothing is in the queue");
        rounds
    }

    /// Simulates one round trip in which the network delivers `rate` bytes per second.
    fn step(&mut self, rate: f64) {
        self.step_losing(rate, 0);
    }

    fn step_losing(&mut self, rate: f64, lost: u64) {
        let delivered = (rate * self.rtt.as_secs_f64()) as u64;
        self.now += self.rtt;
        let prior_delivered = self.state.delivered;
        self.state.delivered += Bytes::new(delivered);
        let in_flight = self.in_flight.unwrap_or(delivered.min(self.bbr3.cwnd));
        self.state.in_flight = Bytes::new(in_flight);
        let rate = RateSample {
            delivered: Bytes::new(delivered),
            interval: self.rtt,
            prior_delivered,
            lost: Bytes::new(lost),
            tx_in_flight: Bytes::new(in_flight),
            lost_since_sent: Bytes::new(lost),
            app_limited: self.app_limited,
        };
        let ack = Acked {
            rate,
            delivered: Bytes::new(delivered),
            ca_state: self.ca_state,
            cwnd_full: false,
            ..acked(1, self.rtt)
        };
        self.bbr3.on_ack(self.now, &ack, &self.state);
    }

    /// Simulates the loss of `segments` separate segments before the next ACK. The segments were sent with `in_flight`
    /// bytes in flight.
    fn lose(&mut self, segments: u64, in_flight: u64) {
        for number in 0..segments {
            self.state.lost += Bytes::new(MSS);
            let start = 2 * number * MSS;
            let lost = Lost {
                start,
                end: start + MSS,
                tx_in_flight: Bytes::new(in_flight),
                lost_since_sent: Bytes::new((number + 1) * MSS),
                app_limited: self.app_limited,
            };
            self.bbr3.on_lost(self.now, &lost, &self.state);
        }
        if self.ca_state < CaState::Recovery {
            self.ca_state = CaState::Recovery;
            self.bbr3.on_congestion(self.now, Signal::Loss, &self.state);
        }
    }

    fn step_until(&mut self, state: State, rate: f64) -> u32 {
        (1..200)
            .find(|_| {
                self.step(rate);
                self.bbr3.state == state
            })
            .unwrap_or_else(|| panic!("{state:?} is never reached from {:?}", self.bbr3.state))
    }

    /// Returns a controller in the Up state.
    fn up() -> Rounds {
        let mut rounds = Rounds::probing();
        rounds.step_until(State::ProbeBwUp, 2e6);
        rounds
    }
}

/// The table of section 5.6.1.
#[test]
fn gains_match_the_table_of_section_5_6_1() {
    let table = [
        (State::Startup, 2.77, 2.0),
        (State::Drain, 0.5, 2.0),
        (State::ProbeBwDown, 0.9, 2.0),
        (State::ProbeBwCruise, 1.0, 2.0),
        (State::ProbeBwRefill, 1.0, 2.0),
        (State::ProbeBwUp, 1.25, 2.25),
        (State::ProbeRtt, 1.0, 0.5),
    ];
    for (state, pacing, cwnd) in table {
        assert_eq!((state.pacing_gain(), state.cwnd_gain()), (pacing, cwnd), "{state:?}");
    }
}

// Test cases of the draft. The test names are the titles of these test cases.

#[test]
fn startup_ends_at_a_bandwidth_plateau() {
    let mut rounds = Rounds::new();
    rounds.in_flight = Some(400_000);
    for rate in [0.5e6, 1e6, 2e6, 2.1e6, 2.2e6] {
        rounds.step(rate);
        assert_eq!(rounds.bbr3.state, State::Startup, "at {rate}");
    }
    rounds.step(2.3e6);
    assert_eq!(rounds.bbr3.state, State::Drain, "the third round that grew by less than a quarter");
}

#[test]
fn startup_continues_while_the_application_limits_the_sender() {
    let mut rounds = Rounds::new();
    rounds.app_limited = true;
    for _ in 0..50 {
        rounds.step(1e6);
    }
    assert_eq!(rounds.bbr3.state, State::Startup);
}

#[test]
fn startup_ends_after_losses() {
    let exits = |segments: u64| {
        let mut rounds = Rounds::new();
        (rounds.in_flight, rounds.app_limited) = (Some(200_000), true);
        rounds.step(1e6);
        rounds.step(1.5e6);
        rounds.lose(segments, 200_000);
        rounds.step_losing(1.5e6, segments * MSS);
        rounds.step_losing(1.5e6, segments * MSS);
        rounds.bbr3
    };
    let bbr3 = exits(6);
    assert_eq!(bbr3.state, State::Drain);
    assert_eq!(bbr3.inflight_longterm, 75_000, "what was delivered in the round");
    assert_eq!(exits(5).state, State::Startup, "fewer than six ranges");
}

#[test]
fn drain_ends_at_one_bdp_in_flight_or_after_three_rounds() {
    let mut rounds = Rounds::new();
    rounds.in_flight = Some(300_000);
    rounds.step_until(State::Drain, 2e6);
    rounds.in_flight = Some(100_000);
    rounds.step(2e6);
    assert_eq!(rounds.bbr3.state, State::ProbeBwCruise, "a BDP is in flight: nothing is left to drain for Down either");

    let mut rounds = Rounds::new();
    rounds.in_flight = Some(300_000);
    rounds.step_until(State::Drain, 2e6);
    assert_eq!(rounds.step_until(State::ProbeBwDown, 2e6), 4, "more than three rounds later");
}

#[test]
fn down_ends_when_the_queue_is_empty_and_headroom_is_left() {
    let mut rounds = Rounds::probing();
    rounds.bbr3.start_down(rounds.now);
    rounds.bbr3.inflight_longterm = 80_000;
    rounds.in_flight = Some(75_000);
    rounds.step(2e6);
    assert_eq!(rounds.bbr3.state, State::ProbeBwDown, "85 % of the bound is 68 kB");
    rounds.bbr3.inflight_longterm = 80_000;
    rounds.in_flight = Some(68_000);
    rounds.step(2e6);
    assert_eq!(rounds.bbr3.state, State::ProbeBwCruise);
}

/// With a BDP of 69 segments, BBR probes the bandwidth every 62 or 63 rounds, or after 2 to 3 s if that is earlier.
#[test]
fn probes_follow_after_renos_rounds_or_two_to_three_seconds() {
    let mut rounds = Rounds::probing();
    let begun = rounds.now;
    rounds.step_until(State::ProbeBwRefill, 2e6);
    let apart = (rounds.now - begun).as_secs_f64();
    assert!((2.0..3.1).contains(&apart), "{apart} s");

    // On a path with a BDP of ten segments, the number of rounds is reached first.
    let mut rounds = Rounds::new();
    for _ in 0..5 {
        rounds.step(10.0 * MSS as f64 / RTT.as_secs_f64());
    }
    let apart = rounds.step_until(State::ProbeBwRefill, 10.0 * MSS as f64 / RTT.as_secs_f64());
    assert!((7..=11).contains(&apart), "{apart} rounds");
}

#[test]
fn up_ends_at_a_bandwidth_plateau() {
    let mut rounds = Rounds::up();
    for round in 0..2 {
        rounds.step(2e6);
        assert_eq!(rounds.bbr3.state, State::ProbeBwUp, "round {round}");
    }
    rounds.step(2e6);
    assert_eq!(rounds.bbr3.state, State::ProbeBwDown);
}

#[test]
fn up_continues_while_the_bandwidth_grows() {
    let mut rounds = Rounds::up();
    let mut rate = 2e6;
    for _ in 0..10 {
        rate *= 1.26;
        rounds.step(rate);
    }
    assert_eq!(rounds.bbr3.state, State::ProbeBwUp);
    assert!(rounds.bbr3.bw >= rate * 0.999);
}

/// A probe ends at 2 % loss. The long-term bound becomes the number of bytes in flight at that loss, but at least 0.7
/// of the target.
#[test]
fn a_probe_that_loses_too_much_sets_the_longterm_bound() {
    let mut rounds = Rounds::up();
    rounds.lose(1, 140_000);
    assert_eq!(rounds.bbr3.state, State::ProbeBwUp, "1 % of the bytes in flight");
    rounds.lose(2, 140_000);
    assert_eq!(rounds.bbr3.state, State::ProbeBwDown);
    let bound = rounds.bbr3.inflight_longterm;
    // 2 % of (140 000 - 1448) bytes is 2771 bytes. 1448 bytes were lost before, so the threshold is exceeded 1350 bytes
    // into the second segment.
    assert!((139_850..139_950).contains(&bound), "{bound}");

    let mut rounds = Rounds::up();
    rounds.lose(3, 40_000);
    assert_eq!(rounds.bbr3.inflight_longterm, (0.7 * rounds.bbr3.target_inflight() as f64) as u64);
}

/// Section 5.3.3.6: the next probe stops at the upper bound that the loss has set. If this probe causes no loss,
/// another probe follows without a cruise phase.
#[test]
fn the_probe_after_a_loss_stops_at_the_upper_bound() {
    let mut rounds = Rounds::up();
    rounds.lose(3, 140_000);
    assert!(rounds.bbr3.probe.too_high);
    let bound = rounds.bbr3.inflight_longterm;
    rounds.ca_state = CaState::Open;
    rounds.step_until(State::ProbeBwUp, 2e6);
    rounds.in_flight = Some(bound);
    rounds.step(2e6);
    assert_eq!(rounds.bbr3.state, State::ProbeBwDown, "at the bound");
    rounds.in_flight = None;
    rounds.step(2e6);
    assert_eq!(rounds.bbr3.state, State::ProbeBwRefill, "no loss: again, without a cruise");
    rounds.step(2e6);
    rounds.in_flight = Some(bound);
    rounds.step(2e6);
    assert_eq!(rounds.bbr3.state, State::ProbeBwUp, "stays at the bound this time");
}

/// The bound grows by 1, 2, 4, 8 segments per round (section 5.3.3.5).
#[test]
fn the_longterm_bound_is_raised_faster_with_each_round() {
    let Rounds { mut bbr3, now, .. } = Rounds::probing();
    bbr3.inflight_longterm = 100 * MSS;
    bbr3.cwnd = 100 * MSS;
    let sample = Sample {
        newly_acked: 0,
        newly_lost: 0,
        delivered: 100 * MSS,
        rate: 2e6,
        prior_delivered: Some(0),
        rtt: Some(RTT),
        tx_in_flight: 0,
        lost: 0,
        app_limited: false,
        cwnd_full: true,
    };
    bbr3.start_refill();
    bbr3.rounds.start = true;
    bbr3.update_probe_bw(now, &sample, 0);
    assert_eq!(bbr3.state, State::ProbeBwUp);
    let mut grown = Vec::new();
    for _ in 0..5 {
        let before = bbr3.inflight_longterm;
        bbr3.rounds.start = false;
        bbr3.update_probe_bw(now, &Sample { newly_acked: bbr3.cwnd, ..sample }, 0);
        grown.push((bbr3.inflight_longterm - before) / MSS);
        bbr3.cwnd = bbr3.inflight_longterm;
        bbr3.rounds.start = true;
        bbr3.update_probe_bw(now, &sample, 0);
    }
    assert_eq!(grown, [1, 2, 4, 8, 16]);
    // The bound stays if it does not limit the sender, or if the sender does not use its window.
    let bound = bbr3.inflight_longterm;
    for (cwnd_full, cwnd) in [(false, bound), (true, bound - MSS)] {
        (bbr3.state, bbr3.cwnd, bbr3.rounds.start) = (State::ProbeBwUp, cwnd, false);
        bbr3.update_probe_bw(now, &Sample { newly_acked: 10 * bound, cwnd_full, ..sample }, 0);
        assert_eq!(bbr3.inflight_longterm, bound);
    }
}

/// Between probes, a round with loss lowers the short-term bounds by at most 30 %.
#[test]
fn a_loss_between_probes_sets_the_shortterm_bounds() {
    let mut rounds = Rounds::probing();
    let before = rounds.bbr3.cwnd;
    rounds.lose(1, 100_000);
    rounds.step(1.8e6);
    let bound = rounds.bbr3.short_term;
    assert_eq!(
        (bound.bw, bound.inflight),
        (2e6, (0.7 * before as f64).max(100_000.0) as u64),
        "the last round's maximum"
    );
    rounds.lose(1, 100_000);
    rounds.step(0.5e6);
    rounds.lose(1, 100_000);
    rounds.step(0.5e6);
    assert!((rounds.bbr3.short_term.bw - 0.7 * 1.8e6).abs() < 1e5 || rounds.bbr3.short_term.bw >= 0.7 * 0.7 * 2e6);
    assert!(rounds.bbr3.bw < 2e6);
    // Refill removes the short-term bounds.
    rounds.ca_state = CaState::Open;
    rounds.step_until(State::ProbeBwRefill, 2e6);
    assert!(rounds.bbr3.short_term.bw.is_infinite() && rounds.bbr3.short_term.inflight == UNBOUNDED);
}

/// Sections 5.6.3 and 5.6.4.2.
#[test]
fn the_window_has_room_for_three_offload_units() {
    let mut bbr3 = bbr3();
    let mut at_rate = |rate, state| {
        (bbr3.pacer.rate, bbr3.state) = (rate, state);
        (bbr3.quantum(), bbr3.with_budget(1), bbr3.with_budget(1 << 20))
    };
    assert_eq!(at_rate(20e6, State::ProbeBwCruise), (20_000, 60_000, 1 << 20));
    assert_eq!(at_rate(1e3, State::ProbeBwCruise), (2 * MSS, 6 * MSS, 1 << 20));
    assert_eq!(at_rate(1e3, State::ProbeBwUp), (2 * MSS, 8 * MSS, (1 << 20) + 2 * MSS));
    assert_eq!(at_rate(1e12, State::ProbeBwCruise), (64 << 10, 192 << 10, 1 << 20));
}

#[test]
fn the_maximum_bandwidth_covers_two_cycles() {
    let mut rounds = Rounds::probing();
    let mut cycles = 0;
    while rounds.bbr3.max_bw.max() > 1.1e6 {
        rounds.step_until(State::ProbeBwUp, 1e6);
        rounds.step_until(State::ProbeBwDown, 1e6);
        rounds.step(1e6);
        rounds.step(1e6);
        cycles += 1;
        assert!(cycles < 4);
    }
    assert_eq!(cycles, 2);
}

#[test]
fn a_mark_counts_as_congestion() {
    let mut rounds = Rounds::up();
    rounds.state.in_flight = Bytes::new(140_000);
    rounds.bbr3.on_congestion(rounds.now, Signal::EcnEcho, &rounds.state);
    assert_eq!((rounds.bbr3.state, rounds.bbr3.inflight_longterm), (State::ProbeBwDown, 140_000));
}

/// Section 5.3.4: every five seconds the window is half of the BDP, for 200 ms and at least one round.
#[test]
fn probe_rtt_starts_every_5_s_and_lasts_200_ms() {
    let mut rounds = Rounds::probing();
    let begun = rounds.now;
    rounds.rtt = RTT + Duration::from_millis(1);
    rounds.step_until(State::ProbeRtt, 2e6);
    let waited = (rounds.now - begun).as_secs_f64();
    assert!((4.6..=5.1).contains(&waited), "{waited} s after the last smallest RTT");
    rounds.step(2e6);
    assert!((49_000..=51_100).contains(&rounds.bbr3.cwnd), "{}", rounds.bbr3.cwnd);
    rounds.in_flight = Some(50_000);
    let begun = rounds.now;
    rounds.step_until(State::ProbeBwCruise, 1e6);
    assert!((rounds.now - begun).as_secs_f64() >= 0.2);
    assert!(rounds.bbr3.max_bw.max() > 1.9e6 && rounds.bbr3.cwnd > 150_000, "rates in ProbeRTT are ignored");
}

#[test]
fn probe_rtt_is_skipped_after_an_idle_time() {
    let mut rounds = Rounds::probing();
    rounds.now += Duration::from_secs(6);
    rounds.state.app_limited = true;
    rounds.bbr3.on_idle(rounds.now, Idle::TransmitStart { since: Duration::from_secs(6) }, &rounds.state);
    rounds.state.app_limited = false;
    for _ in 0..5 {
        rounds.step(2e6);
        assert_ne!(rounds.bbr3.state, State::ProbeRtt);
    }
}

#[test]
fn probe_rtt_in_startup_returns_to_startup() {
    let mut rounds = Rounds::new();
    rounds.app_limited = true;
    rounds.rtt = RTT + Duration::from_millis(1);
    rounds.step_until(State::ProbeRtt, 1e6);
    rounds.in_flight = Some(MSS);
    rounds.step_until(State::Startup, 1e6);
}

/// Section 5.5.11: a bandwidth probe resumes if the loss that ended it was spurious.
#[test]
fn a_spurious_loss_is_undone() {
    let mut rounds = Rounds::up();
    let window = rounds.bbr3.cwnd;
    rounds.lose(5, 140_000);
    assert_eq!(rounds.bbr3.state, State::ProbeBwDown);
    rounds.step(2e6);
    rounds.bbr3.on_undo(rounds.now);
    assert_eq!((rounds.bbr3.state, rounds.bbr3.inflight_longterm), (State::ProbeBwRefill, UNBOUNDED));
    assert!(rounds.bbr3.cwnd >= window);

    let mut rounds = Rounds::new();
    rounds.in_flight = Some(200_000);
    rounds.step(1e6);
    rounds.lose(8, 200_000);
    rounds.step_losing(1.3e6, 8 * MSS);
    rounds.step_losing(1.3e6, 8 * MSS);
    assert_eq!(rounds.bbr3.state, State::Drain);
    rounds.bbr3.on_undo(rounds.now);
    assert_eq!(rounds.bbr3.state, State::Startup);
    assert!(!rounds.bbr3.full_pipe.reached && rounds.bbr3.inflight_longterm == UNBOUNDED);
}

#[test]
fn a_timeout_reduces_the_window_to_one_segment_until_the_recovery_ends() {
    let mut rounds = Rounds::probing();
    let window = rounds.bbr3.cwnd;
    rounds.state.in_flight = Bytes::ZERO;
    rounds.bbr3.on_congestion(rounds.now, Signal::Timeout { consecutive: 1 }, &rounds.state);
    assert_eq!(rounds.bbr3.cwnd, MSS);
    rounds.ca_state = CaState::Loss;
    rounds.in_flight = Some(MSS);
    rounds.step(MSS as f64 / RTT.as_secs_f64());
    assert_eq!(rounds.bbr3.cwnd, MIN_PIPE_WINDOW * MSS);
    rounds.ca_state = CaState::Open;
    rounds.step(2e6);
    // The bounds that the loss set still apply.
    assert!(rounds.bbr3.cwnd >= (0.7 * window as f64) as u64, "{} of {window}", rounds.bbr3.cwnd);
}

#[test]
fn at_a_bdp_below_one_segment_four_segments_stay_in_flight() {
    let mut path = Path::new(crate::cc::tests::path::controller("bbr3"), 0.1, Duration::from_millis(20), 50);
    path.run(Duration::from_secs(30));
    let share = path.run(Duration::from_secs(30));
    assert!(share > 0.95 && path.controller.cwnd().get() >= 4 * MSS, "{share}");
}

/// The line is fully used, the queue is short, and nothing is lost.
#[test]
fn fills_the_line_without_filling_the_queue() {
    let mut path = Path::new(crate::cc::tests::path::controller("bbr3"), 20.0, RTT, 1000);
    path.run(Duration::from_secs(5));
    let share = path.run(Duration::from_secs(30));
    assert!(share > 0.96, "{share}");
    assert_eq!(path.losses, 0);
    let most = path.trace.iter().filter(|(at, _)| at.as_secs_f64() > 5.0).map(|(_, window)| *window).max();
    // The BDP is 86 segments. With a gain of 2.25 and the allowances for offload and aggregated ACKs, the window is 172
    // to 215 segments.
    assert!(most.is_some_and(|most| (172..=215).contains(&most)), "{most:?} segments");
}

#[test]
fn waits_depend_on_the_seed() {
    let waits = |seed| {
        let mut bbr3 = Bbr3::new(&Setup { seed, ..setup() });
        (0..20)
            .map(|_| {
                bbr3.start_down(Time::ZERO);
                bbr3.probe.rounds_since_up
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(waits(1), waits(1));
    assert_ne!(waits(1), waits(2));
}

/// Section 5.4.1: an idle period does not change the window.
#[test]
fn only_before_the_handshake_ends_does_the_host_set_the_window() {
    let window = Bytes::new(3 * MSS);
    let mut early = Bbr3::new(&setup());
    early.limit_window(Time::ZERO, window);
    let mut late = bbr3();
    let before = late.cwnd();
    late.limit_window(Time::from_nanos(2), window);
    late.on_idle(Time::from_nanos(2), Idle::Restart { window }, &path_state());
    assert_eq!((early.cwnd(), late.cwnd()), (window, before));
    assert_ne!(before, window);
}

/// Section 5.3.3.2: Cruise leaves 15 % of the long-term bound, and at least one segment, to other flows.
#[test]
fn the_headroom_is_15_percent_of_the_long_term_bound() {
    let left = |segments| {
        let mut bbr3 = bbr3();
        bbr3.mss = MSS;
        bbr3.inflight_longterm = segments * MSS;
        bbr3.inflight_with_headroom()
    };
    assert_eq!([left(100), left(6), left(4)], [85 * MSS, 5 * MSS, 4 * MSS]);
    let bbr3 = bbr3();
    assert_eq!(bbr3.inflight_with_headroom(), UNBOUNDED);
}

#[test]
fn more_than_two_percent_of_loss_is_too_much() {
    let mut bbr3 = bbr3();
    bbr3.sack = true;
    assert_eq!([(0, 100), (2, 100), (3, 100)].map(|(lost, of)| bbr3.is_too_much(lost, of)), [false, false, true]);
    bbr3.sack = false;
    assert_eq!([(0, 100), (1, 100)].map(|(lost, of)| bbr3.is_too_much(lost, of)), [false, true]);
}

/// tcp_rate_gen: a sample over less than the minimum RTT has no rate.
#[test]
fn a_sample_shorter_than_the_minimum_rtt_has_no_rate() {
    let bbr3 = bbr3();
    let state = PathState { min_rtt: Some(RTT), ..path_state() };
    let sample = |delivered, interval, state: &PathState| {
        let rate = RateSample { delivered: Bytes::new(delivered), interval, ..RateSample::default() };
        let sample = bbr3.sample(&Acked { rate, ..acked(1, RTT) }, state);
        (sample.rate, sample.prior_delivered)
    };
    assert_eq!(sample(1000, RTT, &state), (20_000.0, Some(0)));
    assert_eq!(sample(1000, RTT - Duration::from_nanos(1), &state), (0.0, Some(0)));
    assert_eq!(sample(1000, Duration::ZERO, &path_state()), (0.0, Some(0)));
    assert_eq!(sample(0, RTT, &state), (0.0, None));
}

/// Section 5.5.6: an app-limited sample counts only if it raises the maximum.
#[test]
fn an_app_limited_sample_does_not_lower_the_bandwidth() {
    let mut rounds = Rounds::probing();
    let cycle = rounds.bbr3.cycle;
    rounds.bbr3.max_bw.reset(cycle, 1e6);
    rounds.app_limited = true;
    rounds.step(5e5);
    assert_eq!(rounds.bbr3.max_bw.max(), 1e6);
    rounds.step(3e6);
    assert_eq!(rounds.bbr3.max_bw.max(), 3e6);
}

/// Section 5.6.4.7.
#[test]
fn the_bounds_of_the_state_limit_the_window() {
    let bounded = |state, long, short| {
        let mut bbr3 = bbr3();
        (bbr3.mss, bbr3.state, bbr3.cwnd) = (MSS, state, 200 * MSS);
        (bbr3.inflight_longterm, bbr3.short_term.inflight) = (long * MSS, short * MSS);
        bbr3.bound_window();
        bbr3.cwnd / MSS
    };
    for state in [State::ProbeBwDown, State::ProbeBwRefill, State::ProbeBwUp] {
        assert_eq!(bounded(state, 100, 150), 100);
        assert_eq!(bounded(state, 100, 50), 50);
    }
    for state in [State::ProbeBwCruise, State::ProbeRtt] {
        assert_eq!(bounded(state, 100, 150), 85);
    }
    for state in [State::Startup, State::Drain] {
        assert_eq!(bounded(state, 100, 150), 150);
    }
    assert_eq!(bounded(State::Drain, 100, 2), 4, "at least four segments");
    assert_eq!(bounded(State::Drain, 100, 300), 200);
}

/// Section 5.4.1: after an idle period the rate is the bandwidth, and ProbeRTT may end.
#[test]
fn after_an_idle_period_the_gain_is_one() {
    let mut rounds = Rounds::probing();
    rounds.bbr3.state = State::ProbeBwUp;
    rounds.bbr3.set_pacing_rate(1.25);
    let before = rounds.bbr3.pacing_rate().map_or(0, BitRate::as_bps);
    rounds.state.app_limited = false;
    rounds.bbr3.on_idle(rounds.now, Idle::TransmitStart { since: Duration::ZERO }, &rounds.state);
    assert_eq!(rounds.bbr3.pacing_rate().map_or(0, BitRate::as_bps), before);
    rounds.state.app_limited = true;
    rounds.bbr3.on_idle(rounds.now, Idle::TransmitStart { since: Duration::ZERO }, &rounds.state);
    assert_eq!(rounds.bbr3.pacing_rate().map_or(0, BitRate::as_bps), before * 4 / 5);
    rounds.bbr3.state = State::ProbeRtt;
    rounds.bbr3.propagation.until = Some(rounds.now);
    let later = rounds.now + Duration::from_millis(1);
    rounds.bbr3.on_idle(later, Idle::TransmitStart { since: Duration::ZERO }, &rounds.state);
    assert_eq!(rounds.bbr3.state, State::ProbeBwCruise);
    assert!(rounds.bbr3.needs_losses() && rounds.bbr3.ssthresh().is_none());
    rounds.bbr3.adopt(later, Bytes::new(9 * MSS), None);
    assert_eq!(rounds.bbr3.cwnd(), Bytes::new(9 * MSS));
}

/// Section 5.3.3.7: the long-term bound, and not the path, limits the probe.
#[test]
fn a_probe_that_the_long_term_bound_limits_is_no_plateau() {
    let after = |too_high, in_flight: u64, cwnd_full, cwnd: u64, full| {
        let mut bbr3 = bbr3();
        (bbr3.mss, bbr3.state, bbr3.cwnd, bbr3.inflight_longterm) = (MSS, State::ProbeBwUp, cwnd * MSS, 100 * MSS);
        bbr3.probe.too_high = too_high;
        (bbr3.full_pipe.now, bbr3.full_pipe.rounds) = (full, 2);
        let ack = acked(1, RTT);
        let sample = Sample { cwnd_full, rate: 7.0, ..bbr3.sample(&ack, &path_state()) };
        bbr3.go_down_if_due(Time::from_nanos(9), &sample, in_flight * MSS);
        (bbr3.state, bbr3.full_pipe.rounds)
    };
    assert_eq!(after(false, 90, true, 100, true), (State::ProbeBwUp, 0));
    assert_eq!(after(false, 90, true, 99, true), (State::ProbeBwDown, 2));
    assert_eq!(after(false, 90, false, 100, true), (State::ProbeBwDown, 2));
    assert_eq!(after(false, 90, false, 100, false), (State::ProbeBwUp, 2));
    assert_eq!(after(true, 100, true, 100, false), (State::ProbeBwDown, 2), "a precaution");
    assert_eq!(after(true, 99, true, 100, false), (State::ProbeBwUp, 0));
}
