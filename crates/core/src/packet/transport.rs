//! What follows the IP header: TCP, UDP, or a protocol that is carried as it came.

use super::tcp::TcpHeader;

/// The octets of a UDP header.
pub const UDP_HEADER: u32 = 8;

/// What follows the IP header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A TCP header.
    Tcp(TcpHeader),
    /// A UDP header.
    Udp(UdpHeader),
    /// Another protocol, or one piece of a fragmented packet, carried as it came: its header is part of the payload.
    Other {
        /// The protocol number in the IP header.
        protocol: u8,
    },
}

impl Transport {
    #[inline]
    /// Length of the header in bytes.
    pub fn header_len(&self) -> u32 {
        match self {
            Transport::Tcp(header) => header.len(),
            Transport::Udp(_) => UDP_HEADER,
            Transport::Other { .. } => 0,
        }
    }
}

/// The ports of a UDP datagram (RFC 768); length and checksum follow from the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
}
