//! Each ACK packet has exactly the computed size in bytes.

use crate::pair::{Pair, pattern};
use lopsided_core::{Duration, Time};
use lopsided_quic::frames::{CID_LEN, Frame, PacketKind, TAG_LEN, packets, varint_len};
use lopsided_quic::{Clock, QuicConfig};

fn transfer(config: &QuicConfig, loss_every: u64) -> Pair {
    let mut count = 0;
    let fate = Box::new(move |seen: &crate::pair::Seen| {
        count += 1;
        let lost = loss_every > 0 && !seen.up && count % loss_every == 0;
        if lost { vec![] } else { vec![10_000_000] }
    });
    let mut pair = Pair::new(config, 3, Clock::default(), pattern(600_000), fate);
    pair.run(Time::ZERO + Duration::from_secs(60));
    assert!(pair.closed);
    pair
}

/// An ACK packet (RFC 9000, sections 17.3.1 and 19.3) consists of the first byte, connection ID and packet number; the
/// frame's type, largest number, delay, number of ranges, ranges and three ECN counts; and the tag.
#[test]
fn acks_have_the_size_computed_from_rfc_9000() {
    for (loss_every, ecn) in [(0, true), (0, false), (17, true)] {
        let config = QuicConfig { ecn, ..QuicConfig::default() };
        let pair = transfer(&config, loss_every);
        let mut seen_acks = 0;
        for seen in pair.sent.iter().filter(|seen| seen.up) {
            let mut of_datagram = packets(&seen.octets);
            let Some(packet) = of_datagram.next().filter(|packet| packet.kind == PacketKind::OneRtt) else { continue };
            let mut frames = packet.frames();
            let (Some(Frame::Ack { largest, delay, blocks, counts }), None) = (frames.next(), frames.next()) else {
                continue;
            };
            seen_acks += 1;
            let ranges: Vec<(u64, u64)> = blocks.collect();
            let mut expected = 1 + CID_LEN + packet.number_len + TAG_LEN;
            expected += 1 + varint_len(largest) + varint_len(delay) + varint_len(ranges.len() as u64 - 1);
            expected += varint_len(ranges[0].1 - ranges[0].0);
            for pair in ranges.windows(2) {
                expected += varint_len(pair[0].0 - pair[1].1 - 2) + varint_len(pair[1].1 - pair[1].0);
            }
            expected += counts.map_or(0, |counts| counts.into_iter().map(varint_len).sum());
            assert_eq!(seen.octets.len(), expected, "largest {largest}, {} ranges", ranges.len());
            assert_eq!(ranges[0].1, largest);
            // quinn sometimes skips a packet number, to detect peers that acknowledge packets without receiving them
            // (RFC 9000, section 21.4).
            assert!(loss_every > 0 || ranges.len() <= 8, "only skipped packet numbers are missing");
            assert!(counts.is_some() || !ecn, "marks are counted where packets are ECN-capable");
        }
        assert!(seen_acks > 100, "{seen_acks} ACKs");
    }
}

/// The receiver sends one ACK for each `packets_per_ack` packets, whether the sender or the receiver sets this number.
#[test]
fn the_receiver_sends_acks_at_the_configured_ratio() {
    for (packets_per_ack, asks) in [(2u32, false), (2, true), (10, false), (10, true), (1, false)] {
        let config =
            QuicConfig { ack_packets: packets_per_ack, ack_frequency: asks, gso_packets: 1, ..QuicConfig::default() };
        let pair = transfer(&config, 0);
        let kinds = |up: bool, wanted: fn(&Frame<'_>) -> bool| {
            let of = pair.sent.iter().filter(|seen| seen.up == up);
            of.flat_map(|seen| packets(&seen.octets))
                .filter(|packet| packet.kind == PacketKind::OneRtt && packet.frames().any(|frame| wanted(&frame)))
                .count() as f64
        };
        let data = kinds(false, |frame| matches!(frame, Frame::Stream { .. }));
        let acks = kinds(true, |frame| matches!(frame, Frame::Ack { .. }));
        let ratio = data / acks;
        // The ACK timer may expire before a batch is complete.
        let least = if packets_per_ack == 10 { 4.0 } else { 0.85 * f64::from(packets_per_ack) };
        assert!((least..1.1 * f64::from(packets_per_ack)).contains(&ratio), "{packets_per_ack} {asks}: {ratio}");
        let asked = kinds(false, |frame| matches!(frame, Frame::AckFrequency { .. }));
        assert_eq!(asked > 0.0, asks);
    }
}
