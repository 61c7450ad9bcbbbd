//! A node with one port per station. Each station has queues, and all stations share one medium.
//!
//! A packet enters through the port of a station, waits in the station's queue and crosses the medium. It then leaves
//! through the port towards its destination, or enters the queue of the next station. The TTL is not decremented.
//!
//! Not modelled: propagation within the medium. The delays belong to the links of the stations.

use super::{FrameId, Medium, MediumEvent};
use lopsided_core::{Count, Cx, DropReason, Event, EventMask, Node, Packet, Port, Time};
use lopsided_queue::{Qdisc, Queue, QueueStats};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// The node of a shared medium: the medium, and the stations with their queues.
///
/// Scenarios build the medium from a [`MediumConfig`](crate::MediumConfig).
#[derive(Debug)]
pub struct SharedLink {
    stations: Vec<Station>,
    /// The non-empty queues as sorted pairs of station and queue index, so that idle stations need no checks.
    waiting: Vec<(usize, usize)>,
    medium: Box<dyn Medium>,
    /// The port that leads to each destination, sorted by destination.
    ports: Vec<(Destination, Port)>,
    /// Packets that leave the node at the next poll, each with its port.
    out: VecDeque<(Port, Packet)>,
}

/// A station: its queues, and its frames in the medium.
#[derive(Debug)]
struct Station {
    name: String,
    lanes: Vec<Lane>,
    frames: Frames,
}

/// The frames of a station in the medium, by number. Frames end almost in the order of their requests.
#[derive(Debug, Default)]
struct Frames {
    /// Number of the first frame in the ring.
    first: u64,
    ring: VecDeque<Option<Frame>>,
}

/// A queue of a station, and the number of its frames in the medium.
#[derive(Debug)]
struct Lane {
    name: String,
    /// Number of the receiver, if the station has a queue per receiver.
    receiver: usize,
    queue: Queue,
    stats: QueueStats,
    /// Number of frames from this queue in the medium.
    with_medium: usize,
    /// True if the queue is in the list of non-empty queues.
    waits: bool,
}

/// A frame in the medium.
#[derive(Debug)]
struct Frame {
    lane: usize,
    /// The packet; `None` after its delivery.
    packet: Option<Packet>,
    /// Number of the station that receives the frame.
    next: usize,
    /// The port towards the packet's destination; `None` if there is no route.
    port: Option<Port>,
}

/// A queue of a station, from which [`SharedLink::new`] builds the node.
#[derive(Debug)]
pub struct StationQueue {
    /// Name of the queue in statistics.
    pub name: String,
    /// Number of the receiver, if the station has a queue per receiver.
    pub receiver: usize,
    /// The queue discipline.
    pub queue: Queue,
}

impl SharedLink {
    /// Creates the node. `stations` contains the name and the queues of each station, in the order of the ports.
    /// `ports` maps destinations to ports.
    pub fn new(
        stations: Vec<(String, Vec<StationQueue>)>,
        medium: Box<dyn Medium>,
        ports: BTreeMap<IpAddr, Port>,
    ) -> SharedLink {
        let lane = |StationQueue { name, receiver, queue }| Lane {
            name,
            receiver,
            queue,
            stats: QueueStats::default(),
            with_medium: 0,
            waits: false,
        };
        let station = |(name, queues): (String, Vec<_>)| Station {
            name,
            lanes: queues.into_iter().map(lane).collect(),
            frames: Frames::default(),
        };
        let stations = stations.into_iter().map(station).collect();
        // A `Destination` has the same sort order as its `IpAddr`.
        let ports = ports.into_iter().map(|(address, port)| (destination(address), port)).collect();
        SharedLink { stations, waiting: Vec::new(), medium, ports, out: VecDeque::new() }
    }

    /// Returns the port that leads to a packet's destination.
    fn port_to(&self, packet: &Packet) -> Option<Port> {
        let wanted = destination(packet.dst());
        let at = self.ports.binary_search_by_key(&wanted, |(destination, _)| *destination).ok()?;
        Some(self.ports[at].1)
    }

    /// Updates the list of non-empty queues after a change of this queue.
    fn note_waiting(&mut self, station: usize, lane: usize) {
        let place = &mut self.stations[station].lanes[lane];
        let waits = place.queue.backlog().packets > 0;
        // Most operations do not change whether the queue is empty.
        if waits == place.waits {
            return;
        }
        place.waits = waits;
        match self.waiting.binary_search(&(station, lane)) {
            Ok(at) => drop(self.waiting.remove(at)),
            Err(at) => self.waiting.insert(at, (station, lane)),
        }
    }

    /// Passes queued packets of a station to the medium, until the medium accepts no more packets.
    fn feed(&mut self, station: usize, lane: usize, cx: &mut Cx<'_>) {
        let now = cx.now();
        loop {
            let place = &self.stations[station].lanes[lane];
            if place.queue.ready_at(now) != Some(now)
                || !self.medium.takes(station, place.receiver, place.with_medium)
                || !self.give(station, lane, cx)
            {
                return;
            }
        }
    }

    /// Passes the next packet of a station's queue to the medium. Returns false if the queue returned no packet.
    fn give(&mut self, number: usize, lane: usize, cx: &mut Cx<'_>) -> bool {
        let now = cx.now();
        // A discipline may drop all packets that were ready, and then returns no packet.
        let given = self.stations[number].lanes[lane].queue.dequeue(cx);
        let port = given.as_ref().and_then(|given| self.port_to(&given.packet));
        let station = &mut self.stations[number];
        let place = &mut station.lanes[lane];
        let backlog = place.queue.backlog();
        let was_one = given.is_some();
        if let Some(given) = given {
            let size = given.packet.size();
            place.stats.left(now, given.enqueued_at, size);
            cx.trace(EventMask::QUEUES, || Event::Dequeued {
                packet: &given.packet,
                backlog_packets: backlog.packets,
                backlog_bytes: backlog.bytes,
                sojourn: now - given.enqueued_at,
            });
            place.with_medium += 1;
            let next = next_hop(&*self.medium, number, port);
            let frame = station.frames.push(Frame { lane, packet: Some(given.packet), next, port });
            self.medium.request(FrameId { station: number, number: frame }, next, size, now);
        }
        place.stats.settle(now, backlog);
        self.note_waiting(number, lane);
        was_one
    }

    /// Enqueues a packet at a station.
    fn take(&mut self, number: usize, packet: Packet, cx: &mut Cx<'_>) {
        let lane = match self.stations[number].lanes.len() {
            1 => 0,
            _ => {
                let next = next_hop(&*self.medium, number, self.port_to(&packet));
                // The packet enters queue 0 if the medium has one queue per station, or if there is no queue for the
                // receiver.
                let separate = self.medium.queue_per_receiver();
                let lanes = &self.stations[number].lanes;
                lanes.iter().position(|lane| separate && lane.receiver == next).unwrap_or(0)
            }
        };
        let station = &mut self.stations[number];
        let size = packet.size();
        station.lanes[lane].queue.enqueue(packet, cx);
        let backlog = station.lanes[lane].queue.backlog();
        station.lanes[lane].stats.offered(cx.now(), size, backlog);
        self.note_waiting(number, lane);
        self.feed(number, lane, cx);
    }

    fn on_event(&mut self, event: MediumEvent, cx: &mut Cx<'_>) {
        match event {
            MediumEvent::Nothing => {}
            // The medium fills an aggregate for this receiver, so pass as many frames as fit.
            MediumEvent::Fill { station, receiver } => {
                let lanes = &self.stations[station].lanes;
                if let Some(lane) = lanes.iter().position(|lane| lane.receiver == receiver) {
                    self.feed(station, lane, cx);
                }
            }
            MediumEvent::Delivered(id) => {
                let frame =
                    self.stations[id.station].frames.get_mut(id.number).expect("a delivered frame is in the medium");
                let (here, packet) = (frame.next, frame.packet.take().expect("a frame is delivered once"));
                // At the last station of its path, the packet leaves the node. At any other station, it is enqueued for
                // the next hop.
                match frame.port {
                    Some(port) if usize::from(port.0) == here => self.out.push_back((port, packet)),
                    Some(_) => self.take(here, packet, cx),
                    None => cx.drop(packet, DropReason::NoRoute),
                }
            }
            MediumEvent::Done(id) => {
                let ended = self.end(id);
                assert!(ended.packet.is_none(), "a frame ends with `Done` only after its delivery");
                self.feed(id.station, ended.lane, cx);
            }
            MediumEvent::Lost(id, reason) => {
                let ended = self.end(id);
                cx.drop(ended.packet.expect("a delivered frame is never lost"), reason);
                self.feed(id.station, ended.lane, cx);
            }
        }
    }

    /// Removes a frame that has ended.
    fn end(&mut self, id: FrameId) -> Frame {
        let station = &mut self.stations[id.station];
        let frame = station.frames.remove(id.number).expect("a frame ends once");
        // The medium may now accept another frame from this queue.
        station.lanes[frame.lane].with_medium -= 1;
        frame
    }
}

impl Frames {
    /// Stores the next frame and returns its number.
    fn push(&mut self, frame: Frame) -> u64 {
        self.ring.push_back(Some(frame));
        self.first + self.ring.len() as u64 - 1
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Frame> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.ring.get_mut(at)?.as_mut()
    }

    /// Removes a frame by its number.
    fn remove(&mut self, number: u64) -> Option<Frame> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let frame = self.ring.get_mut(at)?.take();
        // Frames end out of order, so the ring may have gaps, but its first entry is always a frame.
        while let Some(None) = self.ring.front() {
            self.ring.pop_front();
            self.first += 1;
        }
        frame
    }

    fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.ring.iter().flatten()
    }
}

/// An address in a form that is faster to compare than `IpAddr`: true for IPv6, and the bits of the address as a
/// number.
type Destination = (bool, u128);

fn destination(address: IpAddr) -> Destination {
    match address {
        IpAddr::V4(address) => (false, u128::from(u32::from(address))),
        IpAddr::V6(address) => (true, u128::from(address)),
    }
}

/// Returns the next station on the path of a packet that leaves the node through `port`.
fn next_hop(medium: &dyn Medium, from: usize, port: Option<Port>) -> usize {
    medium.next_hop(from, port.map_or(from, |port| usize::from(port.0)))
}

impl Node for SharedLink {
    fn handle_packet(&mut self, port: Port, packet: Packet, cx: &mut Cx<'_>) {
        self.take(usize::from(port.0), packet, cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        // An event of the medium may cause another event at the same time.
        while self.medium.next_event().is_some_and(|due| due <= cx.now()) {
            let event = self.medium.on_event(cx.now());
            self.on_event(event, cx);
        }
        let mut at = 0;
        while let Some(&(station, lane)) = self.waiting.get(at) {
            self.feed(station, lane, cx);
            // If this queue became empty, it is no longer in the list, and `at` is already the position of the next
            // queue.
            at += usize::from(self.waiting.get(at) == Some(&(station, lane)));
        }
    }

    fn poll_transmit(&mut self, _cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        // A discipline that delays packets returns a future time. All other queues were fed when their packets arrived.
        let waiting = self.waiting.iter().map(|&(station, lane)| (station, &self.stations[station].lanes[lane]));
        let held_back = waiting
            .filter(|(station, lane)| self.medium.takes(*station, lane.receiver, lane.with_medium))
            .map(|(_, lane)| lane);
        let ready = held_back.filter_map(|lane| lane.queue.ready_at(Time::ZERO)).min();
        [self.medium.next_event(), ready].into_iter().flatten().min()
    }

    fn held(&self) -> Count {
        let with_medium = self.stations.iter().flat_map(|station| station.frames.iter());
        let packets =
            with_medium.filter_map(|frame| frame.packet.as_ref()).chain(self.out.iter().map(|(_, packet)| packet));
        let queued = self.stations.iter().flat_map(|station| &station.lanes).map(|lane| {
            let backlog = lane.queue.backlog();
            Count { packets: u64::from(backlog.packets), bytes: backlog.bytes }
        });
        Count::of(packets.map(Packet::size)) + queued.sum()
    }

    /// Reports the statistics of each queue, and then the counters of the medium.
    fn sample(&self, out: &mut dyn FnMut(&str, &str, f64)) {
        for lane in self.stations.iter().flat_map(|station| &station.lanes) {
            let (name, stats) = (lane.name.as_str(), &lane.stats);
            out(name, "backlog_packets", f64::from(stats.backlog().packets));
            out(name, "arrived_packets", stats.arrived_packets() as f64);
            out(name, "sent_packets", stats.sent_packets() as f64);
            out(name, "dropped_packets", stats.dropped_packets() as f64);
            out(name, "sojourn_mean_ms", stats.mean_sojourn().map_or(f64::NAN, |mean| mean.as_millis_f64()));
        }
        self.medium.sample(&mut |station, quantity, value| {
            out(station.map_or("", |number| self.stations[number].name.as_str()), quantity, value);
        });
    }
}
