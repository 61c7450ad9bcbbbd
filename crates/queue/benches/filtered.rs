//! Measures the cost of an ACK filter around a queue of 1,000 packets. `cargo bench -p lopsided-queue` prints
//! nanoseconds per packet.

use lopsided_core::packet::{Flags, TcpHeader, TcpOptions, Timestamps};
use lopsided_core::{Accounting, Cx, Duration, FlowId, IpHeader, NewPacket, NodeId, Payload, Seq, Time, Transport};
use lopsided_queue::{AckFilterConfig, FilterRule, Qdisc, QueueConfig};
use std::net::Ipv4Addr;

const WAITING: u32 = 1000;

fn main() {
    for connections in [1, 10, 500, 2000] {
        println!("{connections} connections");
        println!("  {:>14} {:6.1} ns", "unfiltered", measure(&QueueConfig::packets(10_000), connections));
        for rule in [FilterRule::Cumulative, FilterRule::Conservative, FilterRule::AccurateEcn] {
            let filter = AckFilterConfig { rule, queue: QueueConfig::packets(10_000), ..AckFilterConfig::default() };
            println!("  {:>14} {:6.1} ns", format!("{rule:?}"), measure(&filter.into(), connections));
        }
    }
}

/// Returns the nanoseconds per arriving packet. `connections` connections send ACKs to the queue in turn.
#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn measure(config: &QueueConfig, connections: u32) -> f64 {
    let mut queue = config.build(1, "bench").expect("the settings are sound");
    let mut accounting = Accounting::new(1);
    // Fill the queue with data packets, which the filter does not scan.
    for number in 0..WAITING {
        let mut cx = Cx::new(Time::ZERO, NodeId(0), &mut accounting);
        let packet = cx.originate(segment(9, number, 1448));
        queue.enqueue(packet, &mut cx);
    }
    let turns = 2_000_000;
    let began = std::time::Instant::now();
    for number in 0..turns {
        let now = Time::ZERO + Duration::from_micros(u64::from(number) + 1);
        let mut cx = Cx::new(now, NodeId(0), &mut accounting);
        let port = 1000 + (number % connections) as u16;
        let packet = cx.originate(segment(port, number / connections, 0));
        queue.enqueue(packet, &mut cx);
        if queue.backlog().packets > WAITING {
            let given = queue.dequeue(&mut cx).expect("the queue contains packets");
            let delivered = cx.deliver(given.packet);
            cx.recycle(delivered);
        }
    }
    began.elapsed().as_nanos() as f64 / f64::from(turns)
}

fn segment(port: u16, ack: u32, payload: u32) -> NewPacket {
    let options = TcpOptions::default().with_timestamps(Some(Timestamps { value: ack, echo: ack }));
    let (seq, ack) = (Seq::new(1), Seq::new(ack));
    let header = TcpHeader { src_port: port, dst_port: 2, seq, ack, flags: Flags::ACK, window: 1000, options };
    let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
    NewPacket::new(FlowId(0), ip, Transport::Tcp(header), Payload::virtual_len(payload))
}
