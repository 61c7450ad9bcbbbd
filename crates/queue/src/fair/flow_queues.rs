//! A queue for each flow, served by deficit round robin (RFC 8290, section 4). FQ-CoDel and FQ-PIE add an algorithm
//! that controls each queue.

use super::flow_hash::{FlowHash, queue_of};
use super::flow_rounds::FlowRounds;
use crate::tools::ring::PacketRing;
use crate::{Backlog, Waiting, bounds};
use lopsided_core::{Bytes, Cx, Packet, Rng};
use lopsided_spec::Fault;

/// Texts of the keys that the disciplines have in common.
pub(crate) const LIMIT: &str = "Maximum number of packets in all queues together.";
pub(crate) const FLOWS: &str = "Number of queues. A hash assigns each flow to a queue.";
pub(crate) const QUANTUM: &str = "Number of octets that a queue may send per turn, including the header octets.";

/// The settings that the disciplines have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Maximum number of packets in all queues together.
    pub limit: u32,
    /// Number of queues.
    pub flows: u32,
    /// Number of bytes that a queue may send per turn, including link headers.
    pub quantum: Bytes,
    /// Size of the link header that is counted with each IP packet, in bytes.
    pub header: Bytes,
}

impl Shape {
    /// Returns an error if a setting is out of range.
    pub fn check(self) -> Result<(), Fault> {
        bounds::limit("limit", u64::from(self.limit))?;
        bounds::flows(self.flows)?;
        bounds::quantum(self.quantum)
    }
}

/// The queues of all flows. `L` is the state of the algorithm that controls a queue.
#[derive(Debug)]
pub(crate) struct FlowQueues<L> {
    shape: Shape,
    hash: FlowHash,
    /// The queues, indexed by flow hash. A queue allocates memory when its first packet arrives.
    flows: Vec<Flow<L>>,
    rounds: FlowRounds,
    total: Backlog,
}

/// The queue of one flow.
#[derive(Debug)]
pub(crate) struct Flow<L> {
    pub ring: PacketRing,
    pub law: L,
    /// Deficit: number of bytes that the queue may still send in its turn.
    deficit: i64,
    /// True if the queue is in the rounds.
    listed: bool,
}

impl<L> FlowQueues<L> {
    /// Creates empty queues. `rng` perturbs the flow hash.
    pub fn new(shape: Shape, rng: &mut Rng, law: impl Fn() -> L) -> FlowQueues<L> {
        let flow = || Flow { ring: PacketRing::default(), law: law(), deficit: 0, listed: false };
        FlowQueues {
            shape,
            hash: FlowHash::new(rng),
            flows: std::iter::repeat_with(flow).take(shape.flows as usize).collect(),
            rounds: FlowRounds::default(),
            total: Backlog::default(),
        }
    }

    /// Returns the number of the queue to which a packet belongs.
    pub fn queue_of(&self, packet: &Packet) -> usize {
        queue_of(self.hash.flow(packet), self.flows.len())
    }

    /// Returns a queue, and the total backlog, which the caller must reduce if it takes a packet from the queue.
    pub fn flow(&mut self, at: usize) -> (&mut Flow<L>, &mut Backlog) {
        (&mut self.flows[at], &mut self.total)
    }

    /// Returns all queues.
    pub fn flows(&self) -> &[Flow<L>] {
        &self.flows
    }

    /// Returns the total backlog of all queues.
    pub fn backlog(&self) -> Backlog {
        self.total
    }

    /// Appends a packet to a queue. A queue that had no turn becomes a new queue.
    pub fn push(&mut self, at: usize, packet: Packet, cx: &mut Cx<'_>) {
        let flow = &mut self.flows[at];
        // Observers must receive the total backlog of all queues, not the backlog of this queue.
        let before = self.total - flow.ring.backlog();
        cx.within_class(before.packets, before.bytes, |cx| flow.ring.push(packet, cx));
        self.total = before + flow.ring.backlog();
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.shape.quantum.get() as i64;
            self.rounds.begin(at as u32);
        }
    }

    /// Returns the queue that has the turn; `None` if no queue is in the rounds.
    pub fn turn(&mut self) -> Option<usize> {
        loop {
            let at = self.rounds.head()? as usize;
            let flow = &mut self.flows[at];
            if flow.deficit > 0 {
                return Some(at);
            }
            // RFC 8290, section 4.2: a queue that has used its deficit gains a quantum and moves to the end of the old
            // queues.
            flow.deficit += self.shape.quantum.get() as i64;
            self.rounds.spent();
        }
    }

    /// Reduces the deficit of a queue by a packet of `size` bytes that the queue sends.
    pub fn pay(&mut self, at: usize, size: Bytes) {
        self.flows[at].deficit -= (size + self.shape.header).get() as i64;
    }

    /// Ends the turn of a queue that has no packet to send.
    pub fn emptied(&mut self, at: usize) {
        // An empty new queue moves to the old queues, and so stays in the rounds.
        if self.rounds.emptied() {
            self.flows[at].listed = false;
        }
    }

    /// Returns the queue that contains the most bytes, including link headers, and these bytes. If several queues have
    /// the most bytes, chooses the one with the lowest number, as in Linux's fq_codel_drop.
    pub fn fattest(&self) -> Option<(usize, Bytes)> {
        let held = |flow: u32| self.flows[flow as usize].ring.backlog().with_headers(self.shape.header);
        let fattest = self.rounds.iter().max_by_key(|flow| (held(*flow), u32::MAX - flow))?;
        Some((fattest as usize, held(fattest)))
    }

    /// See [`crate::Qdisc::remove`].
    pub fn remove(&mut self, waiting: &Waiting<'_>) -> Option<Packet> {
        let at = self.queue_of(waiting.like);
        let packet = self.flows[at].ring.remove(waiting)?;
        self.total.remove(packet.size());
        Some(packet)
    }

    /// See [`crate::Qdisc::gauges`].
    pub fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("new_flows", self.rounds.new_flows() as f64);
        out("active_flows", self.rounds.active() as f64);
    }
}
