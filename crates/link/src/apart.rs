//! Any queue discipline, and the line behind it: what leaves next is known only when it leaves.

use lopsided_core::{Packet, Time};
use lopsided_queue::Queue;
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Apart {
    pub(crate) queue: Queue,
    /// When the next packet leaves the queue, if nothing happens before; `Time::MAX` if none waits.
    pub(crate) next_departure: Time,
    /// The packets on the line in the order of their arrival.
    pub(crate) line: VecDeque<Flying>,
}

#[derive(Debug)]
pub(crate) struct Flying {
    pub(crate) arrives: Time,
    pub(crate) packet: Packet,
}

impl Apart {
    pub(crate) fn new(queue: Queue) -> Apart {
        Apart { queue, next_departure: Time::MAX, line: VecDeque::new() }
    }

    pub(crate) fn take_arrived(&mut self, now: Time) -> Option<Packet> {
        let arrived = self.line.front()?.arrives <= now;
        if arrived { self.line.pop_front().map(|first| first.packet) } else { None }
    }
}
