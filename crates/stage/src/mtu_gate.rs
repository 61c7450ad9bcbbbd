//! The router before a link whose MTU is less than what comes: it drops what does not fit and says so to the sender
//! (RFC 1191 section 4, RFC 4443 section 3.2), by a message that leaves on the way back, behind all that the sender
//! sends at that instant.
//!
//! Leaves out fragments. All that lopsided's own hosts send says "don't fragment"; a packet of another host that may be
//! fragmented is dropped without a message. Messages are not limited in number, as Linux does not limit this kind.

use crate::{Outlet, Stage};
use lopsided_core::packet::NewPacket;
use lopsided_core::wire::{PROTOCOL_ICMP, PROTOCOL_ICMPV6, packet_too_big};
use lopsided_core::{Bytes, Cx, DropReason, Event, EventMask, Packet, Time, Transport};
use std::net::{Ipv4Addr, Ipv6Addr};

/// One direction of a link with an MTU. Its messages leave by the port of the other direction.
#[derive(Debug)]
pub struct MtuGate {
    mtu: u16,
    router: (Ipv4Addr, Ipv6Addr),
    /// Messages to send, and since when.
    messages: Vec<NewPacket>,
    due: Option<Time>,
    refused: u64,
}

impl MtuGate {
    /// Of the `number`-th such router of a network, which gives it its address.
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
        self.refused += 1;
        if is_answered(&packet) {
            self.messages.push(packet_too_big(&packet, self.mtu, self.router));
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
            cx.trace(EventMask::HOSTS, || Event::Sent(&message));
            out.reverse(message);
        }
    }

    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("refused_packets", self.refused as f64);
    }
}

/// No message answers a message (RFC 1122 section 3.2.2); one that asks and answers may be any.
fn is_answered(packet: &Packet) -> bool {
    let is_icmp = matches!(packet.transport(), Transport::Other { protocol: PROTOCOL_ICMP | PROTOCOL_ICMPV6 });
    !is_icmp && !packet.may_be_fragmented()
}
