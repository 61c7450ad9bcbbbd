//! The router in front of a link with a small MTU. It drops packets that do not fit, and notifies their sender with an
//! ICMP message (RFC 1191, section 4; RFC 4443, section 3.2).
//!
//! The router does not fragment: a packet without "don't fragment" is dropped without a message. As in Linux, the rate
//! of these messages is not limited.

use crate::{Outlet, Stage};
use lopsided_core::packet::NewPacket;
use lopsided_core::wire::{PROTOCOL_ICMP, PROTOCOL_ICMPV6, packet_too_big};
use lopsided_core::{Bytes, Cx, DropReason, Event, EventMask, Packet, Time, Transport};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Enforces the MTU of one direction of a link. Messages leave through the port of the opposite direction.
#[derive(Debug)]
pub struct MtuGate {
    mtu: u16,
    router: (Ipv4Addr, Ipv6Addr),
    /// Messages to send at `due`.
    messages: Vec<NewPacket>,
    /// Time at which the messages are sent; `None` if there are no messages.
    due: Option<Time>,
    refused: u64,
}

impl MtuGate {
    /// Creates a gate. `number` is its index among all gates of the network, and determines the router's address.
    pub fn new(mtu: u16, number: u16) -> MtuGate {
        let [high, low] = number.to_be_bytes();
        let router = (Ipv4Addr::new(10, 255, high, low), Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0xff, number));
        MtuGate { mtu, router, messages: Vec::new(), due: None, refused: 0 }
    }
}

impl Stage for MtuGate {
    fn handle_packet(&mut self, packet: Packet, out: &mut Outlet, cx: &mut Cx<'_>) {
        if packet.size() <= Bytes::new(u64::from(self.mtu)) {
            return out.forward(packet);
        }
        // RFC 1191, section 4: drop a packet that does not fit, and report the MTU to its sender.
        self.refused += 1;
        if is_answered(&packet) {
            self.messages.push(packet_too_big(&packet, self.mtu, self.router));
            // Send the message from a timer that expires at once. The message then follows all packets that are sent at
            // this instant.
            self.due = Some(cx.now());
        }
        cx.drop(packet, DropReason::TooBig);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.due
    }

    fn handle_timeout(&mut self, out: &mut Outlet, cx: &mut Cx<'_>) {
        self.due = None;
        for message in self.messages.drain(..) {
            let message = cx.originate(message);
            // The router is the source of this message, so report the message to observers like a packet that a host
            // sends.
            cx.trace(EventMask::HOSTS, || Event::Sent(&message));
            out.reverse(message);
        }
    }

    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("refused_packets", self.refused as f64);
    }
}

/// Returns true if the router reports the drop of this packet to the packet's sender, in an ICMP "packet too big"
/// message.
fn is_answered(packet: &Packet) -> bool {
    // RFC 1122, section 3.2.2: no ICMP error in response to an ICMP error. This check does not distinguish errors from
    // queries.
    let is_icmp = matches!(packet.transport(), Transport::Other { protocol: PROTOCOL_ICMP | PROTOCOL_ICMPV6 });
    !is_icmp && !packet.may_be_fragmented()
}
