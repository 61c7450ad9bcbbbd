//! The modified filter of ACK compaction and companding (RFC 3449, section 5.3.2). It applies the rule `cumulative`,
//! and describes the removed ACKs in a prefix of the remaining ACK. At the far end of the line, the stage `ack_expand`
//! restores the removed ACKs.
//!
//! The filter removes only plain ACKs for new data. A plain ACK has no data, no flag except ACK, no SACK blocks and no
//! count of ECN marks. When any other segment of the connection arrives, the ACKs before it are no longer removed, so
//! that expanded ACKs stay in order.
//!
//! An ACK whose prefix counts `prefix_most` ACKs stays in the queue. The RFC's mark corresponds to `prefix_most = 1`.

use super::ack;
use super::connections::{Connection, Connections, Known};
use super::few::Few;
use super::waiting_ack::WaitingAck;
use super::{AckFilterConfig, Bounds, RemovedAcks};
use crate::{Qdisc, QueuedPacket};
use lopsided_core::packet::{AckPrefix, Flags};
use lopsided_core::{Cx, Packet, Seq, Time};

/// Removes ACKs and describes them in the ACK that remains.
#[derive(Debug)]
pub(super) struct Compactor {
    prefix: RemovedAcks,
    most: u32,
    bounds: Bounds,
    connections: Connections<Run>,
    /// Number of ACKs removed.
    filtered: u64,
}

/// The state of one connection.
#[derive(Debug, Default)]
struct Run {
    /// The ACKs that a later ACK can remove, oldest first. ACKs that have left the queue stay in this list until the
    /// connection's next packet arrives.
    acks: Few<WaitingAck<Removable>>,
    /// Acknowledgement number of the connection's last segment.
    newest: Option<Seq>,
}

/// A queued ACK, with a summary of the removed ACKs that its prefix describes.
#[derive(Clone, Copy, Debug)]
struct Removable {
    /// Number of removed ACKs that the prefix describes.
    removed: u8,
    /// Acknowledgement number of the oldest ACK that this entry represents: the oldest removed ACK, or the queued ACK.
    first: Seq,
    /// Arrival time of the oldest ACK that this entry represents: the oldest removed ACK, or the queued ACK.
    came: Time,
}

impl Compactor {
    pub fn new(config: &AckFilterConfig) -> Compactor {
        Compactor {
            prefix: config.prefix,
            most: config.prefix_most,
            bounds: Bounds::new(config),
            connections: Connections::default(),
            filtered: 0,
        }
    }

    /// Removes the ACKs that an arriving ACK makes superfluous, and describes them in the prefix of the arriving ACK.
    pub fn on_arrival(&mut self, packet: &mut Packet, queue: &mut impl Qdisc, cx: &mut Cx<'_>) {
        let Some(header) = packet.tcp() else { return };
        let connection = Connection::of(packet, header);
        if !ack::acknowledges(header) {
            return self.connections.forget(connection);
        }
        let number = header.ack;
        let is_plain = ack::is_pure(packet, header) && header.flags == Flags::ACK && header.options.are_usual();
        let Some(run) = self.connections.get(connection, is_plain) else { return };
        let advances = run.newest.replace(number).is_none_or(|newest| number.after(newest));
        if !(is_plain && advances) {
            run.acks = Few::default();
            return;
        }
        let mut own = Removable { removed: 0, first: number, came: cx.now() };
        if self.bounds.hold(queue.backlog()) {
            while let Some(oldest) = run.acks.first() {
                let Some(count) = own.removed.checked_add(oldest.ack.removed).and_then(|sum| sum.checked_add(1)) else {
                    break;
                };
                if oldest.filter_out(packet, queue, cx) {
                    self.filtered += 1;
                    let begun = if own.removed == 0 { oldest.ack } else { own };
                    own = Removable { removed: count, ..begun };
                }
                run.acks.drop_first();
            }
        }
        if own.removed > 0 {
            let count = u32::from(own.removed);
            let octets = u16::try_from(number.since(own.first) / count).unwrap_or(u16::MAX);
            let spacing = (self.prefix == RemovedAcks::Spacing).then(|| (cx.now() - own.came) / u64::from(count));
            let prefix = AckPrefix { removed: own.removed, octets, spacing };
            // The rewrite fails only for an ACK of a real host whose header has no room for the prefix. Like a plain
            // filter, the compactor then sends the ACK without a prefix.
            _ = cx.rewrite(packet, |editor| editor.tcp(|header| prefix.write(&mut header.options)));
        }
        if u32::from(own.removed) < self.most {
            run.acks.push(WaitingAck::new(packet, own, queue, cx));
        }
    }

    /// Handles a packet that leaves the queue.
    #[inline]
    pub fn on_departure(&mut self, given: &QueuedPacket, queue: &impl Qdisc) {
        self.connections.on_departure(given, queue.next_place().is_some());
    }

    /// Returns the number of ACKs removed since the start of the run.
    pub fn filtered(&self) -> u64 {
        self.filtered
    }
}

impl Known for Run {
    type Ack = Removable;

    fn acks(&mut self) -> &mut Few<WaitingAck<Removable>> {
        &mut self.acks
    }
}
