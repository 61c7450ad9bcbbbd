//! Resolution of scenario files: defaults, presets, overrides and precedence of tables.

use super::{BASE, good, with};
use lopsided_app::{BulkConfig, CustomConfig, DatagramConfig, HttpConfig, OnOffConfig, TransferConfig};
use lopsided_core::{BitRate, Bytes, Dir, Duration, Time};
use lopsided_link::{CellFormat, Framing, GilbertConfig, LossConfig, ShaperConfig};
use lopsided_queue::{
    CbwfqConfig, DropFrom, DrrConfig, FifoConfig, HtbConfig, Limit, MarkThreshold, Markable, PacketKind, PrioConfig,
    QueueConfig, RedConfig, Threshold, ThresholdConfig,
};
use lopsided_scenario::{PRESETS, Scenario};
use lopsided_spec::Value;
use lopsided_tcp::{DelayedAck, Switch};

fn fifo(packets: u32, drop: DropFrom) -> QueueConfig {
    QueueConfig::new(FifoConfig { drop, ..FifoConfig::new(Limit::Packets(packets)) })
}

#[test]
fn the_smallest_file_gets_every_default() {
    let scenario = good(BASE);
    assert_eq!((scenario.name.as_str(), scenario.seed), ("test", 1));
    assert_eq!(scenario.record.interval, Some(Duration::from_millis(100)));
    assert_eq!(scenario.graph.hosts, ["server", "client"]);
    assert!(scenario.graph.routers.is_empty(), "without [lan], the hosts are the ends of the line");
    let link = &scenario.graph.links[0];
    assert_eq!(link.down.rate, Some(BitRate::from_bps(2_400_000)));
    assert_eq!((link.down.delay, link.up.delay), (Duration::from_millis(10), Duration::from_millis(10)));
    assert_eq!(link.up.queue, fifo(50, DropFrom::Tail));
    assert!(link.up.loss == LossConfig::default() && link.up.shaper.is_none());
    let flow = &scenario.flows[0];
    assert_eq!((flow.name.as_str(), flow.from, flow.to, flow.direction), ("flow1", 0, 1, Some(Dir::Down)));
    assert_eq!((flow.start, flow.stop), (Time::ZERO, Time::from_nanos(60_000_000_000)));
    assert_eq!(flow.app, BulkConfig::default().into());
    assert_eq!((flow.from_stack.profile.as_str(), flow.from_stack.cc.as_str()), ("linux-6.1", "reno"));
}

#[test]
fn the_default_name_is_derived_from_the_file_name() {
    // The name is the file's stem, with forbidden characters replaced. If the stem has no valid character, the name is
    // `scenario`.
    for (file, name) in [("a/b/adsl.toml", "adsl"), ("C:\\runs\\x y.toml", "x-y"), ("", "scenario"), ("-", "scenario")]
    {
        assert_eq!(Scenario::parse(BASE, file, &[]).expect("it is valid").name, name, "{file}");
    }
}

#[test]
fn an_odd_rtt_is_split_without_rounding_error() {
    // The RTT is odd: the direction `up` gets the extra nanosecond.
    let scenario = with(&[("link.rtt", "3 ns")]).expect("it is valid");
    let link = &scenario.graph.links[0];
    assert_eq!((link.down.delay.as_nanos(), link.up.delay.as_nanos()), (1, 2));
}

#[test]
fn a_direction_overrides_single_keys_of_its_link() {
    let text = BASE
        .replace(
            "rtt = \"20 ms\"",
            "rtt = \"20 ms\"\nframing = \"pppoe-llcsnap\"\nqueue = { limit = \"20 packets\", drop = \"front\" }",
        )
        .replace("up.rate", "up.queue.limit = \"5 packets\"\nup.framing = \"ethernet\"\nup.rate");
    let link = &good(&text).graph.links[0];
    assert_eq!(link.down.queue, fifo(20, DropFrom::Front));
    // Only the limit is overridden; `drop` still comes from the link.
    assert_eq!(link.up.queue, fifo(5, DropFrom::Front));
    // RFC 2684 and RFC 2516: LLC/SNAP, Ethernet and PPPoE headers in ATM cells.
    let atm = Framing { overhead: Bytes::new(40), minimum: Bytes::ZERO, cell_format: CellFormat::Atm };
    let ethernet = Framing { overhead: Bytes::new(14), minimum: Bytes::ZERO, cell_format: CellFormat::None };
    assert_eq!((link.down.framing, link.up.framing), (atm, ethernet));
}

#[test]
fn red_has_the_defaults_of_tc() {
    let red = |value: &str| {
        let scenario = with(&[("link.down.queue", value)]).expect(value);
        *scenario.graph.links[0].down.queue.get::<RedConfig>().expect("a red queue")
    };
    // Defaults of RED: `max` is 1/4 of the limit, `min` is 1/3 of `max`, the bandwidth is the line's rate, and the
    // burst is (2 min + max) / 3 = 400 packets.
    let plain = red("{ kind = \"red\", limit = \"960 kB\" }");
    assert_eq!((plain.min, plain.max), (Threshold::Bytes(Bytes::new(80_000)), Threshold::Bytes(Bytes::new(240_000))));
    assert_eq!((plain.probability, plain.avpkt), (0.02, Bytes::new(1000)));
    assert_eq!(plain.bandwidth, Some(BitRate::from_bps(2_400_000)));
    assert!(!plain.ecn && !plain.harddrop && !plain.gentle && plain.idle_decay);
    // A token bucket does not dequeue from an empty queue, so RED's average does not decay.
    let queue = "{ kind = \"red\", limit = \"960 kB\" }";
    let shaped = with(&[("link.down.queue", queue), ("link.down.shaper", "{ burst = \"1600 B\" }")]).expect(queue);
    let behind_bucket = shaped.graph.links[0].down.queue.get::<RedConfig>().expect("a red queue");
    assert!(!behind_bucket.idle_decay);
    // RED's average also does not decay if RED is at any depth inside a discipline that shapes traffic or serves queues
    // in turn. `prio` is different, because it dequeues from every band.
    let inside = |value: &str, decays: bool| {
        let scenario = with(&[("link.down.queue", value)]).expect(value);
        let queue = format!("{:?}", scenario.graph.links[0].down.queue);
        assert!(queue.contains(&format!("idle_decay: {decays}")), "{value}: {queue}");
    };
    let red_in = |outer: &str| outer.replace("RED", queue);
    inside(&red_in("{ kind = \"tbf\", rate = \"1 Mbit/s\", queue = RED }"), false);
    inside(&red_in("{ kind = \"htb\", classes = [{ rate = \"1 Mbit/s\", queue = RED }] }"), false);
    inside(&red_in("{ kind = \"drr\", classes = [{ queue = RED }, {}] }"), false);
    inside(&red_in("{ kind = \"prio\", bands = [RED, \"10 packets\"] }"), true);
    inside(&red_in("{ kind = \"tbf\", rate = \"1 Mbit/s\", queue = { kind = \"prio\", bands = [RED] } }"), false);
    // Floyd and Jacobson 1993, section 6: with min = 5 packets and a burst of 50, the weight is at most 0.0042. The
    // next lower power of 2 is 2^-8.
    let paper = red("{ kind = \"red\", min = \"5 packets\", max = \"15 packets\", burst = 50 }");
    assert_eq!((paper.weight, paper.max), (1.0 / 256.0, Threshold::Packets(15)));
    // A threshold in time is converted to the bytes that the link sends in this time, here 5 ms at 2.4 Mbit/s.
    let timed = red("{ kind = \"red\", min = \"5 ms\", max = \"15 ms\" }");
    assert_eq!((timed.min, timed.max), (Threshold::Bytes(Bytes::new(1500)), Threshold::Bytes(Bytes::new(4500))));
}

#[test]
fn a_threshold_in_time_applies_to_the_queueing_delay() {
    let step = |value: &str| {
        let scenario = with(&[("link.down.queue", value)]).expect(value);
        let step =
            scenario.graph.links[0].down.queue.get::<ThresholdConfig>().expect("the discipline is a threshold queue");
        (step.mark_threshold, step.ect)
    };
    // The time is not converted to bytes, because it is compared with the queueing delay of packets.
    let timed = step("{ kind = \"step\", mark_threshold = \"1 ms\", ect = \"ect1\" }");
    assert_eq!(timed, (MarkThreshold::Sojourn(Duration::from_millis(1)), Markable::Ect1));
    let deep = step("{ kind = \"step\", mark_threshold = \"20 packets\" }");
    assert_eq!(deep, (MarkThreshold::Depth(Threshold::Packets(20)), Markable::Ect));
}

#[test]
fn disciplines_can_be_nested() {
    let bands =
        "[{ kind = \"fq_codel\", flows = 8 }, \"7 packets\", { kind = \"prio\", bands = [\"5 ms\"], classify = [] }]";
    let rules = "[{ class = 0, dscp = 46 }, { class = 1, packet = \"ack\" }]";
    let queue = format!("{{ kind = \"prio\", bands = {bands}, classify = {rules} }}");
    let scenario = with(&[("link.down.queue", &queue)]).expect("a tree of queues");
    let prio = scenario.graph.links[0].down.queue.get::<PrioConfig>().expect("it is prio");
    assert_eq!(prio.bands.iter().map(QueueConfig::kind).collect::<Vec<_>>(), ["fq_codel", "fifo", "prio"]);
    assert_eq!(prio.bands[1].limit(), Some(Limit::Packets(7)));
    // A limit in time of a nested queue is also converted to the bytes that the link sends in this time, here 5 ms at
    // 2.4 Mbit/s.
    let inner = prio.bands[2].get::<PrioConfig>().expect("the inner discipline is prio");
    assert_eq!(inner.bands[0].limit(), Some(Limit::Bytes(Bytes::new(1500))));
    assert_eq!((prio.classify[0].dscp, prio.classify[1].packet), (Some(46), Some(PacketKind::Ack)));
    assert_eq!(good(&scenario.to_toml()), scenario);
    // A key of a nested queue is addressed by the queue's number.
    let deeper =
        with(&[("link.down.queue", &queue), ("link.down.queue.bands.2.limit", "9 packets")]).expect("it is there");
    let prio = deeper.graph.links[0].down.queue.get::<PrioConfig>().expect("it is prio");
    assert_eq!(prio.bands[1].limit(), Some(Limit::Packets(9)));
}

#[test]
fn the_key_classes_has_its_own_type_for_each_discipline() {
    let up = |kind: &str, classes: &str| {
        let queue = format!("{{ kind = \"{kind}\", classes = {classes} }}");
        let scenario = with(&[("link.up.queue", &queue)]).expect("a queue with classes");
        assert_eq!(good(&scenario.to_toml()), scenario);
        scenario.graph.links[0].up.queue.clone()
    };
    let weighted = up("cbwfq", "[{ bandwidth = \"2 Mbit/s\", priority = true }, { bandwidth = \"1 Mbit/s\" }]");
    let classes = &weighted.get::<CbwfqConfig>().expect("it is cbwfq").classes;
    assert_eq!((classes.len(), classes[0].bandwidth, classes[0].priority), (2, BitRate::from_bps(2_000_000), true));
    let round = up("drr", "[{ quantum = \"500 B\" }, {}]");
    assert_eq!(round.get::<DrrConfig>().expect("it is drr").classes[0].quantum, Bytes::new(500));
    let tree = up("htb", "[{ rate = \"2 Mbit/s\" }, { rate = \"1 Mbit/s\", parent = 0, queue = \"9 packets\" }]");
    let classes = &tree.get::<HtbConfig>().expect("it is htb").classes;
    assert_eq!((classes[0].queue.clone(), classes[1].queue.clone()), (None, Some(fifo(9, DropFrom::Tail))));
    // Defaults of tc: ceil is the rate, and the quantum is the rate in bytes per second divided by 10.
    assert_eq!((classes[1].ceil, classes[1].quantum), (Some(classes[1].rate), Some(Bytes::new(12_500))));
}

#[test]
fn errors_in_nested_queues_name_the_full_key() {
    let queue = "{ kind = \"prio\", bands = [{ kind = \"red\", min = \"9 packets\", max = \"5 packets\" }, { limt = \"5 packets\" }] }";
    let errors = with(&[("link.down.queue", queue)]).expect_err("two mistakes");
    let found: Vec<(&str, &str)> = errors.problems.iter().map(|one| (one.key.as_str(), one.message.as_str())).collect();
    assert_eq!(
        found,
        [
            // The first pass finds unknown keys and the second pass finds wrong values. Both errors are reported.
            ("link.down.queue.bands.2.limt", "unknown key `limt` in [link.down.queue.bands.2]"),
            ("link.down.queue.bands.1.min", "`min` is above `max`"),
        ]
    );
}

#[test]
fn a_discipline_with_its_own_default_limit_keeps_it() {
    let limit = |kind: &str| with(&[("link.down.queue.kind", kind)]).expect(kind).graph.links[0].down.queue.limit();
    // Linux's default limit of PIE is 1,000 packets.
    assert_eq!((limit("fifo"), limit("pie")), (Some(Limit::Packets(50)), Some(Limit::Packets(1000))));
}

#[test]
fn a_direction_can_use_a_different_discipline_than_its_link() {
    let link = "rtt = \"20 ms\"\nqueue = { kind = \"red\", limit = \"80 packets\", ecn = true }";
    let text = BASE.replace("rtt = \"20 ms\"", link).replace("up.rate", "up.queue.kind = \"fifo\"\nup.rate");
    let link = &good(&text).graph.links[0];
    assert!(link.down.queue.get::<RedConfig>().is_some_and(|red| red.ecn));
    // The limit is the shorthand key that all kinds share. `ecn` was written for RED and is ignored.
    assert_eq!(link.up.queue, fifo(80, DropFrom::Tail));
}

#[test]
fn ecn_accepts_booleans_and_words() {
    for (value, expected) in
        [("true", "on"), ("false", "off"), ("on", "on"), ("accept", "accept"), ("accurate", "accurate")]
    {
        let scenario = with(&[("stack.ecn", value)]).expect(value);
        assert_eq!(scenario.flows[0].from_stack.get("ecn"), Some(&Value::Word(expected)));
    }
}

#[test]
fn the_default_burst_of_a_shaper_is_computed_from_the_rate() {
    let shaper = |value: &str| with(&[("link.up.shaper", value)]).expect("it is valid").graph.links[0].up.shaper;
    // merritt2010: the default burst is the 98 bytes that the line sends in 4 ms at 196 kbit/s.
    let expected = ShaperConfig { burst: Bytes::new(98), interval: Some(Duration::from_millis(4)), line_rate: None };
    assert_eq!(shaper("{ refill_interval = \"4 ms\" }"), Some(expected));
    // A refill is 24.5 bytes, so the size of the bucket is rounded up to hold a whole refill.
    assert_eq!(shaper("{ refill_interval = \"1 ms\" }").map(|shaper| shaper.burst), Some(Bytes::new(25)));
    // A bare value sets `burst`.
    let tbf = ShaperConfig { burst: Bytes::new(1600), interval: None, line_rate: None };
    assert_eq!(shaper("\"1600 B\""), Some(tbf));
}

#[test]
fn limits_in_bdp_use_the_directions_rate_and_the_base_rtt_of_the_whole_path() {
    let text = format!(
        "{}[lan]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n",
        BASE.replace("[[flow]]", "queue = \"1 BDP\"\n[[flow]]")
    );
    let link = &good(&text).graph.links[0];
    // The access line contributes 20 ms and the LAN 2 × 10 ms, so the base RTT is 40 ms. At 2.4 Mbit/s this is 12,000
    // bytes.
    assert_eq!(link.down.queue.limit(), Some(Limit::Bytes(Bytes::new(12_000))));
    // Bins are not converted to bytes, because each packet occupies whole bins.
    let bins = with(&[("link.up.queue.limit", "{ bins = 100, size = \"512 B\" }")]).expect("it is valid");
    assert_eq!(bins.graph.links[0].up.queue.limit(), Some(Limit::Bins { count: 100, size: Bytes::new(512) }));
}

#[test]
fn a_lan_adds_routers_between_the_hosts_and_the_line() {
    let scenario = good(&format!("{BASE}[lan]\nrate = \"100 Mbit/s\"\n"));
    assert_eq!(scenario.graph.routers, ["r1", "r2"]);
    let names: Vec<&str> = scenario.graph.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["link", "server-r1", "r2-client"]);
    assert_eq!(scenario.flows[0].direction, Some(Dir::Down));
    let path = scenario.graph.routes().path(0, 1).expect("the hosts are connected");
    // The path is server-r1, the access line, r2-client.
    assert_eq!(path.iter().map(|hop| hop.link).collect::<Vec<_>>(), [1, 0, 2]);
    // LAN links have Linux's default queue of 1,000 packets.
    assert_eq!(scenario.graph.links[1].down.queue.limit(), Some(Limit::Packets(1000)));
}

#[test]
fn all_kinds_of_loss_can_be_combined() {
    let loss = "{ random = \"1 %\", gilbert = { to_bad = 0.002, to_good = \"33 %\" }, packets = [9, 5], outages = [[\"3 s\", \"4 s\"], [\"1 s\", \"2 s\"]] }";
    let loss = with(&[("link.down.loss", loss)]).expect("it is valid").graph.links[0].down.loss.clone();
    let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
    assert_eq!(loss.random, 0.01);
    // Default of the Gilbert model: all packets are lost in the bad state, none in the good state.
    assert_eq!(loss.gilbert, Some(GilbertConfig { to_bad: 0.002, to_good: 0.33, loss_bad: 1.0, loss_good: 0.0 }));
    // Packet numbers and outages are sorted, so that they can be consumed in order.
    assert_eq!((loss.packets, loss.outages), (vec![5, 9], vec![(at(1), at(2)), (at(3), at(4))]));
}

#[test]
fn stacks_are_layered_from_all_hosts_to_one_end_of_a_flow() {
    let text = format!(
        "{BASE}cc = \"reno\"\nstack = {{ tlp = false, min_rto = \"1 s\" }}\nsender_stack = {{ min_rto = \"2 s\" }}\n\
         [stack]\nprofile = \"freebsd-7\"\nsack = true\ntlp = true\nmtu = \"1500 B\"\n\
         [host.client.stack]\nsack = false\nmss = \"1200 B\"\nreceive_buffer = \"64 KiB\"\nsend_buffer = \"auto\"\n"
    );
    let flow = &good(&text).flows[0];
    let (sender, receiver) = (&flow.from_stack, &flow.to_stack);
    // Both values come from [stack], the least specific table.
    assert_eq!((sender.profile.as_str(), receiver.profile.as_str()), ("freebsd-7", "freebsd-7"));
    let given = |key: &str| [sender, receiver].map(|stack| stack.get(key).cloned());
    let flag = |on: bool| Some(Value::Flag(on));
    let time = |seconds: u64| Some(Value::Time(Duration::from_secs(seconds)));
    // [host.client.stack] overrides [stack] at the receiver.
    assert_eq!(given("sack"), [flag(true), flag(false)]);
    // The flow's `stack` overrides [stack] at both ends.
    assert_eq!(given("tlp"), [flag(false), flag(false)]);
    // `sender_stack` overrides the flow's `stack`.
    assert_eq!(given("min_rto"), [time(2), time(1)]);
    // `mtu` and `mss` exclude each other, so only the more specific table counts.
    assert_eq!((sender.mss, receiver.mss), (Some(1460), Some(1200)));
    assert_eq!(given("receive_buffer"), [None, Some(Value::Size(Bytes::new(65_536)))]);
    // The word `auto` counts as a set value.
    assert_eq!(given("send_buffer"), [None, Some(Value::None)]);
}

#[test]
fn delayed_acks_accept_switches_and_tables() {
    let of = |scenario: Scenario| match scenario.flows[0].to_stack.get("delayed_ack") {
        Some(Value::Part(part)) => *part.downcast::<DelayedAck>().expect("delayed ACKs"),
        other => panic!("{other:?}"),
    };
    let delayed = |value: &str| of(with(&[("stack.delayed_ack", value)]).expect("it is valid"));
    let on = DelayedAck::default();
    let off = DelayedAck { mode: Switch::Off, ..on };
    assert_eq!((delayed("off"), delayed("false")), (off, off));
    assert_eq!((delayed("on"), delayed("true")), (on, on));
    let table = delayed("{ segments = 2, timeout = \"40 ms\" }");
    assert_eq!(table, DelayedAck { segments: Some(2), timeout: Some(Duration::from_millis(40)), ..on });
    // A flow that sets a key of `delayed_ack` enables delayed ACKs, although [stack] disables them.
    let text = format!("{BASE}stack = {{ delayed_ack = {{ segments = 4 }} }}\n[stack]\ndelayed_ack = \"off\"\n");
    assert_eq!(of(good(&text)), DelayedAck { segments: Some(4), ..on });
}

#[test]
fn every_kind_of_application_is_parsed() {
    let app = |value: &str| with(&[("flow.1.app", value)]).expect(value).flows[0].app.clone();
    let size = Bytes::new(100_000);
    assert_eq!(app("bulk"), BulkConfig::default().into());
    assert_eq!(app("100 kB"), TransferConfig { size, repeat: Some(1), pause: Duration::ZERO }.into());
    // Without `kind`, the keys determine the kind.
    assert_eq!(
        app("{ size = \"100 kB\", repeat = \"forever\", pause = \"1 s\" }"),
        TransferConfig { size, repeat: None, pause: Duration::from_secs(1) }.into()
    );
    // `on` and `off` identify the kind.
    let bursts = OnOffConfig { on: Duration::from_secs(2), off: Duration::from_millis(500) };
    assert_eq!(app("{ on = \"2 s\", off = \"500 ms\" }"), bursts.into());
    let datagrams = DatagramConfig { rate: BitRate::from_bps(64_000), size: Bytes::new(200) };
    assert_eq!(app("{ kind = \"udp\", rate = \"64 kbit/s\" }"), datagrams.into());
    let pages = HttpConfig { objects: 3, multiplexed: true, ..HttpConfig::default() };
    assert_eq!(app("{ kind = \"http\", objects = 3, multiplexed = true }"), pages.into());
    assert_eq!(app("{ kind = \"custom\", name = \"mine\" }"), CustomConfig { name: "mine".to_owned() }.into());
}

#[test]
fn copies_of_a_flow_are_numbered_and_start_at_the_given_spacing() {
    let text = format!(
        "{BASE}name = \"get\"\ncount = 3\nstart = \"1 s\"\nstart_spacing = \"50 ms\"\nstart_jitter = \"2 s\"\nstop = \"1 h\"\n"
    );
    let flows = good(&text).flows;
    let starts: Vec<(&str, u64)> =
        flows.iter().map(|flow| (flow.name.as_str(), flow.start.as_nanos() / 1_000_000)).collect();
    assert_eq!(starts, [("get.1", 1000), ("get.2", 1050), ("get.3", 1100)]);
    assert!(flows.iter().all(|flow| flow.group == "get" && flow.start_jitter == Duration::from_secs(2)));
    assert!(flows.iter().all(|flow| flow.stop == Time::from_nanos(60_000_000_000)), "no flow outlives the run");
}

const DUMBBELL: &str = "[scenario]\nduration = \"9 s\"\n[topology.dumbbell]\npairs = 3\naccess = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n\
    right.delay = \"2 ms\"\nbottleneck = { rate = \"100 Mbit/s\", delay = \"17 ms\", queue = \"1 BDP\" }\n";

#[test]
fn each_flow_of_a_dumbbell_uses_the_next_pair() {
    let text = format!(
        "{DUMBBELL}[[flow]]\nname = \"a\"\ndirection = \"down\"\ncount = 2\n[[flow]]\nname = \"b\"\ndirection = \"down\"\ncount = 2\n[[flow]]\ndirection = \"up\"\n"
    );
    let scenario = good(&text);
    let graph = &scenario.graph;
    assert_eq!((graph.hosts.len(), graph.routers.len(), graph.links.len()), (6, 2, 7));
    let ends: Vec<(&str, &str)> =
        scenario.flows.iter().map(|flow| (graph.hosts[flow.from].as_str(), graph.hosts[flow.to].as_str())).collect();
    let expected =
        [("left1", "right1"), ("left2", "right2"), ("left3", "right3"), ("left1", "right1"), ("right1", "left1")];
    assert_eq!(ends, expected);
    assert_eq!((scenario.flows[0].direction, scenario.flows[4].direction), (Some(Dir::Down), Some(Dir::Up)));
    let bottleneck = graph.links.iter().find(|link| link.name == "bottleneck").expect("the scenario defines this link");
    // The base RTT is 2 * (1 + 17 + 2) ms; at 100 Mbit/s the BDP is 500,000 bytes.
    assert_eq!(bottleneck.down.queue.limit(), Some(Limit::Bytes(Bytes::new(500_000))));
}

#[test]
fn a_dumbbell_of_2000_pairs_is_resolved() {
    let text = DUMBBELL.replace("pairs = 3", "pairs = 2000") + "[[flow]]\ndirection = \"down\"\ncount = 2000\n";
    let scenario = good(&text);
    assert_eq!((scenario.flows.len(), scenario.graph.links.len()), (2000, 4001));
    assert_eq!(good(&scenario.to_toml()), scenario);
}

#[test]
fn paths_have_the_fewest_links_and_ties_go_to_the_first() {
    let text = "[scenario]\nduration = \"1 s\"\n[topology]\nhosts = [\"a\", \"b\"]\nrouters = [\"r1\", \"r2\", \"r3\", \"r4\"]\n\
        link = [\n\
        { between = [\"a\", \"r1\"], rate = \"1 Mbit/s\" },\n\
        { between = [\"r1\", \"r2\"], rate = \"1 Mbit/s\" },\n\
        { between = [\"r3\", \"r1\"], rate = \"1 Mbit/s\" },\n\
        { between = [\"r2\", \"r4\"], rate = \"1 Mbit/s\" },\n\
        { between = [\"r4\", \"r3\"], rate = \"1 Mbit/s\" },\n\
        { between = [\"r4\", \"b\"], rate = \"1 Mbit/s\" },\n\
        { between = [\"r2\", \"r3\"], rate = \"1 Mbit/s\" },\n\
        ]\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n[[flow]]\nfrom = \"b\"\nto = \"a\"\n";
    let scenario = good(text);
    let routes = scenario.graph.routes();
    let links = |from: usize, to: usize| {
        routes
            .path(from, to)
            .expect("the hosts are connected")
            .iter()
            .map(|hop| (hop.link, hop.dir))
            .collect::<Vec<_>>()
    };
    assert_eq!(links(0, 1), [(0, Dir::Down), (1, Dir::Down), (3, Dir::Down), (5, Dir::Down)]);
    assert_eq!(links(1, 0), [(5, Dir::Up), (3, Dir::Up), (1, Dir::Up), (0, Dir::Up)]);
    assert_eq!(scenario.flows[1].direction, Some(Dir::Up));
}

#[test]
fn no_route_uses_a_one_way_link_backwards() {
    // Data takes the one-way cable, and ACKs return over the longer path. The routes must be correct whether the cable
    // ends at the host or at a router.
    for cable in ["[\"head\", \"b\"]", "[\"head\", \"near\"]"] {
        let text = format!(
            "[scenario]\nduration = \"1 s\"\n[topology]\nhosts = [\"a\", \"b\"]\nrouters = [\"head\", \"far\", \"near\"]\n\
             link = [\n\
             {{ between = [\"a\", \"head\"], rate = \"1 Mbit/s\" }},\n\
             {{ between = {cable}, rate = \"1 Mbit/s\", one_way = true }},\n\
             {{ between = [\"head\", \"far\"], rate = \"1 Mbit/s\" }},\n\
             {{ between = [\"far\", \"near\"], rate = \"1 Mbit/s\" }},\n\
             {{ between = [\"near\", \"b\"], rate = \"1 Mbit/s\" }},\n\
             ]\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
        );
        let scenario = good(&text);
        let routes = scenario.graph.routes();
        let links = |from: usize, to: usize| {
            routes.path(from, to).expect("the hosts are connected").iter().map(|hop| hop.link).collect::<Vec<_>>()
        };
        assert_eq!(links(0, 1)[..2], [0, 1]);
        assert_eq!(links(1, 0), [4, 3, 2, 0]);
        assert_eq!(good(&scenario.to_toml()), scenario);
    }
}

fn preset(name: &str, more: &str) -> Scenario {
    let flow = "[[flow]]\ndirection = \"down\"";
    good(&format!("[scenario]\nduration = \"9 s\"\n[link]\npreset = \"{name}\"\n{more}\n{flow}"))
}

#[test]
fn every_preset_is_valid_and_its_name_contains_its_rates() {
    for each in PRESETS {
        let link = &preset(each.name, "").graph.links[0];
        let rates = each.name.rsplit('-').take(2).map(|rate| rate.parse::<u64>().unwrap());
        for (dir, megabits) in [Dir::Up, Dir::Down].into_iter().zip(rates) {
            let direction = link.dir(dir);
            match direction.rate {
                Some(rate) => assert_eq!(rate.as_bps(), megabits * 1_000_000, "{}", each.name),
                None => assert_eq!(direction.access.as_ref().map(|access| access.kind()), Some("reallocation")),
            }
            assert!(direction.build(1, "link").is_ok(), "{}", each.name);
        }
        assert!(link.down.delay > Duration::ZERO && !each.source.is_empty());
    }
}

#[test]
fn keys_next_to_a_preset_override_single_keys() {
    let link = &preset("docsis31-1000-35", "rtt = \"50 ms\"\nup.rate = \"50 Mbit/s\"").graph.links[0];
    assert_eq!((link.down.delay, link.down.rate), (Duration::from_millis(25), Some(BitRate::from_bps(1_000_000_000))));
    assert_eq!(link.up.rate, Some(BitRate::from_bps(50_000_000)));
    assert!(link.up.access.is_some());
}

#[test]
fn a_preset_set_by_an_override_replaces_the_files_keys() {
    let text = "[scenario]\nduration = \"9 s\"\n[link]\nrtt = \"123 ms\"\nqueue = \"3 packets\"\n\
                [link.down]\nrate = \"1 kbit/s\"\nqueue = { kind = \"codel\" }\n\
                [link.up]\nrate = \"2 kbit/s\"\n[[flow]]\ndirection = \"down\"";
    let asked = |overrides: &[(&str, &str)]| {
        let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Scenario::parse(text, "test.toml", &overrides).unwrap_or_else(|errors| panic!("{errors}"))
    };
    for each in PRESETS {
        let found = asked(&[("link.preset", each.name)]);
        assert_eq!(found.graph.links[0], preset(each.name, "").graph.links[0], "{}", each.name);
        // Overrides of single keys take precedence over the preset, whatever the order of the overrides.
        for order in [[0, 1], [1, 0]] {
            let given = [("link.preset", each.name), ("link.up.queue", "7 packets")];
            let found = asked(&order.map(|place| given[place]));
            assert_eq!(found.graph.links[0].up.queue.limit(), Some(Limit::Packets(7)), "{}", each.name);
        }
    }
}
