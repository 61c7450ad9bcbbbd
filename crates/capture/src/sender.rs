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
/// The shortest retransmission timeout of Linux (`TCP_RTO_MIN`), in nanoseconds.
const LEAST_TIMER: u64 = 200_000_000;
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
    /// The receiver's timestamp that it echoes.
    pub(crate) echo: Option<u32>,
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
    last_pushed: bool,
    /// A silence that a timer or the application may have ended, and the flight before it.
    suspect: Option<Suspect>,
    repair: Option<Repair>,
    rounds: Rounds,
    pub(crate) slow_start_end: Option<SlowStartEnd>,
    /// Recoveries by duplicate ACKs or SACK, and by timer.
    pub(crate) recoveries: u32,
    pub(crate) timeouts: u32,
}

#[derive(Clone, Copy, Debug)]
struct Arriving {
    at: u64,
    /// The receiver's timestamp.
    value: Option<u32>,
    ack: Seq,
    window: u32,
}

impl Arriving {
    /// True if the ACK had reached the sender when it sent the segment that passes now.
    fn has_taken_effect(&self, echo: Option<u32>, near: u64, until: u64) -> bool {
        match self.value.zip(echo) {
            // The echo is exact. ACKs of the same tick are told apart by the time that the last echo took.
            Some((value, echo)) if value != echo => (value.wrapping_sub(echo) as i32) < 0,
            _ => self.at + near <= until,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Suspect {
    from: u64,
    to: u64,
    flight: u32,
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
            last_pushed: false,
            suspect: None,
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

    /// An ACK passes the point of capture, with the receiver's timestamp.
    pub(crate) fn acked(&mut self, at: u64, value: Option<u32>, ack: Seq, window: u32) {
        if self.pending.len() < MOST_PENDING {
            self.pending.push_back(Arriving { at, value, ack, window });
        }
    }

    /// True if the sender had nothing to send before a segment that passes now with this echo: all was acknowledged,
    /// and the last segment ended a write.
    pub(crate) fn was_idle(&mut self, at: u64, echo: Option<u32>, near: u64) -> bool {
        self.settle(at, at, echo, near);
        self.out() == 0 && (self.last_pushed || self.last_send == 0)
    }

    /// Nanoseconds since the segment before.
    pub(crate) fn silence(&self, at: u64) -> u64 {
        if self.last_send == 0 { 0 } else { at.saturating_sub(self.last_send) }
    }

    /// Lets ACKs take effect that the sender had received by a time, or by the segment with this echo.
    fn settle(&mut self, now: u64, until: u64, echo: Option<u32>, near: u64) {
        while let Some(arriving) = self.pending.front().copied() {
            if !arriving.has_taken_effect(echo, near, until) {
                break;
            }
            self.pending.pop_front();
            self.window = Some(arriving.window);
            self.least_window = self.least_window.min(arriving.window);
            self.acks_since += 1;
            self.last_ack = self.last_ack.max((arriving.at + near).min(now));
            if arriving.ack.after(self.acked) {
                self.acked = arriving.ack.earlier_of(self.next);
                if self.acked == self.next {
                    self.cleared = Some(self.last_ack);
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
        self.settle(segment.at, segment.at + slack, segment.echo, waits.near);
        let mut begins = false;
        if self.last_send > 0 {
            let silence = segment.at.saturating_sub(self.last_send.max(self.last_ack));
            let round = waits.rtt.max(waits.floor);
            let timer = segment.again && round > 0 && silence as f64 >= TIMER_SHARE * round as f64;
            begins = self.judge_silence(&segment, round, timeline);
            begins |= self.begin_repair(&segment, timer);
            let beyond = waits.near > AT_ONCE;
            if beyond && !segment.again && !waits.are_of_acks() && self.may_be_a_timer(silence, round) {
                let from = self.last_send.max(self.last_ack.min(segment.at));
                timeline.held(self.by_window(waits), self.last_send, from);
                let flight = self.rounds.before.max(self.rounds.flight);
                self.suspect = Some(Suspect { from, to: segment.at, flight });
            } else {
                self.attribute(&segment, timer, slack, waits, timeline);
            }
        }
        self.last_send = segment.at;
        if segment.end.after(self.next) {
            self.next = segment.end;
        }
        self.last_short = !segment.again && segment.mss > 0 && segment.end.since(segment.start) % segment.mss != 0;
        self.last_short &= segment.pushed;
        self.last_pushed = segment.pushed;
        (self.acks_since, self.least_window) = (0, u32::MAX);
        self.cleared = None;
        self.room = self.window.map(|window| window.saturating_sub(self.out()));
        self.rounds.flight = self.rounds.flight.max(self.out());
        begins
    }

    /// True if a flight may have been lost before the point of capture: the sender had more to send, as the missing PSH
    /// shows (RFC 9293, section 3.9.1.2), and was silent for as long as a timer.
    fn may_be_a_timer(&self, silence: u64, round: u64) -> bool {
        let as_a_timer = silence >= LEAST_TIMER && silence as f64 >= TIMER_SHARE * round as f64;
        as_a_timer && self.out() == 0 && !self.last_pushed && self.room.is_none_or(|room| room > 0)
    }

    /// After a timeout a sender sends one segment and waits for its ACK (RFC 5681, section 3.1). An application that has
    /// more to send again releases several segments. Returns true if a repair begins.
    fn judge_silence(&mut self, segment: &Sending, round: u64, timeline: &mut Timeline) -> bool {
        let Some(suspect) = self.suspect.take() else { return false };
        if 2 * segment.at.saturating_sub(suspect.to) < round {
            timeline.held(Limit::Application, suspect.from, suspect.to);
            return false;
        }
        timeline.held(Limit::RtoIdle, suspect.from, suspect.to);
        self.timeouts += 1;
        // The lost flight was about as large as the one before it.
        self.rounds.restart(self.next, suspect.flight / 2);
        self.repair = Some(Repair { point: self.next + suspect.flight, flight: suspect.flight });
        true
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
            // ACKs that wait for long times are late again. Without PSH the sender had more to send.
            let late = waits.are_of_acks() && !self.last_pushed;
            let by_window = (at_once || late) && !self.last_short;
            return if by_window { self.by_window(waits) } else { Limit::Application };
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
