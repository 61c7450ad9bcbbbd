//! Damaged and hostile input must return an error or a result, and never panic.

use crate::story::{ack, data, handshake, pcap};
use lopsided_capture::{Analysis, Report};
use proptest::prelude::*;

fn capture() -> Vec<u8> {
    let mut packets = handshake(64_000);
    for number in 0..40_u32 {
        let at = 21_000_000 + u64::from(number) * 7_000_000;
        packets.push(data(at, number * 1_448, 1_448, number % 3 == 0));
        packets.push(ack(at + 20_000_000, number * 1_448, 64_000));
    }
    packets.sort_by_key(|(at, _)| *at);
    pcap(&packets)
}

fn survives(file: &[u8]) {
    if let Ok(found) = Analysis::read(file, true, |_, _| true) {
        for connection in &found.connections {
            for sender in 0..2 {
                let report = Report::of(connection, sender, &found.loads);
                let sum: f64 = report.shares.iter().sum();
                assert!((sum - 1.0).abs() < 1e-9, "shares add up to {sum}");
            }
        }
    }
}

#[test]
fn a_file_that_is_not_a_capture_is_an_error_with_a_reason() {
    for (file, reason) in [
        (&b""[..], "the file is empty"),
        (&b"\x1b[31mhello, this is a text\n"[..], "neither as pcap nor as pcapng"),
        (&b"\x1f\x8bdamaged"[..], "not a readable capture"),
        (&b"\x28\xb5\x2f\xfddamaged"[..], "not a readable capture"),
        (&capture()[..30], "ends before its first packet"),
    ] {
        let error = Analysis::read(file, false, |_, _| true).expect_err("no capture").to_string();
        assert!(error.contains(reason), "{error}");
        assert!(!error.chars().any(char::is_control), "{error:?}");
    }
}

proptest! {
    #[test]
    fn arbitrary_octets_do_not_panic(octets in prop::collection::vec(any::<u8>(), 0..2_000)) {
        survives(&octets);
    }

    #[test]
    fn arbitrary_octets_after_a_file_header_do_not_panic(octets in prop::collection::vec(any::<u8>(), 0..2_000)) {
        survives(&[&capture()[..24], &octets[..]].concat());
    }

    #[test]
    fn a_damaged_capture_does_not_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60),
        length in any::<prop::sample::Index>(),
    ) {
        let mut file = capture();
        for (place, octet) in damage {
            let place = place.index(file.len());
            file[place] = octet;
        }
        file.truncate(length.index(file.len()) + 1);
        survives(&file);
    }
}
