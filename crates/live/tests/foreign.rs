//! Packets of any origin cross a link unchanged, and leave at the times that the link determines.

use lopsided_core::{Duration, NodeId, Packet, Time, wire};
use lopsided_live::{Io, Pumped, Wake, pump};
use lopsided_scenario::Scenario;
use lopsided_sim::{Outside, Run, RunOptions};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;

const SERVER: NodeId = NodeId(0);
const CLIENT: NodeId = NodeId(1);

/// A test double of a device and its clock: packets arrive at given times, and every wait ends exactly on time.
struct Others {
    now: Time,
    coming: VecDeque<(Time, NodeId, Vec<u8>)>,
    came_out: Vec<(Time, NodeId, Vec<u8>)>,
}

impl Io for Others {
    fn now(&mut self) -> Time {
        self.now
    }

    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<NodeId>> {
        if self.coming.front().is_none_or(|(at, ..)| *at > self.now) {
            return Ok(None);
        }
        let Some((_, edge, octets)) = self.coming.pop_front() else { return Ok(None) };
        *packet = octets;
        Ok(Some(edge))
    }

    fn send(&mut self, edge: NodeId, packet: &Packet) -> io::Result<()> {
        self.came_out.push((self.now, edge, wire::encode(packet)));
        Ok(())
    }

    fn wait(&mut self, until: Time) -> io::Result<Wake> {
        self.now = self.coming.front().map_or(until, |(at, ..)| until.min(*at)).max(self.now);
        Ok(Wake::Look)
    }
}

fn line(keys: &str) -> Scenario {
    let text = format!(
        "[scenario]\nduration = \"2 s\"\n[link]\nrtt = \"20 ms\"\n{keys}\n[[flow]]\nname = \"f\"\ndirection = \"down\"\n"
    );
    let mut scenario = Scenario::parse(&text, "line.toml", &[]).expect("a line");
    scenario.flows.clear();
    scenario
}

/// Sends the packets through the scenario's network. Returns the packets that left, and the pump's counters.
fn carry(scenario: &Scenario, coming: Vec<(Time, NodeId, Vec<u8>)>) -> (Vec<(Time, NodeId, Vec<u8>)>, Pumped) {
    let outside = |host: NodeId| Outside {
        host: host.index(),
        addresses: vec!["192.0.2.1".parse().expect("an address"), "2001:db8::1".parse().expect("an address")]
            .into_iter()
            .filter(|_| host == CLIENT)
            .collect(),
        takes_the_rest: host == SERVER,
        keeps_flows: false,
    };
    let options = RunOptions { outside: vec![outside(SERVER), outside(CLIENT)], ..RunOptions::default() };
    let (mut others, mut pumped) =
        (Others { now: Time::ZERO, coming: coming.into(), came_out: Vec::new() }, Pumped::default());
    let run = Run::new(scenario, 1, options).expect("a network with two edges");
    let drive = |network: &mut _, until| pump(network, &mut others, until, &mut pumped).expect("no device fails");
    run.finish_on(drive).expect("every packet is accounted for");
    (others.came_out, pumped)
}

#[test]
fn flows_of_a_scenario_share_a_line_with_foreign_packets() {
    let text = "[scenario]\nduration = \"2 s\"\n[link]\nrtt = \"20 ms\"\ndown.rate = \"10 Mbit/s\"\nup.rate = \"2 Mbit/s\"\n\
        [[flow]]\ndirection = \"down\"\ntransport = \"quic\"";
    let scenario = Scenario::parse(text, "line.toml", &[]).expect("a line with a flow");
    let addresses = |last: u8| vec![std::net::IpAddr::from([192, 0, 2, last])];
    let outside = |host: NodeId, last: u8| Outside {
        host: host.index(),
        addresses: addresses(last),
        takes_the_rest: host == SERVER,
        keeps_flows: true,
    };
    let options = RunOptions { outside: vec![outside(SERVER, 9), outside(CLIENT, 1)], ..RunOptions::default() };
    let run = Run::new(&scenario, 1, options).expect("a network with two edges");
    let &[server, client] = run.edges() else { panic!("two edges") };
    // A packet from an unknown address to the command, such as a packet from the Internet.
    let packet = v4(17, 0, &[], &octets(100));
    let coming = VecDeque::from([(Time::ZERO + Duration::from_millis(500), server, packet)]);
    let (mut others, mut pumped) = (Others { now: Time::ZERO, coming, came_out: Vec::new() }, Pumped::default());
    let drive = |network: &mut _, until| pump(network, &mut others, until, &mut pumped).expect("no device fails");
    let result = run.finish_on(drive).expect("every packet is accounted for");
    let [(_, edge, came_out)] = others.came_out.as_slice() else { panic!("{:?}", others.came_out) };
    assert_eq!((*edge, came_out.len()), (client, 120));
    assert!(result.flows.goodput_bps[0] > 6e6, "{}", result.flows.goodput_bps[0]);
}

fn v4(protocol: u8, flags_and_offset: u16, options: &[u8], body: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let mut packet = vec![0x40 | (header / 4) as u8, 0x2e];
    packet.extend(((header + body.len()) as u16).to_be_bytes());
    packet.extend([0x12, 0x34]);
    packet.extend(flags_and_offset.to_be_bytes());
    packet.extend([57, protocol, 0, 0, 198, 51, 100, 7, 192, 0, 2, 1]);
    packet.extend(options);
    let mut sum = wire::Checksum::default();
    sum.add(&packet);
    packet[10..12].copy_from_slice(&sum.value().to_be_bytes());
    packet.extend(body);
    packet
}

fn v6(next: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x6b, 0x8c, 0xde, 0xf0];
    packet.extend((body.len() as u16).to_be_bytes());
    packet.extend([next, 61]);
    packet.extend("2001:db8:9::7".parse::<std::net::Ipv6Addr>().expect("an address").octets());
    packet.extend("2001:db8::1".parse::<std::net::Ipv6Addr>().expect("an address").octets());
    packet.extend(body);
    packet
}

fn octets(count: usize) -> Vec<u8> {
    (0..count).map(|place| (place * 31 + place / 251) as u8).collect()
}

/// Returns a TCP packet with unknown options, a wrong checksum, an urgent pointer and reserved bits.
fn tcp() -> Vec<u8> {
    let mut segment = vec![0x1f, 0x90, 0xc0, 0x01, 1, 2, 3, 4, 5, 6, 7, 8, 0xaf, 0x38, 0x12, 0x34, 0xbe, 0xef, 0, 9];
    segment.extend([253, 6, 0xde, 0xad, 1, 1, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 30, 2]);
    segment.extend(octets(333));
    segment
}

fn packets() -> Vec<(&'static str, Vec<u8>)> {
    const MORE: u16 = 0x2000;
    let udp = |payload: usize| {
        [&[0x12, 0x34, 0, 53][..], &((8 + payload) as u16).to_be_bytes(), &[0xaa, 0xbb], &octets(payload)].concat()
    };
    let extensions = [&[43u8, 0, 1, 4, 0, 0, 0, 0][..], &[60, 0, 0, 0, 0, 0, 0, 0], &[6, 0, 5, 2, 0, 0, 1, 0]].concat();
    vec![
        ("ICMP echo", v4(1, 0, &[], &octets(64))),
        ("TCP", v4(6, 0x4000, &[], &tcp())),
        ("TCP without its whole header", v4(6, 0, &[], &octets(7))),
        ("UDP", v4(17, 0, &[], &udp(100))),
        ("UDP whose length lies", v4(17, 0, &[], &[&udp(40)[..], &octets(9)].concat())),
        ("a first fragment", v4(17, MORE, &[], &octets(1480))),
        ("a later fragment", v4(17, MORE | 185, &[], &octets(1480))),
        ("the last fragment", v4(6, 370, &[], &octets(3))),
        ("IP options", v4(6, 0, &[0x94, 4, 0, 0, 7, 7, 4, 0, 0, 0, 0, 0], &tcp())),
        ("ESP", v4(50, 0, &[], &octets(512))),
        ("SCTP", v4(132, 0, &[], &octets(60))),
        ("GRE", v4(47, 0, &[], &octets(100))),
        ("no payload", v4(59, 0, &[], &[])),
        ("jumbo", v4(17, 0, &[], &udp(8972))),
        ("the largest of all", v4(17, 0, &[], &octets(65_515))),
        ("IPv6 TCP", v6(6, &tcp())),
        ("IPv6 with extensions", v6(0, &[&extensions[..], &tcp()].concat())),
        ("IPv6 fragment", v6(44, &[&[6, 0, 0, 1, 9, 9, 9, 9][..], &octets(700)].concat())),
        ("IPv6 ESP", v6(50, &octets(1400))),
        ("IPv6 neighbour discovery", v6(58, &octets(32))),
        ("IPv6 jumbo", v6(17, &udp(8900))),
    ]
}

#[test]
fn foreign_packets_of_every_kind_are_delivered_unchanged() {
    let line = line("down = { rate = \"100 Mbit/s\", queue = \"1 MB\" }\nup = { rate = \"1 Mbit/s\" }");
    for (what, packet) in packets() {
        let (came_out, pumped) = carry(&line, vec![(Time::from_nanos(5_000), SERVER, packet.clone())]);
        assert_eq!(pumped.malformed, 0, "{what}");
        assert_eq!(came_out.len(), 1, "{what}");
        let (at, edge, octets) = &came_out[0];
        assert_eq!(*edge, CLIENT, "{what}");
        assert_eq!(*octets, packet, "{what}");
        // The packet entered at 5 µs. Add its serialization time and a propagation delay of 10 ms.
        assert_eq!(at.as_nanos(), 5_000 + 80 * packet.len() as u64 + 10_000_000, "{what}");
    }
}

#[test]
fn routers_decrement_the_ttl_and_change_nothing_else() {
    let line = line(
        "down.rate = \"100 Mbit/s\"\nup.rate = \"1 Mbit/s\"\ndown.queue = \"1 MB\"\n[lan]\nrate = \"1 Gbit/s\"\nqueue = \"1 MB\"",
    );
    for (what, mut packet) in packets() {
        let (came_out, _) = carry(&line, vec![(Time::ZERO, SERVER, packet.clone())]);
        let (ttl_at, protocol_at) = if packet[0] >> 4 == 4 { (8, 10) } else { (7, 7) };
        packet[ttl_at] -= 2;
        let (_, edge, mut octets) = came_out.into_iter().next().unwrap_or_else(|| panic!("{what} is lost"));
        assert_eq!(edge, CLIENT, "{what}");
        if octets[0] >> 4 == 4 {
            let header = usize::from(octets[0] & 15) * 4;
            let mut sum = wire::Checksum::default();
            sum.add(&octets[..header]);
            assert!(sum.is_intact(), "{what}");
            octets[protocol_at..protocol_at + 2].copy_from_slice(&packet[protocol_at..protocol_at + 2]);
        }
        assert_eq!(octets, packet, "{what}");
    }
}

#[test]
fn foreign_packets_are_subject_to_the_rate_and_the_queue_limit() {
    let line = line("down = { rate = \"12 Mbit/s\", queue = \"10 packets\" }\nup.rate = \"1 Mbit/s\"");
    let burst = |_| (Time::ZERO, SERVER, v4(17, 0, &[], &octets(1480)));
    let (came_out, _) = carry(&line, (0..40).map(burst).collect());
    // One packet is being transmitted and ten are queued; each packet of 1,500 bytes takes 1 ms.
    let times: Vec<u64> = came_out.iter().map(|(at, ..)| at.as_nanos()).collect();
    assert_eq!(times, (1..=11).map(|place| 10_000_000 + place * 1_000_000).collect::<Vec<_>>());
}

/// Returns an ACK as Linux writes it, with further options after the timestamps.
fn ack(number: u32, more: &[u8]) -> Vec<u8> {
    let offset = (20 + 12 + more.len()) / 4;
    let mut segment = vec![0xc0, 0x01, 0x13, 0x89, 0, 0, 0, 1];
    segment.extend(number.to_be_bytes());
    segment.extend([(offset << 4) as u8, 0x10, 1, 0xf5, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 7]);
    segment.extend(more);
    v4(6, 0x4000, &[], &segment)
}

#[test]
fn foreign_acks_are_filtered_and_thinned_unless_they_carry_unknown_options() {
    let slow = |keys: &str| line(&format!("down.rate = \"10 Mbit/s\"\nup = {{ rate = \"10 kbit/s\", {keys} }}"));
    let filtered = slow("queue = { kind = \"ack_filter\", queue = \"50 packets\" }");
    let thinned = slow("queue = \"50 packets\", stages = [{ kind = \"ack_thinning\", keep = 4 }]");
    let run = |line: &Scenario, more: &[u8]| {
        let acks = (0..12).map(|place| (Time::from_nanos(u64::from(place)), CLIENT, ack(1000 + 1448 * place, more)));
        carry(line, acks.collect()).0.len()
    };
    for line in [&filtered, &thinned] {
        assert!(run(line, &[]) <= 4, "{}", run(line, &[]));
        // An option of unknown kind, an option with an invalid length, and two timestamp options.
        for more in [&[253, 4, 1, 2][..], &[5, 40, 0, 0], &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 1]] {
            assert_eq!(run(line, more), 12, "{more:?}");
        }
    }
}

#[test]
fn a_run_can_be_stopped_early() {
    struct Impatient(Others);
    impl Io for Impatient {
        fn now(&mut self) -> Time {
            self.0.now()
        }
        fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<NodeId>> {
            self.0.receive(packet)
        }
        fn send(&mut self, edge: NodeId, packet: &Packet) -> io::Result<()> {
            self.0.send(edge, packet)
        }
        fn wait(&mut self, until: Time) -> io::Result<Wake> {
            let stop = Time::ZERO + Duration::from_millis(345);
            self.0.wait(until.min(stop))?;
            Ok(if self.0.now == stop { Wake::Stop } else { Wake::Look })
        }
    }
    let line = line("down.rate = \"12 Mbit/s\"\nup.rate = \"1 Mbit/s\"");
    let others = Others { now: Time::ZERO, coming: VecDeque::new(), came_out: Vec::new() };
    let (mut io, mut pumped) = (Impatient(others), Pumped::default());
    let run = Run::new(&line, 1, RunOptions::default()).expect("a line");
    let result = run
        .finish_on(|network, until| pump(network, &mut io, until, &mut pumped).expect("a clock"))
        .expect("every packet is accounted for");
    assert_eq!(result.duration_s, 0.345);
    assert_eq!(result.queues.time_s.last(), Some(&0.3));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Random and damaged packets are carried unchanged or counted as malformed.
    #[test]
    fn random_and_damaged_packets_do_not_panic(
        seeds in prop::collection::vec((any::<usize>(), any::<u16>(), any::<u8>(), any::<u16>(), any::<bool>()), 1..40),
        noise in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..20),
        lan in any::<bool>(),
        queue in prop::sample::select(vec!["kind = \"fq_codel\"", "kind = \"asqm\", far_end = \"stage\"", "kind = \"bdp\", far_end = \"stage\""]),
    ) {
        let keys = format!(
            "framing = \"pppoe-llcsnap\"\ndown = {{ rate = \"20 Mbit/s\", queue = {{ kind = \"cake\" }} }}\n\
             up = {{ rate = \"1 Mbit/s\", queue = {{ kind = \"ack_filter\", queue = {{ {queue} }} }} }}"
        );
        let line = line(&if lan { format!("{keys}\n[lan]\nrate = \"1 Gbit/s\"\nqueue = \"1 MB\"") } else { keys });
        let mut known = packets();
        // Sensing packets (probes of `asqm` and `bdp`) that no discipline has sent, before and after a reflector
        // returned them.
        known.push(("sensing", v4(253, 0, &[], &77u64.to_be_bytes())));
        known.push(("turned", v4(253, 0, &[], &(77u64 | 1 << 63).to_be_bytes())));
        let changed = seeds.into_iter().map(|(which, place, value, len, cut)| {
            let mut packet = known[which % known.len()].1.clone();
            let place = usize::from(place) % packet.len().min(80);
            packet[place] ^= value;
            if cut {
                packet.truncate(usize::from(len) % packet.len());
            }
            packet
        });
        let all: Vec<Vec<u8>> = changed.chain(noise).collect();
        let count = all.len() as u64;
        let coming = all.into_iter().enumerate();
        let coming = coming.map(|(number, packet)| (Time::from_nanos(number as u64 * 700_000), if number % 2 == 0 { SERVER } else { CLIENT }, packet));
        let (_, pumped) = carry(&line, coming.collect());
        prop_assert_eq!(pumped.received + pumped.malformed, count);
    }
}

#[test]
fn a_pump_runs_until_the_end_unless_it_is_stopped() {
    let line = line("down.rate = \"12 Mbit/s\"\nup.rate = \"1 Mbit/s\"");
    let mut others = Others { now: Time::ZERO, coming: VecDeque::new(), came_out: Vec::new() };
    let run = Run::new(&line, 1, RunOptions::default()).expect("a line");
    let drive = |network: &mut _, until| {
        let went = pump(network, &mut others, until, &mut Pumped::default()).expect("a clock");
        assert_eq!(went, ControlFlow::Continue(()));
        went
    };
    assert_eq!(run.finish_on(drive).expect("every packet is accounted for").duration_s, 2.0);
}
