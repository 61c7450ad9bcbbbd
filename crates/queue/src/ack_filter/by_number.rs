//! The paper's rules `cumulative` and `window`, which compare only acknowledgement numbers and windows. With
//! `fast_retransmit`, the filter removes and counts duplicate ACKs.

use super::ack::{self, Numbers};
use super::connections::{Connection, Connections, Known};
use super::few::Few;
use super::rule::FilterRule;
use super::share::Share;
use super::waiting_ack::WaitingAck;
use super::{AckFilterConfig, Bounds};
use crate::{Qdisc, QueuedPacket};
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Cx, Packet, Rng};

/// An ACK filter with the rule `cumulative` or `window`.
#[derive(Debug)]
pub(super) struct ByNumber {
    /// True for the rule `window`: an ACK also replaces an older ACK with the same number and a different window.
    also_windows: bool,
    /// Number of duplicate ACKs at which the filter starts to mark ACKs for fast retransmit. 0: duplicates are never
    /// removed.
    fast_retransmit: u32,
    bounds: Bounds,
    share: Share,
    connections: Connections<Waits>,
    /// Number of ACKs removed.
    filtered: u64,
    /// Number of ACKs marked for fast retransmit.
    marked: u64,
}

/// The filter's state for one connection.
#[derive(Debug, Default)]
struct Waits {
    /// The connection's queued ACKs, oldest first. ACKs that have left the queue stay in this list until the
    /// connection's next packet arrives.
    acks: Few<WaitingAck<Numbers>>,
    duplicates: Duplicates,
}

/// The latest ACK, the number of its duplicates, and a flag that is true once the filter has removed a duplicate.
#[derive(Debug, Default)]
struct Duplicates {
    of: Option<Numbers>,
    count: u32,
    filtered: bool,
}

impl ByNumber {
    pub fn new(config: &AckFilterConfig, rng: Rng) -> ByNumber {
        ByNumber {
            also_windows: config.rule == FilterRule::Window,
            fast_retransmit: config.fast_retransmit,
            bounds: Bounds::new(config),
            share: Share::new(config, rng),
            connections: Connections::default(),
            filtered: 0,
            marked: 0,
        }
    }

    /// Removes the ACKs that an arriving packet makes superfluous, and stores a pure ACK.
    pub fn on_arrival(&mut self, packet: &mut Packet, queue: &mut impl Qdisc, cx: &mut Cx<'_>) {
        let Some(header) = packet.tcp() else { return };
        let connection = Connection::of(packet, header);
        if !ack::acknowledges(header) {
            // The segment is a SYN or a RST, or has no ACK flag. Any stored state of the connection is no longer valid.
            return self.connections.forget(connection);
        }
        let (new, is_pure) = (Numbers::of(header), ack::is_pure(packet, header));
        let Some(waits) = self.connections.get(connection, is_pure) else { return };
        if self.bounds.hold(queue.backlog()) {
            let counts = is_pure && self.fast_retransmit > 0;
            // ACKs are in the order of their numbers, so the search ends at the first ACK that is not superfluous.
            while let Some(oldest) = waits.acks.first() {
                // A queued ACK with the same number and window is a duplicate.
                let is_duplicate = counts && oldest.ack == new;
                if !(oldest.ack.is_outnumbered(&new, self.also_windows) || is_duplicate) {
                    break;
                }
                // Each ACK is considered for removal only once. Remove the ACK from the list even if it stays in the
                // queue because of `share`.
                if self.share.takes() && oldest.filter_out(packet, queue, cx) {
                    self.filtered += 1;
                    waits.duplicates.filtered |= is_duplicate;
                }
                waits.acks.drop_first();
            }
        }
        if is_pure {
            if self.fast_retransmit > 0 && waits.duplicates.note(new, self.fast_retransmit) {
                self.marked += u64::from(mark(packet, cx));
            }
            waits.acks.push(WaitingAck::new(packet, new, queue, cx));
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

    /// Returns the number of ACKs marked for fast retransmit since the start of the run.
    pub fn marked(&self) -> u64 {
        self.marked
    }
}

/// Sets the fast-retransmit flag in the ACK (see `marked_retransmit`). Returns true if the flag was set.
#[cold]
fn mark(packet: &mut Packet, cx: &mut Cx<'_>) -> bool {
    cx.rewrite(packet, |editor| {
        editor.tcp(|header: &mut TcpHeader| header.flags = header.flags.with(Flags::FAST_RETRANSMIT))
    })
}

impl Known for Waits {
    type Ack = Numbers;

    fn acks(&mut self) -> &mut Few<WaitingAck<Numbers>> {
        &mut self.acks
    }
}

impl Duplicates {
    /// Counts a pure ACK. Returns true if `most` consecutive duplicates have arrived and the filter removed at least
    /// one of them.
    fn note(&mut self, ack: Numbers, most: u32) -> bool {
        if self.of == Some(ack) {
            self.count += 1;
        } else {
            *self = Duplicates { of: Some(ack), count: 0, filtered: false };
        }
        // If the filter removed no duplicate, the sender can count the duplicates itself.
        self.filtered && self.count >= most
    }
}
