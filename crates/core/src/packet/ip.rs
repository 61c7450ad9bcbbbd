//! The IP header, version 4 or 6, as fields (RFC 791, RFC 8200), with DSCP (RFC 2474) and ECN (RFC 3168).
//!
//! Not represented: identification, fragments, options, extension headers and the flow label. A foreign packet keeps
//! these fields in its raw headers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Length of an IPv4 header without options, in bytes.
pub const IPV4_HEADER: u32 = 20;
/// Length of an IPv6 header without extension headers, in bytes.
pub const IPV6_HEADER: u32 = 40;
/// TTL or hop limit of packets that lopsided's hosts send: Linux's default.
pub const DEFAULT_TTL: u8 = 64;

/// The two ECN bits of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ecn {
    #[default]
    /// Not ECN-capable.
    NotEct = 0,
    /// ECT(1): the sender reduces its rate only slightly at each mark, to keep queues short (L4S, RFC 9331).
    Ect1 = 1,
    /// ECT(0): the sender responds to a mark as to a loss (RFC 3168), or less strongly (RFC 8511).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Converts the low two bits of an IPv4 type of service or an IPv6 traffic class.
    pub fn from_bits(octet: u8) -> Ecn {
        match octet & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

/// Source and destination address of a packet, both of the same IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Addresses {
    /// IPv4.
    V4 {
        /// Source address.
        src: Ipv4Addr,
        /// Destination address.
        dst: Ipv4Addr,
    },
    /// IPv6.
    V6 {
        /// Source address.
        src: Ipv6Addr,
        /// Destination address.
        dst: Ipv6Addr,
    },
}

impl Addresses {
    /// Combines two addresses. Returns `None` if their IP versions differ.
    #[inline]
    pub fn new(src: IpAddr, dst: IpAddr) -> Option<Addresses> {
        match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Some(Addresses::V4 { src, dst }),
            (IpAddr::V6(src), IpAddr::V6(dst)) => Some(Addresses::V6 { src, dst }),
            _ => None,
        }
    }

    #[inline]
    /// The source address.
    pub fn src(&self) -> IpAddr {
        match *self {
            Addresses::V4 { src, .. } => IpAddr::V4(src),
            Addresses::V6 { src, .. } => IpAddr::V6(src),
        }
    }

    #[inline]
    /// The destination address.
    pub fn dst(&self) -> IpAddr {
        match *self {
            Addresses::V4 { dst, .. } => IpAddr::V4(dst),
            Addresses::V6 { dst, .. } => IpAddr::V6(dst),
        }
    }

    /// Returns the length in bytes of an IP header with these addresses, without options or extension headers.
    #[inline]
    pub fn header_len(&self) -> u32 {
        match self {
            Addresses::V4 { .. } => IPV4_HEADER,
            Addresses::V6 { .. } => IPV6_HEADER,
        }
    }
}

/// The fields of an IP header that the network reads or changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Source and destination.
    pub addresses: Addresses,
    /// The ECN field.
    pub ecn: Ecn,
    /// The differentiated services codepoint, 6 bits (RFC 2474).
    pub dscp: u8,
    /// The IPv4 time to live, or the IPv6 hop limit.
    pub ttl: u8,
}

impl IpHeader {
    /// Creates a header with default fields: best effort, not ECN-capable, the default TTL.
    #[inline]
    pub fn new(addresses: Addresses) -> IpHeader {
        IpHeader { addresses, ecn: Ecn::NotEct, dscp: 0, ttl: DEFAULT_TTL }
    }

    #[inline]
    /// Creates an IPv4 header with default fields.
    pub fn v4(src: Ipv4Addr, dst: Ipv4Addr) -> IpHeader {
        IpHeader::new(Addresses::V4 { src, dst })
    }

    /// Creates an IPv6 header with default fields.
    pub fn v6(src: Ipv6Addr, dst: Ipv6Addr) -> IpHeader {
        IpHeader::new(Addresses::V6 { src, dst })
    }

    #[inline]
    #[must_use]
    /// Returns the same header with the ECN field `ecn`.
    pub fn with_ecn(self, ecn: Ecn) -> IpHeader {
        IpHeader { ecn, ..self }
    }
}
