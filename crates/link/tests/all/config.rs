//! An invalid configuration is rejected with an error that names the key and the reason.

use crate::common::{Bench, kbit, nanos, octets};
use lopsided_core::packet::{Flags, TcpHeader, TcpOptions};
use lopsided_core::{BitRate, Count, Duration, FlowId, IpHeader, NewPacket, Node, Payload, Port, Seq, Transport};
use lopsided_link::{GilbertConfig, JitterConfig, LinkConfig, LossConfig, PolledConfig, ShaperConfig};
use lopsided_queue::{AsqmConfig, QueueConfig};
use lopsided_spec::Part;
use std::net::Ipv4Addr;

fn sound() -> LinkConfig {
    let shaper =
        ShaperConfig { burst: octets(500), interval: Some(Duration::from_millis(4)), line_rate: Some(kbit(100_000)) };
    LinkConfig { shaper: Some(shaper), ..LinkConfig::new(Some(kbit(1000)), Duration::ZERO, QueueConfig::packets(1)) }
}

fn with_shaper(change: impl FnOnce(&mut ShaperConfig)) -> LinkConfig {
    let mut config = sound();
    config.shaper.as_mut().map(change);
    config
}

fn with_loss(loss: LossConfig) -> LinkConfig {
    LinkConfig { loss, ..sound() }
}

#[test]
fn invalid_configurations_are_rejected_with_a_reason() {
    let probability = |p| GilbertConfig { to_bad: p, to_good: 0.5, loss_bad: 0.5, loss_good: 0.5 };
    let default = LossConfig::default;
    let cases = [
        (LinkConfig { rate: Some(BitRate::from_bps(0)), ..sound() }, "rate", "at least 1 bit/s"),
        (LinkConfig { rate: Some(BitRate::from_bps(u64::MAX)), ..sound() }, "rate", "at most 10 Tbit/s"),
        (LinkConfig { rate: None, ..sound() }, "rate", "a shaper needs the link's rate"),
        (with_shaper(|shaper| shaper.burst = octets(0)), "shaper.burst", "from 1 B"),
        (with_shaper(|shaper| shaper.burst = octets(u64::MAX)), "shaper.burst", "to 1 GiB"),
        (with_shaper(|shaper| shaper.burst = octets(499)), "shaper.burst", "at least 500 B"),
        (
            with_shaper(|shaper| shaper.interval = Some(Duration::ZERO)),
            "shaper.refill_interval",
            "the interval is zero",
        ),
        (with_shaper(|shaper| shaper.interval = Some(Duration::MAX)), "shaper.burst", "at least"),
        (with_shaper(|shaper| shaper.line_rate = Some(kbit(999))), "shaper.line_rate", "below the shaper's own rate"),
        (with_loss(LossConfig { random: 1.01, ..default() }), "loss.random", "from 0 to 1"),
        (with_loss(LossConfig { random: f64::NAN, ..default() }), "loss.random", "from 0 to 1"),
        (with_loss(LossConfig { gilbert: Some(probability(-0.1)), ..default() }), "loss.gilbert", "from 0 to 1"),
        (with_loss(LossConfig { packets: vec![0], ..default() }), "loss.packets", "counted from 1"),
        (with_loss(LossConfig { packets: vec![3, 3], ..default() }), "loss.packets", "ascending"),
        (
            with_loss(LossConfig { outages: vec![(nanos(5), nanos(5))], ..default() }),
            "loss.outages",
            "an outage must end after it begins",
        ),
        (
            with_loss(LossConfig { outages: vec![(nanos(5), nanos(9)), (nanos(8), nanos(10))], ..default() }),
            "loss.outages",
            "overlap",
        ),
        (LinkConfig { queue: QueueConfig::packets(0), ..sound() }, "queue.limit", "room for at least one"),
    ];
    for (config, key, reason) in cases {
        let error = config.build(1, "link").map(|_| ()).expect_err(reason);
        assert_eq!(error.key(), key, "{error}");
        assert!(error.to_string().contains(reason), "{error:?} says: {error}");
    }
}

#[test]
fn unusual_but_valid_lines_are_built() {
    sound().build(1, "link").unwrap();
    LinkConfig::new(Some(BitRate::from_bps(1)), Duration::from_secs(1_000_000), QueueConfig::packets(1))
        .build(1, "link")
        .unwrap();
    LinkConfig::new(None, Duration::ZERO, QueueConfig::packets(u32::MAX)).build(1, "link").unwrap();
}

#[test]
fn a_jitter_of_more_than_an_hour_and_polls_without_a_duration_are_rejected() {
    let hour = Duration::from_secs(3600);
    for (spread, valid) in [(hour, true), (hour + Duration::from_nanos(1), false)] {
        assert_eq!(JitterConfig { spread, reorder: false }.check().is_ok(), valid);
    }
    for (us, poll, valid) in [(0, 0, false), (1, 0, true), (0, 1, true)] {
        let (turnaround, poll) = (Duration::from_micros(us), octets(poll));
        assert_eq!(PolledConfig { turnaround, poll, ..PolledConfig::default() }.check().is_ok(), valid);
    }
}

/// ASQM requests one sensing packet of 28 bytes for every four packets with data.
#[test]
fn a_link_creates_the_sensing_packets_of_its_discipline() {
    let queue = QueueConfig::new(AsqmConfig::default());
    let link = LinkConfig::new(Some(kbit(12_000)), Duration::ZERO, queue).build(1, "link").unwrap();
    let mut bench = Bench::new(link);
    let options = TcpOptions::default();
    for id in 1..=8 {
        let header = TcpHeader {
            src_port: 80,
            dst_port: 1000,
            seq: Seq::new(id),
            ack: Seq::new(1),
            flags: Flags::ACK,
            window: 100,
            options: options.clone(),
        };
        let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        let new = NewPacket::new(FlowId(0), ip, Transport::Tcp(header), Payload::virtual_len(1460));
        bench.with_cx(nanos(0), |link, cx| {
            let packet = cx.originate(new);
            link.handle_packet(Port(0), packet, cx);
        });
    }
    while let Some(due) = bench.link.poll_timeout() {
        bench.with_cx(due, |link, cx| {
            link.handle_timeout(cx);
            while let Some((_, packet)) = link.poll_transmit(cx) {
                cx.deliver(packet);
            }
        });
    }
    let expected = Count { packets: 10, bytes: octets(8 * 1500 + 2 * 28) };
    assert_eq!(bench.view_last(|link| link.counters()).delivered, expected);
}
