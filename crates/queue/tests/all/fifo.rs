//! Compares the FIFO with a plain list for arbitrary operations, for the three buffer architectures and both drop
//! policies.

use crate::common::{Drops, cx, packet};
use lopsided_core::{Accounting, Bytes, DropReason, Duration, NodeId, Time};
use lopsided_queue::{BufferLimit, CheckedQdisc, DropFrom, Fifo, FifoConfig, Limit, Qdisc, QueueConfig};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Enqueue { size: u32 },
    Dequeue,
    Wait(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    let size = prop_oneof![Just(40), Just(52), Just(1500), 28..1501_u32];
    prop_oneof![
        4 => size.prop_map(|size| Operation::Enqueue { size }),
        2 => Just(Operation::Dequeue),
        1 => (0..1000_u64).prop_map(Operation::Wait),
    ]
}

fn config() -> impl Strategy<Value = FifoConfig> {
    let limit = prop_oneof![
        (1..10_u32).prop_map(Limit::Packets),
        (100..8000_u64).prop_map(|bytes| Limit::Bytes(Bytes::new(bytes))),
        (1..30_u32, 1..800_u64).prop_map(|(count, size)| Limit::Bins { count, size: Bytes::new(size) }),
    ];
    let drop = prop_oneof![Just(DropFrom::Tail), Just(DropFrom::Front)];
    (limit, drop, prop_oneof![Just(0), Just(14)]).prop_map(|(limit, drop, header)| FifoConfig {
        limit,
        drop,
        header: Bytes::new(header),
    })
}

/// Returns the number of slots, bytes or bins that packets of these sizes occupy.
fn needs(config: &FifoConfig, sizes: impl Iterator<Item = u64>) -> u64 {
    let header = config.header.get();
    match config.limit {
        Limit::Packets(_) => sizes.count() as u64,
        Limit::Bytes(_) => sizes.map(|size| size + header).sum(),
        Limit::Bins { size: bin, .. } => sizes.map(|size| (size + header).div_ceil(bin.get())).sum(),
    }
}

fn has(config: &FifoConfig) -> u64 {
    match config.limit {
        Limit::Packets(packets) => u64::from(packets),
        Limit::Bytes(bytes) => bytes.get(),
        Limit::Bins { count, .. } => u64::from(count),
    }
}

proptest! {
    /// The audit checks packets and bytes. The list contains the packets that must be in the queue.
    #[test]
    fn a_fifo_behaves_like_a_list_with_a_limit(config in config(), operations in prop::collection::vec(operation(), 1..120)) {
        let mut fifo = CheckedQdisc::new(Fifo::new(&config).unwrap());
        let (drops, mut accounting) = Drops::watched();
        let mut list: Vec<(u64, u64)> = Vec::new();
        let mut expected_drops = Vec::new();
        let mut now = Time::ZERO;
        for (id, operation) in (0u64..).zip(operations) {
            match operation {
                Operation::Wait(nanos) => now += Duration::from_nanos(nanos),
                Operation::Dequeue => {
                    let given = fifo.dequeue(&mut cx(now, &mut accounting)).map(|waiting| waiting.packet.id());
                    let expected = (!list.is_empty()).then(|| list.remove(0).0);
                    prop_assert_eq!(given, expected);
                }
                Operation::Enqueue { size } => {
                    fifo.enqueue(packet(id, size), &mut cx(now, &mut accounting));
                    list.push((id, u64::from(size)));
                    let fits_alone = needs(&config, [u64::from(size)].into_iter()) <= has(&config);
                    while needs(&config, list.iter().map(|(_, size)| *size)) > has(&config) {
                        let from_front = config.drop == DropFrom::Front && fits_alone;
                        let (lost, _) = if from_front { list.remove(0) } else { list.pop().unwrap() };
                        let why = if from_front { DropReason::HeadDrop } else { DropReason::QueueFull };
                        expected_drops.push((lost, why));
                    }
                }
            }
            prop_assert_eq!(u64::from(fifo.backlog().packets), list.len() as u64);
            prop_assert_eq!(fifo.backlog().bytes.get(), list.iter().map(|(_, size)| size).sum::<u64>());
            prop_assert_eq!(fifo.peek(&mut cx(now, &mut accounting)).map(Bytes::get), list.first().map(|(_, size)| *size));
            let used = fifo.inner().room().used();
            prop_assert_eq!(used, needs(&config, list.iter().map(|(_, size)| *size)));
        }
        prop_assert_eq!(drops.seen(), expected_drops.clone());
        prop_assert_eq!(accounting.node(NodeId(0)).dropped_total().packets, expected_drops.len() as u64);
    }
}

/// merritt2010, section 2.3.1: a slot has room for one ACK or one segment. A limit in bytes or bins admits more ACKs
/// than segments.
#[test]
fn each_kind_of_limit_holds_the_computed_number_of_acks_and_segments() {
    let fits = |limit, size| {
        let mut fifo = Fifo::new(&FifoConfig::new(limit)).unwrap();
        let mut accounting = Accounting::new(1);
        (0..1000).for_each(|id| fifo.enqueue(packet(id, size), &mut cx(Time::ZERO, &mut accounting)));
        fifo.backlog().packets
    };
    let octets = |octets| Bytes::new(octets);
    for (limit, acks, segments) in [
        (Limit::Packets(10), 10, 10),
        (Limit::Bytes(octets(15_000)), 300, 10),
        (Limit::Bins { count: 30, size: octets(500) }, 30, 10),
        (Limit::Bins { count: 29, size: octets(512) }, 29, 9),
        (Limit::Bins { count: 150, size: octets(100) }, 150, 10),
    ] {
        assert_eq!((fits(limit, 50), fits(limit, 1500)), (acks, segments), "{limit:?}");
    }
}

#[test]
fn a_packet_larger_than_the_whole_buffer_is_dropped_and_displaces_no_packet() {
    let config = FifoConfig { drop: DropFrom::Front, ..FifoConfig::new(Limit::Bytes(Bytes::new(1000))) };
    let mut fifo = Fifo::new(&config).unwrap();
    let (drops, mut accounting) = Drops::watched();
    fifo.enqueue(packet(1, 900), &mut cx(Time::ZERO, &mut accounting));
    fifo.enqueue(packet(2, 1001), &mut cx(Time::ZERO, &mut accounting));
    assert_eq!(drops.seen(), [(2, DropReason::QueueFull)]);
    assert_eq!(fifo.backlog().packets, 1);
}

#[test]
fn a_limit_of_zero_is_rejected() {
    let refused = |limit| QueueConfig::new(FifoConfig::new(limit)).build(1, "link").unwrap_err().to_string();
    let octets = |octets| Bytes::new(octets);
    assert!(refused(Limit::Packets(0)).contains("no packet would ever pass"));
    assert!(refused(Limit::Bytes(Bytes::ZERO)).contains("no packet would ever pass"));
    assert!(refused(Limit::Bins { count: 0, size: octets(500) }).contains("no packet would ever pass"));
    assert!(refused(Limit::Bins { count: 5, size: octets(0) }).contains("a bin of zero bytes"));
    QueueConfig::packets(1).build(1, "link").unwrap();
}

#[test]
fn only_a_limit_in_packets_has_a_number_of_packets() {
    let limits = [Limit::Packets(7), Limit::Bytes(Bytes::new(7)), Limit::Bins { count: 7, size: Bytes::new(10) }];
    let buffers = limits.map(|limit| BufferLimit::new(limit, Bytes::ZERO).unwrap());
    assert_eq!(buffers.each_ref().map(BufferLimit::packets), [Some(7), None, None]);
    assert_eq!(buffers.each_ref().map(BufferLimit::capacity), [7; 3]);
    assert_eq!(buffers.each_ref().map(|buffer| buffer.could_fit(Bytes::new(71))), [true, false, false]);
}
