//! Packets: the fields of the IP and transport headers, and a payload that consists of bytes or only of a length. A
//! foreign packet, which was created outside of lopsided, also keeps its original headers.
//!
//! A [`Packet`] is a handle of 8 bytes to a box. The [`crate::Accounting`] reuses the boxes.
//!
//! Fields are changed only through [`crate::Cx`] (`mark`, `rewrite`), so that the accounting records every change. The
//! exception is the TTL ([`Packet::lower_ttl`]).

mod ack_prefix;
mod booking;
mod editor;
mod ip;
mod new_packet;
mod payload;
mod raw;
mod tcp;
mod tcp_options;
#[cfg(test)]
mod tests;
mod transport;

pub use ack_prefix::AckPrefix;
pub use editor::PacketEditor;
pub use ip::{Addresses, DEFAULT_TTL, Ecn, IPV4_HEADER, IPV6_HEADER, IpHeader};
pub use new_packet::{AroundTcp, FlowId, NewPacket};
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

/// An IP packet in flight. It does not implement `Clone`, and it ends in [`crate::Cx::deliver`], [`crate::Cx::drop`] or
/// [`crate::Cx::absorb`].
///
/// If a packet is freed in any other way, a debug build panics. A release build reports the packet at the end of the
/// run.
#[must_use = "a packet ends by Cx::deliver, Cx::drop or Cx::absorb"]
#[derive(Debug)]
pub struct Packet(pub(crate) Box<Fields>);

/// The fields of a packet. Rare fields are in `apart`, because 10,000 flows can have a million packets in flight. The
/// length of the payload is computed from the size.
#[derive(Debug)]
pub(crate) struct Fields {
    /// Number of the packet, unique within a run, see [`Packet::id`].
    pub id: u64,
    /// Rare fields; `None` if the packet has no rare fields.
    pub apart: Option<Box<Apart>>,
    pub flow: FlowId,
    /// Source address if the packet is IPv4. IPv6 addresses are in `apart`.
    src: Ipv4Addr,
    dst: Ipv4Addr,
    /// Size of the whole packet in bytes, stored to save time at every hop; [`LARGE`] if the size is in `apart`.
    size: u16,
    /// The traffic class: the bits of ECN below those of DSCP.
    class: u8,
    pub ttl: u8,
    pub transport: Transport,
    /// In debug builds, checks that the packet is delivered, dropped or absorbed before its memory is freed.
    pub booking: Booking,
}

/// Stored instead of a size of at least 65,535 bytes.
const LARGE: u16 = u16::MAX;

/// Fields that few packets need.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    /// Source and destination address of IPv6.
    v6: Option<(Ipv6Addr, Ipv6Addr)>,
    /// The bytes of the payload; `None` if the payload consists only of a length.
    bytes: Option<Arc<Vec<u8>>>,
    /// The original headers of a foreign packet; `None` for a packet of lopsided's own hosts.
    pub raw: Option<Box<RawHeaders>>,
    /// Time at which the packet was created; `None` for TCP, which measures its delays with timestamps and ACKs.
    sent_at: Option<Time>,
    /// The size of the packet if it is at least 65,535 bytes, otherwise 0.
    size: u32,
}

impl Apart {
    /// True if no field is set.
    fn is_blank(&self) -> bool {
        let Apart { v6, bytes, raw, sent_at, size } = self;
        v6.is_none() && bytes.is_none() && raw.is_none() && sent_at.is_none() && *size == 0
    }
}

impl Fields {
    /// Creates the fields of a new packet. `size` is the size of the whole packet.
    #[inline]
    pub fn new(id: u64, sent_at: Time, size: Bytes, new: NewPacket, booking: Booking) -> Fields {
        let mut fields = Fields::blank();
        fields.renew(id, sent_at, size, new, booking);
        fields
    }

    /// Reuses the memory of a delivered or dropped packet: sets all fields to those of a new packet, like
    /// [`Fields::new`].
    #[inline]
    pub fn renew(&mut self, id: u64, sent_at: Time, size: Bytes, new: NewPacket, booking: Booking) {
        let NewPacket { flow, ip, transport, payload, raw } = new;
        let sent_at = (!matches!(transport, Transport::Tcp(_))).then_some(sent_at);
        self.transport = transport;
        self.renew_around(id, size, AroundTcp { flow, ip, payload }, booking, (sent_at, raw));
    }

    /// Returns the TCP header in the memory of an old packet, to be overwritten.
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

    /// Like [`Fields::renew`], but keeps the TCP header that was written through [`Fields::tcp_mut`].
    #[inline]
    pub fn renew_around_tcp(&mut self, id: u64, size: Bytes, around: AroundTcp, booking: Booking) {
        // A box that held a foreign packet must not pass its raw headers on to a new segment.
        debug_assert!(self.raw().is_none(), "it was cleared");
        self.renew_around(id, size, around, booking, (None, None));
    }

    #[inline(always)]
    fn renew_around(
        &mut self,
        id: u64,
        size: Bytes,
        around: AroundTcp,
        booking: Booking,
        (sent_at, raw): (Option<Time>, Option<Box<RawHeaders>>),
    ) {
        let AroundTcp { flow, ip, payload } = around;
        self.id = id;
        self.flow = flow;
        let (src, dst, v6) = parts(ip.addresses);
        (self.src, self.dst) = (src, dst);
        (self.class, self.ttl) = (ip.ecn as u8 | ip.dscp << 2, ip.ttl);
        let (short, size) = short_size(size.get() as u32);
        self.size = short;
        let bytes = payload.into_parts().1;
        // A typical packet (TCP, IPv4, virtual payload, own host) has no rare fields and skips this branch, unless the
        // box still contains the rare fields of an earlier packet.
        if v6.is_some() || bytes.is_some() || raw.is_some() || sent_at.is_some() || size > 0 || self.apart.is_some() {
            self.renew_apart(Apart { v6, bytes, raw, sent_at, size });
        }
        self.booking = booking;
    }

    #[cold]
    fn renew_apart(&mut self, new: Apart) {
        if new.is_blank() {
            self.apart = None;
        } else {
            // Reuse the memory that an earlier packet allocated for its rare fields.
            **self.apart.get_or_insert_default() = new;
        }
    }

    /// Returns the fields of an empty box, which belong to no packet.
    pub fn blank() -> Fields {
        let unspecified = Ipv4Addr::UNSPECIFIED;
        Fields {
            id: 0,
            apart: None,
            flow: FlowId(0),
            src: unspecified,
            dst: unspecified,
            size: 0,
            class: 0,
            ttl: 0,
            transport: Transport::Udp(UdpHeader { src_port: 0, dst_port: 0 }),
            booking: Booking::default(),
        }
    }

    /// Returns the size of the whole packet in bytes.
    #[inline]
    pub fn size(&self) -> u32 {
        if self.size == LARGE { self.large_size() } else { u32::from(self.size) }
    }

    #[cold]
    fn large_size(&self) -> u32 {
        self.apart.as_ref().map_or(0, |apart| apart.size)
    }

    pub fn set_size(&mut self, size: u32) {
        let (short, size) = short_size(size);
        self.size = short;
        if self.apart.is_some() || size > 0 {
            self.apart.get_or_insert_default().size = size;
        }
    }

    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.class = self.class & !3 | ecn as u8;
    }

    pub fn set_dscp(&mut self, dscp: u8) {
        self.class = self.class & 3 | dscp << 2;
    }

    /// Called when the packet has been delivered, dropped or absorbed. Frees the large fields and ends the debug check.
    #[inline(always)]
    pub fn clear(&mut self) {
        if let Some(apart) = &mut self.apart {
            // Keep the IPv6 addresses, because the next packet at this node probably has the same IP version.
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

    /// Sets the addresses. The addresses must have the packet's IP version.
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
            None => Payload::virtual_len(self.payload_len()),
            Some(apart) => Payload::from_parts(self.payload_len(), apart.bytes.clone()),
        }
    }

    #[inline]
    pub fn payload_len(&self) -> u32 {
        match &self.apart {
            None => u32::from(self.size) - IPV4_HEADER - self.transport.header_len(),
            Some(_) => self.size() - self.headers_len(),
        }
    }

    /// Returns the length of the IP header and the transport header in bytes.
    #[cold]
    pub fn headers_len(&self) -> u32 {
        match self.raw() {
            None => self.addresses().header_len() + self.transport.header_len(),
            Some(raw) => raw.octets().len() as u32,
        }
    }

    /// Replaces the payload, and changes the size of the packet accordingly.
    pub fn set_payload(&mut self, payload: Payload) {
        let (payload_len, bytes) = payload.into_parts();
        self.set_size(self.headers_len() + payload_len);
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

/// Splits a size into [`Fields::size`] and [`Apart::size`].
#[inline]
fn short_size(size: u32) -> (u16, u32) {
    if size < u32::from(LARGE) { (size as u16, 0) } else { (LARGE, size) }
}

/// Splits addresses into the fields for IPv4 and for IPv6.
#[inline]
fn parts(addresses: Addresses) -> (Ipv4Addr, Ipv4Addr, Option<(Ipv6Addr, Ipv6Addr)>) {
    match addresses {
        Addresses::V4 { src, dst } => (src, dst, None),
        Addresses::V6 { src, dst } => (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED, Some((src, dst))),
    }
}

impl Packet {
    /// Creates a packet without an accounting, for tests and files. `id` must be unique within its run. `sent_at` is the
    /// time that [`Packet::sent_at`] returns unless the packet is a TCP segment.
    pub fn unbooked(id: u64, sent_at: Time, new: NewPacket) -> Packet {
        let size = new.size();
        Packet(Box::new(Fields::new(id, sent_at, size, new, Booking::default())))
    }

    /// Copies the contents of this packet, to create another packet from them.
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

    /// Returns the packet's number, which is unique within a run. It combines the number of the node that created the
    /// packet with a count of this node's packets.
    #[inline]
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Time at which the sender created the packet; `None` for a TCP segment.
    #[inline]
    pub fn sent_at(&self) -> Option<Time> {
        self.0.apart.as_ref()?.sent_at
    }

    #[inline]
    /// The flow that the packet belongs to.
    pub fn flow(&self) -> FlowId {
        self.0.flow
    }

    /// Returns the size of the IP packet, including its headers.
    #[inline]
    pub fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.0.size()))
    }

    #[inline]
    /// The IP header.
    pub fn ip(&self) -> IpHeader {
        IpHeader { addresses: self.0.addresses(), ecn: self.ecn(), dscp: self.dscp(), ttl: self.0.ttl }
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

    /// True if the source address is `address`.
    #[inline]
    pub fn is_from(&self, address: IpAddr) -> bool {
        match address {
            // A packet without rare fields is IPv4: compare the address without building an `IpAddr`.
            IpAddr::V4(address) if self.0.apart.is_none() => self.0.src == address,
            _ => self.src() == address,
        }
    }

    /// True if the destination address is `address`.
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
        Ecn::from_bits(self.0.class)
    }

    /// The differentiated services codepoint.
    pub fn dscp(&self) -> u8 {
        self.0.class >> 2
    }

    #[inline]
    /// The IPv4 TTL, or the IPv6 hop limit.
    pub fn ttl(&self) -> u8 {
        self.0.ttl
    }

    #[inline]
    /// The transport header.
    pub fn transport(&self) -> &Transport {
        &self.0.transport
    }

    /// The TCP header; `None` if the packet is not TCP.
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

    /// Length of the payload in bytes.
    #[inline]
    pub fn payload_len(&self) -> u32 {
        self.0.payload_len()
    }

    /// True if a host outside of lopsided created the packet.
    pub fn is_foreign(&self) -> bool {
        self.0.raw().is_some()
    }

    /// True if a router may fragment the packet: a foreign IPv4 packet without DF.
    pub fn may_be_fragmented(&self) -> bool {
        self.0.raw().is_some_and(|raw| raw.may_be_fragmented())
    }

    /// Returns the identification of IPv4: the original value of a foreign packet, otherwise the low 16 bits of the
    /// packet's number.
    pub fn identification(&self) -> u16 {
        // RFC 6864: an atomic datagram (with DF set) may have any identification. The packet's number makes the
        // packet easy to find in a capture.
        self.0.raw().map_or(self.0.id as u16, |raw| raw.identification())
    }

    /// True if the fields represent everything in the headers. False for a foreign packet with IP options, extension
    /// headers, or TCP options that cannot be parsed.
    pub fn is_read_whole(&self) -> bool {
        let Some(raw) = self.0.raw() else { return true };
        raw.has_plain_ip(&self.ip()) && (self.tcp().is_none() || raw.tcp_options().is_some_and(reads_options))
    }

    /// True if the transport is ECN-capable: the ECN field is ECT(0), ECT(1) or CE.
    #[inline]
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn() != Ecn::NotEct
    }

    /// Decrements the TTL, as a router does. Returns false and changes nothing if the TTL would reach 0.
    #[inline]
    #[must_use]
    pub fn lower_ttl(&mut self) -> bool {
        self.lower_ttl_by(1)
    }

    /// Decrements the TTL once per router. Returns false and changes nothing if the TTL would reach 0.
    #[inline]
    pub fn lower_ttl_by(&mut self, routers: u8) -> bool {
        // RFC 1812, section 5.3.1: a router drops a packet whose TTL reaches 0.
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
        self.0.set_ecn(ecn);
        if let Some(raw) = self.0.raw_mut() {
            raw.set_ecn(ecn);
        }
    }
}

/// A delivered packet, which cannot be sent again. Pass it to [`crate::Cx::recycle`] to reuse its box.
#[derive(Debug)]
pub struct Delivered(pub(crate) Packet);

impl std::ops::Deref for Delivered {
    type Target = Packet;

    #[inline]
    fn deref(&self) -> &Packet {
        &self.0
    }
}
