//! The limits that held a sender back, derived from the segments and ACKs that pass.
//!
//! The sender is modelled from its data: an ACK takes effect when the sender can have answered it, so the model holds at
//! any point of the path. The time between two segments is attributed when the second one passes, because only then it
//! is clear what the sender waited for (the method of T-RAT and of Siekkinen's toolkit, with ACK path and pacing added):
//!
//! - a window that was full before the gap: the receiver's or the congestion window;
//! - an ACK that released the segment: the congestion window, in slow start or avoidance as the flights grow;
//! - no such ACK: pacing if the gap is short, else the application;
//! - a retransmission after a silence of a round trip: a timer.

use crate::limit::Limit;
use crate::timeline::Timeline;
use crate::waits::Waits;
use lopsided_core::Seq;
use std::collections::VecDeque;

/// ACKs that wait to take effect; more than a window of them never do.
const MOST_PENDING: usize = 4096;
/// Nanoseconds within which a sender answers an ACK.
const AT_ONCE: u64 = 120_000;
/// A silence of this share of a round trip before a retransmission is the wait of a timer.
const TIMER_SHARE: f64 = 0.9;
/// Gaps longer than this share of a round trip are not pacing.
const PACING_SHARE: f64 = 0.25;
/// Flights grow by at least this factor in a round of slow start; doubling is seen late and ACKs are delayed.
const GROWTH: f64 = 1.3;

/// A segment that the sender sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) at: u64,
    pub(crate) start: Seq,
    pub(crate) end: Seq,
    /// It passed before or fills a hole.
    pub(crate) again: bool,
    pub(crate) pushed: bool,
    pub(crate) mss: u32,
}

/// Why the sender left slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartEnd {
    /// A loss or a mark.
    Loss,
    /// The flights stopped growing before any loss: HyStart, a delay-based control or a model of the path.
    Delay,
    /// The receiver's window was full.
    ReceiveWindow,
}

impl SlowStartEnd {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            SlowStartEnd::Loss => "loss",
            SlowStartEnd::Delay => "delay",
            SlowStartEnd::ReceiveWindow => "receive_window",
        }
    }
}

/// The model of the sender of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pending: VecDeque<Arriving>,
    acked: Seq,
    next: Seq,
    window: Option<u32>,
    /// Room in the window after the last segment.
    room: Option<u32>,
    last_send: u64,
    last_ack: u64,
    acks_since: u32,
    /// Smallest window since the last segment.
    least_window: u32,
    /// When everything was acknowledged.
    cleared: Option<u64>,
    last_short: bool,
    repair: Option<Repair>,
    rounds: Rounds,
    pub(crate) slow_start_end: Option<SlowStartEnd>,
    /// Recoveries by duplicate ACKs or SACK, and by timer.
    pub(crate) recoveries: u32,
    pub(crate) timeouts: u32,
}

#[derive(Clone, Copy, Debug)]
struct Arriving {
    effective: u64,
    ack: Seq,
    window: u32,
}

#[derive(Clone, Copy, Debug)]
struct Repair {
    point: Seq,
    flight: u32,
}

/// The growth of flights from round to round.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    end: Seq,
    flight: u32,
    before: u32,
    slow_start: bool,
    /// Slow start ends here after a timeout.
    threshold: u32,
    /// The round was held back by something else than the congestion window.
    spoiled: bool,
    slow_rounds: u32,
}

impl Sender {
    pub(crate) fn new(start: Seq) -> Sender {
        let rounds = Rounds {
            end: start,
            flight: 0,
            before: 0,
            slow_start: true,
            threshold: u32::MAX,
            spoiled: false,
            slow_rounds: 0,
        };
        Sender {
            pending: VecDeque::new(),
            acked: start,
            next: start,
            window: None,
            room: None,
            last_send: 0,
            last_ack: 0,
            acks_since: 0,
            least_window: u32::MAX,
            cleared: None,
            last_short: false,
            repair: None,
            rounds,
            slow_start_end: None,
            recoveries: 0,
            timeouts: 0,
        }
    }

    /// Octets that are out, as the sender counts them.
    pub(crate) fn out(&self) -> u32 {
        self.next.since(self.acked)
    }

    /// True while a loss is repaired.
    pub(crate) fn repairs(&self) -> bool {
        self.repair.is_some()
    }

    /// True while the flights grow as in slow start.
    pub(crate) fn is_in_slow_start(&self) -> bool {
        self.rounds.slow_start
    }

    /// Frees the memory of what is pending.
    pub(crate) fn close(&mut self) {
        self.pending = VecDeque::new();
    }

    /// An ACK passes the point of capture; it takes effect at the sender's data after `near`.
    pub(crate) fn acked(&mut self, at: u64, near: u64, ack: Seq, window: u32) {
        if self.pending.len() < MOST_PENDING {
            let effective = at + near;
            let effective = self.pending.back().map_or(effective, |last| last.effective.max(effective));
            self.pending.push_back(Arriving { effective, ack, window });
        }
    }

    fn settle(&mut self, until: u64) {
        while let Some(arriving) = self.pending.front().copied().filter(|arriving| arriving.effective <= until) {
            self.pending.pop_front();
            self.window = Some(arriving.window);
            self.least_window = self.least_window.min(arriving.window);
            self.acks_since += 1;
            self.last_ack = arriving.effective;
            if arriving.ack.after(self.acked) {
                self.acked = arriving.ack.earlier_of(self.next);
                if self.acked == self.next {
                    self.cleared = Some(arriving.effective);
                }
            }
            if self.repair.is_some_and(|repair| repair.point.at_or_before(self.acked)) {
                self.repair = None;
                self.rounds.begin(self.next);
            }
            if self.rounds.end.at_or_before(self.acked) {
                let end = self.rounds.finish(self.next, self.repair.is_some());
                self.slow_start_end = self.slow_start_end.or(end);
            }
        }
    }

    /// A segment passes: attributes the time since the one before. Returns true if it begins a repair.
    pub(crate) fn sends(&mut self, segment: Sending, waits: &Waits, timeline: &mut Timeline) -> bool {
        let slack = if waits.near > 2_000_000 { waits.near / 20 + 1_000_000 } else { 0 };
        self.settle(segment.at + slack);
        let mut begins = false;
        if self.last_send > 0 {
            let silence = segment.at.saturating_sub(self.last_send.max(self.last_ack));
            let round = waits.rtt.max(waits.floor);
            let timer = segment.again && round > 0 && silence as f64 >= TIMER_SHARE * round as f64;
            begins = self.begin_repair(&segment, timer);
            self.attribute(&segment, timer, slack, waits, timeline);
        }
        self.last_send = segment.at;
        if segment.end.after(self.next) {
            self.next = segment.end;
        }
        self.last_short = !segment.again && segment.mss > 0 && segment.end.since(segment.start) % segment.mss != 0;
        self.last_short &= segment.pushed;
        (self.acks_since, self.least_window) = (0, u32::MAX);
        self.cleared = None;
        self.room = self.window.map(|window| window.saturating_sub(self.out()));
        self.rounds.flight = self.rounds.flight.max(self.out());
        begins
    }

    fn begin_repair(&mut self, segment: &Sending, timer: bool) -> bool {
        if !segment.again {
            return false;
        }
        self.slow_start_end = self.slow_start_end.or(Some(SlowStartEnd::Loss));
        let flight = self.out();
        let first = self.repair.is_none();
        if timer {
            self.timeouts += 1;
            self.repair = None;
            self.rounds.restart(self.next, flight / 2);
        } else if first {
            self.recoveries += 1;
            self.rounds.slow_start = false;
            self.repair = Some(Repair { point: self.next, flight });
        }
        first || timer
    }

    fn attribute(&mut self, segment: &Sending, timer: bool, slack: u64, waits: &Waits, timeline: &mut Timeline) {
        let (from, to) = (self.last_send, segment.at);
        if timer {
            let quiet = self.last_send.max(self.last_ack.min(to));
            timeline.held(self.by_window(waits), from, quiet);
            timeline.held(Limit::RtoIdle, quiet, to);
            return;
        }
        let limit = self.limit(segment, slack, waits);
        if matches!(limit, Limit::Application | Limit::ReceiveWindow | Limit::ReceiverStall) {
            self.rounds.spoiled = true;
            if limit == Limit::ReceiveWindow && self.rounds.slow_start {
                self.slow_start_end = self.slow_start_end.or(Some(SlowStartEnd::ReceiveWindow));
            }
        }
        timeline.held(limit, from, to);
    }

    fn limit(&self, segment: &Sending, slack: u64, waits: &Waits) -> Limit {
        let gap = segment.at - self.last_send.min(segment.at);
        if self.repair.is_some() {
            return Limit::Recovery;
        }
        let released = self.acks_since > 0 && segment.at.saturating_sub(self.last_ack) <= AT_ONCE + 2 * slack;
        let round = waits.rtt.max(waits.floor).max(1);
        if let Some(limit) = self.receiver_holds(segment.mss) {
            return limit;
        }
        if let Some(cleared) = self.cleared {
            let at_once = segment.at.saturating_sub(cleared) <= AT_ONCE + 2 * slack;
            let limit = if at_once && !self.last_short { self.by_window(waits) } else { Limit::Application };
            return limit;
        }
        if released && !(self.last_short && self.acks_since > 1) {
            return self.by_window(waits);
        }
        if self.last_short {
            return Limit::Application;
        }
        if gap as f64 > PACING_SHARE * round as f64 && !released {
            return if self.acks_since > 0 { Limit::Application } else { self.by_window(waits) };
        }
        Limit::Pacing
    }

    /// The receiver's window, if it had no room for another segment when the one before was sent, or closed since.
    fn receiver_holds(&self, mss: u32) -> Option<Limit> {
        if self.least_window < mss {
            return Some(Limit::ReceiverStall);
        }
        self.room.filter(|room| *room < mss).map(|_| Limit::ReceiveWindow)
    }

    fn by_window(&self, waits: &Waits) -> Limit {
        if waits.are_of_acks() {
            Limit::AckPath
        } else if self.rounds.slow_start {
            Limit::SlowStart
        } else {
            Limit::Avoidance
        }
    }

    /// The flight when the repair in progress began.
    pub(crate) fn flight_at_loss(&self) -> Option<u32> {
        self.repair.map(|repair| repair.flight)
    }
}

impl Rounds {
    fn begin(&mut self, next: Seq) {
        (self.end, self.before, self.flight, self.spoiled) = (next, 0, 0, false);
    }

    fn restart(&mut self, next: Seq, threshold: u32) {
        self.begin(next);
        (self.slow_start, self.threshold, self.slow_rounds) = (true, threshold, 0);
    }

    /// A round is over. Returns why slow start ended, if it did.
    fn finish(&mut self, next: Seq, repairs: bool) -> Option<SlowStartEnd> {
        let mut ended = None;
        if self.slow_start && !repairs {
            if self.flight >= self.threshold {
                self.slow_start = false;
            } else if self.before > 0 && !self.spoiled {
                let grows = f64::from(self.flight) >= GROWTH * f64::from(self.before);
                self.slow_rounds = if grows { 0 } else { self.slow_rounds + 1 };
                if self.slow_rounds >= 2 {
                    self.slow_start = false;
                    ended = Some(SlowStartEnd::Delay);
                }
            }
        }
        (self.end, self.before, self.flight, self.spoiled) = (next, self.flight, 0, false);
        ended
    }
}
