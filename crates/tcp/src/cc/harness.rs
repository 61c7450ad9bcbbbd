//! Simulates a single controller for tests: a line with a queue, and a sender that fills its window and detects losses
//! one RTT later.
//!
//! TCP itself is not modelled: each segment is acknowledged separately, a loss is detected and repaired at once, and no
//! timer expires.

use crate::cc::{Acked, Controller, Idle, Lost, PathState, RateSample, Setup, Signal};
use crate::{ByteCounting, CaState};
use lopsided_core::{Bytes, Duration, Time};
use std::collections::VecDeque;

/// Payload of each segment, in bytes.
pub const MSS: u64 = 1448;

/// Returns the inputs for a controller with an initial window of 10 segments.
pub fn setup() -> Setup {
    Setup {
        abe: false,
        initial_window: Bytes::new(10 * MSS),
        remembered_threshold: None,
        counting: ByteCounting::Delivered,
        fractional: false,
        tick: Duration::from_millis(4),
        seed: 1,
    }
}

/// Returns the path state of a new connection.
pub fn path_state() -> PathState {
    PathState {
        mss: Bytes::new(MSS),
        in_flight: Bytes::ZERO,
        srtt: None,
        min_rtt: None,
        delivered: Bytes::ZERO,
        lost: Bytes::ZERO,
        una: 0,
        nxt: 0,
        app_limited: false,
        sack: true,
        ca_state: CaState::Open,
    }
}

/// Returns an ACK that delivers `segments` segments with the RTT `rtt`, without loss.
pub fn acked(segments: u64, rtt: Duration) -> Acked {
    Acked {
        delivered: Bytes::new(segments * MSS),
        cumulative: Bytes::new(segments * MSS),
        segments: segments as u32,
        predicted: true,
        told: false,
        may_raise: true,
        rtt: Some(rtt),
        newest_rtt: Some(rtt),
        maybe_delayed: false,
        forward_ms: Some((rtt.as_micros() / 1000) as u32),
        prior_in_flight: Bytes::new(segments * MSS),
        cwnd_limited: true,
        cwnd_full: true,
        in_recovery: false,
        reduced_to: None,
        ca_state: CaState::Open,
        next_departure: Time::ZERO,
        ecn_echo: false,
        marked: Bytes::ZERO,
        rate: RateSample::default(),
    }
}

/// A segment in the network.
#[derive(Debug, Clone, Copy)]
struct Sent {
    number: u64,
    at: Time,
    delivered: u64,
    delivered_at: Time,
    in_flight: u64,
    losses: u64,
    acked_at: Time,
    lost: bool,
    marked: bool,
}

/// A line with a queue, and one sender.
///
/// # Examples
///
/// Reno on 20 Mbit/s and 50 ms, with a queue of one bandwidth-delay product:
///
/// ```
/// use lopsided_core::Duration;
/// use lopsided_tcp::cc::{build, harness};
///
/// let reno = build("reno", &harness::setup()).unwrap();
/// let mut path = harness::Path::new(reno, 20.0, Duration::from_millis(50), 86);
/// let share = path.run(Duration::from_secs(30));
/// assert!(share > 0.9 && path.losses > 0);
/// ```
#[derive(Debug)]
pub struct Path {
    /// The controller.
    pub controller: Box<dyn Controller>,
    /// The current time.
    pub now: Time,
    /// Rate of the line in bytes per second.
    rate: u64,
    /// Size of the queue in segments.
    room: u64,
    /// RTT without a queue.
    rtt: Duration,
    /// Arriving segments are marked if the queue contains at least this number of segments; `None` disables marks.
    pub mark_from: Option<u64>,
    /// Time at which the line becomes idle.
    free: Time,
    flight: VecDeque<Sent>,
    state: PathState,
    delivered_at: Time,
    next: u64,
    /// The recovery ends when this segment is acknowledged; `None` outside of recovery.
    recovery: Option<u64>,
    /// Time at which pacing permits the next segment.
    may_send: Time,
    /// Number of delivered segments.
    pub delivered: u64,
    /// Number of lost segments.
    pub losses: u64,
    /// Times of the congestion signals.
    pub signals: Vec<Time>,
    /// Time and window in segments, for each ACK.
    pub trace: Vec<(Time, u64)>,
}

impl Path {
    /// Creates a line of `mbits` Mbit/s with an RTT of `rtt` and a queue of `room` segments.
    pub fn new(controller: Box<dyn Controller>, mbits: f64, rtt: Duration, room: u64) -> Path {
        let mut path = Path {
            controller,
            now: Time::from_nanos(1),
            rate: (mbits * 1e6 / 8.0) as u64,
            room,
            rtt,
            mark_from: None,
            free: Time::ZERO,
            flight: VecDeque::new(),
            state: PathState { srtt: Some(rtt), min_rtt: Some(rtt), ..path_state() },
            delivered_at: Time::ZERO,
            next: 0,
            recovery: None,
            may_send: Time::ZERO,
            delivered: 0,
            losses: 0,
            signals: Vec::new(),
            trace: Vec::new(),
        };
        path.controller.on_established(path.now, &path.state);
        path
    }

    /// Returns the time that the line needs to send one segment.
    fn serialize(&self) -> Duration {
        Duration::from_nanos(MSS * 1_000_000_000 / self.rate)
    }

    /// Simulates `span` of time. Returns the fraction of the line's capacity that was used by delivered segments.
    pub fn run(&mut self, span: Duration) -> f64 {
        let (end, before) = (self.now + span, self.delivered);
        loop {
            self.send();
            let ack = self.flight.front().map(|sent| sent.acked_at);
            let paced = (self.has_window()).then_some(self.may_send);
            // If neither an ACK nor a departure is due, the path stays idle until the end.
            let Some(next) = ack.into_iter().chain(paced).min() else { break };
            if next > end {
                break;
            }
            self.now = self.now.max(next);
            while self.flight.front().is_some_and(|sent| sent.acked_at <= self.now) {
                self.acknowledge();
            }
        }
        self.now = end;
        let capacity = span.as_secs_f64() * self.rate as f64 / MSS as f64;
        (self.delivered - before) as f64 / capacity
    }

    fn has_window(&self) -> bool {
        self.flight.is_empty() || (self.state.in_flight.get() + MSS <= self.controller.cwnd().get())
    }

    fn send(&mut self) {
        while self.has_window() && self.may_send <= self.now {
            if self.flight.is_empty() {
                self.delivered_at = self.now;
                self.controller.on_idle(self.now, Idle::TransmitStart { since: Duration::ZERO }, &self.state);
            }
            let waiting = self.free.saturating_since(self.now).as_nanos() / self.serialize().as_nanos();
            let lost = waiting >= self.room;
            let marked = self.mark_from.is_some_and(|from| waiting >= from);
            if !lost {
                self.free = self.free.max(self.now) + self.serialize();
            }
            let sent = Sent {
                number: self.next,
                at: self.now,
                delivered: self.state.delivered.get(),
                delivered_at: self.delivered_at,
                in_flight: self.state.in_flight.get() + MSS,
                losses: self.losses,
                // The loss is detected at the time at which the ACK of the next segment would arrive.
                acked_at: self.free + self.rtt,
                lost,
                marked,
            };
            self.next += 1;
            self.state.nxt = self.next * MSS;
            self.state.in_flight += Bytes::new(MSS);
            self.flight.push_back(sent);
            if let Some(rate) = self.controller.pacing_rate() {
                self.may_send = self.now + rate.time_to_send(Bytes::new(MSS), 0).0;
            }
        }
    }

    fn acknowledge(&mut self) {
        let sent = self.flight.pop_front().expect("an ACK answers a segment");
        let prior_in_flight = self.state.in_flight;
        self.state.in_flight -= Bytes::new(MSS);
        if sent.lost {
            self.losses += 1;
            self.state.lost += Bytes::new(MSS);
            let lost = Lost {
                start: sent.number * MSS,
                end: (sent.number + 1) * MSS,
                tx_in_flight: Bytes::new(sent.in_flight),
                lost_since_sent: Bytes::new((self.losses - sent.losses) * MSS),
                app_limited: false,
            };
            self.controller.on_lost(self.now, &lost, &self.state);
            // Send at most one signal per recovery, as a connection does.
            self.signal(Signal::Loss);
        } else {
            self.delivered += 1;
            self.state.delivered += Bytes::new(MSS);
        }
        if sent.marked {
            self.signal(Signal::EcnEcho);
        }
        self.state.una = (sent.number + 1) * MSS;
        if self.recovery.is_some_and(|point| sent.number >= point) {
            self.recovery = None;
            self.controller.on_recovered(self.now, &self.state);
        }
        let rtt = self.now.saturating_since(sent.at);
        self.state.srtt = self.state.srtt.map(|srtt| (srtt * 7 + rtt) / 8);
        let delivered = Bytes::new(if sent.lost { 0 } else { MSS });
        let interval = self.now.saturating_since(sent.delivered_at);
        self.delivered_at = self.now;
        let in_recovery = self.recovery.is_some() && !self.controller.owns_recovery();
        let rate = RateSample {
            delivered: Bytes::new(self.state.delivered.get() - sent.delivered),
            interval,
            prior_delivered: Bytes::new(sent.delivered),
            lost: Bytes::new(MSS).saturating_sub(delivered),
            tx_in_flight: Bytes::new(sent.in_flight),
            lost_since_sent: Bytes::new((self.losses - sent.losses) * MSS),
            app_limited: false,
        };
        let ack = Acked {
            delivered,
            cumulative: Bytes::new(MSS),
            prior_in_flight,
            in_recovery,
            ca_state: if self.recovery.is_some() { CaState::Recovery } else { CaState::Open },
            ecn_echo: sent.marked,
            marked: if sent.marked { delivered } else { Bytes::ZERO },
            rate,
            ..acked(1, rtt)
        };
        self.controller.on_ack(self.now, &ack, &self.state);
        self.trace.push((self.now, self.controller.cwnd().get() / MSS));
    }

    fn signal(&mut self, signal: Signal) {
        if self.recovery.is_none() {
            self.recovery = Some(self.next);
            self.signals.push(self.now);
            self.controller.on_congestion(self.now, signal, &self.state);
        }
    }
}
