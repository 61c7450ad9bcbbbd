use super::*;
use crate::linux::{Netlink, Reach, Tun};
use nix::sched::{CloneFlags, unshare};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

/// The parts of a generated segment.
#[derive(Clone, Debug)]
struct Made {
    v6: bool,
    udp: bool,
    id: u16,
    seq: u32,
    flags: u8,
    ttl: u8,
    class: u8,
    port: u16,
    options: usize,
    payload: Vec<u8>,
}

impl Made {
    /// Returns the encoded packet with correct lengths and checksums.
    fn octets(&self) -> Vec<u8> {
        let mut body = [self.port.to_be_bytes(), 443u16.to_be_bytes()].concat();
        if self.udp {
            body.extend([((8 + self.payload.len()) as u16).to_be_bytes(), [0, 0]].concat());
        } else {
            body.extend([self.seq.to_be_bytes(), 77u32.to_be_bytes()].concat());
            body.extend([(((20 + self.options) / 4) << 4) as u8, self.flags, 1, 0xf5, 0, 0, 0, 0]);
            body.extend((0..self.options).map(|_| 1));
        }
        body.extend(&self.payload);
        let mut packet = if self.v6 {
            let mut header = vec![0x60 | self.class >> 4, self.class << 4, 3, 4, 0, 0, self.protocol(), self.ttl];
            header.extend((0..32).map(|place| 0x20 + place));
            header
        } else {
            let mut header = vec![0x45, self.class, 0, 0, 0, 0, 0x40, 0, self.ttl, self.protocol(), 0, 0];
            put(&mut header, at::IPV4_ID, self.id);
            header.extend([198, 51, 100, 7, 192, 0, 2, 1]);
            header
        };
        let ip_len = packet.len();
        let kind = if self.udp { Kind::Udp } else { Kind::Tcp };
        packet.extend(body);
        let len = packet.len();
        put_total_len(&mut packet, ip_len, len);
        let mut sum = pseudo_header(&packet, kind, len - ip_len);
        sum.add(&packet[ip_len..]);
        let value = if self.udp && sum.value() == 0 { 0xffff } else { sum.value() };
        put(&mut packet, ip_len + kind.checksum_at(), value);
        packet
    }

    fn protocol(&self) -> u8 {
        if self.udp { PROTOCOL_UDP } else { PROTOCOL_TCP }
    }

    /// Returns the segment that follows this segment.
    fn next(&self, payload: Vec<u8>) -> Made {
        let seq = self.seq.wrapping_add(self.payload.len() as u32);
        Made { id: self.id.wrapping_add(1), seq, flags: self.flags & !CWR, payload, ..self.clone() }
    }
}

/// Collects the packets in bundles. Returns the bytes that are written for each bundle.
fn written(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (mut bundle, mut out) = (Bundle::new(true), Vec::new());
    for packet in packets {
        if !bundle.take(packet) {
            out.push(bundle.whole().to_vec());
            bundle.clear();
            assert!(bundle.take(packet), "an empty bundle accepts any packet");
        }
    }
    if !bundle.is_empty() {
        out.push(bundle.whole().to_vec());
    }
    out
}

/// Returns the packets that a receiver gets from the written bytes.
fn cut(written: &[u8]) -> Vec<Vec<u8>> {
    let (offload, piece) = written.split_first_chunk::<OFFLOAD>().expect("the offload header precedes the packet");
    let offload = Offload::read(offload);
    let Some(mut cut) = Cut::of(&offload, piece) else {
        let mut packet = piece.to_vec();
        complete(&offload, &mut packet);
        return vec![packet];
    };
    let (mut packets, mut packet) = (Vec::new(), Vec::new());
    while cut.next(piece, &mut packet) {
        packets.push(packet.clone());
    }
    packets
}

fn octets(count: usize, seed: u8) -> Vec<u8> {
    (0..count).map(|place| (place * 31 + place / 251) as u8 ^ seed).collect()
}

fn any_first() -> impl Strategy<Value = Made> {
    let numbers = (any::<u16>(), any::<u32>(), any::<u8>(), any::<u16>());
    (any::<bool>(), any::<bool>(), numbers, 0usize..4, 1usize..1500, any::<bool>()).prop_map(
        |(v6, udp, (id, seq, class, port), options, len, cwr)| Made {
            v6,
            udp,
            id,
            seq,
            flags: if cwr { 0x90 } else { 0x10 },
            ttl: 64,
            class,
            port,
            options: options * 4,
            payload: octets(len, class),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// A receiver gets the same packets with and without bundles.
    #[test]
    fn bundled_packets_are_split_into_the_original_octets(
        first in any_first(),
        steps in prop::collection::vec((0u8..12, any::<u16>(), any::<u8>(), any::<bool>()), 1..70),
    ) {
        let mut packets = vec![first.octets()];
        let mut last = first;
        for (what, number, seed, same) in steps {
            let len = if same || what > 8 { last.payload.len() } else { usize::from(number) % last.payload.len().max(1) + usize::from(seed & 1) };
            let mut made = last.next(octets(len, seed));
            let mut spoilt = None;
            match what {
                0 => made.flags |= PSH,
                1 => made.flags |= FIN,
                2 => made.flags ^= seed,
                3 => made.seq = made.seq.wrapping_add(u32::from(number)),
                4 => made.id = made.id.wrapping_add(number),
                5 => made.ttl = seed,
                6 => made.class = seed,
                7 => spoilt = Some(usize::from(number)),
                _ => {}
            }
            last = Made { flags: made.flags & !(PSH | FIN), ..made.clone() };
            let mut packet = made.octets();
            if let Some(place) = spoilt {
                let place = place % packet.len();
                packet[place] ^= seed | 1;
            }
            packets.push(packet);
        }
        let back: Vec<Vec<u8>> = written(&packets).iter().flat_map(|written| cut(written)).collect();
        prop_assert_eq!(back, packets);
    }

    /// The parser must not panic on damaged data, although the kernel never passes such data.
    #[test]
    fn damaged_bundles_do_not_panic(
        front in any::<[u8; OFFLOAD]>(),
        kind in prop::sample::select(vec![KIND_NONE, KIND_TCP_V4, KIND_TCP_V6, KIND_UDP, KIND_TCP_V4 | WITH_CWR]),
        first in any_first(),
        changes in prop::collection::vec((0usize..90, any::<u8>()), 0..6),
        len in 0usize..2000,
        near in any::<bool>(),
    ) {
        let mut piece = first.octets();
        for (place, value) in changes {
            let place = place % piece.len();
            piece[place] = value;
        }
        piece.truncate(len);
        let mut offload = Offload { kind, ..Offload::read(&front) };
        if near {
            offload = Offload { flags: 1, size: offload.size % 300, checksum_from: offload.checksum_from % 64, checksum_at: 16, ..offload };
        }
        let packets = cut(&[&offload.write()[..], &piece].concat());
        prop_assert!(packets.len() <= piece.len() + 1);
        written(&[piece.clone(), piece]);
    }
}

/// Consecutive segments must end up in one bundle.
#[test]
fn consecutive_segments_are_merged_into_one_bundle() {
    for (v6, udp) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut made = Made {
            v6,
            udp,
            id: 0xfff0,
            seq: u32::MAX - 5000,
            flags: 0xd0,
            ttl: 60,
            class: 2,
            port: 5001,
            options: 12,
            payload: octets(1400, 1),
        };
        let mut packets = vec![made.octets()];
        for seed in 0..43 {
            made = made.next(octets(1400, seed));
            packets.push(made.octets());
        }
        made = Made { flags: made.flags | PSH | FIN, ..made.next(octets(77, 9)) };
        packets.push(made.octets());
        let whole = written(&packets);
        assert_eq!(whole.len(), 1, "IPv6 {v6}, UDP {udp}");
        assert_eq!(cut(&whole[0]), packets);
        // A packet after the last packet of a bundle starts another bundle.
        packets.push(made.next(octets(77, 3)).octets());
        assert_eq!(written(&packets).len(), 2);
    }
}

/// Completing an incomplete checksum must produce the checksum that a host without offload would compute (RFC 1624).
#[test]
fn an_incomplete_checksum_is_completed() {
    let made = Made {
        v6: false,
        udp: false,
        id: 1,
        seq: 2,
        flags: 0x18,
        ttl: 64,
        class: 0,
        port: 80,
        options: 0,
        payload: octets(333, 4),
    };
    let (whole, mut partial) = (made.octets(), made.octets());
    let pseudo = !pseudo_header(&partial, Kind::Tcp, partial.len() - 20).value();
    put(&mut partial, 36, pseudo);
    let offload = Offload { flags: NEEDS_CHECKSUM, checksum_from: 20, checksum_at: 16, ..Offload::default() };
    assert_eq!(cut(&[&offload.write()[..], &partial].concat()), [whole]);
}

/// The kernel forwards packets from a device with bundles to a device without offloads, so it segments the packets.
#[test]
fn bundles_are_split_as_on_linux() {
    // `unshare` moves only the current thread to another namespace.
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        return;
    }
    let (from, to) = (Tun::create("from0").expect("a device"), Tun::create_plain("to0").expect("a device"));
    let netlink = Netlink::open().expect("netlink");
    for name in ["from0", "to0"] {
        netlink.bring_up(name, Some(1500)).expect("the device is up");
    }
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("forwarding is on");
    for which in ["all", "from0", "to0"] {
        std::fs::write(format!("/proc/sys/net/ipv4/conf/{which}/rp_filter"), "0")
            .expect("the reverse path filter is off");
    }
    netlink.add_route("to0", IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 32, Reach::Behind).expect("a route");
    for udp in [false, true] {
        let mut made = Made {
            v6: false,
            udp,
            id: 0xfffe,
            seq: u32::MAX - 2000,
            flags: 0x90,
            ttl: 60,
            class: 0,
            port: 5001,
            options: 12,
            payload: octets(1400, 1),
        };
        let mut packets = vec![made.octets()];
        for seed in 0..20 {
            made = made.next(octets(1400, seed));
            packets.push(made.octets());
        }
        packets.push(Made { flags: 0x19, ..made.next(octets(77, 9)) }.octets());
        let mut bundle = from.bundle();
        assert!(packets.iter().all(|packet| bundle.take(packet)), "one piece");
        assert_eq!(from.send_bundle(&mut bundle).expect("it is there"), 0, "the kernel accepts the packet");
        for sent in packets {
            let mut expected = sent;
            expected[8] -= 1;
            let len = expected.len();
            put_total_len(&mut expected, 20, len);
            assert_eq!(next_of(&to), expected, "UDP {udp}");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the test waits for the kernel")]
fn next_of(tun: &Tun) -> Vec<u8> {
    let (began, mut packet) = (Instant::now(), Vec::new());
    loop {
        if tun.receive(&mut packet).expect("the device exists").is_some() {
            // Ignore packets that the kernel sends on its own, such as neighbour solicitations.
            if packet[0] == 0x45 && packet[16..20] == [192, 0, 2, 1] {
                return packet;
            }
            continue;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "no packet arrived within 10 s");
        std::thread::sleep(Duration::from_millis(1));
    }
}
