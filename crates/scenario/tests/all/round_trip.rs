//! A written scenario must be read back as an equal scenario, and no input may make the reader panic.

use super::schema::Json;
use super::{BASE, parse};
use lopsided_app::{AppConfig, DatagramConfig, HttpConfig, OnOffConfig, TransferConfig};
use lopsided_core::{BitRate, Bytes, Dir, Duration, Time};
use lopsided_link::{
    AccessConfig, CellFormat, CompressionScheme, Framing, GilbertConfig, HeaderCompressionConfig, JitterConfig,
    LinkConfig, LossConfig, RateStep, RatesConfig, ShaperConfig, TraceConfig,
};
use lopsided_queue::{
    DropFrom, FifoConfig, Limit, MarkThreshold, Markable, QueueConfig, RedConfig, Threshold, ThresholdConfig,
};
use lopsided_scenario::TransportConfig;
use lopsided_scenario::{Axes, FairnessSpec, FlowSpec, Graph, InterfaceSpec, LinkSpec, NodeRef, RecordSpec, Scenario};
use lopsided_spec::{Amount, KeyInfo, Value, ValueType};
use lopsided_tcp::{DelayedAck, StackConfig, Switch};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use std::sync::Arc;

/// One hour, which is longer than every time that `span` generates.
const DURATION: Duration = Duration::from_secs(3600);

fn span() -> impl Strategy<Value = Duration> {
    (0u64..3_000_000_000_000).prop_map(Duration::from_nanos)
}

fn rate() -> impl Strategy<Value = BitRate> {
    (1_000u64..10_000_000_000_000).prop_map(BitRate::from_bps)
}

fn probability() -> impl Strategy<Value = f64> {
    // The smallest probability that the reader accepts is 1e-12.
    prop_oneof![Just(0.0), Just(1.0), 1e-12f64..1.0]
}

fn framing() -> impl Strategy<Value = Framing> {
    let cells = prop_oneof![Just(CellFormat::None), Just(CellFormat::Atm), Just(CellFormat::Ptm)];
    (0u64..10_000, 0u64..10_000, cells).prop_map(|(overhead, minimum, cell_format)| Framing {
        overhead: Bytes::new(overhead),
        minimum: Bytes::new(minimum),
        cell_format,
    })
}

fn queue() -> impl Strategy<Value = QueueConfig> {
    let limit = prop_oneof![
        (1u32..).prop_map(Limit::Packets),
        // The limit is larger than every packet, so that the queue can hold it.
        (70_000u64..).prop_map(|octets| Limit::Bytes(Bytes::new(octets))),
        (1_000u32.., 100u64..10_000).prop_map(|(count, size)| Limit::Bins { count, size: Bytes::new(size) }),
    ];
    let drop = prop_oneof![Just(DropFrom::Tail), Just(DropFrom::Front)];
    let fifo = (limit.clone(), drop).prop_map(|(limit, drop)| FifoConfig { drop, ..FifoConfig::new(limit) }.into());
    let mark_threshold = prop_oneof![
        depth().prop_map(MarkThreshold::Depth),
        span().prop_filter("no threshold at all", |span| !span.is_zero()).prop_map(MarkThreshold::Sojourn),
    ];
    let step = (limit.clone(), mark_threshold, prop_oneof![Just(Markable::Ect), Just(Markable::Ect1)])
        .prop_map(|(limit, mark_threshold, ect)| ThresholdConfig { limit, mark_threshold, ect }.into());
    let weight = probability().prop_filter("no weight at all", |weight| *weight > 0.0);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let red = (limit, (depth(), 0u32..1000), (probability(), weight), (1u64..3000, of(rate())), flags).prop_map(
        |(limit, (min, more), (probability, weight), (avpkt, bandwidth), (ecn, harddrop, gentle, idle_decay))| {
            let max = match min {
                Threshold::Packets(count) => Threshold::Packets(count.saturating_add(more)),
                Threshold::Bytes(bytes) => Threshold::Bytes(Bytes::new(bytes.get() + u64::from(more))),
            };
            // `harddrop` needs `ecn`, and `burst` is only an input from which the weight is computed.
            let (avpkt, harddrop, burst) = (Bytes::new(avpkt), harddrop && ecn, None);
            let (marks, victim) = Default::default();
            RedConfig {
                limit,
                min,
                max,
                probability,
                weight,
                avpkt,
                bandwidth,
                idle_decay,
                burst,
                ecn,
                harddrop,
                gentle,
                adaptive: false,
                marks,
                victim,
                count_first: gentle,
                least: if gentle { 2 } else { 0 },
            }
            .into()
        },
    );
    prop_oneof![fifo.boxed(), step.boxed(), red.boxed()].boxed()
}

fn depth() -> impl Strategy<Value = Threshold> {
    prop_oneof![
        (1u32..).prop_map(Threshold::Packets),
        (1u64..1 << 40).prop_map(|octets| Threshold::Bytes(Bytes::new(octets))),
    ]
}

fn loss() -> impl Strategy<Value = LossConfig> {
    let gilbert = (probability(), probability(), probability(), probability())
        .prop_map(|(to_bad, to_good, loss_bad, loss_good)| GilbertConfig { to_bad, to_good, loss_bad, loss_good });
    let instants = vec(0u64..4_000_000_000_000, 0..5);
    (probability(), of(gilbert), vec(1u64.., 0..5), instants).prop_map(
        |(random, gilbert, mut packets, mut instants)| {
            packets.sort_unstable();
            packets.dedup();
            instants.sort_unstable();
            // Outages must not overlap.
            instants.dedup();
            let outages =
                instants.chunks_exact(2).map(|pair| (Time::from_nanos(pair[0]), Time::from_nanos(pair[1]))).collect();
            LossConfig { random, gilbert, packets, outages }
        },
    )
}

fn access() -> impl Strategy<Value = AccessConfig> {
    let times = prop::collection::vec(0..1000_u64, 1..20).prop_map(|mut times| {
        times.sort_unstable();
        // The time of the last opportunity is the length of the trace.
        times.push(1000);
        AccessConfig::new(TraceConfig { opportunities: times, ..TraceConfig::default() })
    });
    let rates = (rate(), 2..1000_u64).prop_map(|(rate, ms)| {
        let outage = RateStep { at: Duration::from_millis(1), rate: None };
        let steps = vec![RateStep { at: Duration::ZERO, rate: Some(rate) }, outage];
        AccessConfig::new(RatesConfig { steps, repeat: Some(Duration::from_millis(ms)) })
    });
    prop_oneof![times, rates]
}

fn direction() -> impl Strategy<Value = LinkConfig> {
    let shaper = of((1u64..1 << 30, of(rate())));
    let jitter = (span(), any::<bool>()).prop_map(|(spread, reorder)| JitterConfig { spread, reorder });
    let parts = (of(rate()), span(), framing(), queue(), shaper, loss(), jitter, of(access()));
    parts.prop_map(|(rate, delay, framing, queue, shaper, loss, jitter, access)| {
        let shaper = rate.zip(shaper).map(|(rate, (burst, line_rate))| ShaperConfig {
            burst: Bytes::new(burst),
            // Set an interval only if one refill fits into the bucket.
            interval: (burst % 2 == 0)
                .then(|| Duration::from_nanos((u128::from(burst) * 8_000_000_000 / u128::from(rate.as_bps())) as u64))
                .filter(|interval| !interval.is_zero()),
            line_rate: line_rate.map(|line| line.max(rate)),
        });
        let compressed = shaper.is_none() && access.is_none() && !jitter.reorder && delay.as_nanos() % 2 == 0;
        let scheme = if compressed { CompressionScheme::Cslip } else { CompressionScheme::None };
        let header_compression =
            HeaderCompressionConfig { scheme, compress_slot: rate.is_none(), ..HeaderCompressionConfig::default() };
        LinkConfig { framing, header_compression, shaper, loss, jitter, access, ..LinkConfig::new(rate, delay, queue) }
    })
}

/// Generates random values of the key's type.
fn value_of(key: &KeyInfo) -> BoxedStrategy<Value> {
    let given = match key.value_type {
        ValueType::Flag => any::<bool>().prop_map(Value::Flag).boxed(),
        ValueType::Integer => any::<u32>().prop_map(|number| Value::Integer(number.into())).boxed(),
        ValueType::Probability => {
            (0..1000u32).prop_map(|per_mille| Value::Number(f64::from(per_mille) / 1000.0)).boxed()
        }
        ValueType::Time => span().prop_map(Value::Time).boxed(),
        ValueType::Size => any::<u64>().prop_map(|octets| Value::Size(Bytes::new(octets))).boxed(),
        ValueType::Window => prop_oneof![
            (1u32..).prop_map(|count| Value::Amount(Amount::Segments(count))),
            (1u64..).prop_map(|octets| Value::Amount(Amount::Bytes(Bytes::new(octets)))),
        ]
        .boxed(),
        ValueType::Word(words) => proptest::sample::select(words()).prop_map(Value::Word).boxed(),
        ValueType::Part(_) => (any::<bool>(), of(1u32..), of(span()))
            .prop_map(|(on, segments, timeout)| match on {
                true => Value::of_part(&DelayedAck { segments, timeout, ..DelayedAck::default() }),
                false => Value::of_part(&DelayedAck { mode: Switch::Off, ..DelayedAck::default() }),
            })
            .boxed(),
        other => panic!("no stack has a key of type {other:?}"),
    };
    match key.none_word {
        Some(_) => prop_oneof![1 => Just(Value::None), 3 => given].boxed(),
        None => given,
    }
}

/// Generates random TCP settings. At most one of two settings that exclude each other is set.
fn stack() -> impl Strategy<Value = StackConfig> {
    let sound = |key: &'static str, value: &Value| StackConfig::check(key, value).is_ok();
    let value_of = |key: &KeyInfo| {
        let name = key.name;
        let narrow = match name {
            "dscp" => Some(0..64),
            "hz" => Some(1..1001),
            _ => None,
        };
        narrow
            .map_or_else(|| value_of(key), |range: std::ops::Range<u64>| range.prop_map(Value::Integer).boxed())
            .prop_filter("a sound value", move |value| sound(name, value))
    };
    let values: Vec<_> = StackConfig::keys().iter().map(|key| of(value_of(key))).collect();
    let profile = prop_oneof![Just("linux-6.1"), Just("freebsd-7")];
    (profile, of(64u16..65_495), values).prop_map(|(profile, mss, values)| {
        let mut stack = StackConfig::new(profile, "reno");
        stack.mss = mss;
        for (key, value) in StackConfig::keys().iter().zip(values) {
            let other = match key.name {
                "fack" => "rack",
                "rate_halving" => "prr",
                _ => "",
            };
            let excluded = stack.get(other) == Some(&Value::Flag(true))
                || key.name == "abc_half" && stack.get("abc").is_some() && value == Some(Value::Flag(true));
            if let Some(value) = value.filter(|_| !excluded) {
                stack.set(key.name, value);
            }
        }
        stack
    })
}

fn app() -> impl Strategy<Value = AppConfig> {
    let transfer = (1u64.., of(1u32..), span())
        .prop_map(|(size, repeat, pause)| TransferConfig { size: Bytes::new(size), repeat, pause }.into());
    let bursts = (1u64..1 << 50, 1u64..1 << 50)
        .prop_map(|(on, off)| OnOffConfig { on: Duration::from_nanos(on), off: Duration::from_nanos(off) }.into());
    let datagrams =
        (rate(), 28u64..=65_535).prop_map(|(rate, size)| DatagramConfig { rate, size: Bytes::new(size) }.into());
    let pages = (1u32.., 1u64..1 << 20, 1u32.., any::<bool>(), of(1u32..)).prop_map(
        |(objects, size, connections, multiplexed, pages)| {
            let object_size = Bytes::new(size);
            HttpConfig { objects, object_size, connections, multiplexed, pages, ..HttpConfig::default() }.into()
        },
    );
    prop_oneof![Just(AppConfig::default()), transfer, bursts, datagrams, pages]
}

fn flow(number: usize) -> impl Strategy<Value = FlowSpec> {
    let times = (0u64..1_800_000_000_000, 1u64..1_800_000_000_000, span());
    (any::<bool>(), times, app(), stack(), stack()).prop_map(move |(down, times, app, from_stack, to_stack)| {
        let (start, length, start_jitter) = times;
        FlowSpec {
            name: format!("flow.{number}"),
            group: "some_group".to_owned(),
            from: usize::from(!down),
            to: usize::from(down),
            direction: Some(if down { Dir::Down } else { Dir::Up }),
            start: Time::from_nanos(start),
            start_jitter,
            stop: Time::from_nanos(start + length),
            app,
            transport: TransportConfig::default(),
            from_stack: from_stack.into(),
            to_stack: to_stack.into(),
        }
    })
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let link = |name: &'static str, from, to| {
        (direction(), direction()).prop_map(move |(down, up)| LinkSpec {
            name: name.to_owned(),
            from,
            to,
            down: Arc::new(down),
            up: Arc::new(up),
            one_way: false,
        })
    };
    let links =
        (link("first", NodeRef::Host(0), NodeRef::Router(0)), link("second", NodeRef::Router(0), NodeRef::Host(1)));
    let record = (of(1_000_000_000u64..), any::<[bool; 4]>());
    let record = record.prop_map(|(interval, [on_change, events, tcp_events, traces])| RecordSpec {
        interval: interval.map(Duration::from_nanos),
        on_change,
        events,
        tcp_events,
        traces,
    });
    let interface =
        (span(), of(1u32..), of(1u32..)).prop_map(|(delay, limit, ring)| InterfaceSpec { delay, limit, ring });
    let interfaces = proptest::collection::btree_map(0usize..2, interface, 0..=2);
    let fairness = (of(span()), probability(), span(), any::<bool>());
    let fairness = of(fairness.prop_map(|(warmup, within, hold, harm)| FairnessSpec { warmup, within, hold, harm }));
    // Box the generators of links and flows, because they are too large for the stack of a test thread.
    let flows = (flow(1).boxed(), flow(2).boxed());
    (any::<Option<String>>(), any::<u64>(), links.boxed(), flows, interfaces, record, fairness).prop_map(
        |(title, seed, links, flows, interfaces, record, fairness)| Scenario {
            name: "any".to_owned(),
            title,
            duration: DURATION,
            seed,
            graph: Graph {
                media: Vec::new(),
                hosts: vec!["one".to_owned(), "two".to_owned()],
                routers: vec!["between".to_owned()],
                links: vec![links.0, links.1],
            },
            interfaces,
            flows: vec![flows.0, flows.1],
            record,
            fairness,
        },
    )
}

/// Generates the lines of a scenario file with random mutations, like the inputs of a fuzzer.
fn odd_file() -> impl Strategy<Value = String> {
    let words = [
        "[scenario]",
        "duration",
        "name",
        "[link]",
        "[link.up]",
        "down.rate",
        "rtt",
        "queue",
        "limit",
        "[topology]",
        "hosts",
        "[[topology.link]]",
        "between",
        "[topology.dumbbell]",
        "pairs",
        "[[flow]]",
        "direction",
        "app",
        "count",
        "[sweep]",
        "[stack]",
        "mss",
        "[record]",
        "interval",
        "[host.a.stack]",
        "=",
        "=",
        "=",
        "\"20 ms\"",
        "\"5..50:5\"",
        "\"1 BDP\"",
        "\"2.4M\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ".",
        "\n",
        "\n",
        "\n",
        "0",
        "-1",
        "1e400",
        "nan",
        "true",
        "1979-05-27",
        "\"\"",
        "'",
        "\u{0}",
    ];
    vec(prop_oneof![8 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => any::<String>()], 0..40)
        .prop_map(|parts| parts.join(" "))
}

proptest! {
    #[test]
    fn a_resolved_scenario_parses_to_an_equal_scenario(scenario in scenario()) {
        let text = scenario.to_toml();
        let again = parse(&text).map_err(|errors| TestCaseError::fail(format!("{errors}\nin\n{text}")))?;
        prop_assert_eq!(&scenario, &again);
    }

    #[test]
    fn the_json_of_a_scenario_is_valid_with_exact_numbers(scenario in scenario()) {
        let json = Json::parse(&scenario.to_json());
        let Some(Json::Object(_)) = json.get("record") else { return Err(TestCaseError::fail("no record")) };
        let Some(Json::List(flows)) = json.get("flows") else { return Err(TestCaseError::fail("no flows")) };
        let Some(Json::Number(start)) = flows[0].get("start_s") else { return Err(TestCaseError::fail("no start")) };
        prop_assert_eq!((start * 1e9).round() as u64, scenario.flows[0].start.as_nanos());
        let Some(Json::Text(title)) = json.get("title") else { return Ok(()) };
        prop_assert_eq!(Some(title), scenario.title.as_ref());
    }

    #[test]
    fn no_file_panics(text in odd_file()) {
        let _ = parse(&text).map_err(|errors| errors.to_string());
        let _ = Axes::parse(&text, "odd.toml");
    }

    #[test]
    fn no_change_to_a_valid_file_panics(at in 0..BASE.len(), insert: String, remove in 0usize..10) {
        let text: String = BASE.chars().take(at).chain(insert.chars()).chain(BASE.chars().skip(at + remove)).collect();
        let _ = parse(&text).map_err(|errors| errors.to_string());
    }

    #[test]
    fn no_override_panics(key in "(link|flow|1|host|stack|up|queue|limit|\\.|\"|'|\\*|x){1,8}", value: String) {
        let overrides = [(key, value)];
        let _ = Scenario::parse(BASE, "test.toml", &overrides).map_err(|errors| errors.to_string());
    }
}
