//! Links and shared media under scripted traffic, with each of their settings changed in turn: which settings they
//! refuse, and which packets they deliver and lose, at which times. The record is in `tests/courses.txt`.
//!
//! The same settings give the same packets. If a change of a link is intended, look at the changed lines and write the
//! record again: `COURSES=write cargo test -p lopsided-link courses`.

use crate::script::{Traffic, Witness, compare_with_record, next_arrival, variants};
use lopsided_core::{Accounting, BitRate, Bytes, Cx, Duration, IpHeader, NewPacket, Node, NodeId, Packet, Port, Time};
use lopsided_link::{
    AccessConfig, AccessKind, AggregationConfig, CompressionScheme, CsmaCdConfig, DocsisConfig, Framing, GilbertConfig,
    GrantsConfig, HeaderCompressionConfig, JitterConfig, Link, LinkConfig, LossConfig, MediumConfig, MediumKind,
    PacketRadioConfig, PolledConfig, RateStep, RatesConfig, ReallocationConfig, Shaper as _, ShaperConfig, SharedLink,
    StationQueue, TraceConfig, WifiConfig, WifiStation,
};
use lopsided_queue::{CodelQueueConfig, PrioConfig, QueueConfig, Rule};
use lopsided_spec::Part;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/courses.txt");
const RATE: BitRate = BitRate::from_bps(10_000_000);
/// The load ends after 2.3 s.
const END: Time = Time::from_nanos(8_000_000_000);

/// A line of 10 Mbit/s with a delay of 10 ms.
fn line() -> LinkConfig {
    LinkConfig::new(Some(RATE), Duration::from_millis(10), QueueConfig::packets(30))
}

/// The outcomes of some links, one line for each.
struct Outcomes {
    kind: &'static str,
    lines: String,
}

impl Outcomes {
    fn of(kind: &'static str) -> Outcomes {
        Outcomes { kind, lines: String::new() }
    }

    fn add(&mut self, label: &str, outcome: String) {
        let words: Vec<&str> = [self.kind, label].into_iter().filter(|word| !word.is_empty()).collect();
        writeln!(self.lines, "{}: {outcome}", words.join(" ")).expect("a string grows");
    }

    /// Adds the outcomes of a part of a link, with each of its keys changed. `put` puts the part into a link.
    fn vary<P: Part>(&mut self, label: &str, base: &P, put: impl Fn(P) -> LinkConfig) {
        for (change, part) in variants(base) {
            let part = part.downcast::<P>().expect("the same part").clone();
            let outcome = match Part::check(&part) {
                Ok(()) => course(&put(part)),
                Err(fault) => format!("refused: {}", fault.message),
            };
            let words: Vec<&str> = [label, &change].into_iter().filter(|word| !word.is_empty()).collect();
            self.add(&words.join(" "), outcome);
        }
    }

    fn compare(&self) {
        compare_with_record(RECORD, self.kind, &self.lines);
    }
}

#[test]
fn plain_lines() {
    let mut found = Outcomes::of("line");
    found.vary("", &line(), |line| line);
    let queue = CodelQueueConfig::default().into();
    found.vary("with codel", &LinkConfig { queue, ..line() }, |line| line);
    let bands = vec![QueueConfig::packets(10), CodelQueueConfig::default().into()];
    let classify = vec![Rule { class: 0, dscp: Some(46), ..Rule::default() }];
    let prio = PrioConfig { bands, classify, default_class: Some(1) };
    found.add("with bands", course(&LinkConfig { queue: prio.into(), ..line() }));
    found.add("audited", course(&LinkConfig { audit: true, ..line() }));
    for (name, framing) in Framing::NAMED {
        found.add(name, course(&LinkConfig { framing: *framing, ..line() }));
    }
    found.compare();
}

#[test]
fn impairments() {
    let mut found = Outcomes::of("impaired");
    let ms = |ms| Time::ZERO + Duration::from_millis(ms);
    let gilbert = GilbertConfig { to_bad: 0.02, to_good: 0.3, loss_bad: 0.5, loss_good: 0.01 };
    let outages = vec![(ms(300), ms(400)), (ms(1500), ms(1510))];
    let loss = LossConfig { random: 0.05, gilbert: Some(gilbert), packets: vec![3, 10, 11], outages };
    found.vary("loss", &loss, |loss| LinkConfig { loss, ..line() });
    found.vary("gilbert", &gilbert, |gilbert| LinkConfig {
        loss: LossConfig { gilbert: Some(gilbert), ..LossConfig::default() },
        ..line()
    });
    let jitter = JitterConfig { spread: Duration::from_millis(5), reorder: false };
    found.vary("jitter", &jitter, |jitter| LinkConfig { jitter, ..line() });
    found.vary("jitter and loss", &jitter, |jitter| LinkConfig { jitter, loss: loss.clone(), ..line() });
    found.compare();
}

#[test]
fn compressed_headers() {
    let mut found = Outcomes::of("compressed");
    let loss = LossConfig { random: 0.02, ..LossConfig::default() };
    let schemes = [
        ("cslip", CompressionScheme::Cslip),
        ("iphc", CompressionScheme::Iphc),
        ("rohc", CompressionScheme::Rohc),
        ("fixed", CompressionScheme::Fixed),
    ];
    for (name, scheme) in schemes {
        let base = HeaderCompressionConfig { scheme, ..HeaderCompressionConfig::default() };
        found.vary(name, &base, |header_compression| LinkConfig { header_compression, loss: loss.clone(), ..line() });
        let few = HeaderCompressionConfig { slots: 2, ..base };
        found.add(&format!("{name} in few slots"), course(&LinkConfig { header_compression: few, ..line() }));
        let framed = LinkConfig { framing: Framing::PPPOE, rate: Some(BitRate::from_bps(3_000_000)), ..line() };
        found.add(&format!("{name} on a slow line"), course(&LinkConfig { header_compression: base, ..framed }));
    }
    found.compare();
}

#[test]
fn token_buckets() {
    let mut found = Outcomes::of("shaped");
    let shaper =
        ShaperConfig { burst: Bytes::new(6000), line_rate: Some(BitRate::from_bps(20_000_000)), interval: None };
    found.vary("", &shaper, |shaper| LinkConfig { shaper: Some(shaper), ..line() });
    let queue: QueueConfig = CodelQueueConfig::default().into();
    found.vary("with codel", &shaper, |shaper| LinkConfig { shaper: Some(shaper), queue: queue.clone(), ..line() });
    found.compare();
}

#[test]
fn access_methods() {
    fn add<A: AccessKind>(found: &mut Outcomes, rate: Option<BitRate>, access: A) {
        found.vary(A::NAME, &access, |access| LinkConfig { rate, access: Some(AccessConfig::new(access)), ..line() });
    }
    let mut found = Outcomes::of("access");
    let opportunities = (0..40).flat_map(|step| [step * 25, step * 25 + 2, step * 25 + 2, step * 25 + 9]).collect();
    add(&mut found, None, TraceConfig { opportunities, ..TraceConfig::default() });
    let step = |at, mbit: Option<u64>| {
        let rate = mbit.map(|mbit| BitRate::from_bps(mbit * 1_000_000));
        RateStep { at: Duration::from_millis(at), rate }
    };
    let steps = vec![step(0, Some(10)), step(200, Some(3)), step(350, None), step(380, Some(20))];
    add(&mut found, None, RatesConfig { steps, repeat: Some(Duration::from_millis(500)) });
    let (low, high) = (BitRate::from_bps(3_000_000), BitRate::from_bps(12_000_000));
    let [period, gap, delay_spread] = [150, 12, 4].map(Duration::from_millis);
    let reallocation = ReallocationConfig { period, low, high, gap, delay_spread };
    add(&mut found, None, reallocation);
    add(&mut found, Some(RATE), GrantsConfig { error: 0.1, ..GrantsConfig::default() });
    add(&mut found, Some(RATE), AggregationConfig::default());
    found.compare();
}

#[test]
fn media() {
    let mut found = Outcomes::of("medium");
    let polled = PolledConfig { rate: RATE, loss: 0.1, retries: 1, ..PolledConfig::default() };
    medium(&mut found, "", &polled);
    medium(&mut found, "", &PacketRadioConfig { rate: RATE, loss: 0.05, ..PacketRadioConfig::default() });
    medium(&mut found, "", &CsmaCdConfig::default());
    let docsis =
        DocsisConfig { cmts: Some("a".to_owned()), up: BitRate::from_bps(5_000_000), ..DocsisConfig::default() };
    medium(&mut found, "", &docsis);
    found.compare();
}

#[test]
fn wireless_lans() {
    let mut found = Outcomes::of("wifi");
    let wifi = WifiConfig { frame_error: 0.1, ack_error: 0.05, ..WifiConfig::default() };
    medium(&mut found, "", &wifi);
    let slow = WifiStation { name: "b".to_owned(), rate: Some(BitRate::from_bps(2_000_000)), ..WifiStation::default() };
    let lossy = WifiStation { name: "c".to_owned(), frame_error: Some(0.6), ..WifiStation::default() };
    // The medium is saturated, so packets wait and are joined.
    let (amsdu, rate) = (Bytes::new(3839), BitRate::from_bps(9_000_000));
    let joined = WifiConfig { amsdu, rate, ampdu: 4, ampdu_size: Bytes::new(9_000), ..wifi.clone() };
    medium(&mut found, "with joined packets", &joined);
    medium(&mut found, "with single frames of joined packets", &WifiConfig { ampdu: 1, ..joined });
    let shared = WifiConfig { access_point: true, stations: vec![slow, lossy], ..wifi };
    medium(&mut found, "with an access point", &shared);
    found.compare();
}

fn medium<M: MediumKind>(found: &mut Outcomes, label: &str, base: &M) {
    let names = ["a", "b", "c"].map(str::to_owned);
    for (change, part) in variants(base) {
        let part = part.downcast::<M>().expect("the same medium").clone();
        let outcome = match Part::check(&part) {
            Err(fault) => format!("refused: {}", fault.message),
            Ok(()) => {
                let config = MediumConfig::new(part);
                match config.build(&names, 1) {
                    Err(fault) => format!("not built: {}", fault.message),
                    Ok(medium) => {
                        let separate = medium.queue_per_receiver();
                        let stations = names.iter().enumerate().map(|(number, name)| {
                            let queue = |receiver| StationQueue {
                                name: format!("{name}/{receiver}"),
                                receiver,
                                queue: QueueConfig::packets(20).build(1, name).expect("a queue").checked(),
                            };
                            let others = (0..names.len()).filter(|other| *other != number);
                            (name.clone(), others.take(if separate { 2 } else { 1 }).map(queue).collect())
                        });
                        let ports = (0..names.len()).map(|number| (address(number), Port(number as u16))).collect();
                        let mut node = SharedLink::new(stations.collect(), medium, ports);
                        let witness = Witness::default();
                        drive(&mut node, names.len(), Some(&witness), |node, _| {
                            let mut seen = String::new();
                            node.sample(&mut |of, name, value| {
                                write!(seen, "{of} {name} {value:.5e}").expect("a string grows")
                            });
                            seen
                        });
                        outcome(&witness)
                    }
                }
            }
        };
        let words: Vec<&str> =
            [M::NAME, label, &change].into_iter().filter(|word| !word.is_empty() && *word != found.kind).collect();
        found.add(&words.join(" "), outcome);
    }
}

fn address(station: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 1, station as u8))
}

/// Sends the traffic through the link. Without an observer, a link may compute its departures in advance, but its
/// packets arrive at the same times.
fn course(config: &LinkConfig) -> String {
    if let Err(fault) = Part::check(config) {
        return format!("refused: {}", fault.message);
    }
    let build = || config.build(1, "link/down");
    let mut link = match build() {
        Err(error) => return format!("not built: {error}"),
        Ok(link) => link,
    };
    let witness = Witness::default();
    let look = |link: &mut Link, cx: &mut Cx<'_>| {
        let mut view = link.sync(cx);
        let mut seen = format!("{:?} {:?}", view.counters(), view.wire_bytes());
        view.gauges(&mut |of, name, value| write!(seen, "{of} {name} {value:.5e}").expect("a string grows"));
        view.classes(&mut |of, name, value| write!(seen, "{of} {name} {value:.5e}").expect("a string grows"));
        write!(seen, "{:?}", view.sample()).expect("a string grows");
        seen
    };
    let arrived = drive(&mut link, 1, Some(&witness), look);
    let unseen = drive(&mut build().expect("as before"), 1, None, |_, _| String::new());
    assert!(arrived == unseen, "an observer changes the arrivals of {config:?}");
    let mut link = build().expect("as before");
    if link.predicts_arrivals() {
        let mut predicted = pass_all(&mut link);
        predicted.retain(|(at, _)| *at < END);
        assert!(predicted == unseen, "the predicted arrivals differ: {config:?}");
    }
    outcome(&witness)
}

/// Passes the traffic through a link that predicts each arrival.
fn pass_all(link: &mut Link) -> Vec<(Time, u64)> {
    let mut accounting = Accounting::new(1);
    let mut traffic = Traffic::default();
    let (mut arrival, mut id, mut out) = (Some(Time::ZERO), 0, Vec::new());
    while let Some(now) = arrival {
        let mut cx = Cx::new(now, NodeId(0), &mut accounting);
        id += 1;
        let packet = Packet::unbooked(id, now, traffic.next(now));
        let (size, earliest) = (packet.size(), link.no_arrival_until(now));
        if let Some((at, packet)) = link.pass_through(packet, size, now, &mut cx) {
            assert!(at >= earliest && earliest >= now + link.delay());
            out.push((at, packet.id()));
        }
        arrival = next_arrival(now, &mut traffic.dice);
    }
    out
}

/// The rate that other code sees: the highest that the line can reach in the long run.
#[test]
fn each_shaper_knows_its_long_run_rate() {
    let rate = |config: LinkConfig| config.build_shaper(1, "link/down").expect("a shaper").rate().map(BitRate::as_bps);
    let of = |access| rate(LinkConfig { access: Some(access), rate: None, ..line() });
    let with_rate = |access| rate(LinkConfig { access: Some(access), ..line() });
    assert_eq!(rate(line()), Some(10_000_000));
    assert_eq!(rate(LinkConfig { rate: None, ..line() }), None);
    let line_rate = Some(BitRate::from_bps(20_000_000));
    let shaper = Some(ShaperConfig { burst: Bytes::new(6000), line_rate, interval: None });
    assert_eq!(rate(LinkConfig { shaper, ..line() }), Some(10_000_000));
    // Four packets of 1,500 bytes in 40 ms.
    let opportunities = vec![10, 20, 30, 40];
    assert_eq!(of(AccessConfig::new(TraceConfig { opportunities, ..TraceConfig::default() })), Some(1_200_000));
    let step =
        |at, mbit: u64| RateStep { at: Duration::from_millis(at), rate: Some(BitRate::from_bps(mbit * 1_000_000)) };
    let steps = vec![step(0, 3), step(200, 8), step(350, 2)];
    assert_eq!(of(AccessConfig::new(RatesConfig { steps, repeat: None })), Some(8_000_000));
    let high = BitRate::from_bps(7_000_000);
    let reallocation = ReallocationConfig { low: BitRate::from_bps(2_000_000), high, ..ReallocationConfig::default() };
    assert_eq!(of(AccessConfig::new(reallocation)), Some(7_000_000));
    assert_eq!(with_rate(AccessConfig::new(GrantsConfig::default())), Some(10_000_000));
    assert_eq!(with_rate(AccessConfig::new(AggregationConfig::default())), Some(10_000_000));
}

fn outcome(witness: &Witness) -> String {
    let happened = witness.0.lock().expect("no test panicked");
    let counts: Vec<String> = happened.counts.iter().map(|(what, count)| format!("{what} {count}")).collect();
    format!("{}; {:016x}", counts.join(", "), happened.digest)
}

/// Sends the traffic into a node. If the node has several ports, each packet enters at one port for the station at
/// another. `look` describes the node's state, every 100 ms. Returns each packet that left, with its time.
fn drive<N: Node>(
    node: &mut N,
    ports: usize,
    witness: Option<&Witness>,
    mut look: impl FnMut(&mut N, &mut Cx<'_>) -> String,
) -> Vec<(Time, u64)> {
    let mut accounting = Accounting::new(1);
    if let Some(witness) = witness {
        accounting.subscribe(Box::new(witness.clone()));
    }
    let mut traffic = Traffic::default();
    let (mut arrival, mut glance, mut id, mut out) = (Some(Time::ZERO), Time::ZERO, 0, Vec::new());
    let next = |node: &N, arrival: Option<Time>| node.poll_timeout().into_iter().chain(arrival).min();
    while let Some(now) = next(node, arrival).filter(|next| *next < END) {
        let mut cx = Cx::new(now, NodeId(0), &mut accounting);
        if arrival == Some(now) {
            id += 1;
            let mut new = traffic.next(now);
            let mut port = 0;
            if ports > 1 {
                port = traffic.dice.below(ports as u64) as usize;
                let to = (port + 1 + traffic.dice.below(ports as u64 - 1) as usize) % ports;
                new = between(&new, address(port), address(to));
            }
            node.handle_packet(Port(port as u16), Packet::unbooked(id, now, new), &mut cx);
            arrival = next_arrival(now, &mut traffic.dice);
        } else {
            node.handle_timeout(&mut cx);
        }
        while let Some((port, packet)) = node.poll_transmit(&mut cx) {
            out.push((now, packet.id()));
            if let Some(witness) = witness {
                witness.0.lock().expect("no test panicked").add(&format!("out {}", port.0), now, packet.id());
            }
        }
        if let Some(witness) = witness.filter(|_| now >= glance) {
            glance = now + Duration::from_millis(100);
            let seen = look(node, &mut cx);
            witness.0.lock().expect("no test panicked").mix_text(&seen);
        }
    }
    if let Some(witness) = witness {
        // With the longest delays, packets are still on their way.
        let held = node.held().packets;
        witness.0.lock().expect("no test panicked").counts.insert("held".to_owned(), held);
    }
    out
}

/// Returns the packet with these addresses.
fn between(new: &NewPacket, src: IpAddr, dst: IpAddr) -> NewPacket {
    let (IpAddr::V4(src), IpAddr::V4(dst)) = (src, dst) else { panic!("the stations have IPv4 addresses") };
    let ip = IpHeader { ecn: new.ip().ecn, dscp: new.ip().dscp, ..IpHeader::v4(src, dst) };
    NewPacket::new(new.flow(), ip, new.transport().clone(), new.payload().clone())
}
