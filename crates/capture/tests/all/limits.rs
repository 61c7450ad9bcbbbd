//! Infers the limit of a sender from a capture, for senders whose limit is known.

use crate::story::{MSS, Timed, ack, data, handshake, pcap};
use lopsided_capture::{Analysis, Limit, Report};

const MS: u64 = 1_000_000;

fn report(mut packets: Vec<Timed>) -> Report {
    packets.sort_by_key(|(at, _)| *at);
    let found = Analysis::read(&pcap(&packets)[..], false, |_, _| true).expect("a capture");
    Report::of(&found.connections[0], 1, &found.loads)
}

fn share(report: &Report, limit: Limit) -> f64 {
    report.shares[limit as usize]
}

#[test]
fn a_full_receive_window_limits_the_sender() {
    let window = (10 * MSS) as u16;
    let mut packets = handshake(window);
    for round in 0..100_u32 {
        let at = 21 * MS + u64::from(round) * 20 * MS;
        for number in 0..10 {
            packets.push(data(at + u64::from(number) * 1_000, (round * 10 + number) * MSS, MSS, number == 9));
        }
        packets.push(ack(at + 20 * MS - 10_000, (round + 1) * 10 * MSS, window));
    }
    let report = report(packets);
    assert!(share(&report, Limit::ReceiveWindow) > 0.95, "{:?}", report.shares);
}

#[test]
fn an_application_that_writes_every_200_ms_limits_the_sender() {
    let mut packets = handshake(60_000);
    for number in 0..50_u32 {
        let at = 21 * MS + u64::from(number) * 200 * MS;
        packets.push(data(at, number * 500, 500, true));
        packets.push(ack(at + 20 * MS, (number + 1) * 500, 60_000));
    }
    let report = report(packets);
    assert_eq!(report.limit, Limit::Application);
    assert!(share(&report, Limit::Application) > 0.99, "{:?}", report.shares);
}

#[test]
fn a_pause_before_a_retransmission_counts_as_rto_idle_time() {
    let mut packets = handshake(60_000);
    for number in 0..20_u32 {
        let at = 21 * MS + u64::from(number) * 20 * MS;
        packets.push(data(at, number * MSS, MSS, false));
        packets.push(ack(at + 20 * MS - 10_000, (number + 1) * MSS, 60_000));
    }
    let lost_at = 421 * MS;
    packets.push(data(lost_at, 20 * MSS, MSS, false));
    packets.push(data(lost_at + 1_000 * MS, 20 * MSS, MSS, false));
    packets.push(ack(lost_at + 1_020 * MS, 21 * MSS, 60_000));
    packets.push(data(lost_at + 1_020 * MS + 10_000, 21 * MSS, MSS, false));
    let report = report(packets);
    assert_eq!(report.limit, Limit::RtoIdle);
    let idle = share(&report, Limit::RtoIdle);
    assert!((0.65..0.75).contains(&idle), "1,000 of 1,420 ms: {:?}", report.shares);
}

#[test]
fn a_closed_window_counts_as_a_receiver_stall() {
    let mut packets = handshake(60_000);
    let mut at = 21 * MS;
    for number in 0..20_u32 {
        packets.push(data(at, number * MSS, MSS, false));
        packets.push(ack(at + 20 * MS, (number + 1) * MSS, 0));
        // The receive window opens again after 500 ms.
        packets.push(ack(at + 520 * MS, (number + 1) * MSS, MSS as u16));
        at += 520 * MS + 10_000;
    }
    let report = report(packets);
    assert!(share(&report, Limit::ReceiverStall) > 0.9, "{:?}", report.shares);
}

#[test]
fn flights_that_double_count_as_slow_start() {
    let mut packets = handshake(60_000);
    let (mut offset, mut at) = (0, 21 * MS);
    for flight in [2_u32, 4, 8, 16, 32] {
        let mut acked = offset;
        for number in 0..flight {
            packets.push(data(at + u64::from(number / 2) * 100_000, offset, MSS, false));
            offset += MSS;
            if number % 2 == 1 {
                acked += 2 * MSS;
                packets.push(ack(at + 20 * MS + u64::from(number / 2) * 200_000 - 1_000, acked, 60_000));
            }
        }
        at += 20 * MS;
    }
    let report = report(packets);
    assert_eq!(report.limit, Limit::SlowStart, "{:?}", report.shares);
}
