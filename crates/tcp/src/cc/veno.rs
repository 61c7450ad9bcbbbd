//! Veno: a variant of Reno that treats a loss as random if the queue is short (Fu and Liew, TCP Veno: TCP Enhancement
//! for Transmission over Wireless Access Networks, JSAC 21(2), 2003, section II).
//!
//! Veno uses Vegas's estimate of the queue length, with beta = 3 segments. If fewer than beta segments are queued, a
//! loss reduces the window by 20 % instead of 50 %. If at least beta segments are queued, the window grows by one
//! segment every other round trip. Slow start is Reno's.
//!
//! With at most two RTT samples, or outside of the Open state, the window grows as in Reno.

use super::delay::{RoundRtt, share};
use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use crate::CaState;
use lopsided_core::{Duration, Time};

/// Three segments, in units of 1/2 segment.
const BETA: u64 = 6;
/// Number of RTT samples that is too small for an estimate, because all samples may come from delayed ACKs.
const TOO_FEW: u32 = 2;
/// The RTT in Linux's computations while there is no sample.
const NO_SAMPLE: Duration = Duration::from_micros(0x7fff_ffff);

#[derive(Debug, Default)]
pub struct Veno {
    rtt: RoundRtt,
    /// The last estimate of the queue length, in units of 1/2 segment.
    queued: u64,
    /// True if the next increase must be skipped.
    skip: bool,
    /// Number of RTT samples since the start of the connection.
    samples: u32,
}

impl Veno {
    /// Estimates the queue length, in units of 1/2 segment.
    fn estimate(&self, cwnd: u64) -> u64 {
        // tcp_veno_cong_avoid: without any sample since a restart, the quotient is 1 and the queue counts as empty. With
        // earlier samples only, the quotient is almost 0 and the queue counts as long.
        let [base, min] = [self.rtt.base, self.rtt.min].map(|rtt| rtt.unwrap_or(NO_SAMPLE).as_nanos());
        (2 * cwnd).saturating_sub(share(2 * cwnd, base, min))
    }
}

impl WindowAlgorithm for Veno {
    fn name(&self) -> &'static str {
        "veno"
    }

    fn on_established(&mut self, _now: Time, path: &PathState, _window: &mut Window) {
        self.rtt.restart(path);
    }

    fn on_transmit_start(&mut self, _now: Time, _idle: Duration, path: &PathState) {
        self.rtt.restart(path);
        self.skip = false;
    }

    fn pkts_acked(&mut self, _now: Time, ack: &Acked, path: &PathState, _window: &mut Window) {
        self.rtt.sample(ack);
        self.samples = self.samples.saturating_add(u32::from(ack.newest_rtt.is_some()));
        self.rtt.follow(ack.ca_state, path);
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        let octets = window.acked_bytes_for_growth(ack);
        if !self.rtt.open {
            window.reno_cong_avoid(octets);
            return;
        }
        if self.samples <= TOO_FEW {
            window.reno_cong_avoid(octets);
        } else {
            self.queued = self.estimate(window.segments());
            let left = window.slow_start(octets);
            if left > 0 && self.queued < BETA {
                window.add_one_per(window.segments(), left);
            } else if left > 0 && window.count_to_window(left) {
                if !self.skip {
                    window.set_segments(window.segments() + 1);
                }
                self.skip = !self.skip;
            }
        }
        // Linux restarts the minimum after each ACK that may grow the window.
        self.rtt.min = None;
    }

    fn on_timeout(&mut self, _now: Time, path: &PathState, _window: &mut Window) {
        self.rtt.follow(CaState::Loss, path);
    }

    fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        if self.queued < BETA { window.segments() * 4 / 5 } else { window.reno_ssthresh() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{MSS, acked, path_state, setup};
    use super::*;
    use crate::cc::{Controller, WindowController};

    fn with_queue(queue_ms: u64) -> WindowController<Veno> {
        let mut veno = WindowController::new(&setup(), Veno::default());
        veno.on_established(Time::ZERO, &path_state());
        (0..90).for_each(|_| veno.on_ack(Time::ZERO, &acked(1, Duration::from_millis(100)), &path_state()));
        veno.on_congestion(Time::ZERO, Signal::Loss, &path_state());
        veno.on_undo(Time::ZERO);
        let rtt = Duration::from_millis(100 + queue_ms);
        veno.on_ack(Time::ZERO, &Acked { cumulative: lopsided_core::Bytes::new(1), ..acked(0, rtt) }, &path_state());
        veno
    }

    /// Section II-C: the loss is random if fewer than beta segments are queued.
    #[test]
    fn a_random_loss_reduces_the_window_by_a_fifth_and_a_congestive_loss_by_half() {
        for (queue_ms, expected) in [(0, 80), (2, 80), (4, 50), (50, 50)] {
            let mut veno = with_queue(queue_ms);
            assert_eq!(veno.cwnd().get() / MSS, 100);
            veno.on_congestion(Time::ZERO, Signal::Loss, &path_state());
            assert_eq!(veno.cwnd().get() / MSS, expected, "{queue_ms} segments queued");
        }
    }

    /// Section II-B: if at least beta segments are queued, the window grows every other round trip.
    #[test]
    fn growth_halves_once_beta_segments_are_queued() {
        for (queue_ms, least, most) in [(0, 9, 10), (50, 4, 6)] {
            let mut veno = with_queue(queue_ms);
            veno.on_congestion(Time::ZERO, Signal::Loss, &path_state());
            let before = veno.cwnd().get() / MSS;
            let rtt = Duration::from_millis(100 + queue_ms);
            (0..10 * (before + 5)).for_each(|_| veno.on_ack(Time::ZERO, &acked(1, rtt), &path_state()));
            let gained = veno.cwnd().get() / MSS - before;
            assert!((least..=most).contains(&gained), "{gained} in ten round trips with {queue_ms} ms of queue");
        }
    }

    /// tcp_veno_cong_avoid: with at least beta segments queued, the segment is added by the first ACK after a whole
    /// window of ACKs, and this ACK is not counted. The window of 80 segments grows with ACK 81, and 2 * 82 ACKs later.
    #[test]
    fn with_a_queue_the_ack_after_a_whole_window_adds_the_segment() {
        let mut veno = with_queue(50);
        veno.on_congestion(Time::ZERO, Signal::Loss, &path_state());
        let before = veno.cwnd().get() / MSS;
        let rtt = Duration::from_millis(150);
        let grown: Vec<u64> = (1..=4 * before)
            .filter(|_| {
                let was = veno.cwnd();
                veno.on_ack(Time::ZERO, &acked(1, rtt), &path_state());
                veno.cwnd() > was
            })
            .collect();
        assert_eq!(grown, [before + 1, before + 1 + 2 * (before + 2)]);
    }

    /// tcp_veno_cong_avoid: the samples are never counted from 0 again. Until a sample follows a restart, for example
    /// after the retransmission of a timeout, a loss counts as random.
    #[test]
    fn without_a_sample_since_a_restart_the_queue_counts_as_empty() {
        let mut veno = Veno::default();
        veno.rtt.restart(&path_state());
        let mut window = Window::new(setup().initial_window, setup().counting);
        window.set_mss(lopsided_core::Bytes::new(MSS));
        window.set_segments(100);
        window.end_slow_start();
        let ack = |rtt_ms: Option<u64>| {
            let rtt = rtt_ms.map(Duration::from_millis);
            Acked { rtt, newest_rtt: rtt, ..acked(1, Duration::ZERO) }
        };
        let mut queued = |veno: &mut Veno, rtt_ms| {
            veno.pkts_acked(Time::ZERO, &ack(rtt_ms), &path_state(), &mut window);
            veno.cong_avoid(Time::ZERO, &ack(rtt_ms), &path_state(), &mut window);
            veno.queued
        };
        assert_eq!([Some(100), Some(150), Some(150)].map(|rtt_ms| queued(&mut veno, rtt_ms)), [0, 0, 67]);
        assert_eq!(queued(&mut veno, None), 200, "no sample since the last ACK");
        veno.on_transmit_start(Time::ZERO, Duration::ZERO, &path_state());
        assert_eq!(queued(&mut veno, None), 0);
        assert_eq!(queued(&mut veno, Some(150)), 0, "the base RTT is measured again");
    }

    #[test]
    fn a_restart_begins_a_round_at_the_data_outstanding_now() {
        let mut rtt = RoundRtt::default();
        rtt.restart(&crate::cc::PathState { nxt: 10, ..path_state() });
        let over = [10, 11].map(|una| rtt.is_over(&crate::cc::PathState { una, ..path_state() }));
        assert_eq!(over, [false, true]);
    }
}
