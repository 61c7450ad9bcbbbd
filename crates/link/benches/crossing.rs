//! Measures the time that a link needs to process one packet. The same packets cross the link repeatedly.
//!
//! `cargo bench -p lopsided-link` prints the mean time per packet in nanoseconds. For `valgrind --tool=callgrind`, pass
//! a name and a number of packets (`crossing serializer 100000`).

use lopsided_core::packet::{Flags, TcpHeader, TcpOptions, Timestamps};
use lopsided_core::{
    Accounting, BitRate, Bytes, Cx, Duration, FlowId, IpHeader, NewPacket, Node, NodeId, Packet, Payload, Port, Seq,
    Time, Transport,
};
use lopsided_link::{Framing, Link, LinkConfig, ShaperConfig};
use lopsided_queue::{FifoConfig, Queue, QueueConfig};
use std::net::Ipv4Addr;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let only = arguments.first();
    let crossings = arguments.get(1).map_or(5_000_000, |count| count.parse().expect("a number of crossings"));
    for (name, link, window) in lines() {
        if only.is_none_or(|only| only == name) {
            let nanos = measure(link, window, crossings);
            println!("{name:>12} {nanos:6.1} ns per crossing, {window} packets in flight");
        }
    }
}

/// Returns the name, the link and the number of packets in flight of each measured line.
fn lines() -> Vec<(&'static str, Link, u64)> {
    let queue = QueueConfig::packets(10_000);
    let rate = Some(BitRate::from_bps(100_000_000));
    let delay = Duration::from_millis(10);
    let serializer = LinkConfig { framing: Framing::ETHERNET, ..LinkConfig::new(rate, delay, queue.clone()) };
    let shaper = ShaperConfig { burst: Bytes::new(1600), interval: None, line_rate: None };
    let tbf = LinkConfig { shaper: Some(shaper), ..serializer.clone() };
    let lumps = ShaperConfig { burst: Bytes::new(50_000), interval: Some(Duration::from_millis(4)), line_rate: rate };
    let router = LinkConfig { shaper: Some(lumps), ..serializer.clone() };
    let open = LinkConfig::new(None, delay, queue.clone());
    let build = |config: &LinkConfig| config.build(1, "link").expect("the configuration is sound");
    let fifo = queue.get::<FifoConfig>().expect("the queue is a FIFO").clone();
    let shaper = serializer.build_shaper(1, "link").expect("the configuration is sound");
    let queued = serializer.build_with(custom(fifo), shaper, 1, "link").expect("the configuration is sound");
    vec![
        ("open", build(&open), 50),
        ("idle", build(&serializer), 1),
        ("serializer", build(&serializer), 200),
        ("deep", build(&serializer), 3000),
        ("tbf", build(&tbf), 200),
        ("router", build(&router), 200),
        ("queued", queued, 200),
    ]
}

/// Returns a FIFO in a `Queue::Custom`, so that the link cannot use its drop-tail path.
fn custom(config: FifoConfig) -> Queue {
    Queue::Custom(Box::new(lopsided_queue::Fifo::new(&config).expect("the limit is not zero")))
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn measure(mut link: Link, window: u64, crossings: u64) -> f64 {
    let mut accounting = Accounting::new(1);
    let mut now = Time::ZERO;
    for id in 0..window {
        link.handle_packet(Port(0), segment(id), &mut Cx::new(now, NodeId(0), &mut accounting));
    }
    let began = std::time::Instant::now();
    let mut crossed = 0;
    while crossed < crossings {
        now = link.poll_timeout().expect("packets are in flight");
        let mut cx = Cx::new(now, NodeId(0), &mut accounting);
        link.handle_timeout(&mut cx);
        while let Some((port, packet)) = link.poll_transmit(&mut cx) {
            crossed += 1;
            link.handle_packet(port, packet, &mut cx);
        }
    }
    let took = began.elapsed();
    let mut cx = Cx::new(now, NodeId(0), &mut accounting);
    assert_eq!(link.sync(&mut cx).queue_stats().dropped_packets(), 0);
    took.as_nanos() as f64 / crossed as f64
}

/// Creates a TCP segment with a full payload.
fn segment(id: u64) -> Packet {
    let options = TcpOptions::default().with_timestamps(Some(Timestamps { value: 1, echo: 2 }));
    let (seq, ack) = (Seq::new(1), Seq::new(1));
    let header = TcpHeader { src_port: 1, dst_port: 2, seq, ack, flags: Flags::ACK, window: 1000, options };
    let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
    Packet::unbooked(id, Time::ZERO, NewPacket::new(FlowId(0), ip, Transport::Tcp(header), Payload::virtual_len(1448)))
}
