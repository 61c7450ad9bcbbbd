//! ACK thinning: one of so many pure cumulative ACKs passes, nothing that says more is held or dropped, and every ACK is covered soon.

use lopsided_core::packet::{Flags, SackBlock, TcpHeader, TcpOptions};
use lopsided_core::{
    Accounting, Cx, DropReason, Duration, FlowId, IpHeader, NewPacket, Node, NodeId, Packet, Payload, Port, Seq, Time,
    Transport,
};
use lopsided_stage::{AckThinning, AckThinningConfig, StageNode};
use proptest::prelude::*;
use std::net::Ipv4Addr;

const MOST: Duration = Duration::from_millis(10);

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
    fn new(keep: u32) -> Bench {
        let config = AckThinningConfig { keep, max_delay: MOST, ..AckThinningConfig::default() };
        let stage = StageNode::new(Box::new(AckThinning::new(config)));
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

    fn thinned(&self) -> u64 {
        self.accounting.node(NodeId(0)).dropped(DropReason::AckThinned).packets
    }
}

fn ack_of(packet: &Packet) -> u32 {
    packet.tcp().expect("only TCP was offered").ack.get()
}

#[test]
fn one_of_four_passes_and_the_first_begins_the_count() {
    let mut bench = Bench::new(4);
    (0..9).for_each(|n| bench.ack(at(0), 100 + n * 10));
    assert_eq!(bench.numbers(), [100, 140, 180]);
    assert_eq!(bench.thinned(), 6);
}

#[test]
fn the_last_one_goes_on_after_the_longest_delay() {
    let mut bench = Bench::new(4);
    (0..3).for_each(|n| bench.ack(at(n), 100 + n as u32 * 10));
    bench.run_until(at(100));
    assert_eq!(bench.passed, [(100, at(0)), (120, at(1) + MOST)]);
}

#[test]
fn what_says_more_passes_at_once_behind_the_ack_that_is_held() {
    let sack = |header: &mut TcpHeader| {
        header.options.sack.push(SackBlock { start: Seq::new(500), end: Seq::new(600) });
    };
    type Change = fn(&mut TcpHeader);
    let changes: [(&str, u32, Change); 6] = [
        ("payload", 100, |_| {}),
        ("sack", 0, sack),
        ("ece", 0, |header| header.flags = header.flags.with(Flags::ECE)),
        ("cwr", 0, |header| header.flags = header.flags.with(Flags::CWR)),
        ("ae", 0, |header| header.flags = header.flags.with(Flags::AE)),
        ("fin", 0, |header| header.flags = header.flags.with(Flags::FIN)),
    ];
    for (what, payload, change) in changes {
        let mut bench = Bench::new(4);
        bench.ack(at(0), 100);
        bench.ack(at(0), 110);
        bench.offer(at(0), 120, payload, change);
        assert_eq!(bench.numbers(), [100, 110, 120], "{what}");
    }
}

#[test]
fn a_duplicate_and_an_older_ack_pass_at_once() {
    let mut bench = Bench::new(4);
    [100, 110, 110, 110, 105].into_iter().for_each(|ack| bench.ack(at(0), ack));
    assert_eq!(bench.numbers(), [100, 110, 110, 110, 105]);
    assert_eq!(bench.thinned(), 0);
}

proptest! {
    /// Whatever comes: no number that did not come goes on, none goes on before an older one that came first, and each that came is
    /// covered within the longest delay.
    #[test]
    fn the_sender_learns_of_everything_in_time(
        keep in 1..6_u32,
        acks in prop::collection::vec((0..4_u32, 0..6_u64, 0..8_u32), 1..80),
    ) {
        let mut bench = Bench::new(keep);
        let (mut now, mut ack, mut came) = (0, 1000, Vec::new());
        for (step, wait, odd) in acks {
            now += wait;
            ack += step * 10;
            let flags = |header: &mut TcpHeader| if odd == 0 { header.flags = header.flags.with(Flags::ECE) };
            bench.offer(at(now), ack, 0, flags);
            came.push((ack, at(now)));
        }
        bench.run_until(at(now + 1000));
        prop_assert!(bench.numbers().is_sorted());
        for (ack, when) in &came {
            let covered = bench.passed.iter().find(|(passed, _)| passed >= ack);
            prop_assert!(covered.is_some_and(|(_, at)| *at <= *when + MOST));
        }
        prop_assert_eq!(came.len() as u64, bench.passed.len() as u64 + bench.thinned());
    }
}
