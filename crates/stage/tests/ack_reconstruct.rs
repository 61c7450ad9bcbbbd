//! ACK reconstruction: gaps are filled evenly and spread over the mean interval, nothing is acknowledged that was not, and no ACK is
//! held for long.

use lopsided_core::packet::{Flags, SackBlock, TcpHeader, TcpOptions};
use lopsided_core::{
    Accounting, Cx, Duration, FlowId, IpHeader, NewPacket, Node, NodeId, Packet, Payload, Port, Seq, Time, Transport,
};
use lopsided_stage::{AckReconstruct, AckReconstructConfig, StageNode};
use proptest::prelude::*;
use std::net::Ipv4Addr;

const MOST: Duration = Duration::from_millis(100);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// A stage under test, and the acknowledgement numbers that it let pass, with their times.
struct Bench {
    stage: StageNode,
    accounting: Accounting,
    passed: Vec<(u32, Time)>,
}

impl Bench {
    fn new(config: AckReconstructConfig) -> Bench {
        let stage = StageNode::new(Box::new(AckReconstruct::new(config)));
        Bench { stage, accounting: Accounting::new(1), passed: Vec::new() }
    }

    /// A segment comes; what it says beside its number is up to `change`.
    fn offer(&mut self, now: Time, ack: u32, payload: u32, change: impl FnOnce(&mut TcpHeader)) {
        self.run_until(now);
        let options = TcpOptions::default();
        let (seq, flags) = (Seq::new(1), Flags::ACK);
        let mut header = TcpHeader { src_port: 1, dst_port: 2, seq, ack: Seq::new(ack), flags, window: 100, options };
        change(&mut header);
        let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        let new = NewPacket::new(FlowId(0), ip, Transport::Tcp(header), Payload::virtual_len(payload));
        let mut cx = Cx::new(now, NodeId(0), &mut self.accounting);
        let packet = cx.originate(new);
        self.stage.handle_packet(Port(0), packet, &mut cx);
        self.collect(now);
    }

    fn ack(&mut self, now: Time, ack: u32) {
        self.offer(now, ack, 0, |_| {});
    }

    fn run_until(&mut self, now: Time) {
        while let Some(due) = self.stage.poll_timeout().filter(|due| *due <= now) {
            self.stage.handle_timeout(&mut Cx::new(due, NodeId(0), &mut self.accounting));
            self.collect(due);
        }
    }

    fn collect(&mut self, now: Time) {
        let mut cx = Cx::new(now, NodeId(0), &mut self.accounting);
        while let Some((port, packet)) = self.stage.poll_transmit(&mut cx) {
            assert_eq!(port, Port(0));
            self.passed.push((ack_of(&packet), now));
            cx.deliver(packet);
        }
        assert!(self.accounting.conservation(self.stage.held()).holds());
    }

    fn numbers(&self) -> Vec<u32> {
        self.passed.iter().map(|(ack, _)| *ack).collect()
    }
}

fn ack_of(packet: &Packet) -> u32 {
    packet.tcp().expect("only TCP was offered").ack.get()
}

/// Segments of 1,000 octets.
fn config() -> AckReconstructConfig {
    AckReconstructConfig {
        segment: lopsided_core::Bytes::new(1000),
        max_delay: MOST,
        ..AckReconstructConfig::default()
    }
}

#[test]
fn a_gap_of_eight_segments_takes_three_acks_and_the_mean_interval() {
    let mut bench = Bench::new(config());
    bench.ack(at(0), 1000);
    bench.ack(at(20), 9000);
    bench.run_until(at(100));
    let expected = [(1000, at(0)), (3000, at(25)), (5000, at(30)), (7000, at(35)), (9000, at(40))];
    assert_eq!(bench.passed, expected);
    // The paper's text makes one fewer.
    let mut bench = Bench::new(AckReconstructConfig { text: true, ..config() });
    bench.ack(at(0), 1000);
    bench.ack(at(20), 9000);
    bench.run_until(at(100));
    assert_eq!(bench.numbers(), [1000, 3000, 5000, 9000]);
}

#[test]
fn acks_without_a_gap_go_on_at_once_and_what_says_more_overtakes_nothing() {
    let mut bench = Bench::new(config());
    bench.ack(at(0), 1000);
    bench.ack(at(20), 3000);
    assert_eq!(bench.passed, [(1000, at(0)), (3000, at(20))]);
    bench.ack(at(40), 11_000);
    bench.offer(at(41), 11_000, 0, |header| {
        header.options.sack.push(SackBlock { start: Seq::new(20_000), end: Seq::new(21_000) });
    });
    assert_eq!(bench.numbers()[2..], [5000, 7000, 9000, 11_000, 11_000], "all that waited, then the report");
    assert_eq!(bench.passed.last().unwrap().1, at(41));
}

#[test]
fn an_inserted_ack_offers_no_more_than_either_of_its_neighbours() {
    let mut bench = Bench::new(config());
    bench.offer(at(0), 1000, 0, |header| header.window = 50);
    bench.offer(at(10), 7000, 0, |header| header.window = 40);
    let mut windows = Vec::new();
    while let Some(due) = bench.stage.poll_timeout() {
        let mut cx = Cx::new(due, NodeId(0), &mut bench.accounting);
        bench.stage.handle_timeout(&mut cx);
        while let Some((_, packet)) = bench.stage.poll_transmit(&mut cx) {
            windows.push(packet.tcp().unwrap().window);
            cx.deliver(packet);
        }
    }
    assert_eq!(windows, [40, 40, 40]);
}

proptest! {
    #[test]
    fn nothing_is_acknowledged_before_it_was_and_nothing_waits_for_long(
        steps in prop::collection::vec((0..40_u64, 0..30_000_u32, any::<bool>()), 1..100),
    ) {
        let mut bench = Bench::new(config());
        let (mut now, mut ack, mut arrived) = (0, 1000, Vec::new());
        for (wait, more, plain) in steps {
            (now, ack) = (now + wait, ack + more);
            arrived.push((ack, at(now)));
            bench.offer(at(now), ack, 0, |header| {
                if !plain {
                    header.flags = header.flags.with(Flags::ECE);
                }
            });
        }
        bench.run_until(at(now) + MOST);
        prop_assert_eq!(bench.stage.held().packets, 0);
        prop_assert_eq!(bench.passed.last().unwrap().0, ack);
        let mut reached = 0;
        for (number, when) in &bench.passed {
            prop_assert!(*number >= reached, "went back to {}", number);
            reached = *number;
            let known = arrived.iter().filter(|(_, came)| came <= when).map(|(ack, _)| *ack).max();
            prop_assert!(known >= Some(*number), "{} was not acknowledged by {:?}", number, when);
        }
    }
}
