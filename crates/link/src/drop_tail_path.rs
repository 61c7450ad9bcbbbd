//! A drop-tail FIFO and the line behind it in one ring: packets on the line, then packets that wait, then room.
//!
//! Nothing can change the fate of a packet in such a queue, so when it leaves and when it arrives are known as it enters. That a
//! packet leaves the queue only moves a border in the ring: it is written once and read once.

use crate::line::{Line, Measured, dequeued};
use crate::shaper::Shaper;
use lopsided_core::{Bytes, Count, Cx, DropReason, EventMask, Packet, Time};
use lopsided_queue::{Backlog, BufferLimit};
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct DropTailPath {
    room: BufferLimit,
    /// Those on the line, then those that wait.
    packets: VecDeque<Packet>,
    /// The course of each packet: what is asked more often than the packets themselves stands close together. The length is a
    /// power of two.
    schedules: Vec<Schedule>,
    /// How many packets were ever taken from the line. Its index is this count's remainder by the ring's length, and so below.
    front: usize,
    /// How many packets ever left the queue: the number of the first that waits.
    next_to_depart: usize,
    /// How many packets ever came in.
    end: usize,
}

/// The course of one packet.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    entered: Time,
    departs: Time,
    arrives: Time,
    /// Octets of IP, and on the wire.
    size: u32,
    wire: u32,
}

const NOTHING: Schedule = Schedule { entered: Time::ZERO, departs: Time::ZERO, arrives: Time::ZERO, size: 0, wire: 0 };
/// Small, because a big topology has thousands of links.
const SMALLEST: usize = 4;

impl Schedule {
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    fn wire(&self) -> Bytes {
        Bytes::new(u64::from(self.wire))
    }
}

impl DropTailPath {
    pub(crate) fn new(room: BufferLimit) -> DropTailPath {
        let schedules = vec![NOTHING; SMALLEST];
        DropTailPath { room, packets: VecDeque::new(), schedules, front: 0, next_to_depart: 0, end: 0 }
    }

    /// A packet arrives at the queue.
    #[inline]
    pub(crate) fn handle_packet(
        &mut self,
        packet: Packet,
        size: Bytes,
        line: &mut Line,
        measured: &mut Measured,
        cx: &mut Cx<'_>,
    ) {
        let now = cx.now();
        if !self.room.fits(size) {
            return refuse(packet, size, measured, cx);
        }
        let wire = line.framing.wire_size(size);
        let (departs, sent) = line.shaper.schedule(now, wire);
        let arrives = sent + line.delay;
        measured.queue.entered(now, size);
        let Backlog { packets, bytes } = measured.queue.backlog();
        self.push(packet, |packet| {
            cx.trace_enqueued(packet, packets, bytes);
            Schedule { entered: now, departs, arrives, size: size.get() as u32, wire: wire.get() as u32 }
        });
        if departs <= now {
            self.catch_up(measured, cx);
        }
    }

    /// A packet that fits joins those that wait, and this is its course.
    #[inline]
    fn push(&mut self, packet: Packet, course: impl FnOnce(&Packet) -> Schedule) {
        self.packets.push_back(packet);
        // Only now, so that the packet is not carried about meanwhile.
        let schedule = course(self.packets.back().expect("it was just put there"));
        if self.end - self.front == self.schedules.len() {
            self.grow();
        }
        self.room.charge(schedule.size());
        let index = self.index(self.end);
        self.schedules[index] = schedule;
        self.end += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let (old, new) = (self.schedules.len(), 2 * self.schedules.len());
        let mut schedules = vec![NOTHING; new];
        for count in self.front..self.end {
            schedules[count & (new - 1)] = self.schedules[count & (old - 1)];
        }
        self.schedules = schedules;
    }

    #[inline]
    fn index(&self, count: usize) -> usize {
        count & (self.schedules.len() - 1)
    }

    /// Accounts for what was scheduled to have left the queue by now.
    #[inline(always)]
    pub(crate) fn catch_up(&mut self, measured: &mut Measured, cx: &mut Cx<'_>) {
        if self.is_departure_due(cx.now()) {
            self.depart_due(measured, cx);
        }
    }

    #[inline]
    fn is_departure_due(&self, now: Time) -> bool {
        self.next_to_depart < self.end && self.schedules[self.index(self.next_to_depart)].departs <= now
    }

    /// Lets those go whose time has come: one at least.
    #[inline(never)]
    fn depart_due(&mut self, measured: &mut Measured, cx: &mut Cx<'_>) {
        loop {
            let schedule = self.depart();
            measured.queue.left(schedule.departs, schedule.entered, schedule.size());
            measured.wire_bytes += schedule.wire();
            let (backlog, path) = (measured.queue.backlog(), &*self);
            cx.at(schedule.departs).trace(EventMask::QUEUES, || {
                let packet = path.last_departed().expect("it has not arrived before it departed");
                dequeued(packet, backlog, schedule.departs, schedule.entered)
            });
            if !self.is_departure_due(cx.now()) {
                return;
            }
        }
    }

    /// The next packet leaves the queue.
    #[inline]
    fn depart(&mut self) -> Schedule {
        let schedule = self.schedules[self.index(self.next_to_depart)];
        self.next_to_depart += 1;
        self.room.release(schedule.size());
        schedule
    }

    fn last_departed(&self) -> Option<&Packet> {
        self.packets.get(self.next_to_depart - self.front - 1)
    }

    /// When the next packet arrives, whether it is on the line yet or not.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Time> {
        (self.front < self.end).then(|| self.schedules[self.index(self.front)].arrives)
    }

    /// Takes the first packet on the line, and its size, if it has arrived.
    #[inline]
    pub(crate) fn take_arrived(&mut self, now: Time) -> Option<(Packet, Bytes)> {
        let index = self.index(self.front);
        let schedule = self.schedules[index];
        if self.front == self.next_to_depart || schedule.arrives > now {
            return None;
        }
        self.front += 1;
        self.packets.pop_front().map(|packet| (packet, schedule.size()))
    }

    /// The packets that wait.
    pub(crate) fn waiting(&self) -> Count {
        Count::of((self.next_to_depart..self.end).map(|count| self.schedules[self.index(count)].size()))
    }

    /// The packets on the line.
    pub(crate) fn in_flight(&self) -> Count {
        Count::of((self.front..self.next_to_depart).map(|count| self.schedules[self.index(count)].size()))
    }
}

#[cold]
#[inline(never)]
fn refuse(packet: Packet, size: Bytes, measured: &mut Measured, cx: &mut Cx<'_>) {
    measured.queue.offered(cx.now(), size, measured.queue.backlog());
    cx.drop(packet, DropReason::QueueFull);
}
