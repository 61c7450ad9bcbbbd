//! Finds the IP packet in a frame of raw IP, Ethernet with VLAN tags, Linux cooked captures (SLL, SLL2) or BSD
//! loopback.

use crate::frames::Frame;
use etherparse::EtherType;
use pcap_parser::Linktype;

/// Position of the EtherType and of the IP packet in an Ethernet frame, in bytes.
const ETHERNET: (usize, usize) = (12, 14);
/// Positions of the EtherType and of the IP packet after the Linux cooked headers (`LINKTYPE_LINUX_SLL`,
/// `LINKTYPE_LINUX_SLL2`).
const SLL: (usize, usize) = (14, 16);
const SLL2: (usize, usize) = (0, 20);
/// Size in bytes of the address family before the IP packet (`LINKTYPE_NULL`, `LINKTYPE_LOOP`).
const LOOPBACK_HEADER: usize = 4;
/// Size of a VLAN tag in bytes (IEEE 802.1Q): two bytes of tag control information and the EtherType of the payload.
const TAG: usize = 4;
/// Maximum number of VLAN tags of a frame.
const MOST_TAGS: usize = 3;

/// Returns the captured bytes of a frame's IP packet. Returns `None` if the link type or the protocol is not supported,
/// or if the frame is too short.
pub(crate) fn ip_packet<'a>(frame: &Frame<'a>) -> Option<&'a [u8]> {
    let data = frame.data;
    match frame.link {
        // 12: DLT_RAW, which some systems write to the file instead of LINKTYPE_RAW (101).
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12) => Some(data),
        Linktype::ETHERNET => after(data, ETHERNET),
        Linktype::LINUX_SLL => after(data, SLL),
        Linktype::LINUX_SLL2 => after(data, SLL2),
        Linktype::NULL | Linktype::LOOP => data.get(LOOPBACK_HEADER..),
        _ => None,
    }
}

/// Returns the IP packet that begins at byte `begin`, after VLAN tags if there are any. `place` is the position of the
/// first EtherType.
fn after(data: &[u8], (mut place, mut begin): (usize, usize)) -> Option<&[u8]> {
    for _ in 0..=MOST_TAGS {
        let [high, low] = *data.get(place..place + 2)? else { return None };
        match EtherType(u16::from_be_bytes([high, low])) {
            EtherType::IPV4 | EtherType::IPV6 => return data.get(begin..),
            EtherType::VLAN_TAGGED_FRAME | EtherType::PROVIDER_BRIDGING | EtherType::VLAN_DOUBLE_TAGGED_FRAME => {
                (place, begin) = (begin + 2, begin + TAG);
            }
            _ => return None,
        }
    }
    None
}
