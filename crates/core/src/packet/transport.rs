//! The header after the IP header: TCP, UDP, or the header of another protocol, which is forwarded without being
//! parsed.

use super::tcp::TcpHeader;

/// Length of a UDP header in bytes.
pub const UDP_HEADER: u32 = 8;

/// The transport header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A TCP header.
    Tcp(TcpHeader),
    /// A UDP header.
    Udp(UdpHeader),
    /// Another protocol, or a fragment. The packet is forwarded without being parsed, so its transport header counts as
    /// part of the payload.
    Other {
        /// The protocol number in the IP header.
        protocol: u8,
    },
}

impl Transport {
    #[inline]
    /// Returns the length of the header in bytes.
    pub fn header_len(&self) -> u32 {
        match self {
            Transport::Tcp(header) => header.len(),
            Transport::Udp(_) => UDP_HEADER,
            Transport::Other { .. } => 0,
        }
    }
}

/// The ports of a UDP datagram (RFC 768). Length and checksum are computed from the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
}
