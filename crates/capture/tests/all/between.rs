//! Compares two captures of one connection whose clocks differ by a known offset and skew.

use crate::story::{MSS, Timed, ack, data, handshake, pcap};
use lopsided_capture::Between;

const MS: u64 = 1_000_000;
const OFFSET: u64 = 5_000 * MS;
const SKEW_PPM: u64 = 40;
/// One-way delay in nanoseconds. Every tenth packet is delayed by a further 30 ms.
const DELAY: u64 = 10 * MS;
const WAIT: u64 = 30 * MS;
const LOST: usize = 57;

fn wait(number: usize) -> u64 {
    if number % 10 == 9 { WAIT } else { 0 }
}

/// Converts a time of the server's clock to the client's clock.
fn at_client(at: u64) -> u64 {
    at + OFFSET + at * SKEW_PPM / 1_000_000
}

/// Returns the packets at the server and at the client, with times of the client's clock.
fn both() -> (Vec<Timed>, Vec<Timed>) {
    let (mut server, mut client) = (Vec::new(), Vec::new());
    for number in 0..2_000_usize {
        let at = 100 * MS + number as u64 * 50 * MS;
        let segment = data(at, number as u32 * MSS, MSS, false).1;
        server.push((at, segment.clone()));
        if number != LOST {
            let arrives = at + DELAY + wait(number);
            client.push((at_client(arrives), segment));
            let (_, answer) = ack(arrives, (number as u32 + 1) * MSS, 60_000);
            client.push((at_client(arrives), answer.clone()));
            server.push((arrives + DELAY, answer));
        }
    }
    (server, client)
}

#[test]
fn clock_offset_delays_and_losses_match_the_path() {
    let (server, client) = both();
    let found = Between::read(&pcap(&server)[..], &pcap(&client)[..]).expect("two captures");
    assert!((found.offset - OFFSET as f64).abs() < 0.1 * MS as f64, "offset {}", found.offset);
    assert!((found.skew_ppm - SKEW_PPM as f64).abs() < 1.0, "skew {}", found.skew_ppm);
    let down = found.ways.iter().find(|way| way.from.port == 80).expect("data");
    assert_eq!((down.first, down.lost()), (0, 1));
    assert!((down.bounds_ms.0 - 10.0).abs() < 0.2, "{:?}", down.bounds_ms);
    assert!((down.bounds_ms.1 - 40.0).abs() < 0.2, "{:?}", down.bounds_ms);
    let missing: Vec<_> = found.passages.iter().filter(|passage| passage.numbers[1].is_none()).collect();
    assert_eq!(missing.len(), 1);
}

#[test]
fn captures_without_a_common_packet_are_rejected() {
    let (server, _) = both();
    let other = handshake(1_000);
    assert!(Between::read(&pcap(&server)[..], &pcap(&other)[..]).is_err());
}

#[test]
fn a_merged_record_matches_the_packets_that_it_was_split_into() {
    // The MSS of the handshake, without timestamps.
    const MSS: u32 = 1460;
    let mut client = Vec::new();
    let mut merged = Vec::new();
    for number in 0..1_000_usize {
        let at = 100 * MS + number as u64 * 50 * MS;
        // The record in the server's capture is split into three segments by the network card. The client's capture
        // contains these segments.
        merged.push(data(at, 3 * number as u32 * MSS, 3 * MSS, true));
        for part in 0..3 {
            let arrives = at + DELAY + u64::from(part) * MS;
            client.push((at_client(arrives), data(arrives, (3 * number as u32 + part) * MSS, MSS, part == 2).1));
        }
        let answer = ack(at + DELAY + 3 * MS, (number as u32 + 1) * 3 * MSS, 60_000);
        client.push((at_client(answer.0), answer.1.clone()));
        merged.push((answer.0 + DELAY, answer.1));
    }
    let shaken = handshake(60_000);
    let found = Between::read(&pcap(&[&shaken[..], &merged].concat())[..], &pcap(&client)[..]).expect("two captures");
    let down = found.ways.iter().find(|way| way.from.port == 80).expect("data");
    assert_eq!((down.packets[1], down.both), (3_000, 3_000));
    assert!((down.bounds_ms.0 - 10.0).abs() < 0.2 && (down.bounds_ms.1 - 12.0).abs() < 0.2, "{:?}", down.bounds_ms);
}
