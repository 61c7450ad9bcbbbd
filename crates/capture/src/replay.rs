//! Replays the ACKs of a capture through the congestion controls of `lopsided-tcp`, and compares their windows with the
//! sender's flight.
//!
//! A replay corrects its window at three times: before a loss, one round trip after a recovery, and at the end of slow
//! start. It then adopts the sender's flight as its window, unless the two are equal. After that, it receives the ACKs
//! up to the next loss.

use crate::steps::{Loss, Step};
use lopsided_core::{Bytes, Duration, Time};
use lopsided_tcp::cc::{self, Setup};
use lopsided_tcp::{Acked, ByteCounting, CaState, Controller, PathState, RateSample, Signal};

/// Maximum number of ACKs of a step in a replay. If the step has more ACKs, they are merged.
const MOST_ACKS: u64 = 64;
/// Number of [`Step`]s in one round trip. A step is a group of ACKs.
const ROUND: usize = 8;
/// Minimum number of steps between a recovery and the next loss for a comparison of the reduction.
const EARLIEST: usize = ROUND / 2;

/// The window of a congestion control compared with the sender's flight, in segments.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// Window of the congestion control in segments.
    pub window: f64,
    /// Largest flight in the round trip, in segments.
    pub flight: f64,
    /// Flight in segments at the start of the epoch, or before the loss if this is a reduction.
    pub first: f64,
    /// Number of round trips since the start of the epoch; 0 for a reduction.
    pub rounds: f64,
}

/// A congestion control that receives the ACKs of a capture.
struct Shadow {
    control: Box<dyn Controller>,
    path: PathState,
    mss: u64,
    /// Flight before the latest loss.
    before: f64,
    /// True if the stack counts ACKs as Linux does.
    is_linux: bool,
    /// True from a timeout until the next fast recovery.
    timeout: bool,
    stage: Stage,
    found: Vec<Compared>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Slow start: the congestion control adopts the sender's flight as its window.
    Start,
    /// The first round trip after a loss recovery or slow start. `reduced` is true after a fast recovery.
    First { step: usize, reduced: bool },
    /// Congestion avoidance, which began with a flight of `first` segments at step `step`.
    Follows { step: usize, first: f64 },
    /// Loss recovery.
    Repairs { fast: bool },
    /// The application or the receiver limited the sender: windows are not compared until the next loss.
    Spoiled,
}

/// Returns the comparisons of one congestion control; `None` if the name is unknown. `counting` is the rule by which
/// the stack counts ACKs. `handshake` is the RTT of the handshake on the whole path: the sender's first RTT sample.
pub fn replay(
    name: &str,
    counting: ByteCounting,
    steps: &[Step],
    mss: u32,
    handshake: Option<Duration>,
) -> Option<Vec<Compared>> {
    let mss = u64::from(mss.max(1));
    let setup = Setup {
        initial_window: Bytes::new(10 * mss),
        remembered_threshold: None,
        fractional: false,
        counting,
        abe: false,
        tick: Duration::from_millis(4),
        seed: 1,
    };
    let first = steps.iter().find(|step| step.rtt_us > 0);
    let rtt = handshake.or(first.map(|step| Duration::from_micros(u64::from(step.rtt_us))));
    let path = PathState {
        mss: Bytes::new(mss),
        in_flight: Bytes::ZERO,
        srtt: rtt,
        min_rtt: rtt,
        delivered: Bytes::ZERO,
        lost: Bytes::ZERO,
        una: 0,
        nxt: 10 * mss,
        app_limited: false,
        sack: true,
        ca_state: CaState::Open,
    };
    let mut control = cc::build(name, &setup)?;
    control.on_established(Time::from_nanos(1_000_000), &path);
    let is_linux = counting == ByteCounting::Delivered;
    let (stage, found) = (Stage::Start, Vec::new());
    let mut shadow = Shadow { control, path, mss, before: 0.0, is_linux, timeout: false, stage, found };
    for place in 0..steps.len() {
        shadow.step(steps, place);
    }
    Some(shadow.found)
}

impl Shadow {
    fn step(&mut self, steps: &[Step], place: usize) {
        let step = &steps[place];
        if !step.repairs && matches!(self.stage, Stage::Repairs { .. }) {
            self.path.ca_state = CaState::Open;
            self.control.on_recovered(time(step.at_us), &self.path);
            if self.is_linux {
                // Linux ends the recovery before it passes the ACK to the congestion control, so this ACK already counts
                // for growth. It newly delivers the segment that filled the hole, and covers the segments above the hole.
                let (acked_bytes, delivered_bytes) = (self.mss as u32, self.mss as u32);
                let last = Step { at_us: step.at_us, acks: 1, acked_bytes, delivered_bytes, ..Step::default() };
                let repair = &steps[place.saturating_sub(1)];
                self.acks(&last, step.at_us, repair.acked_bytes / u32::from(repair.acks.max(1)));
            }
            let fast = self.stage == Stage::Repairs { fast: true };
            // The window directly after a loss shows the factor by which the congestion control reduces it.
            self.stage = Stage::First { step: place, reduced: fast };
        }
        self.acks(step, steps.get(place + 1).map_or(step.at_us, |next| next.at_us), 0);
        if !step.repairs {
            self.compare(steps, place);
        }
        if let Some((loss, flight)) = step.loss {
            self.compare_early(steps, place);
            self.lose(step, loss, flight);
            // The recovery reduces the data in flight to the threshold.
            let reduced = self.control.ssthresh().unwrap_or(self.control.cwnd());
            self.path.in_flight = self.path.in_flight.min(reduced);
        }
    }

    /// Passes the ACKs of a step to the congestion control. Each ACK covers the bytes that it newly acknowledges, and at
    /// least `covered` bytes.
    fn acks(&mut self, step: &Step, until_us: u32, covered: u32) {
        let duplicates = u64::from(step.duplicates);
        let count = duplicates + u64::from(step.acks).min(MOST_ACKS);
        let rtt = (step.rtt_us > 0).then(|| Duration::from_micros(u64::from(step.rtt_us)));
        if let Some(rtt) = rtt {
            self.path.srtt = self.path.srtt.map(|srtt| (srtt * 7 + rtt) / 8).or(Some(rtt));
            self.path.min_rtt = self.path.min_rtt.map(|least| least.min(rtt)).or(Some(rtt));
        }
        let later = rtt.map(|_| Duration::from_micros(step.later_rtt_us()));
        let (mut left, mut received) = (u64::from(step.acked_bytes), u64::from(step.delivered_bytes));
        for number in 0..count {
            // Duplicate ACKs come first, because the ACK that fills the hole ends the recovery.
            let is_new = number >= duplicates;
            let bytes = if is_new { left / (count - number) } else { 0 };
            left -= bytes;
            let delivered = if is_new { received / (count - number) } else { self.mss };
            received -= if is_new { delivered } else { 0 };
            let prior = self.path.in_flight;
            // The sender has filled its window when the ACK arrives.
            self.path.nxt = self.path.nxt.max(self.path.una + prior.get());
            self.path.una += bytes;
            self.path.delivered += Bytes::new(bytes);
            let since = u64::from(until_us.saturating_sub(step.at_us)) * number / count;
            let ack = Acked {
                delivered: Bytes::new(delivered),
                cumulative: Bytes::new(bytes),
                segments: bytes.max(u64::from(covered)).div_ceil(self.mss).max(1) as u32,
                predicted: !step.repairs && is_new,
                told: covered > 0,
                may_raise: is_new,
                rtt: if number == 0 { rtt } else { later },
                newest_rtt: if number == 0 { rtt } else { later },
                maybe_delayed: false,
                forward_ms: None,
                prior_in_flight: prior,
                cwnd_limited: !step.spoiled,
                cwnd_full: !step.spoiled,
                in_recovery: step.repairs,
                reduced_to: None,
                ca_state: self.path.ca_state,
                next_departure: Time::ZERO,
                ecn_echo: false,
                marked: Bytes::ZERO,
                rate: RateSample::default(),
            };
            self.control.on_ack(time(step.at_us) + Duration::from_micros(since), &ack, &self.path);
        }
        if step.flight_bytes > 0 {
            self.path.in_flight = Bytes::new(u64::from(step.flight_bytes));
        }
    }

    fn compare(&mut self, steps: &[Step], place: usize) {
        let step = &steps[place];
        let segments = |bytes: u32| f64::from(bytes) / self.mss as f64;
        let most = |from: usize| {
            let from = (place + 1).saturating_sub(ROUND).max(from);
            segments(steps[from..=place].iter().map(|step| step.flight_bytes).max().unwrap_or(0))
        };
        if step.slow_start && !self.timeout {
            self.stage = Stage::Start;
            let flight = Bytes::new(u64::from(step.flight_bytes).max(self.mss));
            self.control.adopt(time(step.at_us), flight, None);
            return;
        }
        if step.spoiled {
            self.stage = Stage::Spoiled;
            return;
        }
        // After a timeout, the capture does not reveal at which window slow start ends.
        if self.timeout {
            return;
        }
        match self.stage {
            Stage::Start => self.stage = Stage::First { step: place, reduced: false },
            Stage::First { step: first, reduced } if place + 1 >= first + 2 * ROUND => {
                let flight = most(first);
                if reduced && flight > 0.0 {
                    let window = self.window();
                    self.found.push(Compared { window, flight, first: self.before, rounds: 0.0 });
                }
                if !self.is_exact(flight) {
                    let bytes = Bytes::new((flight * self.mss as f64) as u64);
                    self.control.adopt(time(step.at_us), bytes, Some(bytes));
                }
                self.stage = Stage::Follows { step: place, first: flight };
            }
            Stage::Follows { step: begin, first } if (place - begin) % ROUND == 0 => {
                let rounds = ((place - begin) / ROUND) as f64;
                self.found.push(Compared { window: self.window(), flight: most(begin), first, rounds });
            }
            _ => {}
        }
    }

    /// Compares the window after a loss if the next loss follows within two round trips. A congestion control that
    /// reduces its window by only 12 % often loses again that soon.
    fn compare_early(&mut self, steps: &[Step], place: usize) {
        let Stage::First { step: first, reduced: true } = self.stage else { return };
        let after = &steps[first..=place];
        let most = after.iter().map(|step| step.flight_bytes).max().unwrap_or(0);
        if after.len() >= EARLIEST && most > 0 && !self.timeout && !steps[place].spoiled {
            let flight = f64::from(most) / self.mss as f64;
            self.found.push(Compared { window: self.window(), flight, first: self.before, rounds: 0.0 });
        }
    }

    fn window(&self) -> f64 {
        self.control.cwnd().get() as f64 / self.mss as f64
    }

    /// Returns true if the window equals `flight` segments. The congestion control then keeps its state, such as
    /// fractions of a segment, so that its later windows are exact too.
    fn is_exact(&self, flight: f64) -> bool {
        (self.window().floor() - flight).abs() < 0.5
    }

    fn lose(&mut self, step: &Step, loss: Loss, flight: u32) {
        let flight = Bytes::new(u64::from(flight).max(self.mss));
        self.before = flight.get() as f64 / self.mss as f64;
        let now = time(step.at_us);
        self.path.in_flight = flight;
        let signal = match loss {
            Loss::Fast => {
                // The replayed window may have drifted, so the reduction starts from the data that was in flight. If a
                // recovery directly follows another, data in flight was not measured after the first reduction.
                if self.stage == (Stage::Repairs { fast: true }) {
                    self.control.on_recovered(now, &self.path);
                    self.before = self.window();
                } else if !self.is_exact(self.before) {
                    self.control.adopt(now, flight, Some(flight.min(self.control.ssthresh().unwrap_or(flight))));
                }
                self.path.ca_state = CaState::Recovery;
                Signal::Loss
            }
            Loss::Timeout => {
                self.path.ca_state = CaState::Loss;
                Signal::Timeout { consecutive: 1 }
            }
        };
        self.timeout = loss == Loss::Timeout;
        self.control.on_congestion(now, signal, &self.path);
        self.stage = Stage::Repairs { fast: loss == Loss::Fast };
    }
}

/// Converts a time, shifted by 2 ms, because congestion controls expect times greater than 0.
fn time(at_us: u32) -> Time {
    Time::from_nanos(u64::from(at_us) * 1000 + 2_000_000)
}
