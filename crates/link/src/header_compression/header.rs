//! The stored header of schemes that carry options and marks.

use lopsided_core::packet::{Addresses, Flags, TcpOptions};
use lopsided_core::{Ecn, Packet, Seq};

/// The flags in bits that TCP originally reserved.
pub(super) const FEEDBACK: u16 = Flags::ECE.0 | Flags::CWR.0 | Flags::AE.0;

/// A header of TCP over IP, as far as it does not follow from the packet's length or the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub addresses: Addresses,
    pub ports: (u16, u16),
    pub dscp: u8,
    pub ttl: u8,
    /// `None` in IPv6.
    pub id: Option<u16>,
    pub seq: Seq,
    pub ack: Seq,
    pub window: u16,
    pub push: bool,
    pub options: TcpOptions,
    /// Marks, and the flags that feed them back.
    pub reserved: (Ecn, u16),
}

impl Header {
    /// `None` if the packet is sent unchanged: it opens or ends a connection, or has fields other than those above.
    pub fn of(packet: &Packet) -> Option<Header> {
        let tcp = packet.tcp().filter(|_| packet.is_read_whole())?;
        let (ip, flags) = (packet.ip(), tcp.flags);
        if flags.0 & !FEEDBACK & !Flags::PSH.0 != Flags::ACK.0 {
            return None;
        }
        Some(Header {
            addresses: ip.addresses,
            ports: (tcp.src_port, tcp.dst_port),
            dscp: ip.dscp,
            ttl: ip.ttl,
            id: matches!(ip.addresses, Addresses::V4 { .. }).then(|| packet.identification()),
            seq: tcp.seq,
            ack: tcp.ack,
            window: tcp.window,
            push: flags.has(Flags::PSH),
            options: tcp.options.clone(),
            reserved: (ip.ecn, flags.0 & FEEDBACK),
        })
    }

    pub fn is_connection_of(&self, other: &Header) -> bool {
        self.addresses == other.addresses && self.ports == other.ports
    }
}
