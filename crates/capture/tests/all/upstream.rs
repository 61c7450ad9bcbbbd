//! Reconstructs the sender's flight from a capture near the receiver, if segments are lost before the point of capture.

use crate::story::{MSS, Timed, ack, data, packet, pcap};
use lopsided_capture::{Analysis, Loss, Step};

const MS: u64 = 1_000_000;
const US: u64 = 1_000;
/// Segments in flight at the loss: the second round trip of slow start.
const FLIGHT: u32 = 20;

/// Returns an ACK for all bytes before segment `hole`, with a SACK block from the next segment to segment `end`.
fn sack(at: u64, hole: u32, end: u32) -> Timed {
    let edge = |segment: u32| (5_000 + segment * MSS).to_be_bytes();
    let mut options = vec![1, 1, 5, 10];
    options.extend([edge(hole + 1), edge(end)].concat());
    (at, packet(false, 1_000, 5_000 + hole * MSS, 16, 60_000, &options, 0))
}

/// Returns the handshake as seen at the client, 20 ms from the server.
fn handshake() -> Vec<Timed> {
    let mss = [2, 4, 0x05, 0xb4];
    vec![
        (0, packet(false, 999, 0, 2, 60_000, &mss, 0)),
        (20 * MS, packet(true, 4_999, 1_000, 18, 65_535, &mss, 0)),
        (20 * MS + 10 * US, packet(false, 1_000, 5_000, 16, 60_000, &[], 0)),
    ]
}

/// Returns a capture at the client, 20 ms from the server. Segments 0 to 9 arrive, then segments 11 to 28. Segment 10 and
/// the segments from 29 on are lost. The client acknowledges each segment at once.
fn slow_start_with_a_hole() -> Vec<Timed> {
    let mut packets = handshake();
    for number in 0..10 {
        let at = 40 * MS + 100 * US * u64::from(number);
        packets.push(data(at, number * MSS, MSS, false));
        packets.push(ack(at + US, (number + 1) * MSS, 60_000));
        // The ACK releases two segments, which arrive 20 ms later.
        for segment in [10 + 2 * number, 11 + 2 * number] {
            if segment != 10 && segment != 29 {
                let at = at + 20 * MS + 10 * US * u64::from(segment % 2 + 1);
                packets.push(data(at, segment * MSS, MSS, false));
                packets.push(sack(at + US, 10, segment + 1));
            }
        }
    }
    packets
}

fn steps(mut packets: Vec<Timed>) -> Vec<Step> {
    packets.sort_by_key(|(at, _)| *at);
    let found = Analysis::read(&pcap(&packets)[..], false, |_, _| true).expect("a capture");
    found.connections[0].directions[1].steps().to_vec()
}

/// Returns the losses that the sender detected, with the flight in segments.
fn losses(packets: Vec<Timed>) -> Vec<(Loss, u32)> {
    let steps = steps(packets);
    steps.iter().filter_map(|step| step.loss).map(|(loss, bytes)| (loss, bytes / MSS)).collect()
}

#[test]
fn an_ack_with_a_sack_block_delivers_more_segments_than_it_acknowledges() {
    let mut packets = handshake();
    // The receiver delays the ACK of segment 0 until segment 2 reveals that segment 1 is missing.
    packets.push(data(40 * MS, 0, MSS, false));
    packets.push(data(40 * MS + 200 * US, 2 * MSS, MSS, false));
    packets.push(sack(40 * MS + 201 * US, 1, 3));
    packets.push(data(61 * MS, 3 * MSS, MSS, false));
    let steps = steps(packets);
    assert_eq!((steps[0].acked_bytes, steps[0].delivered_bytes), (MSS, 2 * MSS), "{steps:?}");
}

#[test]
fn a_short_hole_before_the_first_new_data_of_a_recovery_was_in_flight_at_the_loss() {
    let after_hole_of = |lost: u32| {
        let mut packets = slow_start_with_a_hole();
        packets.push(data(80 * MS + 500 * US, 10 * MSS, MSS, false));
        packets.push(data(80 * MS + 700 * US, (29 + lost) * MSS, MSS, false));
        losses(packets)
    };
    assert_eq!(after_hole_of(1), [(Loss::Fast, FLIGHT)]);
    assert_eq!(after_hole_of(4), [(Loss::Fast, FLIGHT + 3)]);
    // A longer hole has another cause, so only the captured segments count.
    assert_eq!(after_hole_of(5), [(Loss::Fast, FLIGHT - 1)]);
}

#[test]
fn a_recovery_begins_even_if_its_first_retransmission_is_lost_before_the_point_of_capture() {
    let mut packets = slow_start_with_a_hole();
    packets.push(data(80 * MS + 700 * US, 30 * MSS, MSS, false));
    packets.push(data(80 * MS + 900 * US, 31 * MSS, MSS, false));
    assert_eq!(losses(packets), [(Loss::Fast, FLIGHT)]);
}
