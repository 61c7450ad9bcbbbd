//! The common parts of loss-based algorithms: the window and the threshold, slow start, and the response to a
//! congestion signal.
//!
//! A [`WindowAlgorithm`] defines the growth in congestion avoidance and the window after a signal. Windows are stored
//! in bytes and changed in whole segments.

use super::{Acked, Controller, EcnUse, Idle, PathState, Setup, Signal};
use crate::ByteCounting;
use lopsided_core::{Bytes, Duration, Time};
use std::fmt::Debug;

/// Maximum TCP window in bytes (RFC 7323 section 2.3). A larger congestion window would be useless.
const LARGEST: u64 = 1 << 30;
/// Minimum threshold, in segments (RFC 5681 section 3.1).
const LEAST_THRESHOLD: u64 = 2;

/// A congestion window and its slow-start threshold.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The window in bytes.
    cwnd: u64,
    /// The threshold in bytes; `None` before the first congestion signal.
    ssthresh: Option<u64>,
    mss: u64,
    counting: ByteCounting,
    /// Number of bytes acknowledged since the last increase. With `AcksExactly`: the remainder of the last division, in
    /// square bytes.
    cwnd_cnt: u64,
    /// Window and threshold before the last congestion signal, for undo.
    before: Option<(u64, Option<u64>)>,
}

impl Window {
    /// Creates a window in slow start. The segment size is set once the connection is established.
    pub fn new(initial_window: Bytes, counting: ByteCounting) -> Window {
        Window { cwnd: initial_window.get().max(1), ssthresh: None, mss: 1, counting, cwnd_cnt: 0, before: None }
    }

    /// The window in bytes.
    pub fn octets(&self) -> u64 {
        self.cwnd
    }

    /// The window in segments, rounded down.
    pub fn segments(&self) -> u64 {
        (self.cwnd / self.mss).max(1)
    }

    /// Sets the window in segments.
    pub fn set_segments(&mut self, segments: u64) {
        self.set_octets(segments.saturating_mul(self.mss));
    }

    /// Sets the window in bytes, limited to at least one segment and at most the maximum TCP window.
    pub fn set_octets(&mut self, octets: u64) {
        self.cwnd = octets.clamp(self.mss, LARGEST.max(self.mss));
    }

    /// The threshold in segments, rounded down; `None` before the first congestion signal.
    pub fn ssthresh(&self) -> Option<u64> {
        self.ssthresh.map(|ssthresh| ssthresh / self.mss)
    }

    /// Sets the threshold in segments, at least two.
    pub fn set_ssthresh(&mut self, segments: u64) {
        self.ssthresh = Some(segments.max(LEAST_THRESHOLD).saturating_mul(self.mss).min(LARGEST));
    }

    /// Ends slow start by setting the threshold to the window.
    pub fn end_slow_start(&mut self) {
        self.ssthresh = Some(self.cwnd);
    }

    /// Lowers the threshold to the window if the threshold is higher than the window.
    pub fn end_slow_start_at_window(&mut self) {
        self.ssthresh = Some(self.ssthresh.map_or(self.cwnd, |ssthresh| ssthresh.min(self.cwnd)));
    }

    /// Raises an outdated threshold to 3/4 of the window (RFC 2861 section 3).
    pub fn freshen_ssthresh(&mut self) {
        self.ssthresh = self.ssthresh.map(|ssthresh| ssthresh.max(self.three_quarters()));
    }

    /// Returns 3/4 of the window, in bytes of whole segments. As in Linux, each of the two terms is rounded down.
    fn three_quarters(&self) -> u64 {
        (self.segments() / 2 + self.segments() / 4) * self.mss
    }

    /// True if the window is below the threshold.
    pub fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    /// True if the window equals the threshold.
    pub fn is_at_threshold(&self) -> bool {
        self.ssthresh == Some(self.cwnd)
    }

    /// The segment size in bytes.
    pub fn mss(&self) -> u64 {
        self.mss
    }

    /// The rule that determines how much an ACK adds to the window.
    pub fn counting(&self) -> ByteCounting {
        self.counting
    }

    /// Returns the number of bytes that an ACK counts for the growth of the window. The profile's rule determines
    /// whether this is one segment or the number of delivered bytes.
    pub fn acked_bytes_for_growth(&self, ack: &Acked) -> u64 {
        let delivered = ack.delivered.get();
        match self.counting {
            ByteCounting::Acks | ByteCounting::AcksExactly | ByteCounting::AcksThroughThreshold => self.mss,
            ByteCounting::Delivered => delivered,
            ByteCounting::Limited { segments } if self.in_slow_start() => delivered.min(u64::from(segments) * self.mss),
            ByteCounting::Limited { .. } => delivered,
            // Figure 19 of Balakrishnan et al. rounds to whole segments. Rounding here would stop the growth of a
            // window of one segment.
            ByteCounting::Half => delivered / 2,
        }
    }

    /// Grows the window by `octets` bytes, at most to the threshold (RFC 5681 equation 2). Returns the number of bytes
    /// that were not used.
    #[inline]
    pub fn slow_start(&mut self, octets: u64) -> u64 {
        if !self.in_slow_start() {
            return octets;
        }
        let room = self.ssthresh.map_or(u64::MAX, |ssthresh| ssthresh - self.cwnd);
        let step = octets.min(room);
        self.set_octets(self.cwnd.saturating_add(step));
        octets - step
    }

    /// Grows the window by one segment per `every` acknowledged segments (RFC 3465 section 2.1). `octets` is the number
    /// of newly acknowledged bytes.
    #[inline]
    pub fn add_one_per(&mut self, every: u64, octets: u64) {
        let step = every.max(1).saturating_mul(self.mss);
        if self.cwnd_cnt >= step {
            // tcp_cong_avoid_ai: if `every` has decreased, the old credit adds only one segment instead of a burst.
            self.cwnd_cnt = 0;
            self.set_octets(self.cwnd + self.mss);
        }
        self.cwnd_cnt = self.cwnd_cnt.saturating_add(octets);
        if self.cwnd_cnt >= step {
            let whole = self.cwnd_cnt / step;
            self.cwnd_cnt -= whole * step;
            self.set_octets(self.cwnd.saturating_add(whole.saturating_mul(self.mss)));
        }
    }

    /// Returns true and restarts the count if a whole window was acknowledged before this ACK. Otherwise counts the
    /// newly acknowledged bytes `octets`. The ACK that restarts the count is itself not counted
    /// (tcp_veno_cong_avoid).
    pub(super) fn count_to_window(&mut self, octets: u64) -> bool {
        let whole = self.cwnd_cnt >= self.segments() * self.mss;
        self.cwnd_cnt = if whole { 0 } else { self.cwnd_cnt.saturating_add(octets) };
        whole
    }

    /// Counts one acknowledged segment without growth.
    pub(super) fn count_segment(&mut self) {
        self.cwnd_cnt = self.cwnd_cnt.saturating_add(self.mss);
    }

    /// Adds `square_octets / cwnd` bytes to the window and keeps the remainder for the next call.
    pub fn add_exactly(&mut self, square_octets: u64) {
        self.cwnd_cnt += square_octets;
        let step = self.cwnd_cnt / self.cwnd;
        self.cwnd_cnt -= step * self.cwnd;
        self.set_octets(self.cwnd + step);
    }

    /// Reno's growth: slow start, then one segment per acknowledged window.
    #[inline]
    pub fn reno_cong_avoid(&mut self, octets: u64) {
        let left = self.slow_start(octets);
        if left > 0 {
            self.add_one_per(self.segments(), left);
        }
    }

    /// Returns half of the window in segments, which is Reno's threshold after a loss.
    pub fn reno_ssthresh(&self) -> u64 {
        self.segments() / 2
    }

    pub(super) fn reset_cwnd_cnt(&mut self) {
        self.cwnd_cnt = 0;
    }

    pub(super) fn set_mss(&mut self, mss: Bytes) {
        self.mss = mss.get().max(1);
    }

    /// Changes the segment size. `cwnd` and `ssthresh` are the new values in bytes.
    fn resize(&mut self, mss: Bytes, cwnd: u64, ssthresh: Option<u64>) {
        let before = self.mss;
        self.set_mss(mss);
        let scale = |octets: u64| octets / before * self.mss;
        self.cwnd_cnt = scale(self.cwnd_cnt);
        self.before = self.before.map(|(cwnd, ssthresh)| (scale(cwnd), ssthresh.map(scale)));
        self.cwnd = cwnd.clamp(self.mss, LARGEST.max(self.mss));
        self.ssthresh = ssthresh;
    }

    /// Saves the window and the threshold, so that a reduction can be undone. The saved threshold is at least 3/4 of
    /// the window (RFC 2861, section 3).
    fn keep(&mut self) {
        let ssthresh = self.ssthresh.map(|ssthresh| ssthresh.max(self.three_quarters()));
        self.before = Some((self.cwnd, ssthresh));
    }

    /// Restores each saved value unless the current value is larger.
    fn restore(&mut self) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = match (self.ssthresh, ssthresh) {
                (Some(now), Some(before)) => Some(now.max(before)),
                _ => None,
            };
        }
    }
}

/// An algorithm that defines how the window grows, and how a congestion signal reduces the window. All values are in
/// segments.
///
/// # Examples
///
/// An algorithm that grows by one segment per 4 windows and reduces by 10 %:
///
/// ```
/// use lopsided_core::Time;
/// use lopsided_tcp::Controller;
/// use lopsided_tcp::cc::{Acked, PathState, Signal, Window, WindowAlgorithm, WindowController, harness};
///
/// #[derive(Debug)]
/// struct Gentle;
///
/// impl WindowAlgorithm for Gentle {
///     fn name(&self) -> &str {
///         "gentle"
///     }
///     fn cong_avoid(&mut self, _now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
///         let left = window.slow_start(window.acked_bytes_for_growth(ack));
///         window.add_one_per(4 * window.segments(), left);
///     }
///     fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
///         window.segments() * 9 / 10
///     }
/// }
///
/// let (mut gentle, path) = (WindowController::new(&harness::setup(), Gentle), harness::path_state());
/// gentle.on_established(Time::ZERO, &path);
/// gentle.on_congestion(Time::ZERO, Signal::Loss, &path);
/// assert_eq!(gentle.cwnd().get(), 9 * harness::MSS);
/// ```
pub trait WindowAlgorithm: Debug + Send {
    /// The name of the algorithm, as in a scenario.
    fn name(&self) -> &str;
    /// Called when the handshake is complete. The segment size is then known, and usually one RTT sample exists.
    fn on_established(&mut self, _now: Time, _path: &PathState, _window: &mut Window) {}
    /// Called when data is sent while nothing is in flight. `idle` is the time since data was last sent.
    fn on_transmit_start(&mut self, _now: Time, _idle: Duration, _path: &PathState) {}
    /// Called for an arriving ACK before it changes the congestion state, the window or the threshold.
    #[inline]
    fn on_arrival(&mut self, _now: Time, _ack: &Acked, _path: &PathState, _window: &Window) {}
    /// Called for each ACK that reports newly delivered data, after the ACK has changed the congestion state.
    #[inline]
    fn pkts_acked(&mut self, _now: Time, _ack: &Acked, _path: &PathState, _window: &mut Window) {}
    /// Called for an ACK that may grow the window: the ACK acknowledges new data, no recovery is under way, and the
    /// window limited the sender.
    fn cong_avoid(&mut self, now: Time, ack: &Acked, path: &PathState, window: &mut Window);
    /// Returns the threshold after a congestion signal, in segments. A result below 2 counts as 2.
    fn ssthresh(&mut self, now: Time, signal: Signal, path: &PathState, window: &Window) -> u64;
    /// Called after the retransmission timer has expired and the window has been reduced.
    fn on_timeout(&mut self, _now: Time, _path: &PathState, _window: &mut Window) {}
    /// Called when a reduction is complete: the data that was outstanding at its start has been acknowledged.
    fn on_recovered(&mut self, _now: Time, _path: &PathState, _window: &mut Window) {}
    /// Called if the last congestion signal was spurious, after the window and the threshold have been restored.
    fn on_undo(&mut self, _now: Time) {}
    /// Returns true if `cong_avoid` must also be called while the window does not limit the sender.
    fn increase_when_app_limited(&self) -> bool {
        false
    }
    /// Returns true if the algorithm uses [`Acked::rate`]. Otherwise the rate sample is empty.
    fn needs_rate(&self) -> bool {
        false
    }
    /// Returns the ECN mode that the algorithm requires.
    fn ecn_use(&self) -> EcnUse {
        EcnUse::Classic
    }
}

/// A controller that follows a [`WindowAlgorithm`].
#[derive(Debug)]
pub struct WindowController<L> {
    window: Window,
    remembered_threshold: Option<Bytes>,
    /// See [`Setup::fractional`].
    fractional: bool,
    algorithm: L,
}

impl<L: WindowAlgorithm> WindowController<L> {
    /// Creates a controller from the inputs `setup` and an algorithm.
    pub fn new(setup: &Setup, algorithm: L) -> WindowController<L> {
        let window = Window::new(setup.initial_window, setup.counting);
        WindowController {
            window,
            remembered_threshold: setup.remembered_threshold,
            fractional: setup.fractional,
            algorithm,
        }
    }

    /// The algorithm that this controller uses.
    pub fn algorithm(&self) -> &L {
        &self.algorithm
    }
}

impl<L: WindowAlgorithm> Controller for WindowController<L> {
    fn name(&self) -> &str {
        self.algorithm.name()
    }

    fn needs_rate(&self) -> bool {
        self.algorithm.needs_rate()
    }

    fn on_established(&mut self, now: Time, path: &PathState) {
        self.window.set_mss(path.mss);
        if let Some(threshold) = self.remembered_threshold {
            self.window.set_ssthresh(threshold.get() / path.mss.get().max(1));
        }
        self.algorithm.on_established(now, path, &mut self.window);
    }

    fn on_idle(&mut self, now: Time, idle: Idle, path: &PathState) {
        match idle {
            Idle::TransmitStart { since } => self.algorithm.on_transmit_start(now, since, path),
            Idle::Restart { window } => self.limit_window(now, window),
            Idle::Unused { window } => {
                self.window.freshen_ssthresh();
                self.limit_window(now, window);
            }
        }
    }

    fn on_arrival(&mut self, now: Time, ack: &Acked, path: &PathState) {
        self.window.set_mss(path.mss);
        self.algorithm.on_arrival(now, ack, path, &self.window);
    }

    fn on_ack(&mut self, now: Time, ack: &Acked, path: &PathState) {
        self.window.set_mss(path.mss);
        if !ack.told {
            self.algorithm.on_arrival(now, ack, path, &self.window);
        }
        self.algorithm.pkts_acked(now, ack, path, &mut self.window);
        if ack.in_recovery || !ack.may_raise || !(ack.cwnd_limited || self.algorithm.increase_when_app_limited()) {
            return;
        }
        self.algorithm.cong_avoid(now, ack, path, &mut self.window);
    }

    fn on_congestion(&mut self, now: Time, signal: Signal, path: &PathState) {
        self.window.set_mss(path.mss);
        // RFC 5681 section 3.1: repeated timeouts of the same data do not change the threshold.
        let first = !matches!(signal, Signal::Timeout { consecutive } if consecutive > 1);
        let mut halves = false;
        if first {
            let threshold = self.algorithm.ssthresh(now, signal, path, &self.window);
            halves = self.fractional && threshold == self.window.reno_ssthresh();
            self.window.keep();
            self.window.set_ssthresh(threshold);
        }
        self.window.reset_cwnd_cnt();
        // RFC 5681 section 3.1: the window becomes the data that is still assumed to be in the network, plus one
        // segment.
        match signal {
            Signal::Timeout { .. } => {
                self.window.set_octets(path.in_flight.get().saturating_add(path.mss.get()));
                self.algorithm.on_timeout(now, path, &mut self.window);
            }
            // The algorithm halves the window, and ns-2 rounds only the threshold (`slowdown`, `halfwin`).
            Signal::Loss | Signal::EcnEcho if halves => self.window.set_octets(self.window.cwnd / 2),
            Signal::Loss | Signal::EcnEcho => {
                self.window.set_octets(self.window.ssthresh.unwrap_or(self.window.cwnd));
            }
        }
    }

    fn on_recovered(&mut self, now: Time, path: &PathState) {
        self.algorithm.on_recovered(now, path, &mut self.window);
    }

    fn on_undo(&mut self, now: Time) {
        self.window.restore();
        self.algorithm.on_undo(now);
    }

    fn limit_window(&mut self, _now: Time, most: Bytes) {
        self.window.set_octets(self.window.cwnd.min(most.get()));
    }

    fn adopt(&mut self, _now: Time, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.window.set_octets(cwnd.get());
        self.window.ssthresh = ssthresh.map(Bytes::get);
    }

    fn on_segment_size(&mut self, _now: Time, mss: Bytes, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.window.resize(mss, cwnd.get(), ssthresh.map(Bytes::get));
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.window.cwnd)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh.map(Bytes::new)
    }

    fn ecn_use(&self) -> EcnUse {
        self.algorithm.ecn_use()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reno;
    use super::super::tests::path::{MSS, acked, path_state, setup};
    use super::*;

    fn window(counting: ByteCounting, segments: u64, ssthresh: Option<u64>) -> Window {
        let mut window = Window::new(Bytes::new(segments * MSS), counting);
        window.set_mss(Bytes::new(MSS));
        window.ssthresh = ssthresh.map(|segments| segments * MSS);
        window
    }

    #[test]
    fn the_stacks_rule_determines_what_an_ack_counts() {
        let ack = acked(5, Duration::from_millis(100));
        let counts = |counting, ssthresh| window(counting, 10, ssthresh).acked_bytes_for_growth(&ack);
        let limited = ByteCounting::Limited { segments: 2 };
        // RFC 3465 section 2.2 and 2.3: the limit L applies in slow start.
        assert_eq!((counts(limited, None), counts(limited, Some(10))), (2 * MSS, 5 * MSS));
        let large = ByteCounting::Limited { segments: 9 };
        assert_eq!(counts(large, None), 5 * MSS);
        assert_eq!((counts(ByteCounting::Acks, None), counts(ByteCounting::Acks, Some(10))), (MSS, MSS));
        assert_eq!(counts(ByteCounting::Delivered, None), 5 * MSS);
        assert_eq!(counts(ByteCounting::Half, None), 5 * MSS / 2);
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_returns_the_rest() {
        let mut grown = window(ByteCounting::Delivered, 10, Some(12));
        assert_eq!((grown.slow_start(3 * MSS), grown.octets()), (MSS, 12 * MSS));
        assert_eq!((grown.slow_start(3 * MSS), grown.octets()), (3 * MSS, 12 * MSS));
        let mut free = window(ByteCounting::Delivered, 10, None);
        assert_eq!((free.slow_start(3 * MSS), free.octets()), (0, 13 * MSS));
    }

    #[test]
    fn a_window_grows_by_one_segment_per_acknowledged_window() {
        let mut grown = window(ByteCounting::Delivered, 10, Some(10));
        for (segments, expected) in [(9, 10), (1, 11), (10, 11), (1, 12), (25, 14)] {
            grown.reno_cong_avoid(segments * MSS);
            assert_eq!(grown.segments(), expected);
        }
        // Two windows of 12 segments used 24 of the 25 segments.
        grown.reno_cong_avoid(12 * MSS);
        assert_eq!(grown.segments(), 14);
        grown.reno_cong_avoid(MSS);
        assert_eq!(grown.segments(), 15);
    }

    /// tcp_cong_avoid_ai: credit for a larger step adds one segment.
    #[test]
    fn old_credit_adds_only_one_segment_if_the_step_becomes_smaller() {
        let mut grown = window(ByteCounting::Delivered, 10, Some(10));
        grown.add_one_per(100, 90 * MSS);
        assert_eq!(grown.segments(), 10);
        grown.add_one_per(10, MSS);
        assert_eq!(grown.segments(), 11);
        grown.add_one_per(10, 8 * MSS);
        assert_eq!(grown.segments(), 11);
        grown.add_one_per(10, MSS);
        assert_eq!(grown.segments(), 12);
    }

    /// RFC 5681 equation 3, in bytes as in 4.4BSD, and with the remainder.
    #[test]
    fn stacks_that_count_acks_add_a_part_of_a_segment() {
        let after = |counting, ssthresh| {
            let mut grown = window(counting, 10, ssthresh);
            Reno::named("reno").cong_avoid(Time::ZERO, &acked(5, Duration::ZERO), &path_state(), &mut grown);
            grown.octets() - 10 * MSS
        };
        let part = MSS * MSS / (10 * MSS);
        for counting in [ByteCounting::Acks, ByteCounting::AcksExactly, ByteCounting::AcksThroughThreshold] {
            assert_eq!((after(counting, None), after(counting, Some(5))), (MSS, part), "{counting:?}");
        }
        // At the threshold, only 4.4BSD's comparison still counts as slow start.
        assert_eq!(after(ByteCounting::AcksThroughThreshold, Some(10)), MSS);
        assert_eq!(after(ByteCounting::Acks, Some(10)), part);
        let mut exact = window(ByteCounting::AcksExactly, 10, Some(5));
        for _ in 0..3 {
            exact.add_exactly(MSS * MSS);
        }
        // 1448^2 / 14480 is 144.8. With the remainder, 1448^2 / 14624 is 144.2.
        assert_eq!(exact.octets() - 10 * MSS, 144 + 144 + 142);
        let mut large = window(ByteCounting::Acks, 1 << 19, Some(5));
        large.set_octets(MSS * MSS * 2);
        Reno::named("reno").cong_avoid(Time::ZERO, &acked(5, Duration::ZERO), &path_state(), &mut large);
        assert_eq!(large.octets(), MSS * MSS * 2 + 1, "at least one byte");
    }

    #[test]
    fn a_new_segment_size_keeps_the_windows_in_segments() {
        let mut controller = WindowController::new(&setup(), Reno::named("reno"));
        controller.on_established(Time::ZERO, &path_state());
        controller.on_ack(Time::ZERO, &acked(30, Duration::ZERO), &path_state());
        controller.on_congestion(Time::ZERO, Signal::Loss, &path_state());
        controller.on_ack(Time::ZERO, &acked(15, Duration::ZERO), &path_state());
        assert_eq!((controller.window.segments(), controller.window.cwnd_cnt), (20, 15 * MSS));
        controller.on_segment_size(Time::ZERO, Bytes::new(1000), Bytes::new(20_000), Some(Bytes::new(20_000)));
        assert_eq!((controller.cwnd(), controller.ssthresh()), (Bytes::new(20_000), Some(Bytes::new(20_000))));
        // 15 of 20 segments were acknowledged, so five more segments add one.
        let path = PathState { mss: Bytes::new(1000), ..path_state() };
        let ack = |segments: u64| Acked { delivered: Bytes::new(segments * 1000), ..acked(1, Duration::ZERO) };
        controller.on_ack(Time::ZERO, &ack(4), &path);
        assert_eq!(controller.cwnd(), Bytes::new(20_000));
        controller.on_ack(Time::ZERO, &ack(1), &path);
        assert_eq!(controller.cwnd(), Bytes::new(21_000));
        controller.on_undo(Time::ZERO);
        assert_eq!(
            (controller.cwnd(), controller.ssthresh()),
            (Bytes::new(40_000), None),
            "40 segments before the loss"
        );
    }

    #[test]
    fn an_undo_restores_at_least_three_quarters_of_the_window_as_threshold() {
        let mut restored = window(ByteCounting::Delivered, 40, Some(12));
        restored.keep();
        restored.set_ssthresh(20);
        restored.set_segments(20);
        restored.restore();
        assert_eq!((restored.segments(), restored.ssthresh()), (40, Some(30)));
        restored.set_segments(50);
        restored.restore();
        assert_eq!(restored.segments(), 50, "an undo happens once");
        let mut larger = window(ByteCounting::Delivered, 10, Some(12));
        larger.keep();
        larger.set_segments(15);
        larger.set_ssthresh(14);
        larger.restore();
        assert_eq!((larger.segments(), larger.ssthresh()), (15, Some(14)));
    }

    /// RFC 2861 section 3, and Linux's tcp_current_ssthresh, which rounds each of the two terms down.
    #[test]
    fn an_unused_window_raises_the_threshold_to_three_quarters() {
        let after = |segments, ssthresh| {
            let mut controller = WindowController::new(&setup(), Reno::named("reno"));
            controller.on_established(Time::ZERO, &path_state());
            controller.window = window(ByteCounting::Delivered, segments, ssthresh);
            controller.on_idle(Time::ZERO, Idle::Unused { window: Bytes::new(10 * MSS) }, &path_state());
            (controller.window.segments(), controller.window.ssthresh())
        };
        assert_eq!(after(43, Some(5)), (10, Some(31)), "21 + 10");
        assert_eq!(after(43, Some(40)), (10, Some(40)));
        assert_eq!(after(43, None), (10, None));
        assert_eq!(after(7, Some(5)), (7, Some(5)));
    }

    #[test]
    fn windows_have_bounds() {
        let mut bounded = window(ByteCounting::Delivered, 10, None);
        bounded.set_octets(1);
        assert_eq!(bounded.octets(), MSS);
        bounded.set_octets(u64::MAX);
        assert_eq!(bounded.octets(), 1 << 30);
        bounded.set_ssthresh(1);
        assert_eq!(bounded.ssthresh(), Some(2));
        bounded.set_ssthresh(u64::MAX);
        assert_eq!(bounded.ssthresh(), Some((1 << 30) / MSS));
        bounded.set_segments(3);
        bounded.end_slow_start_at_window();
        assert_eq!(bounded.ssthresh(), Some(3));
        bounded.set_segments(8);
        bounded.end_slow_start_at_window();
        assert_eq!(bounded.ssthresh(), Some(3));
        bounded.end_slow_start();
        assert!(bounded.is_at_threshold() && !bounded.in_slow_start());
    }

    #[test]
    fn a_remembered_threshold_is_rounded_down_to_segments() {
        let setup = Setup { remembered_threshold: Some(Bytes::new(7 * MSS + 5)), ..setup() };
        let mut controller = WindowController::new(&setup, Reno::named("reno"));
        controller.on_established(Time::ZERO, &path_state());
        assert_eq!(controller.ssthresh(), Some(Bytes::new(7 * MSS)));
    }

    /// ns-2 halves the window as a real number, and only the threshold is rounded.
    #[test]
    fn a_fractional_window_of_five_segments_becomes_two_and_a_half() {
        for (fractional, expected) in [(true, 5 * MSS / 2), (false, 2 * MSS)] {
            let setup = Setup { fractional, initial_window: Bytes::new(5 * MSS), ..setup() };
            let mut controller = WindowController::new(&setup, Reno::named("reno"));
            controller.on_established(Time::ZERO, &path_state());
            controller.on_congestion(Time::ZERO, Signal::Loss, &path_state());
            assert_eq!((controller.cwnd().get(), controller.ssthresh()), (expected, Some(Bytes::new(2 * MSS))));
        }
    }

    #[test]
    fn only_an_algorithm_that_asks_for_it_gets_a_rate() {
        #[derive(Debug)]
        struct Rated(bool);
        impl WindowAlgorithm for Rated {
            fn name(&self) -> &'static str {
                "rated"
            }
            fn cong_avoid(&mut self, _now: Time, _ack: &Acked, _path: &PathState, _window: &mut Window) {}
            fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
                window.segments()
            }
            fn needs_rate(&self) -> bool {
                self.0
            }
        }
        for asks in [true, false] {
            assert_eq!(WindowController::new(&setup(), Rated(asks)).needs_rate(), asks);
        }
    }
}
