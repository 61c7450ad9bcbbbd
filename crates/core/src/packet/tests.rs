//! Tests that a foreign packet passes through a network unchanged, and that a change of a field changes only the bytes
//! of this field and the checksums.

use super::*;
use crate::{Accounting, Cx, DropReason, NodeId, Seq, wire};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

const PROTOCOL_ESP: u8 = 50;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Tcp,
    Udp,
    /// UDP without a checksum.
    UdpUnchecked,
    Esp,
    Fragment,
}

/// A random foreign packet. It may have IP options, extension headers, unknown TCP options and reserved bits.
#[derive(Debug, Clone)]
struct Made {
    kind: Kind,
    octets: Vec<u8>,
    transport_at: usize,
}

fn any_made() -> impl Strategy<Value = Made> {
    made_of(&[Kind::Tcp, Kind::Udp, Kind::UdpUnchecked, Kind::Esp, Kind::Fragment])
}

fn made_of(kinds: &[Kind]) -> impl Strategy<Value = Made> {
    let kind = prop::sample::select(kinds.to_vec());
    let header = prop::collection::vec(any::<u8>(), 40);
    let extras = prop::collection::vec(any::<u8>(), 0..3usize);
    let transport = prop::collection::vec(any::<u8>(), 20);
    let body = prop::collection::vec(any::<u8>(), 0..200);
    (any::<bool>(), kind, header, extras, transport, any_tcp_options(), body).prop_map(
        |(v6, kind, header, extras, transport, options, body)| {
            let ip = if v6 { made_v6(kind, header, &extras) } else { made_v4(kind, header, &extras) };
            made(v6, kind, ip, transport, options, body)
        },
    )
}

/// Random TCP options of known and unknown kinds, in any order, with padding anywhere.
fn any_tcp_options() -> impl Strategy<Value = Vec<u8>> {
    let one = prop_oneof![
        Just(vec![1]),
        (any::<u16>()).prop_map(|mss| [vec![2, 4], mss.to_be_bytes().to_vec()].concat()),
        any::<u8>().prop_map(|shift| vec![3, 3, shift]),
        Just(vec![4, 2]),
        prop::collection::vec(any::<u8>(), 8).prop_map(|octets| [vec![8, 10], octets].concat()),
        prop::collection::vec(any::<u8>(), 8).prop_map(|octets| [vec![5, 10], octets].concat()),
        (30..170u8, prop::collection::vec(any::<u8>(), 0..6)).prop_map(|(kind, octets)| [
            vec![kind, octets.len() as u8 + 2],
            octets
        ]
        .concat()),
    ];
    prop::collection::vec(one, 0..5).prop_map(|options| {
        let mut octets: Vec<u8> = Vec::new();
        for option in options {
            if octets.len() + option.len() <= 40 {
                octets.extend(option);
            }
        }
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    })
}

fn made_v4(kind: Kind, mut header: Vec<u8>, extras: &[u8]) -> Vec<u8> {
    header.truncate(20);
    // Add no-operations as IP options, which routers ignore.
    header.extend(extras.iter().flat_map(|_| [1; 4]));
    header[0] = 0x40 | (header.len() / 4) as u8;
    let fragment =
        if kind == Kind::Fragment { 0x2000 | u16::from(header[6]) } else { u16::from(header[6] & 0x40) << 8 };
    header[6..8].copy_from_slice(&fragment.to_be_bytes());
    header[9] = protocol(kind);
    header
}

fn made_v6(kind: Kind, mut header: Vec<u8>, extras: &[u8]) -> Vec<u8> {
    header[0] = 0x60 | header[0] & 0x0f;
    let mut next = 6;
    for (number, _) in extras.iter().enumerate() {
        header[next] = [0, 60][number % 2];
        next = header.len();
        header.extend_from_slice(&[0, 0, 1, 4, 0, 0, 0, 0]);
    }
    if kind == Kind::Fragment {
        header[next] = 44;
        next = header.len();
        header.extend_from_slice(&[0, 0, 1, 0xf1, 1, 2, 3, 4]);
    }
    header[next] = protocol(kind);
    header
}

fn protocol(kind: Kind) -> u8 {
    match kind {
        Kind::Tcp | Kind::Fragment => wire::PROTOCOL_TCP,
        Kind::Udp | Kind::UdpUnchecked => wire::PROTOCOL_UDP,
        Kind::Esp => PROTOCOL_ESP,
    }
}

fn made(v6: bool, kind: Kind, ip: Vec<u8>, mut transport: Vec<u8>, options: Vec<u8>, body: Vec<u8>) -> Made {
    match kind {
        Kind::Tcp => {
            transport[12] = ((20 + options.len()) as u8 / 4) << 4 | transport[12] & 0x0f;
            transport.extend(options);
        }
        Kind::Udp | Kind::UdpUnchecked => {
            transport.truncate(8);
            transport[4..6].copy_from_slice(&(8 + body.len() as u16).to_be_bytes());
        }
        Kind::Esp | Kind::Fragment => {}
    }
    let transport_at = ip.len();
    let mut made = Made { kind, octets: [ip, transport, body].concat(), transport_at };
    let total = made.octets.len() as u16;
    if v6 {
        made.octets[4..6].copy_from_slice(&(total - 40).to_be_bytes());
    } else {
        made.octets[2..4].copy_from_slice(&total.to_be_bytes());
    }
    made.write_checksums();
    made
}

impl Made {
    fn is_v4(&self) -> bool {
        self.octets[0] >> 4 == 4
    }

    /// Computes all checksums over all bytes, as a reference for the incremental updates.
    fn write_checksums(&mut self) {
        let at = self.transport_at;
        if self.is_v4() {
            self.octets[10..12].fill(0);
            let sum = checksum(&[&self.octets[..at]]);
            self.octets[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        let field = match self.kind {
            Kind::Tcp => at + 16,
            Kind::Udp => at + 6,
            Kind::UdpUnchecked => return self.octets[at + 6..at + 8].fill(0),
            Kind::Esp | Kind::Fragment => return,
        };
        self.octets[field..field + 2].fill(0);
        let addresses = if self.is_v4() { &self.octets[12..20] } else { &self.octets[8..40] };
        let length = ((self.octets.len() - at) as u32).to_be_bytes();
        let mut sum = checksum(&[addresses, &[0, protocol(self.kind)], &length, &self.octets[at..]]);
        if self.kind == Kind::Udp && sum == 0 {
            sum = 0xffff;
        }
        self.octets[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

fn checksum(pieces: &[&[u8]]) -> u16 {
    let mut sum = wire::Checksum::default();
    pieces.iter().for_each(|piece| sum.add(piece));
    sum.value()
}

/// Reads a foreign packet from its bytes and creates it in the network.
fn enter(octets: &[u8], accounting: &mut Accounting) -> Packet {
    let new = wire::read_foreign(FlowId(0), octets).expect("a whole packet");
    Cx::new(Time::ZERO, NodeId(0), accounting).originate(new)
}

fn edit(octets: &[u8], change: impl FnOnce(&mut PacketEditor<'_>)) -> Vec<u8> {
    let mut accounting = Accounting::new(1);
    let mut packet = enter(octets, &mut accounting);
    let mut cx = Cx::new(Time::ZERO, NodeId(0), &mut accounting);
    cx.rewrite(&mut packet, change);
    let octets = wire::encode(&packet);
    assert_eq!(octets.len() as u64, packet.size().get());
    cx.drop(packet, DropReason::Policed);
    let sum = accounting.conservation(crate::Count::ZERO);
    assert!(sum.holds(), "{sum}");
    octets
}

proptest! {
    #[test]
    fn a_foreign_packet_is_forwarded_unchanged(made in any_made(), padding in 0..8usize) {
        let mut accounting = Accounting::new(1);
        let received = [&made.octets[..], &vec![0; padding]].concat();
        let packet = enter(&received, &mut accounting);
        prop_assert_eq!(packet.size().get(), made.octets.len() as u64);
        prop_assert_eq!(wire::encode(&packet), &made.octets[..]);
        let is_read = match packet.transport() {
            Transport::Tcp(_) => made.kind == Kind::Tcp,
            Transport::Udp(_) => matches!(made.kind, Kind::Udp | Kind::UdpUnchecked),
            Transport::Other { .. } => matches!(made.kind, Kind::Esp | Kind::Fragment),
        };
        prop_assert!(is_read, "{packet:?}");
        Cx::new(Time::ZERO, NodeId(0), &mut accounting).drop(packet, DropReason::Policed);
    }

    #[test]
    fn an_edit_does_not_repair_a_wrong_checksum(made in any_made(), bit in any::<prop::sample::Index>(), class in any::<u8>()) {
        let mut octets = made.octets.clone();
        let bit = bit.index((octets.len() - made.transport_at) * 8);
        // Do not change length fields, because the packet could then not be parsed.
        prop_assume!(!(12..14).contains(&(bit / 8)) && !(4..6).contains(&(bit / 8)));
        octets[made.transport_at + bit / 8] ^= 1 << (bit % 8);
        let edited = edit(&octets, |packet| packet.set_dscp(class));
        let right = edit(&made.octets, |packet| packet.set_dscp(class));
        let differing: Vec<usize> = (0..right.len()).filter(|at| right[*at] != edited[*at]).collect();
        prop_assert_eq!(differing, [made.transport_at + bit / 8]);
    }

    #[test]
    fn changed_ip_fields_are_patched_in_the_octets(made in any_made(), class in any::<u8>(), ttl in any::<u8>(), addresses in any::<[u8; 32]>()) {
        let edited = edit(&made.octets, |packet| {
            packet.set_dscp(class >> 2);
            packet.set_ecn(Ecn::from_bits(class));
            packet.set_ttl(ttl);
            assert!(packet.set_addresses(new_addresses(made.is_v4(), addresses)));
            assert!(!packet.set_addresses(new_addresses(!made.is_v4(), addresses)), "other IP version");
        });
        let mut expected = made.clone();
        if made.is_v4() {
            (expected.octets[1], expected.octets[8]) = (class, ttl);
            expected.octets[12..20].copy_from_slice(&addresses[..8]);
        } else {
            expected.octets[0] = 0x60 | class >> 4;
            expected.octets[1] = class << 4 | made.octets[1] & 0x0f;
            expected.octets[7] = ttl;
            expected.octets[8..40].copy_from_slice(&addresses);
        }
        expected.write_checksums();
        prop_assert_eq!(edited, expected.octets);
    }

    #[test]
    fn changed_tcp_fields_are_patched_in_the_octets(made in made_of(&[Kind::Tcp]), ack in any::<u32>(), window in any::<u16>(), flags in 0..0x400u16) {
        let edited = edit(&made.octets, |packet| {
            assert!(packet.tcp(|header| {
                header.ack = Seq::new(ack);
                header.window = window;
                header.flags = Flags(flags);
            }));
            assert!(!packet.udp(|_| {}));
        });
        let mut expected = made.clone();
        let at = made.transport_at;
        expected.octets[at + 8..at + 12].copy_from_slice(&ack.to_be_bytes());
        expected.octets[at + 14..at + 16].copy_from_slice(&window.to_be_bytes());
        expected.octets[at + 12] = made.octets[at + 12] & 0xfc | (flags >> 8) as u8;
        expected.octets[at + 13] = flags as u8;
        expected.write_checksums();
        prop_assert_eq!(edited, expected.octets);
    }

    /// Options of known kinds are removed, changed and added. Options of unknown kinds keep their order.
    #[test]
    fn tcp_options_are_rewritten_in_the_octets(made in made_of(&[Kind::Tcp]), stamps in prop::option::of(any::<(u32, u32)>()), drop_sack in any::<bool>()) {
        let mut accounting = Accounting::new(1);
        let mut packet = enter(&made.octets, &mut accounting);
        let before = packet.tcp().expect("it is TCP").options.clone();
        let mut cx = Cx::new(Time::ZERO, NodeId(0), &mut accounting);
        let done = cx.rewrite(&mut packet, |packet| packet.tcp(|header| {
            header.options.timestamps = stamps.map(|(value, echo)| Timestamps { value, echo });
            if drop_sack {
                header.options.set_sack(SackBlocks::default());
            }
        }));
        let octets = wire::encode(&packet);
        prop_assert_eq!(octets.len() as u64, packet.size().get());
        if !done {
            prop_assert!(stamps.is_some(), "fewer options must fit");
            prop_assert_eq!(octets, &made.octets[..]);
        } else {
            let options = packet.tcp().expect("it is TCP").options.clone();
            let again = Made { octets: octets.clone(), ..made.clone() };
            let mut summed = again.clone();
            summed.write_checksums();
            prop_assert_eq!(&summed.octets, &again.octets, "the checksums must be correct");
            let read = wire::read_foreign(FlowId(0), &octets).expect("a whole packet");
            let Transport::Tcp(read) = read.transport else { panic!("still TCP") };
            // The oldest SACK blocks are omitted if the header has no space for them.
            prop_assert_eq!(read.options.sack().as_slice(), options.sack_on_wire());
            prop_assert_eq!(&read.options.clone().with_sack(options.sack().clone()), &options);
            prop_assert_eq!(unknown_options(&octets[made.transport_at..]), unknown_options(&made.octets[made.transport_at..]));
            prop_assert_eq!((read.options.mss(), read.options.window_scale()), (before.mss(), before.window_scale()));
        }
        cx.drop(packet, DropReason::Policed);
        let sum = accounting.conservation(crate::Count::ZERO);
        prop_assert!(sum.holds(), "{}", sum);
    }

    #[test]
    fn a_new_payload_replaces_the_octets_of_the_old_payload(made in made_of(&[Kind::Tcp, Kind::Udp, Kind::UdpUnchecked]), payload in prop::collection::vec(any::<u8>(), 0..300)) {
        let edited = edit(&made.octets, |packet| assert!(packet.set_payload(Payload::real(payload.clone()))));
        let header = match made.kind {
            Kind::Tcp => usize::from(made.octets[made.transport_at + 12] >> 4) * 4,
            _ => 8,
        };
        let mut expected = made.clone();
        expected.octets.truncate(made.transport_at + header);
        expected.octets.extend(&payload);
        let total = expected.octets.len();
        if made.is_v4() {
            expected.octets[2..4].copy_from_slice(&(total as u16).to_be_bytes());
        } else {
            expected.octets[4..6].copy_from_slice(&(total as u16 - 40).to_be_bytes());
        }
        if made.kind != Kind::Tcp {
            let at = made.transport_at + 4;
            expected.octets[at..at + 2].copy_from_slice(&((8 + payload.len()) as u16).to_be_bytes());
        }
        expected.write_checksums();
        prop_assert_eq!(edited, expected.octets);
    }

    #[test]
    fn hostile_octets_are_rejected_or_forwarded_unchanged(octets in prop::collection::vec(any::<u8>(), 0..120), version in prop::sample::select(vec![0x45u8, 0x60])) {
        let mut octets = octets;
        if let [first, ..] = &mut octets[..] {
            *first = version;
        }
        if let Ok(new) = wire::read_foreign(FlowId(0), &octets) {
            let mut packet = Packet::unbooked(1, Time::ZERO, new);
            let written = wire::encode(&packet);
            prop_assert_eq!(&written[..], &octets[..written.len()]);
            let mut accounting = Accounting::new(1);
            let mut cx = Cx::new(Time::ZERO, NodeId(0), &mut accounting);
            let _ = cx.rewrite(&mut packet, |packet| packet.tcp(|header| header.options = TcpOptions::default()));
            prop_assert_eq!(wire::encode(&packet).len() as u64, packet.size().get());
        }
    }
}

fn new_addresses(v4: bool, octets: [u8; 32]) -> Addresses {
    if v4 {
        let address = |at: usize| Ipv4Addr::new(octets[at], octets[at + 1], octets[at + 2], octets[at + 3]);
        Addresses::V4 { src: address(0), dst: address(4) }
    } else {
        let address = |at: usize| {
            let of: [u8; 16] = std::array::from_fn(|octet| octets[at + octet]);
            Ipv6Addr::from(of)
        };
        Addresses::V6 { src: address(0), dst: address(16) }
    }
}

/// Returns the TCP options of unknown kinds.
fn unknown_options(header: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &header[20..usize::from(header[12] >> 4) * 4];
    let mut unknown = Vec::new();
    while let [kind, tail @ ..] = rest {
        match kind {
            0 => break,
            1 => rest = tail,
            _ => {
                let len = usize::from(tail[0]);
                if !matches!(kind, 2..=5 | 8) {
                    unknown.push(rest[..len].to_vec());
                }
                rest = &rest[len..];
            }
        }
    }
    unknown
}

fn new_packet(payload: u32) -> NewPacket {
    let ip = IpHeader::v4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)).with_ecn(Ecn::Ect0);
    let transport = Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 });
    NewPacket::new(FlowId(3), ip, transport, Payload::virtual_len(payload))
}

#[test]
fn a_packet_handle_has_8_octets() {
    assert_eq!(size_of::<Packet>(), 8);
    assert_eq!(size_of::<Option<Packet>>(), 8);
}

#[test]
fn a_ce_mark_is_written_to_the_octets_of_a_foreign_packet() {
    let mut accounting = Accounting::new(1);
    let octets = wire::encode(&Packet::unbooked(1, Time::ZERO, new_packet(100)));
    let mut packet = enter(&octets, &mut accounting);
    let mut cx = Cx::new(Time::ZERO, NodeId(0), &mut accounting);
    assert!(cx.mark(&mut packet, crate::MarkReason::Early));
    let marked = wire::parse(&wire::encode(&packet)).expect("its checksums are right");
    assert_eq!(marked.ecn(), Ecn::Ce);
    cx.drop(packet, DropReason::Policed);
}

#[test]
fn accounting_balances_after_two_packets_are_merged() {
    let mut accounting = Accounting::new(1);
    let mut cx = Cx::new(Time::ZERO, NodeId(0), &mut accounting);
    let (mut first, second) = (cx.originate(new_packet(100)), cx.originate(new_packet(200)));
    assert_ne!(first.id(), second.id());
    assert!(cx.rewrite(&mut first, |packet| packet.set_payload(Payload::virtual_len(300))));
    cx.absorb(second);
    let delivered = cx.deliver(first);
    assert_eq!(delivered.payload().len(), 300);
    cx.recycle(delivered);
    let sum = accounting.conservation(crate::Count::ZERO);
    assert!(sum.holds(), "{sum}");
    assert_eq!((sum.bytes_added.get(), sum.absorbed.bytes.get(), sum.delivered.bytes.get()), (200, 228, 328));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "was forgotten")]
fn a_packet_that_leaks_is_detected() {
    let mut accounting = Accounting::new(1);
    let packet = Cx::new(Time::ZERO, NodeId(0), &mut accounting).originate(new_packet(100));
    std::mem::drop(packet);
}

#[test]
fn a_packet_that_outlives_its_accounting_is_not_a_leak() {
    let mut accounting = Accounting::new(1);
    let packet = Cx::new(Time::ZERO, NodeId(0), &mut accounting).originate(new_packet(100));
    std::mem::drop(accounting);
    std::mem::drop(packet);
}

/// With 10,000 flows of 40 packets each, each byte of a packet's fields costs 400 kB of memory. The allocator rounds 72
/// bytes up to 80, and 73 bytes up to 96.
#[test]
fn the_fields_of_a_packet_have_72_octets() {
    let watched = size_of::<Booking>();
    assert_eq!(size_of::<Fields>() - watched, 72);
    assert_eq!(size_of::<Transport>(), 40, "the kind must be stored in unused space of the TCP header");
    assert_eq!(size_of::<Packet>(), 8);
}
