//! What a congestion control is told, and what it is asked: the contract between it and the connection.

use crate::ecn::Feedback;
use crate::profile::{ByteCounting, Profile};
use lopsided_core::tcp_event::CaState;
use lopsided_core::{BitRate, Bytes, Duration, Time};
use std::fmt::Debug;

/// What one acknowledgement told the sender.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Octets delivered with this ACK: newly acknowledged or newly reported by SACK.
    pub delivered: Bytes,
    /// Octets by which the cumulative acknowledgement advanced.
    pub cumulative: Bytes,
    /// Segments that it covers, SACKed before or not.
    pub segments: u32,
    /// Nothing but the acknowledgement is new: no other window, no SACK, no echo of a mark (4.4BSD's header prediction).
    pub predicted: bool,
    /// [`Controller::on_arrival`] has heard of it.
    pub told: bool,
    /// The ACK may raise the window: it advanced, or reported something by SACK on a path that is known to reorder more
    /// than a stack takes for usual.
    pub may_raise: bool,
    /// Round-trip time of the oldest segment acknowledged, if it was sent once (Karn's rule).
    pub rtt: Option<Duration>,
    /// Round-trip time of the newest segment acknowledged, which excludes the peer's ACK delay.
    pub newest_rtt: Option<Duration>,
    /// The ACK is of one short segment that was out alone: the peer may have waited with it all the same.
    pub maybe_delayed: bool,
    /// The way to the peer by timestamps, in milliseconds and with an unknown constant added: only differences mean
    /// something. It takes no part of the way back, but the peer's ACK delay is in it.
    pub forward_ms: Option<u32>,
    /// Octets in flight before this ACK.
    pub prior_in_flight: Bytes,
    /// The window, not the application or the receiver, held the sender back in the last round trip (RFC 7661).
    pub cwnd_limited: bool,
    /// The window was used up at some time in the last round trip.
    pub cwnd_full: bool,
    /// Fast recovery or a reduction is under way: the connection owns the window until it ends.
    pub in_recovery: bool,
    /// Then, and where there is a way down: the window on it before this ACK.
    pub reduced_to: Option<Bytes>,
    /// The sender's phase after this ACK.
    pub ca_state: CaState,
    /// When pacing lets the next segment go: no later than now where it need not wait.
    pub next_departure: Time,
    /// The ACK carried an ECN echo, or a higher count of marks.
    pub ecn_echo: bool,
    /// Octets that it newly reports as marked: with an echo all that it delivered, with accurate feedback what was
    /// counted.
    pub marked: Bytes,
    pub rate: RateSample,
}

/// The delivery rate between two ACKs (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Octets delivered over `interval`; zero if there is no sample.
    pub delivered: Bytes,
    pub interval: Duration,
    /// The connection's delivered count when the newest segment acknowledged was sent: a round ends when it passes the
    /// last round's end.
    pub prior_delivered: Bytes,
    /// Octets marked lost by this ACK.
    pub lost: Bytes,
    /// Octets in flight as the newest segment acknowledged was sent, its own included, and octets marked lost since
    /// then.
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
    /// Octets in flight as it was last sent, its own included, and octets marked lost since then, its own included.
    pub tx_in_flight: Bytes,
    pub lost_since_sent: Bytes,
    pub app_limited: bool,
}

/// The connection as a controller may see it.
#[derive(Clone, Copy, Debug)]
pub struct PathState {
    /// The largest payload of a segment.
    pub mss: Bytes,
    pub in_flight: Bytes,
    pub srtt: Option<Duration>,
    pub min_rtt: Option<Duration>,
    /// All octets ever delivered, and ever marked lost.
    pub delivered: Bytes,
    pub lost: Bytes,
    /// Stream offsets: the oldest octet not acknowledged, and the next never sent. What was sent in answer to an ACK
    /// lies behind its `nxt`.
    pub una: u64,
    pub nxt: u64,
    /// Some of what is in flight was sent when the application had no more to send.
    pub app_limited: bool,
    /// The peer sends selective acknowledgements, so that more than one loss a round trip can be seen.
    pub sack: bool,
    pub ca_state: CaState,
}

/// Why the window must come down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// An ECN echo; at most one a round trip.
    EcnEcho,
    /// Loss found by duplicate or selective ACKs; at most one a recovery.
    Loss,
    /// The retransmission timer; `consecutive` counts from 1. From the second on, the threshold must not fall further
    /// (RFC 5681 section 3.1).
    Timeout { consecutive: u32 },
}

/// What a controller needs of ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnUse {
    /// RFC 3168, if the profile uses ECN.
    Classic,
    /// ECN whatever the profile says, and as a receiver an echo of each mark (RFC 8257 section 3.2).
    DctcpEcho,
    /// Accurate feedback whatever the profile says, and data of ECT(1) where that is agreed (RFC 9331).
    Accurate,
}

/// What a controller is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CcState {
    /// The algorithm's own word for it.
    pub phase: &'static str,
    pub cwnd: Bytes,
    pub ssthresh: Option<Bytes>,
    pub pacing_rate: Option<BitRate>,
}

/// An algorithm that sets the congestion window.
pub trait Controller: Debug + Send {
    /// The algorithm's name, as in a scenario.
    fn name(&self) -> &str;
    /// The handshake has settled how marks are fed back; comes before `on_established`.
    fn on_feedback_agreed(&mut self, _feedback: Feedback) {}
    /// The handshake is over: the segment size and perhaps a round-trip time are known.
    fn on_established(&mut self, _now: Time, _path: &PathState) {}
    /// Data goes into an empty network, for the first time, after an idle time or after a timeout; the last new data
    /// was sent `idle` ago.
    fn on_transmit_start(&mut self, _now: Time, _idle: Duration, _path: &PathState) {}
    /// An ACK that may change the sender's phase, the window or the threshold, before it does: all that it tells but the
    /// delivery rate, in the phase as it was. Any other is told by [`Controller::on_ack`] alone.
    fn on_arrival(&mut self, _now: Time, _ack: &Acked, _path: &PathState) {}
    /// An ACK that delivered something.
    fn on_ack(&mut self, now: Time, ack: &Acked, path: &PathState);
    /// `path.in_flight` on a timeout is what is still believed to be in the network.
    fn on_congestion(&mut self, now: Time, signal: Signal, path: &PathState);
    /// A segment was marked lost: before the congestion signal and the ACK that belong to it. Told to those who
    /// [watch losses](Controller::needs_losses).
    fn on_lost(&mut self, _now: Time, _lost: &Lost, _path: &PathState) {}
    fn needs_losses(&self) -> bool {
        false
    }
    /// A reduction is complete: what was out when it began is acknowledged.
    fn on_recovered(&mut self, _now: Time, _path: &PathState) {}
    /// The last congestion signal was wrong: put back what it took.
    fn on_undo(&mut self, now: Time);
    /// Sending resumes after an idle time of more than one RTO (RFC 5681 section 4.1).
    fn on_idle(&mut self, _now: Time, _restart_window: Bytes) {}
    /// The window was not used, for an RTO of sending less or of an idle time: what was used holds, and the threshold
    /// keeps three quarters of the old window (RFC 2861 section 3).
    fn on_unused(&mut self, now: Time, window: Bytes) {
        self.on_idle(now, window);
    }
    /// Takes over a connection in which another controller has set the window so far; comes after `on_established`.
    fn adopt(&mut self, now: Time, cwnd: Bytes, _ssthresh: Option<Bytes>) {
        self.on_idle(now, cwnd);
    }
    /// A full segment has `mss` octets from now on; window and threshold are already of as many segments as before.
    fn on_segment_size(&mut self, now: Time, _mss: Bytes, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.adopt(now, cwnd, ssthresh);
    }
    /// What it is doing, for a story or a log. The default tells slow start from congestion avoidance.
    fn state(&self) -> CcState {
        let (cwnd, ssthresh) = (self.cwnd(), self.ssthresh());
        let slow_start = ssthresh.is_none_or(|ssthresh| cwnd < ssthresh);
        let phase = if slow_start { "slow start" } else { "congestion avoidance" };
        CcState { phase, cwnd, ssthresh, pacing_rate: self.pacing_rate() }
    }
    fn cwnd(&self) -> Bytes;
    /// `None` before the first congestion signal.
    fn ssthresh(&self) -> Option<Bytes>;
    /// Payload per second; a controller that paces does so from its first window on.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
    /// The controller sets the window in recovery too; otherwise the connection leads it down to the new one (RFC
    /// 6937).
    fn owns_recovery(&self) -> bool {
        false
    }
    fn ecn_use(&self) -> EcnUse {
        EcnUse::Classic
    }
}

/// What a controller is made from.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub initial_window: Bytes,
    /// Where slow start ends the first time; unbounded if the host remembers nothing of the destination.
    pub remembered_threshold: Option<Bytes>,
    pub counting: ByteCounting,
    /// Less is given up for a mark than for a loss (RFC 8511), by those that can.
    pub abe: bool,
    /// The grain of the stack's clock, for algorithms that measure in its ticks; zero for an exact clock.
    pub tick: Duration,
    /// For algorithms that draw at random.
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
