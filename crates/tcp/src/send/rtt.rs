//! The estimate of the round-trip time and the retransmission timeout (RFC 6298 and its variant in each stack).

use crate::profile::{Profile, RtoRule, TickSamples};
use lopsided_core::{Duration, Time};
use std::sync::Arc;

/// Time after which a minimum RTT expires (Linux's `tcp_min_rtt_wlen`; RFC 8985 section 6.2 does not specify it).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);
/// FreeBSD's largest backoff exponent: the RTO is multiplied by at most 64.
const BACKOFF_MAX: u32 = 6;

/// Minimum time that passes between sending a segment and reading the clock. An RTO of exactly N ticks is thus rounded
/// up to N + 1 ticks: with an RTT of 20 ms, the RTO is 224 ms (captures of Linux 6.1).
const MOMENT: Duration = Duration::from_micros(1);

/// The estimate of a stack that computes its RTO in ticks (4.4BSD's `t_srtt` and `t_rttvar`).
#[derive(Clone, Copy, Debug)]
struct TickEstimate {
    /// SRTT in units of 1/8 tick.
    srtt: u64,
    /// Mean deviation in units of 1/4 tick.
    deviation: u64,
}

impl TickEstimate {
    fn first(ticks: u64) -> TickEstimate {
        TickEstimate { srtt: ticks * 8, deviation: ticks * 2 }
    }

    /// Adds a sample: the filter of RFC 6298 in scaled integers (4.4BSD's tcp_xmit_timer).
    fn after(self, ticks: u64) -> TickEstimate {
        let error = ticks.abs_diff(self.srtt / 8);
        TickEstimate {
            srtt: (self.srtt + ticks - self.srtt / 8).max(1),
            deviation: (self.deviation + error - self.deviation / 4).max(1),
        }
    }
}

/// RTT estimator and retransmission timeout of a connection.
#[derive(Debug)]
pub(crate) struct RttEstimator {
    profile: Arc<Profile>,
    /// Resolution of the stack's timers (RFC 6298's G).
    grain: Duration,
    srtt: Option<Duration>,
    /// `None` unless the RTO is computed in ticks.
    ticks: Option<Box<TickState>>,
    /// RFC 6298's RTTVAR; for Linux the current mean deviation (`mdev`).
    deviation: Duration,
    /// Linux: 4 times the largest mean deviation of the current round trip (`mdev_max`).
    round_max: Duration,
    /// Linux: 4 times the deviation from which the RTO is computed (`rttvar`).
    held: Duration,
    /// Linux: the current round trip ends when this offset is acknowledged (`rtt_seq`).
    round_end: u64,
    /// Number of times that the RTO was doubled since the last sample.
    backoff: u32,
    rto: Duration,
    /// The minimum RTT and the time at which it was measured.
    min_rtt: Option<(Duration, Time)>,
}

/// The state of a stack that computes its RTO in ticks, from one segment per window ([`RtoRule::Ticks`]).
#[derive(Debug, Default)]
struct TickState {
    /// RTT smoothed over every ACK.
    by_ack: Option<Duration>,
    /// True if a duplicate ACK arrived after the last ACK of new data: the peer misses a segment.
    gap: bool,
    /// `None` before the first sample.
    estimate: Option<TickEstimate>,
}

impl RttEstimator {
    pub fn new(profile: Arc<Profile>, grain: Duration) -> RttEstimator {
        RttEstimator {
            grain,
            srtt: None,
            ticks: None,
            deviation: Duration::ZERO,
            round_max: Duration::ZERO,
            held: Duration::ZERO,
            round_end: 0,
            backoff: 0,
            rto: profile.rto.initial(),
            min_rtt: None,
            profile,
        }
    }

    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// The RTT smoothed over every ACK. This value differs from SRTT only in stacks that update SRTT once per window.
    pub fn srtt_by_ack(&self) -> Option<Duration> {
        self.ticks.as_ref().and_then(|ticks| ticks.by_ack).or(self.srtt)
    }

    /// Adds the sample of an ACK, for a stack that computes its RTO from one segment per window.
    pub fn sample_by_ack(&mut self, rtt: Duration) {
        let ticks = self.ticks.get_or_insert_default();
        ticks.by_ack = Some(ticks.by_ack.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
    }

    /// Records whether the peer misses a segment after this ACK. Returns true if the peer missed a segment before it.
    pub fn note_gap(&mut self, duplicate: bool, progress: bool) -> bool {
        let ticks = self.ticks.get_or_insert_default();
        let before = ticks.gap;
        ticks.gap = !progress && (before || duplicate);
        before
    }

    /// The current mean deviation, as `tcp_info` reports it.
    pub fn rttvar(&self) -> Duration {
        self.deviation
    }

    pub fn rto(&self) -> Duration {
        self.rto
    }

    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    pub fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt.map(|(rtt, _)| rtt)
    }

    pub fn rule(&self) -> RtoRule {
        self.profile.rto
    }

    /// Updates the minimum RTT of the last 5 minutes. The sample must not include the delay of a delayed ACK.
    pub fn update_min(&mut self, now: Time, rtt: Duration) {
        match self.min_rtt {
            Some((min, at)) if rtt > min && now.saturating_since(at) < MIN_RTT_WINDOW => {}
            _ => self.min_rtt = Some((rtt, now)),
        }
    }

    /// Adds an RTT sample. `una` is the first unacknowledged offset, `nxt` the first offset that was never sent.
    pub fn sample(&mut self, now: Time, rtt: Duration, una: u64, nxt: u64) {
        match self.profile.rto {
            RtoRule::Rfc6298 { .. } => self.sample_rfc6298(rtt),
            RtoRule::Ticks { tick, samples, .. } => {
                self.sample_rfc6298(rtt);
                let ticks = ticks_of(now, rtt, tick, samples);
                let state = self.ticks.get_or_insert_default();
                state.estimate =
                    Some(state.estimate.map_or_else(|| TickEstimate::first(ticks), |estimate| estimate.after(ticks)));
            }
            RtoRule::FreeBsd { .. } => self.sample_rfc6298(rtt + self.grain),
            RtoRule::Linux { min, .. } => self.sample_linux(rtt, min, una, nxt),
        }
        self.backoff = 0;
        self.set_rto();
    }

    /// Computes the RTO from the RTT that the host has cached for this destination, if the cached RTT is longer than
    /// SRTT (Linux's tcp_init_metrics).
    pub fn start_from(&mut self, remembered: Duration) {
        if let RtoRule::Linux { min, max, .. } = self.profile.rto {
            if self.srtt.is_some_and(|srtt| remembered > srtt) {
                self.rto = (remembered + (remembered * 2).max(min)).min(max);
            }
        }
    }

    /// Sets the RTO if the SYN was retransmitted (RFC 6298 rule 5.7).
    pub fn fall_back(&mut self) {
        self.backoff = 0;
        self.rto = self.profile.rto.initial().max(Duration::from_secs(3));
    }

    /// Doubles the RTO (RFC 6298 rule 5.5). The doubled value applies until the next RTT sample.
    pub fn back_off(&mut self) {
        self.backoff += 1;
        match self.profile.rto {
            // FreeBSD multiplies the computed RTO, without the slop.
            RtoRule::FreeBsd { .. } if self.srtt.is_some() => self.set_rto(),
            _ => self.rto = (self.rto * 2).min(self.profile.rto.max()),
        }
    }

    /// Cancels the backoff after a spurious timeout.
    pub fn forget_backoff(&mut self) {
        self.backoff = 0;
        if self.srtt.is_some() {
            self.set_rto();
        }
    }

    /// RFC 6298 section 2 with alpha 1/8 and beta 1/4.
    fn sample_rfc6298(&mut self, rtt: Duration) {
        let Some(srtt) = self.srtt else {
            self.srtt = Some(rtt);
            self.deviation = rtt / 2;
            return;
        };
        let error = srtt.max(rtt).saturating_sub(srtt.min(rtt));
        self.deviation = (self.deviation * 3 + error) / 4;
        self.srtt = Some((srtt * 7 + rtt) / 8);
    }

    /// Linux's tcp_rtt_estimator.
    fn sample_linux(&mut self, rtt: Duration, min: Duration, una: u64, nxt: u64) {
        let Some(srtt) = self.srtt else {
            self.srtt = Some(rtt);
            self.deviation = rtt / 2;
            self.held = (rtt * 2).max(min);
            self.round_max = self.held;
            self.round_end = nxt;
            return;
        };
        // A falling RTT must not increase the RTO, so a difference larger than the current deviation gets a weight of
        // only 1/32.
        if rtt >= srtt {
            let error = rtt - srtt;
            self.deviation = (self.deviation * 3 + error) / 4;
        } else {
            let error = srtt - rtt;
            self.deviation = if error > self.deviation {
                self.deviation + (error - self.deviation) / 32
            } else {
                self.deviation - (self.deviation - error) / 4
            };
        }
        self.srtt = Some((srtt * 7 + rtt) / 8);
        self.round_max = self.round_max.max(self.deviation * 4);
        self.held = self.held.max(self.round_max);
        if una > self.round_end {
            // If the deviation falls, reduce `held`, and thus the RTO, slowly: by 1/4 of the difference between `held`
            // and `round_max` per round trip.
            if self.round_max < self.held {
                self.held = self.held - (self.held - self.round_max) / 4;
            }
            self.round_end = nxt;
            self.round_max = min;
        }
    }

    fn set_rto(&mut self) {
        let Some(srtt) = self.srtt else { return };
        let rto = match self.profile.rto {
            RtoRule::Ticks { tick, min, .. } => {
                let estimate = self.ticks.as_ref().and_then(|ticks| ticks.estimate).expect("sampled with the SRTT");
                (tick * (estimate.srtt / 8 + estimate.deviation)).max(min)
            }
            RtoRule::Rfc6298 { min, .. } => (srtt + (self.deviation * 4).max(self.grain)).max(min),
            RtoRule::FreeBsd { min, slop, .. } => {
                let least = (srtt + (self.deviation * 4).max(self.grain)).max(min);
                least * (1 << self.backoff.min(BACKOFF_MAX)) + slop
            }
            // Linux stores the RTO in whole ticks.
            RtoRule::Linux { .. } if self.grain.is_zero() => srtt + self.held,
            RtoRule::Linux { .. } => (srtt + self.held + MOMENT).ceil_to(self.grain),
        };
        self.rto = rto.min(self.profile.rto.max());
    }
}

/// Returns the RTT in ticks of a segment whose ACK arrives at `now`.
fn ticks_of(now: Time, rtt: Duration, tick: Duration, samples: TickSamples) -> u64 {
    let ticks = |time: Duration| time.as_nanos() / tick.as_nanos();
    let clock = now - Time::ZERO;
    let elapsed = ticks(clock) - ticks(clock.saturating_sub(rtt));
    match samples {
        TickSamples::Boundaries => elapsed.max(1),
        TickSamples::Counted => elapsed + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn estimator(rto: RtoRule, grain: Duration) -> RttEstimator {
        RttEstimator::new(Arc::new(Profile { rto, ..Profile::linux_6_1() }), grain)
    }

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    #[test]
    fn first_samples_follow_rfc6298() {
        let rule = RtoRule::Rfc6298 { min: MS(0), max: MS(60_000), initial: MS(1000) };
        let mut rtt = estimator(rule, MS(1));
        assert_eq!(rtt.rto(), MS(1000));
        rtt.sample(Time::ZERO, MS(100), 1, 10);
        assert_eq!(rtt.rto(), MS(300), "SRTT 100 + 4 * 50");
        rtt.sample(Time::ZERO, MS(100), 2, 10);
        assert_eq!(rtt.rto(), Duration::from_micros(250_000), "RTTVAR 37.5");
    }

    #[test]
    fn linux_applies_the_minimum_rto_to_the_deviation_only() {
        let rule = RtoRule::Linux { min: MS(200), max: MS(120_000), initial: MS(1000) };
        let mut rtt = estimator(rule, MS(4));
        for n in 0..1000 {
            rtt.sample(Time::ZERO, MS(1500), n * 10, n * 10 + 5);
        }
        let rto = rtt.rto().as_millis_f64();
        assert!((1700.0..=1704.0).contains(&rto), "{rto} ms");
    }

    #[test]
    fn linux_does_not_increase_the_rto_when_the_rtt_decreases() {
        let rule = RtoRule::Linux { min: MS(200), max: MS(120_000), initial: MS(1000) };
        let mut rtt = estimator(rule, MS(4));
        for n in 0..100 {
            rtt.sample(Time::ZERO, MS(1000), n * 10, n * 10 + 5);
        }
        let before = rtt.rto();
        rtt.sample(Time::ZERO, MS(100), 1001, 1005);
        assert!(rtt.rto() < before);
    }

    /// In a FreeBSD capture, the RTO is 570 ms at first, and 940 ms after a timeout.
    #[test]
    fn freebsd_does_not_double_the_slop_on_backoff() {
        let rule = RtoRule::FreeBsd { min: MS(30), max: MS(64_000), initial: MS(3000), slop: MS(200) };
        let mut rtt = estimator(rule, MS(1));
        // After a sample of 123 + 1 ms, SRTT is 124 ms and RTTVAR is 62 ms.
        rtt.sample(Time::ZERO, MS(123), 1, 2);
        assert_eq!(rtt.rto(), MS(372 + 200));
        rtt.back_off();
        assert_eq!(rtt.rto(), MS(2 * 372 + 200));
        for _ in 0..10 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), MS(64 * 372 + 200));
        rtt.sample(Time::ZERO, MS(123), 3, 4);
        assert_eq!(rtt.rto(), Duration::from_micros(124_000 + 4 * 46_500 + 200_000));
    }

    #[test]
    fn a_coarse_clock_yields_an_rto_in_whole_ticks() {
        let rule =
            |samples| RtoRule::Ticks { tick: MS(100), samples, min: MS(200), max: MS(60_000), initial: MS(3000) };
        // SRTT is in 1/8 tick and the deviation in 1/4 tick. After a first sample of one tick, SRTT is 8 and the
        // deviation is 2. More samples of one tick change nothing: the RTO stays 1 + 2 ticks.
        let mut rtt = estimator(rule(TickSamples::Boundaries), MS(0));
        for at in 1..20 {
            rtt.sample(at_ms(at * 80), MS(64), 0, 0);
        }
        assert_eq!(rtt.rto(), MS(300));
        // The clock ticks once between 2.050 and 2.199 s, and twice between 2.151 and 2.300 s. The sample of two ticks
        // raises SRTT to 9/8 ticks and the deviation to 3/4 tick, so the RTO is 1 + 3 ticks.
        rtt.sample(at_ms(2199), MS(149), 0, 0);
        assert_eq!(rtt.rto(), MS(300));
        rtt.sample(at_ms(2300), MS(149), 0, 0);
        assert_eq!(rtt.rto(), MS(400));
        // tcp_xmit_timer adds 1/8 of the error to SRTT and 1/4 of its change to the deviation. A sample of 10 ticks and
        // two samples of 2 ticks lead to SRTTs of 80/8, 72/8 and 65/8 ticks, and deviations of 20/4, 23/4 and 25/4
        // ticks.
        let mut rtt = estimator(rule(TickSamples::Boundaries), MS(0));
        let timeouts = [(1000, 1000), (2000, 200), (3000, 200)].map(|(at, ms)| {
            rtt.sample(at_ms(at), MS(ms), 0, 0);
            rtt.rto()
        });
        assert_eq!(timeouts, [MS(3000), MS(3200), MS(3300)]);
        // Two RTTs of 64 ms: one within a tick, and one across a tick boundary.
        let counted = |at| {
            let mut rtt = estimator(rule(TickSamples::Counted), MS(0));
            rtt.sample(at_ms(at), MS(64), 0, 0);
            rtt.rto()
        };
        assert_eq!((counted(170), counted(210)), (MS(300), MS(600)));
    }

    #[test]
    fn backoff_doubles_the_rto_until_a_sample_and_up_to_the_maximum() {
        let rule = RtoRule::Linux { min: MS(200), max: MS(1000), initial: MS(300) };
        let mut rtt = estimator(rule, MS(4));
        rtt.back_off();
        assert_eq!(rtt.rto(), MS(600));
        rtt.back_off();
        assert_eq!(rtt.rto(), MS(1000));
        rtt.sample(Time::ZERO, MS(50), 1, 2);
        assert_eq!(rtt.rto(), MS(252), "50 + 200, in whole ticks");
        let mut rtt = estimator(rule, MS(4));
        rtt.sample(Time::ZERO, MS(20), 1, 2);
        assert_eq!(rtt.rto(), MS(224), "an RTO of exactly 220 ms takes one more tick");
    }

    /// Linux's tcp_init_metrics: a cached RTT replaces SRTT and is doubled for the deviation, for which the minimum of
    /// 200 ms holds.
    #[test]
    fn a_remembered_rtt_longer_than_srtt_sets_the_first_rto() {
        let started = |sampled: bool, remembered| {
            let mut rtt = estimator(RtoRule::Linux { min: MS(200), max: MS(600), initial: MS(500) }, Duration::ZERO);
            if sampled {
                rtt.sample(Time::ZERO, MS(50), 1, 2);
            }
            rtt.start_from(MS(remembered));
            rtt.rto().as_nanos() / 1_000_000
        };
        assert_eq!([49, 50, 80, 120, 300].map(|ms| started(true, ms)), [250, 250, 280, 360, 600]);
        assert_eq!(started(false, 80), 500, "without a sample of the handshake");
        let rule = RtoRule::Rfc6298 { min: MS(0), max: MS(60_000), initial: MS(1000) };
        let mut rtt = estimator(rule, MS(1));
        rtt.sample(Time::ZERO, MS(50), 1, 2);
        rtt.start_from(MS(300));
        assert_eq!(rtt.rto(), MS(150), "other stacks do not cache the RTT");
    }

    /// RFC 6298 section 2: SRTT + max(G, 4 RTTVAR), and at least 1 s or another minimum.
    #[test]
    fn the_clocks_resolution_bounds_the_deviation_from_below() {
        let rule = RtoRule::Rfc6298 { min: MS(60), max: MS(60_000), initial: MS(1000) };
        let mut rtt = estimator(rule, MS(40));
        for _ in 0..40 {
            rtt.sample(Time::ZERO, MS(100), 1, 2);
        }
        assert_eq!(rtt.rto(), MS(140));
        let mut rtt = estimator(rule, MS(1));
        rtt.sample(Time::ZERO, MS(10), 1, 2);
        assert_eq!(rtt.rto(), MS(60));
    }

    #[test]
    fn the_minimum_rtt_expires_after_five_minutes() {
        let rule = RtoRule::Rfc6298 { min: MS(60), max: MS(60_000), initial: MS(1000) };
        let mut rtt = estimator(rule, MS(1));
        let mut at = |seconds: u64, ms| {
            rtt.update_min(Time::ZERO + Duration::from_secs(seconds), MS(ms));
            rtt.min_rtt()
        };
        assert_eq!(at(10, 50), Some(MS(50)));
        assert_eq!(at(309, 80), Some(MS(50)));
        assert_eq!(at(310, 80), Some(MS(80)));
        assert_eq!(at(320, 80), Some(MS(80)), "an equal sample renews the minimum");
        assert_eq!(at(619, 90), Some(MS(80)));
        assert_eq!(at(619, 70), Some(MS(70)));
    }

    /// tcp_rtt_estimator: a fall of the RTT by more than the deviation has a weight of 1/32, a smaller fall of 1/4.
    #[test]
    fn linux_weighs_a_fall_of_the_rtt_by_its_size() {
        let rule = RtoRule::Linux { min: MS(1), max: MS(120_000), initial: MS(1000) };
        let after = |ms| {
            let mut rtt = estimator(rule, Duration::ZERO);
            rtt.sample(Time::ZERO, MS(1000), 1, 10);
            rtt.sample(Time::ZERO, MS(ms), 2, 10);
            (rtt.srtt().map(|srtt| srtt.as_millis_f64()), rtt.rttvar().as_millis_f64())
        };
        assert_eq!(after(360), (Some(920.0), 500.0 + 140.0 / 32.0));
        assert_eq!(after(900), (Some(987.5), 500.0 - 400.0 / 4.0));
        assert_eq!(after(1200), (Some(1025.0), (3.0 * 500.0 + 200.0) / 4.0));
    }

    /// tcp_rtt_estimator: after each round trip, a quarter of the fall of mdev_max reduces rttvar.
    #[test]
    fn linux_lowers_the_rto_once_per_round_trip() {
        let rule = RtoRule::Linux { min: MS(200), max: MS(120_000), initial: MS(1000) };
        let mut rtt = estimator(rule, Duration::ZERO);
        // The first deviation is 400 / 2 ms, so the RTO is 400 + 4 * 200 ms.
        rtt.sample(Time::ZERO, MS(400), 1, 10);
        assert_eq!(rtt.rto(), MS(1200));
        // Equal samples within the round trip, up to the offset 10, do not reduce the RTO.
        for una in [2, 5, 10] {
            rtt.sample(Time::ZERO, MS(400), una, 20);
        }
        assert_eq!(rtt.rto(), MS(1200));
        // The first round trip contained the deviation of 800 ms. The second one ends after offset 20; its largest
        // deviation is 4 * 200 * (3/4)^4 ms.
        rtt.sample(Time::ZERO, MS(400), 11, 20);
        assert_eq!(rtt.rto(), MS(1200));
        rtt.sample(Time::ZERO, MS(400), 20, 30);
        assert_eq!(rtt.rto(), MS(1200));
        rtt.sample(Time::ZERO, MS(400), 21, 30);
        let largest = 800.0 * 0.75_f64.powi(5);
        let expected = 400.0 + 800.0 - (800.0 - largest.max(200.0)) / 4.0;
        assert!((rtt.rto().as_millis_f64() - expected).abs() < 0.001, "{:?} and {expected}", rtt.rto());
    }

    #[test]
    fn a_retransmitted_syn_sets_the_rto_to_three_seconds() {
        let rule = RtoRule::Linux { min: MS(200), max: MS(120_000), initial: MS(1000) };
        let mut rtt = estimator(rule, Duration::ZERO);
        rtt.back_off();
        rtt.fall_back();
        assert_eq!((rtt.rto(), rtt.backoff()), (MS(3000), 0));
        let slow = RtoRule::Linux { min: MS(200), max: MS(120_000), initial: MS(5000) };
        let mut rtt = estimator(slow, Duration::ZERO);
        rtt.fall_back();
        assert_eq!(rtt.rto(), MS(5000));
    }

    #[test]
    fn a_spurious_timeout_cancels_the_backoff() {
        let rule = RtoRule::Linux { min: MS(200), max: MS(120_000), initial: MS(1000) };
        let mut rtt = estimator(rule, Duration::ZERO);
        rtt.back_off();
        rtt.forget_backoff();
        assert_eq!((rtt.rto(), rtt.backoff()), (MS(2000), 0), "without a sample there is no other RTO");
        rtt.sample(Time::ZERO, MS(50), 1, 2);
        rtt.back_off();
        rtt.back_off();
        assert_eq!((rtt.rto(), rtt.backoff()), (MS(1000), 2));
        rtt.forget_backoff();
        assert_eq!((rtt.rto(), rtt.backoff()), (MS(250), 0));
    }

    #[test]
    fn a_gap_lasts_from_a_duplicate_ack_to_an_ack_of_new_data() {
        let mut rtt = estimator(Profile::linux_6_1().rto, Duration::ZERO);
        // Pairs of a duplicate ACK and an ACK of new data.
        let acks = [(false, true), (true, false), (false, false), (false, true), (true, true), (false, true)];
        let before = acks.map(|(duplicate, progress)| rtt.note_gap(duplicate, progress));
        assert_eq!(before, [false, false, true, true, false, false]);
    }

    #[test]
    fn the_rtt_by_ack_is_smoothed_separately() {
        let mut rtt = estimator(Profile::linux_6_1().rto, Duration::ZERO);
        rtt.sample(Time::ZERO, MS(40), 1, 2);
        assert_eq!(rtt.srtt_by_ack(), Some(MS(40)));
        rtt.sample_by_ack(MS(80));
        assert_eq!(rtt.srtt_by_ack(), Some(MS(80)));
        rtt.sample_by_ack(MS(160));
        assert_eq!((rtt.srtt_by_ack(), rtt.srtt()), (Some(MS(90)), Some(MS(40))));
    }

    #[test]
    fn without_a_sample_each_stack_doubles_the_initial_rto() {
        for rule in [
            RtoRule::FreeBsd { min: MS(30), max: MS(64_000), initial: MS(3000), slop: MS(200) },
            RtoRule::Linux { min: MS(200), max: MS(120_000), initial: MS(3000) },
        ] {
            let mut rtt = estimator(rule, Duration::ZERO);
            rtt.back_off();
            rtt.back_off();
            assert_eq!((rtt.rto(), rtt.backoff()), (MS(12_000), 2));
        }
    }
}
