//! RTT samples of the flows that the kernel sends, measured at the sender's end of the path; one-way delays for
//! datagrams.
//!
//! Each ACK that advances gives one sample, measured from the newest segment that it covers. An ACK that covers a
//! retransmitted segment gives none (Karn's rule). The kernel's own processing time is not included.

use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Event, EventMask, NodeId, Observer, Packet, Seq, Time, Transport};
use lopsided_scenario::Scenario;
use lopsided_sim::Passage;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One RTT or one-way delay sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// Index of the flow in the scenario.
    pub flow: u32,
    /// Time of the sample, in nanoseconds since the start.
    pub at_ns: u64,
    /// The RTT or delay in nanoseconds.
    pub took_ns: u64,
}

/// Observes the edges of the network. Clones share the samples: pass one to the run and read another.
#[derive(Clone, Debug)]
pub(super) struct RoundTrips {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The sending and the receiving host of each flow if they are the kernel's, or the edge at which the host's
    /// passage begins.
    hosts: Vec<[Option<NodeId>; 2]>,
    /// Unacknowledged data by flow and the sender's port.
    connections: BTreeMap<(u32, u16), Outstanding>,
    found: Vec<Trip>,
}

impl RoundTrips {
    pub fn of(scenario: &Scenario, kernels: &[usize]) -> RoundTrips {
        let known = |host: usize| kernels.contains(&host).then_some(NodeId(host as u32));
        let hosts = scenario.flows.iter().map(|flow| [known(flow.from), known(flow.to)]).collect();
        RoundTrips { shared: Arc::new(Mutex::new(Shared { hosts, ..Shared::default() })) }
    }

    /// Measures datagrams between hosts with passages from passage to passage. A host behind a passage only sees when
    /// the packets entered the network for the last time.
    pub fn watch(&self, scenario: &Scenario, passages: &[Passage]) {
        let far = |host: usize| passages.iter().find(|passage| passage.host == host).map(|passage| passage.far);
        let mut shared = self.lock();
        for (ends, flow) in shared.hosts.iter_mut().zip(&scenario.flows) {
            if let ([None, None], Some(_), Some(receiver)) = (*ends, far(flow.from), far(flow.to)) {
                ends[1] = Some(receiver);
            }
        }
    }

    /// Takes all samples, ordered by their time.
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
                connection.or_insert_with(|| Outstanding::from(header.seq)).sent(header.seq, length, at);
            }
        }
    }

    fn received(&mut self, at: Time, node: NodeId, packet: &Packet) {
        let flow = packet.flow().0;
        let began = match (packet.transport(), self.hosts(packet)) {
            (Transport::Tcp(header), [Some(sender), _]) if sender == node => self.acknowledged(flow, header),
            (Transport::Udp(_), [_, Some(receiver)]) if receiver == node => Some(packet.sent_at()),
            _ => None,
        };
        if let Some(began) = began {
            let took_ns = at.saturating_since(began).as_nanos();
            self.found.push(Trip { flow, at_ns: at.as_nanos(), took_ns });
        }
    }

    fn acknowledged(&mut self, flow: u32, header: &TcpHeader) -> Option<Time> {
        let connection = self.connections.get_mut(&(flow, header.dst_port))?;
        if header.flags.has(Flags::ACK) { connection.acknowledged(header.ack) } else { None }
    }
}

/// Data of one connection that is sent and not yet acknowledged, ordered by sequence number.
#[derive(Debug)]
struct Outstanding {
    /// The end of each segment and the time at which it passed; `None` if it was retransmitted.
    segments: VecDeque<(Seq, Option<Time>)>,
    highest: Seq,
}

impl From<Seq> for Outstanding {
    fn from(first: Seq) -> Outstanding {
        Outstanding { segments: VecDeque::new(), highest: first }
    }
}

impl Outstanding {
    fn sent(&mut self, begin: Seq, length: u32, at: Time) {
        let end = begin + length;
        let again = begin.before(self.highest);
        if again {
            for (known, passed) in &mut self.segments {
                if known.after(begin) && !known.after(end) {
                    *passed = None;
                }
            }
        }
        if end.after(self.highest) {
            self.highest = end;
            self.segments.push_back((end, (!again).then_some(at)));
        }
    }

    /// The time at which the newest covered segment passed. `None` if any covered segment was retransmitted.
    fn acknowledged(&mut self, ack: Seq) -> Option<Time> {
        let covered = self.segments.iter().take_while(|(end, _)| end.at_or_before(ack)).count();
        let mut newest = None;
        let mut ambiguous = false;
        for (_, passed) in self.segments.drain(..covered) {
            newest = passed;
            ambiguous |= passed.is_none();
        }
        newest.filter(|_| !ambiguous)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn an_ack_times_the_newest_segment_that_it_covers_unless_one_was_sent_twice() {
        // The sequence numbers wrap during the test.
        let first = Seq::new(u32::MAX - 50);
        let mut sent = Outstanding::from(first);
        sent.sent(first, 100, at(1));
        sent.sent(first + 100, 100, at(2));
        assert_eq!(sent.acknowledged(first), None);
        assert_eq!(sent.acknowledged(first + 200), Some(at(2)));
        assert_eq!(sent.acknowledged(first + 200), None);
        sent.sent(first + 200, 100, at(3));
        sent.sent(first + 300, 100, at(4));
        sent.sent(first + 200, 100, at(5));
        sent.sent(first + 400, 100, at(6));
        assert_eq!(sent.acknowledged(first + 400), None);
        assert_eq!(sent.acknowledged(first + 500), Some(at(6)));
    }
}
