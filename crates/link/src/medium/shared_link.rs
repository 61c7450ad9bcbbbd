//! A node of several ports, each a station with a queue, that share one medium.
//!
//! A packet enters by the port of its station, waits in that station's queue, and crosses the medium in its turn; then it leaves by the
//! port that leads to its destination, or, where the medium says that it takes several hops, waits in the queue of the next station. The frame that a station has with the medium is out of its queue. Crossing is no hop: the time to
//! live stays.
//!
//! Leaves out: propagation within the medium; the links that join stations have delays.

use super::{Medium, MediumEvent};
use lopsided_core::{Count, Cx, DropReason, Event, EventMask, Node, Packet, Port, Time};
use lopsided_queue::{Qdisc, Queue, QueueStats};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

#[derive(Debug)]
pub struct SharedLink {
    stations: Vec<Station>,
    medium: Box<dyn Medium>,
    /// Which port leads to which destination.
    ports: BTreeMap<IpAddr, Port>,
    out: VecDeque<(Port, Packet)>,
}

#[derive(Debug)]
struct Station {
    name: String,
    queue: Queue,
    stats: QueueStats,
    /// The packet of the frame that is with the medium; empty once it was delivered.
    frame: Option<Packet>,
    /// The station that it goes to.
    next: usize,
    /// A frame is with the medium.
    sending: bool,
}

impl SharedLink {
    /// Stations by port, each with its name and its empty queue.
    pub fn new(stations: Vec<(String, Queue)>, medium: Box<dyn Medium>, ports: BTreeMap<IpAddr, Port>) -> SharedLink {
        let station =
            |(name, queue)| Station { name, queue, stats: QueueStats::default(), frame: None, next: 0, sending: false };
        SharedLink { stations: stations.into_iter().map(station).collect(), medium, ports, out: VecDeque::new() }
    }

    /// Gives the medium this station's next frame, if it has none and one is ready.
    fn feed(&mut self, number: usize, cx: &mut Cx<'_>) {
        let (now, station) = (cx.now(), &mut self.stations[number]);
        if station.sending || station.queue.ready_at(now) != Some(now) {
            return;
        }
        let given = station.queue.dequeue(cx);
        let backlog = station.queue.backlog();
        if let Some(given) = given {
            let size = given.packet.size();
            station.stats.left(now, given.enqueued_at, size);
            cx.trace(EventMask::QUEUES, || Event::Dequeued {
                packet: &given.packet,
                backlog_packets: backlog.packets,
                backlog_bytes: backlog.bytes,
                sojourn: now - given.enqueued_at,
            });
            let to = self.ports.get(&given.packet.dst()).map_or(number, |port| usize::from(port.0));
            station.next = self.medium.next_hop(number, to);
            (station.frame, station.sending) = (Some(given.packet), true);
            self.medium.request(number, station.next, size, now);
        }
        station.stats.settle(now, backlog);
    }

    /// A packet joins a station's queue.
    fn take(&mut self, number: usize, packet: Packet, cx: &mut Cx<'_>) {
        let station = &mut self.stations[number];
        let size = packet.size();
        station.queue.enqueue(packet, cx);
        station.stats.offered(cx.now(), size, station.queue.backlog());
        self.feed(number, cx);
    }

    fn on_event(&mut self, event: MediumEvent, cx: &mut Cx<'_>) {
        match event {
            MediumEvent::Nothing => {}
            MediumEvent::Delivered(number) => {
                let packet = self.stations[number].frame.take().expect("a frame is delivered once");
                let here = self.stations[number].next;
                match self.ports.get(&packet.dst()) {
                    Some(port) if usize::from(port.0) == here => self.out.push_back((*port, packet)),
                    Some(_) => self.take(here, packet, cx),
                    None => cx.drop(packet, DropReason::NoRoute),
                }
            }
            MediumEvent::Done(number) => {
                self.stations[number].sending = false;
                self.feed(number, cx);
            }
            MediumEvent::Lost(number) => {
                let packet = self.stations[number].frame.take().expect("a frame that was delivered is not lost");
                cx.drop(packet, DropReason::RetriesExhausted);
                self.stations[number].sending = false;
                self.feed(number, cx);
            }
        }
    }
}

impl Node for SharedLink {
    fn handle_packet(&mut self, port: Port, packet: Packet, cx: &mut Cx<'_>) {
        self.take(usize::from(port.0), packet, cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        while self.medium.next_event().is_some_and(|due| due <= cx.now()) {
            let event = self.medium.on_event(cx.now());
            self.on_event(event, cx);
        }
        (0..self.stations.len()).for_each(|number| self.feed(number, cx));
    }

    fn poll_transmit(&mut self, _cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        // A discipline that holds packets back names a time; the others are fed at once.
        let waiting = self.stations.iter().filter(|station| !station.sending);
        let ready = waiting.filter_map(|station| station.queue.ready_at(Time::ZERO)).min();
        [self.medium.next_event(), ready].into_iter().flatten().min()
    }

    fn held(&self) -> Count {
        let with_medium = self.stations.iter().filter_map(|station| station.frame.as_ref());
        let sizes = with_medium.chain(self.out.iter().map(|(_, packet)| packet)).map(|packet| packet.size());
        let queued = self.stations.iter().map(|station| {
            let backlog = station.queue.backlog();
            Count { packets: u64::from(backlog.packets), bytes: backlog.bytes }
        });
        Count::of(sizes) + queued.sum()
    }

    /// For each station what was counted at its queue; then what the medium tells.
    fn sample(&self, out: &mut dyn FnMut(&str, &str, f64)) {
        for station in &self.stations {
            let (name, stats) = (station.name.as_str(), &station.stats);
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
