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
    AccEcnOption, AccEcnOrder, Flags, MAX_TCP_OPTIONS, OtherOption, OtherOptions, SackBlock, SackBlocks, TCP_HEADER,
    TcpHeader, TcpOptions, Timestamps,
};
pub(crate) use tcp_options::{encode_options, parse_options};
pub use transport::{Transport, UDP_HEADER, UdpHeader};

use crate::{Bytes, Time};
pub(crate) use booking::{Booking, Ledger};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
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
    /// The flow that the packet belongs to.
    pub flow: FlowId,
    /// The IP header.
    pub ip: IpHeader,
    /// The payload.
    pub payload: Payload,
}

/// An IP packet in flight. Without `Clone`: it is moved, and its journey ends in [`crate::Cx::deliver`],
/// [`crate::Cx::drop`] or [`crate::Cx::absorb`]. Where one of the accounting is forgotten instead, a debug build panics
/// at that place; in a release build the audit at the end of the run finds it.
#[must_use = "a packet ends by Cx::deliver, Cx::drop or Cx::absorb"]
#[derive(Debug)]
pub struct Packet(pub(crate) Box<Fields>);

/// The fields of a packet, laid out so that what every packet has takes little: tens of thousands of flows have a million
/// of them on their way. `tests` hold its size.
#[derive(Debug)]
pub(crate) struct Fields {
    pub id: u64,
    pub sent_at: Time,
    /// That of the whole packet in octets, known at every hop without a look at options.
    pub size: u32,
    pub flow: FlowId,
    /// Of version 4; those of version 6 lie apart.
    src: Ipv4Addr,
    dst: Ipv4Addr,
    payload_len: u32,
    pub ecn: Ecn,
    pub dscp: u8,
    pub ttl: u8,
    pub transport: Transport,
    pub apart: Option<Box<Apart>>,
    pub booking: Booking,
}

/// What few packets have.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    v6: Option<(Ipv6Addr, Ipv6Addr)>,
    bytes: Option<Arc<Vec<u8>>>,
    pub raw: Option<Box<RawHeaders>>,
}

impl Fields {
    /// `size` is that of the whole packet.
    #[inline]
    pub fn new(id: u64, sent_at: Time, size: Bytes, new: NewPacket, booking: Booking) -> Fields {
        let NewPacket { flow, ip, transport, payload, raw } = new;
        let (src, dst, v6) = parts(ip.addresses);
        let (payload_len, bytes) = payload.into_parts();
        let IpHeader { ecn, dscp, ttl, .. } = ip;
        let size = size.get() as u32;
        let mut fields =
            Fields { id, sent_at, size, flow, src, dst, payload_len, ecn, dscp, ttl, transport, apart: None, booking };
        fields.set_apart(v6, bytes, raw);
        fields
    }

    /// As [`Fields::new`], in the place of a packet that ended.
    #[inline]
    pub fn renew(&mut self, id: u64, sent_at: Time, size: Bytes, new: NewPacket, booking: Booking) {
        self.size = size.get() as u32;
        let NewPacket { flow, ip, transport, payload, raw } = new;
        self.id = id;
        self.sent_at = sent_at;
        self.flow = flow;
        let (src, dst, v6) = parts(ip.addresses);
        (self.src, self.dst) = (src, dst);
        (self.ecn, self.dscp, self.ttl) = (ip.ecn, ip.dscp, ip.ttl);
        self.transport = transport;
        let (payload_len, bytes) = payload.into_parts();
        self.payload_len = payload_len;
        self.set_apart(v6, bytes, raw);
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
        debug_assert!(self.raw().is_none(), "it was cleared");
        self.size = size.get() as u32;
        self.id = id;
        self.sent_at = sent_at;
        self.flow = flow;
        let (src, dst, v6) = parts(ip.addresses);
        (self.src, self.dst) = (src, dst);
        (self.ecn, self.dscp, self.ttl) = (ip.ecn, ip.dscp, ip.ttl);
        let (payload_len, bytes) = payload.into_parts();
        self.payload_len = payload_len;
        self.set_apart(v6, bytes, None);
        self.booking = booking;
    }

    /// What a new packet has apart, in the place that the one before had where that serves.
    #[inline(always)]
    fn set_apart(
        &mut self,
        v6: Option<(Ipv6Addr, Ipv6Addr)>,
        bytes: Option<Arc<Vec<u8>>>,
        raw: Option<Box<RawHeaders>>,
    ) {
        if v6.is_some() || bytes.is_some() || raw.is_some() || self.apart.is_some() {
            self.renew_apart(Apart { v6, bytes, raw });
        }
    }

    #[cold]
    fn renew_apart(&mut self, new: Apart) {
        if new.v6.is_none() && new.bytes.is_none() && new.raw.is_none() {
            self.apart = None;
        } else {
            **self.apart.get_or_insert_default() = new;
        }
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
        if let Some(apart) = &mut self.apart {
            (apart.bytes, apart.raw) = (None, None);
        }
        self.booking.end();
    }

    #[inline]
    pub fn addresses(&self) -> Addresses {
        match self.apart.as_ref().and_then(|apart| apart.v6) {
            None => Addresses::V4 { src: self.src, dst: self.dst },
            Some((src, dst)) => Addresses::V6 { src, dst },
        }
    }

    /// Of the same version of IP.
    pub fn set_addresses(&mut self, addresses: Addresses) {
        let (src, dst, v6) = parts(addresses);
        (self.src, self.dst) = (src, dst);
        if let (Some(apart), Some(_)) = (&mut self.apart, v6) {
            apart.v6 = v6;
        }
    }

    #[inline]
    pub fn payload(&self) -> Payload {
        match &self.apart {
            None => Payload::virtual_len(self.payload_len),
            Some(apart) => Payload::from_parts(self.payload_len, apart.bytes.clone()),
        }
    }

    #[inline]
    pub fn payload_len(&self) -> u32 {
        self.payload_len
    }

    pub fn set_payload(&mut self, payload: Payload) {
        let (payload_len, bytes) = payload.into_parts();
        self.payload_len = payload_len;
        if self.apart.is_some() || bytes.is_some() {
            self.apart.get_or_insert_default().bytes = bytes;
        }
    }

    #[inline]
    pub fn raw(&self) -> Option<&RawHeaders> {
        self.apart.as_ref()?.raw.as_deref()
    }

    #[inline]
    pub fn raw_mut(&mut self) -> Option<&mut RawHeaders> {
        self.apart.as_mut()?.raw.as_deref_mut()
    }
}

/// Source and destination of version 4, and those of version 6.
#[inline]
fn parts(addresses: Addresses) -> (Ipv4Addr, Ipv4Addr, Option<(Ipv6Addr, Ipv6Addr)>) {
    match addresses {
        Addresses::V4 { src, dst } => (src, dst, None),
        Addresses::V6 { src, dst } => (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED, Some((src, dst))),
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
        let raw = self.0.apart.as_ref().and_then(|apart| apart.raw.clone());
        NewPacket {
            flow: self.0.flow,
            ip: self.ip(),
            transport: self.0.transport.clone(),
            payload: self.payload(),
            raw,
        }
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
    /// The flow that the packet belongs to.
    pub fn flow(&self) -> FlowId {
        self.0.flow
    }

    /// The size of the IP packet.
    #[inline]
    pub fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.0.size))
    }

    #[inline]
    /// The IP header.
    pub fn ip(&self) -> IpHeader {
        let Fields { ecn, dscp, ttl, .. } = *self.0;
        IpHeader { addresses: self.0.addresses(), ecn, dscp, ttl }
    }

    #[inline]
    /// The source address.
    pub fn src(&self) -> IpAddr {
        self.0.addresses().src()
    }

    #[inline]
    /// The destination address.
    pub fn dst(&self) -> IpAddr {
        self.0.addresses().dst()
    }

    /// Whether it comes from there.
    #[inline]
    pub fn is_from(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) if self.0.apart.is_none() => self.0.src == address,
            _ => self.src() == address,
        }
    }

    /// Whether it goes there.
    #[inline]
    pub fn is_to(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) if self.0.apart.is_none() => self.0.dst == address,
            _ => self.dst() == address,
        }
    }

    #[inline]
    /// The ECN field.
    pub fn ecn(&self) -> Ecn {
        self.0.ecn
    }

    /// The differentiated services codepoint.
    pub fn dscp(&self) -> u8 {
        self.0.dscp
    }

    #[inline]
    /// The time to live, or IPv6's hop limit.
    pub fn ttl(&self) -> u8 {
        self.0.ttl
    }

    #[inline]
    /// The transport header.
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
    /// The payload.
    pub fn payload(&self) -> Payload {
        self.0.payload()
    }

    /// Octets of data behind the headers.
    #[inline]
    pub fn payload_len(&self) -> u32 {
        self.0.payload_len()
    }

    /// Whether another host made it, so that its headers are kept octet by octet.
    pub fn is_foreign(&self) -> bool {
        self.0.raw().is_some()
    }

    /// Whether a router may cut it into fragments: not what lopsided's own hosts send, and nothing of IPv6.
    pub fn may_be_fragmented(&self) -> bool {
        self.0.raw().is_some_and(|raw| raw.may_be_fragmented())
    }

    /// IPv4's identification: that of the host that made it, or a count of the packets. IPv6 has none.
    pub fn identification(&self) -> u16 {
        self.0.raw().map_or(self.0.id as u16, |raw| raw.identification())
    }

    /// Whether its fields say all that its headers say. Not so where a packet that another host made has IP options,
    /// extension headers, or TCP options that cannot be read: those stand in its octets alone.
    pub fn is_read_whole(&self) -> bool {
        let Some(raw) = self.0.raw() else { return true };
        raw.has_plain_ip(&self.ip()) && (self.tcp().is_none() || raw.tcp_options().is_some_and(reads_options))
    }

    /// Its transport understands marks: ECT(0), ECT(1), or marked already.
    #[inline]
    pub fn is_ecn_capable(&self) -> bool {
        self.0.ecn != Ecn::NotEct
    }

    /// A router passes it on: one hop less to live. False if it has none left, and then nothing is changed.
    #[inline]
    #[must_use]
    pub fn lower_ttl(&mut self) -> bool {
        self.lower_ttl_by(1)
    }

    /// As so many routers do, one after another. False, and nothing is changed, if one of them would lose it.
    #[inline]
    pub fn lower_ttl_by(&mut self, routers: u8) -> bool {
        if self.0.ttl <= routers {
            return false;
        }
        self.0.ttl -= routers;
        let ttl = self.0.ttl;
        if let Some(raw) = self.0.raw_mut() {
            raw.set_ttl(ttl);
        }
        true
    }

    #[inline]
    pub(crate) fn set_ecn(&mut self, ecn: Ecn) {
        self.0.ecn = ecn;
        if let Some(raw) = self.0.raw_mut() {
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
