//! The parts of BBRv3's model: states, rounds, the probing cycle, the propagation time, and the full-pipe estimate.

use crate::cc::Lost;
use crate::cc::path_model::HeldBack;
use lopsided_core::{Duration, Time};

/// 4 ln 2: this gain doubles the delivery rate in every round.
pub(super) const STARTUP_PACING_GAIN: f64 = 2.77;

/// Minimum window, in segments.
pub(super) const MIN_PIPE_WINDOW: u64 = 4;

/// The value of a bound that is not set.
pub(super) const UNBOUNDED: u64 = u64::MAX;

/// The window of ProbeRTT as a multiple of the bandwidth-delay product.
pub(super) const PROBE_RTT_CWND_GAIN: f64 = 0.5;

/// Time between two ProbeRTT phases (section 5.3.4).
pub(super) const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);

/// Time after which a minimum RTT expires.
pub(super) const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

/// The pipe is full after [`FULL_ROUNDS`] rounds in which the rate grows by less than this factor.
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

    /// True if this state, or the state that follows it, sends faster than the network delivers.
    pub fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }

    /// The pacing gain of the state (table in section 5.6.1).
    pub fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => 0.5,
            State::ProbeBwDown => 0.9,
            State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeRtt => 1.0,
            State::ProbeBwUp => 1.25,
        }
    }

    /// The window gain of the state (table in section 5.6.1).
    pub fn cwnd_gain(self) -> f64 {
        match self {
            State::ProbeBwUp => 2.25,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => 2.0,
        }
    }
}

/// The rate sample of an ACK (RS in section 2.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Bytes newly delivered.
    pub newly_acked: u64,
    /// Bytes that this ACK marked lost.
    pub newly_lost: u64,
    /// Bytes delivered since the newest acknowledged segment was sent.
    pub delivered: u64,
    /// Delivery rate in bytes per second; 0 if the sample is not reliable.
    pub rate: f64,
    /// Bytes that had been delivered when the newest acknowledged segment was sent; `None` if the ACK delivered no
    /// segment.
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

/// Bytes that the network delivered and lost in the last round.
#[derive(Debug, Default)]
pub(super) struct DeliveryOfRound {
    /// Maximum delivery rate in the round, in bytes per second.
    pub bw: f64,
    /// Largest number of delivered bytes that a sample of this round reports.
    pub inflight: u64,
    /// The round ends with the ACK of a segment that was sent after at least this number of bytes had been delivered.
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
    /// Processes the rate sample of an ACK. Call it before the sample changes the model.
    pub fn update(&mut self, sample: &Sample, delivered: u64) {
        self.bw = self.bw.max(sample.rate);
        self.inflight = self.inflight.max(sample.delivered);
        self.round_start = sample.prior_delivered.is_some_and(|prior| prior >= self.end);
        if self.round_start {
            self.end = delivered;
        }
    }

    /// Begins a new round if this ACK ended the last round.
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

/// The short-term bounds, which losses since the last probe have set.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortTerm {
    /// Upper bound of the bandwidth, in bytes per second.
    pub bw: f64,
    /// Upper bound of the bytes in flight.
    pub inflight: u64,
}

impl ShortTerm {
    /// No bounds.
    pub const NONE: ShortTerm = ShortTerm { bw: f64::INFINITY, inflight: UNBOUNDED };
}

/// The values that are restored if all losses of an episode were spurious.
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// True from the first loss until the recovery ends.
    pub in_episode: bool,
    /// The short-term bounds and the long-term bound before the episode.
    pub saved: Option<(ShortTerm, u64)>,
    /// The state that the loss interrupted. BBR returns to this state if the loss was spurious.
    pub return_to: Option<State>,
}

impl Undo {
    pub fn end_episode(&mut self) {
        self.in_episode = false;
    }
}

/// The part of a probe to which the currently acknowledged data belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// No probe.
    #[default]
    Init,
    /// Data that was sent in the Refill state.
    Refilling,
    /// The first data that was sent in the Up state.
    ProbeStarting,
    /// Data whose ACKs show the effect of the probe.
    ProbeFeedback,
    /// The last data that was sent in the probe.
    ProbeStopping,
}

/// The state of a ProbeBW cycle.
#[derive(Debug, Default)]
pub(super) struct ProbeBw {
    pub acks: AckPhase,
    /// True if the acknowledged or lost data was sent in a probe whose result is not known yet.
    pub is_sample: bool,
    /// Number of rounds since the last Up state ended.
    pub rounds_since_up: u64,
    /// Time between the start of Down and the next probe.
    pub wait: Duration,
    /// Time at which Down began.
    pub since: Time,
    /// Bytes acknowledged since the long-term bound was last raised.
    pub up_acked: u64,
    /// Number of acknowledged bytes after which the long-term bound rises by one segment; `None` while the bound does
    /// not rise.
    pub up_acked_per_raise: Option<u64>,
    /// Number of rounds in the Up state.
    pub up_rounds: u32,
    /// True if the last probe caused too much loss.
    pub too_high: bool,
    /// True if the last probe stopped at the level at which an earlier probe had too much loss.
    pub precautionary: bool,
}

/// The propagation time of the path, and the times at which it is probed.
#[derive(Debug, Default)]
pub(super) struct PropagationTime {
    pub min_rtt: Option<Duration>,
    pub min_rtt_at: Time,
    /// The minimum RTT since the last ProbeRTT.
    pub recent: Option<Duration>,
    pub recent_at: Time,
    /// True if a ProbeRTT is due.
    pub expired: bool,
    /// Earliest end of the current ProbeRTT; `None` until the bytes in flight have fallen to the window of ProbeRTT.
    pub until: Option<Time>,
    /// True if a round has passed since `until` was set.
    pub round_done: bool,
    /// The data that was sent with ProbeRTT's small window.
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
        // The 10 s filter takes its value from the 5 s filter, which ProbeRTT keeps up to date.
        let old = now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(recent) = self.recent {
            if old || self.min_rtt.is_none_or(|min| recent < min) {
                self.min_rtt = Some(recent);
                self.min_rtt_at = self.recent_at;
            }
        }
    }
}

/// Detects that the pipe is full: a higher sending rate no longer raises the delivery rate (section 5.3.1.2).
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    /// Delivery rate at the time of the last sufficient growth, in bytes per second.
    pub baseline: f64,
    /// Number of rounds since the last sufficient growth.
    pub rounds: u32,
    /// True if the pipe has become full since the detection last restarted.
    pub now: bool,
    /// True if the pipe has ever been full.
    pub reached: bool,
}

impl FullPipe {
    /// Restarts the detection at the delivery rate `baseline`, in bytes per second.
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
