//! Random trees of hosts, routers and lines, random packets, and a text dump of all observable state.

#![allow(dead_code, reason = "each test takes what it needs")]

mod model;

use lopsided_core::packet::UdpHeader;
use lopsided_core::{
    Accounting, BitRate, Bytes, Count, Cx, Duration, FlowId, IpHeader, NewPacket, Node, NodeId, Packet, Payload, Port,
    Time, Transport,
};
use lopsided_link::{Link, LinkConfig, LossConfig, ShaperConfig};
use lopsided_net::{Attachment, NetNode, Network, Router, Routes};
use lopsided_queue::{CodelQueueConfig, FifoConfig, Limit, QueueConfig};
use model::Model;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// A host that sends datagrams at given times, and responds to every second datagram that it receives.
#[derive(Debug)]
pub struct Host {
    addr: Ipv4Addr,
    /// Time, destination, and size in bytes of each datagram.
    sends: VecDeque<(Time, Ipv4Addr, u32)>,
    answers: VecDeque<Ipv4Addr>,
    pub arrived: Vec<(Time, u64)>,
}

impl Node for Host {
    fn handle_packet(&mut self, _port: Port, packet: Packet, cx: &mut Cx<'_>) {
        let packet = cx.deliver(packet);
        self.arrived.push((cx.now(), packet.id()));
        if let (std::net::IpAddr::V4(src), 0) = (packet.src(), self.arrived.len() % 2) {
            // Responses have 40 bytes and cause no further responses.
            if packet.size().get() > 40 {
                self.answers.push_back(src);
            }
        }
        cx.recycle(packet);
    }

    fn handle_timeout(&mut self, _cx: &mut Cx<'_>) {}

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let (to, size) = match self.answers.pop_front() {
            Some(to) => (to, 40),
            None => {
                let &(_, to, size) = self.sends.front().filter(|(at, ..)| *at <= cx.now())?;
                self.sends.pop_front();
                (to, size)
            }
        };
        let transport = Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 });
        let ip = IpHeader::v4(self.addr, to);
        Some((Port(0), cx.originate(NewPacket::new(FlowId(0), ip, transport, Payload::virtual_len(size - 28)))))
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.sends.front().map(|(at, ..)| *at)
    }
}

pub const HOSTS: usize = 3;
pub const END: Time = Time::from_nanos(400_000_000);

fn address(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host as u8 + 1)
}

/// A row of routers. Host 0 is at one end, host 1 at the other end, and host 2 at one of the routers.
#[derive(Debug, Clone)]
pub struct Tree {
    pub routers: usize,
    /// The router to which host 2 is attached.
    pub beside: usize,
    /// The configurations of both directions of each line.
    pub lines: Vec<[LinkConfig; 2]>,
    /// Each packet's time in microseconds, sender, receiver, and size in bytes.
    pub sends: Vec<(u64, usize, usize, u32)>,
}

impl Tree {
    /// Returns the two nodes that each line connects.
    fn joins(&self) -> Vec<(usize, usize)> {
        let router = |number: usize| HOSTS + number;
        let mut joins = vec![(0, router(0))];
        joins.extend((1..self.routers).map(|number| (router(number - 1), router(number))));
        joins.push((router(self.routers - 1), 1));
        joins.push((2, router(self.beside % self.routers)));
        joins
    }

    pub fn link(&self, join: usize, dir: usize) -> usize {
        HOSTS + self.routers + 2 * join + dir
    }

    /// Returns the path from one node to another: for each hop (node, next node, link). `None` if there is no path.
    fn path(&self, from: usize, to: usize, before: Option<usize>) -> Option<Vec<(usize, usize, usize)>> {
        if from == to {
            return Some(Vec::new());
        }
        self.joins().into_iter().enumerate().find_map(|(join, (a, b))| {
            // A line can be crossed in both directions.
            let (next, dir) = if a == from { (b, 0) } else { (a, 1) };
            if (a != from && b != from) || before == Some(next) || (next < HOSTS && next != to) {
                return None;
            }
            let rest = self.path(next, to, Some(from))?;
            Some([vec![(from, next, self.link(join, dir))], rest].concat())
        })
    }

    fn pairs() -> impl Iterator<Item = (usize, usize)> {
        (0..HOSTS).flat_map(|from| (0..HOSTS).map(move |to| (from, to))).filter(|(from, to)| from != to)
    }

    /// Returns each link that gets packets only from other links, with its leaders.
    fn followers(&self) -> Vec<(Vec<NodeId>, NodeId)> {
        let id = |node: usize| NodeId(node as u32);
        let links = (0..self.joins().len()).flat_map(|join| [self.link(join, 0), self.link(join, 1)]);
        links
            .filter_map(|link| {
                // Consider only paths of actual flows, because a link may have fewer leaders than the graph suggests.
                let used =
                    |from, to| self.sends.iter().any(|&(_, a, b, _)| (a, b) == (from, to) || (b, a) == (from, to));
                let mut before: Vec<Option<usize>> = Tree::pairs()
                    .filter(|&(from, to)| used(from, to))
                    .filter_map(|(from, to)| {
                        let path = self.path(from, to, None)?;
                        let at = path.iter().position(|(.., on)| *on == link)?;
                        // `None` if the packets come directly from a host.
                        Some(at.checked_sub(1).map(|before| path[before].2))
                    })
                    .collect();
                before.sort_unstable();
                before.dedup();
                // A link that gets packets directly from a host follows no other link.
                let leaders: Option<Vec<NodeId>> = before.into_iter().map(|leader| leader.map(id)).collect();
                Some((leaders?, id(link)))
            })
            .collect()
    }

    /// Returns the network of this tree, with rows and regions if `in_rows` is true. Its hosts run ahead on `threads`
    /// threads.
    pub fn network(&self, in_rows: bool, threads: usize) -> Network<Host> {
        let (nodes, wires) = self.nodes();
        let network = Network::new(nodes, &wires, Accounting::new(wires.len())).with_threads(threads, 0.0);
        if in_rows { network.with_followers(self.followers()) } else { network }
    }

    /// Returns a model of the same network that handles all events in one order of time.
    pub fn model(&self) -> Model {
        let (nodes, wires) = self.nodes();
        Model::new(nodes, wires)
    }

    fn nodes(&self) -> (Vec<NetNode<Host>>, Vec<Vec<Attachment>>) {
        let joins = self.joins();
        let mut wires: Vec<Vec<Attachment>> = vec![Vec::new(); HOSTS + self.routers];
        let mut behind = Vec::new();
        for (join, &(a, b)) in joins.iter().enumerate() {
            for (dir, (from, to)) in [(a, b), (b, a)].into_iter().enumerate() {
                wires[from].push(Attachment { node: NodeId(self.link(join, dir) as u32), port: Port(0) });
                behind.push(vec![Attachment { node: NodeId(to as u32), port: Port(0) }]);
            }
        }
        let mut nodes: Vec<NetNode<Host>> = (0..HOSTS)
            .map(|host| {
                let mut sends: Vec<(u64, usize, u32)> =
                    self.sends.iter().filter(|send| send.1 == host).map(|&(at, _, to, size)| (at, to, size)).collect();
                sends.sort_unstable();
                let sends = sends.into_iter().map(|(us, to, size)| (Time::from_nanos(us * 1000), address(to), size));
                let (sends, answers) = (sends.collect(), VecDeque::new());
                NetNode::Host(Box::new(Host { addr: address(host), sends, answers, arrived: Vec::new() }))
            })
            .collect();
        for (router, leads) in wires.iter().enumerate().skip(HOSTS) {
            let mut routes = Routes::default();
            for to in 0..HOSTS {
                let first = self.path(router, to, None).expect("a tree")[0].2;
                let port = leads.iter().position(|wire| wire.node.index() == first).expect("a wire leads to this node");
                routes.set(address(to).into(), Port(port as u16));
            }
            nodes.push(NetNode::Router(Box::new(Router::new(routes))));
        }
        for (number, line) in self.lines.iter().flatten().enumerate() {
            nodes.push(NetNode::Link(Box::new(line.build(1, &number.to_string()).expect("a link"))));
        }
        wires.extend(behind);
        (nodes, wires)
    }
}

fn line() -> impl Strategy<Value = LinkConfig> {
    let queue = prop_oneof![6 => drop_tail(), 1 => Just(QueueConfig::new(CodelQueueConfig::default()))];
    line_with(queue, prop_oneof![1 => Just(0), 6 => 1u64..8000])
}

/// Generates a line that can be part of a row: a drop-tail queue and a delay above 0.
fn plain_line() -> impl Strategy<Value = LinkConfig> {
    line_with(drop_tail(), 10u64..8000)
}

fn drop_tail() -> impl Strategy<Value = QueueConfig> {
    prop_oneof![
        4 => (1u32..8).prop_map(QueueConfig::packets),
        1 => (2000u64..6000).prop_map(|octets| fifo(Limit::Bytes(Bytes::new(octets)))),
        1 => Just(fifo(Limit::Bins { count: 6, size: Bytes::new(512) })),
    ]
}

fn line_with(
    queue: impl Strategy<Value = QueueConfig>,
    delay_us: impl Strategy<Value = u64>,
) -> impl Strategy<Value = LinkConfig> {
    let rate = prop_oneof![1 => Just(None), 9 => (1u64..30).prop_map(|mbps| Some(BitRate::from_bps(mbps * 1_000_000)))];
    (rate, delay_us.prop_map(Duration::from_micros), queue, 0u32..10).prop_map(|(rate, delay, queue, beside)| {
        let config = LinkConfig::new(rate, delay, queue);
        match (beside, rate) {
            (0, _) => LinkConfig { loss: LossConfig { random: 0.05, ..LossConfig::default() }, ..config },
            (1, Some(_)) => {
                let shaper = ShaperConfig { burst: Bytes::new(2500), interval: None, line_rate: None };
                LinkConfig { shaper: Some(shaper), ..config }
            }
            _ => config,
        }
    })
}

fn fifo(limit: Limit) -> QueueConfig {
    QueueConfig::new(FifoConfig { limit, ..FifoConfig::default() })
}

/// Generates a random tree. Either its lines are of any kind, or all lines can be part of a row.
pub fn tree() -> impl Strategy<Value = Tree> {
    prop_oneof![tree_of(line), tree_of(plain_line)]
}

fn tree_of<L: Strategy<Value = LinkConfig> + 'static>(line: fn() -> L) -> impl Strategy<Value = Tree> {
    let send = (0u64..200_000, 0..HOSTS, 1..HOSTS, 29u32..1500)
        .prop_map(|(at, from, further, size)| (at, from, (from + further) % HOSTS, size));
    // Up to 5 packets are sent at the same instant.
    let sends = prop::collection::vec((send, 1usize..6), 1..80)
        .prop_map(|bursts| bursts.into_iter().flat_map(|(send, count)| vec![send; count]).collect::<Vec<_>>());
    (1usize..5, 0usize..4, sends).prop_flat_map(move |(routers, beside, sends)| {
        prop::collection::vec([line(), line()], routers + 2).prop_map(move |lines| Tree {
            routers,
            beside,
            lines,
            sends: sends.clone(),
        })
    })
}

/// A network, or a model of it.
pub trait View {
    fn with_link(&mut self, node: NodeId, look: fn(&mut Link, &mut Cx<'_>) -> String) -> String;
    fn rest(&self) -> (&Accounting, Count, [&Host; HOSTS]);
}

impl View for Network<Host> {
    fn with_link(&mut self, node: NodeId, look: fn(&mut Link, &mut Cx<'_>) -> String) -> String {
        self.with_link(node, look)
    }

    fn rest(&self) -> (&Accounting, Count, [&Host; HOSTS]) {
        (self.accounting(), self.held(), [0, 1, 2].map(|host| self.host(NodeId(host))))
    }
}

/// Returns all observable state of a network at the instant of the call, as text.
pub fn look(network: &mut impl View, tree: &Tree) -> String {
    let mut seen = String::new();
    for link in HOSTS + tree.routers..HOSTS + tree.routers + 2 * tree.lines.len() {
        let node = NodeId(link as u32);
        let look = |link: &mut Link, cx: &mut Cx<'_>| {
            let mut view = link.sync(cx);
            let (sample, wire) = (view.sample(), view.wire_bytes());
            format!("{sample:?} {:?} {wire:?} {:?}", view.counters(), view.queue_stats())
        };
        seen += &format!("{link}: {}\n", network.with_link(node, look));
        seen += &format!("{:?}\n", network.rest().0.node(node));
    }
    let (accounting, held, hosts) = network.rest();
    let sum = accounting.conservation(held);
    assert!(sum.holds(), "{sum}");
    let arrived = hosts.map(|host| &host.arrived);
    format!("{seen}{sum:?} {arrived:?} {:016x}", accounting.digest())
}
