//! Finds the IP packet in a frame of raw IP, Ethernet with VLAN tags, Linux cooked captures (SLL, SLL2) or BSD
//! loopback.

use crate::frames::Frame;
use etherparse::{EtherType, LaxSlicedPacket};
use pcap_parser::Linktype;

/// Size in bytes of the Linux cooked header before the IP packet (`LINKTYPE_LINUX_SLL`, `LINKTYPE_LINUX_SLL2`).
const SLL_HEADER: usize = 16;
const SLL2_HEADER: usize = 20;
/// Size in bytes of the address family before the IP packet (`LINKTYPE_NULL`, `LINKTYPE_LOOP`).
const LOOPBACK_HEADER: usize = 4;

/// Returns the IP packet of a frame and its transport header. `None` for other link types and short frames.
pub(crate) fn sliced<'a>(frame: &Frame<'a>) -> Option<LaxSlicedPacket<'a>> {
    let data = frame.data;
    match frame.link {
        // 12: DLT_RAW, which some systems write to the file instead of LINKTYPE_RAW (101).
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12) => LaxSlicedPacket::from_ip(data).ok(),
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok(),
        Linktype::LINUX_SLL => after(data, 14, SLL_HEADER),
        Linktype::LINUX_SLL2 => after(data, 0, SLL2_HEADER),
        Linktype::NULL | Linktype::LOOP => LaxSlicedPacket::from_ip(data.get(LOOPBACK_HEADER..)?).ok(),
        _ => None,
    }
}

/// Returns the IP packet after a header of `len` bytes whose EtherType is at byte `place`.
fn after(data: &[u8], place: usize, len: usize) -> Option<LaxSlicedPacket<'_>> {
    let [high, low] = *data.get(place..place + 2)? else { return None };
    Some(LaxSlicedPacket::from_ether_type(EtherType(u16::from_be_bytes([high, low])), data.get(len..)?))
}
