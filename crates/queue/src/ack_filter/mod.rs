//! ACK filtering (Balakrishnan, Padmanabhan and Katz, The Effects of Asymmetry on TCP Performance, 1999, sections 6.2
//! and 8.4; RFC 3449, section 5.2.1). When an ACK arrives, the filter removes earlier ACKs of the same connection from
//! the queue if the new ACK makes them superfluous.
//!
//! The filter wraps any discipline that can remove a packet from its middle ([`crate::Qdisc::removes`]). The filter
//! removes ACKs before the new ACK is enqueued, so that the new ACK can use their space.
//!
//! A [`FilterRule`] decides which ACKs are removed:
//! - `cumulative` and `window` are the paper's rules, which predate SACK and ECN. Duplicate ACKs stay in the queue
//!   unless `fast_retransmit` is set. The filter then removes and counts duplicates, and sets a flag that makes the
//!   sender retransmit at once (section 6.3).
//! - `conservative` and `aggressive` are CAKE's rules in Linux (tc-cake(8)). The new ACK must cover the flags, options,
//!   SACK blocks and timestamps of the removed ACK. At most one ACK is removed per arrival.
//! - `accurate_ecn` also removes ACKs that count ECN marks (RFC 9768), if the sender counts the same number of marks
//!   without the removed ACKs: see `rule.rs`.
//!
//! The filter removes the fraction `share` of the superfluous ACKs, evenly spaced or chosen at random. It is active
//! while the backlog is at least `above` and less than `below`.
//!
//! With a `prefix`, the filter is the compactor of RFC 3449, section 5.3.2: see `compactor.rs`.
//!
//! Not modelled: the interaction with a header compressor. Headers are stored uncompressed (section 8.4, third design).

mod ack;
mod by_content;
mod by_number;
mod compactor;
mod config;
mod connections;
mod departures;
mod few;
mod filter;
mod rule;
mod share;
mod waiting_ack;

pub use config::{AckFilterConfig, Pick, RemovedAcks};
pub use filter::AckFilter;
pub use rule::FilterRule;

use config::Bounds;

use crate::{Backlog, ClassStats, Discipline, Qdisc, Queue, QueuePlace, QueuedPacket, Sensing, Waiting};
use lopsided_core::{Bytes, Cx, Packet, Rng, Time};
use lopsided_spec::{Fault, Part};

impl Discipline for AckFilterConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        self.check()?;
        let mut queue = self.queue.build(place.seed, place.role)?;
        // Around a discipline that cannot remove packets from its middle, the filter would silently do nothing.
        if !queue.removes() {
            let fault = Fault::new("queue", format!("`{}` cannot remove a packet from its middle", self.queue.kind()));
            return Err(fault.help("put the filter inside, around each of its classes"));
        }
        let rng = Rng::for_role(place.seed, &format!("{}/ack filter", place.role));
        let filter = AckFilter::new(self, rng);
        // The inner queue is usually a FIFO. Use its concrete type, so that calls to the FIFO need no dynamic dispatch.
        Ok(Queue::Custom(match queue {
            Queue::Fifo(fifo) => Box::new(FilteredQueue::new(filter, fifo)),
            queue => Box::new(FilteredQueue::new(filter, queue)),
        }))
    }
}

/// A queue from which superfluous ACKs are removed.
#[derive(Debug)]
pub struct FilteredQueue<Q> {
    filter: AckFilter,
    queue: Q,
}

impl<Q: Qdisc> FilteredQueue<Q> {
    /// Wraps a queue that can remove packets from its middle. With any other queue, the filter removes no ACKs.
    pub fn new(filter: AckFilter, queue: Q) -> FilteredQueue<Q> {
        FilteredQueue { filter, queue }
    }
}

impl<Q: Qdisc> Qdisc for FilteredQueue<Q> {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        // Filter before the enqueue, so that the new packet can use the space of the removed ACKs.
        self.filter.on_arrival(&mut packet, &mut self.queue, cx);
        self.queue.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let given = self.queue.dequeue(cx)?;
        self.filter.on_departure(&given, &self.queue);
        Some(given)
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        self.queue.ready_at(now)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        self.queue.peek(cx)
    }

    fn sensing(&mut self) -> Option<&mut dyn Sensing> {
        self.queue.sensing()
    }

    fn removes(&mut self) -> bool {
        true
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        self.queue.remove(waiting, cx)
    }

    fn next_place(&self) -> Option<u64> {
        self.queue.next_place()
    }

    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        self.queue.classes(out);
    }

    /// Calls `out` with the gauges of the inner queue, `filtered_acks` and `marked_acks`.
    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("filtered_acks", self.filter.filtered() as f64);
        out("marked_acks", self.filter.marked() as f64);
        self.queue.gauges(out);
    }
}
