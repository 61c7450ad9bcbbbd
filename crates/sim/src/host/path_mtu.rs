//! Handles a router's message that a packet was too big (RFC 1191).

use super::Host;
use crate::host::ports::Owner;
use lopsided_core::wire::{PacketTooBig, read_packet_too_big};
use lopsided_core::{Bytes, Cx, DropReason, Packet, Time};
use lopsided_tcp::Endpoint;

impl Host {
    /// Handles a packet that is neither TCP nor UDP.
    #[cold]
    pub(super) fn take_message(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        // Ignore messages that do not quote a packet of this host.
        let Some(message) = read_packet_too_big(&packet).filter(|message| message.src == self.addr) else {
            return cx.drop(packet, DropReason::NoSocket);
        };
        let packet = cx.deliver(packet);
        cx.recycle(packet);
        if let Some(slot) = self.connection_of(&message) {
            self.shrink_segments(slot, &message, cx.now());
        }
    }

    /// Returns the connection that sent the packet that was too big.
    fn connection_of(&self, message: &PacketTooBig) -> Option<u32> {
        let remote = Endpoint { addr: message.dst, port: message.dst_port };
        let slot = match self.sockets.ports.owner(message.src_port)? {
            Owner::Connection(slot) => slot,
            Owner::Service(app) => {
                let accepted = &self.sockets.apps[app as usize].accepted;
                accepted.iter().find(|(from, _)| *from == remote)?.1
            }
            Owner::Datagrams(_) => return None,
        };
        (self.sockets.conn(slot)?.connection.remote() == remote).then_some(slot)
    }

    fn shrink_segments(&mut self, slot: u32, message: &PacketTooBig, now: Time) {
        let Some(conn) = self.sockets.conn_mut(slot) else { return };
        let mtu = Bytes::new(u64::from(message.mtu));
        // RFC 5927, section 4.1: to reject blind attacks, the connection checks the sequence number in the quoted
        // packet.
        let Some(known) = conn.connection.handle_too_big(now, message.seq, mtu) else { return };
        self.sockets.paths.learn_mtu(message.dst, known);
        self.sockets.ready.push(self.sockets.number(slot));
    }
}
