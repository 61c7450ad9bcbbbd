//! Protocol numbers in the IP header (IANA).

/// ICMP.
pub const PROTOCOL_ICMP: u8 = 1;
/// TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// UDP.
pub const PROTOCOL_UDP: u8 = 17;
/// ICMP for IPv6.
pub const PROTOCOL_ICMPV6: u8 = 58;
