//! A packet as the nodes hand it on: IP and transport header fields, a payload of real bytes or of a length alone, and,
//! where another host made it, its headers octet by octet.
//!
//! A [`Packet`] is a handle of 8 octets: a hop moves those. What it stands for lies in a box that the
//! [`crate::Accounting`] hands out and takes back, so that a run that has reached its steady state allocates nothing
//! for a packet.
//!
//! Fields are read by accessors and changed through [`crate::Cx`] alone (`mark`, `rewrite`), so that every change is in
//! the accounting. The time to live is the exception: a router lowers it with [`Packet::lower_ttl`].

mod booking;
mod editor;
mod ip;
mod payload;
mod raw;
mod tcp;
mod tcp_options;
#[cfg(test)]
mod tests;
mod transport;

pub use editor::PacketEditor;
pub use ip::{Addresses, DEFAULT_TTL, Ecn, IPV4_HEADER, IPV6_HEADER, IpHeader};
pub use payload::Payload;
pub(crate) use raw::{RawHeaders, RawTransport};
pub use tcp::{
    AccEcnOption, AccEcnOrder, Flags, MAX_TCP_OPTIONS, OtherOption, OtherOptions, RareOptions, SackBlock, SackBlocks,
    TCP_HEADER, TcpHeader, TcpOptions, Timestamps,
};
pub(crate) use tcp_options::{encode_options, parse_options};
pub use transport::{Transport, UDP_HEADER, UdpHeader};

use crate::{Bytes, Time};
pub(crate) use booking::{Booking, Ledger};
use std::net::{IpAddr, Ipv4Addr};
use tcp_options::reads_options;

/// The flow a packet is counted under, in the order of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// A packet that nobody has handed to the network yet: what [`crate::Cx::originate`] takes.
#[derive(Debug, Clone)]
pub struct NewPacket {
    pub(crate) flow: FlowId,
    pub(crate) ip: IpHeader,
    pub(crate) transport: Transport,
    pub(crate) payload: Payload,
    pub(crate) raw: Option<Box<RawHeaders>>,
}

impl NewPacket {
    /// A packet of lopsided's own making.
    #[inline]
    pub fn new(flow: FlowId, ip: IpHeader, transport: Transport, payload: Payload) -> NewPacket {
        NewPacket { flow, ip, transport, payload, raw: None }
    }

    /// The same packet, counted under another flow.
    #[must_use]
    pub fn with_flow(self, flow: FlowId) -> NewPacket {
        NewPacket { flow, ..self }
    }

    pub fn flow(&self) -> FlowId {
        self.flow
    }

    pub fn ip(&self) -> &IpHeader {
        &self.ip
    }

    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    pub fn payload(&self) -> &Payload {
        &self.payload
    }

    /// The size of the IP packet.
    #[inline]
    pub fn size(&self) -> Bytes {
        let headers = match &self.raw {
            None => self.ip.addresses.header_len() + self.transport.header_len(),
            Some(raw) => raw.octets().len() as u32,
        };
        Bytes::new(u64::from(headers + self.payload.len()))
    }
}

/// What a packet of TCP is beside its header: what [`crate::Cx::originate_tcp`] takes.
#[derive(Debug)]
pub struct AroundTcp {
    pub flow: FlowId,
    pub ip: IpHeader,
    pub payload: Payload,
}

/// An IP packet in flight. Without `Clone`: it is moved, and its journey ends in [`crate::Cx::deliver`],
/// [`crate::Cx::drop`] or [`crate::Cx::absorb`]. Where one of the accounting is forgotten instead, a debug build panics
/// at that place; in a release build the audit at the end of the run finds it.
#[must_use = "a packet ends by Cx::deliver, Cx::drop or Cx::absorb"]
#[derive(Debug)]
pub struct Packet(pub(crate) Box<Fields>);

#[derive(Debug)]
pub(crate) struct Fields {
    pub id: u64,
    pub sent_at: Time,
    /// That of the whole packet, known at every hop without a look at options.
    pub size: Bytes,
    pub flow: FlowId,
    pub ip: IpHeader,
    pub transport: Transport,
    pub payload: Payload,
    pub raw: Option<Box<RawHeaders>>,
    pub booking: Booking,
}

impl Fields {
    /// `size` is that of the whole packet.
    #[inline]
    pub fn new(id: u64, sent_at: Time, size: Bytes, new: NewPacket, booking: Booking) -> Fields {
        let NewPacket { flow, ip, transport, payload, raw } = new;
        Fields { id, sent_at, size, flow, ip, transport, payload, raw, booking }
    }

    /// As [`Fields::new`], in the place of a packet that ended.
    #[inline]
    pub fn renew(&mut self, id: u64, sent_at: Time, size: Bytes, new: NewPacket, booking: Booking) {
        self.size = size;
        let NewPacket { flow, ip, transport, payload, raw } = new;
        self.id = id;
        self.sent_at = sent_at;
        self.flow = flow;
        self.ip = ip;
        self.transport = transport;
        self.payload = payload;
        self.raw = raw;
        self.booking = booking;
    }

    /// The header of TCP in the place of a packet that ended: of some segment, or of none.
    #[inline]
    pub fn tcp_mut(&mut self) -> &mut TcpHeader {
        if !matches!(self.transport, Transport::Tcp(_)) {
            self.transport = Transport::Tcp(TcpHeader::default());
        }
        match &mut self.transport {
            Transport::Tcp(header) => header,
            Transport::Udp(_) | Transport::Other { .. } => unreachable!("it is TCP"),
        }
    }

    /// As [`Fields::renew`], around the header of TCP that is here.
    #[inline]
    pub fn renew_around_tcp(&mut self, id: u64, sent_at: Time, size: Bytes, around: AroundTcp, booking: Booking) {
        let AroundTcp { flow, ip, payload } = around;
        debug_assert!(self.raw.is_none(), "it was cleared");
        self.size = size;
        self.id = id;
        self.sent_at = sent_at;
        self.flow = flow;
        self.ip = ip;
        self.payload = payload;
        self.booking = booking;
    }

    /// Of no packet: for a box that waits for its next one.
    pub fn blank() -> Fields {
        let ip = IpHeader::v4(Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED);
        let transport = Transport::Udp(UdpHeader { src_port: 0, dst_port: 0 });
        let new = NewPacket::new(FlowId(0), ip, transport, Payload::EMPTY);
        Fields::new(0, Time::ZERO, Bytes::ZERO, new, Booking::default())
    }

    /// Lets go of what is large, for a box that waits for its next packet.
    #[inline]
    pub fn clear(&mut self) {
        self.payload = Payload::EMPTY;
        self.raw = None;
        self.booking.end();
    }
}

impl Packet {
    /// A packet that is in nobody's accounting: for tests, and for what is read from a file. `id` is unique within its
    /// run.
    pub fn unbooked(id: u64, sent_at: Time, new: NewPacket) -> Packet {
        let size = new.size();
        Packet(Box::new(Fields::new(id, sent_at, size, new, Booking::default())))
    }

    /// Its contents, for another packet like it.
    pub fn to_new(&self) -> NewPacket {
        let Fields { flow, ip, transport, payload, raw, .. } = &*self.0;
        NewPacket { flow: *flow, ip: *ip, transport: transport.clone(), payload: payload.clone(), raw: raw.clone() }
    }

    /// Unique within a run; the number of the node that made it, and a count.
    #[inline]
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// When its sender made it.
    #[inline]
    pub fn sent_at(&self) -> Time {
        self.0.sent_at
    }

    #[inline]
    pub fn flow(&self) -> FlowId {
        self.0.flow
    }

    /// The size of the IP packet.
    #[inline]
    pub fn size(&self) -> Bytes {
        self.0.size
    }

    #[inline]
    pub fn ip(&self) -> &IpHeader {
        &self.0.ip
    }

    #[inline]
    pub fn src(&self) -> IpAddr {
        self.0.ip.addresses.src()
    }

    #[inline]
    pub fn dst(&self) -> IpAddr {
        self.0.ip.addresses.dst()
    }

    #[inline]
    pub fn ecn(&self) -> Ecn {
        self.0.ip.ecn
    }

    pub fn dscp(&self) -> u8 {
        self.0.ip.dscp
    }

    #[inline]
    pub fn ttl(&self) -> u8 {
        self.0.ip.ttl
    }

    #[inline]
    pub fn transport(&self) -> &Transport {
        &self.0.transport
    }

    /// The TCP header, where there is one.
    #[inline]
    pub fn tcp(&self) -> Option<&TcpHeader> {
        match &self.0.transport {
            Transport::Tcp(header) => Some(header),
            _ => None,
        }
    }

    #[inline]
    pub fn payload(&self) -> &Payload {
        &self.0.payload
    }

    /// Whether another host made it, so that its headers are kept octet by octet.
    pub fn is_foreign(&self) -> bool {
        self.0.raw.is_some()
    }

    /// Whether a router may cut it into fragments: not what lopsided's own hosts send, and nothing of IPv6.
    pub fn may_be_fragmented(&self) -> bool {
        self.0.raw.as_ref().is_some_and(|raw| raw.may_be_fragmented())
    }

    /// IPv4's identification: that of the host that made it, or a count of the packets. IPv6 has none.
    pub fn identification(&self) -> u16 {
        self.0.raw.as_ref().map_or(self.0.id as u16, |raw| raw.identification())
    }

    /// Whether its fields say all that its headers say. Not so where a packet that another host made has IP options,
    /// extension headers, or TCP options that cannot be read: those stand in its octets alone.
    pub fn is_read_whole(&self) -> bool {
        let Some(raw) = &self.0.raw else { return true };
        raw.has_plain_ip(&self.0.ip) && (self.tcp().is_none() || raw.tcp_options().is_some_and(reads_options))
    }

    /// Its transport understands marks: ECT(0), ECT(1), or marked already.
    #[inline]
    pub fn is_ecn_capable(&self) -> bool {
        self.0.ip.ecn != Ecn::NotEct
    }

    /// A router passes it on: one hop less to live. False if it has none left, and then nothing is changed.
    #[inline]
    #[must_use]
    pub fn lower_ttl(&mut self) -> bool {
        if self.0.ip.ttl <= 1 {
            return false;
        }
        self.0.ip.ttl -= 1;
        if let Some(raw) = &mut self.0.raw {
            raw.set_ttl(self.0.ip.ttl);
        }
        true
    }

    #[inline]
    pub(crate) fn set_ecn(&mut self, ecn: Ecn) {
        self.0.ip.ecn = ecn;
        if let Some(raw) = &mut self.0.raw {
            raw.set_ecn(ecn);
        }
    }
}

/// A packet whose journey ended at its destination: its contents can be read, and it can go nowhere else.
/// [`crate::Cx::recycle`] takes back its box.
#[derive(Debug)]
pub struct Delivered(pub(crate) Packet);

impl std::ops::Deref for Delivered {
    type Target = Packet;

    #[inline]
    fn deref(&self) -> &Packet {
        &self.0
    }
}
