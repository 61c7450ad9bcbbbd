//! The parts of BBRv3's model: its states, the delivery and losses of a round, the probing cycle, the propagation time,
//! and the full-pipe estimate.

use crate::cc::Lost;
use crate::cc::path_model::HeldBack;
use lopsided_core::{Duration, Time};

/// 4 ln 2: doubles the delivery rate in every round.
pub(super) const STARTUP_PACING_GAIN: f64 = 2.77;

/// The smallest window, in segments.
pub(super) const MIN_PIPE_WINDOW: u64 = 4;

/// No bound.
pub(super) const UNBOUNDED: u64 = u64::MAX;

/// ProbeRTT's window as a share of the bandwidth-delay product.
pub(super) const PROBE_RTT_CWND_GAIN: f64 = 0.5;

/// Time between two ProbeRTT phases (section 5.3.4).
pub(super) const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);

/// Lifetime of a minimum RTT.
pub(super) const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

/// The pipe is full if [`FULL_ROUNDS`] rounds in a row grow by less than this factor.
pub(super) const FULL_GROWTH: f64 = 1.25;

/// See [`FULL_GROWTH`].
pub(super) const FULL_ROUNDS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

impl State {
    /// True in the four states of ProbeBW.
    pub fn is_probe_bw(self) -> bool {
        matches!(self, State::ProbeBwDown | State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeBwUp)
    }

    /// True if the state sends faster than the network delivers, or will do so next.
    pub fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }

    /// The pacing gain (table in section 5.6.1).
    pub fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => 0.5,
            State::ProbeBwDown => 0.9,
            State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeRtt => 1.0,
            State::ProbeBwUp => 1.25,
        }
    }

    /// The window gain (table in section 5.6.1).
    pub fn cwnd_gain(self) -> f64 {
        match self {
            State::ProbeBwUp => 2.25,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => 2.0,
        }
    }
}

/// The values of an ACK (RS in section 2.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Bytes newly delivered.
    pub newly_acked: u64,
    /// Bytes newly marked lost.
    pub newly_lost: u64,
    /// Bytes delivered since the newest acknowledged segment was sent.
    pub delivered: u64,
    /// Delivery rate in bytes per second; 0 if the sample is not reliable.
    pub rate: f64,
    /// Bytes delivered when the newest acknowledged segment was sent; `None` without such a segment.
    pub prior_delivered: Option<u64>,
    /// RTT of the newest acknowledged segment.
    pub rtt: Option<Duration>,
    /// Bytes in flight when the newest acknowledged segment was sent.
    pub tx_in_flight: u64,
    /// Bytes marked lost since the newest acknowledged segment was sent.
    pub lost: u64,
    /// True if the application or ProbeRTT limits the rate.
    pub app_limited: bool,
    /// True if the window was full at some time in the last round trip.
    pub cwnd_full: bool,
}

/// The bytes that the network delivered in the last round, and its losses.
#[derive(Debug, Default)]
pub(super) struct DeliveryOfRound {
    /// The largest delivery rate, in bytes per second.
    pub bw: f64,
    /// The largest number of delivered bytes of a sample.
    pub inflight: u64,
    /// Delivered bytes at the end of the round. A round begins with the first loss after a round without loss.
    pub end: u64,
    /// True if the last ACK ended a round.
    pub round_start: bool,
    /// True if the round has a loss or mark.
    pub lossy: bool,
    /// Number of lost ranges of the stream.
    pub lost_ranges: u32,
    /// End of the last lost range, as a stream offset.
    pub last_lost: u64,
}

impl DeliveryOfRound {
    /// Processes the sample of an ACK, before it changes the model.
    pub fn update(&mut self, sample: &Sample, delivered: u64) {
        self.bw = self.bw.max(sample.rate);
        self.inflight = self.inflight.max(sample.delivered);
        self.round_start = sample.prior_delivered.is_some_and(|prior| prior >= self.end);
        if self.round_start {
            self.end = delivered;
        }
    }

    /// Begins a round after an ACK that ended one.
    pub fn advance(&mut self, sample: &Sample) {
        if self.round_start {
            self.bw = sample.rate;
            self.inflight = sample.delivered;
        }
    }

    /// Discards the measurements.
    pub fn reset(&mut self) {
        self.lossy = false;
        self.bw = 0.0;
        self.inflight = 0;
    }

    /// Counts a lost segment, unless it continues the last lost range.
    pub fn note_range(&mut self, lost: &Lost) {
        if self.lost_ranges == 0 || lost.start != self.last_lost {
            self.lost_ranges += 1;
        }
        self.last_lost = lost.end;
    }
}

/// The short-term bounds, set by losses since the last probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortTerm {
    /// Bound of the bandwidth in bytes per second.
    pub bw: f64,
    /// Bound of the bytes in flight.
    pub inflight: u64,
}

impl ShortTerm {
    /// No bounds.
    pub const NONE: ShortTerm = ShortTerm { bw: f64::INFINITY, inflight: UNBOUNDED };
}

/// The values to restore if the losses of an episode were spurious.
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// True from the first loss until the recovery ends.
    pub in_episode: bool,
    /// The short-term bounds and the long-term bound before the episode.
    pub saved: Option<(ShortTerm, u64)>,
    /// The state that the loss ended.
    pub return_to: Option<State>,
}

impl Undo {
    pub fn end_episode(&mut self) {
        self.in_episode = false;
    }
}

/// The phase of a probe to which the arriving ACKs belong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// No probe.
    #[default]
    Init,
    /// Data of the Refill state.
    Refilling,
    /// The first data of the Up state.
    ProbeStarting,
    /// Data that shows the effect of the probe.
    ProbeFeedback,
    /// The last data of the probe.
    ProbeStopping,
}

/// The state of a probing cycle.
#[derive(Debug, Default)]
pub(super) struct ProbeBw {
    pub acks: AckPhase,
    /// True if acknowledged or lost data was sent in a probe that has no result yet.
    pub is_sample: bool,
    /// Number of rounds since the last Up state.
    pub rounds_since_up: u64,
    /// Time from Down to the next probe.
    pub wait: Duration,
    /// Time at which Down began.
    pub since: Time,
    /// Bytes acknowledged towards the next raise of the long-term bound.
    pub up_acked: u64,
    /// Bytes acknowledged per raise of the long-term bound by one segment.
    pub up_acked_per_raise: Option<u64>,
    /// Number of rounds in the Up state.
    pub up_rounds: u32,
    /// True if the last probe had too much loss.
    pub too_high: bool,
    /// True if the last probe stopped at the level that had too much loss before.
    pub precautionary: bool,
}

/// The propagation time, and the times of its probes.
#[derive(Debug, Default)]
pub(super) struct PropagationTime {
    pub min_rtt: Option<Duration>,
    pub min_rtt_at: Time,
    /// The minimum RTT since the last ProbeRTT.
    pub recent: Option<Duration>,
    pub recent_at: Time,
    /// True if a ProbeRTT is due.
    pub expired: bool,
    /// Earliest end of the current ProbeRTT; `None` until few enough bytes are in flight.
    pub until: Option<Time>,
    /// True if a round has passed since `until` was set.
    pub round_done: bool,
    /// Data sent with ProbeRTT's small window.
    pub held_back: HeldBack,
}

impl PropagationTime {
    pub fn begin(&mut self, now: Time, srtt: Option<Duration>) {
        self.min_rtt = srtt;
        self.min_rtt_at = now;
        self.recent = srtt;
        self.recent_at = now;
    }

    /// Updates the minimum RTT (section 5.3.4.3).
    pub fn update(&mut self, now: Time, rtt: Option<Duration>) {
        self.expired = now > self.recent_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = rtt {
            if self.expired || self.recent.is_none_or(|recent| rtt < recent) {
                self.recent = Some(rtt.max(Duration::from_micros(1)));
                self.recent_at = now;
            }
        }
        let old = now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(recent) = self.recent {
            if old || self.min_rtt.is_none_or(|min| recent < min) {
                self.min_rtt = Some(recent);
                self.min_rtt_at = self.recent_at;
            }
        }
    }
}

/// The full-pipe estimate: a higher rate does not raise the delivery rate (section 5.3.1.2).
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    /// Delivery rate at the last sufficient growth, in bytes per second.
    pub baseline: f64,
    /// Number of rounds without sufficient growth since then.
    pub rounds: u32,
    /// True if the pipe is full since the estimate last restarted.
    pub now: bool,
    /// True if the pipe was full at any time.
    pub reached: bool,
}

impl FullPipe {
    /// Restarts the estimate at a delivery rate.
    pub fn begin(&mut self, baseline: f64) {
        self.baseline = baseline;
        self.rounds = 0;
        self.now = false;
    }

    /// Processes the sample of an ACK.
    pub fn check(&mut self, round_start: bool, sample: &Sample) {
        if self.now || !round_start || sample.app_limited {
            return;
        }
        if sample.rate >= self.baseline * FULL_GROWTH {
            self.begin(sample.rate);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= FULL_ROUNDS;
        self.reached |= self.now;
    }
}
