//! The parts of BBRv3's model: its states, what the network delivered and lost, the cycle of probing, the propagation
//! time, and whether the pipe is full.

use crate::cc::Lost;
use crate::cc::path_model::HeldBack;
use lopsided_core::{Duration, Time};

/// 4 ln 2: doubles the delivery rate in every round.
pub(super) const STARTUP_PACING_GAIN: f64 = 2.77;

/// The smallest window, in segments.
pub(super) const MIN_PIPE_WINDOW: u64 = 4;

/// No bound.
pub(super) const UNBOUNDED: u64 = u64::MAX;

/// Share of the bandwidth-delay product that stays in flight.
pub(super) const PROBE_RTT_CWND_GAIN: f64 = 0.5;

/// Time between probes for the propagation time (section 5.3.4).
pub(super) const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);

/// Lifetime of a minimum RTT.
pub(super) const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

/// The pipe is full after this growth is missed in [`FULL_ROUNDS`] rounds in a row.
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
    pub fn is_probe_bw(self) -> bool {
        matches!(self, State::ProbeBwDown | State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeBwUp)
    }

    /// True if the state sends faster than the network delivers, or is about to.
    pub fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }

    /// Section 5.6.1's table.
    pub fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => 0.5,
            State::ProbeBwDown => 0.9,
            State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeRtt => 1.0,
            State::ProbeBwUp => 1.25,
        }
    }

    pub fn cwnd_gain(self) -> f64 {
        match self {
            State::ProbeBwUp => 2.25,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => 2.0,
        }
    }
}

/// Values of an ACK (section 2.3's RS).
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub newly_acked: u64,
    pub newly_lost: u64,
    pub delivered: u64,
    /// Delivery rate in bytes per second; 0 if the sample is not reliable.
    pub rate: f64,
    /// Bytes delivered when the newest acknowledged segment was sent; `None` if there is no such segment.
    pub prior_delivered: Option<u64>,
    pub rtt: Option<Duration>,
    pub tx_in_flight: u64,
    /// Octets marked lost since that segment was sent.
    pub lost: u64,
    pub app_limited: bool,
    /// The window was used up in the last round trip.
    pub cwnd_full: bool,
}

/// What the network delivered in the last round, and whether it lost something.
#[derive(Debug, Default)]
pub(super) struct DeliveryOfRound {
    /// The maximum, in bytes per second and in bytes.
    pub bw: f64,
    pub inflight: u64,
    /// Delivered count that ends the loss round. A loss round begins with the first loss after a round without.
    pub end: u64,
    /// The latest ACK ended a round.
    pub round_start: bool,
    pub lossy: bool,
    /// Number of lost ranges of the stream, and the end of the last one.
    pub lost_ranges: u32,
    pub last_lost: u64,
}

impl DeliveryOfRound {
    pub fn update(&mut self, sample: &Sample, delivered: u64) {
        self.bw = self.bw.max(sample.rate);
        self.inflight = self.inflight.max(sample.delivered);
        self.round_start = sample.prior_delivered.is_some_and(|prior| prior >= self.end);
        if self.round_start {
            self.end = delivered;
        }
    }

    pub fn advance(&mut self, sample: &Sample) {
        if self.round_start {
            self.bw = sample.rate;
            self.inflight = sample.delivered;
        }
    }

    pub fn reset(&mut self) {
        self.lossy = false;
        self.bw = 0.0;
        self.inflight = 0;
    }

    pub fn note_range(&mut self, lost: &Lost) {
        if self.lost_ranges == 0 || lost.start != self.last_lost {
            self.lost_ranges += 1;
        }
        self.last_lost = lost.end;
    }
}

/// Bounds set by losses since the last probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortTerm {
    /// Bytes per second.
    pub bw: f64,
    pub inflight: u64,
}

impl ShortTerm {
    pub const NONE: ShortTerm = ShortTerm { bw: f64::INFINITY, inflight: UNBOUNDED };
}

/// The values to restore if an episode's losses were spurious.
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// True from the first loss until recovery ends.
    pub in_episode: bool,
    pub saved: Option<(ShortTerm, u64)>,
    /// The state that a loss ended.
    pub return_to: Option<State>,
}

impl Undo {
    pub fn end_episode(&mut self) {
        self.in_episode = false;
    }
}

/// The phase of a probe that the arriving ACKs belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Nothing.
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// A cycle of probing.
#[derive(Debug, Default)]
pub(super) struct ProbeBw {
    pub acks: AckPhase,
    /// True if the acknowledged or lost data was sent in a probe that has no result yet.
    pub is_sample: bool,
    pub rounds_since_up: u64,
    pub wait: Duration,
    pub since: Time,
    /// Bytes acknowledged towards the next increase of the long-term bound, bytes that an increase needs, and number of
    /// raising rounds.
    pub up_acked: u64,
    pub up_acked_per_raise: Option<u64>,
    pub up_rounds: u32,
    /// The last probe lost too much; `cautious`: the last probe stopped below the level that had lost too much.
    pub too_high: bool,
    pub precautionary: bool,
}

/// The propagation time, and when to probe for it.
#[derive(Debug, Default)]
pub(super) struct PropagationTime {
    pub min_rtt: Option<Duration>,
    pub min_rtt_at: Time,
    /// The minimum RTT since the last probe for it.
    pub recent: Option<Duration>,
    pub recent_at: Time,
    pub expired: bool,
    /// The current probe: earliest end, once little enough is in flight, and whether a round has passed since.
    pub until: Option<Time>,
    pub round_done: bool,
    pub held_back: HeldBack,
}

impl PropagationTime {
    pub fn begin(&mut self, now: Time, srtt: Option<Duration>) {
        self.min_rtt = srtt;
        self.min_rtt_at = now;
        self.recent = srtt;
        self.recent_at = now;
    }

    /// Section 5.3.4.3.
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

/// The estimate that a higher rate brings no more delivery (section 5.3.1.2).
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    pub baseline: f64,
    pub rounds: u32,
    /// Full since the estimate last restarted; `ever`: full at any time.
    pub now: bool,
    pub reached: bool,
}

impl FullPipe {
    pub fn begin(&mut self, baseline: f64) {
        self.baseline = baseline;
        self.rounds = 0;
        self.now = false;
    }

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
