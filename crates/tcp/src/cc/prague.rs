//! TCP Prague (draft-briscoe-iccrg-prague-congestion-control-04): DCTCP adapted to the Internet, for queues that mark
//! early and often (L4S, RFC 9330).
//!
//! - **alpha** is the smoothed share of marked bytes. It is updated once per virtual RTT (the smoothed RTT, at least 25
//!   ms), with a gain of 1/16. It starts at 1 with the first mark.
//! - **A mark** reduces the window by alpha / 2, at most once per virtual RTT. **A loss** halves the window. If a mark
//!   has reduced the window in the same virtual RTT, both reductions together halve it.
//! - **Growth** is one segment per round trip. Marked bytes do not grow the window. From the 500th round trip on,
//!   growth is (RTT / virtual RTT)^2 segments. The rate is then independent of short RTTs.
//! - **Pacing** is at window / RTT, and at twice that rate in slow start. The first mark ends slow start.
//! - **ECT(1)** and accurate feedback (RFC 9768) are always requested. If the peer does not support them, the flow
//!   sends ECT(0) and behaves like Reno (RFC 9331 section 4.1).
//!
//! Deviation: the virtual RTT is checked only when a real round trip ends. [`Prague::with_fallback`] detects classic
//! queues (section 2.4.6).
//!
//! Not implemented: windows below two segments, ECT(1) on ACKs and retransmissions, CUBIC after a loss, and bursts of
//! segmentation offload.

use super::classic_queue::{ClassicQueue, References};
use super::round::Round;
use super::{Acked, Controller, EcnUse, PathState, Setup, Signal};
use crate::{CaState, Feedback};
use lopsided_core::{BitRate, Bytes, Duration, Time};

/// Weight of the newest sample in alpha.
const GAIN: f64 = 1.0 / 16.0;
/// Minimum virtual RTT.
const LEAST_VIRTUAL_RTT: Duration = Duration::from_millis(25);
/// Number of round trips after which growth depends less on the RTT. Shorter flows keep their normal growth.
const INDEPENDENT_AFTER: u32 = 500;
/// Assumed RTT before the first sample.
const UNKNOWN_RTT: Duration = Duration::from_millis(1);
/// Minimum window after a reduction, in segments.
const LEAST_SEGMENTS: f64 = 2.0;
/// Maximum window, in bytes.
const LARGEST: f64 = (1 << 30) as f64;

#[derive(Debug)]
pub struct Prague {
    name: &'static str,
    /// The detection of a classic queue; `None` if it is off.
    classic: Option<ClassicQueue>,
    /// The window in bytes. The value may be fractional, because a step may be smaller than a byte.
    cwnd: f64,
    ssthresh: Option<f64>,
    mss: f64,
    srtt: Duration,
    /// True if accurate feedback is negotiated, so that data is sent as ECT(1).
    accurate: bool,
    /// Smoothed share of marked bytes; `None` before the first mark.
    alpha: Option<f64>,
    /// Number of bytes delivered since alpha was last updated.
    acked: u64,
    /// Number of bytes marked since alpha was last updated.
    marked: u64,
    updated: Time,
    round: Round,
    /// Number of round trips since the start of the connection.
    rounds: u32,
    /// Time of the last reduction by a mark, and the window before that reduction.
    reduced: Option<(Time, f64)>,
    /// Window and threshold before the last congestion signal, for undo.
    before: Option<(f64, Option<f64>)>,
}

impl Prague {
    pub fn new(setup: &Setup) -> Prague {
        Prague {
            name: "prague",
            classic: None,
            cwnd: setup.initial_window.get() as f64,
            ssthresh: None,
            mss: 1.0,
            srtt: UNKNOWN_RTT,
            accurate: false,
            alpha: None,
            acked: 0,
            marked: 0,
            updated: Time::ZERO,
            round: Round::default(),
            rounds: 0,
            reduced: None,
            before: None,
        }
    }

    /// Enables the detection of classic queues. At a classic queue, the window is reduced as in Reno.
    pub(super) fn with_fallback(mut self, name: &'static str, references: References) -> Prague {
        self.name = name;
        self.classic = Some(ClassicQueue::new(references));
        self
    }

    /// Copies the segment size and the RTT from the connection's state.
    fn see(&mut self, path: &PathState) {
        self.mss = path.mss.get().max(1) as f64;
        self.srtt = path.srtt.unwrap_or(self.srtt).max(Duration::from_nanos(1));
    }

    fn virtual_rtt(&self) -> Duration {
        self.srtt.max(LEAST_VIRTUAL_RTT)
    }

    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    fn set_window(&mut self, octets: f64) {
        self.cwnd = octets.clamp(self.mss, LARGEST);
    }

    /// Reduces the window to `octets` bytes and starts congestion avoidance.
    fn reduce_to(&mut self, octets: f64) {
        self.before = Some((self.cwnd, self.ssthresh));
        let window = octets.max(LEAST_SEGMENTS * self.mss);
        self.set_window(window);
        self.ssthresh = Some(self.cwnd);
        if let Some(classic) = &mut self.classic {
            classic.on_reduction((self.cwnd / self.mss) as u32);
        }
    }

    /// Counts marks and updates alpha once per virtual round trip.
    fn measure(&mut self, now: Time, ack: &Acked, path: &PathState) {
        self.acked += ack.delivered.get();
        self.marked += ack.marked.get();
        if !self.round.is_acknowledged(path) {
            return;
        }
        self.round = Round::begin(path);
        self.rounds = self.rounds.saturating_add(1);
        // RTT independence: on a path with a short RTT, alpha is updated once per virtual RTT instead of once per RTT.
        if now.saturating_since(self.updated) >= self.virtual_rtt() && self.acked > 0 {
            let share = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha = self.alpha.map(|alpha| alpha + GAIN * (share - alpha));
            // Before the first mark there is no evidence that the path has an AQM.
            if let (Some(classic), Some(_)) = (&mut self.classic, self.alpha) {
                classic.on_round();
            }
            (self.acked, self.marked) = (0, 0);
            self.updated = now;
        }
    }

    /// Grows the window for the unmarked bytes of an ACK.
    fn grow(&mut self, ack: &Acked) {
        let unmarked = ack.delivered.get().saturating_sub(ack.marked.get()) as f64;
        if self.in_slow_start() {
            let room = self.ssthresh.map_or(f64::INFINITY, |ssthresh| ssthresh - self.cwnd);
            self.set_window(self.cwnd + unmarked.min(room));
        } else {
            self.set_window(self.cwnd + unmarked * self.mss / self.cwnd * self.pace_of_growth());
        }
    }

    /// Returns the growth of the window, in segments per round trip.
    fn pace_of_growth(&self) -> f64 {
        if !self.accurate || self.rounds < INDEPENDENT_AFTER {
            return 1.0;
        }
        let ratio = self.srtt.as_nanos() as f64 / self.virtual_rtt().as_nanos() as f64;
        ratio * ratio
    }

    fn on_mark(&mut self, now: Time) {
        if !self.accurate {
            return self.reduce_to(self.cwnd / 2.0);
        }
        let least = self.classic.as_ref().map_or(0.0, ClassicQueue::least_alpha);
        let alpha = self.alpha.get_or_insert(1.0).max(least);
        let virtual_rtt = self.virtual_rtt();
        if self.reduced.is_some_and(|(at, _)| now.saturating_since(at) < virtual_rtt) {
            return;
        }
        self.reduced = Some((now, self.cwnd));
        self.reduce_to(self.cwnd * (1.0 - alpha / 2.0));
    }

    // A loss halves the window. If a mark has reduced the window in the same virtual round trip, the loss halves the
    // window that was in force before the mark.
    fn on_loss(&mut self, now: Time) {
        let virtual_rtt = self.virtual_rtt();
        let since_mark = self.reduced.take().filter(|(at, _)| now.saturating_since(*at) < virtual_rtt);
        let from = since_mark.map_or(self.cwnd, |(_, before)| before.max(self.cwnd));
        self.reduce_to((from / 2.0).min(self.cwnd));
    }
}

impl Controller for Prague {
    fn name(&self) -> &'static str {
        self.name
    }

    fn needs_rate(&self) -> bool {
        false
    }

    fn on_feedback_agreed(&mut self, feedback: Feedback) {
        self.accurate = feedback == Feedback::Accurate;
    }

    fn on_established(&mut self, now: Time, path: &PathState) {
        self.see(path);
        self.updated = now;
        self.round = Round::begin(path);
    }

    fn on_ack(&mut self, now: Time, ack: &Acked, path: &PathState) {
        self.see(path);
        if let (Some(classic), Some(rtt)) = (&mut self.classic, ack.newest_rtt) {
            classic.on_rtt(rtt);
        }
        self.measure(now, ack, path);
        // The window continues to grow after a mark, but not while a loss is being repaired.
        let repairing = ack.in_recovery && ack.ca_state != CaState::Cwr;
        if !repairing && ack.cwnd_limited && ack.may_raise {
            self.grow(ack);
        }
    }

    fn on_congestion(&mut self, now: Time, signal: Signal, path: &PathState) {
        self.see(path);
        match signal {
            Signal::EcnEcho => self.on_mark(now),
            Signal::Loss => self.on_loss(now),
            Signal::Timeout { consecutive } => {
                if consecutive == 1 {
                    self.reduce_to(self.cwnd / 2.0);
                }
                self.set_window(path.in_flight.get() as f64 + self.mss);
            }
        }
    }

    fn on_undo(&mut self, _now: Time) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            self.set_window(self.cwnd.max(cwnd));
            self.ssthresh = ssthresh;
        }
    }

    fn limit_window(&mut self, _now: Time, most: Bytes) {
        self.set_window(self.cwnd.min(most.get() as f64));
    }

    fn adopt(&mut self, _now: Time, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.set_window(cwnd.get() as f64);
        self.ssthresh = ssthresh.map(|ssthresh| ssthresh.get() as f64);
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd as u64)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh.map(|ssthresh| Bytes::new(ssthresh as u64))
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        let gain = if self.in_slow_start() { 2.0 } else { 1.0 };
        let bits = gain * self.cwnd * 8.0 / self.srtt.as_secs_f64();
        Some(BitRate::from_bps((bits as u64).max(1)))
    }

    fn ecn_use(&self) -> EcnUse {
        EcnUse::Accurate
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{MSS, Path, acked, controller, path_state, setup};
    use super::*;

    /// Returns a controller in congestion avoidance with accurate feedback and a window of `segments` segments.
    fn prague(segments: u64) -> Prague {
        let mut prague = Prague::new(&setup());
        prague.on_feedback_agreed(Feedback::Accurate);
        prague.on_established(Time::ZERO, &path_state());
        prague.reduce_to((segments * MSS) as f64);
        prague.cwnd = (segments * MSS) as f64;
        prague.ssthresh = Some(prague.cwnd);
        prague
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn path_of(rtt: Duration, una: u64) -> PathState {
        PathState { srtt: Some(rtt), una: una * MSS, nxt: (una + 10) * MSS, ..path_state() }
    }

    /// Simulates a round trip of ten segments, `marked` of which are CE-marked.
    fn round(prague: &mut Prague, now: Time, rtt: Duration, una: u64, marked: u64) {
        let ack = Acked { marked: Bytes::new(marked * MSS), ..acked(10, rtt) };
        prague.on_ack(
            now,
            &Acked { cumulative: Bytes::new(10 * MSS), delivered: Bytes::new(10 * MSS), ..ack },
            &path_of(rtt, una),
        );
    }

    #[test]
    fn alpha_starts_at_the_first_mark_and_changes_once_per_virtual_rtt() {
        let rtt = Duration::from_millis(10);
        let mut prague = prague(100);
        round(&mut prague, at(30), rtt, 10, 0);
        assert_eq!(prague.alpha, None);
        prague.on_congestion(at(40), Signal::EcnEcho, &path_of(rtt, 20));
        assert_eq!(prague.alpha, Some(1.0));
        // With round trips of 10 ms, alpha may change no earlier than 25 ms after its last update.
        round(&mut prague, at(45), rtt, 20, 5);
        assert_eq!(prague.alpha, Some(1.0));
        round(&mut prague, at(55), rtt, 30, 0);
        assert_eq!(prague.alpha, Some(1.0 + (0.25 - 1.0) / 16.0));
    }

    #[test]
    fn a_mark_reduces_by_half_of_alpha_per_virtual_rtt_and_a_loss_to_one_half_in_total() {
        let rtt = Duration::from_millis(10);
        let path = path_of(rtt, 0);
        let mut prague = prague(100);
        prague.alpha = Some(0.2);
        prague.on_congestion(at(100), Signal::EcnEcho, &path);
        assert_eq!(prague.cwnd().get(), 90 * MSS);
        prague.on_congestion(at(110), Signal::EcnEcho, &path);
        assert_eq!(prague.cwnd().get(), 90 * MSS);
        prague.on_congestion(at(120), Signal::Loss, &path);
        assert_eq!(prague.cwnd().get(), 50 * MSS);
        prague.on_congestion(at(200), Signal::Loss, &path);
        assert_eq!(prague.cwnd().get(), 25 * MSS);
    }

    #[test]
    fn an_old_flow_with_a_short_rtt_grows_by_the_square_of_its_rtt_ratio() {
        let rtt = Duration::from_millis(5);
        let mut prague = prague(10);
        round(&mut prague, at(1), rtt, 10, 0);
        assert_eq!(prague.cwnd().get(), 11 * MSS);
        prague.rounds = INDEPENDENT_AFTER;
        prague.cwnd = (10 * MSS) as f64;
        round(&mut prague, at(2), rtt, 20, 0);
        assert_eq!(prague.cwnd, (10 * MSS) as f64 + MSS as f64 / 25.0);
        // Marked bytes do not grow the window. The virtual RTT has no effect if the real RTT is longer.
        prague.cwnd = (10 * MSS) as f64;
        round(&mut prague, at(3), Duration::from_millis(100), 30, 10);
        assert_eq!(prague.cwnd().get(), 10 * MSS);
        round(&mut prague, at(4), Duration::from_millis(100), 40, 0);
        assert_eq!(prague.cwnd().get(), 11 * MSS);
    }

    #[test]
    fn without_accurate_feedback_prague_acts_like_reno() {
        let mut prague = prague(100);
        prague.on_feedback_agreed(Feedback::Classic);
        prague.alpha = Some(0.1);
        prague.on_congestion(at(10), Signal::EcnEcho, &path_of(Duration::from_millis(10), 0));
        assert_eq!(prague.cwnd().get(), 50 * MSS);
    }

    #[test]
    fn a_short_marking_threshold_keeps_the_line_full() {
        let mut prague = controller("prague");
        prague.on_feedback_agreed(Feedback::Accurate);
        let mut path = Path::new(prague, 100.0, Duration::from_millis(20), 1000);
        path.mark_from = Some(20);
        path.run(Duration::from_secs(10));
        let share = path.run(Duration::from_secs(10));
        assert!(share > 0.98, "{share}");
        assert_eq!(path.losses, 0);
    }

    #[test]
    fn a_timeout_halves_the_threshold_once_and_keeps_the_data_in_flight() {
        let path = PathState { in_flight: Bytes::new(3 * MSS), ..path_of(Duration::from_millis(50), 0) };
        let mut prague = prague(100);
        prague.on_congestion(at(10), Signal::Timeout { consecutive: 1 }, &path);
        assert_eq!((prague.cwnd().get(), prague.ssthresh().map(Bytes::get)), (4 * MSS, Some(50 * MSS)));
        prague.on_congestion(at(20), Signal::Timeout { consecutive: 2 }, &path);
        assert_eq!((prague.cwnd().get(), prague.ssthresh().map(Bytes::get)), (4 * MSS, Some(50 * MSS)));
        prague.on_undo(at(30));
        assert_eq!((prague.cwnd().get(), prague.ssthresh().map(Bytes::get)), (100 * MSS, Some(100 * MSS)));
    }

    #[test]
    fn the_pacing_rate_is_two_windows_per_rtt_in_slow_start_and_then_one() {
        let mut prague = prague(100);
        prague.see(&path_of(Duration::from_millis(50), 0));
        assert_eq!(prague.pacing_rate(), Some(BitRate::from_bps(100 * MSS * 8 * 20)));
        prague.ssthresh = None;
        assert_eq!(prague.pacing_rate(), Some(BitRate::from_bps(2 * 100 * MSS * 8 * 20)));
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_repairs_stop_growth() {
        let grown = |ack: Acked| {
            let mut prague = prague(10);
            prague.ssthresh = Some((12 * MSS) as f64);
            prague.on_ack(at(1), &ack, &path_of(Duration::from_millis(50), 5));
            prague.cwnd().get() / MSS
        };
        let ack = acked(5, Duration::from_millis(50));
        assert_eq!(grown(ack), 12);
        assert_eq!(grown(Acked { marked: Bytes::new(4 * MSS), ..ack }), 11, "only unmarked bytes");
        assert_eq!(grown(Acked { in_recovery: true, ca_state: CaState::Recovery, ..ack }), 10);
        assert_eq!(grown(Acked { in_recovery: true, ca_state: CaState::Cwr, ..ack }), 12);
        assert_eq!(grown(Acked { cwnd_limited: false, ..ack }), 10);
        assert_eq!(grown(Acked { may_raise: false, ..ack }), 10);
    }
}
