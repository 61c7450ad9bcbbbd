//! The round trips of the flows that the kernel sends, as a capture at the sender's end of the path sees them; of
//! datagrams the one-way times.
//!
//! One for each ACK that advances: from the passing of the newest segment that it covers. None for an ACK that covers a
//! segment sent more than once (Karn's rule). What the kernel itself takes is not in it.

use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Event, EventMask, NodeId, Observer, Packet, Seq, Time, Transport};
use lopsided_scenario::Scenario;
use lopsided_sim::Passage;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// When it ended, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    pub flow: u32,
    pub at_ns: u64,
    pub took_ns: u64,
}

/// Watches the edges. Clones share what they see: give one to the run and read the other.
#[derive(Clone, Debug)]
pub(super) struct RoundTrips {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Of each flow, its sending and its receiving host, where that host is the kernel's, or the edge behind which its
    /// passage begins.
    hosts: Vec<[Option<NodeId>; 2]>,
    /// By flow and the sender's port.
    connections: BTreeMap<(u32, u16), Outstanding>,
    found: Vec<Trip>,
}

impl RoundTrips {
    pub fn of(scenario: &Scenario, kernels: &[usize]) -> RoundTrips {
        let known = |host: usize| kernels.contains(&host).then_some(NodeId(host as u32));
        let hosts = scenario.flows.iter().map(|flow| [known(flow.from), known(flow.to)]).collect();
        RoundTrips { shared: Arc::new(Mutex::new(Shared { hosts, ..Shared::default() })) }
    }

    /// Datagrams between hosts that have passages are timed between these: behind them the host only sees when they
    /// entered last.
    pub fn watch(&self, scenario: &Scenario, passages: &[Passage]) {
        let far = |host: usize| passages.iter().find(|passage| passage.host == host).map(|passage| passage.far);
        let mut shared = self.lock();
        for (ends, flow) in shared.hosts.iter_mut().zip(&scenario.flows) {
            if let ([None, None], Some(_), Some(receiver)) = (*ends, far(flow.from), far(flow.to)) {
                ends[1] = Some(receiver);
            }
        }
    }

    /// All of them, in the order of their ends.
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

/// What one connection has sent and not seen acknowledged, in order of sequence.
#[derive(Debug)]
struct Outstanding {
    /// The end of each segment, and when it passed; `None` once it passed again.
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

    /// When the newest segment that this covers passed, if all that it covers passed once.
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
        // Across the end of the sequence numbers.
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
