//! An invalid configuration is rejected with an error that names the key and the reason.

use crate::common::{Bench, kbit, nanos, octets, packet};
use lopsided_core::packet::{Flags, TcpHeader, TcpOptions};
use lopsided_core::{
    Accounting, BitRate, Count, Cx, Duration, FlowId, IpHeader, NewPacket, Node, NodeId, Packet, Payload, Port, Seq,
    Time, Transport,
};
use lopsided_link::{
    ACCESS, AccessConfig, AggregationConfig, CsmaCdConfig, DocsisConfig, GilbertConfig, GrantsConfig, JitterConfig,
    LinkConfig, LossConfig, MEDIA, MediumConfig, MediumSettings, PacketRadioConfig, PolledConfig, ShaperConfig,
    TraceConfig, WifiConfig, register_medium,
};
use lopsided_queue::{AckFilterConfig, AsqmConfig, PrioConfig, Qdisc as _, QueueConfig, turn};
use lopsided_spec::{Given, Part, Value};
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
    let granted = LinkConfig { access: Some(AccessConfig::new(GrantsConfig::default())), shaper: None, ..sound() };
    let cases = [
        (LinkConfig { rate: Some(BitRate::from_bps(0)), ..sound() }, "rate", "at least 1 bit/s"),
        (LinkConfig { rate: Some(BitRate::from_bps(0)), ..granted }, "rate", "at least 1 bit/s"),
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

/// The bucket of a file without `burst` has the size of one refill, as in IOS.
#[test]
fn a_shaper_without_a_burst_has_the_size_of_one_refill() {
    let interval = Some(Duration::from_millis(4));
    let complete = |interval, keys: &[&str], line_rate| {
        let mut shaper = ShaperConfig { burst: octets(700), interval, line_rate: None };
        shaper
            .complete(&Given { keys, preset: None, line_rate, line_peeks: false, folder: "" })
            .map(|()| shaper.burst)
            .map_err(|fault| fault.message)
    };
    assert_eq!(complete(interval, &["refill_interval"], Some(kbit(1000))), Ok(octets(500)));
    assert_eq!(complete(interval, &["burst", "refill_interval"], Some(kbit(1000))), Ok(octets(700)));
    assert_eq!(complete(None, &["burst"], Some(kbit(1000))), Ok(octets(700)));
    let refused = |interval, keys: &[&str], line_rate| complete(interval, keys, line_rate).unwrap_err();
    assert_eq!(refused(None, &[], Some(kbit(1000))), "`burst` is missing in the shaper");
    assert_eq!(refused(interval, &["burst"], None), "a shaper needs a rate");
    assert!(refused(interval, &["burst"], Some(kbit(2000))).contains("smaller than one refill"));
}

#[test]
fn grants_and_aggregates_need_a_rate() {
    let complete = |access: &dyn Fn(&Given<'_>) -> bool, line_rate| {
        access(&Given { keys: &[], preset: None, line_rate, line_peeks: false, folder: "" })
    };
    for rate in [None, Some(kbit(1000))] {
        let given = rate.is_some();
        assert_eq!(complete(&|context| GrantsConfig::default().complete(context).is_ok(), rate), given);
        assert_eq!(complete(&|context| AggregationConfig::default().complete(context).is_ok(), rate), given);
    }
}

#[test]
fn a_trace_without_a_file_lists_times_that_do_not_decrease() {
    let check = |times: &[u64]| TraceConfig { opportunities: times.to_vec(), ..TraceConfig::default() }.check();
    assert!(check(&[0, 5, 5, 9]).is_ok());
    for times in [&[5, 3, 9][..], &[0, 9, 8]] {
        assert_eq!(check(times).unwrap_err().message, "times must not decrease");
    }
}

#[test]
fn a_medium_has_the_settings_and_a_name_of_its_own() {
    let settings = MediumSettings { name: "cable".to_owned(), queue: QueueConfig::packets(7) };
    let own = || settings.clone();
    let media = [
        MediumConfig::new(PolledConfig { settings: own(), ..PolledConfig::default() }),
        MediumConfig::new(PacketRadioConfig { settings: own(), ..PacketRadioConfig::default() }),
        MediumConfig::new(CsmaCdConfig { settings: own(), ..CsmaCdConfig::default() }),
        MediumConfig::new(WifiConfig { settings: own(), ..WifiConfig::default() }),
        MediumConfig::new(DocsisConfig { settings: own(), ..DocsisConfig::default() }),
    ];
    assert!(media.iter().all(|medium| *medium.settings() == settings));
    assert!(register_medium::<DocsisConfig>().is_err(), "a built-in medium already has this name");
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
fn durations_outside_their_range_are_rejected() {
    let hour = Duration::from_secs(3600);
    for (spread, valid) in [(hour, true), (hour + Duration::from_nanos(1), false)] {
        assert_eq!(JitterConfig { spread, reorder: false }.check().is_ok(), valid);
    }
    for (us, poll, valid) in [(0, 0, false), (1, 0, true), (0, 1, true)] {
        let (turnaround, poll) = (Duration::from_micros(us), octets(poll));
        assert_eq!(PolledConfig { turnaround, poll, ..PolledConfig::default() }.check().is_ok(), valid);
    }
    for (slot, valid) in [(0, false), (1, true), (10_000_000, true), (10_000_001, false)] {
        assert_eq!(
            GrantsConfig { slot: Duration::from_micros(slot), ..GrantsConfig::default() }.check().is_ok(),
            valid
        );
    }
    // 512 bits take 51.2 us at 10 Mbit/s.
    for (nanos, valid) in [(25_600, true), (25_601, false)] {
        let reach = Duration::from_nanos(nanos);
        assert_eq!(CsmaCdConfig { reach, ..CsmaCdConfig::default() }.check().is_ok(), valid);
    }
    for (ms, valid) in [(1000, true), (1001, false)] {
        let map_interval = Duration::from_millis(ms);
        assert_eq!(DocsisConfig { map_interval, ..DocsisConfig::default() }.check().is_ok(), valid);
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

/// Some defaults follow from other settings, but never replace a value that the scenario sets.
#[test]
fn derived_values_of_access_methods_and_media_replace_no_key_that_is_set() {
    let mut incomplete = Vec::new();
    for member in (ACCESS.members)().into_iter().chain((MEDIA.members)()) {
        let is_plain = |key: &&str| !matches!(member.part.get(key), Value::List(_));
        let names: Vec<&str> = member.info.names().filter(is_plain).collect();
        let complete = |keys: &[&str]| {
            let line_rate = Some(BitRate::from_bps(10_000_000));
            let mut part = member.part.boxed_clone();
            part.complete(&Given { keys, preset: None, line_rate, line_peeks: false, folder: "" }).map(|()| part)
        };
        for key in &names {
            if let Ok(part) = complete(&[key]) {
                assert_eq!(part.get(key), member.part.get(key), "{}: {key}", member.info.name);
            }
        }
        incomplete.extend(complete(&[]).is_err().then_some(member.info.name));
    }
    // A trace needs a file.
    assert_eq!(incomplete, ["trace"]);
}

/// A link passes packets of the other direction to its discipline, which takes only its own sensing packets.
#[test]
fn a_link_passes_sensing_packets_of_the_other_direction_to_its_discipline() {
    let link = |queue| LinkConfig::new(Some(BitRate::from_bps(10_000_000)), Duration::from_millis(1), queue);
    assert!(link(QueueConfig::packets(9)).build(1, "link/up").expect("a link").senses().is_none());
    let mut queue = QueueConfig::new(AsqmConfig::default()).build(1, "link/up").expect("a queue");
    let mut link = link(AsqmConfig::default().into()).build(1, "link/up").expect("a link");
    let far_end = queue.sensing().expect("a discipline that sends sensing packets").far_end();
    assert_eq!(link.senses(), Some(far_end));
    let mut accounting = Accounting::new(1);
    let now = Time::from_nanos(1);
    for id in 0..4 {
        let mut cx = Cx::new(now, NodeId(0), &mut accounting);
        queue.enqueue(packet(id, 1000, now), &mut cx);
        link.handle_packet(Port(0), packet(id, 1000, now), &mut cx);
    }
    let mut cx = Cx::new(now, NodeId(0), &mut accounting);
    // Both follow the fourth packet with the same sensing packet.
    let sensing = queue.sensing().and_then(|sensing| sensing.poll_originate()).expect("a sensing packet follows data");
    let mut sensing = cx.originate(sensing);
    assert!(turn(&mut sensing, &mut cx));
    assert_eq!(link.pass_reverse(packet(9, 100, now), &mut cx).map(|packet| packet.id()), Some(9));
    assert!(link.pass_reverse(sensing, &mut cx).is_none());
}

#[test]
fn only_a_class_that_loses_acks_to_a_filter_reports_them() {
    let bands =
        || PrioConfig { bands: vec![QueueConfig::packets(50), QueueConfig::packets(50)], ..PrioConfig::default() };
    let filtered = AckFilterConfig { queue: bands().into(), ..AckFilterConfig::default() };
    for (queue, removed) in [(QueueConfig::from(filtered), 8), (bands().into(), 0)] {
        let mut bench = Bench::new(LinkConfig::new(Some(kbit(8)), Duration::ZERO, queue).build(1, "link").unwrap());
        for id in 1..=10 {
            let header = TcpHeader {
                src_port: 80,
                dst_port: 1000,
                seq: Seq::new(1),
                ack: Seq::new(1000 * id),
                flags: Flags::ACK,
                window: 100,
                options: TcpOptions::default(),
            };
            let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
            let new = NewPacket::new(FlowId(0), ip, Transport::Tcp(header), Payload::virtual_len(0));
            let packet = Packet::unbooked(id.into(), Time::ZERO, new);
            bench.with_cx(Time::ZERO, |link, cx| link.handle_packet(Port(0), packet, cx));
        }
        let mut reported = Vec::new();
        bench.view_last(|link| {
            link.classes(&mut |_, name, value| reported.extend((name == "filtered_packets").then_some(value)));
        });
        // The first ACK is on the line, and the last waits.
        assert_eq!(reported, Vec::from_iter((removed > 0).then_some(f64::from(removed))));
    }
}

#[test]
fn an_access_method_knows_its_kind() {
    assert_eq!(AccessConfig::new(GrantsConfig::default()).kind(), "grants");
    let queue = QueueConfig::packets(7);
    assert_eq!(MediumSettings::from(queue.clone()).queue, queue);
}
