//! A drop-tail FIFO and the line behind it.
//!
//! Nothing can change the fate of a packet in such a queue, so when it leaves and when it arrives are known as it enters, even where
//! that is still to come: see [`crate::Link::pass_through`]. What the clock has to pass before it counts is in the statistics only
//! once it did: the courses of the packets wait in a ring until somebody asks, or until it is full.

use crate::line::{Line, Measured, dequeued};
use crate::shaper::Shaper;
use lopsided_core::{Bytes, Count, Cx, DropReason, EventMask, Packet, Time};
use lopsided_queue::{Backlog, BufferLimit};
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct DropTailPath {
    /// The buffer as it is when the latest packet has entered.
    room: BufferLimit,
    /// The packets that arrive by an event of this link, and when the first of them does; `Time::MAX` where there is none.
    packets: VecDeque<Arriving>,
    next_arrival: Time,
    /// The courses of the packets that have not arrived when they were last counted. The length is a power of two; the place of a
    /// packet is its number's remainder.
    courses: Vec<Course>,
    /// How many packets were taken in, and how many of them were counted as they entered, left the queue and arrived.
    end: usize,
    entered: usize,
    departed: usize,
    arrived: usize,
    /// How many have left the buffer when the latest packet has entered.
    released: usize,
    /// How often the courses were counted for want of places since there were last too few.
    counted: u32,
    /// Those that the queue has no room for when they come.
    refused: VecDeque<Refused>,
}

#[derive(Debug)]
struct Arriving {
    at: Time,
    packet: Packet,
}

#[derive(Debug)]
struct Refused {
    at: Time,
    packet: Packet,
}

/// The course of one packet.
#[derive(Clone, Copy, Debug)]
struct Course {
    enters: Time,
    departs: Time,
    arrives: Time,
    /// Octets of IP, and on the wire.
    size: u32,
    wire: u32,
}

const NOTHING: Course = Course { enters: Time::ZERO, departs: Time::ZERO, arrives: Time::ZERO, size: 0, wire: 0 };
/// Small, because a big topology has thousands of links.
const SMALLEST: usize = 4;
/// Memory beyond so many packets is given back where fewer than one in [`SPARSE`] places is taken, and the places have sufficed so
/// often: a window that comes as a burst in each round trip keeps its room.
const ROOMY: usize = 16;
const SPARSE: usize = 8;
const CALM: u32 = 4;

impl Course {
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    fn wire(&self) -> Bytes {
        Bytes::new(u64::from(self.wire))
    }
}

impl DropTailPath {
    pub(crate) fn new(room: BufferLimit) -> DropTailPath {
        DropTailPath {
            room,
            packets: VecDeque::new(),
            next_arrival: Time::MAX,
            courses: vec![NOTHING; SMALLEST],
            end: 0,
            entered: 0,
            departed: 0,
            arrived: 0,
            released: 0,
            counted: 0,
            refused: VecDeque::new(),
        }
    }

    /// A packet enters at `at`, behind all that entered before, and arrives by an event of this link.
    #[inline]
    pub(crate) fn handle_packet(
        &mut self,
        packet: Packet,
        at: Time,
        line: &mut Line,
        measured: &mut Measured,
        cx: &mut Cx<'_>,
    ) {
        match self.take_in(packet.size(), at, line, measured, cx) {
            None => self.refuse(packet, at, measured, cx),
            Some(arrives) => {
                self.next_arrival = self.next_arrival.min(arrives);
                self.packets.push_back(Arriving { at: arrives, packet });
                self.catch_up(measured, cx);
            }
        }
    }

    /// A packet enters at `at` and is given back at once, with the time at which it arrives. `None`: it was refused.
    #[inline]
    pub(crate) fn pass_through(
        &mut self,
        packet: Packet,
        at: Time,
        line: &mut Line,
        measured: &mut Measured,
        cx: &mut Cx<'_>,
    ) -> Option<(Packet, Time)> {
        match self.take_in(packet.size(), at, line, measured, cx) {
            None => {
                self.refuse(packet, at, measured, cx);
                None
            }
            Some(arrives) => Some((packet, arrives)),
        }
    }

    /// Notes the course of a packet of this size, and gives the time at which it arrives; `None` if the buffer is full then.
    #[inline(always)]
    fn take_in(
        &mut self,
        size: Bytes,
        at: Time,
        line: &mut Line,
        measured: &mut Measured,
        cx: &mut Cx<'_>,
    ) -> Option<Time> {
        self.release_until(at);
        if !self.room.fits(size) {
            return None;
        }
        let wire = line.framing.wire_size(size);
        let (departs, sent) = line.shaper.schedule(at, wire);
        let arrives = sent + line.delay;
        if self.end - self.arrived == self.courses.len() {
            self.count_until(cx.now(), measured, cx);
            self.make_room();
        }
        let index = self.index(self.end);
        let (size32, wire32) = (size.get() as u32, wire.get() as u32);
        self.courses[index] = Course { enters: at, departs, arrives, size: size32, wire: wire32 };
        let all_counted = self.departed == self.end;
        self.end += 1;
        if departs > at {
            self.room.charge(size);
            return Some(arrives);
        }
        // An idle line: the packet takes no room.
        self.released = self.end;
        if all_counted && at == cx.now() && !cx.is_watched(EventMask::QUEUES) {
            self.entered = self.end;
            self.departed = self.end;
            measured.queue.passed(size);
            measured.wire_bytes += wire;
        }
        Some(arrives)
    }

    /// Frees the room of those that leave the queue by `at`.
    #[inline(always)]
    fn release_until(&mut self, at: Time) {
        while self.released < self.end {
            let course = &self.courses[self.index(self.released)];
            if course.departs > at {
                return;
            }
            self.room.release(course.size());
            self.released += 1;
        }
    }

    /// Of courses: twice as much where all places are taken, half where few are, as behind a burst.
    fn make_room(&mut self) {
        let (taken, places) = (self.end - self.arrived, self.courses.len());
        if taken == places {
            self.resize(2 * places);
        } else if places > ROOMY && self.counted >= CALM && SPARSE * taken < places {
            self.resize(places / 2);
            self.packets.shrink_to(places / 2);
        } else {
            self.counted += 1;
        }
    }

    #[cold]
    fn resize(&mut self, new: usize) {
        let mut courses = vec![NOTHING; new];
        for number in self.arrived..self.end {
            courses[number & (new - 1)] = self.course(number);
        }
        self.courses = courses;
        self.counted = 0;
    }

    #[inline]
    fn index(&self, number: usize) -> usize {
        number & (self.courses.len() - 1)
    }

    #[inline]
    fn course(&self, number: usize) -> Course {
        self.courses[self.index(number)]
    }

    /// Tells the watchers what happened up to now, if there are any.
    #[inline]
    pub(crate) fn catch_up(&mut self, measured: &mut Measured, cx: &mut Cx<'_>) {
        if cx.is_watched(EventMask::QUEUES) {
            self.count_until(cx.now(), measured, cx);
        }
    }

    /// Puts into the statistics what happened up to now.
    #[inline(never)]
    pub(crate) fn count_until(&mut self, now: Time, measured: &mut Measured, cx: &mut Cx<'_>) {
        let watched = cx.is_watched(EventMask::QUEUES);
        while self.entered < self.end {
            let course = self.course(self.entered);
            if course.enters > now {
                break;
            }
            if self.departed < self.entered {
                self.count_departures(course.enters, measured, cx);
            }
            if course.departs == course.enters && !watched {
                measured.queue.passed(course.size());
                measured.wire_bytes += course.wire();
                self.departed += 1;
            } else {
                self.count_entry(course, measured, cx);
            }
            self.entered += 1;
        }
        self.count_departures(now, measured, cx);
        while self.arrived < self.departed && self.course(self.arrived).arrives <= now {
            self.arrived += 1;
        }
        self.drop_refused(now, measured, cx);
    }

    /// Counts the next packet as it enters.
    #[inline]
    fn count_entry(&self, course: Course, measured: &mut Measured, cx: &mut Cx<'_>) {
        measured.queue.entered(course.enters, course.size());
        if cx.is_watched(EventMask::QUEUES) {
            let Backlog { packets, bytes } = measured.queue.backlog();
            cx.at(course.enters).trace_enqueued(self.packet(self.entered), packets, bytes);
        }
    }

    /// Counts those that left the queue by `until`, of those that were counted as they entered.
    #[inline(always)]
    fn count_departures(&mut self, until: Time, measured: &mut Measured, cx: &mut Cx<'_>) {
        while self.departed < self.entered {
            let course = self.course(self.departed);
            if course.departs > until {
                return;
            }
            measured.queue.left(course.departs, course.enters, course.size());
            measured.wire_bytes += course.wire();
            let (backlog, path) = (measured.queue.backlog(), &*self);
            cx.at(course.departs).trace(EventMask::QUEUES, || {
                dequeued(path.packet(path.departed), backlog, course.departs, course.enters)
            });
            self.departed += 1;
        }
    }

    /// The packet with this number. Where somebody watches, none passes through, and none arrives before it is counted.
    fn packet(&self, number: usize) -> &Packet {
        &self.packets[self.packets.len() - (self.end - number)].packet
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, packet: Packet, at: Time, measured: &mut Measured, cx: &mut Cx<'_>) {
        self.refused.push_back(Refused { at, packet });
        self.catch_up(measured, cx);
        self.drop_refused(cx.now(), measured, cx);
    }

    /// Drops those that found no room up to now.
    #[inline]
    fn drop_refused(&mut self, now: Time, measured: &mut Measured, cx: &mut Cx<'_>) {
        while self.refused.front().is_some_and(|refused| refused.at <= now) {
            if let Some(Refused { at, packet }) = self.refused.pop_front() {
                measured.queue.offered(at, packet.size(), measured.queue.backlog());
                cx.at(at).drop(packet, DropReason::QueueFull);
            }
        }
    }

    /// When the next packet arrives by an event of this link, whether it is on the line yet or not.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Time> {
        (self.next_arrival != Time::MAX).then_some(self.next_arrival)
    }

    /// Takes the first packet on the line if it has arrived.
    #[inline]
    pub(crate) fn take_arrived(&mut self, now: Time) -> Option<Packet> {
        if self.next_arrival > now {
            return None;
        }
        let first = self.packets.pop_front()?;
        self.next_arrival = self.packets.front().map_or(Time::MAX, |next| next.at);
        Some(first.packet)
    }

    /// Hands over the packets that would arrive by an event of this link, with their times.
    pub(crate) fn take_arriving(&mut self) -> impl Iterator<Item = (Time, Packet)> + use<> {
        self.next_arrival = Time::MAX;
        std::mem::take(&mut self.packets).into_iter().map(|arriving| (arriving.at, arriving.packet))
    }

    /// Takes such packets back, in order of time.
    pub(crate) fn put_arriving(&mut self, arriving: impl Iterator<Item = (Time, Packet)>) {
        self.packets.extend(arriving.map(|(at, packet)| Arriving { at, packet }));
        self.next_arrival = self.packets.front().map_or(Time::MAX, |first| first.at);
    }

    /// The packets that are in the hands of this link.
    pub(crate) fn held(&self) -> Count {
        let arriving = self.packets.iter().map(|arriving| arriving.packet.size());
        Count::of(arriving.chain(self.refused.iter().map(|refused| refused.packet.size())))
    }

    // As last counted.

    /// How many packets have arrived.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived as u64
    }

    /// The packets that wait.
    pub(crate) fn waiting(&self) -> Count {
        self.sum(self.departed, self.entered)
    }

    /// The packets on the line.
    pub(crate) fn in_flight(&self) -> Count {
        self.sum(self.arrived, self.departed)
    }

    fn sum(&self, from: usize, to: usize) -> Count {
        Count::of((from..to).map(|number| self.course(number).size()))
    }
}
