use super::*;
use crate::packet::{
    AccEcnOption, AccEcnOrder, Addresses, Flags, OtherOptions, SackBlock, SackBlocks, TcpHeader, TcpOptions,
    Timestamps, UdpHeader,
};
use crate::{Ecn, FlowId, IpHeader, NewPacket, Seq, Time};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

/// RFC 1071, section 3: these eight bytes add up to ddf2.
#[test]
fn the_checksum_matches_the_example_of_rfc_1071_section_3() {
    let mut sum = Checksum::default();
    sum.add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
    assert_eq!(sum.value(), !0xddf2);
    let mut odd = Checksum::default();
    odd.add(&[0x00, 0x01, 0xf2]);
    assert_eq!(odd.value(), !0xf201, "an odd last octet counts as the high half of a word");
}

proptest! {
    /// The checksum of a long piece equals the checksum of its separate words.
    #[test]
    fn the_checksum_of_a_slice_equals_that_of_its_words(octets in prop::collection::vec(any::<u8>(), 0..3000)) {
        let (mut whole, mut words) = (Checksum::default(), Checksum::default());
        whole.add(&octets);
        octets.chunks(2).for_each(|word| words.add(word));
        prop_assert_eq!(whole.value(), words.value());
        prop_assert_eq!(whole.is_intact(), words.is_intact());
    }
}

/// The SYN contains every option of the handshake. Other programs computed its checksums.
#[test]
fn a_syn_of_linux_is_parsed_and_encoded_to_the_same_octets() {
    let packet = parse(&LINUX_SYN).expect("a packet that Linux accepted");
    let Some(header) = packet.tcp() else { panic!("{packet:?}") };
    assert_eq!(header.flags, Flags::SYN);
    assert_eq!(header.options.mss(), Some(65495));
    assert_eq!(header.options.window_scale(), Some(10));
    assert!(header.options.sack_permitted() && header.options.timestamps.is_some());
    assert_eq!(encode(&packet), LINUX_SYN);
}

#[test]
fn every_combination_of_options_has_the_computed_length() {
    for bits in 0..64u32 {
        for blocks in 0..=4 {
            let options = options_of(bits, blocks);
            let packet = tcp_packet(TcpHeader { options: options.clone(), ..header() }, Payload::EMPTY);
            let octets = encode(&packet);
            assert_eq!(octets.len() as u64, packet.size().get(), "{options:?}");
            assert_eq!(u32::from(octets[32] >> 4) * 4, 20 + options.len(), "{options:?}");
            let parsed = parse(&octets).expect("our own packet");
            let Some(header) = parsed.tcp() else { panic!("{octets:?}") };
            assert_eq!(header.options.sack().as_slice(), options.sack_on_wire(), "{options:?}");
            assert_eq!(header.options.clone().with_sack(options.sack().clone()), options);
        }
    }
}

#[test]
fn three_sack_blocks_fit_with_timestamps_and_four_without() {
    assert_eq!(options_of(0b1000, 4).sack_on_wire().len(), 3);
    assert_eq!(options_of(0b0000, 4).sack_on_wire().len(), 4);
}

/// RFC 9768 figure 4: kind 172 begins with ECT(0), kind 174 with ECT(1). CE is the second counter of both kinds.
#[test]
fn accurate_ecn_options_are_encoded_as_in_rfc_9768_figure_4() {
    for (order, kind) in [(AccEcnOrder::Ect0First, 172), (AccEcnOrder::Ect1First, 174)] {
        let option = AccEcnOption::new(order, &[0x01_0203, 0x04_0506, 0x07_0809]);
        let options = TcpOptions::default().with_accurate_ecn(Some(option));
        let octets = encode(&tcp_packet(TcpHeader { options, ..header() }, Payload::EMPTY));
        assert_eq!(octets[40..], [1, kind, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let counters = (option.ect0(), option.ce(), option.ect1());
        let expected = if kind == 172 { (0x01_0203, 0x07_0809) } else { (0x07_0809, 0x01_0203) };
        assert_eq!(counters, (Some(expected.0), Some(0x04_0506), Some(expected.1)));
    }
}

#[test]
fn an_option_with_an_invalid_length_ends_the_options_but_the_packet_stays_valid() {
    for bad_length in [0, 1, 200] {
        let options = TcpOptions::default().with_mss(Some(1460)).with_window_scale(Some(7));
        let mut octets = encode(&tcp_packet(TcpHeader { options, ..header() }, Payload::EMPTY));
        // The window-scale option (kind 3) follows 20 bytes of IP header, 20 bytes of TCP header, 4 bytes of MSS option
        // and a no-operation.
        assert_eq!(octets[45], 3);
        octets[46] = bad_length;
        let parsed = parse_captured(&octets).expect("headers of agreeing lengths");
        let Some(header) = parsed.tcp() else { panic!("{octets:?}") };
        assert_eq!((header.options.mss(), header.options.window_scale()), (Some(1460), None));
    }
}

#[test]
fn damaged_and_truncated_ipv4_packets_are_rejected() {
    let good = encode(&tcp_packet(header(), Payload::virtual_len(100)));
    let with = |at: usize, octet: u8| {
        let mut octets = good.clone();
        octets[at] = octet;
        parse(&octets).unwrap_err()
    };
    assert_eq!(with(0, 0x75), Malformed::NotIp);
    assert_eq!(with(0, 0x44), Malformed::Length);
    assert_eq!(with(3, 19), Malformed::Length);
    assert_eq!(with(8, 1), Malformed::Checksum);
    assert_eq!(with(6, 0x20), Malformed::Fragment);
    assert_eq!(with(100, 1), Malformed::Checksum);
    assert_eq!(parse(&good[..139]).unwrap_err(), Malformed::Truncated);
    assert_eq!(parse(&[]).unwrap_err(), Malformed::Truncated);
}

#[test]
fn encoded_headers_equal_the_start_of_the_packet_and_contain_its_length() {
    let packet = tcp_packet(header(), Payload::virtual_len(1448));
    let headers = encode_headers(&packet);
    assert_eq!(headers, encode(&packet)[..40]);
    let parsed = parse_captured(&headers).expect("whole headers");
    assert_eq!((parsed.payload().len(), parsed.payload().bytes()), (1448, None));
}

#[test]
fn a_udp_checksum_of_zero_is_accepted_and_any_other_is_verified() {
    let header = UdpHeader { src_port: 5000, dst_port: 53 };
    let packet = packet(Transport::Udp(header), Payload::real(b"a query".to_vec()));
    let mut octets = encode(&packet);
    assert_eq!(parse(&octets).expect("our own packet").payload().bytes(), Some(&b"a query"[..]));
    octets[30] ^= 1;
    assert_eq!(parse(&octets).unwrap_err(), Malformed::Checksum);
    octets[26] = 0;
    octets[27] = 0;
    assert!(parse(&octets).is_ok());
}

proptest! {
    #[test]
    fn an_encoded_packet_parses_to_the_same_packet(packet in any_packet()) {
        let octets = encode(&packet);
        prop_assert_eq!(octets.len() as u64, packet.size().get());
        let parsed = parse(&octets).expect("our own packet");
        prop_assert_eq!(encode(&parsed), octets);
        prop_assert_eq!(parsed.payload().len(), packet.payload().len());
        prop_assert_eq!(parsed.ip(), packet.ip());
        match (parsed.transport(), packet.transport()) {
            (Transport::Tcp(read), Transport::Tcp(written)) => {
                prop_assert_eq!(read.options.sack().as_slice(), written.options.sack_on_wire());
                let options = read.options.clone().with_sack(written.options.sack().clone());
                prop_assert_eq!(&TcpHeader { options, ..read.clone() }, written);
            }
            (Transport::Udp(read), Transport::Udp(written)) => prop_assert_eq!(read, written),
            (Transport::Other { protocol: read }, Transport::Other { protocol: written }) => {
                prop_assert_eq!(read, written);
            }
            (read, written) => prop_assert!(false, "{:?} became {:?}", written, read),
        }
    }

    #[test]
    fn the_checksums_detect_a_changed_bit(packet in any_packet(), bit in any::<prop::sample::Index>()) {
        // IPv6 has no header checksum.
        prop_assume!(!matches!(packet.transport(), Transport::Other { .. }) && packet.src().is_ipv4());
        let mut octets = encode(&packet);
        let bit = bit.index(octets.len() * 8);
        octets[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(parse(&octets).is_err());
    }

    #[test]
    fn arbitrary_octets_never_panic(octets in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = parse(&octets);
        let _ = parse_captured(&octets);
    }

    /// Random bytes after the valid start of an IPv4 header pass inconsistent lengths to all parsers.
    #[test]
    fn hostile_headers_never_panic_and_parsed_packets_can_be_encoded(
        mut octets in prop::collection::vec(any::<u8>(), 20..140),
        ip_words in 5..7u8,
        tcp in any::<bool>(),
    ) {
        octets[0] = 0x40 | ip_words;
        let total = octets.len() as u16;
        octets[2..4].copy_from_slice(&total.to_be_bytes());
        octets[6..8].copy_from_slice(&[0, 0]);
        octets[9] = if tcp { PROTOCOL_TCP } else { PROTOCOL_UDP };
        let _ = parse(&octets);
        if let Ok(packet) = parse_captured(&octets) {
            prop_assert_eq!(encode(&packet).len() as u64, packet.size().get());
        }
    }
}

/// A packet of Linux 6.18 on the loopback device, where Linux leaves the checksum unset. The checksum in these bytes
/// was computed by tshark.
#[rustfmt::skip]
const LINUX_SYN: [u8; 60] = [
    0x45, 0x00, 0x00, 0x3c, 0xd5, 0xbd, 0x40, 0x00, 0x40, 0x06, 0x66, 0xfc, 0x7f, 0x00, 0x00, 0x01, 0x7f, 0x00, 0x00, 0x01,
    0xe4, 0x02, 0xb3, 0xaf, 0xa7, 0xad, 0x21, 0xee, 0x00, 0x00, 0x00, 0x00, 0xa0, 0x02, 0xff, 0xd7, 0x41, 0xc4, 0x00, 0x00,
    0x02, 0x04, 0xff, 0xd7, 0x04, 0x02, 0x08, 0x0a, 0xb0, 0x87, 0xfc, 0x64, 0x00, 0x00, 0x00, 0x00, 0x01, 0x03, 0x03, 0x0a,
];

fn header() -> TcpHeader {
    TcpHeader {
        src_port: 5001,
        dst_port: 40000,
        seq: Seq::new(0xffff_fff0),
        ack: Seq::new(17),
        flags: Flags::ACK.with(Flags::PSH),
        window: 65535,
        options: TcpOptions::default(),
    }
}

fn tcp_packet(header: TcpHeader, payload: Payload) -> Packet {
    packet(Transport::Tcp(header), payload)
}

fn packet(transport: Transport, payload: Payload) -> Packet {
    let ip = IpHeader::v4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 2));
    Packet::unbooked(7, Time::ZERO, NewPacket::new(FlowId(0), ip, transport, payload))
}

fn options_of(bits: u32, blocks: u32) -> TcpOptions {
    let mut sack = SackBlocks::default();
    for block in 0..blocks {
        sack.push(SackBlock { start: Seq::new(1000 * block), end: Seq::new(1000 * block + 500) });
    }
    let options = TcpOptions::default()
        .with_mss((bits & 1 != 0).then_some(1460))
        .with_window_scale((bits & 2 != 0).then_some(7))
        .with_sack_permitted(bits & 4 != 0)
        .with_timestamps((bits & 8 != 0).then_some(Timestamps { value: 1, echo: 2 }))
        .with_sack(sack);
    options.with_accurate_ecn((bits >> 4 != 0).then(|| {
        let order = if bits & 16 != 0 { AccEcnOrder::Ect0First } else { AccEcnOrder::Ect1First };
        AccEcnOption::new(order, &[1, 0x12_3456, 3][..bits as usize >> 4])
    }))
}

fn any_packet() -> impl Strategy<Value = Packet> {
    (any::<u16>(), any_ip(), any_transport(), any_payload()).prop_map(|(id, ip, transport, payload)| {
        let id = if matches!(ip.addresses, Addresses::V4 { .. }) { u64::from(id) } else { 0 };
        Packet::unbooked(id, Time::ZERO, NewPacket::new(FlowId(0), ip, transport, payload))
    })
}

fn any_ip() -> impl Strategy<Value = IpHeader> {
    let v4 = (any::<u32>(), any::<u32>())
        .prop_map(|(src, dst)| Addresses::V4 { src: Ipv4Addr::from_bits(src), dst: Ipv4Addr::from_bits(dst) });
    let v6 = (any::<u128>(), any::<u128>())
        .prop_map(|(src, dst)| Addresses::V6 { src: Ipv6Addr::from_bits(src), dst: Ipv6Addr::from_bits(dst) });
    (prop_oneof![v4, v6], 0..4u8, 0..64u8, any::<u8>()).prop_map(|(addresses, ecn, dscp, ttl)| IpHeader {
        addresses,
        ecn: Ecn::from_bits(ecn),
        dscp,
        ttl,
    })
}

fn any_payload() -> impl Strategy<Value = Payload> {
    prop_oneof![
        (0..2000u32).prop_map(Payload::virtual_len),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Payload::real),
    ]
}

fn any_transport() -> impl Strategy<Value = Transport> {
    let ports = (any::<u16>(), any::<u16>());
    let tcp = (ports, any::<u32>(), any::<u32>(), 0..0x400u16, any::<u16>(), any_options()).prop_map(
        |((src_port, dst_port), seq, ack, flags, window, options)| {
            let (seq, ack, flags) = (Seq::new(seq), Seq::new(ack), Flags(flags));
            Transport::Tcp(TcpHeader { src_port, dst_port, seq, ack, flags, window, options })
        },
    );
    let udp = ports.prop_map(|(src_port, dst_port)| Transport::Udp(UdpHeader { src_port, dst_port }));
    let other = (70..250u8).prop_map(|protocol| Transport::Other { protocol });
    prop_oneof![4 => tcp, 1 => udp, 1 => other]
}

fn any_options() -> impl Strategy<Value = TcpOptions> {
    let timestamps = (any::<u32>(), any::<u32>()).prop_map(|(value, echo)| Timestamps { value, echo });
    let sack = prop::collection::vec((any::<u32>(), any::<u32>()), 0..5).prop_map(|blocks| {
        let mut sack = SackBlocks::default();
        for (start, end) in blocks {
            sack.push(SackBlock { start: Seq::new(start), end: Seq::new(end) });
        }
        sack
    });
    let mss = prop::option::of(any::<u16>());
    let scale = prop::option::of(any::<u8>());
    let counters = (any::<bool>(), prop::collection::vec(0..1u32 << 24, 0..4)).prop_map(|(ect0, counters)| {
        let order = if ect0 { AccEcnOrder::Ect0First } else { AccEcnOrder::Ect1First };
        AccEcnOption::new(order, &counters)
    });
    let accurate = prop::option::of(counters);
    // Add only a few bytes, because the other options may fill most of the header.
    let other =
        prop::collection::vec((prop_oneof![30..35u8, 253..=254u8], any::<[u8; 2]>()), 0..2).prop_map(|options| {
            let mut other = OtherOptions::new();
            options.iter().for_each(|(kind, data)| other.push(*kind, data));
            other
        });
    (mss, scale, any::<bool>(), prop::option::of(timestamps), accurate, sack, other).prop_map(
        |(mss, window_scale, sack_permitted, timestamps, accurate_ecn, sack, other)| {
            let options =
                TcpOptions::default().with_mss(mss).with_window_scale(window_scale).with_sack_permitted(sack_permitted);
            let options = options.with_timestamps(timestamps).with_sack(sack);
            let mut options = options.with_accurate_ecn(accurate_ecn);
            options.set_other(other);
            options
        },
    )
}

#[test]
fn a_packet_too_big_message_contains_the_packets_identity_and_the_mtu() {
    let router = (Ipv4Addr::new(10, 255, 0, 0), Ipv6Addr::LOCALHOST);
    let v6 = Addresses::V6 { src: Ipv6Addr::from_bits(1), dst: Ipv6Addr::from_bits(2) };
    for (ip, largest) in
        [(IpHeader::v4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)), 576), (IpHeader::new(v6), 1280)]
    {
        let segment = NewPacket::new(FlowId(0), ip, Transport::Tcp(header()), Payload::virtual_len(1448));
        let new = packet_too_big(&Packet::unbooked(7, Time::ZERO, segment), 1400, router);
        assert_eq!(new.size(), crate::Bytes::new(largest));
        let message = Packet::unbooked(8, Time::ZERO, new);
        assert_eq!(message.dst(), ip.addresses.src());
        let reported = read_packet_too_big(&message).expect("our own message");
        assert_eq!((reported.mtu, reported.src, reported.dst), (1400, ip.addresses.src(), ip.addresses.dst()));
        assert_eq!(
            (reported.src_port, reported.dst_port, reported.seq),
            (header().src_port, header().dst_port, header().seq)
        );
        // A change of any single byte must be detected.
        let mut octets = message.payload().bytes().expect("real octets").to_vec();
        octets[9] ^= 1;
        let changed = NewPacket::new(FlowId(0), message.ip(), message.transport().clone(), Payload::real(octets));
        assert_eq!(read_packet_too_big(&Packet::unbooked(9, Time::ZERO, changed)), None);
    }
}
