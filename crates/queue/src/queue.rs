//! Any queue, with static dispatch for the ones we know.

use crate::{Audited, Backlog, Fifo, Qdisc, Red, StepFifo, Waiting};
use lopsided_core::{Bytes, Cx, Packet, Time};

/// A queue discipline of whatever kind.
#[derive(Debug)]
pub enum Queue {
    Fifo(Fifo),
    Red(Red),
    Step(StepFifo),
    /// One whose every operation is checked.
    Audited(Box<Audited<Queue>>),
    /// One from outside this crate.
    Custom(Box<dyn Qdisc>),
}

impl Queue {
    /// The same queue with its every operation checked.
    pub fn audited(self) -> Queue {
        Queue::Audited(Box::new(Audited::new(self)))
    }
}

macro_rules! forward {
    ($queue:expr, $inner:ident => $call:expr) => {
        match $queue {
            Queue::Fifo($inner) => $call,
            Queue::Red($inner) => $call,
            Queue::Step($inner) => $call,
            Queue::Audited($inner) => $call,
            Queue::Custom($inner) => $call,
        }
    };
}

impl Qdisc for Queue {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        forward!(self, queue => queue.enqueue(packet, cx));
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        forward!(self, queue => queue.dequeue(cx))
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        forward!(self, queue => queue.ready_at(now))
    }

    fn backlog(&self) -> Backlog {
        forward!(self, queue => queue.backlog())
    }

    fn head_size(&self) -> Option<Bytes> {
        forward!(self, queue => queue.head_size())
    }
}
