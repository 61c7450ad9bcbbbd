//! The rules `cumulative` and `window` of the paper, which compare only an ACK's number and window. With
//! `fast_retransmit`, duplicate ACKs are removed too, and the filter counts them on the sender's behalf.

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

/// The filter with one of these rules.
#[derive(Debug)]
pub(super) struct ByNumber {
    /// True for `window`: an ACK with the same number but another window replaces an older one.
    also_windows: bool,
    /// Number of duplicates after which an ACK is marked for fast retransmission; 0 if duplicates are never removed.
    fast_retransmit: u32,
    bounds: Bounds,
    share: Share,
    connections: Connections<Waits>,
    /// Number of ACKs removed.
    filtered: u64,
    /// Number of ACKs marked for fast retransmission.
    marked: u64,
}

/// The filter's state for one connection.
#[derive(Debug, Default)]
struct Waits {
    /// The connection's ACKs in the queue, the oldest first. An ACK that left or was dropped may stay for a while.
    acks: Few<WaitingAck<Numbers>>,
    duplicates: Duplicates,
}

/// The last ACK, its number of repetitions, and whether a repetition was removed.
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

    /// Removes the ACKs that an arriving packet makes superfluous, and stores the packet if it is a pure ACK.
    pub fn on_arrival(&mut self, packet: &mut Packet, queue: &mut impl Qdisc, cx: &mut Cx<'_>) {
        let Some(header) = packet.tcp() else { return };
        let connection = Connection::of(packet, header);
        if !ack::acknowledges(header) {
            // The packet opens or closes a connection, so the state belongs to an older connection.
            return self.connections.forget(connection);
        }
        let (new, is_pure) = (Numbers::of(header), ack::is_pure(packet, header));
        let Some(waits) = self.connections.get(connection, is_pure) else { return };
        if self.bounds.hold(queue.backlog()) {
            let counts = is_pure && self.fast_retransmit > 0;
            // ACKs wait in the order of their numbers, so the first one that stays ends the search.
            while let Some(oldest) = waits.acks.first() {
                // Same number and window: a duplicate ACK.
                let is_duplicate = counts && oldest.ack == new;
                if !(oldest.ack.is_outnumbered(&new, self.also_windows) || is_duplicate) {
                    break;
                }
                // Each ACK is judged only once, so an ACK that stays in the queue leaves the list too.
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
        // Each judged ACK counts towards the share, so with a share the list must not contain ACKs that have left.
        self.connections.on_departure(given, self.share.is_all() && queue.next_place().is_some());
    }

    /// Returns the number of ACKs removed.
    pub fn filtered(&self) -> u64 {
        self.filtered
    }

    /// Returns the number of ACKs marked.
    pub fn marked(&self) -> u64 {
        self.marked
    }
}

/// Sets the flag on which a sender with `marked_retransmit` retransmits at once.
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
    /// Counts a pure ACK. Returns true if it is at least the `most`-th duplicate in a row and the filter has removed
    /// some of these.
    fn note(&mut self, ack: Numbers, most: u32) -> bool {
        if self.of == Some(ack) {
            self.count += 1;
        } else {
            *self = Duplicates { of: Some(ack), count: 0, filtered: false };
        }
        // Without a removed duplicate the sender can still count by itself.
        self.filtered && self.count >= most
    }
}
