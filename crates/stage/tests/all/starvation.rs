//! No stage may starve a direction or a connection. Data must be forwarded without delay, and each acknowledgement must
//! arrive within the stage's maximum delay.

use crate::common::at;
use lopsided_core::packet::{Flags, TcpHeader, TcpOptions};
use lopsided_core::{
    Accounting, Cx, Duration, FlowId, IpHeader, NewPacket, Node, NodeId, Payload, Seq, Time, Transport,
};
use lopsided_spec::{Given, Scalar, Value};
use lopsided_stage::{STAGES, StageConfig, StageNode, StageRole};
use std::net::Ipv4Addr;

/// The largest default `max_delay` of any stage.
const MOST: Duration = Duration::from_millis(100);
/// A fast connection, with an ACK every millisecond.
const QUICK: u16 = 1;
/// A slow connection, with an ACK every 40 ms.
const SLOW: u16 = 2;
/// A connection that carries only data. It is separate from the ACK connections, because a data packet can release ACKs
/// that the stage delays on the same connection.
const UPLOAD: u16 = 3;

/// A segment that left the stage: connection, acknowledgement number, payload in bytes, time.
type Passed = (u16, u32, u32, Time);

struct Way {
    stage: StageNode,
    accounting: Accounting,
    forward: Vec<Passed>,
    back: Vec<Passed>,
}

impl Way {
    fn offer(&mut self, now: Time, forward: bool, connection: u16, ack: u32, data: u32) {
        let header = TcpHeader {
            src_port: connection,
            dst_port: 9,
            seq: Seq::new(1),
            ack: Seq::new(ack),
            flags: Flags::ACK,
            window: 100,
            options: TcpOptions::default(),
        };
        let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        let new = NewPacket::new(FlowId(0), ip, Transport::Tcp(header), Payload::virtual_len(data));
        let mut cx = Cx::new(now, NodeId(0), &mut self.accounting);
        let packet = cx.originate(new);
        self.stage.handle_packet(if forward { StageNode::FORWARD } else { StageNode::REVERSE }, packet, &mut cx);
        self.collect(now);
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
            let header = packet.tcp().expect("the test sends only TCP");
            let passed = (header.src_port, header.ack.get(), packet.payload_len(), now);
            if port == StageNode::FORWARD {
                self.forward.push(passed)
            } else {
                self.back.push(passed)
            }
            cx.deliver(packet);
        }
    }
}

fn ways() -> impl Iterator<Item = (&'static str, Way)> {
    (STAGES.members)().into_iter().map(|member| {
        let mut part = member.part;
        let given = Given { keys: &[], preset: None, line_rate: None, line_peeks: false, folder: "" };
        part.complete(&given).expect("the defaults are complete");
        let config = StageConfig::from_value(Value::Part(part)).expect("a stage");
        let stage = config.build(&StageRole { seed: 1, role: "starvation" }).expect("the defaults are valid");
        let (forward, back) = (Vec::new(), Vec::new());
        (member.info.name, Way { stage, accounting: Accounting::new(1), forward, back })
    })
}

#[test]
fn no_stage_starves_a_direction_or_a_connection() {
    for (name, mut way) in ways() {
        let mut acked = Vec::new();
        for ms in 0..3000 {
            let now = at(ms);
            way.run_until(now);
            // Four full segments per millisecond are 46 Mbit/s.
            let quick = 1000 + 4 * 1448 * ms as u32;
            way.offer(now, true, QUICK, quick, 0);
            acked.push((QUICK, quick, now));
            if ms % 40 == 0 {
                let slow = 1000 + 1448 * (ms / 40) as u32;
                way.offer(now, true, SLOW, slow, 0);
                acked.push((SLOW, slow, now));
            }
            for forward in [true, false] {
                way.offer(now, forward, UPLOAD, 1, 1000);
                let passed = if forward { &way.forward } else { &way.back };
                assert_eq!(passed.last(), Some(&(UPLOAD, 1, 1000, now)), "{name}: data waits, forward: {forward}");
            }
            way.offer(now, false, SLOW, 1, 0);
            assert_eq!(way.back.last(), Some(&(SLOW, 1, 0, now)), "{name}: an ACK of the other direction waits");
        }
        way.run_until(at(10_000));
        assert_eq!(way.stage.held().packets, 0, "{name}");
        for (connection, number, came) in acked {
            let mut covering_acks = way.forward.iter().filter(|(of, ack, ..)| *of == connection && *ack >= number);
            let when = covering_acks.next().map(|(.., when)| *when);
            assert!(
                when.is_some_and(|when| when <= came + MOST),
                "{name}: {connection}'s {number} of {came:?}: {when:?}"
            );
        }
    }
}
