//! The settings of disciplines: their kinds, limits and defaults, and own disciplines.

use crate::common::{Segment, cx};
use lopsided_core::packet::Flags;
use lopsided_core::{Accounting, BitRate, Bytes, Count, Duration, Packet, Time};
use lopsided_queue::{
    AsqmConfig, Backlog, CodelQueueConfig, Discipline, FifoConfig, Framing, HtbClass, HtbConfig, Limit, PacketKind,
    PieConfig, PieQueueConfig, PrioConfig, QUEUES, Qdisc as _, Queue, QueueConfig, QueuePlace, RedConfig, TbfConfig,
    Threshold, WfqConfig, dequeues_only_nonempty, register, turn,
};
use lopsided_spec::{Fault, Given, Key, Part, Scalar as _, Value, ValueType};

fn given<'g>(keys: &'g [&'g str], preset: Option<&'g str>) -> Given<'g> {
    Given { keys, preset, line_rate: Some(BitRate::from_bps(10_000_000)), line_peeks: false, folder: "" }
}

#[test]
fn settings_know_their_kind_and_limit() {
    let codel = QueueConfig::new(CodelQueueConfig { limit: Limit::Packets(7), ..CodelQueueConfig::default() });
    assert_eq!((codel.kind(), codel.limit()), ("codel", Some(Limit::Packets(7))));
    assert_eq!(codel.get::<CodelQueueConfig>().map(|codel| codel.limit), Some(Limit::Packets(7)));
    assert_eq!(codel.get::<FifoConfig>(), None);
    let octets = QueueConfig::new(FifoConfig::new(Limit::Bytes(Bytes::new(5000))));
    assert_eq!(octets.limit(), Some(Limit::Bytes(Bytes::new(5000))));
    // The limit of this kind is a plain number.
    assert_eq!(QueueConfig::new(WfqConfig::default()).limit(), None);
    let backlog = Backlog { packets: 3, bytes: Bytes::new(700) };
    assert_eq!(Count::from(backlog), Count { packets: 3, bytes: Bytes::new(700) });
}

/// In Linux, tbf, htb and drr do not call an empty child, so a RED queue in them never sees an idle time.
#[test]
fn three_kinds_dequeue_only_from_children_with_packets() {
    let mut kinds: Vec<&str> = (QUEUES.members)().iter().map(|member| member.info.name).collect();
    kinds.retain(|kind| dequeues_only_nonempty(kind));
    kinds.sort_unstable();
    assert_eq!(kinds, ["drr", "htb", "tbf"]);
}

#[test]
fn the_overhead_of_a_framing_is_limited_and_added_to_that_of_its_kind() {
    let of = |overhead| Framing { overhead: Bytes::new(overhead), ..Framing::NONE };
    assert_eq!(Part::check(&of(10_100)), Ok(()));
    assert!(Part::check(&of(10_101)).is_err());
    assert!(Part::check(&Framing { minimum: Bytes::new(10_101), ..Framing::NONE }).is_err());
    let complete = |keys: &[&str], preset| {
        let mut framing = of(4);
        framing.complete(&given(keys, preset)).map(|()| framing.overhead)
    };
    let pppoe = Framing::PPPOE.overhead;
    assert_eq!(complete(&["kind", "overhead"], Some("pppoe")), Ok(Bytes::new(4) + pppoe));
    assert_eq!(complete(&["kind"], Some("pppoe")), Ok(Bytes::new(4)));
    assert_eq!(complete(&["overhead"], None), Ok(Bytes::new(4)));
    assert!(of(20_000).complete(&given(&[], None)).is_err());
}

/// A program can set values that a scenario cannot, for example a rate of zero, by which some disciplines divide.
#[test]
fn no_discipline_accepts_a_rate_of_zero_or_an_impossible_number() {
    let mut tried = Vec::new();
    for member in (QUEUES.members)() {
        for key in &member.info.keys {
            let impossible = match (key.value_type, key.input_only) {
                (ValueType::Rate, false) => vec![Value::Rate(BitRate::from_bps(0))],
                (ValueType::Number | ValueType::Probability, false) => {
                    [f64::NAN, f64::INFINITY, -0.1].map(Value::Number).to_vec()
                }
                _ => continue,
            };
            for value in impossible {
                let mut part = member.part.boxed_clone();
                part.set(key.name, value.clone()).unwrap();
                let config = QueueConfig::from_value(Value::Part(part)).unwrap();
                let fault = config.build(1, "link/up").err().map(|fault| fault.key);
                assert_eq!(fault, Some(key.name), "{}, {} = {value:?}", member.info.name, key.name);
            }
            tried.push(format!("{}.{}", member.info.name, key.name));
        }
    }
    for key in ["red.bandwidth", "choke.bandwidth", "fq.maxrate", "tbf.rate", "tbf.peakrate", "pie.alpha"] {
        assert!(tried.iter().any(|tried| tried == key), "{key} is not among {tried:?}");
    }
    // Also in a list of classes, and in a queue inside another queue.
    let still = HtbClass { rate: BitRate::from_bps(0), ..HtbClass::default() };
    let classes = QueueConfig::new(HtbConfig { classes: vec![still], ..HtbConfig::default() });
    let pie = PieConfig { alpha: f64::NAN, ..PieConfig::default() };
    let queue = QueueConfig::new(PieQueueConfig { pie, ..PieQueueConfig::default() });
    let inside = QueueConfig::new(TbfConfig { queue, ..TbfConfig::default() });
    let keys = [classes, inside].map(|config| config.build(1, "link/up").err().map(|fault| fault.key));
    assert_eq!(keys, [Some("rate"), Some("alpha")]);
}

/// As in tc-red(8): `max` is a quarter of the limit and `min` a third of `max`, unless they are set.
#[test]
fn reds_thresholds_follow_from_its_limit() {
    let complete = |limit| {
        let mut red = RedConfig { limit, ..RedConfig::default() };
        red.complete(&given(&["limit"], None)).map(|()| (red.min, red.max))
    };
    assert_eq!(complete(Limit::Packets(120)), Ok((Threshold::Packets(10), Threshold::Packets(30))));
    let octets = |min, max| (Threshold::Bytes(Bytes::new(min)), Threshold::Bytes(Bytes::new(max)));
    assert_eq!(complete(Limit::Bytes(Bytes::new(120_000))), Ok(octets(10_000, 30_000)));
    assert_eq!(complete(Limit::Packets(2)), Ok((Threshold::Packets(1), Threshold::Packets(1))));
}

/// Some defaults follow from the line, but never replace a value that the scenario sets.
#[test]
fn values_that_follow_from_the_line_replace_no_key_that_is_set() {
    let mut derived = Vec::new();
    for member in (QUEUES.members)() {
        // Classes have defaults of their own inside.
        let is_plain = |key: &&str| !matches!(member.part.get(key), Value::List(_));
        let names: Vec<&str> = member.info.names().filter(is_plain).collect();
        let complete = |keys: &[&str]| {
            let mut part = member.part.boxed_clone();
            part.complete(&given(keys, None)).map(|()| part)
        };
        for key in &names {
            if let Ok(part) = complete(&[key]) {
                assert_eq!(part.get(key), member.part.get(key), "{}: {key}", member.info.name);
            }
        }
        if let (Ok(none), Ok(all)) = (complete(&[]), complete(&names)) {
            let changed = names.iter().filter(|key| none.get(key) != all.get(key));
            derived.extend(changed.map(|key| format!("{}.{key}", member.info.name)));
        }
    }
    let of_red = ["red.min", "red.max", "red.weight", "red.bandwidth"];
    let of_others = ["docsis-pie.msr", "cobalt.mtu_time", "wred.bandwidth", "ared.bandwidth"];
    let of_choke = ["choke.min", "choke.max", "choke.weight", "choke.bandwidth"];
    assert_eq!(derived, [of_red, of_others, of_choke].concat());
}

#[test]
fn the_interval_of_asqm_is_at_most_a_minute() {
    let of = |nanos| AsqmConfig { interval: Duration::from_nanos(nanos), ..AsqmConfig::default() };
    assert_eq!(Part::check(&of(60_000_000_000)), Ok(()));
    assert!(Part::check(&of(60_000_000_001)).is_err());
    assert!(Part::check(&of(0)).is_err());
}

/// Two disciplines measure the path with sensing packets. They take only those that the far end has sent back.
#[test]
fn two_kinds_send_sensing_packets_and_take_only_those_that_were_turned() {
    let mut senders = Vec::new();
    for member in (QUEUES.members)() {
        let name = member.info.name;
        let config = QueueConfig::from_value(Value::Part(member.part)).expect("a kind of queue");
        // Some kinds have mandatory keys.
        let Ok(mut queue) = config.build(1, "test") else { continue };
        if queue.sensing().is_none() {
            continue;
        }
        senders.push(name);
        let mut accounting = Accounting::new(1);
        let mut cx = cx(Time::ZERO, &mut accounting);
        for id in 0..4 {
            queue.enqueue(Segment { payload: 1000, ..Segment::ack(1, 1) }.packet(id), &mut cx);
        }
        let queue = queue.sensing().expect("a discipline that sends sensing packets");
        let sensing = queue.poll_originate().expect("a sensing packet follows data");
        let mut sensing = Packet::unbooked(9, Time::ZERO, sensing);
        let later = Time::from_nanos(1_000_000);
        assert!(!queue.observe_reverse(&sensing, later), "{name} took a packet on its way to the far end");
        assert!(turn(&mut sensing, &mut cx));
        assert!(queue.observe_reverse(&sensing, later), "{name} did not take its packet");
        assert!(!queue.observe_reverse(&sensing, later), "{name} took its packet twice");
    }
    assert_eq!(senders, ["asqm", "bdp"]);
}

/// A discipline of a user, which is a drop-tail queue.
#[derive(Clone, Debug, Default, PartialEq)]
struct Own;

impl Part for Own {
    const NAME: &'static str = "own";
    const TEXT: &'static str = "";
    const KEYS: &'static [Key<Own>] = &[];
}

impl Discipline for Own {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        QueueConfig::packets(1).build(place.seed, place.role)
    }
}

/// A discipline of a user with the name of a built-in one.
#[derive(Clone, Debug, Default, PartialEq)]
struct Taken;

impl Part for Taken {
    const NAME: &'static str = "codel";
    const TEXT: &'static str = "";
    const KEYS: &'static [Key<Taken>] = &[];
}

impl Discipline for Taken {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Own.build(place)
    }
}

#[test]
fn a_discipline_of_a_user_cannot_have_the_name_of_a_built_in_one() {
    assert!(register::<Taken>().is_err());
    let own = QueueConfig::new(Own);
    assert_eq!((own.kind(), own.build(1, "test").map(|_| ()).is_ok()), ("own", true));
}

/// An ACK filter can remove packets from a classful discipline only if all its classes can.
#[test]
fn a_classful_queue_removes_packets_if_all_its_classes_do() {
    let mut seen = [0; 2];
    for member in (QUEUES.members)() {
        let inner = QueueConfig::from_value(Value::Part(member.part)).expect("a kind of queue");
        // Some kinds need the rate of the line.
        let Ok(mut queue) = inner.build(1, "test") else { continue };
        let alone = queue.removes();
        seen[usize::from(alone)] += 1;
        for bands in [vec![QueueConfig::packets(5), inner.clone()], vec![inner, QueueConfig::packets(5)]] {
            let prio = QueueConfig::from(PrioConfig { bands, classify: Vec::new(), default_class: Some(0) });
            assert_eq!(prio.build(1, "test").expect("as above").removes(), alone, "{}", member.info.name);
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

/// A resolved scenario shows the values that Linux's tc and sch_htb derive from the rate.
#[test]
fn htb_completes_the_keys_of_its_classes() {
    let class = |parent| HtbClass { parent, rate: BitRate::from_bps(8_000_000), ..HtbClass::default() };
    let mut htb = HtbConfig { classes: vec![class(None), class(Some(0))], ..HtbConfig::default() };
    htb.complete(&given(&[], None)).expect("complete");
    let [inner, leaf] = &htb.classes[..] else { panic!("two classes") };
    assert_eq!((inner.ceil, leaf.ceil), (Some(inner.rate), Some(leaf.rate)));
    assert!(inner.burst.is_some() && inner.cburst == inner.burst);
    assert_eq!(leaf.quantum, Some(Bytes::new(8_000_000 / 8 / u64::from(htb.r2q))));
    assert_eq!((inner.queue.is_some(), leaf.queue.clone()), (false, Some(QueueConfig::packets(1000))));
}

/// Floyd and Jacobson 1993, section 7: for a minimum of 5 packets, bursts of 50 packets need a weight of at most 0.0042.
#[test]
fn the_burst_of_red_determines_its_weight() {
    let burst = |burst| {
        let (min, max) = (Threshold::Packets(5), Threshold::Packets(15));
        let mut red = RedConfig { limit: Limit::Packets(120), min, max, burst: Some(burst), ..RedConfig::default() };
        red.complete(&given(&["limit", "min", "max", "burst"], None)).map(|()| (red.weight, red.burst))
    };
    assert_eq!(burst(50), Ok((1.0 / 256.0, None)), "the largest power of 1/2");
    assert!(burst(3).is_err(), "the burst is smaller than the minimum");
}

#[test]
fn red_sees_an_idle_queue_unless_another_discipline_peeks() {
    let complete = |keys: &[&str], line_peeks, idle_decay| {
        let mut red = RedConfig { idle_decay, ..RedConfig::default() };
        red.complete(&Given { line_peeks, ..given(keys, None) }).map(|()| red.idle_decay)
    };
    assert_eq!([complete(&[], false, false), complete(&[], true, true)], [Ok(true), Ok(false)]);
    let set = ["idle_decay"];
    assert_eq!([complete(&set, false, false), complete(&set, true, true)], [Ok(false), Ok(true)], "the key wins");
}

#[test]
fn syn_fin_and_rst_are_control_packets_unless_they_carry_data() {
    let kind = |flags, payload| PacketKind::of(&Segment { flags, payload, ..Segment::ack(1, 1) }.packet(1));
    for flag in [Flags::SYN, Flags::FIN, Flags::RST] {
        assert_eq!(kind(flag.with(Flags::ACK), 0), PacketKind::Control, "{flag:?}");
        assert_eq!(kind(flag.with(Flags::ACK), 1), PacketKind::Data, "{flag:?}");
    }
    assert_eq!(kind(Flags::ACK.with(Flags::PSH), 0), PacketKind::Ack);
}
