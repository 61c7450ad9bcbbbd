//! A test bench: stages in a row, and the segments that pass through them.

use lopsided_core::packet::{Flags, TcpHeader, TcpOptions};
use lopsided_core::{
    Accounting, Count, Cx, DropReason, Duration, FlowId, IpHeader, NewPacket, Node, NodeId, Packet, Payload, Port, Seq,
    Time, Transport,
};
use lopsided_stage::{Stage, StageKind, StageNode, StageRole};
use std::net::Ipv4Addr;

pub fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// The stages under test, and the segments that they forwarded, each with its departure time.
pub struct Bench {
    pub stages: Vec<StageNode>,
    pub accounting: Accounting,
    pub segments: Vec<(TcpHeader, Time)>,
}

impl Bench {
    pub fn of(config: impl StageKind) -> Bench {
        let role = StageRole { seed: 1, role: "bench" };
        Bench::chain(vec![config.build(&role).expect("the settings are valid")])
    }

    /// Creates a row of stages. Segments pass through the stages in the given order.
    pub fn chain(stages: Vec<Box<dyn Stage>>) -> Bench {
        let stages = stages.into_iter().map(StageNode::new).collect();
        Bench { stages, accounting: Accounting::new(1), segments: Vec::new() }
    }

    /// Offers a segment. `change` sets the header fields other than the acknowledgement number.
    pub fn offer(&mut self, now: Time, ack: u32, payload: u32, change: impl FnOnce(&mut TcpHeader)) {
        self.run_until(now);
        let options = TcpOptions::default();
        let (seq, flags) = (Seq::new(1), Flags::ACK);
        let mut header = TcpHeader { src_port: 1, dst_port: 2, seq, ack: Seq::new(ack), flags, window: 100, options };
        change(&mut header);
        let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        let new = NewPacket::new(FlowId(0), ip, Transport::Tcp(header), Payload::virtual_len(payload));
        let packet = Cx::new(now, NodeId(0), &mut self.accounting).originate(new);
        self.pass(0, packet, now);
    }

    pub fn ack(&mut self, now: Time, ack: u32) {
        self.offer(now, ack, 0, |_| {});
    }

    pub fn run_until(&mut self, now: Time) {
        while let Some((due, at)) = self.next().filter(|(due, _)| *due <= now) {
            self.stages[at].handle_timeout(&mut Cx::new(due, NodeId(0), &mut self.accounting));
            self.collect(at, due);
        }
    }

    /// Returns the time of the next timer to expire, and the index of its stage.
    fn next(&self) -> Option<(Time, usize)> {
        let timers = self.stages.iter().enumerate().filter_map(|(at, stage)| Some((stage.poll_timeout()?, at)));
        timers.min()
    }

    fn pass(&mut self, at: usize, packet: Packet, now: Time) {
        if at < self.stages.len() {
            self.stages[at].handle_packet(Port(0), packet, &mut Cx::new(now, NodeId(0), &mut self.accounting));
            self.collect(at, now);
        } else {
            self.segments.push((packet.tcp().expect("only TCP was offered").clone(), now));
            Cx::new(now, NodeId(0), &mut self.accounting).deliver(packet);
            assert!(self.accounting.conservation(self.held()).holds());
        }
    }

    fn collect(&mut self, at: usize, now: Time) {
        loop {
            let mut cx = Cx::new(now, NodeId(0), &mut self.accounting);
            let Some((port, packet)) = self.stages[at].poll_transmit(&mut cx) else { break };
            assert_eq!(port, Port(0));
            self.pass(at + 1, packet, now);
        }
        assert!(self.accounting.conservation(self.held()).holds());
    }

    pub fn held(&self) -> Count {
        self.stages.iter().fold(Count::ZERO, |sum, stage| sum + stage.held())
    }

    /// Returns the forwarded acknowledgement numbers and their times.
    pub fn passed(&self) -> Vec<(u32, Time)> {
        self.segments.iter().map(|(header, time)| (header.ack.get(), *time)).collect()
    }

    pub fn numbers(&self) -> Vec<u32> {
        self.segments.iter().map(|(header, _)| header.ack.get()).collect()
    }

    pub fn dropped(&self, why: DropReason) -> u64 {
        self.accounting.node(NodeId(0)).dropped(why).packets
    }
}
