//! H-TCP: the increase grows with the time since the last congestion event, and the decrease depends on the queue
//! (Leith and Shorten, H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004; draft-leith-tcp-htcp-06).
//!
//! The increase alpha is 1 + 10 (d - 1 s) + ((d - 1 s) / 2)^2 segments per RTT. It starts to grow when the time d since
//! the last congestion event exceeds 1 s. The result is multiplied by RTT / 100 ms (limited to 0.1 to 2) and by
//! 2 (1 - beta). The factor beta is RTTmin / RTTmax, limited to 0.5 to 0.8. It is 0.5 if the throughput has changed by
//! more than 20 % since the last congestion event.
//!
//! As in Linux:
//!
//! - Times are in ticks of the stack's clock, rates in whole segments per second, alpha and beta in units of 1/128.
//!   With a tick of 4 ms, short RTTs are imprecise.
//! - Before the multiplication by 2 (1 - beta), the increase is a whole number of segments and at least one.
//! - In the Open state an ACK counts for all segments that it covers, in any other state for one segment.
//! - The first throughput sample covers all time before it, and is therefore 0.
//! - The throughput is not measured while alpha exceeds the window.

use super::{Acked, PathState, Setup, Signal, Window, WindowAlgorithm};
use crate::CaState;
use lopsided_core::{Duration, Time};

/// The value 1 of alpha and beta in fixed point.
const ONE: u64 = 128;
/// Smallest beta: 0.5.
const BETA_MIN: u64 = 64;
/// Largest beta: 0.8.
const BETA_MAX: u64 = 102;
/// Number of RTTs per second at which the growth is not scaled (an RTT of 100 ms).
const REFERENCE_RTTS: u64 = 10;
/// Minimum of the divisor that scales the growth, in units of 1/8.
const SCALE_MIN: u64 = 4;
/// Maximum of this divisor.
const SCALE_MAX: u64 = 80;
/// If RTTmin is at most this long, beta is 0.5 and does not depend on RTTmax.
const LEAST_RTT: Duration = Duration::from_millis(10);
/// Maximum by which one sample may raise RTTmax.
const RTT_STEP: Duration = Duration::from_millis(20);
/// After each congestion event, RTTmax - RTTmin is reduced to this percentage.
const RTT_MEMORY_PERCENT: u64 = 95;

/// H-TCP's growth and reduction. All times are in ticks, except the field `tick`.
#[derive(Debug)]
pub struct Htcp {
    /// Tick of the stack's clock in ns.
    tick: u64,
    /// Ticks per second.
    hz: u64,
    /// Increase in segments per window, in units of 1/128.
    alpha: u64,
    /// Window after a loss, in units of 1/128 of the window before the loss.
    beta: u64,
    /// Time of the last congestion event.
    last_congestion: u64,
    /// Value of `last_congestion` before the last congestion event, for undo; `None` once the repair is complete.
    before: Option<u64>,
    min_rtt: Option<u64>,
    max_rtt: u64,
    /// Maximum throughput since the last congestion event, in segments per second.
    best: u64,
    /// Maximum throughput before the last congestion event, in segments per second.
    old_best: u64,
    /// The smoothed throughput, in segments per second.
    throughput: u64,
    /// Number of segments acknowledged since `since`.
    count: u64,
    /// Start of the current throughput sample; `None` for the first sample, which starts at time zero.
    since: Option<u64>,
    /// True if beta may adapt: a congestion event has occurred while the throughput was steady.
    adaptive: bool,
    /// Number of segments that the next ACK counts for.
    segments: u64,
    /// Number of segments acknowledged since the last increase.
    cwnd_cnt: u64,
}

impl Htcp {
    pub fn new(setup: &Setup) -> Htcp {
        let tick = setup.tick.as_nanos().max(1);
        Htcp {
            tick,
            hz: (Duration::from_secs(1).as_nanos() / tick).max(1),
            alpha: ONE,
            beta: BETA_MIN,
            last_congestion: 0,
            before: None,
            min_rtt: None,
            max_rtt: 0,
            best: 0,
            old_best: 0,
            throughput: 0,
            count: 0,
            since: None,
            adaptive: false,
            segments: 1,
            cwnd_cnt: 0,
        }
    }

    /// Converts a time to ticks.
    fn ticks(&self, now: Time) -> u64 {
        now.as_nanos() / self.tick
    }

    /// Adds an RTT sample (Linux's measure_rtt).
    fn measure_rtt(&mut self, sample: Duration, ca_state: CaState) {
        let rtt = sample.min(Duration::from_secs(3600)).as_nanos().div_ceil(self.tick);
        let min = self.min_rtt.map_or(rtt, |min| min.min(rtt));
        self.min_rtt = Some(min);
        if ca_state == CaState::Open {
            self.max_rtt = self.max_rtt.max(min);
            if rtt <= self.max_rtt + RTT_STEP.as_nanos().div_ceil(self.tick) {
                self.max_rtt = self.max_rtt.max(rtt);
            }
        }
    }

    /// Measures the throughput over about one window of segments, and at least one RTT (Linux's
    /// measure_achieved_throughput).
    fn measure_throughput(&mut self, now: u64, segments: u64, cwnd: u64) {
        self.count = self.count.saturating_add(segments);
        let Some(min_rtt) = self.min_rtt.filter(|min| *min > 0) else { return };
        let wanted = cwnd.checked_sub((self.alpha / ONE).max(1));
        if wanted.is_none_or(|wanted| self.count < wanted) || self.since.is_some_and(|since| now - since < min_rtt) {
            return;
        }
        let now_at = self.since.map_or(0, |since| self.count * self.hz / (now - since));
        // Soon after a congestion event, the old average is outdated.
        if now - self.last_congestion < min_rtt * 4 {
            self.throughput = now_at;
            self.best = now_at;
        } else {
            self.throughput = (3 * self.throughput + now_at) / 4;
            self.best = self.best.max(self.throughput);
        }
        self.count = 0;
        self.since = Some(now);
    }

    /// Computes alpha (Linux's htcp_alpha_update).
    fn update_alpha(&mut self, now: u64) {
        let increase = scaled_increase(now - self.last_congestion, self.min_rtt, self.hz);
        let alpha = 2 * increase * (ONE - self.beta);
        self.alpha = if alpha == 0 { ONE } else { alpha };
    }

    /// Computes beta (Linux's htcp_beta_update).
    fn update_beta(&mut self) {
        let (best, old) = (self.best, self.old_best);
        self.old_best = best;
        // Throughputs that differ by at most 20 % count as equal.
        if !(4 * old..=6 * old).contains(&(5 * best)) {
            self.beta = BETA_MIN;
            self.adaptive = false;
            return;
        }
        match self.min_rtt {
            Some(min) if self.adaptive && min > LEAST_RTT.as_nanos().div_ceil(self.tick) && self.max_rtt > 0 => {
                self.beta = (min * ONE / self.max_rtt).clamp(BETA_MIN, BETA_MAX);
            }
            _ => {
                self.beta = BETA_MIN;
                self.adaptive = true;
            }
        }
    }

    /// Records a congestion event at the start of its recovery.
    fn begin_repair(&mut self, now: Time) {
        self.before = Some(self.last_congestion);
        self.last_congestion = self.ticks(now);
    }
}

/// Returns alpha before the multiplication by 2 (1 - beta). As in Linux, the result is a whole number of segments and
/// at least one.
fn scaled_increase(since: u64, min_rtt: Option<u64>, hz: u64) -> u64 {
    let beyond = u128::from(since.saturating_sub(hz));
    let hz = u128::from(hz);
    let factor = if beyond > 0 { 1 + (10 * beyond + (beyond / 2) * (beyond / 2) / hz) / hz } else { 1 };
    let factor = factor.min(1 << 40) as u64;
    match min_rtt {
        // The divisor is rounded down to 1/8.
        Some(min) if min > 0 => {
            let eighths = (hz as u64 * 8 / (REFERENCE_RTTS * min)).clamp(SCALE_MIN, SCALE_MAX);
            (factor * 8 / eighths).max(1)
        }
        _ => factor,
    }
}

impl WindowAlgorithm for Htcp {
    fn name(&self) -> &'static str {
        "htcp"
    }

    fn on_established(&mut self, now: Time, _path: &PathState, _window: &mut Window) {
        self.last_congestion = self.ticks(now);
    }

    fn on_arrival(&mut self, now: Time, ack: &Acked, _path: &PathState, window: &Window) {
        if ack.ca_state == CaState::Open {
            // Linux counts the segments that an ACK covers only in the Open state.
            self.segments = u64::from(ack.segments);
        }
        if let Some(rtt) = ack.newest_rtt {
            self.measure_rtt(rtt, ack.ca_state);
        }
        let now = self.ticks(now);
        if matches!(ack.ca_state, CaState::Open | CaState::Disorder) {
            self.measure_throughput(now, u64::from(ack.segments), window.segments());
        } else {
            self.count = 0;
            self.since = Some(now);
        }
    }

    fn pkts_acked(&mut self, now: Time, ack: &Acked, _path: &PathState, _window: &mut Window) {
        if ack.ca_state == CaState::Open && self.before.take().is_some() {
            // The time since the last congestion event is measured from the end of its recovery.
            self.last_congestion = self.ticks(now);
        }
    }

    fn cong_avoid(&mut self, now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        let segments = std::mem::replace(&mut self.segments, 1);
        if window.in_slow_start() {
            window.slow_start(window.acked_bytes_for_growth(ack));
            return;
        }
        if self.cwnd_cnt * self.alpha / ONE >= window.segments() {
            window.set_segments(window.segments() + 1);
            self.cwnd_cnt = 0;
            self.update_alpha(self.ticks(now));
        } else {
            self.cwnd_cnt += segments;
        }
    }

    fn ssthresh(&mut self, now: Time, signal: Signal, _path: &PathState, window: &Window) -> u64 {
        self.update_beta();
        self.update_alpha(self.ticks(now));
        if let Some(min) = self.min_rtt.filter(|min| self.max_rtt > *min) {
            self.max_rtt = min + (self.max_rtt - min) * RTT_MEMORY_PERCENT / 100;
        }
        self.cwnd_cnt = 0;
        if !matches!(signal, Signal::Timeout { .. }) {
            self.begin_repair(now);
        }
        window.segments() * self.beta / ONE
    }

    fn on_timeout(&mut self, now: Time, _path: &PathState, _window: &mut Window) {
        self.cwnd_cnt = 0;
        self.begin_repair(now);
    }

    fn on_undo(&mut self, _now: Time) {
        if let Some(last_congestion) = self.before.take() {
            self.last_congestion = last_congestion;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{acked, path_state, setup};
    use super::*;

    /// Section 2 of the draft: compares alpha at several times after a congestion event, at the reference RTT.
    #[test]
    fn alpha_grows_once_one_second_has_passed_since_the_congestion_event() {
        let scaled = |since_ms: u64, rtt_ms: u64| scaled_increase(since_ms / 4, Some(rtt_ms / 4), 250);
        let at = |since_ms| scaled(since_ms, 100);
        assert_eq!(at(500), 1);
        assert_eq!(at(1000), 1);
        assert_eq!(at(2000), 1 + 10);
        assert_eq!(at(5000), 1 + 40 + 4);
        assert_eq!(scaled(5000, 40), 18, "shorter paths grow more slowly per RTT: 45 * 0.4");
        assert_eq!(scaled(0, 40), 1, "but never slower than Reno");
        assert_eq!(scaled(0, 400), 2);
    }

    /// Section 3: beta is RTTmin / RTTmax while the throughput is steady.
    #[test]
    fn beta_follows_the_depth_of_the_queue() {
        let mut htcp = Htcp::new(&setup());
        (htcp.min_rtt, htcp.max_rtt) = (Some(25), 40);
        (htcp.best, htcp.old_best) = (1000, 1000);
        htcp.update_beta();
        assert_eq!(htcp.beta, 64, "the first congestion at a steady throughput");
        htcp.update_beta();
        assert_eq!(htcp.beta, 80, "0.625");
        htcp.max_rtt = 26;
        htcp.update_beta();
        assert_eq!(htcp.beta, BETA_MAX);
        htcp.best = 1300;
        htcp.update_beta();
        assert_eq!(htcp.beta, 64, "the throughput changed by more than a fifth");
    }

    /// Linux: the ACK that ends a repair still belongs to the repair, and counts as one segment.
    #[test]
    fn an_ack_counts_all_covered_segments_only_in_the_open_state() {
        let mut htcp = Htcp::new(&setup());
        let mut window = Window::new(lopsided_core::Bytes::new(10_000), crate::ByteCounting::Delivered);
        window.set_mss(lopsided_core::Bytes::new(1));
        window.end_slow_start();
        let ack = acked(30, Duration::from_millis(100));
        let mut counted = |ca_state| {
            htcp.on_arrival(Time::ZERO, &Acked { ca_state, ..ack }, &path_state(), &window);
            htcp.cwnd_cnt = 0;
            htcp.cong_avoid(Time::ZERO, &ack, &path_state(), &mut window);
            htcp.cwnd_cnt
        };
        assert_eq!([CaState::Open, CaState::Recovery, CaState::Disorder].map(&mut counted), [30, 1, 1]);
    }

    #[test]
    fn a_throughput_sample_takes_at_least_a_round_trip() {
        let measured = |after: u64| {
            let mut htcp = Htcp::new(&setup());
            (htcp.alpha, htcp.min_rtt, htcp.since) = (ONE, Some(25), Some(1000));
            htcp.measure_throughput(1000 + after, 1000, 20);
            htcp.throughput
        };
        assert_eq!([measured(24), measured(25), measured(250)], [0, 2500, 250]);
    }

    /// Linux's comparison is unsigned, so no throughput is measured while the increase per RTT exceeds the window.
    #[test]
    fn no_throughput_is_measured_while_the_increase_exceeds_the_window() {
        let measured = |alpha| {
            let mut htcp = Htcp::new(&setup());
            (htcp.alpha, htcp.min_rtt, htcp.since) = (alpha * ONE, Some(25), Some(0));
            htcp.measure_throughput(250, 1000, 20);
            htcp.throughput
        };
        assert_eq!([measured(1), measured(20), measured(21)], [250, 250, 0]);
    }

    fn window(segments: u64) -> Window {
        let mut window = Window::new(lopsided_core::Bytes::new(segments), crate::ByteCounting::Delivered);
        window.set_mss(lopsided_core::Bytes::new(1));
        window.end_slow_start();
        window
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    /// Linux's htcp_reset and htcp_cwnd_undo: the time since the last congestion event starts at each event, and an
    /// undo restores it.
    #[test]
    fn a_congestion_event_restarts_the_time_and_an_undo_restores_it() {
        let mut htcp = Htcp::new(&setup());
        htcp.on_established(at(100), &path_state(), &mut window(100));
        assert_eq!(htcp.last_congestion, 25_000, "in ticks of 4 ms");
        assert_eq!(htcp.ssthresh(at(200), Signal::Loss, &path_state(), &window(100)), 50);
        assert_eq!(htcp.last_congestion, 50_000);
        htcp.on_undo(at(201));
        assert_eq!(htcp.last_congestion, 25_000);
        htcp.on_undo(at(201));
        assert_eq!(htcp.last_congestion, 25_000);
        // After a timeout, the time restarts only after the threshold has been computed.
        htcp.ssthresh(at(300), Signal::Timeout { consecutive: 1 }, &path_state(), &window(100));
        assert_eq!((htcp.last_congestion, htcp.before), (25_000, None));
        htcp.on_timeout(at(300), &path_state(), &mut window(100));
        assert_eq!((htcp.last_congestion, htcp.before), (75_000, Some(25_000)));
        // The first ACK in the Open state ends the repair, and the time restarts.
        let ack = |ca_state| Acked { ca_state, ..acked(1, Duration::from_millis(100)) };
        htcp.pkts_acked(at(301), &ack(CaState::Recovery), &path_state(), &mut window(100));
        assert_eq!(htcp.last_congestion, 75_000);
        htcp.pkts_acked(at(302), &ack(CaState::Open), &path_state(), &mut window(100));
        assert_eq!((htcp.last_congestion, htcp.before), (75_500, None));
        htcp.pkts_acked(at(303), &ack(CaState::Open), &path_state(), &mut window(100));
        assert_eq!(htcp.last_congestion, 75_500);
    }

    #[test]
    fn the_largest_rtt_rises_in_steps_and_decays_at_each_congestion_event() {
        let mut htcp = Htcp::new(&setup());
        let mut measured = |ms, ca_state| {
            htcp.measure_rtt(Duration::from_millis(ms), ca_state);
            (htcp.min_rtt, htcp.max_rtt)
        };
        assert_eq!(measured(100, CaState::Recovery), (Some(25), 0));
        assert_eq!(measured(100, CaState::Open), (Some(25), 25));
        assert_eq!(measured(120, CaState::Open), (Some(25), 30));
        assert_eq!(measured(200, CaState::Open), (Some(25), 30), "more than 20 ms longer");
        assert_eq!(measured(121, CaState::Open), (Some(25), 31), "rounded up to ticks");
        assert_eq!(measured(80, CaState::Open), (Some(20), 31));
        htcp.max_rtt = 60;
        htcp.ssthresh(at(1), Signal::Loss, &path_state(), &window(100));
        assert_eq!(htcp.max_rtt, 20 + 40 * 95 / 100);
    }

    #[test]
    fn a_window_of_acks_adds_alpha_segments() {
        let grown = |alpha, acks: u32| {
            let mut htcp = Htcp { alpha, ..Htcp::new(&setup()) };
            let mut window = window(10);
            for _ in 0..acks {
                htcp.segments = 1;
                htcp.cong_avoid(at(0), &acked(1, Duration::from_millis(100)), &path_state(), &mut window);
            }
            (window.segments(), htcp.cwnd_cnt)
        };
        // The ACK that adds a segment is itself not counted.
        assert_eq!([grown(ONE, 10), grown(ONE, 11)], [(10, 10), (11, 0)]);
        assert_eq!([grown(2 * ONE, 5), grown(2 * ONE, 6)], [(10, 5), (11, 0)]);
        assert_eq!(grown(2 * ONE, 7), (11, 1));
    }

    #[test]
    fn alpha_is_at_least_one_and_follows_beta() {
        let alpha = |beta, seconds: u64| {
            let mut htcp = Htcp { beta, ..Htcp::new(&setup()) };
            htcp.update_alpha(250 * seconds);
            htcp.alpha
        };
        // 2 (1 - beta) times 1 segment, and times 11 segments after two seconds.
        assert_eq!([alpha(64, 0), alpha(96, 0), alpha(64, 2)], [128, 64, 128 * 11]);
        assert_eq!(alpha(128, 2), ONE);
    }

    /// Section 3 and Linux's htcp_measure_throughput: throughput samples restart soon after a congestion event, and
    /// are smoothed later.
    #[test]
    fn the_throughput_is_smoothed_once_four_round_trips_have_passed() {
        let mut htcp = Htcp { min_rtt: Some(25), since: Some(1000), last_congestion: 1000, ..Htcp::new(&setup()) };
        let mut at = |now, segments| {
            htcp.measure_throughput(now, segments, 20);
            (htcp.throughput, htcp.best)
        };
        assert_eq!(at(1050, 100), (500, 500), "100 segments in 50 ticks of 4 ms");
        assert_eq!(at(1099, 98), (500, 500));
        assert_eq!(at(1149, 300), (750, 750), "(3 * 500 + 1500) / 4");
        assert_eq!(at(1199, 50), (625, 750));
        assert_eq!(at(1200, 18), (625, 750), "fewer segments than a window");
    }

    #[test]
    fn a_repair_discards_the_throughput_sample() {
        let mut htcp = Htcp { min_rtt: Some(25), count: 50, ..Htcp::new(&setup()) };
        let ack = Acked { ca_state: CaState::Recovery, ..acked(10, Duration::from_millis(100)) };
        htcp.on_arrival(at(2), &ack, &path_state(), &window(100));
        assert_eq!((htcp.count, htcp.since), (0, Some(500)));
        let ack = Acked { ca_state: CaState::Disorder, ..ack };
        htcp.on_arrival(at(2), &ack, &path_state(), &window(100));
        assert_eq!(htcp.count, 10);
    }

    #[test]
    fn beta_depends_on_the_delay_only_if_there_is_a_queue_and_a_path() {
        let beta = |min_rtt, max_rtt, best, old_best| {
            let mut htcp = Htcp { min_rtt, max_rtt, best, old_best, adaptive: true, ..Htcp::new(&setup()) };
            htcp.update_beta();
            (htcp.beta, htcp.old_best)
        };
        assert_eq!(beta(Some(4), 6, 1000, 1000), (85, 1000));
        assert_eq!(beta(Some(3), 6, 1000, 1000).0, BETA_MIN, "12 ms is three ticks, as is Linux's minimum of 10 ms");
        assert_eq!(beta(None, 6, 1000, 1000).0, BETA_MIN);
        assert_eq!(beta(Some(4), 0, 1000, 1000).0, BETA_MIN);
        // Within 20 %: from 800 to 1200.
        assert_eq!([800, 1200, 799, 1201].map(|best| beta(Some(4), 6, best, 1000).0), [85, 85, BETA_MIN, BETA_MIN]);
    }
}
