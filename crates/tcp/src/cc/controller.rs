//! The contract between a congestion control and the connection.

use crate::ecn::Feedback;
use crate::profile::{ByteCounting, Profile};
use lopsided_core::tcp_event::CaState;
use lopsided_core::{BitRate, Bytes, Duration, Time};
use std::fmt::Debug;

/// What one acknowledgement reports.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Bytes delivered with this ACK: newly acknowledged or newly SACKed.
    pub delivered: Bytes,
    /// Bytes by which the cumulative acknowledgement advanced.
    pub cumulative: Bytes,
    /// Number of segments that the ACK covers, SACKed before or not.
    pub segments: u32,
    /// Only the acknowledgement is new: the same window, no SACK, no ECN echo (4.4BSD's header prediction).
    pub predicted: bool,
    /// [`Controller::on_arrival`] was called for this ACK.
    pub told: bool,
    /// The ACK may raise the window: it advanced, or it SACKed data on a path that reorders more than usual.
    pub may_raise: bool,
    /// RTT of the oldest acknowledged segment, if it was sent once (Karn's rule).
    pub rtt: Option<Duration>,
    /// RTT of the newest acknowledged segment, which excludes the peer's ACK delay.
    pub newest_rtt: Option<Duration>,
    /// The ACK covers one short segment that was outstanding alone: the peer may have delayed it nevertheless.
    pub maybe_delayed: bool,
    /// One-way delay to the peer by timestamps, in milliseconds, plus an unknown constant: only differences are
    /// meaningful. It excludes the return path but includes the peer's ACK delay.
    pub forward_ms: Option<u32>,
    /// Bytes in flight before this ACK.
    pub prior_in_flight: Bytes,
    /// The window limited the sender in the last round trip, not the application or the receiver (RFC 7661).
    pub cwnd_limited: bool,
    /// The window was used up at some time in the last round trip.
    pub cwnd_full: bool,
    /// Fast recovery or a reduction is under way: the connection owns the window until it ends.
    pub in_recovery: bool,
    /// The window of a reduction before this ACK, if one is under way.
    pub reduced_to: Option<Bytes>,
    /// The sender's congestion state after this ACK.
    pub ca_state: CaState,
    /// When pacing allows the next segment; at most now if nothing must wait.
    pub next_departure: Time,
    /// The ACK carried an ECN echo or a higher count of marks.
    pub ecn_echo: bool,
    /// Bytes newly reported as marked: with an echo all delivered bytes, with accurate feedback the counted ones.
    pub marked: Bytes,
    pub rate: RateSample,
}

/// The delivery rate between two ACKs (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Bytes delivered in `interval`; 0 if there is no sample.
    pub delivered: Bytes,
    pub interval: Duration,
    /// The connection's delivered count when the newest acknowledged segment was sent: a round ends when it passes the
    /// end of the last round.
    pub prior_delivered: Bytes,
    /// Bytes that this ACK marked lost.
    pub lost: Bytes,
    /// Bytes in flight when the newest acknowledged segment was sent, including its own, and bytes marked lost since.
    pub tx_in_flight: Bytes,
    pub lost_since_sent: Bytes,
    pub app_limited: bool,
}

/// A segment that was marked lost.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// Stream offsets.
    pub start: u64,
    pub end: u64,
    /// Bytes in flight when it was last sent, including its own, and bytes marked lost since, including its own.
    pub tx_in_flight: Bytes,
    pub lost_since_sent: Bytes,
    pub app_limited: bool,
}

/// The state of the connection for a controller.
#[derive(Clone, Copy, Debug)]
pub struct PathState {
    /// The largest payload of a segment.
    pub mss: Bytes,
    pub in_flight: Bytes,
    pub srtt: Option<Duration>,
    pub min_rtt: Option<Duration>,
    /// Bytes ever delivered, and bytes ever marked lost.
    pub delivered: Bytes,
    pub lost: Bytes,
    /// Stream offsets: the oldest unacknowledged byte, and the next byte never sent. Data sent in answer to an ACK lies
    /// after that ACK's `nxt`.
    pub una: u64,
    pub nxt: u64,
    /// Some of the data in flight was sent when the application had no more data.
    pub app_limited: bool,
    /// The peer sends SACK, so several losses per round trip are visible.
    pub sack: bool,
    pub ca_state: CaState,
}

/// Why the window must be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// An ECN echo; at most one per round trip.
    EcnEcho,
    /// Loss found by duplicate or selective ACKs; at most one per recovery.
    Loss,
    /// The retransmission timer; `consecutive` counts from 1. From the second on, the threshold must not fall further
    /// (RFC 5681 section 3.1).
    Timeout { consecutive: u32 },
}

/// The ECN mode that a controller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnUse {
    /// RFC 3168, if the profile enables ECN.
    Classic,
    /// ECN regardless of the profile, and as a receiver an echo of each mark (RFC 8257 section 3.2).
    DctcpEcho,
    /// Accurate feedback regardless of the profile, and data sent as ECT(1) if the peer agrees (RFC 9331).
    Accurate,
}

/// A controller's state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CcState {
    /// The algorithm's own name of its phase.
    pub phase: &'static str,
    pub cwnd: Bytes,
    pub ssthresh: Option<Bytes>,
    pub pacing_rate: Option<BitRate>,
}

/// An algorithm that sets the congestion window.
///
/// The connection calls it in this order: `on_feedback_agreed`, `on_established`, then the other methods as events
/// occur. A controller sets targets; it neither detects losses nor selects segments.
pub trait Controller: Debug + Send {
    /// The algorithm's name, as in a scenario.
    fn name(&self) -> &str;
    /// The handshake agreed on the kind of ECN feedback. Called before `on_established`.
    fn on_feedback_agreed(&mut self, _feedback: Feedback) {}
    /// The handshake is over: the segment size, and perhaps an RTT, are known.
    fn on_established(&mut self, _now: Time, _path: &PathState) {}
    /// Data is sent into an empty network: for the first time, after an idle time or after a timeout. The last new data
    /// was sent `idle` ago.
    fn on_transmit_start(&mut self, _now: Time, _idle: Duration, _path: &PathState) {}
    /// An ACK that may change the congestion state, window or threshold, before it does: all its values except the
    /// delivery rate, in the old state. Other ACKs are reported by [`Controller::on_ack`] only.
    fn on_arrival(&mut self, _now: Time, _ack: &Acked, _path: &PathState) {}
    /// An ACK that delivered something.
    fn on_ack(&mut self, now: Time, ack: &Acked, path: &PathState);
    /// A congestion signal. On a timeout `path.in_flight` counts the data still assumed to be in the network.
    fn on_congestion(&mut self, now: Time, signal: Signal, path: &PathState);
    /// A segment was marked lost, before the congestion signal and the ACK that belong to it. Called only if
    /// [`Controller::needs_losses`] is true.
    fn on_lost(&mut self, _now: Time, _lost: &Lost, _path: &PathState) {}
    fn needs_losses(&self) -> bool {
        false
    }
    /// A reduction is complete: the data outstanding at its beginning is acknowledged.
    fn on_recovered(&mut self, _now: Time, _path: &PathState) {}
    /// The last congestion signal was spurious: restore the window and the threshold.
    fn on_undo(&mut self, now: Time);
    /// Sending resumes after an idle time of more than one RTO (RFC 5681 section 4.1).
    fn on_idle(&mut self, _now: Time, _restart_window: Bytes) {}
    /// The window was not used for an RTO, by sending less or by being idle: the used part becomes the window, and the
    /// threshold keeps 3/4 of the old window (RFC 2861 section 3).
    fn on_unused(&mut self, now: Time, window: Bytes) {
        self.on_idle(now, window);
    }
    /// Takes over a connection whose window another controller has set so far. Called after `on_established`.
    fn adopt(&mut self, now: Time, cwnd: Bytes, _ssthresh: Option<Bytes>) {
        self.on_idle(now, cwnd);
    }
    /// The segment size changed to `mss`; window and threshold already have the same number of segments as before.
    fn on_segment_size(&mut self, now: Time, _mss: Bytes, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.adopt(now, cwnd, ssthresh);
    }
    /// The state for a trace or a log. The default distinguishes slow start from congestion avoidance.
    fn state(&self) -> CcState {
        let (cwnd, ssthresh) = (self.cwnd(), self.ssthresh());
        let slow_start = ssthresh.is_none_or(|ssthresh| cwnd < ssthresh);
        let phase = if slow_start { "slow start" } else { "congestion avoidance" };
        CcState { phase, cwnd, ssthresh, pacing_rate: self.pacing_rate() }
    }
    fn cwnd(&self) -> Bytes;
    /// `None` before the first congestion signal.
    fn ssthresh(&self) -> Option<Bytes>;
    /// Pacing rate in payload per second, or `None`. A controller that paces does so from its first window on.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
    /// True if the controller sets the window in recovery too. Otherwise the connection leads the window down to the
    /// new target (RFC 6937).
    fn owns_recovery(&self) -> bool {
        false
    }
    fn ecn_use(&self) -> EcnUse {
        EcnUse::Classic
    }
}

/// The inputs for creating a controller.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub initial_window: Bytes,
    /// Threshold of the first slow start; `None` if the host remembers nothing about the destination.
    pub remembered_threshold: Option<Bytes>,
    pub counting: ByteCounting,
    /// Reduce less for a mark than for a loss (RFC 8511), for algorithms that can.
    pub abe: bool,
    /// Tick of the stack's clock, for algorithms that measure in ticks; 0 for an exact clock.
    pub tick: Duration,
    /// Seed for algorithms that draw random numbers.
    pub seed: u64,
}

impl Setup {
    pub fn new(profile: &Profile, mss: Bytes, seed: u64) -> Setup {
        Setup {
            initial_window: profile.initial_window(mss),
            remembered_threshold: profile.remembered_threshold,
            counting: profile.byte_counting,
            abe: profile.abe,
            tick: profile.grain.tick(),
            seed,
        }
    }
}
