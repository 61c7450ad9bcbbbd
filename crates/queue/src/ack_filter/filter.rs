//! The filter itself, for any queue that can give up packets from its middle: which ACKs wait, by connection, and which of them a new
//! one makes superfluous.
//!
//! A packet costs a look-up of its connection and, where an ACK goes, one of that: nothing scans the queue.

use super::ack::Ack;
use super::connections::{Connection, Connections, Known};
use super::few::Few;
use super::rule::{self, FilterRule};
use super::{AckFilterConfig, Pick};
use crate::{Qdisc, Waiting};
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Cx, DropReason, Packet, Rng, Seq, Time};

/// Removes waiting ACKs.
#[derive(Debug)]
pub struct AckFilter {
    connections: Connections<Waits>,
    judge: Judge,
}

/// What goes, and how much of that went.
#[derive(Debug)]
struct Judge {
    config: AckFilterConfig,
    rng: Rng,
    /// What of an ACK the share has not taken yet.
    credit: f64,
    filtered: u64,
    marked: u64,
}

/// The packets of one connection in the queue.
#[derive(Debug, Default)]
struct Waits {
    /// The ACKs that may go, oldest first. One that the discipline dropped by itself is found out later.
    acks: Few<WaitingAck>,
    /// The last packet that came, of whatever kind.
    newest: Option<u64>,
    /// Flags or options of accurate ECN were seen.
    accurate: bool,
    /// The last pure ACK's number and window, how often it came again, and whether one of those was filtered.
    last: Option<(Seq, u16)>,
    duplicates: u32,
    filtered_duplicates: bool,
}

#[derive(Debug)]
struct WaitingAck {
    id: u64,
    enqueued_at: Time,
    place: Option<u64>,
    ack: Ack,
}

impl AckFilter {
    /// `rng` is this filter's own stream.
    pub fn new(config: &AckFilterConfig, rng: Rng) -> AckFilter {
        let judge = Judge { config: config.clone(), rng, credit: 0.0, filtered: 0, marked: 0 };
        AckFilter { connections: Connections::default(), judge }
    }

    /// A packet is about to be taken in by the queue: what it makes superfluous there goes.
    pub fn on_arrival(&mut self, packet: &mut Packet, queue: &mut impl Qdisc, cx: &mut Cx<'_>) {
        let Some(connection) = Connection::of(packet) else { return };
        let Some(ack) = Ack::of(packet) else {
            // It opens or ends a connection: what was known is of another one.
            return self.connections.forget(connection);
        };
        let AckFilter { connections, judge } = self;
        let Some(waits) = connections.get(connection, ack.is_pure) else { return };
        waits.accurate |= ack.flags.has(Flags::AE) || ack.accurate_ecn.is_some();
        if judge.config.above.is_none_or(|above| above.measure(queue.backlog()) >= above.count()) {
            judge.filter(waits, &ack, packet, queue, cx);
        }
        if judge.config.fast_retransmit > 0 {
            judge.note_duplicate(waits, &ack, packet, cx);
        }
        waits.newest = Some(packet.id());
        if ack.is_pure {
            let (id, enqueued_at, place) = (packet.id(), cx.now(), queue.next_place());
            waits.acks.push(WaitingAck { id, enqueued_at, place, ack });
        }
    }

    /// A packet left the queue for the line.
    pub fn on_departure(&mut self, packet: &Packet) {
        let known = Connection::of(packet).and_then(|connection| self.connections.get(connection, false));
        let Some(waits) = known else { return };
        // A connection's packets leave in order: what came before it is gone too.
        waits.acks.drop_through(|entry| entry.id == packet.id());
    }

    /// ACKs removed since the beginning.
    pub fn filtered(&self) -> u64 {
        self.judge.filtered
    }

    /// ACKs marked for fast retransmission since the beginning.
    pub fn marked(&self) -> u64 {
        self.judge.marked
    }
}

impl Judge {
    fn filter(&mut self, waits: &mut Waits, new: &Ack, like: &Packet, queue: &mut impl Qdisc, cx: &mut Cx<'_>) {
        while let Some(at) = self.superfluous(waits, new) {
            let entry = waits.acks.remove(at).expect("it is one of them");
            if !self.takes_its_share() {
                continue;
            }
            let waiting = Waiting { id: entry.id, enqueued_at: entry.enqueued_at, place: entry.place, like };
            if let Some(removed) = queue.remove(&waiting, cx) {
                waits.filtered_duplicates |= rule::is_duplicate(&entry.ack, new);
                self.filtered += 1;
                cx.drop(removed, DropReason::AckFiltered);
                if matches!(self.config.rule, FilterRule::Conservative | FilterRule::Aggressive) {
                    return;
                }
            }
        }
    }

    /// The place of an ACK that the new one makes superfluous.
    fn superfluous(&self, waits: &Waits, new: &Ack) -> Option<usize> {
        let acks = &waits.acks;
        match self.config.rule {
            rule @ (FilterRule::Cumulative | FilterRule::Window) => {
                let oldest = &acks.first()?.ack;
                let counted = self.config.fast_retransmit > 0 && rule::is_duplicate(oldest, new);
                (counted || rule::is_outnumbered(rule, oldest, new)).then_some(0)
            }
            rule @ (FilterRule::Conservative | FilterRule::Aggressive) => {
                // Numbers rise in order, so without SACK nothing behind the first equal number can be covered.
                let may_be = |entry: &&WaitingAck| !new.sack.is_empty() || entry.ack.number != new.number;
                let covered = |(_, entry): &(usize, &WaitingAck)| {
                    rule::is_known_to_cake(&entry.ack) && rule::is_covered(&entry.ack, new)
                };
                let mut found = acks.iter().take_while(may_be).enumerate().filter(covered);
                let (first, entry) = found.next()?;
                let alone = found.next().is_none();
                let follows = waits.newest == Some(entry.id) && rule::says_same_of_ecn(&entry.ack, new);
                (!alone || rule == FilterRule::Aggressive && follows).then_some(first)
            }
            FilterRule::AccurateEcn => {
                let last = acks.len().checked_sub(1)?;
                let older = &acks.get(last)?.ack;
                let tells = if waits.accurate {
                    let before = &acks.get(last.checked_sub(1)?)?.ack;
                    rule::counts_as_well(before, older, new, self.config.segment.get() as u32)
                } else {
                    rule::says_same_of_ecn(older, new)
                };
                (tells && rule::is_covered(older, new)).then_some(last)
            }
        }
    }

    /// Whether the next superfluous ACK is one of the share that goes.
    fn takes_its_share(&mut self) -> bool {
        let share = self.config.share;
        if share >= 1.0 {
            return true;
        }
        match self.config.pick {
            Pick::Random => self.rng.unit() < share,
            Pick::Even => {
                self.credit += share;
                let takes = self.credit >= 1.0;
                if takes {
                    self.credit -= 1.0;
                }
                takes
            }
        }
    }

    /// Counts duplicates, and marks those behind a number of them of which the filter took some.
    fn note_duplicate(&mut self, waits: &mut Waits, ack: &Ack, packet: &mut Packet, cx: &mut Cx<'_>) {
        if !ack.is_pure {
            return;
        }
        if waits.last == Some((ack.number, ack.window)) {
            waits.duplicates += 1;
        } else {
            waits.last = Some((ack.number, ack.window));
            waits.duplicates = 0;
            waits.filtered_duplicates = false;
        }
        if waits.filtered_duplicates && waits.duplicates >= self.config.fast_retransmit {
            let mark = |header: &mut TcpHeader| header.flags = header.flags.with(Flags::FAST_RETRANSMIT);
            if cx.rewrite(packet, |editor| editor.tcp(mark)) {
                self.marked += 1;
            }
        }
    }
}

impl Known for Waits {
    fn is_idle(&self) -> bool {
        self.acks.is_empty()
    }
}
