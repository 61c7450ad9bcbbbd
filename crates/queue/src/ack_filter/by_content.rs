//! The rules `conservative`, `aggressive` and `accurate_ecn`, which remove a queued ACK if the new ACK carries all of
//! its information.

use super::ack::{self, Ack};
use super::connections::{Connection, Connections, Known};
use super::few::Few;
use super::rule::{self, FilterRule};
use super::share::Share;
use super::waiting_ack::WaitingAck;
use super::{AckFilterConfig, Bounds};
use crate::{Qdisc, QueuedPacket};
use lopsided_core::packet::Flags;
use lopsided_core::{Bytes, Cx, Packet, Rng};

/// An ACK filter with the rule `conservative`, `aggressive` or `accurate_ecn`.
#[derive(Debug)]
pub(super) struct ByContent {
    rule: FilterRule,
    /// Minimum size of a full data segment in bytes. It limits the number of marks that an ACK can report.
    segment: Bytes,
    bounds: Bounds,
    share: Share,
    connections: Connections<Waits>,
    /// Number of ACKs removed.
    filtered: u64,
}

/// The filter's state for one connection.
#[derive(Debug, Default)]
struct Waits {
    /// Queued ACKs that may be removed, oldest first. Dropped ACKs stay in this list until the filter tries to remove
    /// them.
    acks: Few<WaitingAck<Ack>>,
    /// Packet number of the connection's latest packet of any kind.
    newest: Option<u64>,
    /// True once a packet of the connection contained accurate-ECN flags or options.
    accurate: bool,
}

impl ByContent {
    pub fn new(config: &AckFilterConfig, rng: Rng) -> ByContent {
        ByContent {
            rule: config.rule,
            segment: config.segment,
            bounds: Bounds::new(config),
            share: Share::new(config, rng),
            connections: Connections::default(),
            filtered: 0,
        }
    }

    /// Removes the ACKs that an arriving packet makes superfluous, and stores a pure ACK.
    pub fn on_arrival(&mut self, packet: &Packet, queue: &mut impl Qdisc, cx: &mut Cx<'_>) {
        let Some(header) = packet.tcp() else { return };
        let connection = Connection::of(packet, header);
        if !ack::acknowledges(header) {
            // The segment is a SYN or a RST, or has no ACK flag. Any stored state of the connection is no longer valid.
            return self.connections.forget(connection);
        }
        let (new, is_pure) = (Ack::of(header), ack::is_pure(packet, header));
        let Some(waits) = self.connections.get(connection, is_pure) else { return };
        waits.accurate |= new.flags.has(Flags::AE) || new.accurate_ecn().is_some();
        if self.bounds.hold(queue.backlog()) {
            while let Some(at) = waits.superfluous(self.rule, &new, self.segment) {
                let entry = waits.acks.remove(at).expect("the position is valid");
                if self.share.takes() && entry.filter_out(packet, queue, cx) {
                    self.filtered += 1;
                    if self.rule != FilterRule::AccurateEcn {
                        // Linux's cake_ack_filter removes at most one ACK per arrival.
                        break;
                    }
                }
            }
        }
        waits.newest = Some(packet.id());
        if is_pure {
            waits.acks.push(WaitingAck::new(packet, new, queue, cx));
        } else if let Some(last) = waits.acks.last_mut() {
            // If the ECN flags of the data segment differ from those of the last ACK, the sender must see the change.
            // CAKE therefore never removes an ACK before the data segment because of an ACK after the data segment.
            last.ack.parted |= !rule::has_flags_as(&last.ack, &new);
        }
    }

    /// Handles a packet that leaves the queue.
    #[inline]
    pub fn on_departure(&mut self, given: &QueuedPacket, queue: &impl Qdisc) {
        // If `share` is below 1, update the list at each departure. Otherwise, ACKs that have left the queue but are
        // still listed would count towards the share.
        self.connections.on_departure(given, self.share.is_all() && queue.next_place().is_some());
    }

    /// Returns the number of ACKs removed since the start of the run.
    pub fn filtered(&self) -> u64 {
        self.filtered
    }
}

impl Waits {
    /// Returns the position in `acks` of an ACK that the new ACK makes superfluous.
    fn superfluous(&self, rule: FilterRule, new: &Ack, segment: Bytes) -> Option<usize> {
        let acks = &self.acks;
        // With accurate ECN, the sender counts marks from one ACK to the next. Check only the latest queued ACK, which
        // directly precedes the new ACK.
        if rule == FilterRule::AccurateEcn {
            let last = acks.len().checked_sub(1)?;
            let older = &acks.get(last)?.ack;
            let tells = if self.accurate {
                let before = &acks.get(last.checked_sub(1)?)?.ack;
                rule::counts_as_well(before, older, new, segment.get() as u32)
            } else {
                rule::same_ecn_meaning(older, new)
            };
            return (tells && rule::is_covered(older, new)).then_some(last);
        }
        // `conservative` leaves at least two ACKs, including the new one, so that the sender can still detect duplicate
        // ACKs.
        if rule == FilterRule::Conservative && acks.len() < 2 {
            return None;
        }
        // ACKs are in the order of their numbers. Without SACK blocks, an ACK with the new ACK's number is a duplicate,
        // which the new ACK does not cover.
        let may_be = |entry: &&WaitingAck<Ack>| !new.sack().is_empty() || entry.ack.number != new.number;
        let is_covered = |ack: &Ack| rule::is_comparable_for_cake(ack) && rule::is_covered(ack, new);
        let (mut oldest, mut at) = (None::<(usize, &WaitingAck<Ack>)>, 0);
        while let Some(entry) = acks.get(at).filter(may_be) {
            oldest = oldest.filter(|(_, oldest)| rule::has_flags_as(&oldest.ack, &entry.ack));
            // As in Linux's cake_ack_filter, the oldest covered ACK is removed only if a later ACK is covered, too.
            if is_covered(&entry.ack) {
                if let Some((oldest, _)) = oldest {
                    return Some(oldest);
                }
                oldest = Some((at, entry));
            }
            oldest = oldest.filter(|_| !entry.ack.parted);
            at += 1;
        }
        // `aggressive` also removes a single covered ACK, if it is the connection's latest packet.
        let (oldest, only) = oldest?;
        let follows = self.newest == Some(only.id) && rule::same_ecn_meaning(&only.ack, new);
        (rule == FilterRule::Aggressive && follows).then_some(oldest)
    }
}

impl Known for Waits {
    type Ack = Ack;

    fn acks(&mut self) -> &mut Few<WaitingAck<Ack>> {
        &mut self.acks
    }
}
