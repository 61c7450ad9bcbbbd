//! A packet before it enters the network.

use super::{IpHeader, Payload, RawHeaders, Transport};
use crate::Bytes;

/// The flow that a packet belongs to. Flows are numbered in their order in the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// A packet before it enters the network: the argument of [`crate::Cx::originate`].
///
/// # Examples
///
/// ```
/// use lopsided_core::packet::UdpHeader;
/// use lopsided_core::{FlowId, IpHeader, NewPacket, Payload, Transport};
/// use std::net::Ipv4Addr;
///
/// let ip = IpHeader::v4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
/// let udp = Transport::Udp(UdpHeader { src_port: 5000, dst_port: 53 });
/// let new = NewPacket::new(FlowId(0), ip, udp, Payload::virtual_len(100));
/// assert_eq!(new.size().get(), 20 + 8 + 100);
/// ```
#[derive(Debug, Clone)]
pub struct NewPacket {
    pub(crate) flow: FlowId,
    pub(crate) ip: IpHeader,
    pub(crate) transport: Transport,
    pub(crate) payload: Payload,
    pub(crate) raw: Option<Box<RawHeaders>>,
}

impl NewPacket {
    /// Creates a packet of one of lopsided's own hosts. Its headers have no options other than those of
    /// [`super::TcpOptions`].
    #[inline]
    pub fn new(flow: FlowId, ip: IpHeader, transport: Transport, payload: Payload) -> NewPacket {
        NewPacket { flow, ip, transport, payload, raw: None }
    }

    /// Returns the same packet as part of the flow `flow`.
    #[must_use]
    pub fn with_flow(self, flow: FlowId) -> NewPacket {
        NewPacket { flow, ..self }
    }

    /// The flow that the packet belongs to.
    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// The IP header.
    pub fn ip(&self) -> &IpHeader {
        &self.ip
    }

    /// The transport header.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// The payload.
    pub fn payload(&self) -> &Payload {
        &self.payload
    }

    /// Returns the size of the IP packet, including its headers.
    #[inline]
    pub fn size(&self) -> Bytes {
        let headers = match &self.raw {
            None => self.ip.addresses.header_len() + self.transport.header_len(),
            Some(raw) => raw.octets().len() as u32,
        };
        Bytes::new(u64::from(headers + self.payload.len()))
    }
}

/// All parts of a TCP packet except the TCP header. The closure of [`crate::Cx::originate_tcp`] returns this value.
#[derive(Debug)]
pub struct AroundTcp {
    /// The flow that the packet belongs to.
    pub flow: FlowId,
    /// The IP header.
    pub ip: IpHeader,
    /// The payload.
    pub payload: Payload,
}
