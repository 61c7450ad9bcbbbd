//! A test bench for one link: packets enter at given times, and the fate of each packet is recorded.

use lopsided_core::packet::UdpHeader;
use lopsided_core::{
    Accounting, Bytes, Cx, DropReason, Duration, Ecn, Event, EventMask, FlowId, IpHeader, NewPacket, Node, NodeId,
    Observer, Packet, Payload, Port, Time, Transport,
};
use lopsided_link::{Link, LinkCounters, LinkView};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

/// The fate of a packet, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    Delivered(u64, Time),
    Dropped(u64, Time, DropReason),
}

/// An operation that a test performs on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Sends a packet of this size into the link, IP header included.
    Packet(u32),
    /// Calls `handle_timeout` although no timer has expired.
    SpuriousTimeout,
    /// Reads the link's counters, and checks that they account for each packet.
    Observe,
}

pub fn nanos(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// Creates a UDP packet of `size` bytes including headers. The minimum is 28.
pub fn packet(id: u64, size: u32, now: Time) -> Packet {
    let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2)).with_ecn(Ecn::Ect0);
    let transport = Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 });
    Packet::unbooked(id, now, NewPacket::new(FlowId(0), ip, transport, Payload::virtual_len(size - 28)))
}

/// A link under test, its accounting, and the fate of each packet so far.
pub struct Bench {
    pub link: Link,
    pub accounting: Accounting,
    drops: Arc<Mutex<Vec<Fate>>>,
    delivered: Vec<Fate>,
    next_id: u64,
    /// Number of calls of `handle_timeout` in which the link's timer had expired.
    pub timeouts: u64,
    pub marked: u64,
    latest: Time,
}

struct DropRecorder(Arc<Mutex<Vec<Fate>>>);

impl Observer for DropRecorder {
    fn mask(&self) -> EventMask {
        EventMask::DROPS
    }

    fn record(&mut self, at: Time, _node: NodeId, event: &Event<'_>) {
        let Event::Dropped { packet, why } = event else { panic!("the mask selects only drops") };
        self.0.lock().unwrap().push(Fate::Dropped(packet.id(), at, *why));
    }
}

impl Bench {
    pub fn new(link: Link) -> Bench {
        let mut bench = Bench::unwatched(link);
        bench.accounting.subscribe(Box::new(DropRecorder(bench.drops.clone())));
        bench
    }

    /// Creates a bench without observers, so the link may count packets in advance. Its list of drops stays empty.
    pub fn unwatched(link: Link) -> Bench {
        let (drops, accounting) = (Arc::default(), Accounting::new(1));
        Bench { link, accounting, drops, delivered: Vec::new(), next_id: 1, timeouts: 0, marked: 0, latest: Time::ZERO }
    }

    pub fn with_cx<T>(&mut self, now: Time, act: impl FnOnce(&mut Link, &mut Cx<'_>) -> T) -> T {
        self.latest = now;
        act(&mut self.link, &mut Cx::new(now, NodeId(0), &mut self.accounting))
    }

    /// Handles the link's events up to and including `now`.
    pub fn run_until(&mut self, now: Time) {
        let mut latest = Time::ZERO;
        while let Some(due) = self.link.poll_timeout().filter(|due| *due <= now) {
            assert!(due >= latest, "the timeout went back");
            latest = due;
            self.timeouts += 1;
            self.with_cx(due, |link, cx| link.handle_timeout(cx));
            self.collect(due);
        }
    }

    pub fn touch(&mut self, now: Time, touch: Touch) {
        match touch {
            Touch::Packet(size) => {
                let id = self.next_id;
                self.next_id += 1;
                self.with_cx(now, |link, cx| link.handle_packet(Port(0), packet(id, size, now), cx));
            }
            Touch::SpuriousTimeout => self.with_cx(now, |link, cx| link.handle_timeout(cx)),
            Touch::Observe => self.view(now, |link| assert_balanced(&link.counters())),
        }
        self.collect(now);
        let lost = self.accounting.node(NodeId(0)).dropped_total().packets;
        let fates = self.delivered.len() as u64 + lost + self.link.held().packets;
        assert_eq!(self.next_id - 1, fates, "in = out + lost + held does not hold");
    }

    /// Measures the link at the time of its last event.
    pub fn view_last<T>(&mut self, look: impl FnOnce(&mut LinkView<'_>) -> T) -> T {
        self.view(self.latest, look)
    }

    /// Measures the link at `now`.
    pub fn view<T>(&mut self, now: Time, look: impl FnOnce(&mut LinkView<'_>) -> T) -> T {
        self.with_cx(now, |link, cx| look(&mut link.sync(cx)))
    }

    fn collect(&mut self, now: Time) {
        while let Some((port, packet)) = self.with_cx(now, |link, cx| link.poll_transmit(cx)) {
            assert_eq!(port, Port(0));
            self.marked += u64::from(packet.ecn() == Ecn::Ce);
            self.delivered.push(Fate::Delivered(packet.id(), now));
        }
    }

    /// Runs the link until all packets have arrived.
    pub fn finish(&mut self) {
        self.run_until(Time::MAX);
        let counters = self.view_last(|link| link.counters());
        assert_balanced(&counters);
        assert_eq!(self.link.held().packets, 0, "packets were left behind");
        let lost = self.accounting.node(NodeId(0)).dropped_total().packets;
        assert_eq!(lost, counters.dropped.packets + counters.lost.packets, "two counts of lost packets disagree");
    }

    pub fn marks_in_books(&self) -> u64 {
        self.accounting.node(NodeId(0)).marked_total().packets
    }

    /// Returns the delivered packets, in order of arrival.
    pub fn delivered(&self) -> &[Fate] {
        &self.delivered
    }

    pub fn drops(&self) -> Vec<Fate> {
        self.drops.lock().unwrap().clone()
    }

    /// Returns the time that each delivered packet spent in the link.
    pub fn transits(&self, entered: impl Fn(u64) -> Time) -> Vec<Duration> {
        let transit = |fate: &Fate| match *fate {
            Fate::Delivered(id, at) => at - entered(id),
            Fate::Dropped(..) => unreachable!("this list contains only deliveries"),
        };
        self.delivered.iter().map(transit).collect()
    }
}

/// Performs the operations at their times, and then runs the link until all packets have arrived.
pub fn run(link: Link, touches: &[(Time, Touch)]) -> Bench {
    let mut bench = Bench::new(link);
    for &(at, touch) in touches {
        bench.run_until(at);
        bench.touch(at, touch);
    }
    bench.finish();
    bench
}

pub fn kbit(kbit_per_second: u64) -> lopsided_core::BitRate {
    lopsided_core::BitRate::from_bps(kbit_per_second * 1000)
}

pub fn octets(octets: u64) -> Bytes {
    Bytes::new(octets)
}

/// Checks that exactly one counter has counted each received packet.
fn assert_balanced(counters: &LinkCounters) {
    let LinkCounters { received, delivered, dropped, lost, waiting, in_flight } = *counters;
    assert_eq!(received, delivered + dropped + lost + waiting + in_flight, "{counters:?}");
}
