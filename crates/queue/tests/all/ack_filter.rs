//! Tests of the ACK filter: fixed sequences of ACKs for each rule, and properties of all rules.

use crate::common::{Segment, cx};
use lopsided_core::packet::{AccEcnOption, AccEcnOrder, AckPrefix, Flags};
use lopsided_core::{Accounting, DropReason, Duration, NodeId, Packet, Rng, Time, Transport};
use lopsided_queue::{
    AckFilter, AckFilterConfig, FilterRule, FilteredQueue, FqCodelConfig, Limit, Pick, Qdisc, Queue, QueueConfig,
    RedConfig, RemovedAcks,
};
use proptest::prelude::*;

fn filtered_by(config: &AckFilterConfig) -> FilteredQueue<Queue> {
    let queue = config.queue.build(1, "test").unwrap().checked();
    FilteredQueue::new(AckFilter::new(config, Rng::for_role(1, "test")), queue)
}

fn by_rule(rule: FilterRule) -> AckFilterConfig {
    AckFilterConfig { rule, queue: QueueConfig::packets(1000), ..AckFilterConfig::default() }
}

/// Enqueues the segments without a dequeue. Returns the remaining packets, oldest first.
fn left(config: &AckFilterConfig, segments: &[Segment]) -> Vec<Packet> {
    let mut queue = filtered_by(config);
    let mut accounting = Accounting::new(1);
    for (number, segment) in segments.iter().enumerate() {
        let now = Time::ZERO + Duration::from_micros(number as u64);
        queue.enqueue(segment.packet(number as u64), &mut cx(now, &mut accounting));
    }
    let last = Time::ZERO + Duration::from_secs(1);
    let left: Vec<Packet> =
        std::iter::from_fn(|| queue.dequeue(&mut cx(last, &mut accounting))).map(|given| given.packet).collect();
    let filtered = accounting.node(NodeId(0)).dropped(DropReason::AckFiltered).packets;
    queue.gauges(&mut |name, value| assert!(name != "filtered_acks" || value == filtered as f64, "{value}"));
    assert_eq!(left.len() as u64 + filtered, segments.len() as u64);
    left
}

fn ids(config: &AckFilterConfig, segments: &[Segment]) -> Vec<u64> {
    left(config, segments).iter().map(Packet::id).collect()
}

fn acks(numbers: &[u32]) -> Vec<Segment> {
    numbers.iter().map(|number| Segment::ack(1, *number)).collect()
}

fn with_sack(ack: u32, sack: &[(u32, u32)]) -> Segment {
    Segment { sack: sack.to_vec(), ..Segment::ack(1, ack) }
}

fn with_flags(ack: u32, flags: Flags) -> Segment {
    Segment { flags: Flags::ACK.with(flags), ..Segment::ack(1, ack) }
}

const RULES: [FilterRule; 5] = [
    FilterRule::Cumulative,
    FilterRule::Window,
    FilterRule::Conservative,
    FilterRule::Aggressive,
    FilterRule::AccurateEcn,
];

#[test]
fn each_rule_reduces_a_run_of_plain_acks() {
    let run = acks(&[1, 2, 3, 4, 5]);
    let expected: [&[u64]; 5] = [&[4], &[4], &[3, 4], &[4], &[4]];
    for (rule, expected) in RULES.into_iter().zip(expected) {
        assert_eq!(ids(&by_rule(rule), &run), expected, "{rule:?}");
    }
}

#[test]
fn data_other_connections_and_the_ends_of_a_connection_stay() {
    let other = Segment::ack(2, 1);
    let data = Segment { payload: 1000, ..Segment::ack(1, 2) };
    let syn = Segment { flags: Flags::SYN.with(Flags::ACK), ..Segment::ack(1, 0) };
    let fin = with_flags(3, Flags::FIN);
    for rule in RULES {
        let segments = [syn.clone(), other.clone(), data.clone(), fin.clone(), Segment::ack(1, 4), Segment::ack(1, 5)];
        let left = ids(&by_rule(rule), &segments);
        assert_eq!(left[..4], [0, 1, 2, 3], "{rule:?}");
    }
}

#[test]
fn the_papers_rules_keep_duplicates_and_cumulative_also_keeps_window_updates() {
    let update = Segment { window: 2000, ..Segment::ack(1, 1) };
    let segments = [Segment::ack(1, 1), Segment::ack(1, 1), Segment::ack(1, 1), update];
    assert_eq!(ids(&by_rule(FilterRule::Cumulative), &segments), [0, 1, 2, 3]);
    assert_eq!(ids(&by_rule(FilterRule::Window), &segments), [3], "the update covers the duplicates before it");
    assert_eq!(ids(&by_rule(FilterRule::Window), &segments[..3]), [0, 1, 2], "duplicates stay");
}

#[test]
fn cake_keeps_acks_that_the_new_ack_does_not_cover() {
    for rule in [FilterRule::Conservative, FilterRule::Aggressive, FilterRule::AccurateEcn] {
        // Without SACK, the sender must be able to count duplicate ACKs. With SACK, the later ACK contains all
        // information of the earlier ACKs.
        assert_eq!(ids(&by_rule(rule), &acks(&[1, 1, 1, 1])), [0, 1, 2, 3], "{rule:?}");
        // `gone`: the new ACK does not report the SACK blocks of the older ACKs. `dsack`: the blocks report a duplicate
        // segment.
        let gone = [with_sack(1, &[(5, 6)]), with_sack(1, &[(5, 6)]), Segment::ack(1, 2), Segment::ack(1, 3)];
        assert_eq!(ids(&by_rule(rule), &gone)[..2], [0, 1], "{rule:?}");
        let dsack = [with_sack(9, &[(1, 2)]), with_sack(9, &[(1, 2)]), with_sack(10, &[(1, 2)])];
        assert_eq!(ids(&by_rule(rule), &dsack), [0, 1, 2], "{rule:?}");
        // The last ACK has an older timestamp than the previous ACK, so it covers none of the earlier ACKs.
        let stamped = |ack, value| Segment { timestamps: Some((value, 1)), ..Segment::ack(1, ack) };
        let back = [stamped(1, 9), stamped(2, 9), stamped(3, 8)];
        assert!(ids(&by_rule(rule), &back).contains(&1), "{rule:?}");
    }
    let growing: Vec<Segment> = (0..4).map(|more| with_sack(1, &[(5, 6 + more)])).collect();
    assert_eq!(ids(&by_rule(FilterRule::Conservative), &growing), [2, 3]);
    assert_eq!(ids(&by_rule(FilterRule::Aggressive), &growing), [3]);
}

#[test]
fn cake_removes_at_most_one_and_only_neighbours_with_the_same_flags_if_aggressive() {
    let echoes = [with_flags(1, Flags::ECE), Segment::ack(1, 2)];
    assert_eq!(ids(&by_rule(FilterRule::Aggressive), &echoes), [0, 1]);
    assert_eq!(ids(&by_rule(FilterRule::Aggressive), &[Segment::ack(1, 1), Segment::ack(1, 2)]), [1]);
    // A data segment of the connection between two ACKs.
    let data = Segment { payload: 10, ..Segment::ack(1, 1) };
    let parted = [Segment::ack(1, 1), data, Segment::ack(1, 2)];
    assert_eq!(ids(&by_rule(FilterRule::Aggressive), &parted), [0, 1, 2]);
    // CAKE's rules keep all ACKs that carry a counter of ECN marks.
    let counted: Vec<Segment> = (1..5).map(|ack| with_flags(ack, Flags::AE)).collect();
    assert_eq!(ids(&by_rule(FilterRule::Aggressive), &counted), [0, 1, 2, 3]);
}

#[test]
fn cake_counts_only_acks_with_the_same_flags_and_none_with_others_between() {
    let echo = |ack| with_flags(ack, Flags::ECE);
    for rule in [FilterRule::Conservative, FilterRule::Aggressive] {
        // The plain ACK and the ECN echoes after it have different flags. The plain ACK therefore stays, and the oldest
        // echo is removed.
        assert_eq!(ids(&by_rule(rule), &[Segment::ack(1, 1), echo(2), echo(3), echo(4)])[0], 0, "{rule:?}");
    }
    let begun = [Segment::ack(1, 1), echo(2), echo(3)];
    assert_eq!(ids(&by_rule(FilterRule::Conservative), &begun), [0, 1, 2], "the two covered ACKs have different flags");
    // A data segment with different ECN flags separates two equal ACKs. A data segment with the same flags does not.
    let data = |flags| Segment { payload: 10, ..with_flags(2, flags) };
    let around = |flags| [Segment::ack(1, 1), data(flags), Segment::ack(1, 2), Segment::ack(1, 3)];
    assert_eq!(ids(&by_rule(FilterRule::Conservative), &around(Flags::CWR)), [0, 1, 2, 3]);
    assert_eq!(ids(&by_rule(FilterRule::Conservative), &around(Flags::NONE)), [1, 2, 3]);
}

#[test]
fn accurate_ecn_keeps_an_rfc_3168_echo_before_an_ack_without_echo() {
    let echo = |ack| with_flags(ack, Flags::ECE);
    let run = [Segment::ack(1, 1), echo(2), echo(3), Segment::ack(1, 4), Segment::ack(1, 5)];
    assert_eq!(ids(&by_rule(FilterRule::AccurateEcn), &run), [0, 2, 4]);
    assert_eq!(ids(&by_rule(FilterRule::Cumulative), &run), [4], "the paper's rules ignore ECN");
}

#[test]
fn a_share_is_removed_evenly_or_at_random_and_only_above_or_below_a_backlog() {
    let run: Vec<u32> = (1..=1001).collect();
    let config = AckFilterConfig { queue: QueueConfig::packets(2000), ..by_rule(FilterRule::Cumulative) };
    let even = AckFilterConfig { share: 0.25, ..config.clone() };
    let kept = ids(&even, &acks(&run));
    assert_eq!(kept[..6], [0, 1, 2, 4, 5, 6]);
    assert_eq!(kept.len(), 751);
    let random = ids(&AckFilterConfig { pick: Pick::Random, ..even }, &acks(&run)).len();
    assert!((700..800).contains(&random), "{random}");
    let above = lopsided_queue::Threshold::Packets(3);
    let above = AckFilterConfig { above: Some(above), ..config };
    assert_eq!(ids(&above, &acks(&[1, 2, 3, 4, 5])), [3, 4], "at a backlog of three ACKs, all three are removed");
    let below =
        AckFilterConfig { below: Some(lopsided_queue::Threshold::Packets(2)), ..by_rule(FilterRule::Cumulative) };
    assert_eq!(ids(&below, &acks(&[1, 2, 2, 3])), [1, 2, 3], "one ACK is removed, then none at a backlog of two");
}

#[test]
fn acks_that_have_left_do_not_count_for_the_share() {
    for rule in RULES {
        let config = AckFilterConfig { share: 0.5, ..by_rule(rule) };
        // `departed` ACKs pass through the empty queue one by one. Then 20 ACKs are queued together.
        let kept_behind = |departed: u64| -> Vec<u64> {
            let (mut queue, mut accounting) = (filtered_by(&config), Accounting::new(1));
            for id in 0..departed + 20 {
                let mut cx = cx(Time::ZERO + Duration::from_micros(id), &mut accounting);
                let number = 100 + id as u32 - departed as u32;
                queue.enqueue(Segment::ack(1, number).packet(id), &mut cx);
                if id < departed {
                    assert!(queue.dequeue(&mut cx).is_some(), "{rule:?}");
                }
            }
            let mut cx = cx(Time::ZERO + Duration::from_secs(1), &mut accounting);
            std::iter::from_fn(|| queue.dequeue(&mut cx)).map(|given| given.packet.id() - departed).collect()
        };
        let alone = kept_behind(0);
        assert!(alone.len() > 8 && alone.len() < 20, "{rule:?}: {alone:?}");
        for departed in 1..4 {
            assert_eq!(kept_behind(departed), alone, "{rule:?}, behind {departed}");
        }
    }
}

#[test]
fn duplicates_that_the_filter_counts_are_marked_from_the_threshold_on() {
    let config = AckFilterConfig { fast_retransmit: 3, ..by_rule(FilterRule::Cumulative) };
    let marked = |packets: &[Packet]| -> Vec<bool> {
        let flags = |packet: &Packet| packet.tcp().unwrap().flags.has(Flags::FAST_RETRANSMIT);
        packets.iter().map(flags).collect()
    };
    assert_eq!(marked(&left(&config, &acks(&[1, 1, 1]))), [false], "the original and two duplicates");
    assert_eq!(marked(&left(&config, &acks(&[1, 1, 1, 1]))), [true]);
    assert_eq!(marked(&left(&config, &acks(&[1, 1, 1, 1, 2]))), [false], "a new ACK number resets the count");
}

#[test]
fn removal_makes_room_in_every_discipline() {
    let full = [
        QueueConfig::packets(2),
        QueueConfig::new(FqCodelConfig { limit: 2, ..FqCodelConfig::default() }),
        QueueConfig::new(RedConfig {
            limit: Limit::Packets(2),
            min: lopsided_queue::Threshold::Packets(50),
            max: lopsided_queue::Threshold::Packets(60),
            ..RedConfig::default()
        }),
    ];
    for queue in full {
        let config = AckFilterConfig { queue, ..AckFilterConfig::default() };
        let segments = [Segment { payload: 1000, ..Segment::ack(2, 1) }, Segment::ack(1, 1), Segment::ack(1, 2)];
        assert_eq!(ids(&config, &segments), [0, 2], "{config:?}");
    }
}

/// A receiver with accurate ECN, and the marks that the sender infers.
#[derive(Debug, Default)]
struct Marks {
    sent: u64,
    after_filter: u64,
    acked: u32,
}

impl Marks {
    /// RFC 9768, section 3.2.2.5, without the option: the sender assumes the smallest increase if the counter cannot
    /// wrap.
    fn receive(&mut self, packet: &Packet, option: bool) {
        let Transport::Tcp(header) = packet.transport() else { panic!("only TCP") };
        let bit = |flag, value| if header.flags.has(flag) { value } else { 0 };
        let ace = bit(Flags::AE, 4) + bit(Flags::CWR, 2) + bit(Flags::ECE, 1);
        let segments = (header.ack.get() - self.acked) / 1448;
        assert!(option || segments < 8, "after {segments} segments, the counter may have wrapped around");
        self.after_filter += (ace + 8 - (5 + self.after_filter) % 8) % 8;
        self.acked = header.ack.get();
    }
}

proptest! {
    /// The sender counts the same number of marks with and without the filter.
    #[test]
    fn the_sender_counts_the_same_marks_with_the_filter(
        steps in prop::collection::vec((1..4_u32, 0..5_u64, any::<bool>()), 1..200),
        option: bool,
    ) {
        let mut queue = filtered_by(&by_rule(FilterRule::AccurateEcn));
        let mut accounting = Accounting::new(1);
        let (mut marks, mut acked) = (Marks::default(), 0);
        // An ACK of the handshake carries the initial counter, which shows that the connection uses accurate ECN.
        let begins = with_flags(0, Flags::AE.with(Flags::ECE)).packet(0);
        queue.enqueue(begins, &mut cx(Time::ZERO, &mut accounting));
        for (number, (segments, marked, dequeue)) in steps.iter().enumerate() {
            let now = Time::ZERO + Duration::from_micros(number as u64);
            acked += segments * 1448;
            marks.sent += (*marked).min(u64::from(*segments));
            let ace = ((5 + marks.sent) % 8) as u16;
            let flags = Flags(Flags::ACK.0 | ace >> 2 << 8 | (ace >> 1 & 1) << 7 | (ace & 1) << 6);
            let mut new = Segment { flags, ..Segment::ack(1, acked) }.to_new();
            if option {
                new = with_option(&new, marks.sent as u32);
            }
            queue.enqueue(Packet::unbooked(number as u64 + 1, now, new), &mut cx(now, &mut accounting));
            if *dequeue {
                let given = queue.dequeue(&mut cx(now, &mut accounting)).expect("a packet has just arrived");
                marks.receive(&given.packet, option);
            }
        }
        let end = Time::ZERO + Duration::from_secs(1);
        while let Some(given) = queue.dequeue(&mut cx(end, &mut accounting)) {
            marks.receive(&given.packet, option);
        }
        prop_assert_eq!(marks.after_filter, marks.sent);
        prop_assert_eq!(marks.acked, acked);
    }

    /// With the paper's rules, the filter keeps the same ACKs as a filter that searches the whole queue.
    #[test]
    fn the_papers_rules_keep_the_same_acks_as_a_scan_of_the_queue(
        rule in prop::sample::select(vec![FilterRule::Cumulative, FilterRule::Window]),
        steps in prop::collection::vec((0..40_u16, 0..2_u32, 0..2_u16, 0..3_u8, 0..5_u8), 1..400),
    ) {
        let mut queue = filtered_by(&by_rule(rule));
        let mut accounting = Accounting::new(1);
        let mut scanned: Vec<(u64, Segment)> = Vec::new();
        let mut acked = [1; 40];
        let mut now = Time::ZERO;
        for (number, (flow, step, window, leave, kind)) in steps.iter().enumerate() {
            acked[usize::from(*flow)] += step;
            let payload = if *kind == 0 { 100 } else { 0 };
            let segment = Segment { window: 10 + window, payload, ..Segment::ack(*flow, acked[usize::from(*flow)]) };
            let stays = |(_, old): &(u64, Segment)| {
                let same = old.ack == segment.ack;
                let gone = old.ack < segment.ack || rule == FilterRule::Window && same && old.window != segment.window;
                old.flow != *flow || old.payload > 0 || !gone
            };
            scanned.retain(stays);
            scanned.push((number as u64, segment.clone()));
            queue.enqueue(segment.packet(number as u64), &mut cx(now, &mut accounting));
            for _ in 0..*leave {
                let given = queue.dequeue(&mut cx(now, &mut accounting)).map(|given| given.packet.id());
                let expected = (!scanned.is_empty()).then(|| scanned.remove(0).0);
                prop_assert_eq!(given, expected);
            }
            now += Duration::from_micros(u64::from(*kind > 1));
        }
        let left = std::iter::from_fn(|| queue.dequeue(&mut cx(now, &mut accounting))).map(|given| given.packet.id());
        prop_assert_eq!(left.collect::<Vec<_>>(), scanned.iter().map(|(id, _)| *id).collect::<Vec<_>>());
    }

    /// With every rule, the remaining acknowledgement numbers never decrease, and the last number remains. Rules that
    /// keep SACK information lose no SACK block.
    #[test]
    fn no_rule_loses_information_or_reorders_acks(
        rule in prop::sample::select(RULES.to_vec()),
        steps in prop::collection::vec((0..3_u32, 0..6_u32, any::<bool>()), 1..100),
    ) {
        let mut queue = filtered_by(&by_rule(rule));
        let mut accounting = Accounting::new(1);
        let (mut acked, mut sacked) = (0, Vec::<(u32, u32)>::new());
        let mut before_filter = std::collections::BTreeSet::new();
        let (mut after_filter, mut reached) = (std::collections::BTreeSet::new(), 0);
        let mut receive = |packet: &Packet| {
            let header = packet.tcp().unwrap();
            assert!(header.ack.get() >= reached, "went back from {reached} to {:?}", header.ack);
            reached = header.ack.get();
            after_filter.extend(header.options.sack().as_slice().iter().flat_map(|block| block.start.get()..block.end.get()));
        };
        for (number, (step, above, dequeue)) in steps.iter().enumerate() {
            let now = Time::ZERO + Duration::from_micros(number as u64);
            acked += step;
            sacked.retain(|(start, _)| *start > acked);
            if *above > 0 {
                let block = (acked + 2 * above, acked + 2 * above + 1);
                sacked.retain(|held| *held != block);
                sacked.insert(0, block);
                sacked.truncate(4);
            }
            before_filter.extend(sacked.iter().map(|(start, _)| *start));
            queue.enqueue(with_sack(acked, &sacked).packet(number as u64), &mut cx(now, &mut accounting));
            if *dequeue {
                receive(&queue.dequeue(&mut cx(now, &mut accounting)).expect("a packet has just arrived").packet);
            }
        }
        let end = Time::ZERO + Duration::from_secs(1);
        while let Some(given) = queue.dequeue(&mut cx(end, &mut accounting)) {
            receive(&given.packet);
        }
        prop_assert_eq!(reached, acked);
        if !matches!(rule, FilterRule::Cumulative | FilterRule::Window) {
            prop_assert_eq!(before_filter, after_filter);
        }
    }
}

fn with_option(new: &lopsided_core::NewPacket, ce: u32) -> lopsided_core::NewPacket {
    let Transport::Tcp(header) = new.transport() else { panic!("only TCP") };
    let mut header = header.clone();
    header.options.set_accurate_ecn(Some(AccEcnOption::new(AccEcnOrder::Ect0First, &[0, ce])));
    lopsided_core::NewPacket::new(new.flow(), *new.ip(), Transport::Tcp(header), new.payload().clone())
}

fn compacting(prefix_most: u32) -> AckFilterConfig {
    AckFilterConfig { prefix: RemovedAcks::Spacing, prefix_most, ..by_rule(FilterRule::Cumulative) }
}

fn prefixes(left: &[Packet]) -> Vec<(u64, Option<(u8, u16)>)> {
    let read = |packet: &Packet| AckPrefix::of(&packet.tcp().expect("only TCP").options);
    left.iter().map(|packet| (packet.id(), read(packet).map(|prefix| (prefix.removed, prefix.octets)))).collect()
}

#[test]
fn a_compacted_ack_describes_the_removed_ones_and_stays() {
    // RFC 3449, section 5.3.2: an ACK with a prefix is marked, so that it is not deleted later.
    let run = acks(&[100, 120, 140, 160, 180]);
    assert_eq!(prefixes(&left(&compacting(1), &run)), [(1, Some((1, 20))), (3, Some((1, 20))), (4, None)]);
    assert_eq!(prefixes(&left(&compacting(255), &run)), [(4, Some((4, 20)))]);
    assert_eq!(prefixes(&left(&compacting(2), &run)), [(2, Some((2, 20))), (4, Some((1, 20)))]);
}

#[test]
fn a_compactor_keeps_duplicates_and_the_acks_before_other_segments() {
    let data = Segment { payload: 1000, ..Segment::ack(1, 3) };
    for other in [Segment::ack(1, 2), with_sack(2, &[(5, 6)]), data, with_flags(3, Flags::ECE)] {
        let run = [Segment::ack(1, 1), Segment::ack(1, 2), other, Segment::ack(1, 4), Segment::ack(1, 5)];
        let found = prefixes(&left(&compacting(255), &run));
        assert_eq!(found, [(1, Some((1, 1))), (2, None), (4, Some((1, 1)))]);
    }
}

#[test]
fn a_prefix_has_the_mean_spacing_of_arrivals() {
    let config = compacting(255);
    let mut queue = filtered_by(&config);
    let mut accounting = Accounting::new(1);
    for (number, ms) in [0, 4, 10].into_iter().enumerate() {
        let now = Time::ZERO + Duration::from_millis(ms);
        queue.enqueue(Segment::ack(1, 1 + number as u32).packet(number as u64), &mut cx(now, &mut accounting));
    }
    let given = queue.dequeue(&mut cx(Time::ZERO + Duration::from_secs(1), &mut accounting)).expect("one ACK remains");
    let prefix = AckPrefix::of(&given.packet.tcp().expect("an ACK").options);
    let spacing = Some(Duration::from_millis(5));
    assert_eq!(prefix, Some(AckPrefix { removed: 2, octets: 1, spacing }));
    accounting_ends(given.packet, &mut accounting);
}

/// The connections share slots of the filter's table.
#[test]
fn the_acks_of_thousands_of_connections_are_filtered() {
    let segments: Vec<Segment> =
        [1, 2].iter().flat_map(|ack| (1..=3000).map(|flow| Segment::ack(flow, *ack))).collect();
    for config in [by_rule(FilterRule::Cumulative), by_rule(FilterRule::AccurateEcn), compacting(1)] {
        let config = AckFilterConfig { queue: QueueConfig::packets(10_000), ..config };
        assert_eq!(ids(&config, &segments), (3000..6000).collect::<Vec<u64>>());
    }
}

fn accounting_ends(packet: Packet, accounting: &mut Accounting) {
    cx(Time::ZERO, accounting).deliver(packet);
}
