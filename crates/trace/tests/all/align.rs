//! Compares two captures of one connection after a known change in one of them.

use crate::story::{CLIENT, SERVER, changed, download_seen_by_the_server, packet};
use lopsided_core::packet::{Flags, TcpHeader, Timestamps};
use lopsided_core::{Duration, Packet, Seq, Time};
use lopsided_trace::{
    Alignment, Conversation, Conversations, End, Field, Fields, Lasted, Later, Progress, Rules, drift,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

type Story = Vec<(Time, bool, Packet)>;

const RULES: Rules = Rules { tolerance: 100_000, compared: Fields::ALL };
const FOREVER: Lasted = Lasted { one: u64::MAX, other: u64::MAX };

#[test]
fn different_ports_sequence_numbers_and_clocks_do_not_count_as_differences() {
    let mut other = download_seen_by_the_server();
    for (at, outbound, packet) in &mut other {
        *at += Duration::from_millis(700);
        let (shift, clock) = if *outbound { (5_000_000_u32, 77_u32) } else { (0xf000_0000, 9_000) };
        let echoed = if *outbound { 0xf000_0000 } else { 5_000_000 };
        *packet = changed(packet, |header| {
            (header.src_port, header.dst_port) = (header.src_port ^ 1, header.dst_port ^ 1);
            header.seq += shift;
            if header.flags.has(Flags::ACK) {
                header.ack += echoed;
            }
            if let Some(stamps) = &mut header.options.timestamps {
                stamps.value += clock;
            }
        });
    }
    let (one, other) = (conversation(&download_seen_by_the_server()), conversation(&other));
    let aligned = Alignment::of(&one, &other, FOREVER, &RULES);
    assert_eq!(aligned.first(), None, "{:?}", aligned.pairs());
    assert_eq!(aligned.pairs().len(), one.segments.len());
}

#[test]
fn a_different_flag_is_found_and_later_packets_are_still_compared() {
    let mut other = download_seen_by_the_server();
    let (third_data, ack_of_it) = (5, 9);
    other[third_data].2 = changed(&other[third_data].2, |header| header.flags = header.flags.with(Flags::PSH));
    other[ack_of_it].2 = changed(&other[ack_of_it].2, |header| header.window = 1);
    let (one, other) = (conversation(&download_seen_by_the_server()), conversation(&other));
    let aligned = Alignment::of(&one, &other, FOREVER, &RULES);
    let first = aligned.first().expect("PSH differs");
    assert_eq!(first.fields, Fields::NONE.with(Field::Psh));
    // Five packets precede the difference: the server's SYN-ACK and two segments, and the client's SYN and ACK.
    assert_eq!((first.from, first.number, first.packets), (End::Answerer, 3, 5));
    assert_eq!(aligned.first_in(Field::Window).map(|found| found.packets), Some(9));
    assert_eq!(aligned.parted(), None);
    let deaf = Rules { compared: Fields::ALL.without(Fields::NONE.with(Field::Psh).with(Field::Window)), ..RULES };
    assert_eq!(Alignment::of(&one, &other, FOREVER, &deaf).first(), None);
}

#[test]
fn a_missing_ack_ends_the_comparison_of_its_direction_only() {
    let mut other = download_seen_by_the_server();
    let _lost = other.remove(7);
    let (one, other) = (conversation(&download_seen_by_the_server()), conversation(&other));
    let aligned = Alignment::of(&one, &other, FOREVER, &RULES);
    let parted = aligned.parted().expect("an ACK is missing");
    assert_eq!((parted.from, parted.number, parted.packets), (End::Opener, 3, 7));
    assert!(parted.fields.has(Field::Ack));
    // A difference in one direction does not end the comparison of the other direction.
    assert!(
        aligned.pairs().iter().filter(|pair| pair.from() == Some(End::Answerer)).all(|pair| pair.differ.is_empty())
    );
    assert_eq!(aligned.first_in(Field::Seq), None);
}

#[test]
fn packets_after_the_end_of_a_capture_do_not_count_as_missing() {
    let (whole, mut short) = (download_seen_by_the_server(), download_seen_by_the_server());
    short.truncate(9);
    let (one, other) = (conversation(&whole), conversation(&short));
    let until = other.segments.last().expect("the capture has segments").at;
    let lasted = |other| Lasted { one: u64::MAX, other };
    assert_eq!(Alignment::of(&one, &other, lasted(until), &RULES).first(), None);
    // The same holds if the first capture ended earlier, except for a packet that it should still contain.
    let lasted = |one| Lasted { one, other: u64::MAX };
    assert_eq!(Alignment::of(&other, &one, lasted(until), &RULES).first(), None);
    let missing = Alignment::of(&other, &one, lasted(u64::MAX), &RULES).first().expect("packets are missing");
    assert_eq!((missing.fields, missing.packets), (Fields::NONE.with(Field::Missing), 9));
    let lasted = |other| Lasted { one: u64::MAX, other };
    let longer = Alignment::of(&one, &other, lasted(u64::MAX), &RULES).first().expect("packets are missing");
    assert_eq!((longer.fields, longer.packets), (Fields::NONE.with(Field::Missing), 9));
}

#[test]
fn packets_after_the_end_of_a_late_capture_do_not_count_as_missing() {
    let (whole, mut late) = (download_seen_by_the_server(), download_seen_by_the_server());
    late.truncate(9);
    for (at, ..) in &mut late[4..] {
        *at += Duration::from_millis(50);
    }
    let (one, other) = (conversation(&whole), conversation(&late));
    let parted = |until| Alignment::of(&one, &other, Lasted { one: u64::MAX, other: until }, &RULES).parted();
    // The second capture should contain this packet 50 ms later.
    let due = one.segments[9].at + 50_000_000;
    assert_eq!(parted(due), None);
    assert!(parted(due + 1_000_000_000).is_some_and(|parted| parted.fields == Fields::NONE.with(Field::Missing)));
}

#[test]
fn a_packet_that_is_late_by_more_than_the_tolerance_differs_and_shows_as_drift() {
    let late = |by: u64| {
        let mut other = download_seen_by_the_server();
        for (at, ..) in &mut other[8..] {
            *at += Duration::from_nanos(by);
        }
        conversation(&other)
    };
    let one = conversation(&download_seen_by_the_server());
    assert_eq!(Alignment::of(&one, &late(100_000), FOREVER, &RULES).first(), None);
    let other = late(100_001);
    let first = Alignment::of(&one, &other, FOREVER, &RULES).first().expect("the packet is late");
    assert_eq!((first.fields, first.packets), (Fields::NONE.with(Field::Time), 8));
    let parts = drift(&one, &other, one.segments.last().expect("the capture has segments").at, 2, &RULES);
    assert_eq!(parts.iter().map(|part| part.matched).sum::<usize>(), one.segments.len());
    assert_eq!((parts[0].in_time, parts[0].packets), (8, [8, 8]));
    // The client sends only SYN and FIN, the server three segments of 1,448 bytes.
    let position = [2, 2 + 3 * 1448];
    assert_eq!((parts[0].position, parts[1].position), ([[1, 1 + 3 * 1448]; 2], [position; 2]));
    assert_eq!(parts[1].in_time, 0);
    assert_eq!(parts[1].later.map(|later| (later.least, later.most)), Some((100_001, 100_001)));
}

#[test]
fn sets_of_fields_are_combined() {
    let (psh, window) = (Fields::NONE.with(Field::Psh), Fields::NONE.with(Field::Window));
    assert_eq!((psh | window).iter().collect::<BTreeSet<_>>(), BTreeSet::from([Field::Psh, Field::Window]));
    assert_eq!((psh | window).without(psh), window);
    assert_eq!((psh | window).and(psh), psh);
    assert_eq!((psh | window) | window, psh | window);
    assert_eq!(format!("{:?}", psh | window), "{Psh, Window}");
}

#[test]
fn each_field_is_found_by_its_name() {
    let names: BTreeSet<_> = Field::ALL.iter().map(|field| field.name()).collect();
    assert_eq!(names.len(), Field::ALL.len());
    assert!(names.contains("syn_options") && names.contains("ack"));
    assert!(Field::ALL.iter().all(|field| Field::of_name(field.name()) == Some(*field)));
    assert_eq!(Field::of_name("port"), None);
}

/// The clocks tick in milliseconds, so packets within the tolerance may differ by one more tick than it has.
#[test]
fn timestamps_may_differ_by_the_tolerance_and_one_tick() {
    let shifted = |value: i32, echo: Option<i32>| {
        let mut story = download_seen_by_the_server();
        let stamps = Timestamps { value: 1045_u32.wrapping_add_signed(value), echo: 0 };
        let echo = echo.map_or(0, |echo| 1020_u32.wrapping_add_signed(echo));
        story[6].2 = changed(&story[6].2, |header| header.options.timestamps = Some(Timestamps { echo, ..stamps }));
        conversation(&story)
    };
    let bare = |from: usize| {
        let mut story = download_seen_by_the_server();
        for (.., packet) in &mut story[from..] {
            *packet = changed(packet, |header| header.options.timestamps = None);
        }
        conversation(&story)
    };
    let differ = |one: &Conversation, other: &Conversation, tolerance: u64| {
        let first = Alignment::of(one, other, FOREVER, &Rules { tolerance, ..RULES }).first();
        first.is_some_and(|first| first.fields == Fields::NONE.with(Field::Timestamps))
    };
    let one = shifted(0, Some(0));
    for (tolerance, ticks) in [(100_000, 1), (1_000_000, 2), (3_999_999, 4)] {
        for sign in [-1, 1] {
            assert!(!differ(&one, &shifted(sign * ticks, Some(0)), tolerance));
            assert!(!differ(&one, &shifted(0, Some(sign * ticks)), tolerance));
            for beyond in [ticks + 1, ticks + 2] {
                assert!(differ(&one, &shifted(sign * beyond, Some(0)), tolerance));
                assert!(differ(&one, &shifted(0, Some(sign * beyond)), tolerance));
            }
        }
    }
    assert!(differ(&one, &shifted(0, None), 100_000) && !differ(&shifted(0, None), &shifted(0, None), 100_000));
    assert_eq!(Alignment::of(&bare(0), &bare(0), FOREVER, &RULES).first(), None);
    assert!(differ(&bare(6), &shifted(0, None), 100_000));
}

#[test]
fn a_packet_counts_as_missing_if_it_is_earlier_than_the_end_by_more_than_the_tolerance() {
    let whole = conversation(&download_seen_by_the_server());
    let mut short = download_seen_by_the_server();
    let (last, ..) = short.pop().expect("the capture has packets");
    let short = conversation(&short);
    let ended = (last - Time::ZERO).as_nanos() + RULES.tolerance;
    for (until, missing) in [(ended, false), (ended + 1, true)] {
        let lasted = Lasted { one: until, other: until };
        assert_eq!(Alignment::of(&whole, &short, lasted, &RULES).first().is_some(), missing);
        assert_eq!(Alignment::of(&short, &whole, lasted, &RULES).first().is_some(), missing);
    }
}

#[test]
fn drift_describes_each_part_of_the_time() {
    let mut other = download_seen_by_the_server();
    // The handshake's delays are 0 and 1 ms and 5 ms. One of them has another flag.
    other[1].0 += Duration::from_millis(1);
    other[2].0 += Duration::from_millis(5);
    other[2].2 = changed(&other[2].2, |header| header.flags = header.flags.with(Flags::PSH));
    other.truncate(3);
    let mut one = download_seen_by_the_server();
    one.truncate(3);
    let compared = Fields::ALL.without(Fields::NONE.with(Field::Time).with(Field::Timestamps));
    let parts = drift(&conversation(&one), &conversation(&other), 59_000_000, 3, &Rules { compared, ..RULES });
    let ranges: Vec<_> = parts.iter().map(|part| (part.from, part.until)).collect();
    assert_eq!(ranges, [(0, 19_666_667), (19_666_667, 39_333_334), (39_333_334, 59_000_001)]);
    assert_eq!(parts.iter().map(|part| (part.matched, part.alike)).collect::<Vec<_>>(), [(2, 2), (1, 0), (0, 0)]);
    let parts = drift(&conversation(&one), &conversation(&other), 40_000_000, 1, &Rules { compared, ..RULES });
    assert_eq!(parts[0].later, Some(Later { least: 0, median: 1_000_000, most: 5_000_000 }));
    // A packet at the boundary belongs to the later part.
    let parts = drift(&conversation(&one), &conversation(&other), 40_000_000, 2, &RULES);
    assert_eq!(parts.iter().map(|part| part.packets).collect::<Vec<_>>(), [[2, 2], [1, 1]]);
}

#[test]
fn the_progress_of_an_end_counts_sent_and_acknowledged_octets() {
    let one = conversation(&download_seen_by_the_server());
    let place = one.place_of(End::Opener, 3);
    assert_eq!(place, 7);
    assert_eq!(one.progress(End::Answerer, place), Progress { sent: 1 + 3 * 1448, acked: 1 + 1448 });
    assert_eq!(one.progress(End::Opener, place), Progress { sent: 1, acked: 1 });
    assert_eq!(one.place_of(End::Opener, 99), one.segments.len());
}

#[test]
fn a_new_connection_on_the_same_ports_is_a_new_conversation() {
    let mut capture = Conversations::default();
    let again = Duration::from_millis(1_000);
    for (at, _, packet) in download_seen_by_the_server() {
        capture.observe(at, &packet);
    }
    let syn = packet(90, CLIENT, Time::ZERO + again, Flags::SYN, (0, 0), 0);
    capture.observe(Time::ZERO + again, &changed(&syn, |header| header.seq = Seq::new(123)));
    capture
        .observe(Time::ZERO + again, &packet(91, SERVER, Time::ZERO + again, Flags::SYN.with(Flags::ACK), (0, 1), 0));
    let lengths: Vec<_> = capture.all().iter().map(|conversation| conversation.segments.len()).collect();
    assert_eq!(lengths, [13, 2]);
    assert_eq!(capture.all()[1].segments[1].seq, 0);
    // Without a SYN, a packet neither opens a connection nor replaces one.
    let later = Time::ZERO + again + again;
    capture.observe(later, &changed(&syn, |header| header.flags = Flags::RST));
    let other_port = |header: &mut TcpHeader| (header.flags, header.src_port) = (Flags::RST, 7);
    capture.observe(later, &changed(&syn, other_port));
    assert_eq!((capture.all().len(), capture.last()), (2, later));
}

proptest! {
    /// Sequence numbers continue beyond 32 bits, and old numbers are distinguished from new ones.
    #[test]
    fn sequence_numbers_continue_beyond_32_bits(steps in prop::collection::vec((1_u32..1 << 30, 0_u32..1 << 20), 1..40)) {
        let mut capture = Conversations::default();
        capture.observe(Time::ZERO, &packet(0, CLIENT, Time::ZERO, Flags::SYN, (0, 0), 0));
        let mut sent = 0_u64;
        for (forward, back) in steps {
            sent += u64::from(forward);
            for number in [sent, sent.saturating_sub(u64::from(back))] {
                capture.observe(Time::ZERO, &packet(1, CLIENT, Time::ZERO, Flags::ACK, (number as u32, 1), 0));
                prop_assert_eq!(capture.all()[0].segments.last().map(|segment| segment.seq), Some(number));
            }
        }
    }
}

fn conversation(story: &Story) -> Conversation {
    let mut capture = Conversations::default();
    for (at, _, packet) in story {
        capture.observe(*at, packet);
    }
    assert_eq!(capture.all().len(), 1);
    capture.all()[0].clone()
}
