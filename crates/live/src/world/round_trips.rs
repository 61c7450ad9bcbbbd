//! RTT samples of the flows that the kernel sends, measured at the sender's end of the path. For UDP flows, the samples
//! are one-way delays.
//!
//! Each ACK of new data produces one sample, measured from the newest segment that the ACK covers (Karn's algorithm).
//! The kernel's processing time is not included.

use lopsided_capture::Flight;
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Duration, Event, EventMask, NodeId, Observer, Packet, Time, Transport};
use lopsided_scenario::Scenario;
use lopsided_sim::Passage;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One RTT or one-way delay sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// Index of the flow in the scenario.
    pub flow: u32,
    /// Time at which the sample was taken, in nanoseconds since the start of the run.
    pub at_ns: u64,
    /// The RTT or one-way delay, in nanoseconds.
    pub took_ns: u64,
}

/// Observes the packets at the edges of the network. Clones share their samples.
#[derive(Clone, Debug)]
pub(super) struct RoundTrips {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Sending and receiving host of each flow; `None` for hosts of the simulator. For a host behind a passage, the
    /// entry is the passage's far edge.
    hosts: Vec<[Option<NodeId>; 2]>,
    /// Unacknowledged data of each connection, by flow and sender's port.
    connections: BTreeMap<(u32, u16), Flight>,
    found: Vec<Trip>,
}

impl RoundTrips {
    pub fn of(scenario: &Scenario, kernels: &[usize]) -> RoundTrips {
        let known = |host: usize| kernels.contains(&host).then_some(NodeId(host as u32));
        let hosts = scenario.flows.iter().map(|flow| [known(flow.from), known(flow.to)]).collect();
        RoundTrips { shared: Arc::new(Mutex::new(Shared { hosts, ..Shared::default() })) }
    }

    /// Sets the scenario to observe. If each end has a passage, delays of datagrams are measured at the far side of the
    /// receiver's passage.
    pub fn watch(&self, scenario: &Scenario, passages: &[Passage]) {
        let far = |host: usize| passages.iter().find(|passage| passage.host == host).map(|passage| passage.far);
        let mut shared = self.lock();
        for (ends, flow) in shared.hosts.iter_mut().zip(&scenario.flows) {
            if let ([None, None], Some(_), Some(receiver)) = (*ends, far(flow.from), far(flow.to)) {
                ends[1] = Some(receiver);
            }
        }
    }

    /// Removes and returns all samples, sorted by time.
    pub fn take(&self) -> Vec<Trip> {
        std::mem::take(&mut self.lock().found)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for RoundTrips {
    fn mask(&self) -> EventMask {
        EventMask::HOSTS
    }

    fn record(&mut self, at: Time, node: NodeId, event: &Event<'_>) {
        let mut shared = self.lock();
        match event {
            Event::Sent(packet) => shared.sent(at, node, packet),
            Event::Received(packet) => shared.received(at, node, packet),
            _ => {}
        }
    }
}

impl Shared {
    fn hosts(&self, packet: &Packet) -> [Option<NodeId>; 2] {
        self.hosts.get(packet.flow().0 as usize).copied().unwrap_or_default()
    }

    fn sent(&mut self, at: Time, node: NodeId, packet: &Packet) {
        if let (Some(header), [Some(sender), _]) = (packet.tcp(), self.hosts(packet)) {
            let length = packet.payload().len();
            if sender == node && length > 0 {
                let connection = self.connections.entry((packet.flow().0, header.src_port));
                let flight = connection.or_insert_with(|| Flight::new(header.seq));
                flight.sent(at, header.seq, header.seq + length);
            }
        }
    }

    fn received(&mut self, at: Time, node: NodeId, packet: &Packet) {
        let flow = packet.flow().0;
        let took = match (packet.transport(), self.hosts(packet)) {
            (Transport::Tcp(header), [Some(sender), _]) if sender == node => self.acknowledged(at, flow, header),
            (Transport::Udp(_), [_, Some(receiver)]) if receiver == node => {
                packet.sent_at().map(|sent_at| at.saturating_since(sent_at))
            }
            _ => None,
        };
        if let Some(took) = took {
            self.found.push(Trip { flow, at_ns: at.as_nanos(), took_ns: took.as_nanos() });
        }
    }

    fn acknowledged(&mut self, at: Time, flow: u32, header: &TcpHeader) -> Option<Duration> {
        let flight = self.connections.get_mut(&(flow, header.dst_port))?;
        if header.flags.has(Flags::ACK) { flight.acked_to(at, header.ack)?.rtt } else { None }
    }
}
