//! The rules `conservative`, `aggressive` and `accurate_ecn`: an ACK is removed if the new ACK covers everything that
//! it reports.

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

#[derive(Debug)]
pub(super) struct ByContent {
    rule: FilterRule,
    segment: Bytes,
    bounds: Bounds,
    share: Share,
    connections: Connections<Waits>,
    filtered: u64,
}

/// The filter's state of one connection.
#[derive(Debug, Default)]
struct Waits {
    /// The ACKs that may be removed, oldest first. An ACK that the discipline dropped is noticed later.
    acks: Few<WaitingAck<Ack>>,
    /// The last packet of any kind.
    newest: Option<u64>,
    /// Flags or options of accurate ECN were seen.
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

    pub fn on_arrival(&mut self, packet: &Packet, queue: &mut impl Qdisc, cx: &mut Cx<'_>) {
        let Some(header) = packet.tcp() else { return };
        let connection = Connection::of(packet, header);
        if !ack::acknowledges(header) {
            // The packet opens or ends a connection: the state belongs to another one.
            return self.connections.forget(connection);
        }
        let (new, is_pure) = (Ack::of(header), ack::is_pure(packet, header));
        let Some(waits) = self.connections.get(connection, is_pure) else { return };
        waits.accurate |= new.flags.has(Flags::AE) || new.accurate_ecn().is_some();
        if self.bounds.hold(queue.backlog()) {
            while let Some(at) = waits.superfluous(self.rule, &new, self.segment) {
                let entry = waits.acks.remove(at).expect("it is one of them");
                if self.share.takes() && entry.filter_out(packet, queue, cx) {
                    self.filtered += 1;
                    if self.rule != FilterRule::AccurateEcn {
                        // CAKE removes one at most.
                        break;
                    }
                }
            }
        }
        waits.newest = Some(packet.id());
        if is_pure {
            waits.acks.push(WaitingAck::new(packet, new, queue, cx));
        } else if let Some(last) = waits.acks.last_mut() {
            last.ack.parted |= !rule::has_flags_as(&last.ack, &new);
        }
    }

    /// A share counts the queue including the arriving packet.
    #[inline]
    pub fn on_departure(&mut self, given: &QueuedPacket, queue: &impl Qdisc) {
        self.connections.on_departure(given, self.share.is_all() && queue.next_place().is_some());
    }

    pub fn filtered(&self) -> u64 {
        self.filtered
    }
}

impl Waits {
    /// The place of an ACK that the new one makes superfluous.
    fn superfluous(&self, rule: FilterRule, new: &Ack, segment: Bytes) -> Option<usize> {
        let acks = &self.acks;
        if rule == FilterRule::AccurateEcn {
            let last = acks.len().checked_sub(1)?;
            let older = &acks.get(last)?.ack;
            let tells = if self.accurate {
                let before = &acks.get(last.checked_sub(1)?)?.ack;
                rule::counts_as_well(before, older, new, segment.get() as u32)
            } else {
                rule::says_same_of_ecn(older, new)
            };
            return (tells && rule::is_covered(older, new)).then_some(last);
        }
        if rule == FilterRule::Conservative && acks.len() < 2 {
            return None;
        }
        // Numbers increase, so without SACK nothing after the first equal number is covered.
        let may_be = |entry: &&WaitingAck<Ack>| !new.sack().is_empty() || entry.ack.number != new.number;
        let is_covered = |ack: &Ack| rule::is_known_to_cake(ack) && rule::is_covered(ack, new);
        let (mut oldest, mut at) = (None::<(usize, &WaitingAck<Ack>)>, 0);
        while let Some(entry) = acks.get(at).filter(may_be) {
            oldest = oldest.filter(|(_, oldest)| rule::has_flags_as(&oldest.ack, &entry.ack));
            if is_covered(&entry.ack) {
                if let Some((oldest, _)) = oldest {
                    return Some(oldest);
                }
                oldest = Some((at, entry));
            }
            oldest = oldest.filter(|_| !entry.ack.parted);
            at += 1;
        }
        let (oldest, only) = oldest?;
        let follows = self.newest == Some(only.id) && rule::says_same_of_ecn(&only.ack, new);
        (rule == FilterRule::Aggressive && follows).then_some(oldest)
    }
}

impl Known for Waits {
    type Ack = Ack;

    fn acks(&mut self) -> &mut Few<WaitingAck<Ack>> {
        &mut self.acks
    }
}
