//! Compares the sizes of compressed headers with the RFCs, packet by packet, and checks the effect of a loss and its
//! repair.

use crate::common::{Bench, Fate, kbit, nanos};
use lopsided_core::packet::{Flags, SackBlock, TcpHeader, TcpOptions, Timestamps};
use lopsided_core::{
    DropReason, Duration, Ecn, FlowId, IpHeader, NewPacket, Node, Packet, Payload, Port, Seq, Time, Transport, wire,
};
use lopsided_link::{CompressionScheme, HeaderCompressionConfig, LinkConfig, LossConfig, ShaperConfig};
use lopsided_queue::QueueConfig;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// A TCP segment. Header fields that are not listed here have the same values in all tests.
#[derive(Clone, Debug)]
struct Segment {
    port: u16,
    seq: u32,
    ack: u32,
    window: u16,
    payload: u32,
    flags: Flags,
    timestamp: Option<u32>,
    sack: &'static [(u32, u32)],
    ecn: Ecn,
    /// Difference between this segment's IP identification and that of the previous segment.
    id_step: u64,
}

const ACK: Segment = Segment {
    port: 1,
    seq: 1000,
    ack: 1,
    window: 8192,
    payload: 0,
    flags: Flags::ACK,
    timestamp: None,
    sack: &[],
    ecn: Ecn::NotEct,
    id_step: 1,
};

impl Segment {
    fn packet(&self, id: u64, now: Time) -> Packet {
        let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2)).with_ecn(self.ecn);
        let timestamps = self.timestamp.map(|value| Timestamps { value, echo: 7 });
        let mut options = TcpOptions::default().with_timestamps(timestamps);
        for (start, end) in self.sack {
            options.push_sack(SackBlock { start: Seq::new(*start), end: Seq::new(*end) });
        }
        let header = TcpHeader {
            src_port: self.port,
            dst_port: 80,
            seq: Seq::new(self.seq),
            ack: Seq::new(self.ack),
            flags: self.flags,
            window: self.window,
            options,
        };
        let new = NewPacket::new(FlowId(0), ip, Transport::Tcp(header), Payload::virtual_len(self.payload));
        Packet::unbooked(id, now, new)
    }

    /// Returns the segment with its headers stored as bytes and with a different IP identification.
    fn foreign(&self, id: u64, now: Time) -> Packet {
        let octets = wire::encode(&self.packet(id + 7000, now));
        Packet::unbooked(id, now, wire::read_foreign(FlowId(0), &octets).expect("a whole packet"))
    }
}

fn cslip() -> HeaderCompressionConfig {
    HeaderCompressionConfig { scheme: CompressionScheme::Cslip, ..HeaderCompressionConfig::default() }
}

/// Returns the settings for compressed headers of a fixed size.
fn fixed(octets: u32) -> HeaderCompressionConfig {
    HeaderCompressionConfig { scheme: CompressionScheme::Fixed, octets, ..HeaderCompressionConfig::default() }
}

/// Sends the segments over a line. Returns the size of each segment on the line in bytes, and the fate of each segment.
fn cross(compression: HeaderCompressionConfig, lost: &[u64], segments: &[Segment]) -> (Vec<u64>, Vec<Fate>) {
    cross_as(Segment::packet, compression, lost, segments)
}

/// Like `cross`, for packets that `packet` creates.
fn cross_as(
    packet: fn(&Segment, u64, Time) -> Packet,
    compression: HeaderCompressionConfig,
    lost: &[u64],
    segments: &[Segment],
) -> (Vec<u64>, Vec<Fate>) {
    let config = LinkConfig {
        header_compression: compression,
        loss: LossConfig { packets: lost.to_vec(), ..LossConfig::default() },
        ..LinkConfig::new(Some(kbit(8)), Duration::from_millis(5), QueueConfig::packets(10))
    };
    let mut bench = Bench::new(config.build(1, "link/up").unwrap());
    let (mut sizes, mut sent, mut id) = (Vec::new(), 0, 100);
    for (at, segment) in segments.iter().enumerate() {
        let now = nanos(at as u64 * 10_000_000_000);
        bench.run_until(now);
        id += segment.id_step;
        bench.with_cx(now, |link, cx| link.handle_packet(Port(0), packet(segment, id, now), cx));
        let wire = bench.view_last(|link| link.wire_bytes().get());
        sizes.push(wire - sent);
        sent = wire;
    }
    bench.finish();
    let mut fates = bench.drops();
    fates.extend(bench.delivered());
    fates.sort_by_key(|fate| match *fate {
        Fate::Delivered(id, _) | Fate::Dropped(id, ..) => id,
    });
    (sizes, fates)
}

fn sizes(segments: &[Segment]) -> Vec<u64> {
    let (sizes, fates) = cross(cslip(), &[], segments);
    assert!(fates.iter().all(|fate| matches!(fate, Fate::Delivered(..))), "{fates:?}");
    sizes
}

/// Returns one character per segment: delivered (`.`), lost on the line (`x`) or not decompressed (`?`).
fn fates(compression: HeaderCompressionConfig, lost: &[u64], segments: &[Segment]) -> String {
    let letter = |fate: &Fate| match fate {
        Fate::Delivered(..) => '.',
        Fate::Dropped(_, _, DropReason::ContextLost) => '?',
        Fate::Dropped(..) => 'x',
    };
    cross(compression, lost, segments).1.iter().map(letter).collect()
}

/// Returns the ACKs of a download: one for every second segment of 500 bytes.
fn acks(count: u32) -> Vec<Segment> {
    (0..count).map(|at| Segment { ack: 1 + 1000 * at, ..ACK }).collect()
}

/// Returns the data segments of one direction, each with this payload.
fn data(count: u32, payload: u32) -> Vec<Segment> {
    (0..count).map(|at| Segment { seq: 1000 + payload * at, payload, ..ACK }).collect()
}

#[test]
fn a_connection_starts_with_a_full_header_and_continues_with_differences() {
    let syn = Segment { flags: Flags::SYN, ..ACK };
    let first = [syn, ACK];
    assert_eq!(sizes(&first), [40, 40]);
    assert_eq!(
        sizes(&acks(3)),
        [40, 6, 6],
        "flags, checksum, and 1000 in three octets: balakrishnan1999's compressed ACK"
    );
    let small = |ack| Segment { ack, ..ACK };
    assert_eq!(sizes(&[small(1), small(256), small(512)]), [40, 4, 6], "255 takes one octet, 256 three");
    assert_eq!(sizes(&[ACK, Segment { ack: 65_536, ..ACK }]), [40, 6]);
    assert_eq!(sizes(&[ACK, Segment { ack: 65_537, ..ACK }]), [40, 40], "64 KiB at once");
}

#[test]
fn data_one_way_and_echoed_typing_take_three_octets() {
    assert_eq!(sizes(&data(3, 512)), [552, 515, 515]);
    let typed = |at: u32| Segment { seq: 1000 + at, ack: 1 + at, payload: 1, ..ACK };
    assert_eq!(sizes(&[typed(0), typed(1), typed(2)]), [41, 4, 4]);
    let pushed = Segment { flags: Flags::ACK.with(Flags::PSH), ..typed(1) };
    assert_eq!(sizes(&[typed(0), pushed]), [41, 4], "PUSH is a bit of the first octet");
    let shorter = [data(1, 512), vec![Segment { seq: 1512, payload: 100, ..ACK }, Segment { seq: 1612, ..ACK }]];
    assert_eq!(
        sizes(&shorter.concat()),
        [552, 103, 3],
        "the payload of the previous packet determines the special case"
    );
}

#[test]
fn each_field_that_changes_adds_its_octets() {
    let window = |window, ack| Segment { window, ack, ..ACK };
    assert_eq!(sizes(&[ACK, window(8193, 1)]), [40, 4]);
    assert_eq!(sizes(&[ACK, window(8191, 1)]), [40, 6], "a smaller window is a large difference of 16 bits");
    assert_eq!(sizes(&[ACK, window(8193, 2)]), [40, 5]);
    assert_eq!(sizes(&[ACK, window(7000, 1001)]), [40, 9]);
    assert_eq!(
        sizes(&[ACK, Segment { ack: 101, id_step: 3, ..ACK }]),
        [40, 5],
        "two packets of the host were sent to other receivers"
    );
    assert_eq!(sizes(&[ACK, Segment { ack: 101, id_step: 300, ..ACK }]), [40, 7]);
}

#[test]
fn headers_that_cannot_be_compressed_are_sent_in_full() {
    assert_eq!(sizes(&[ACK, ACK, ACK]), [40, 40, 40], "duplicate ACKs");
    assert_eq!(
        sizes(&[ACK, Segment { payload: 10, ..ACK }]),
        [40, 13],
        "data after an ACK do not count as a repetition"
    );
    let sent = data(2, 512);
    assert_eq!(sizes(&[sent[0].clone(), sent[0].clone()]), [552, 552], "a retransmission of the last segment");
    assert_eq!(sizes(&[sent[0].clone(), sent[1].clone(), sent[0].clone()]), [552, 515, 552], "a retransmission");
    let ticks = |timestamp, ack| Segment { timestamp: Some(timestamp), ack, ..ACK };
    assert_eq!(sizes(&[ticks(1, 1), ticks(1, 1001), ticks(2, 2001)]), [52, 6, 52], "timestamps that tick");
    let marked = |ecn, seq| Segment { ecn, seq, payload: 500, ..ACK };
    let marks = [marked(Ecn::Ect0, 1000), marked(Ecn::Ect0, 1500), marked(Ecn::Ce, 2000), marked(Ecn::Ect0, 2500)];
    assert_eq!(sizes(&marks), [540, 503, 540, 540], "a packet with a mark, and a packet without a mark");
    let echo = |ack| Segment { flags: Flags::ACK.with(Flags::ECE), ack, ..ACK };
    assert_eq!(
        sizes(&[ACK, echo(1001), Segment { ack: 2001, ..ACK }]),
        [40, 40, 7],
        "ECE is sent in full and does not change the context, but the identification advances"
    );
}

#[test]
fn a_new_connection_gets_the_least_recently_used_slot() {
    let of = |port, ack| Segment { port, ack, ..ACK };
    assert_eq!(
        sizes(&[of(1, 1), of(2, 1), of(1, 101), of(1, 201)]),
        [40, 40, 6, 4],
        "a packet carries its slot number if the slot changes"
    );
    let always = HeaderCompressionConfig { compress_slot: false, ..cslip() };
    assert_eq!(cross(always, &[], &[of(1, 1), of(1, 101)]).0, [40, 5]);
    let two = HeaderCompressionConfig { slots: 2, ..cslip() };
    let segments = [of(1, 1), of(2, 1), of(1, 101), of(3, 1), of(1, 201), of(2, 101)];
    assert_eq!(
        cross(two, &[], &segments).0,
        [40, 40, 6, 40, 6, 40],
        "the third connection gets the slot of the second"
    );
}

#[test]
fn after_a_loss_no_header_is_rebuilt_until_a_full_header() {
    let repeated = |mut segments: Vec<Segment>, at: usize| {
        let again = segments[at].clone();
        segments.push(again);
        segments
    };
    assert_eq!(fates(cslip(), &[3], &acks(6)), "..x???");
    // After a timeout of the sender, the receiver repeats its ACK. The repeated ACK is sent in full.
    let mut repaired = repeated(acks(6), 5);
    repaired.extend([Segment { ack: 6001, ..ACK }, Segment { ack: 7001, ..ACK }]);
    assert_eq!(fates(cslip(), &[3], &repaired), "..x???...");
    let named = HeaderCompressionConfig { compress_slot: false, ..cslip() };
    assert_eq!(fates(named, &[3], &repaired), "..x???...", "a packet with a slot number is rebuilt incorrectly");
    // The sequence number of a retransmitted data segment goes back, so the segment is sent in full. The next segment
    // advances by less than 64 KiB.
    let mut retransmitted = repeated(data(5, 512), 1);
    retransmitted.push(Segment { seq: 1000 + 5 * 512, payload: 512, ..ACK });
    assert_eq!(fates(cslip(), &[2], &retransmitted), ".x???..");
    assert_eq!(fates(cslip(), &[1], &acks(3)), "x??", "the far end has no context for the connection");
    assert_eq!(fates(cslip(), &[2], &[ACK, Segment { flags: Flags::SYN, port: 9, ..ACK }, acks(2)[1].clone()]), ".x?");
}

#[test]
fn another_connection_survives_the_loss() {
    let of = |port, ack| Segment { port, ack, ..ACK };
    let segments = [of(1, 1), of(2, 1), of(1, 1001), of(2, 1001), of(2, 2001), of(1, 2001), of(1, 3001), of(2, 3001)];
    assert_eq!(fates(cslip(), &[3], &segments), "..x..??.");
}

#[test]
fn the_compressed_size_determines_the_transmission_time() {
    let (_, fates) = cross(cslip(), &[], &acks(2));
    // At 8 kbit/s a byte takes 1 ms. The delay is 5 ms.
    assert_eq!(fates, [Fate::Delivered(101, nanos(45_000_000)), Fate::Delivered(102, nanos(10_011_000_000))]);
}

#[test]
fn a_token_bucket_and_invalid_numbers_of_slots_are_rejected() {
    let line = LinkConfig::new(Some(kbit(8)), Duration::ZERO, QueueConfig::packets(1));
    let with = |slots| HeaderCompressionConfig { slots, ..cslip() };
    for slots in [0, 257] {
        let error = LinkConfig { header_compression: with(slots), ..line.clone() }.build(1, "link").unwrap_err();
        assert_eq!(error.key(), "header_compression.slots");
    }
    let shaper = Some(ShaperConfig { burst: crate::common::octets(1600), ..ShaperConfig::default() });
    let error = LinkConfig { header_compression: cslip(), shaper, ..line }.build(1, "link").unwrap_err();
    assert_eq!(error.key(), "header_compression");
}

fn segment() -> impl Strategy<Value = Segment> {
    let number = prop_oneof![0u32..3, 250u32..260, 65_530u32..65_540, Just(u32::MAX - 1)];
    let flags = prop_oneof![
        6 => Just(Flags::ACK),
        2 => Just(Flags::ACK.with(Flags::PSH)),
        1 => Just(Flags::ACK.with(Flags::ECE)),
        1 => Just(Flags::SYN),
    ];
    (1u16..5, number.clone(), number, 0u16..4, prop_oneof![Just(0u32), 1u32..600], flags, 1u64..300).prop_map(
        |(port, seq, ack, window, payload, flags, id_step)| {
            let window = window.wrapping_mul(30_000);
            Segment { port, seq, ack, window, payload, flags, id_step, ..ACK }
        },
    )
}

proptest! {
    /// After any pattern of losses, a full header ends the error: the last two packets are decompressed.
    #[test]
    fn a_full_header_ends_every_error(
        segments in prop::collection::vec(segment(), 1..40), lost in prop::collection::vec(1u64..40, 0..6), which: u8,
    ) {
        let mut segments = segments;
        // A packet that repeats the previous packet is sent in full. The test sends two equal packets of a new
        // connection at the end, because ROHC sends the full header of a new connection twice.
        let last = Segment { flags: Flags::ACK, payload: 0, port: 9, ..ACK };
        segments.extend(std::iter::repeat_n(last, 2));
        let scheme = [cslip(), iphc(), rohc()][usize::from(which) % 3];
        let lost: BTreeSet<u64> = lost.into_iter().filter(|number| *number as usize <= segments.len() - 2).collect();
        let lost: Vec<u64> = lost.into_iter().collect();
        let outcome = fates(scheme, &lost, &segments);
        prop_assert!(outcome.ends_with(".."), "{}", outcome);
        prop_assert_eq!(outcome.matches('x').count(), lost.len());
    }

    /// Without losses, every header is rebuilt. The size of a header is at least 3 bytes with CSLIP, and at least 4
    /// bytes with the other schemes.
    #[test]
    fn without_loss_every_header_is_rebuilt(
        segments in prop::collection::vec(segment(), 1..60), slots in 1u32..5, compress_slot: bool,
    ) {
        let slip = HeaderCompressionConfig { slots, compress_slot, ..cslip() };
        let robust = HeaderCompressionConfig { slots, ..rohc() };
        for (scheme, least) in [(slip, 3), (HeaderCompressionConfig { slots, ..iphc() }, 4), (robust, 4)] {
            let (sizes, fates) = cross(scheme, &[], &segments);
            prop_assert!(fates.iter().all(|fate| matches!(fate, Fate::Delivered(..))));
            for (size, segment) in sizes.iter().zip(&segments) {
                let payload = u64::from(segment.payload);
                // An IR is a full header plus at most 4 bytes.
                prop_assert!((payload + least..=payload + 44).contains(size), "{size} of {segment:?}");
            }
        }
    }
}

fn iphc() -> HeaderCompressionConfig {
    HeaderCompressionConfig { scheme: CompressionScheme::Iphc, ..HeaderCompressionConfig::default() }
}

fn iphc_sizes(segments: &[Segment]) -> Vec<u64> {
    let (sizes, fates) = cross(iphc(), &[], segments);
    assert!(fates.iter().all(|fate| matches!(fate, Fate::Delivered(..))), "{fates:?}");
    sizes
}

#[test]
fn iphc_takes_the_octets_of_rfc_2507() {
    assert_eq!(iphc_sizes(&acks(3)), [40, 7, 7], "context, flags, checksum, and 1000 in three octets");
    assert_eq!(iphc_sizes(&data(3, 512)), [552, 516, 516]);
    let ticks = |timestamp, ack| Segment { timestamp: Some(timestamp), ack, ..ACK };
    assert_eq!(
        iphc_sizes(&[ticks(1, 1), ticks(1, 1001), ticks(2, 2001)]),
        [52, 7, 19],
        "changed options are sent in full"
    );
    assert_eq!(iphc_sizes(&[ticks(1, 1), ticks(2, 1)]), [52, 16], "a duplicate ACK with changed options");
    assert_eq!(iphc_sizes(&[ACK, ACK]), [40, 40], "a duplicate ACK without options");
    let marked = |ecn, seq| Segment { ecn, seq, payload: 500, ..ACK };
    let marks = [marked(Ecn::Ect0, 1000), marked(Ecn::Ce, 1500), marked(Ecn::Ect0, 2000), marked(Ecn::Ce, 2500)];
    assert_eq!(iphc_sizes(&marks), [540, 505, 504, 505], "each mark takes one octet");
    let echo = |flags, ack| Segment { flags, ack, ..ACK };
    let ece = Flags::ACK.with(Flags::ECE);
    assert_eq!(
        iphc_sizes(&[ACK, echo(ece, 1001), echo(Flags::ACK, 2001)]),
        [40, 8, 7],
        "the ECN flags of TCP also take one octet"
    );
    let of = |port, ack| Segment { port, ack, ..ACK };
    assert_eq!(
        iphc_sizes(&[of(1, 1), of(2, 1), of(1, 101)]),
        [40, 40, 6],
        "every header has a context number; the identification advances by 2"
    );
}

#[test]
fn iphc_applies_a_difference_again_and_requests_a_header_if_that_fails() {
    assert_eq!(fates(iphc(), &[3], &acks(8)), "..x.....", "the lost ACK had the same difference as the next ACK");
    assert_eq!(fates(iphc(), &[3, 4], &acks(8)), "..xx....", "two lost ACKs");
    let once = HeaderCompressionConfig { twice: false, ..iphc() };
    assert_eq!(fates(once, &[3], &acks(6)), "..x?..", "the next packet answers the request");
    let alone = HeaderCompressionConfig { feedback: false, ..once };
    assert_eq!(fates(alone, &[3], &acks(6)), "..x???");
    let uneven: Vec<Segment> = [1, 1001, 2001, 2601, 3601].map(|ack| Segment { ack, ..ACK }).into();
    assert_eq!(fates(iphc(), &[3], &uneven), "..x?.", "a different step after the loss");
    // The answer carries the context number, the identification, and TCP's header without ports.
    let (sizes, _) = cross(once, &[3], &acks(6));
    assert_eq!(sizes, [40, 7, 7, 7, 19, 7]);
    // The first packet of a connection was lost, so the far end has no context.
    assert_eq!(fates(iphc(), &[1], &acks(3)), "x??");
}

#[test]
fn keys_of_another_scheme_are_rejected() {
    let line = LinkConfig::new(Some(kbit(8)), Duration::ZERO, QueueConfig::packets(1));
    let refused = [
        (HeaderCompressionConfig { compress_slot: false, ..iphc() }, "header_compression.compress_slot"),
        (HeaderCompressionConfig { twice: false, ..cslip() }, "header_compression.twice"),
        (HeaderCompressionConfig { feedback: false, ..cslip() }, "header_compression.feedback"),
        (HeaderCompressionConfig { twice: false, ..rohc() }, "header_compression.twice"),
        (fixed(0), "header_compression.octets"),
    ];
    for (header_compression, key) in refused {
        let error = LinkConfig { header_compression, ..line.clone() }.build(1, "link").unwrap_err();
        assert_eq!(error.key(), key);
    }
}

#[test]
fn fixed_headers_always_have_the_same_size_and_a_loss_affects_one_packet() {
    let syn = Segment { flags: Flags::SYN, ..ACK };
    let ticks = |at| Segment { timestamp: Some(at), payload: 100, ..ACK };
    let segments = [syn, ACK, ACK, ticks(1), ticks(9)];
    assert_eq!(cross(fixed(6), &[], &segments).0, [6, 6, 6, 106, 106]);
    assert_eq!(fates(fixed(6), &[2], &segments), ".x...");
}

fn rohc() -> HeaderCompressionConfig {
    HeaderCompressionConfig { scheme: CompressionScheme::Rohc, ..HeaderCompressionConfig::default() }
}

fn rohc_sizes(segments: &[Segment]) -> Vec<u64> {
    let (sizes, fates) = cross(rohc(), &[], segments);
    assert!(fates.iter().all(|fate| matches!(fate, Fate::Delivered(..))), "{fates:?}");
    sizes
}

/// Returns the sizes of these segments on the line, without the first `skip` segments.
fn behind(skip: usize, segments: Vec<Segment>) -> Vec<u64> {
    rohc_sizes(&segments)[skip..].to_vec()
}

#[test]
fn rohc_takes_the_octets_of_rfc_6846() {
    // Two `IR` packets: type, profile and CRC; static parts of IPv4 and TCP, 14 bytes; dynamic parts, 5 and 16 bytes;
    // an empty list of options.
    assert_eq!(rohc_sizes(&acks(2)), [39, 39]);
    // A new stride is sent in a `co_common` until all 4 possible references contain it. This header takes 5 bytes, plus
    // 2 for the acknowledgement number, 2 for the stride, 1 for the identification and 2 for TCP's checksum.
    assert_eq!(rohc_sizes(&acks(9))[2..], [12, 12, 12, 12, 4, 4, 4], "then `seq_4` and the checksum");
    assert_eq!(rohc_sizes(&data(5, 512))[2..], [517, 517, 517], "`seq_2` and the checksum");
    let ticks = |at: u32| Segment { timestamp: Some(7 + 3 * at), ack: 1 + 1000 * at, ..ACK };
    assert_eq!(
        behind(6, (0..9).map(ticks).collect()),
        [8, 8, 8],
        "one octet for the timestamp, three for the unchanged echo"
    );
    let slow = |at: u32| Segment { timestamp: Some(7 + 300 * at), ack: 1 + 1000 * at, ..ACK };
    assert_eq!(behind(6, (0..9).map(slow).collect()), [9, 9, 9], "a step of 300 ticks takes two octets");
    // The smallest stride is 2. An advance of 1 MiB or more is no stride, so a `co_common` carries the number in 4 bytes.
    let advance = |step: u32| behind(6, (0..9).map(|at| Segment { ack: 1 + step * at, ..ACK }).collect());
    assert_eq!([advance(2), advance(1 << 20)], [[4; 3], [12; 3]]);
    // A changed window needs `seq_7`. A duplicate ACK is sent as `seq_4` again, because the acknowledgement number does
    // not advance.
    let window = |at: u32| Segment { window: 8192 - 4 * at as u16, ack: 1 + 1000 * at, ..ACK };
    assert_eq!(behind(6, (0..9).map(window).collect()), [8, 8, 8]);
    assert_eq!(behind(6, [acks(8), vec![acks(8)[7].clone()]].concat()), [4, 4, 4]);
    // An `IR` that repeats the context also contains the stride, if there is one, in 2 bytes.
    let repeated = |segments: &[Segment]| {
        let alone = HeaderCompressionConfig { feedback: false, ..rohc() };
        cross(alone, &[], segments).0[100..].iter().copied().max()
    };
    assert_eq!((repeated(&acks(140)), repeated(&data(140, 512))), (Some(39 + 2), Some(39 + 512)));
    // A header of the second connection includes a context number of 1 byte.
    let other = |at: u32| Segment { port: 2, ack: 1 + 1000 * at, ..ACK };
    assert_eq!(rohc_sizes(&[ACK, other(0), other(1)]), [39, 40, 40]);
    // From the first ECN mark on, each header has an ECN byte. The sender uses `co_common` headers until all 4 possible
    // references contain this change.
    let marked = |at: u32| Segment {
        ecn: if at == 6 { Ecn::Ce } else { Ecn::NotEct },
        seq: 1000 + 500 * at,
        payload: 500,
        ..ACK
    };
    assert_eq!(behind(5, (0..12).map(marked).collect()), [505, 511, 511, 511, 511, 506, 506]);
}

#[test]
fn rohc_encodes_sack_blocks_by_the_distance_from_the_previous_edge() {
    let with = |sack: &'static [(u32, u32)]| {
        let last = Segment { ack: 9001, sack, ..ACK };
        *rohc_sizes(&[acks(9), vec![last.clone(); 5]].concat()).last().unwrap() - 4
    };
    assert_eq!(with(&[(10_001, 11_001)]), 1, "unchanged blocks take one octet");
    let changed = |sack: &'static [(u32, u32)]| {
        let before = Segment { ack: 9001, sack: &[(9_500, 9_600)], ..ACK };
        let last = Segment { sack, ..before.clone() };
        *rohc_sizes(&[acks(9), vec![before; 5], vec![last]].concat()).last().unwrap() - 4
    };
    assert_eq!(changed(&[(10_001, 11_001)]), 5, "the number of blocks, and two edges of two octets");
    assert_eq!(changed(&[(50_001, 51_001)]), 6, "an edge 32 kB or more above the ACK takes three octets");
    assert_eq!(changed(&[(10_001, 11_001), (12_001, 13_001)]), 9);
    assert_eq!(
        changed(&[(12_001, 13_001), (10_001, 11_001)]),
        12,
        "an edge below the previous edge wraps around and takes five octets"
    );
}

#[test]
fn rohc_tolerates_a_few_losses_and_sends_a_request_after_more_losses() {
    assert_eq!(fates(rohc(), &[10, 11, 12], &acks(16)), ".........xxx....", "the low bits still identify the header");
    let many: Vec<u64> = (10..24).collect();
    let outcome = fates(rohc(), &many, &acks(28));
    assert_eq!(&outcome[9..], "xxxxxxxxxxxxxx?....", "the answer to the request contains all fields");
    // One `IR-DYN` answers the request. It has 25 bytes with the stride.
    assert_eq!(cross(rohc(), &many, &acks(28)).0[23..], [4, 27, 4, 4, 4]);
    // A stride that changes is sent in a `co_common`, whose 2 bytes for the number do not cover 14 advances of 9,000.
    let unsteady = |at: u32| Segment { ack: 1 + at * 9001 + (at / 2) * at.div_ceil(2), ..ACK };
    let outcome = fates(rohc(), &many, &(0..28).map(unsteady).collect::<Vec<_>>());
    assert_eq!(&outcome[9..], "xxxxxxxxxxxxxx?....");
    let alone = HeaderCompressionConfig { feedback: false, ..rohc() };
    let outcome = fates(alone, &many, &acks(140));
    let back = outcome.rfind('?').expect("some packets are lost");
    assert!((125..135).contains(&back), "an IR is sent every 128 packets: {outcome}");
    // If both IRs of a connection are lost, the far end has no context. It requests the context after the first header
    // that arrives.
    assert_eq!(fates(rohc(), &[1, 2], &acks(6)), "xx?...");
    assert_eq!(fates(rohc(), &[1], &acks(4)), "x...");
}

#[test]
fn headers_of_real_hosts_are_also_compressed() {
    let ticks = |at: u32| Segment { timestamp: Some(7 + 3 * at), ack: 1 + 1000 * at, id_step: 2, ..ACK };
    let segments: Vec<Segment> = (0..9).map(ticks).collect();
    for scheme in [cslip(), iphc(), rohc()] {
        let (sizes, fates) = cross_as(Segment::foreign, scheme, &[], &segments);
        assert_eq!(sizes, cross(scheme, &[], &segments).0);
        assert!(fates.iter().all(|fate| matches!(fate, Fate::Delivered(..))), "{fates:?}");
    }
    assert_eq!(cross_as(Segment::foreign, cslip(), &[], &acks(3)).0, [40, 6, 6]);
}
