//! The interface between a congestion control and the connection.

use crate::profile::{ByteCounting, FastRecovery, Profile};
use lopsided_core::tcp_event::CaState;
use lopsided_core::{BitRate, Bytes, Duration, Time};
use std::fmt::Debug;

/// The properties of one ACK that a controller receives.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Number of bytes that this ACK reports as delivered for the first time, by acknowledgement or SACK.
    pub delivered: Bytes,
    /// Bytes by which the cumulative acknowledgement advanced.
    pub cumulative: Bytes,
    /// Number of segments that the ACK covers, including segments that were SACKed before.
    pub segments: u32,
    /// True if 4.4BSD's header prediction applies: the ACK only acknowledges new data.
    pub predicted: bool,
    /// True if [`Controller::on_arrival`] was called for this ACK.
    pub told: bool,
    /// True if the ACK may raise the window: it acknowledges new data, or SACKs data on a path with much reordering.
    pub may_raise: bool,
    /// RTT of the oldest newly acknowledged segment; `None` if that segment was retransmitted (Karn's rule).
    pub rtt: Option<Duration>,
    /// RTT of the newest delivered segment; `None` if that segment was retransmitted. This RTT usually excludes the
    /// peer's ACK delay.
    pub newest_rtt: Option<Duration>,
    /// True if the peer may have delayed the ACK: the ACK covers one short segment, which was the only outstanding
    /// segment.
    pub maybe_delayed: bool,
    /// One-way delay to the peer in ms, from timestamps, plus an unknown constant. The delay includes the peer's ACK
    /// delay.
    pub forward_ms: Option<u32>,
    /// Bytes in flight before this ACK.
    pub prior_in_flight: Bytes,
    /// True if the window limited the sender in the last round trip (RFC 7661).
    pub cwnd_limited: bool,
    /// True if the window was full at some time in the last round trip.
    pub cwnd_full: bool,
    /// True during fast recovery or a reduction, while the connection itself sets the window.
    pub in_recovery: bool,
    /// Window in force before this ACK if a reduction is under way; otherwise `None`.
    pub reduced_to: Option<Bytes>,
    /// The sender's congestion state after this ACK.
    pub ca_state: CaState,
    /// Earliest time at which pacing permits the next segment; it may be in the past.
    pub next_departure: Time,
    /// True if the ACK carried an ECN echo, or a higher count of marks than the last ACK.
    pub ecn_echo: bool,
    /// Number of bytes newly reported as marked. With an ECN echo, all delivered bytes count.
    pub marked: Bytes,
    /// The delivery-rate sample of this ACK; empty if the controller does not need it.
    pub rate: RateSample,
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Bytes delivered in `interval`; 0 if there is no sample.
    pub delivered: Bytes,
    /// The time in which the bytes were delivered.
    pub interval: Duration,
    /// Bytes that had been delivered when the newest acknowledged segment was sent. This value determines when a round
    /// ends.
    pub prior_delivered: Bytes,
    /// Bytes that this ACK marked as lost.
    pub lost: Bytes,
    /// Bytes in flight when the newest acknowledged segment was sent, including that segment.
    pub tx_in_flight: Bytes,
    /// Bytes marked lost since the newest acknowledged segment was sent.
    pub lost_since_sent: Bytes,
    /// True if the application limited the rate of the sample.
    pub app_limited: bool,
}

/// A segment that was marked lost.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// Stream offset of the first byte.
    pub start: u64,
    /// Stream offset after the last byte.
    pub end: u64,
    /// Bytes in flight when the segment was last sent, including this segment.
    pub tx_in_flight: Bytes,
    /// Bytes marked lost since the segment was last sent, including this segment.
    pub lost_since_sent: Bytes,
    /// True if the application had no more data when the segment was last sent.
    pub app_limited: bool,
}

/// The state of the connection that a controller receives.
#[derive(Clone, Copy, Debug)]
pub struct PathState {
    /// The largest payload of a segment.
    pub mss: Bytes,
    /// Bytes that the sender assumes to be in the network.
    pub in_flight: Bytes,
    /// The smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// The minimum RTT of the last 5 minutes; `None` before the first sample.
    pub min_rtt: Option<Duration>,
    /// Total number of delivered bytes.
    pub delivered: Bytes,
    /// Total number of bytes marked lost.
    pub lost: Bytes,
    /// Stream offset of the oldest unacknowledged byte.
    pub una: u64,
    /// Stream offset of the first byte that was never sent.
    pub nxt: u64,
    /// True if a part of the data in flight was sent when the application had no more data.
    pub app_limited: bool,
    /// True if the peer sends SACK, so that several losses per round trip can be detected.
    pub sack: bool,
    /// The sender's congestion state.
    pub ca_state: CaState,
}

/// The congestion signal that causes a reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// An ECN echo; at most one per round trip.
    EcnEcho,
    /// A loss detected by duplicate ACKs or SACK; at most one per recovery.
    Loss,
    /// The retransmission timer has expired. Only the first timeout reduces the threshold (RFC 5681 section 3.1).
    Timeout {
        /// Number of consecutive timeouts, including this one.
        consecutive: u32,
    },
}

/// An idle time, or a time in which the sender did not use its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Data is sent while nothing is in flight.
    TransmitStart {
        /// Time since data was last sent.
        since: Duration,
    },
    /// Nothing was sent for more than one RTO. The window must not exceed `window` (RFC 5681 section 4.1).
    Restart {
        /// The restart window.
        window: Bytes,
    },
    /// The window was not full for one RTO, or nothing was sent for more than one RTO and the stack halves an idle
    /// window. The window must not exceed `window`, and the threshold becomes at least 3/4 of the old window (RFC 2861
    /// section 3).
    Unused {
        /// The reduced window.
        window: Bytes,
    },
}

impl Idle {
    /// The window that the event permits; `None` if the event does not limit the window.
    pub fn window(self) -> Option<Bytes> {
        match self {
            Idle::TransmitStart { .. } => None,
            Idle::Restart { window } | Idle::Unused { window } => Some(window),
        }
    }
}

/// The way in which the receiver reports CE marks to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// No feedback: packets are not ECN-capable.
    None,
    /// One signal per round trip: the receiver sets ECE until the sender's CWR arrives (RFC 3168 section 6.1.3).
    Classic,
    /// The ECE flag of each ACK reports whether the acknowledged segments were marked (RFC 8257 section 3.2).
    DctcpEcho,
    /// Counters of all marked packets and bytes (RFC 9768).
    Accurate,
}

/// The ECN mode that a controller requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EcnUse {
    /// ECN as in RFC 3168, if the profile enables it.
    Classic,
    /// ECN with an echo of each mark (RFC 8257 section 3.2), even if the profile does not enable ECN.
    DctcpEcho,
    /// ECN with accurate feedback, even if the profile does not enable ECN. Data is sent as ECT(1) if the peer supports
    /// accurate feedback (RFC 9331).
    Accurate,
}

/// A controller's state, for traces and logs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CcState {
    /// Name of the current phase, chosen by the algorithm.
    pub phase: &'static str,
    /// The congestion window.
    pub cwnd: Bytes,
    /// The slow-start threshold; `None` if no threshold is set.
    pub ssthresh: Option<Bytes>,
    /// The pacing rate; `None` without pacing.
    pub pacing_rate: Option<BitRate>,
}

/// A congestion control algorithm, which sets the congestion window.
///
/// The connection calls `on_feedback_agreed`, then `on_established`, then the other methods as events occur. Loss
/// detection and the choice of segments are not part of a controller.
///
/// # Examples
///
/// A controller with a constant window, as a baseline for experiments:
///
/// ```
/// use lopsided_core::{Bytes, Time};
/// use lopsided_tcp::{Acked, ConnConfig, Connection, Controller, Endpoint, PathState, Profile, Signal};
/// use std::net::Ipv4Addr;
///
/// #[derive(Debug)]
/// struct Constant(Bytes);
///
/// impl Controller for Constant {
///     fn name(&self) -> &str {
///         "constant"
///     }
///     fn on_ack(&mut self, _now: Time, _ack: &Acked, _path: &PathState) {}
///     fn on_congestion(&mut self, _now: Time, _signal: Signal, _path: &PathState) {}
///     fn on_undo(&mut self, _now: Time) {}
///     fn cwnd(&self) -> Bytes {
///         self.0
///     }
///     fn ssthresh(&self) -> Option<Bytes> {
///         None
///     }
/// }
///
/// let end = |port| Endpoint { addr: Ipv4Addr::LOCALHOST.into(), port };
/// let config = ConnConfig::with(end(40_000), end(80), 1, Bytes::new(1500), Profile::linux_6_1(), |_| {
///     Box::new(Constant(Bytes::new(64_000)))
/// });
/// assert_eq!(Connection::connect(config).cwnd(), Bytes::new(64_000));
/// ```
pub trait Controller: Debug + Send {
    /// Returns the name of the algorithm, as used in scenarios.
    fn name(&self) -> &str;
    /// Called with the kind of ECN feedback that the handshake has negotiated, before `on_established`.
    fn on_feedback_agreed(&mut self, _feedback: Feedback) {}
    /// Called when the handshake is complete. The segment size is then known, and usually one RTT sample exists.
    fn on_established(&mut self, _now: Time, _path: &PathState) {}
    /// Called after an idle time, or if the window was not used. The default limits the window to the event's window.
    fn on_idle(&mut self, now: Time, idle: Idle, _path: &PathState) {
        if let Some(window) = idle.window() {
            self.limit_window(now, window);
        }
    }
    /// Called before an ACK changes the congestion state, the window or the threshold. The delivery rate of `ack` is
    /// not set.
    fn on_arrival(&mut self, _now: Time, _ack: &Acked, _path: &PathState) {}
    /// Called for each ACK that delivered data.
    fn on_ack(&mut self, now: Time, ack: &Acked, path: &PathState);
    /// Called when the window must be reduced. After a timeout, `path.in_flight` still counts data that may be in the
    /// network.
    fn on_congestion(&mut self, now: Time, signal: Signal, path: &PathState);
    /// Called for each lost segment, before the congestion signal, if [`Controller::needs_losses`] returns true.
    fn on_lost(&mut self, _now: Time, _lost: &Lost, _path: &PathState) {}
    /// Returns true if the controller needs calls of [`Controller::on_lost`].
    fn needs_losses(&self) -> bool {
        false
    }
    /// Returns false if the controller ignores [`Acked::rate`]. A connection measures the delivery rate only if its
    /// controller needs the rate, or if `ConnConfig::reports_rate` is true.
    fn needs_rate(&self) -> bool {
        true
    }
    /// Called when a reduction is complete: the data that was outstanding at its start has been acknowledged.
    fn on_recovered(&mut self, _now: Time, _path: &PathState) {}
    /// Called if the last congestion signal was spurious. The controller must restore the window and the threshold.
    fn on_undo(&mut self, now: Time);
    /// Reduces the window to `most` if the window is larger. Called with the initial window before `on_established`,
    /// and at the end of a reduction.
    fn limit_window(&mut self, _now: Time, _most: Bytes) {}
    /// Takes over a connection whose window another controller has set. Called after `on_established`.
    fn adopt(&mut self, now: Time, cwnd: Bytes, _ssthresh: Option<Bytes>) {
        self.limit_window(now, cwnd);
    }
    /// Called after the segment size has changed to `mss`. `cwnd` and `ssthresh` are the new values in bytes. In
    /// segments, the values are unchanged.
    fn on_segment_size(&mut self, now: Time, _mss: Bytes, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.adopt(now, cwnd, ssthresh);
    }
    /// Returns the state for traces and logs. The default reports the phases slow start and congestion avoidance.
    fn state(&self) -> CcState {
        let (cwnd, ssthresh) = (self.cwnd(), self.ssthresh());
        let slow_start = ssthresh.is_none_or(|ssthresh| cwnd < ssthresh);
        let phase = if slow_start { "slow start" } else { "congestion avoidance" };
        CcState { phase, cwnd, ssthresh, pacing_rate: self.pacing_rate() }
    }
    /// Returns the congestion window in bytes.
    fn cwnd(&self) -> Bytes;
    /// Returns the slow-start threshold in bytes; `None` before the first congestion signal.
    fn ssthresh(&self) -> Option<Bytes>;
    /// Returns the pacing rate in bits of payload per second; `None` without pacing. A controller with pacing must
    /// return a rate from the start of the connection.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
    /// Returns true if the controller also sets the window during recovery. If false, RFC 6937 applies.
    fn owns_recovery(&self) -> bool {
        false
    }
    /// Returns the ECN mode that the controller requires.
    fn ecn_use(&self) -> EcnUse {
        EcnUse::Classic
    }
}

/// The inputs from which a controller is created.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The initial window in bytes.
    pub initial_window: Bytes,
    /// Slow-start threshold that the host has saved for the destination, in bytes; `None` if no threshold is saved.
    pub remembered_threshold: Option<Bytes>,
    /// The rule that determines how much an ACK adds to the congestion window.
    pub counting: ByteCounting,
    /// True if the window is a real number, as in ns-2: half of a window of five segments is then 2.5 segments.
    pub fractional: bool,
    /// True if a mark reduces the window less than a loss (RFC 8511), for algorithms that support it.
    pub abe: bool,
    /// Tick of the stack's clock, for algorithms that count in ticks; zero for an exact clock.
    pub tick: Duration,
    /// Seed for algorithms with random numbers.
    pub seed: u64,
}

impl Setup {
    /// Derives the inputs from a profile, a segment size of `mss` bytes and a seed.
    pub fn new(profile: &Profile, mss: Bytes, seed: u64) -> Setup {
        Setup {
            initial_window: profile.initial_window(mss),
            remembered_threshold: profile.remembered_threshold,
            counting: profile.byte_counting,
            fractional: profile.fast_recovery == FastRecovery::CarefulReno,
            abe: profile.abe,
            tick: profile.grain.tick(),
            seed,
        }
    }
}
