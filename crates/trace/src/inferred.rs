//! Infers TCP events from the packets at a host: the events that a simulated connection reports.
//!
//! For a sender, the events are retransmissions, the timers that caused them, and changes of the congestion state:
//!
//! - A segment retransmitted right after an ACK was sent because of that ACK (fast recovery, RFC 6675).
//! - A segment retransmitted after a pause of about one RTT or more was sent by a timer: by the tail loss probe if it
//!   is the last segment (RFC 8985), otherwise by the retransmission timer (RFC 6298).
//! - Recovery and loss end when all data outstanding at their start is acknowledged (RFC 6582), or when an ACK echoes a
//!   timestamp older than the retransmission (RFC 3522).
//!
//! For a receiver, the events are ACKs with their probable reason (RFC 5681, section 4.2; RFC 2018; RFC 2883).
//!
//! Left out, because packets do not reveal it:
//!
//! - congestion windows and their reductions,
//! - the rule that declared a segment lost,
//! - undo by DSACK,
//! - the RACK reordering timer,
//! - the limits of the sender,
//! - the cause of an ACK for two segments: the number of segments, or the delay of the first segment.

use crate::conversation::{Conversation, End, Segment};
use lopsided_core::packet::Flags;
use lopsided_core::tcp_event::{AckReason, CaReason, CaState, TcpEvent, TimedTcpEvent, TimerKind};
use lopsided_core::{Duration, Seq, Time};
use std::collections::BTreeMap;

/// An ACK counts as delayed after this time in nanoseconds. Linux's shortest ACK delay is 40 ms.
const AT_ONCE: u64 = 5_000_000;
/// A packet counts as a response to another packet if it is sent at most this time after that packet arrived, in
/// nanoseconds.
const AN_ANSWER: u64 = 100_000;
/// A pause shorter than this fraction of the RTT is a gap between segments; a timer would have waited longer.
const TIMER_SHARE: f64 = 0.9;

/// Infers the TCP events of the data sender `end` from a capture at its host.
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
    timed(conversation, sender.found_events)
}

/// Infers the TCP events of the receiver `end` from a capture at its host. Acknowledgement numbers are relative to the
/// first SYN.
pub fn of_receiver(conversation: &Conversation, end: End) -> Vec<TimedTcpEvent> {
    let mut receiver = Receiver::default();
    for segment in &conversation.segments {
        if segment.from == end {
            receiver.sends(segment);
        } else {
            receiver.hears(segment);
        }
    }
    timed(conversation, receiver.found_events)
}

fn timed(conversation: &Conversation, found_events: Vec<(u64, TcpEvent)>) -> Vec<TimedTcpEvent> {
    let at = |nanos| Time::from_nanos(conversation.begun.as_nanos()) + Duration::from_nanos(nanos);
    found_events.into_iter().map(|(nanos, event)| TimedTcpEvent { at: at(nanos), event }).collect()
}

/// State of a sender, as far as packets reveal it. Sequence number 0 is the sender's SYN.
#[derive(Debug)]
struct Sender {
    /// The inferred events, with their times in nanoseconds since the SYN.
    found_events: Vec<(u64, TcpEvent)>,
    state: CaState,
    /// Sequence number after the highest byte sent.
    next: u64,
    /// Highest cumulative acknowledgement.
    acked: u64,
    /// Recovery and loss end when this number is acknowledged.
    recovery_point: u64,
    /// Highest sequence number that a SACK block covered.
    highest_sack: u64,
    /// Time of the last packet in either direction.
    quiet_since: u64,
    /// Send times of the unacknowledged segments, by their end; `None` after a retransmission (Karn's algorithm).
    in_flight: BTreeMap<u64, Option<u64>>,
    /// The newest RTT sample, in nanoseconds.
    rtt: Option<u64>,
    /// True if a tail loss probe was sent since the last ACK of new data.
    probed: bool,
    /// Timestamp of the first retransmission in the current recovery or loss; `None` before the first retransmission.
    first_repair: Option<u32>,
}

impl Default for Sender {
    fn default() -> Sender {
        Sender {
            found_events: Vec::new(),
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
            self.in_flight.insert(end, None);
        } else if end > self.next {
            self.in_flight.insert(end, Some(segment.at));
        }
        if segment.flags.has(Flags::CWR) && self.state < CaState::Cwr {
            self.passes_to(segment.at, CaState::Cwr, CaReason::EcnEcho);
            self.recovery_point = self.next;
        }
        self.next = self.next.max(end);
    }

    fn sends_again(&mut self, segment: &Segment) {
        let silence = segment.at - self.quiet_since;
        // Without an RTT sample a timer cannot be recognized. The retransmission then counts as fast recovery.
        let by_timer = self.rtt.is_some_and(|rtt| silence as f64 >= TIMER_SHARE * rtt as f64);
        // RFC 8985, section 7.3: a tail loss probe retransmits the last segment, once per flight.
        let probe = by_timer && segment.end() >= self.next && !self.probed && self.state < CaState::Recovery;
        if by_timer {
            let kind = if probe { TimerKind::TailProbe } else { TimerKind::Retransmission };
            self.found_events.push((segment.at, TcpEvent::Timer { kind }));
        }
        if probe {
            self.probed = true;
        } else if by_timer && self.state != CaState::Loss {
            self.begins(segment.at, CaState::Loss, CaReason::Timeout);
        } else if self.state < CaState::Recovery {
            self.begins(segment.at, CaState::Recovery, CaReason::LossDetected);
        }
        // RFC 3522 compares later echoes only with the first retransmission.
        self.first_repair = self.first_repair.or(segment.timestamps.map(|(value, _)| value));
        self.found_events
            .push((segment.at, TcpEvent::Retransmitted { start: segment.seq - 1, len: segment.len, probe }));
    }

    fn begins(&mut self, at: u64, state: CaState, why: CaReason) {
        self.recovery_point = self.next;
        self.passes_to(at, state, why);
    }

    fn hears(&mut self, segment: &Segment) {
        let Some(ack) = segment.ack else { return };
        let sacked = segment.sack.iter().map(|(_, end)| *end).max().unwrap_or(0);
        let advances = ack > self.acked;
        if advances {
            self.measures(segment.at, ack);
            self.acked = ack;
            self.probed = false;
        } else if ack == self.acked && segment.len == 0 && ack < self.next && segment.sack.is_empty() {
            // Without SACK, only duplicate ACKs reveal a gap. A pure window update looks like a duplicate ACK.
            self.is_disordered(segment.at);
        }
        // A SACK block above all earlier blocks means that a segment arrived out of order.
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
            // RFC 6582, section 3.2: recovery ends when the recovery point is acknowledged.
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

    /// Returns true if the ACK echoes a timestamp older than the first retransmission (Eifel detection, RFC 3522).
    fn echoes_the_original(&self, ack: &Segment) -> bool {
        let echo = ack.timestamps.and_then(|(_, echo)| echo);
        echo.zip(self.first_repair).is_some_and(|(echo, repair)| (echo.wrapping_sub(repair) as i32) < 0)
    }

    /// Enters recovery or disorder if a gap remains: recovery if the missing segment was already retransmitted.
    fn looks_for_gaps(&mut self, at: u64, ack: u64, sacked: u64) {
        if sacked <= ack {
            return;
        }
        match self.in_flight.first_key_value() {
            Some((_, None)) => self.begins(at, CaState::Recovery, CaReason::LossDetected),
            _ => self.begins(at, CaState::Disorder, CaReason::Reordering),
        }
    }

    fn is_disordered(&mut self, at: u64) {
        if self.state == CaState::Open {
            self.begins(at, CaState::Disorder, CaReason::Reordering);
        }
    }

    /// Takes an RTT sample from an ACK of new data, measured from the newest segment that the ACK covers.
    fn measures(&mut self, at: u64, ack: u64) {
        let still_out = self.in_flight.split_off(&(ack + 1));
        let covered = std::mem::replace(&mut self.in_flight, still_out);
        // Karn's algorithm: no sample if any covered segment was retransmitted.
        let sent: Option<Vec<u64>> = covered.into_values().collect();
        if let Some(sent) = sent.and_then(|sent| sent.last().copied()) {
            self.rtt = Some(at - sent);
        }
    }

    fn passes_to(&mut self, at: u64, to: CaState, why: CaReason) {
        // The same ACK revealed the gap and triggered the retransmission, so the host entered recovery directly.
        // Replace the event that reported the disorder.
        let from = match self.found_events.last() {
            Some((before, TcpEvent::CaState { from, to: CaState::Disorder, .. }))
                if to == CaState::Recovery && at - before <= AN_ANSWER =>
            {
                let from = *from;
                self.found_events.pop();
                from
            }
            _ => self.state,
        };
        self.found_events.push((at, TcpEvent::CaState { from, to, why }));
        self.state = to;
        if to == CaState::Open {
            self.first_repair = None;
        }
    }
}

/// State of a receiver, as far as packets reveal it. Sequence number 0 is the other end's SYN.
#[derive(Debug, Default)]
struct Receiver {
    /// The inferred events, with their times in nanoseconds since the SYN.
    found_events: Vec<(u64, TcpEvent)>,
    /// Sequence number after the last byte received in order.
    next: u64,
    /// Ranges of data received above the first gap: the keys are their starts, the values their ends.
    held: BTreeMap<u64, u64>,
    /// Payload of the longest segment so far, in bytes.
    largest: u32,
    /// Newest segment with data since the last ACK; `None` if none arrived.
    arrived: Option<Arrived>,
    /// The highest acknowledgement number sent.
    acked: u64,
    /// True after a FIN has arrived.
    ends: bool,
    /// True if the last ACK had ECE set.
    echoes: bool,
}

/// A segment with data, and the reason for which a receiver would acknowledge the segment.
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
            // RFC 5681, section 4.2: data that fills all or part of a gap is acknowledged immediately.
            let fills = !self.held.is_empty();
            self.next = end;
            self.advance_over_held();
            if fills { AckReason::GapFilled } else { AckReason::Count }
        };
        self.arrived = Some(Arrived { at: segment.at, kind });
    }

    fn hold(&mut self, start: u64, end: u64) {
        let held = self.held.entry(start).or_insert(end);
        *held = end.max(*held);
    }

    fn advance_over_held(&mut self) {
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
        // Only a pure ACK has a separate reason. A packet with data or control flags would have been sent anyway.
        let alone = segment.len == 0 && !(segment.flags.has(Flags::SYN) || segment.flags.has(Flags::FIN));
        if alone && !segment.flags.has(Flags::RST) {
            let why = self.reason(segment, ack, echoes);
            self.found_events.push((segment.at, TcpEvent::AckSent { ack: Seq::new(ack as u32), why }));
        }
        self.acked = self.acked.max(ack);
        self.arrived = None;
        self.echoes = echoes;
    }

    fn reason(&self, segment: &Segment, ack: u64, echoes: bool) -> AckReason {
        let Some(arrived) = self.arrived else {
            // No data arrived, so a read by the application opened the window. The first ACK completes the handshake.
            return if ack <= 1 { AckReason::Handshake } else { AckReason::WindowUpdate };
        };
        if self.acked == 0 {
            return AckReason::Handshake;
        }
        // RFC 9293, section 3.10.7.4: a FIN is acknowledged immediately.
        if self.ends && ack >= self.next && self.held.is_empty() {
            return AckReason::Fin;
        }
        // RFC 5681, section 4.2: a receiver should acknowledge at least every second full-sized segment.
        let is_enough = ack - self.acked > u64::from(self.largest);
        // If another gap remains at higher sequence numbers, the ACK counts as a normal ACK for two segments.
        if arrived.kind == AckReason::GapFilled && is_enough && !self.held.is_empty() {
            return AckReason::Count;
        }
        if arrived.kind != AckReason::Count {
            return arrived.kind;
        }
        // RFC 8257, section 3.2: a receiver acknowledges a change of the CE mark immediately.
        if echoes != self.echoes {
            return AckReason::Ecn;
        }
        // RFC 5681, section 4.2: an ACK may be delayed by at most 500 ms.
        if segment.at - arrived.at >= AT_ONCE {
            return AckReason::Delay;
        }
        if is_enough { AckReason::Count } else { AckReason::Quick }
    }
}
