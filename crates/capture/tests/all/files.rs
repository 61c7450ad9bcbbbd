//! The reader accepts every link type, and compressed or truncated files.

use crate::story::{ack, data, framed, handshake, pcap};
use flate2::Compression;
use flate2::write::GzEncoder;
use lopsided_capture::{Analysis, FramesRead, frames};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::Write;

fn story() -> Vec<(u64, Vec<u8>)> {
    let mut packets = handshake(64_000);
    packets.push(data(21_000_000, 0, 1_000, true));
    packets.push(ack(41_000_000, 1_000, 64_000));
    packets
}

fn read(file: &[u8]) -> Analysis {
    Analysis::read(file, false, |_, _| true).expect("a capture")
}

#[test]
fn every_link_type_yields_the_same_connection() {
    let vlan = [&[0; 12][..], &[0x81, 0, 0, 7, 0x08, 0]].concat();
    let ethernet = [&[0; 12][..], &[0x08, 0]].concat();
    let cooked = [&[0; 14][..], &[0x08, 0]].concat();
    let cooked_2 = [&[0x08, 0][..], &[0; 18]].concat();
    let links = [(101, vec![]), (1, ethernet), (1, vlan), (113, cooked), (276, cooked_2), (0, vec![2, 0, 0, 0])];
    for (link, front) in links {
        let found = read(&framed(&story(), link, &front, true));
        assert_eq!((found.segments, found.passed_over), (5, 0), "link type {link}");
        assert_eq!(found.connections[0].directions[1].acked_bytes, 1_000, "link type {link}");
        assert_eq!(found.connections[0].ends[0].port, 40_000, "the client sent the SYN, link type {link}");
    }
}

#[test]
fn timestamps_in_microseconds_and_nanoseconds_yield_the_same_rtts() {
    for nanoseconds in [false, true] {
        let found = read(&framed(&story(), 101, &[], nanoseconds));
        assert_eq!(found.connections[0].handshake_rtts(), [Some(10_000), Some(19_990_000)]);
    }
}

#[test]
fn compressed_files_are_read_like_plain_files() {
    let plain = pcap(&story());
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&plain).expect("memory");
    let zstd = compress_to_vec(&plain[..], CompressionLevel::Fastest);
    for file in [gzip.finish().expect("memory"), zstd] {
        assert_eq!(read(&file).segments, 5);
    }
}

#[test]
fn a_file_that_is_read_ahead_yields_the_same_segments_and_reading_stops_if_progress_returns_false() {
    let mut packets = handshake(64_000);
    packets.extend((0..20_000_u32).map(|number| data(21_000_000 + u64::from(number), 100 * number, 100, true)));
    let file = pcap(&packets);
    let found = Analysis::read_ahead(&file[..], false, |_, _| true).expect("a capture");
    assert_eq!((found.segments, found.read), (20_003, read(&file).read));
    let stopped = Analysis::read_ahead(&file[..], false, |_, _| false).expect("a capture");
    assert_eq!(stopped.segments, 1);
    assert!(Analysis::read_ahead(&file[..20], false, |_, _| true).is_err());
}

#[test]
fn a_truncated_file_is_read_up_to_its_last_whole_record() {
    let file = pcap(&story());
    let mut seen = 0;
    let done = frames(&file[..file.len() - 10], |_| {
        seen += 1;
        true
    });
    assert_eq!(done, Ok(FramesRead { frames: 4, snapped: 0, cut: true }));
    assert_eq!(seen, 4);
}

#[test]
fn the_size_of_a_big_tcp_segment_is_that_of_its_record() {
    let mut packets = handshake(64_000);
    let (at, mut octets) = data(21_000_000, 0, 50_000, false);
    // BIG TCP: the length field of the IP header is 0.
    octets[2..4].fill(0);
    packets.push((at, octets));
    packets.push(ack(41_000_000, 50_000, 64_000));
    let found = read(&pcap(&packets));
    assert_eq!(found.connections[0].directions[1].data_bytes, 50_000);
    assert_eq!(found.connections[0].directions[1].acked_bytes, 50_000);
}
