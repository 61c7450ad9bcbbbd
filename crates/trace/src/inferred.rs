//! What the packets at a host tell of the TCP on it: the events that a simulated connection tells of itself, inferred
//! for a real one.
//!
//! Of a sender: what it sent again, the timers that made it do so, and its congestion states. A segment that goes out
//! again within an instant of an ACK answers that ACK (fast recovery, RFC 6675); one that goes out after at least a
//! round trip of silence was sent by a timer, the tail loss probe where it is the last segment (RFC 8985) and else the
//! retransmission timer (RFC 6298). Recovery and loss last until all is acknowledged that was out as they began (RFC
//! 6582), or until an ACK echoes a timestamp older than the retransmission (RFC 3522). Of a receiver: why it may have
//! acknowledged, by what had arrived since its last ACK (RFC 5681 section 4.2, RFC 2018, RFC 2883).
//!
//! Left out, because packets do not show it: windows and their reductions, which rule called a segment lost, undo by
//! DSACK, the reordering timer, what held a sender back, and whether it was the count of segments or the timer of the
//! first one that had two of them acknowledged as the second arrived.

use crate::conversation::{Conversation, End, Segment};
use lopsided_core::packet::Flags;
use lopsided_core::tcp_event::{AckReason, CaReason, CaState, TcpEvent, TimedTcpEvent, TimerKind};
use lopsided_core::{Duration, Seq, Time};
use std::collections::BTreeMap;

/// An ACK that leaves so long after data arrived was not caused by its arrival; Linux's shortest delay is 40 ms.
const AT_ONCE: u64 = 5_000_000;
/// What answers a packet leaves at most so long after it came.
const AN_ANSWER: u64 = 100_000;
/// Silence shorter than this share of a round trip is a gap between segments, not the wait of a timer.
const TIMER_SHARE: f64 = 0.9;

/// What the packets tell of an end as the sender of data; captured at its host.
pub fn of_sender(conversation: &Conversation, end: End) -> Vec<TimedTcpEvent> {
    let mut sender = Sender::default();
    for segment in &conversation.segments {
        if segment.from == end {
            sender.sends(segment);
        } else {
            sender.hears(segment);
        }
        sender.quiet_since = segment.at;
    }
    timed(conversation, sender.told)
}

/// What the packets tell of an end as the receiver of data; captured at its host. Acknowledgement numbers count from
/// the first SYN.
pub fn of_receiver(conversation: &Conversation, end: End) -> Vec<TimedTcpEvent> {
    let mut receiver = Receiver::default();
    for segment in &conversation.segments {
        if segment.from == end {
            receiver.sends(segment);
        } else {
            receiver.hears(segment);
        }
    }
    timed(conversation, receiver.told)
}

fn timed(conversation: &Conversation, told: Vec<(u64, TcpEvent)>) -> Vec<TimedTcpEvent> {
    let at = |nanos| Time::from_nanos(conversation.begun.as_nanos()) + Duration::from_nanos(nanos);
    told.into_iter().map(|(nanos, event)| TimedTcpEvent { at: at(nanos), event }).collect()
}

/// A sender, as far as its packets show it. Numbers count from its SYN, which is 0.
#[derive(Debug)]
struct Sender {
    told: Vec<(u64, TcpEvent)>,
    state: CaState,
    /// One past the highest number sent, and acknowledged.
    next: u64,
    acked: u64,
    /// The states of repair end when this is acknowledged.
    recovery_point: u64,
    /// The highest number that was acknowledged selectively.
    highest_sack: u64,
    /// When the last packet of either direction passed.
    quiet_since: u64,
    /// When each segment was sent that is not yet acknowledged, by its end; 0 once it was sent again (Karn's rule).
    in_flight: BTreeMap<u64, u64>,
    rtt: Option<u64>,
    probed: bool,
    /// The timestamp of what was sent again first, since the repair began.
    first_repair: Option<u32>,
}

impl Default for Sender {
    fn default() -> Sender {
        Sender {
            told: Vec::new(),
            state: CaState::Open,
            next: 0,
            acked: 0,
            recovery_point: 0,
            highest_sack: 0,
            quiet_since: 0,
            in_flight: BTreeMap::new(),
            rtt: None,
            probed: false,
            first_repair: None,
        }
    }
}

impl Sender {
    fn sends(&mut self, segment: &Segment) {
        let end = segment.end();
        if segment.seq < self.next && segment.len > 0 {
            self.sends_again(segment);
            self.in_flight.insert(end, 0);
        } else if end > self.next {
            self.in_flight.insert(end, segment.at);
        }
        if segment.flags.has(Flags::CWR) && self.state < CaState::Cwr {
            self.passes_to(segment.at, CaState::Cwr, CaReason::EcnEcho);
            self.recovery_point = self.next;
        }
        self.next = self.next.max(end);
    }

    fn sends_again(&mut self, segment: &Segment) {
        let silence = segment.at - self.quiet_since;
        let by_timer = self.rtt.is_some_and(|rtt| silence as f64 >= TIMER_SHARE * rtt as f64);
        let probe = by_timer && segment.end() >= self.next && !self.probed && self.state < CaState::Recovery;
        if by_timer {
            let kind = if probe { TimerKind::TailProbe } else { TimerKind::Retransmission };
            self.told.push((segment.at, TcpEvent::Timer { kind }));
        }
        if probe {
            self.probed = true;
        } else if by_timer && self.state != CaState::Loss {
            self.begins(segment.at, CaState::Loss, CaReason::Timeout);
        } else if self.state < CaState::Recovery {
            self.begins(segment.at, CaState::Recovery, CaReason::LossDetected);
        }
        self.first_repair = self.first_repair.or(segment.timestamps.map(|(value, _)| value));
        self.told.push((segment.at, TcpEvent::Retransmitted { start: segment.seq - 1, len: segment.len, probe }));
    }

    fn begins(&mut self, at: u64, state: CaState, why: CaReason) {
        self.recovery_point = self.next;
        self.passes_to(at, state, why);
    }

    fn hears(&mut self, segment: &Segment) {
        let Some(ack) = segment.ack else { return };
        let sacked = segment.sack.iter().map(|(_, end)| *end).filter(|end| *end > ack).max().unwrap_or(0);
        let advances = ack > self.acked;
        if advances {
            self.measures(segment.at, ack);
            self.acked = ack;
            self.probed = false;
        } else if ack == self.acked && segment.len == 0 && ack < self.next && segment.sack.is_empty() {
            // Without SACK a duplicate ACK is all that tells of a gap. One that only opens the window comes too.
            self.is_disordered(segment.at);
        }
        if sacked > self.highest_sack.max(self.acked) {
            self.highest_sack = sacked;
            self.is_disordered(segment.at);
        }
        match self.state {
            CaState::Open => {}
            CaState::Disorder if self.acked >= self.highest_sack && self.acked >= self.recovery_point => {
                self.passes_to(segment.at, CaState::Open, CaReason::NothingMissing);
            }
            CaState::Disorder => {}
            CaState::Loss if advances && self.echoes_the_original(segment) => {
                self.passes_to(segment.at, CaState::Open, CaReason::Undone);
                self.looks_for_gaps(segment.at, ack, sacked);
            }
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                if self.acked >= self.recovery_point {
                    let needless = self.state == CaState::Recovery && self.echoes_the_original(segment);
                    let why = if needless { CaReason::Undone } else { CaReason::Completed };
                    self.passes_to(segment.at, CaState::Open, why);
                    self.looks_for_gaps(segment.at, ack, sacked);
                }
            }
        }
    }

    /// The Eifel detection (RFC 3522): the ACK answers what was sent before the first retransmission.
    fn echoes_the_original(&self, ack: &Segment) -> bool {
        let echo = ack.timestamps.and_then(|(_, echo)| echo);
        echo.zip(self.first_repair).is_some_and(|(echo, repair)| (echo.wrapping_sub(repair) as i32) < 0)
    }

    /// A gap above what completed the repair begins the next one, at once where the segment in it had already been sent
    /// again.
    fn looks_for_gaps(&mut self, at: u64, ack: u64, sacked: u64) {
        if sacked <= ack {
            return;
        }
        match self.in_flight.first_key_value() {
            Some((_, 0)) => self.begins(at, CaState::Recovery, CaReason::LossDetected),
            _ => self.begins(at, CaState::Disorder, CaReason::Reordering),
        }
    }

    fn is_disordered(&mut self, at: u64) {
        if self.state == CaState::Open {
            self.begins(at, CaState::Disorder, CaReason::Reordering);
        }
    }

    /// One round trip for each ACK that advances, of the newest segment that it covers.
    fn measures(&mut self, at: u64, ack: u64) {
        let still_out = self.in_flight.split_off(&(ack + 1));
        let covered = std::mem::replace(&mut self.in_flight, still_out);
        if covered.values().all(|sent| *sent != 0) {
            if let Some(sent) = covered.values().next_back() {
                self.rtt = Some(at - sent);
            }
        }
    }

    fn passes_to(&mut self, at: u64, to: CaState, why: CaReason) {
        // The ACK that told of the gap also made the sender repair it: the host was never in disorder.
        let from = match self.told.last() {
            Some((before, TcpEvent::CaState { from, to: CaState::Disorder, .. }))
                if to == CaState::Recovery && at - before <= AN_ANSWER =>
            {
                let from = *from;
                self.told.pop();
                from
            }
            _ => self.state,
        };
        self.told.push((at, TcpEvent::CaState { from, to, why }));
        self.state = to;
        if to == CaState::Open {
            self.first_repair = None;
        }
    }
}

/// A receiver, as far as its packets show it. Numbers count from the other end's SYN, which is 0.
#[derive(Debug, Default)]
struct Receiver {
    told: Vec<(u64, TcpEvent)>,
    /// One past the highest number before the first gap.
    next: u64,
    /// Held above the first gap: starts and ends, in order and apart.
    held: BTreeMap<u64, u64>,
    /// The longest segment so far.
    largest: u32,
    arrived: Option<Arrived>,
    acked: u64,
    ends: bool,
    echoes: bool,
}

/// The newest segment with data since the last ACK.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    at: u64,
    kind: AckReason,
}

impl Receiver {
    fn hears(&mut self, segment: &Segment) {
        let (start, end) = (segment.seq, segment.end());
        if end == start {
            return;
        }
        self.ends |= segment.flags.has(Flags::FIN);
        self.largest = self.largest.max(segment.len);
        let kind = if end <= self.next {
            AckReason::Duplicate
        } else if start > self.next {
            self.hold(start, end);
            AckReason::OutOfOrder
        } else {
            let before = self.held.len();
            self.next = end;
            self.takes_in_what_follows();
            if self.held.len() < before || before > 0 { AckReason::GapFilled } else { AckReason::Count }
        };
        self.arrived = Some(Arrived { at: segment.at, kind });
    }

    fn hold(&mut self, start: u64, end: u64) {
        let held = self.held.entry(start).or_insert(end);
        *held = end.max(*held);
    }

    fn takes_in_what_follows(&mut self) {
        while let Some((start, end)) = self.held.first_key_value().map(|(start, end)| (*start, *end)) {
            if start > self.next {
                return;
            }
            self.next = self.next.max(end);
            self.held.remove(&start);
        }
    }

    fn sends(&mut self, segment: &Segment) {
        let Some(ack) = segment.ack else { return };
        let echoes = segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::SYN);
        let alone = segment.len == 0 && !(segment.flags.has(Flags::SYN) || segment.flags.has(Flags::FIN));
        if alone && !segment.flags.has(Flags::RST) {
            let why = self.reason(segment, ack, echoes);
            self.told.push((segment.at, TcpEvent::AckSent { ack: Seq::new(ack as u32), why }));
        }
        self.acked = self.acked.max(ack);
        self.arrived = None;
        self.echoes = echoes;
    }

    fn reason(&self, segment: &Segment, ack: u64, echoes: bool) -> AckReason {
        let Some(arrived) = self.arrived else {
            return if ack <= 1 { AckReason::Handshake } else { AckReason::WindowUpdate };
        };
        if self.acked == 0 {
            return AckReason::Handshake;
        }
        if self.ends && ack >= self.next && self.held.is_empty() {
            return AckReason::Fin;
        }
        let is_enough = ack - self.acked > u64::from(self.largest);
        // Beneath a further gap it is acknowledged as any two segments are.
        if arrived.kind == AckReason::GapFilled && is_enough && !self.held.is_empty() {
            return AckReason::Count;
        }
        if arrived.kind != AckReason::Count {
            return arrived.kind;
        }
        if echoes != self.echoes {
            return AckReason::Ecn;
        }
        if segment.at - arrived.at >= AT_ONCE {
            return AckReason::Delay;
        }
        if is_enough { AckReason::Count } else { AckReason::Quick }
    }
}
