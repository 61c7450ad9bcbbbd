//! Infers the limit of a sender over time from its segments and from the ACKs that it receives.
//!
//! An ACK takes effect when it has reached the sender, so the method works at any point of the path. The time between
//! two segments is attributed to one of these limits:
//!
//! - the receiver's window, if the window had no room for another segment after the first segment;
//! - the congestion window, if an ACK released the second segment: slow start or congestion avoidance;
//! - pacing, if no ACK released the second segment and the gap is short;
//! - the application, if no ACK released the second segment and the gap is long;
//! - the retransmission timer, if the second segment is a retransmission after a round trip.
//!
//! The method follows T-RAT (Zhang et al., 2002) and Siekkinen et al. (2008). The ACK path and pacing are additions.

use crate::limit::Limit;
use crate::steps::{Loss, Steps};
use crate::timeline::Timeline;
use crate::waits::Waits;
use lopsided_core::Seq;
use std::collections::VecDeque;

/// Maximum number of ACKs between the point of capture and the sender.
const MOST_PENDING: usize = 4096;
/// Longest time in nanoseconds that a sender needs to respond to an ACK.
const AT_ONCE: u64 = 120_000;
/// A retransmission counts as sent by a timer if no segment was sent for this share of an RTT before it.
const TIMER_SHARE: f64 = 0.9;
/// The shortest retransmission timeout of Linux (`TCP_RTO_MIN`), in nanoseconds.
const LEAST_TIMER: u64 = 200_000_000;
/// Longest gap between two paced segments, as a share of the RTT.
const PACING_SHARE: f64 = 0.25;
/// Largest number of segments at the end of a flight whose loss before the point of capture is recognized. In slow start,
/// a delayed ACK of two segments releases four.
const LONGEST_END: u32 = 4;
/// If the receiver reports this number of segments above a hole, the sender begins a recovery (RFC 6675, DupThresh).
const REVEALING: u32 = 3;
/// Smallest growth factor of the flight per round trip in slow start. Delayed ACKs keep the factor below 2.
const GROWTH: f64 = 1.3;

/// A data segment that the sender sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) at: u64,
    pub(crate) start: Seq,
    pub(crate) end: Seq,
    /// True if the segment is a retransmission or fills a hole in the captured data.
    pub(crate) again: bool,
    /// True if the PSH flag is set, which means that the segment ends a write of the application.
    pub(crate) pushed: bool,
    /// Timestamp echo reply: the receiver's timestamp that the segment echoes.
    pub(crate) echo: Option<u32>,
    pub(crate) mss: u32,
}

/// The reason why a sender left slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartEnd {
    /// A segment was lost.
    Loss,
    /// The flight stopped growing without a loss. HyStart, delay-based congestion controls and BBR cause this.
    Delay,
    /// The receiver's window was full.
    ReceiveWindow,
}

impl SlowStartEnd {
    /// Returns the reason's name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            SlowStartEnd::Loss => "loss",
            SlowStartEnd::Delay => "delay",
            SlowStartEnd::ReceiveWindow => "receive_window",
        }
    }
}

/// The modelled state of the sender of one direction. Times are in nanoseconds of the file's clock, windows in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// ACKs on their way from the point of capture to the sender.
    pending: VecDeque<Arriving>,
    /// Highest acknowledgement number that reached the sender.
    acked: Seq,
    /// Sequence number after the highest byte sent.
    next: Seq,
    /// Latest receive window that reached the sender.
    window: Option<u32>,
    /// Free space in the receive window after the latest segment, in bytes.
    room: Option<u32>,
    last_send: u64,
    last_ack: u64,
    /// Number of ACKs that have reached the sender since the latest segment.
    acks_since: u32,
    /// Smallest receive window that has reached the sender since the latest segment, in bytes.
    least_window: u32,
    /// Time at which the last outstanding data was acknowledged; `None` while data is outstanding.
    cleared: Option<u64>,
    /// True if the latest segment was smaller than a full-size segment and ended a write of the application.
    last_short: bool,
    last_pushed: bool,
    /// A pause that the retransmission timer or the application ended. The next segment shows the cause.
    suspect: Option<Suspect>,
    repair: Option<Repair>,
    /// Time at which a loss recovery ended since the latest segment.
    repaired: Option<u64>,
    /// Time at which ACKs began a loss recovery whose retransmission has not passed the point of capture.
    revealed: Option<u64>,
    mss: u32,
    rounds: Rounds,
    /// True if ACKs waited for longer than data before the latest segment; `None` before the first ACK of data.
    acks_late: Option<bool>,
    /// Bytes above `acked` that the receiver reported by SACK.
    sacked: u32,
    /// The ACKs as the sender received them, for comparison with known congestion controls.
    pub(crate) steps: Steps,
    pub(crate) slow_start_end: Option<SlowStartEnd>,
    /// Number of loss recoveries that duplicate ACKs or SACK started.
    pub(crate) recoveries: u32,
    /// Number of retransmission timeouts.
    pub(crate) timeouts: u32,
    /// Bytes sent before the first ACK of data reached the sender; 0 until then.
    pub(crate) first_window: u32,
}

/// An ACK that has passed the point of capture but not yet reached the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    /// Capture time of the ACK.
    pub(crate) at: u64,
    /// Timestamp value that the receiver sent.
    pub(crate) value: Option<u32>,
    pub(crate) ack: Seq,
    /// The scaled receive window in bytes.
    pub(crate) window: u32,
    /// Bytes above `ack` that SACK blocks cover.
    pub(crate) sacked: u32,
    /// Bytes that the ACK reports as received for the first time.
    pub(crate) delivered: u32,
    /// RTT of the whole path in nanoseconds; `None` without a sample.
    pub(crate) rtt: Option<u64>,
}

impl Arriving {
    /// Returns true if the ACK reached the sender by `until`, and before the segment that echoes `echo`. `near` is the
    /// RTT to the sender in nanoseconds.
    fn has_taken_effect(&self, echo: Option<u32>, near: u64, until: u64) -> bool {
        match self.value.zip(echo) {
            // Compare with the echoed timestamp, because this comparison is exact. If both timestamps are equal, use
            // the RTT to the sender.
            Some((value, echo)) if value != echo => (value.wrapping_sub(echo) as i32) < 0,
            _ => self.at + near <= until,
        }
    }
}

/// A pause before a segment, and the flight in bytes before the pause.
#[derive(Clone, Copy, Debug)]
struct Suspect {
    from: u64,
    to: u64,
    flight: u32,
}

/// A loss recovery in progress.
#[derive(Clone, Copy, Debug)]
struct Repair {
    /// Recovery ends when this sequence number is acknowledged (`recover` in RFC 6582, section 3.2).
    point: Seq,
    /// Highest sequence number that was retransmitted.
    resent: Seq,
    /// True from the first retransmission until the first new data.
    only_resends: bool,
}

/// The growth of the flight from one round trip to the next.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    /// The current round trip ends when this sequence number is acknowledged.
    end: Seq,
    /// Largest flight in bytes in the current round trip.
    flight: u32,
    /// Largest flight in bytes in the previous round trip; 0 if unknown.
    before: u32,
    slow_start: bool,
    /// Slow-start threshold in bytes after a timeout.
    threshold: u32,
    /// True if a limit other than the congestion window applied in this round trip.
    spoiled: bool,
    /// Number of consecutive round trips in which the flight grew more slowly than in slow start.
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
            repaired: None,
            revealed: None,
            mss: 0,
            rounds,
            acks_late: None,
            sacked: 0,
            steps: Steps::default(),
            slow_start_end: None,
            recoveries: 0,
            timeouts: 0,
            first_window: 0,
        }
    }

    /// Returns the number of bytes in flight, as seen by the sender.
    pub(crate) fn out(&self) -> u32 {
        self.next.since(self.acked)
    }

    /// Returns true during loss recovery.
    pub(crate) fn repairs(&self) -> bool {
        self.repair.is_some()
    }

    /// Frees the memory of pending ACKs.
    pub(crate) fn close(&mut self) {
        self.pending = VecDeque::new();
        self.steps.close();
    }

    /// Records an ACK at the point of capture.
    pub(crate) fn acked(&mut self, arriving: Arriving) {
        if self.pending.len() < MOST_PENDING {
            self.pending.push_back(arriving);
        }
    }

    /// Returns the number of bytes in flight that the receiver has not reported in SACK blocks.
    fn in_flight(&self) -> u32 {
        self.out().saturating_sub(self.sacked)
    }

    /// Returns true if the sender had no data to send before a segment. The segment was captured at `at` and echoes the
    /// timestamp `echo`.
    pub(crate) fn was_idle(&mut self, at: u64, echo: Option<u32>, near: u64) -> bool {
        self.settle(at, at, echo, near);
        self.out() == 0 && (self.last_pushed || self.last_send == 0)
    }

    /// Returns the nanoseconds since the latest segment; 0 before the first segment.
    pub(crate) fn silence(&self, at: u64) -> u64 {
        if self.last_send == 0 { 0 } else { at.saturating_sub(self.last_send) }
    }

    /// Applies the ACKs that had reached the sender by `until`, and before the segment that echoes `echo`.
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
            self.sacked = arriving.sacked;
            self.find_revealed_loss();
            if arriving.ack.after(self.acked) {
                let before = self.acked;
                if self.first_window == 0 {
                    self.first_window = self.out();
                }
                self.acked = arriving.ack.earlier_of(self.next);
                self.steps.acked(arriving.at, self.acked.since(before), arriving.delivered, arriving.rtt.unwrap_or(0));
                if self.acked == self.next {
                    self.cleared = Some(self.last_ack);
                }
            } else if arriving.ack == self.acked && self.out() > 0 {
                self.steps.acked(arriving.at, 0, 0, arriving.rtt.unwrap_or(0));
            }
            // The flight after recovery reflects a reduced window, so start a new round trip.
            if let Some(repair) = self.repair.filter(|repair| repair.point.at_or_before(self.acked)) {
                self.rounds.begin(self.next);
                if repair.resent.after(self.acked) && self.sacked > 0 {
                    // A segment that the sender marked lost is still missing, so Linux at once begins the next recovery
                    // and reduces the window again (`tcp_time_to_recover`).
                    self.recoveries += 1;
                    self.repair = Some(Repair { point: self.next, only_resends: false, ..repair });
                    self.steps.lost(Loss::Fast, self.in_flight());
                } else {
                    self.repair = None;
                    self.repaired = Some(self.last_ack);
                    self.steps.repaired();
                }
            }
            if self.rounds.end.at_or_before(self.acked) {
                let end = self.rounds.finish(self.next, self.repair.is_some());
                self.slow_start_end = self.slow_start_end.or(end);
            }
        }
    }

    /// Finds the start of a loss recovery from the ACKs, because the retransmission may be lost before the point of capture.
    fn find_revealed_loss(&mut self) {
        if self.sacked == 0 || self.repair.is_some() {
            self.revealed = None;
        } else if self.mss > 0 && self.sacked >= REVEALING * self.mss {
            self.revealed.get_or_insert(self.last_ack);
        }
    }

    /// Records a segment and attributes the time before it to a limit. Returns true if a loss recovery begins.
    pub(crate) fn sends(&mut self, segment: Sending, waits: &Waits, timeline: &mut Timeline) -> bool {
        // If the point of capture is far from the sender, the sender's response time is uncertain by one timestamp tick
        // and by the queueing delay between the two.
        let slack = if waits.near > 2_000_000 { waits.near / 20 + 1_000_000 } else { 0 };
        self.settle(segment.at, segment.at + slack, segment.echo, waits.near);
        let mut begins = false;
        if self.last_send > 0 {
            let silence = segment.at.saturating_sub(self.last_send.max(self.last_ack));
            let round = waits.rtt.max(waits.floor);
            let timer = segment.again && round > 0 && silence as f64 >= TIMER_SHARE * round as f64;
            begins = self.judge_silence(&segment, round, timeline);
            // The ACK that begins a loss recovery also releases the retransmission, so the gap before the
            // retransmission precedes the recovery.
            let limit = self.limit(&segment, slack, waits);
            begins |= self.begin_repair(&segment, timer, waits.near > AT_ONCE);
            // If the loss occurred before the point of capture, the capture contains only the retransmission, which
            // looks like new data.
            let beyond = waits.near > AT_ONCE;
            if beyond && !segment.again && !waits.are_of_acks() && self.may_be_a_timer(silence, round) {
                let from = self.last_send.max(self.last_ack.min(segment.at));
                timeline.held(self.by_window(waits), self.last_send, from);
                let flight = self.rounds.before.max(self.rounds.flight);
                self.suspect = Some(Suspect { from, to: segment.at, flight });
            } else {
                self.attribute(&segment, timer, limit, waits, timeline);
            }
        }
        self.acks_late = (self.first_window > 0).then(|| waits.are_of_acks());
        (self.last_send, self.mss) = (segment.at, segment.mss);
        self.find_lost_end(&segment);
        if segment.end.after(self.next) {
            self.next = segment.end;
        }
        self.last_short = !segment.again && segment.mss > 0 && segment.end.since(segment.start) % segment.mss != 0;
        self.last_short &= segment.pushed;
        self.last_pushed = segment.pushed;
        // These fields describe the gap before the next segment.
        (self.acks_since, self.least_window) = (0, u32::MAX);
        (self.cleared, self.repaired) = (None, None);
        self.room = self.window.map(|window| window.saturating_sub(self.out()));
        self.rounds.flight = self.rounds.flight.max(self.out());
        if self.repair.is_none() {
            self.steps.sent(self.in_flight(), self.rounds.slow_start);
        }
        begins
    }

    /// Returns true if the retransmission timer may have ended a pause: the latest segment lacks PSH, and the pause
    /// exceeds the shortest timeout.
    fn may_be_a_timer(&self, silence: u64, round: u64) -> bool {
        let as_a_timer = silence >= LEAST_TIMER && silence as f64 >= TIMER_SHARE * round as f64;
        as_a_timer && self.out() == 0 && !self.last_pushed && self.room.is_none_or(|room| room > 0)
    }

    /// Decides whether the timer or the application ended the suspected pause. Returns true if a loss recovery begins.
    fn judge_silence(&mut self, segment: &Sending, round: u64, timeline: &mut Timeline) -> bool {
        let Some(suspect) = self.suspect.take() else { return false };
        // RFC 5681, section 3.1: after a timeout the sender sends one segment and waits for its ACK. An application
        // that resumes writing releases several segments together.
        if 2 * segment.at.saturating_sub(suspect.to) < round {
            timeline.held(Limit::Application, suspect.from, suspect.to);
            return false;
        }
        timeline.held(Limit::RtoIdle, suspect.from, suspect.to);
        self.timeouts += 1;
        // The lost flight was about as large as the flight before the pause.
        self.rounds.restart(self.next, suspect.flight / 2);
        let point = self.next + suspect.flight;
        self.repair = Some(Repair { point, resent: self.next, only_resends: false });
        self.steps.lost(Loss::Timeout, suspect.flight);
        true
    }

    /// Begins a loss recovery if `segment` is a retransmission. A timeout (`timer`) replaces a recovery in progress.
    ///
    /// If the capture was not taken near the sender (`beyond`), the first retransmission may be lost before the point of
    /// capture. The recovery then begins at the first segment after the ACK that reveals the loss.
    fn begin_repair(&mut self, segment: &Sending, timer: bool, beyond: bool) -> bool {
        let is_revealed = beyond && self.repair.is_none() && self.sacked >= REVEALING * segment.mss;
        if !segment.again && !is_revealed {
            return false;
        }
        let resent = if segment.again { segment.end } else { self.acked + segment.mss };
        self.slow_start_end = self.slow_start_end.or(Some(SlowStartEnd::Loss));
        let flight = self.in_flight();
        let first = self.repair.is_none();
        if timer || first {
            self.steps.lost(if timer { Loss::Timeout } else { Loss::Fast }, flight);
        }
        // RFC 5681, equation 4: ssthresh is half of the flight.
        if timer {
            self.timeouts += 1;
            self.repair = None;
            self.rounds.restart(self.next, flight / 2);
        } else if first {
            self.recoveries += 1;
            self.rounds.slow_start = false;
            self.repair = Some(Repair { point: self.next, resent, only_resends: true });
        }
        if let Some(repair) = &mut self.repair {
            repair.resent = resent.later_of(repair.resent);
        }
        first || timer
    }

    /// Adds a short hole before the first new data of a recovery to the flight before the recovery.
    ///
    /// The segments in the hole were lost before the point of capture. In a drop-tail queue, the end of a burst is lost
    /// most often. The recovery ends after the hole, because the sender had sent the segments before it began.
    fn find_lost_end(&mut self, segment: &Sending) {
        let Some(repair) = self.repair.as_mut().filter(|repair| repair.only_resends && !segment.again) else { return };
        repair.only_resends = false;
        let lost = if segment.start.after(self.next) { segment.start.since(self.next) } else { 0 };
        if lost > 0 && lost <= LONGEST_END * segment.mss {
            repair.point = segment.start;
            self.steps.lost_more(lost);
        }
    }

    /// Attributes the time between the latest segment and `segment`.
    fn attribute(&mut self, segment: &Sending, timer: bool, limit: Limit, waits: &Waits, timeline: &mut Timeline) {
        let (mut from, to) = (self.last_send, segment.at);
        if timer {
            let quiet = self.last_send.max(self.last_ack.min(to));
            timeline.held(self.by_window(waits), from, quiet);
            timeline.held(Limit::RtoIdle, quiet, to);
            return;
        }
        if let Some(end) = self.repaired {
            timeline.held(Limit::Recovery, from, end.min(to));
            from = from.max(end.min(to));
        }
        if let Some(begin) = self.revealed {
            let begin = begin.clamp(from, to);
            timeline.held(limit, from, begin);
            timeline.held(Limit::Recovery, begin, to);
            return;
        }
        if !segment.again && matches!(limit, Limit::Application | Limit::ReceiveWindow | Limit::ReceiverStall) {
            self.rounds.spoiled = true;
            self.steps.spoiled();
            if limit == Limit::ReceiveWindow && self.rounds.slow_start {
                self.slow_start_end = self.slow_start_end.or(Some(SlowStartEnd::ReceiveWindow));
            }
        }
        timeline.held(limit, from, to);
    }

    /// Returns the limit that delayed `segment`: see the module's documentation.
    fn limit(&self, segment: &Sending, slack: u64, waits: &Waits) -> Limit {
        let gap = segment.at - self.last_send.min(segment.at);
        if self.repair.is_some() {
            return Limit::Recovery;
        }
        let released = self.acks_since > 0 && segment.at.saturating_sub(self.last_ack) <= AT_ONCE + 2 * slack;
        let round = waits.rtt.max(waits.floor).max(1);
        if let Some(limit) = self.receiver_holds(segment.mss, waits.near) {
            return limit;
        }
        if segment.again {
            return self.by_window(waits);
        }
        if let Some(cleared) = self.cleared {
            let at_once = segment.at.saturating_sub(cleared) <= AT_ONCE + 2 * slack;
            // If the latest segment lacks PSH, the sender had more data (RFC 9293, section 3.9.1.2). Near the sender,
            // only pacing can then delay the next segment by less than an RTT. At other points, the ACK may take longer
            // to reach the sender than the model assumes.
            return match (at_once && !self.last_short, self.last_pushed) {
                (true, _) => self.by_window(waits),
                (false, true) => Limit::Application,
                (false, false) if waits.near <= AT_ONCE && gap <= round => Limit::Pacing,
                (false, false) if waits.near <= AT_ONCE => Limit::Application,
                (false, false) => self.by_window(waits),
            };
        }
        if released && !(self.last_short && self.acks_since > 1) {
            return self.by_window(waits);
        }
        if self.last_short {
            return Limit::Application;
        }
        if gap as f64 > PACING_SHARE * round as f64 && !released {
            return match (self.acks_since > 0, self.last_pushed) {
                (true, true) => Limit::Application,
                (true, false) => Limit::Pacing,
                (false, _) => self.by_window(waits),
            };
        }
        Limit::Pacing
    }

    /// Returns the receiver's limit if its window had no room for a full-size segment since the latest segment.
    fn receiver_holds(&self, mss: u32, near: u64) -> Option<Limit> {
        if self.least_window < mss {
            return Some(Limit::ReceiverStall);
        }
        // Far from the sender, the order of ACKs and data within one tick of the timestamps is uncertain.
        let full = if near > AT_ONCE { 3 * mss } else { mss };
        self.room.filter(|room| *room < full).map(|_| Limit::ReceiveWindow)
    }

    /// Returns the reason why the congestion window was full.
    fn by_window(&self, waits: &Waits) -> Limit {
        // The ACK that ended the gap may have waited for long because the sender sent nothing. Use the queueing delays
        // at the start of the gap.
        if self.acks_late.unwrap_or_else(|| waits.are_of_acks()) {
            Limit::AckPath
        } else if self.rounds.slow_start {
            Limit::SlowStart
        } else {
            Limit::Avoidance
        }
    }
}

impl Rounds {
    /// Starts a round trip that is not compared with a previous round trip.
    fn begin(&mut self, next: Seq) {
        (self.end, self.before, self.flight, self.spoiled) = (next, 0, 0, false);
    }

    /// Starts slow start after a timeout, up to `threshold` bytes.
    fn restart(&mut self, next: Seq, threshold: u32) {
        self.begin(next);
        (self.slow_start, self.threshold, self.slow_rounds) = (true, threshold, 0);
    }

    /// Ends a round trip. Returns the reason if slow start ended in this round trip without a loss.
    fn finish(&mut self, next: Seq, repairs: bool) -> Option<SlowStartEnd> {
        let mut ended = None;
        if self.slow_start && !repairs {
            if self.flight >= self.threshold {
                self.slow_start = false;
            } else if self.before > 0 && !self.spoiled {
                let grows = f64::from(self.flight) >= GROWTH * f64::from(self.before);
                self.slow_rounds = if grows { 0 } else { self.slow_rounds + 1 };
                // Delayed ACKs can hide the growth in a single round trip.
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const MSS: u32 = 1_448;

    /// A sender with an RTT of 20 ms, observed at the sender.
    struct Story {
        sender: Sender,
        timeline: Timeline,
        waits: Waits,
    }

    impl Story {
        fn new() -> Story {
            let waits = Waits { floor: 5 * MS, rtt: 20 * MS, near: 0, data: 0, acks: 0 };
            Story { sender: Sender::new(Seq::new(0)), timeline: Timeline::new(MS), waits }
        }

        /// The ACK of `acked` segments arrives at `ms`. SACK blocks report `sacked` segments.
        fn ack(&mut self, ms: u64, acked: u32, sacked: u32) {
            let (ack, sacked) = (Seq::new(acked * MSS), sacked * MSS);
            let arriving = Arriving { at: ms * MS, value: None, ack, window: 60_000, sacked, delivered: 0, rtt: None };
            self.sender.acked(arriving);
        }

        /// The sender sends the segment `number` at `ms`.
        fn send(&mut self, ms: u64, number: u32, again: bool) {
            let (start, end) = (Seq::new(number * MSS), Seq::new((number + 1) * MSS));
            let segment = Sending { at: ms * MS, start, end, again, pushed: false, echo: None, mss: MSS };
            self.sender.sends(segment, &self.waits, &mut self.timeline);
        }

        /// Returns the time that is attributed to a limit, in ms.
        fn ms(&self, limit: Limit) -> u64 {
            self.timeline.bins().iter().map(|bin| bin.limits[limit as usize]).sum::<u64>() / MS
        }
    }

    #[test]
    fn the_queueing_delays_before_a_gap_decide_whether_acks_were_late() {
        let mut story = Story::new();
        for number in 0..4 {
            // ACKs wait for longer than data from the third segment on, so only the last gap counts.
            story.waits.acks = if number < 2 { 0 } else { 15 * MS };
            story.ack(1 + 20 * u64::from(number), number, 0);
            story.send(1 + 20 * u64::from(number), number, false);
        }
        assert_eq!(story.ms(Limit::AckPath), 20);
    }

    #[test]
    fn recovery_lasts_from_the_retransmission_to_the_ack_of_all_earlier_data() {
        let mut story = Story::new();
        (0..5).for_each(|number| story.send(1, number, false));
        story.ack(11, 1, 3);
        story.send(11, 1, true);
        story.ack(31, 5, 0);
        // The pacing timer delays the next segment.
        story.send(36, 5, false);
        assert_eq!(story.ms(Limit::Recovery), 20, "{:?}", story.timeline.bins());
    }

    #[test]
    fn recovery_begins_with_the_ack_that_reports_three_segments_above_a_hole() {
        let mut story = Story::new();
        (0..5).for_each(|number| story.send(1, number, false));
        story.ack(11, 1, 2);
        story.send(11, 5, false);
        story.ack(21, 1, 3);
        // The retransmission is lost before the point of capture.
        story.send(26, 6, false);
        story.send(31, 1, true);
        assert_eq!(story.ms(Limit::Recovery), 10, "{:?}", story.timeline.bins());
    }
}
