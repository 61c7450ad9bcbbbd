//! The congestion window that a single TCP sender would have, computed at the receiver by a congestion control.

use crate::congestion::{Detection, Detector, Loss};
use crate::equations::Equations;
use lopsided_core::tcp_event::CaState;
use lopsided_core::{Bytes, Duration, Time};
use lopsided_spec::Choice;
use lopsided_tcp::ByteCounting;
use lopsided_tcp::cc::{self, Acked, Controller, PathState, RateSample, Setup, Signal, WindowController};

/// Initial window of a TCP sender, in segments (RFC 6928).
const INITIAL_SEGMENTS: u64 = 10;
/// Segment size that is assumed until a connection reports its own.
const USUAL_MSS: Bytes = Bytes::new(1448);
/// The window grows only if at least 1 / `LEAST_USE` of the window arrives per round trip.
const LEAST_USE: u64 = 4;

/// The rule for growth and reduction of the window, selected by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRule(&'static str);

const fn rule(name: &'static str) -> (&'static str, WindowRule) {
    (name, WindowRule(name))
}

/// The equations of Havey 2015, which are not a congestion control of `lopsided-tcp`.
const EQUATIONS: WindowRule = WindowRule("havey2015");

/// The valid names: congestion controls that react to loss (the default first), and Vegas (Havey 2015, section 2.5).
/// Congestion controls that need delivery rates are excluded, because the receiver's requests do not reveal these
/// rates.
impl Choice for WindowRule {
    const WORDS: &'static [(&'static str, WindowRule)] = &[
        rule("cubic"),
        rule("cubic-0.8"),
        rule("reno"),
        rule("bic"),
        rule("highspeed"),
        rule("htcp"),
        rule("hybla"),
        rule("scalable"),
        rule("westwood"),
        rule("vegas"),
        rule(EQUATIONS.0),
    ];
}

impl Default for WindowRule {
    fn default() -> WindowRule {
        WindowRule("cubic")
    }
}

impl WindowRule {
    /// Creates the congestion control with this name.
    fn build(self) -> Box<dyn Controller> {
        let setup = Setup {
            initial_window: Bytes::new(INITIAL_SEGMENTS * USUAL_MSS.get()),
            remembered_threshold: None,
            fractional: false,
            counting: ByteCounting::Delivered,
            abe: false,
            tick: Duration::ZERO,
            seed: 0,
        };
        if self == EQUATIONS {
            return Box::new(WindowController::new(&setup, Equations::default()));
        }
        cc::build(self.0, &setup).expect("every rule but the equations is a congestion control")
    }
}

/// The window, and the congestion detection that controls it.
#[derive(Debug)]
pub(crate) struct FairShare {
    rule: Box<dyn Controller>,
    detector: Detector,
    mss: Bytes,
    /// True after the first data has arrived.
    established: bool,
    delivered: Bytes,
    /// Number of holes detected so far.
    holes: u64,
    /// Number of reductions of the window so far.
    reductions: u64,
    /// The time one round trip after the last reduction of the window. Until this time, a further hole causes no
    /// reduction.
    until: Time,
    round: Round,
}

/// Number of bytes that arrive per round trip.
#[derive(Debug, Default)]
struct Round {
    /// Start of the current round trip.
    began: Time,
    /// Number of bytes received in the current round trip.
    octets: u64,
    /// Number of bytes received in the previous round trip; `None` in the first round trip.
    before: Option<u64>,
}

impl FairShare {
    pub fn new(rule: WindowRule, detection: Detection, streams: usize) -> FairShare {
        FairShare {
            rule: rule.build(),
            detector: Detector::new(detection, streams),
            mss: USUAL_MSS,
            established: false,
            delivered: Bytes::ZERO,
            holes: 0,
            reductions: 0,
            until: Time::ZERO,
            round: Round::default(),
        }
    }

    pub fn window(&self) -> Bytes {
        self.rule.cwnd()
    }

    pub fn reductions(&self) -> u64 {
        self.reductions
    }

    pub fn rtt(&self) -> Duration {
        self.detector.rtt()
    }

    pub fn set_mss(&mut self, mss: Bytes) {
        self.mss = mss;
    }

    /// Handles the arrival of `octets` bytes. `rtt` is given for the first byte of a response. `requested` is the
    /// number of bytes requested but not received.
    pub fn arrived(&mut self, now: Time, octets: u64, rtt: Option<Duration>, requested: u64) {
        if let Some(rtt) = rtt {
            self.detector.sample(rtt);
        }
        self.detector.arrived(now);
        self.delivered += Bytes::new(octets);
        self.round.count(now, octets, self.detector.rtt());
        let path = self.path(requested);
        if !self.established {
            self.established = true;
            self.rule.on_established(now, &path);
        }
        // The congestion control must not grow a window that the senders do not use (RFC 7661 has the same rule for
        // senders).
        let used = self.round.before.is_none_or(|octets| self.rule.cwnd().get() <= LEAST_USE * octets);
        let octets = Bytes::new(octets);
        let ack = Acked {
            delivered: octets,
            cumulative: octets,
            segments: octets.get().div_ceil(path.mss.get().max(1)) as u32,
            // The receiver processes no ACKs, so the fields that a sender derives from ACKs get neutral values.
            predicted: true,
            told: false,
            may_raise: true,
            rtt,
            newest_rtt: rtt,
            maybe_delayed: false,
            forward_ms: None,
            prior_in_flight: path.in_flight,
            cwnd_limited: used,
            cwnd_full: used,
            in_recovery: now < self.until,
            reduced_to: None,
            next_departure: now,
            ca_state: if now < self.until { CaState::Recovery } else { CaState::Open },
            ecn_echo: false,
            marked: Bytes::ZERO,
            rate: RateSample::default(),
        };
        self.rule.on_ack(now, &ack, &path);
    }

    /// Handles a new hole on a stream: determines its cause, and reduces the window if the cause is congestion.
    pub fn hole(&mut self, now: Time, stream: usize, requested: u64) -> Loss {
        self.holes += 1;
        let loss = self.detector.judge(now, stream);
        if loss == Loss::Channel {
            return loss;
        }
        // Like a sender, reduce the window at most once per round trip.
        if now < self.until {
            return Loss::Answered;
        }
        self.until = now + self.detector.rtt();
        self.reductions += 1;
        let path = self.path(requested);
        // The congestion control reduces the window as a sender would after a loss.
        self.rule.on_congestion(now, Signal::Loss, &path);
        loss
    }

    /// Handles an arrival after a pause since `last`. Returns the cause of the loss that the pause reveals. Returns
    /// `None` if there was no loss, or if the window was reduced within one round trip before `last`.
    pub fn resumed(&mut self, now: Time, stream: usize, last: Time, pause: Duration, requested: u64) -> Option<Loss> {
        let is_loss = last >= self.until && self.detector.is_repair(stream, last, pause);
        is_loss.then(|| self.hole(now, stream, requested))
    }

    /// Returns the state of the path as a sender would pass it to its congestion control.
    fn path(&self, requested: u64) -> PathState {
        PathState {
            mss: self.mss,
            in_flight: Bytes::new(requested),
            srtt: Some(self.detector.rtt()),
            min_rtt: self.detector.least_rtt(),
            delivered: self.delivered,
            lost: Bytes::new(self.holes * self.mss.get()),
            una: self.delivered.get(),
            nxt: self.delivered.get() + requested,
            app_limited: false,
            sack: true,
            ca_state: CaState::Open,
        }
    }
}

impl Round {
    /// Counts the bytes that arrived, and starts a new round trip if the current round trip is over.
    fn count(&mut self, now: Time, octets: u64, rtt: Duration) {
        if now.saturating_since(self.began) >= rtt {
            self.before = (self.octets > 0).then_some(self.octets);
            (self.began, self.octets) = (now, 0);
        }
        self.octets += octets;
    }
}
