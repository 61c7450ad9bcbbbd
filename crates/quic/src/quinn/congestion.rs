//! Congestion controllers for quinn: an adapter that lets quinn call lopsided's controllers, and a wrapper that
//! observes lopsided's or quinn's controllers.
//!
//! quinn reports the size and the send time of each acknowledged packet, and reports losses and marks. These reports
//! are sufficient for controllers that only set a window. Recovery periods follow RFC 9002: one reduction for all
//! packets sent before the period began.

use super::clock::{Clock, lock};
use super::stack::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig};
use super::stack::{BbrConfig, RttEstimator};
use lopsided_core::tcp_event::{CaReason, CaState, LossRule, Reduction, TcpEvent, TimedTcpEvent};
use lopsided_core::{Bytes, Duration, Time};
use lopsided_tcp::cc::{self, Acked, Idle, PathState, Setup, Signal};
use lopsided_tcp::{ByteCounting, Feedback};
use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// RFC 9000, section 14: every path carries datagrams of this size.
const SMALLEST_MTU: u16 = 1200;

/// State of a connection's sender, shared by quinn's connection and the endpoint around it.
#[derive(Debug, Default)]
pub(super) struct Watched {
    pub in_flight: u64,
    pub cwnd: u64,
    pub ssthresh: Option<u64>,
    /// True from a reduction of the window until a packet that was sent after the reduction is acknowledged.
    pub in_recovery: bool,
    /// RTT samples of acknowledged packets that the endpoint has not fetched yet.
    pub rtts: Vec<Duration>,
    pub ecn_reductions: u64,
    pub loss_reductions: u64,
    pub persistent: u64,
    /// True if the application had nothing to send when the last ACK arrived.
    pub app_limited: bool,
    /// True if an observer receives `events`.
    pub listened: bool,
    /// Events that the endpoint has not fetched yet.
    pub events: Vec<TimedTcpEvent>,
}

impl Watched {
    fn note(&mut self, at: Time, event: TcpEvent) {
        if self.listened {
            self.events.push(TimedTcpEvent { at, event });
        }
    }
}

/// The observed congestion controller.
enum Inner {
    Quinn(Box<dyn Controller>),
    Ours(Box<Ours>),
}

/// Wraps a congestion controller, and records its inputs and its window.
struct Watching {
    clock: Clock,
    inner: Inner,
    recovery_start: Option<Instant>,
    watched: Arc<Mutex<Watched>>,
    factory: Arc<WatchingFactory>,
}

/// Builds the congestion controllers of an endpoint's connections.
pub(super) struct WatchingFactory {
    clock: Clock,
    source: Source,
    initial_window: u64,
    /// The state of the newest connection.
    latest: Mutex<Arc<Mutex<Watched>>>,
    listened: AtomicBool,
}

/// The congestion controller to build: one of quinn's controllers or one of lopsided's.
pub(super) enum Source {
    NewReno,
    Cubic,
    /// quinn's BBR. Scenarios cannot choose it, because its random generator cannot be seeded.
    Bbr,
    Ours(cc::ControllerFactory),
}

impl fmt::Debug for WatchingFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchingFactory").field("initial_window", &self.initial_window).finish_non_exhaustive()
    }
}

impl WatchingFactory {
    /// Creates the factory. `initial_window` is in packets.
    pub fn new(clock: Clock, source: Source, initial_window: u64) -> WatchingFactory {
        WatchingFactory { clock, source, initial_window, latest: Mutex::default(), listened: AtomicBool::new(false) }
    }

    /// Records the events of all connections that are created from now on.
    pub fn listen(&self) {
        self.listened.store(true, Ordering::Relaxed);
    }

    /// Returns the state of the newest connection.
    pub fn latest(&self) -> Arc<Mutex<Watched>> {
        Arc::clone(&lock(&self.latest))
    }
}

impl ControllerFactory for WatchingFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let initial_window = self.initial_window * u64::from(current_mtu);
        let inner = match &self.source {
            Source::NewReno => {
                let mut config = NewRenoConfig::default();
                config.initial_window(initial_window);
                Inner::Quinn(Arc::new(config).build(now, current_mtu))
            }
            Source::Cubic => {
                let mut config = CubicConfig::default();
                config.initial_window(initial_window);
                Inner::Quinn(Arc::new(config).build(now, current_mtu))
            }
            Source::Bbr => {
                let mut config = BbrConfig::default();
                config.initial_window(initial_window);
                Inner::Quinn(Arc::new(config).build(now, current_mtu))
            }
            Source::Ours(make) => Inner::Ours(Box::new(Ours::new(make, initial_window, current_mtu))),
        };
        let listened = self.listened.load(Ordering::Relaxed);
        let watched = Arc::new(Mutex::new(Watched { listened, ..Watched::default() }));
        // The endpoint takes this state when it stores the connection that quinn has just created.
        *lock(&self.latest) = Arc::clone(&watched);
        let clock = self.clock;
        let watching = Watching { clock, inner, recovery_start: None, watched, factory: self };
        watching.copy_window();
        Box::new(watching)
    }
}

impl Watching {
    /// Copies the window into the state that the endpoint reads.
    fn copy_window(&self) {
        let (cwnd, ssthresh) = match &self.inner {
            Inner::Quinn(control) => (control.window(), control.metrics().ssthresh.filter(|octets| *octets < u64::MAX)),
            Inner::Ours(ours) => {
                let control = lock(&ours.control);
                (control.cwnd().get(), control.ssthresh().map(Bytes::get))
            }
        };
        let mut watched = lock(&self.watched);
        (watched.cwnd, watched.ssthresh) = (cwnd, ssthresh);
    }
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watching").field("watched", &self.watched).finish_non_exhaustive()
    }
}

impl Controller for Watching {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        lock(&self.watched).in_flight += bytes;
        match &mut self.inner {
            Inner::Quinn(control) => control.on_sent(now, bytes, last_packet_number),
            // `on_packet_sent` counts each packet.
            Inner::Ours(_) if cfg!(feature = "noq") => {}
            Inner::Ours(ours) => ours.sent(self.clock.time(now), bytes),
        }
    }

    #[cfg(feature = "noq")]
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        match &mut self.inner {
            Inner::Quinn(control) => control.on_packet_sent(now, bytes, number),
            Inner::Ours(ours) => {
                let (now, start) = (self.clock.time(now), ours.sent);
                ours.sent(now, u64::from(bytes));
                ours.rates.sent(now, number, start, u64::from(bytes), ours.in_flight);
            }
        }
    }

    #[cfg(feature = "noq")]
    fn on_packet_lost(&mut self, lost_bytes: u16, number: u64, now: Instant) {
        match &mut self.inner {
            Inner::Quinn(control) => control.on_packet_lost(lost_bytes, number, now),
            Inner::Ours(ours) => ours.packet_lost(self.clock.time(now), u64::from(lost_bytes), number),
        }
    }

    #[cfg(feature = "noq")]
    fn on_cwnd_limited(&mut self) {
        if let Inner::Quinn(control) = &mut self.inner {
            control.on_cwnd_limited();
        }
    }

    #[cfg(feature = "noq")]
    fn on_spurious_congestion_event(&mut self) {
        if let Inner::Quinn(control) = &mut self.inner {
            control.on_spurious_congestion_event();
        }
    }

    #[cfg(feature = "noq")]
    fn on_ack_frequency_update(&mut self, packets: u64, delay: std::time::Duration) {
        if let Inner::Quinn(control) = &mut self.inner {
            control.on_ack_frequency_update(packets, delay);
        }
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        #[cfg(feature = "noq")] number: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        {
            let mut watched = lock(&self.watched);
            let took = now.saturating_duration_since(sent);
            watched.rtts.push(Duration::from_nanos(took.as_nanos() as u64));
            // RFC 9002, section 7.3.2: recovery ends when a packet that was sent during recovery is acknowledged.
            if self.recovery_start.is_some_and(|start| sent > start) {
                self.recovery_start = None;
                watched.in_recovery = false;
                let (from, to, why) = (CaState::Recovery, CaState::Open, CaReason::Completed);
                watched.note(self.clock.time(now), TcpEvent::CaState { from, to, why });
                if let Inner::Ours(ours) = &mut self.inner {
                    ours.recovered(self.clock.time(now));
                }
            }
        }
        match &mut self.inner {
            Inner::Quinn(control) => control.on_ack(
                now,
                sent,
                bytes,
                #[cfg(feature = "noq")]
                number,
                app_limited,
                rtt,
            ),
            Inner::Ours(ours) => {
                let took = now.saturating_duration_since(sent);
                ours.acked(bytes, Duration::from_nanos(took.as_nanos() as u64), rtt);
                #[cfg(feature = "noq")]
                ours.rates.acked(self.clock.time(now), number);
            }
        }
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        {
            let mut watched = lock(&self.watched);
            // Use quinn's own count instead of the observer's estimate.
            (watched.in_flight, watched.app_limited) = (in_flight, app_limited);
        }
        match &mut self.inner {
            Inner::Quinn(control) => control.on_end_acks(now, in_flight, app_limited, largest),
            Inner::Ours(ours) => {
                let in_recovery = self.recovery_start.is_some();
                ours.end_acks(self.clock.time(now), in_flight, app_limited, in_recovery);
            }
        }
        self.copy_window();
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        #[cfg(feature = "noq")] is_ecn: bool,
        lost_bytes: u64,
        #[cfg(feature = "noq")] largest_lost: u64,
    ) {
        let begins = self.recovery_start.is_none_or(|start| sent > start);
        let (at, before) = (self.clock.time(now), self.window());
        {
            let mut watched = lock(&self.watched);
            if lost_bytes > 0 {
                let segments = lost_bytes.div_ceil(u64::from(SMALLEST_MTU)) as u32;
                watched.note(at, TcpEvent::Lost { start: 0, segments, rule: LossRule::Rfc9002 });
            }
            watched.in_flight = watched.in_flight.saturating_sub(lost_bytes);
            // RFC 9002, section 7.3.2: at most one reduction per recovery period.
            if begins || is_persistent_congestion {
                match lost_bytes {
                    0 => watched.ecn_reductions += 1,
                    _ => watched.loss_reductions += 1,
                }
                watched.persistent += u64::from(is_persistent_congestion);
                watched.in_recovery = true;
            }
        }
        match &mut self.inner {
            Inner::Quinn(control) => control.on_congestion_event(
                now,
                sent,
                is_persistent_congestion,
                #[cfg(feature = "noq")]
                is_ecn,
                lost_bytes,
                #[cfg(feature = "noq")]
                largest_lost,
            ),
            // RFC 9002, section 7.6.2: persistent congestion reduces the window again within a recovery period.
            Inner::Ours(ours) if begins || is_persistent_congestion => {
                let signal = match (is_persistent_congestion, lost_bytes) {
                    // RFC 9002, section 7.6.2: the window falls to its minimum, as after a TCP timeout.
                    (true, _) => Signal::Timeout { consecutive: 1 },
                    (false, 0) => Signal::EcnEcho,
                    (false, _) => Signal::Loss,
                };
                ours.congestion(self.clock.time(now), signal, lost_bytes);
            }
            Inner::Ours(ours) => ours.lost(lost_bytes),
        }
        if begins || is_persistent_congestion {
            let (why, signal) = match (is_persistent_congestion, lost_bytes) {
                (true, _) => (CaReason::Timeout, Reduction::Timeout),
                (false, 0) => (CaReason::EcnEcho, Reduction::EcnEcho),
                (false, _) => (CaReason::LossDetected, Reduction::Loss),
            };
            let (from, to) = (Bytes::new(before), Bytes::new(self.window()));
            let mut watched = lock(&self.watched);
            watched.note(at, TcpEvent::CwndReduced { signal, from, to });
            if self.recovery_start.is_none() {
                watched.note(at, TcpEvent::CaState { from: CaState::Open, to: CaState::Recovery, why });
            }
        }
        if begins {
            self.recovery_start = Some(now);
        }
        self.copy_window();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        match &mut self.inner {
            Inner::Quinn(control) => control.on_mtu_update(new_mtu),
            Inner::Ours(ours) => ours.segment_size(new_mtu),
        }
        self.copy_window();
    }

    fn window(&self) -> u64 {
        match &self.inner {
            Inner::Quinn(control) => control.window(),
            Inner::Ours(ours) => ours.window,
        }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        let watched = lock(&self.watched);
        metrics.congestion_window = watched.cwnd;
        metrics.ssthresh = watched.ssthresh;
        #[cfg(feature = "noq")]
        match &self.inner {
            Inner::Quinn(control) => {
                let own = control.metrics();
                (metrics.pacing_rate, metrics.send_quantum) = (own.pacing_rate, own.send_quantum);
            }
            Inner::Ours(ours) => metrics.pacing_rate = lock(&ours.control).pacing_rate().map(|rate| rate.as_bps() / 8),
        }
        metrics
    }

    /// Returns a controller in its initial state, because quinn clones a controller only for a new path.
    fn clone_box(&self) -> Box<dyn Controller> {
        let start = self.clock.instant(Time::ZERO);
        Arc::clone(&self.factory).build(start, SMALLEST_MTU)
    }

    fn initial_window(&self) -> u64 {
        match &self.inner {
            Inner::Quinn(control) => control.initial_window(),
            Inner::Ours(ours) => ours.initial_window,
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// One of lopsided's congestion controllers.
struct Ours {
    /// The controller is in a mutex because quinn requires controllers to be `Sync`.
    control: Mutex<Box<dyn cc::Controller>>,
    /// The controller's window in bytes, at least 2 packets.
    window: u64,
    initial_window: u64,
    mss: u64,
    in_flight: u64,
    /// Bytes sent since the start.
    sent: u64,
    /// Bytes acknowledged since the start.
    delivered: u64,
    /// Bytes lost since the start.
    lost: u64,
    /// Bytes acknowledged by the current ACK frame.
    acked: u64,
    /// Packets acknowledged by the current ACK frame.
    packets: u32,
    /// RTT of the oldest packet that the current ACK frame acknowledges.
    rtt: Option<Duration>,
    /// RTT of the newest packet that the current ACK frame acknowledges.
    newest_rtt: Option<Duration>,
    srtt: Option<Duration>,
    min_rtt: Option<Duration>,
    established: bool,
    last_sent: Time,
    #[cfg(feature = "noq")]
    rates: super::rates::Rates,
}

impl Ours {
    fn new(make: &cc::ControllerFactory, initial_window: u64, mtu: u16) -> Ours {
        let setup = Setup {
            initial_window: Bytes::new(initial_window),
            remembered_threshold: None,
            fractional: false,
            // RFC 9002, section 7.3.1: the window grows by the bytes acknowledged.
            counting: ByteCounting::Delivered,
            abe: false,
            tick: Duration::ZERO,
            seed: 1,
        };
        let mut control = make(&setup);
        control.on_feedback_agreed(Feedback::Classic);
        let mut ours = Ours {
            window: initial_window,
            control: Mutex::new(control),
            initial_window,
            mss: u64::from(mtu),
            in_flight: 0,
            sent: 0,
            delivered: 0,
            lost: 0,
            acked: 0,
            packets: 0,
            rtt: None,
            newest_rtt: None,
            srtt: None,
            min_rtt: None,
            established: false,
            last_sent: Time::ZERO,
            #[cfg(feature = "noq")]
            rates: super::rates::Rates::default(),
        };
        ours.take_window();
        ours
    }

    /// Returns the controller without locking: `&mut self` guarantees exclusive access.
    fn control(&mut self) -> &mut dyn cc::Controller {
        &mut **self.control.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, state: CaState, app_limited: bool) -> PathState {
        PathState {
            mss: Bytes::new(self.mss),
            in_flight: Bytes::new(self.in_flight),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            delivered: Bytes::new(self.delivered),
            lost: Bytes::new(self.lost),
            una: self.sent - self.in_flight,
            nxt: self.sent,
            app_limited,
            sack: true,
            ca_state: state,
        }
    }

    fn take_window(&mut self) {
        // RFC 9002, section 7.2: the minimum window is 2 packets.
        self.window = self.control().cwnd().get().max(2 * self.mss);
    }

    fn sent(&mut self, now: Time, bytes: u64) {
        let since = now.saturating_since(self.last_sent);
        if self.in_flight == 0 && self.established {
            let path = self.path(CaState::Open, false);
            self.control().on_idle(now, Idle::TransmitStart { since }, &path);
        }
        self.last_sent = now;
        self.in_flight += bytes;
        self.sent += bytes;
    }

    fn acked(&mut self, bytes: u64, rtt: Duration, estimator: &RttEstimator) {
        self.acked += bytes;
        self.packets += 1;
        // The oldest packet that a frame acknowledges has the longest RTT, and the newest packet has the shortest RTT.
        self.rtt = Some(self.rtt.map_or(rtt, |oldest| oldest.max(rtt)));
        self.newest_rtt = Some(self.newest_rtt.map_or(rtt, |newest| newest.min(rtt)));
        self.srtt = Some(Duration::from_nanos(estimator.get().as_nanos() as u64));
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
    }

    fn end_acks(&mut self, now: Time, in_flight: u64, app_limited: bool, in_recovery: bool) {
        let (acked, packets) = (std::mem::take(&mut self.acked), std::mem::take(&mut self.packets));
        let (rtt, newest_rtt) = (self.rtt.take(), self.newest_rtt.take());
        let prior_in_flight = self.in_flight;
        self.in_flight = in_flight.min(self.sent);
        if packets == 0 {
            return;
        }
        self.delivered += acked;
        let state = if in_recovery { CaState::Recovery } else { CaState::Open };
        #[cfg(feature = "noq")]
        let (rate, path) = {
            let rate = self.rates.sample(now, app_limited, self.in_flight);
            (rate, self.path(state, self.rates.is_app_limited()))
        };
        #[cfg(not(feature = "noq"))]
        let (rate, path) = (cc::RateSample { app_limited, ..cc::RateSample::default() }, self.path(state, app_limited));
        if !self.established {
            self.established = true;
            // For the controller, the handshake ends with the first acknowledgement.
            self.control().on_established(now, &path);
        }
        // RFC 9002, section 7.8: an underused window must not grow.
        let cwnd_limited = !app_limited;
        let ack = Acked {
            delivered: Bytes::new(acked),
            cumulative: Bytes::new(acked),
            segments: packets,
            predicted: false,
            told: false,
            may_raise: true,
            rtt,
            newest_rtt,
            maybe_delayed: packets == 1,
            forward_ms: None,
            prior_in_flight: Bytes::new(prior_in_flight),
            cwnd_limited,
            cwnd_full: cwnd_limited,
            in_recovery,
            reduced_to: None,
            ca_state: state,
            next_departure: now,
            ecn_echo: false,
            marked: Bytes::ZERO,
            rate,
        };
        self.control().on_ack(now, &ack, &path);
        self.take_window();
    }

    /// Counts a lost packet. noq-proto reports each lost packet before the congestion event.
    #[cfg(feature = "noq")]
    fn packet_lost(&mut self, now: Time, bytes: u64, number: u64) {
        self.lost += bytes;
        self.in_flight = self.in_flight.saturating_sub(bytes);
        let path = self.path(CaState::Recovery, self.rates.is_app_limited());
        if let Some(lost) = self.rates.lost(number).filter(|_| self.control().needs_losses()) {
            self.control().on_lost(now, &lost, &path);
        }
    }

    fn lost(&mut self, bytes: u64) {
        // noq-proto has already reported each lost packet.
        if cfg!(feature = "noq") {
            return;
        }
        self.lost += bytes;
        self.in_flight = self.in_flight.saturating_sub(bytes);
    }

    fn congestion(&mut self, now: Time, signal: Signal, lost: u64) {
        self.lost(lost);
        let path = self.path(CaState::Recovery, false);
        self.control().on_congestion(now, signal, &path);
        self.take_window();
    }

    fn recovered(&mut self, now: Time) {
        let path = self.path(CaState::Open, false);
        self.control().on_recovered(now, &path);
        self.take_window();
    }

    fn segment_size(&mut self, mtu: u16) {
        self.mss = u64::from(mtu);
        let mss = Bytes::new(self.mss);
        let control = self.control();
        let (cwnd, ssthresh) = (control.cwnd(), control.ssthresh());
        control.on_segment_size(Time::ZERO, mss, cwnd, ssthresh);
        self.take_window();
    }
}
