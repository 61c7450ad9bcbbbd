//! The paper's rules, `cumulative` and `window`: an ACK is judged by its number and window only. With
//! `fast_retransmit`, duplicates are removed too, and the filter counts them for the sender.

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

#[derive(Debug)]
pub(super) struct ByNumber {
    also_windows: bool,
    fast_retransmit: u32,
    bounds: Bounds,
    share: Share,
    connections: Connections<Waits>,
    filtered: u64,
    marked: u64,
}

/// The filter's state of one connection.
#[derive(Debug, Default)]
struct Waits {
    /// The connection's ACKs in the queue, oldest first. An ACK that left or was dropped may be noticed later.
    acks: Few<WaitingAck<Numbers>>,
    duplicates: Duplicates,
}

/// The last ACK, how often it was repeated, and whether a repetition was filtered.
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

    pub fn on_arrival(&mut self, packet: &mut Packet, queue: &mut impl Qdisc, cx: &mut Cx<'_>) {
        let Some(header) = packet.tcp() else { return };
        let connection = Connection::of(packet, header);
        if !ack::acknowledges(header) {
            // The packet opens or ends a connection: the state belongs to another one.
            return self.connections.forget(connection);
        }
        let (new, is_pure) = (Numbers::of(header), ack::is_pure(packet, header));
        let Some(waits) = self.connections.get(connection, is_pure) else { return };
        if self.bounds.hold(queue.backlog()) {
            let counts = is_pure && self.fast_retransmit > 0;
            while let Some(oldest) = waits.acks.first() {
                let is_duplicate = counts && oldest.ack == new;
                if !(oldest.ack.is_outnumbered(&new, self.also_windows) || is_duplicate) {
                    break;
                }
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

    /// A share counts the queue including the arriving packet.
    #[inline]
    pub fn on_departure(&mut self, given: &QueuedPacket, queue: &impl Qdisc) {
        self.connections.on_departure(given, self.share.is_all() && queue.next_place().is_some());
    }

    pub fn filtered(&self) -> u64 {
        self.filtered
    }

    pub fn marked(&self) -> u64 {
        self.marked
    }
}

/// Sets the bit on which a sender with `marked_retransmit` repairs at once.
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
    /// Counts a pure ACK. True if it is a duplicate beyond `most`, some of which the filter removed.
    fn note(&mut self, ack: Numbers, most: u32) -> bool {
        if self.of == Some(ack) {
            self.count += 1;
        } else {
            *self = Duplicates { of: Some(ack), count: 0, filtered: false };
        }
        self.filtered && self.count >= most
    }
}
