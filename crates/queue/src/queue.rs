//! An enum of all queues, with static dispatch for the most common disciplines.

use crate::{Backlog, CheckedQdisc, ClassStats, Fifo, Qdisc, QueuedPacket, Red, Sensing, ThresholdFifo, Waiting};
use lopsided_core::{Bytes, Cx, Packet, Time};

/// A queue discipline of any kind.
///
/// # Examples
///
/// ```
/// use lopsided_queue::{Qdisc, Queue, QueueConfig};
///
/// let queue = QueueConfig::packets(50).build(1, "link/up").unwrap();
/// assert!(matches!(queue, Queue::Fifo(_)));
/// assert_eq!(queue.backlog().packets, 0);
/// ```
#[derive(Debug)]
pub enum Queue {
    /// A FIFO queue.
    Fifo(Fifo),
    /// A RED queue.
    Red(Box<Red>),
    /// A FIFO queue that marks above a threshold.
    Threshold(ThresholdFifo),
    /// A queue whose contract is checked after every operation.
    Checked(Box<CheckedQdisc<Queue>>),
    /// Any other discipline, from this crate or from another one.
    Custom(Box<dyn Qdisc>),
}

impl Queue {
    /// Wraps the queue in a checker that verifies its contract after every operation.
    pub fn checked(self) -> Queue {
        Queue::Checked(Box::new(CheckedQdisc::new(self)))
    }
}

macro_rules! forward {
    ($queue:expr, $inner:ident => $call:expr) => {
        match $queue {
            Queue::Fifo($inner) => $call,
            Queue::Red($inner) => $call,
            Queue::Threshold($inner) => $call,
            Queue::Checked($inner) => $call,
            Queue::Custom($inner) => $call,
        }
    };
}

impl Qdisc for Queue {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        forward!(self, queue => queue.enqueue(packet, cx));
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        forward!(self, queue => queue.dequeue(cx))
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        forward!(self, queue => queue.ready_at(now))
    }

    fn backlog(&self) -> Backlog {
        forward!(self, queue => queue.backlog())
    }

    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        forward!(self, queue => queue.peek(cx))
    }

    fn sensing(&mut self) -> Option<&mut dyn Sensing> {
        forward!(self, queue => queue.sensing())
    }

    fn removes(&mut self) -> bool {
        forward!(self, queue => queue.removes())
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        forward!(self, queue => queue.remove(waiting, cx))
    }

    fn next_place(&self) -> Option<u64> {
        forward!(self, queue => queue.next_place())
    }

    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        forward!(self, queue => queue.classes(out));
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        forward!(self, queue => queue.gauges(out));
    }
}
