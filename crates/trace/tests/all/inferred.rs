//! Scripted exchanges, and the TCP events that their packets reveal.
//!
//! The server sends segments of 1,000 bytes, numbered from 0. An ACK of n acknowledges the segments below n.

use crate::story::{CLIENT, SERVER, changed, packet};
use lopsided_core::packet::{Flags, SackBlock, TcpHeader, Timestamps};
use lopsided_core::{Duration, NodeId, Time};
use lopsided_trace::{Conversations, End, of_receiver, of_sender};

const LEN: u32 = 1000;

/// A connection with an RTT of 20 ms, seen at one of its hosts.
struct Script(Conversations);

impl Script {
    /// The handshake.
    fn begin() -> Script {
        let mut script = Script(Conversations::default());
        script.pass(0.0, CLIENT, Flags::SYN, (0, 0), 0);
        script.pass(0.0, SERVER, Flags::SYN.with(Flags::ACK), (0, 1), 0);
        script.pass(20.0, CLIENT, Flags::ACK, (1, 1), 0);
        script
    }

    fn pass(&mut self, at_ms: f64, from: NodeId, flags: Flags, numbers: (u32, u32), len: u32) {
        self.pass_changed(at_ms, from, flags, numbers, len, |_| ());
    }

    fn pass_changed(
        &mut self,
        at_ms: f64,
        from: NodeId,
        flags: Flags,
        numbers: (u32, u32),
        len: u32,
        change: impl FnOnce(&mut TcpHeader),
    ) {
        let at = Time::ZERO + Duration::from_nanos((at_ms * 1e6).round() as u64);
        self.0.observe(at, &changed(&packet(0, from, at, flags, numbers, len), change));
    }

    /// The server sends this segment.
    fn data(&mut self, at_ms: f64, number: u32) {
        self.data_with(at_ms, number, Flags::NONE);
    }

    fn data_with(&mut self, at_ms: f64, number: u32, flag: Flags) {
        self.pass(at_ms, SERVER, Flags::ACK.with(flag), (1 + number * LEN, 1), LEN);
    }

    /// The client acknowledges the segments below `number`.
    fn ack(&mut self, at_ms: f64, number: u32) {
        self.pass(at_ms, CLIENT, Flags::ACK, (1, 1 + number * LEN), 0);
    }

    /// The client acknowledges the segments below `number`, and reports the segments from `block.0` to before `block.1`.
    fn sack(&mut self, at_ms: f64, number: u32, block: (u32, u32)) {
        let numbers = (1, 1 + number * LEN);
        self.pass_changed(at_ms, CLIENT, Flags::ACK, numbers, 0, |header| {
            let start = header.ack + block.0 * LEN;
            let base = number * LEN;
            let [start, end] = [start, header.ack + block.1 * LEN].map(|seq| seq - base);
            header.options.push_sack(SackBlock { start, end });
        });
    }

    /// Like [`Script::ack`]. The ACK echoes the timestamp of a segment sent at this time.
    fn ack_echoing(&mut self, at_ms: f64, number: u32, sent_ms: u32) {
        self.pass_changed(at_ms, CLIENT, Flags::ACK, (1, 1 + number * LEN), 0, |header| {
            let stamps = header.options.timestamps.expect("the packets have timestamps");
            header.options.timestamps = Some(Timestamps { echo: 1000 + sent_ms, ..stamps });
        });
    }

    /// Compares the events that the capture reveals of the sender.
    #[track_caller]
    fn shows_sender(&self, expected: &[&str]) {
        let events = of_sender(&self.0.all()[0], End::Answerer);
        let events: Vec<_> =
            events.iter().map(|one| format!("{} {}", one.at.as_nanos() as f64 / 1e6, one.event)).collect();
        assert_eq!(events, expected);
    }

    /// Compares the reasons of the ACKs.
    #[track_caller]
    fn shows_acks(&self, end: End, expected: &[&str]) {
        let events = of_receiver(&self.0.all()[0], end);
        let reasons: Vec<_> = events.iter().map(|one| one.event.to_string()).collect();
        let reasons: Vec<_> = reasons.iter().filter_map(|text| text.split_once(": ")).map(|(_, why)| why).collect();
        assert_eq!(reasons, expected);
    }
}

#[test]
fn duplicate_acks_without_sack_show_disorder_until_all_is_acknowledged() {
    let mut script = Script::begin();
    (0..3).for_each(|number| script.data(20.0, number));
    script.ack(40.0, 1);
    script.ack(41.0, 1);
    script.ack(42.0, 1);
    script.ack(43.0, 2);
    script.ack(44.0, 3);
    script.shows_sender(&[
        "41 open -> disorder: duplicate or selective ACKs",
        "44 disorder -> open: no segment is missing",
    ]);
}

#[test]
fn acks_that_are_old_complete_or_with_data_are_no_duplicates() {
    let mut script = Script::begin();
    (0..3).for_each(|number| script.data(20.0, number));
    script.ack(40.0, 2);
    // An ACK that another overtook, with and without a block.
    script.ack(41.0, 1);
    script.sack(41.0, 0, (1, 2));
    // Data of the client, and a block below the acknowledged data.
    script.pass(42.0, CLIENT, Flags::ACK, (1, 1 + 2 * LEN), 500);
    script.sack(43.0, 2, (0, 1));
    // A window update after everything has arrived.
    script.ack(44.0, 3);
    script.ack(45.0, 3);
    script.shows_sender(&[]);
}

#[test]
fn disorder_lasts_until_both_the_sacked_and_the_outstanding_data_is_acknowledged() {
    let mut script = Script::begin();
    (0..5).for_each(|number| script.data(20.0, number));
    script.sack(40.0, 0, (1, 2));
    // Above the block, but four segments more were outstanding.
    script.ack(41.0, 3);
    script.ack(42.0, 5);
    // The other way round: all that was outstanding, but a segment above has been reported since.
    script.data(50.0, 5);
    script.data(50.0, 6);
    script.sack(70.0, 5, (6, 7));
    script.data(70.5, 7);
    script.data(70.5, 8);
    script.sack(71.0, 7, (8, 9));
    script.ack(72.0, 9);
    script.shows_sender(&[
        "40 open -> disorder: duplicate or selective ACKs",
        "42 disorder -> open: no segment is missing",
        "70 open -> disorder: duplicate or selective ACKs",
        "72 disorder -> open: no segment is missing",
    ]);
}

#[test]
fn a_retransmission_right_after_the_ack_that_revealed_the_gap_is_part_of_one_change() {
    let mut script = Script::begin();
    (0..3).for_each(|number| script.data(20.0, number));
    script.sack(40.0, 0, (1, 3));
    script.data(40.1, 0);
    // The recovery ends exactly at the data that was outstanding at its start.
    script.data(40.2, 3);
    script.ack(60.1, 3);
    script.ack(60.2, 4);
    script.shows_sender(&[
        "40.1 open -> recovery: a segment was marked lost",
        "40.1 retransmits 1000 B at offset 0",
        "60.1 recovery -> open: the recovery point is acknowledged",
    ]);
    // 1 ns later, the change was not the answer to this ACK.
    let mut script = Script::begin();
    (0..3).for_each(|number| script.data(20.0, number));
    script.sack(40.0, 0, (1, 3));
    script.data(40.100001, 0);
    script.shows_sender(&[
        "40 open -> disorder: duplicate or selective ACKs",
        "40.100001 disorder -> recovery: a segment was marked lost",
        "40.100001 retransmits 1000 B at offset 0",
    ]);
    // Nor is a filled gap an answer to the ACK before.
    let mut script = Script::begin();
    (0..3).for_each(|number| script.data(20.0, number));
    script.sack(40.0, 0, (1, 3));
    script.ack(40.05, 3);
    script.shows_sender(&[
        "40 open -> disorder: duplicate or selective ACKs",
        "40.05 disorder -> open: no segment is missing",
    ]);
}

#[test]
fn an_echo_of_the_first_copy_shows_that_the_recovery_was_needless() {
    let mut script = Script::begin();
    (0..3).for_each(|number| script.data(20.0, number));
    script.sack(40.0, 0, (1, 3));
    script.data(41.0, 0);
    script.ack_echoing(42.0, 3, 20);
    script.shows_sender(&[
        "40 open -> disorder: duplicate or selective ACKs",
        "41 disorder -> recovery: a segment was marked lost",
        "41 retransmits 1000 B at offset 0",
        "42 recovery -> open: undo",
    ]);
    // An echo of the retransmission does not.
    let mut script = Script::begin();
    (0..3).for_each(|number| script.data(20.0, number));
    script.sack(40.0, 0, (1, 3));
    script.data(41.0, 0);
    script.ack_echoing(61.0, 3, 41);
    script.shows_sender(&[
        "40 open -> disorder: duplicate or selective ACKs",
        "41 disorder -> recovery: a segment was marked lost",
        "41 retransmits 1000 B at offset 0",
        "61 recovery -> open: the recovery point is acknowledged",
    ]);
}

/// RFC 3522 compares with the first retransmission only, here the one before the timeout.
#[test]
fn an_echo_of_data_sent_after_the_first_retransmission_undoes_nothing() {
    let mut script = Script::begin();
    script.data(20.0, 0);
    script.ack(40.0, 1);
    (1..4).for_each(|number| script.data(41.0, number));
    script.sack(61.0, 1, (2, 4));
    script.data(61.0, 1);
    script.data(70.0, 4);
    script.data(100.0, 1);
    script.ack_echoing(101.0, 2, 70);
    script.ack(120.0, 5);
    script.shows_sender(&[
        "61 open -> recovery: a segment was marked lost",
        "61 retransmits 1000 B at offset 1000",
        "100 retransmission timer expired",
        "100 recovery -> loss: retransmission timeout",
        "100 retransmits 1000 B at offset 1000",
        "120 loss -> open: the recovery point is acknowledged",
    ]);
}

#[test]
fn a_congestion_signal_is_reported_once_and_ends_like_a_recovery() {
    let mut script = Script::begin();
    script.data(20.0, 0);
    script.data(20.0, 1);
    script.data_with(30.0, 2, Flags::CWR);
    script.data_with(31.0, 3, Flags::CWR);
    script.ack(40.0, 2);
    // In recovery, the sender reduces its window anyway.
    script.data(41.0, 4);
    script.sack(50.0, 2, (3, 5));
    script.data(50.05, 2);
    script.data_with(51.0, 5, Flags::CWR);
    script.ack(70.05, 6);
    script.shows_sender(&[
        "30 open -> cwr: ECN echo",
        "40 cwr -> open: the recovery point is acknowledged",
        "50.05 open -> recovery: a segment was marked lost",
        "50.05 retransmits 1000 B at offset 2000",
        "70.05 recovery -> open: the recovery point is acknowledged",
    ]);
}

#[test]
fn the_last_segment_is_probed_once_and_then_repaired_by_the_timer() {
    let mut script = Script::begin();
    script.data(20.0, 0);
    script.data(20.0, 1);
    script.ack(40.0, 1);
    // 18 ms are 90 % of the RTT.
    script.data(58.0, 1);
    script.data(80.0, 1);
    script.ack(100.0, 2);
    // After an ACK of new data, there may be another probe.
    script.data(101.0, 2);
    script.data(141.0, 2);
    script.ack(161.0, 3);
    script.shows_sender(&[
        "58 tail loss probe timer expired",
        "58 retransmits 1000 B at offset 1000 as a probe",
        "80 retransmission timer expired",
        "80 open -> loss: retransmission timeout",
        "80 retransmits 1000 B at offset 1000",
        "100 loss -> open: the recovery point is acknowledged",
        "141 tail loss probe timer expired",
        "141 retransmits 1000 B at offset 2000 as a probe",
    ]);
}

#[test]
fn a_segment_that_is_not_the_last_and_a_sender_in_recovery_are_not_probed() {
    let mut script = Script::begin();
    script.data(20.0, 0);
    script.ack(40.0, 1);
    script.data(41.0, 1);
    script.data(41.0, 2);
    script.data(81.0, 1);
    script.ack(101.0, 3);
    script.data(102.0, 3);
    script.data(102.0, 4);
    script.sack(122.0, 3, (4, 5));
    script.data(122.0, 3);
    script.data(162.0, 4);
    script.shows_sender(&[
        "81 retransmission timer expired",
        "81 open -> loss: retransmission timeout",
        "81 retransmits 1000 B at offset 1000",
        "101 loss -> open: the recovery point is acknowledged",
        "122 open -> recovery: a segment was marked lost",
        "122 retransmits 1000 B at offset 3000",
        "162 retransmission timer expired",
        "162 recovery -> loss: retransmission timeout",
        "162 retransmits 1000 B at offset 4000",
    ]);
}

/// The times of a conversation start with its first SYN, at 0.
#[test]
fn the_handshake_gives_the_first_round_trip() {
    // 18 ms are 90 % of the RTT.
    let mut script = Script::begin();
    script.data(20.0, 0);
    script.data(37.999, 0);
    script
        .shows_sender(&["37.999 open -> recovery: a segment was marked lost", "37.999 retransmits 1000 B at offset 0"]);
    let mut script = Script::begin();
    script.data(20.0, 0);
    script.data(38.0, 0);
    script.shows_sender(&["38 tail loss probe timer expired", "38 retransmits 1000 B at offset 0 as a probe"]);
}

#[test]
fn a_pause_shorter_than_the_round_trip_was_no_timer() {
    let mut script = Script::begin();
    script.data(20.0, 0);
    // The server's own ACK of the client's data does not shorten the measured round trip.
    script.pass(35.0, CLIENT, Flags::ACK, (1, 1), 500);
    script.pass(35.0, SERVER, Flags::ACK, (1 + LEN, 501), 0);
    script.ack(40.0, 1);
    script.data(40.0, 1);
    script.data(57.999, 1);
    script.shows_sender(&[
        "57.999 open -> recovery: a segment was marked lost",
        "57.999 retransmits 1000 B at offset 1000",
    ]);
}

#[test]
fn a_keep_alive_is_no_retransmission() {
    let mut script = Script::begin();
    script.data(20.0, 0);
    script.ack(40.0, 1);
    script.pass(5000.0, SERVER, Flags::ACK, (LEN, 1), 0);
    script.ack(5020.0, 1);
    script.shows_sender(&[]);
}

#[test]
fn the_reasons_of_acks_follow_from_the_data_that_arrived() {
    let mut script = Script::begin();
    // One segment at once, two segments, one segment after the shortest delay, and without data.
    script.data(20.0, 0);
    script.ack(20.0, 1);
    script.data(21.0, 1);
    script.data(21.0, 2);
    script.ack(21.0, 3);
    script.data(22.0, 3);
    script.ack(27.0, 4);
    script.ack(30.0, 4);
    // Data that had arrived before, a gap, and its end.
    script.data(40.0, 3);
    script.ack(40.0, 4);
    script.data(41.0, 5);
    script.ack(41.0, 4);
    script.data(42.0, 4);
    script.ack(42.0, 6);
    script.pass(43.0, SERVER, Flags::ACK.with(Flags::FIN), (1 + 6 * LEN, 1), 0);
    script.pass(43.0, CLIENT, Flags::ACK, (1, 2 + 6 * LEN), 0);
    let expected = ["handshake", "quick ACK", "enough segments", "delay", "window update", "duplicate data"];
    script.shows_acks(End::Opener, &[&expected[..], &["out of order", "gap filled", "FIN"]].concat());
}

#[test]
fn an_ack_after_a_filled_gap_is_normal_while_another_gap_remains() {
    let mut script = Script::begin();
    // The gaps are segments 0 and 2. Segments 1 and 3 arrive, then 0.
    for (number, ack) in [(1, 0), (3, 0), (0, 2)] {
        script.data(20.0, number);
        script.ack(20.0, ack);
    }
    // Two segments in order without an ACK, then one above a gap.
    let mut late = Script::begin();
    for number in [0, 1, 3] {
        late.data(20.0, number);
    }
    late.ack(20.0, 2);
    script.shows_acks(End::Opener, &["handshake", "out of order", "out of order", "enough segments"]);
    late.shows_acks(End::Opener, &["handshake", "out of order"]);
}

#[test]
fn a_fin_above_a_gap_is_not_acknowledged_as_a_fin() {
    let mut script = Script::begin();
    script.pass(20.0, SERVER, Flags::ACK.with(Flags::FIN), (1 + LEN, 1), LEN);
    script.ack(20.0, 0);
    script.data(21.0, 0);
    script.pass(21.0, CLIENT, Flags::ACK, (1, 2 + 2 * LEN), 0);
    script.shows_acks(End::Opener, &["handshake", "out of order", "FIN"]);
}

#[test]
fn a_change_of_the_echo_is_acknowledged_at_once_and_a_syn_is_no_echo() {
    let mut script = Script(Conversations::default());
    let ece = Flags::ACK.with(Flags::ECE);
    script.pass(0.0, CLIENT, Flags::SYN.with(Flags::ECE).with(Flags::CWR), (0, 0), 0);
    script.pass(0.0, SERVER, Flags::SYN.with(ece), (0, 1), 0);
    script.pass(20.0, CLIENT, Flags::ACK, (1, 1), 0);
    for (number, flags) in [(0, Flags::ACK), (1, ece), (2, ece), (3, Flags::ACK)] {
        script.pass(20.0, CLIENT, Flags::ACK, (1 + number * LEN, 1), LEN);
        script.pass(20.0, SERVER, flags, (1, 1 + (number + 1) * LEN), 0);
    }
    // A reset is no ACK.
    script.pass(21.0, CLIENT, Flags::ACK, (1 + 4 * LEN, 1), LEN);
    script.pass(21.0, SERVER, Flags::ACK.with(Flags::RST), (1, 1 + 5 * LEN), 0);
    script.shows_acks(End::Answerer, &["quick ACK", "ECN", "quick ACK", "ECN"]);
}
