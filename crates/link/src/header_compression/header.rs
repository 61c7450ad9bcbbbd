//! The header that a context stores, for the schemes that also compress options and ECN marks.

use lopsided_core::packet::{Addresses, Flags, TcpOptions};
use lopsided_core::{Ecn, Packet, Seq};

/// TCP's flags for ECN feedback. They use bits that TCP originally reserved.
pub(super) const FEEDBACK: u16 = Flags::ECE.0 | Flags::CWR.0 | Flags::AE.0;

/// The fields of a TCP/IP header that cannot be derived from the packet's length or the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub addresses: Addresses,
    pub ports: (u16, u16),
    pub dscp: u8,
    pub ttl: u8,
    /// IP's identification. `None` for IPv6.
    pub id: Option<u16>,
    pub seq: Seq,
    pub ack: Seq,
    pub window: u16,
    pub push: bool,
    pub options: TcpOptions,
    /// IP's ECN field, and TCP's flags for ECN feedback.
    pub reserved: (Ecn, u16),
}

impl Header {
    /// Returns the header of a packet. `None` if the packet opens or closes a connection, or has fields that [`Header`]
    /// does not store.
    pub fn of(packet: &Packet) -> Option<Header> {
        let tcp = packet.tcp().filter(|_| packet.is_read_whole())?;
        let (ip, flags) = (packet.ip(), tcp.flags);
        // RFC 2507, section 6, and RFC 6846 compress established connections only: ACK is set, and SYN, FIN, RST and
        // URG are not.
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
