//! A drop-tail FIFO and the line behind it.
//!
//! Nothing can change the fate of a packet in such a queue, so when it leaves and when it arrives, or that the line
//! loses it then, is known as it enters, even where that is still to come: see [`crate::ForetoldLink::pass_through`].
//! Where nobody looks before it
//! has arrived (see [`Cx::unseen_until`]), the statistics count its whole course as it enters. What somebody may see in
//! the middle of its course waits in a ring, and is counted as far as the clock has come.

use crate::line::{Line, Measured, dequeued};
use crate::loss::Loss;
use lopsided_core::{Bytes, Count, Cx, DropReason, EventMask, Packet, Time};
use lopsided_queue::{Backlog, BufferLimit};
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct DropTailPath {
    /// The buffer as it is when the latest packet has entered that waits: those that wait in it, when the first of them
    /// leaves (`Time::MAX` where there is none), and how many it has places for.
    waiting: VecDeque<Waiting>,
    waiting_bytes: Bytes,
    next_departure: Time,
    places: usize,
    /// The packets that arrive by an event of this link, and when the first of them does; `Time::MAX` where there is
    /// none.
    packets: VecDeque<Arriving>,
    next_arrival: Time,
    /// The courses of packets that somebody may see, until they are counted as arrived.
    courses: VecDeque<Course>,
    /// How many of these were counted as they entered, and as they left the queue.
    entered: u32,
    departed: u32,
    /// `None` where no packet is refused or lost that finds the line idle.
    special: Option<Box<Special>>,
    /// What ends at this link; `None` where nothing ever did.
    ends: Option<Box<Ends>>,
}

/// What few links have.
#[derive(Debug)]
struct Special {
    /// The room of a buffer that is counted in octets.
    room: Option<BufferLimit>,
    /// What the line does to packets.
    loss: Option<Loss>,
}

/// A packet that waits in the buffer.
#[derive(Debug)]
struct Waiting {
    departs: Time,
    size: Bytes,
}

#[derive(Debug)]
struct Arriving {
    at: Time,
    packet: Packet,
}

/// The packets that end here, as they are known to before they do.
#[derive(Debug, Default)]
struct Ends {
    /// In the order in which they end.
    coming: VecDeque<End>,
    /// Those that the line has lost.
    lost: Count,
}

/// A packet that the queue has no room for when it comes, or that the line loses when it leaves the queue.
#[derive(Debug)]
struct End {
    at: Time,
    packet: Packet,
    why: DropReason,
}

/// Why a packet does not arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// It finds no room.
    Full,
    /// The line loses it as it leaves the queue.
    Lost(Time, DropReason),
}

/// The course of one packet.
#[derive(Clone, Copy, Debug)]
struct Course {
    enters: Time,
    departs: Time,
    /// `Time::MAX` if the line loses it.
    arrives: Time,
    /// Octets of IP, and on the wire.
    size: u32,
    wire: u32,
}

/// Memory beyond so many packets is given back where fewer than one in [`SPARSE`] places is taken, which is looked at
/// every [`LOOK`] packets: big topologies have thousands of links.
const ROOMY: usize = 8;
const SPARSE: usize = 4;
const LOOK: u64 = 64;

impl Course {
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    fn wire(&self) -> Bytes {
        Bytes::new(u64::from(self.wire))
    }

    fn is_lost(&self) -> bool {
        self.arrives == Time::MAX
    }

    /// When it arrives, or is lost.
    fn ends(&self) -> Time {
        if self.is_lost() { self.departs } else { self.arrives }
    }
}

impl Special {
    fn fits(&self, size: Bytes) -> bool {
        self.room.as_ref().is_none_or(|room| room.fits(size))
    }
}

impl Ends {
    /// Behind all that end no later.
    fn add(&mut self, end: End) {
        let behind = self.coming.iter().rev().take_while(|other| other.at > end.at).count();
        self.coming.insert(self.coming.len() - behind, end);
    }
}

impl DropTailPath {
    pub(crate) fn new(room: BufferLimit, loss: Option<Loss>) -> DropTailPath {
        let (places, room) = match room.packets() {
            Some(packets) => (packets as usize, None),
            None => (usize::MAX, Some(room)),
        };
        let special = (room.is_some() || loss.is_some()).then(|| Box::new(Special { room, loss }));
        DropTailPath {
            waiting: VecDeque::new(),
            waiting_bytes: Bytes::ZERO,
            next_departure: Time::MAX,
            places,
            packets: VecDeque::new(),
            next_arrival: Time::MAX,
            courses: VecDeque::new(),
            entered: 0,
            departed: 0,
            special,
            ends: None,
        }
    }

    /// A packet of this size enters at `at`, behind all that entered before, and arrives by an event of this link. True
    /// if it is the next to arrive.
    #[inline(always)]
    pub(crate) fn handle_packet(
        &mut self,
        packet: Packet,
        size: Bytes,
        at: Time,
        line: &mut Line,
        measured: &mut Measured,
        cx: &mut Cx<'_>,
    ) -> bool {
        let arrives = match self.take_in(size, at, line, measured, cx) {
            Ok(arrives) => arrives,
            Err(ending) => {
                self.end(packet, at, ending, measured, cx);
                return false;
            }
        };
        let is_next = arrives < self.next_arrival;
        if is_next {
            self.next_arrival = arrives;
        }
        self.packets.push_back(Arriving { at: arrives, packet });
        self.catch_up(measured, cx);
        is_next
    }

    /// A packet of this size enters at `at`: its course is counted or noted. Gives the time at which it arrives, or why
    /// it does not, and [`DropTailPath::end`] must have it.
    #[inline(always)]
    pub(crate) fn take_in(
        &mut self,
        size: Bytes,
        at: Time,
        line: &mut Line,
        measured: &mut Measured,
        cx: &mut Cx<'_>,
    ) -> Result<Time, Ending> {
        if self.special.is_none() && self.courses.is_empty() {
            if let Some((arrives, passed)) = line.pass(at, size, cx.unseen_until()) {
                if u64::from(passed) % LOOK == 0 {
                    self.tidy(at);
                }
                return Ok(arrives);
            }
        }
        if self.next_departure <= at {
            self.release_until(at);
        }
        if !self.fits(size) {
            return Err(Ending::Full);
        }
        let (wire, departs, sent) = line.send(at, size);
        let arrives = match self.special.as_mut().and_then(|special| special.loss.as_mut()?.drop_reason(departs)) {
            None => line.arrival(sent),
            Some(why) => {
                self.lose(size, at, departs, wire, measured, cx);
                return Err(Ending::Lost(departs, why));
            }
        };
        self.take_course(size, at, (departs, arrives, arrives), wire, measured, cx);
        Ok(arrives)
    }

    /// The line loses the packet as it leaves the queue.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, size: Bytes, at: Time, departs: Time, wire: Bytes, measured: &mut Measured, cx: &mut Cx<'_>) {
        self.take_course(size, at, (departs, Time::MAX, departs), wire, measured, cx);
    }

    /// When the packet leaves the queue, arrives (`Time::MAX` if the line loses it) and is no longer of this link.
    #[inline(always)]
    fn take_course(
        &mut self,
        size: Bytes,
        at: Time,
        (departs, arrives, ends): (Time, Time, Time),
        wire: Bytes,
        measured: &mut Measured,
        cx: &mut Cx<'_>,
    ) {
        // On an idle line the packet takes no room.
        let mut backlog = Backlog { packets: 1, bytes: size };
        if departs > at {
            self.wait(departs, size);
            backlog = Backlog { packets: self.waiting.len() as u32, bytes: self.waiting_bytes };
        }
        if ends < cx.unseen_until() && self.courses.is_empty() {
            measured.queue.crossed(at, departs, size, backlog);
            measured.wire_bytes += wire;
            self.look_at_room(measured);
        } else {
            let (size, wire) = (size.get() as u32, wire.get() as u32);
            self.note_course(Course { enters: at, departs, arrives, size, wire }, backlog, measured, cx);
        }
    }

    /// Whether the line may lose packets.
    fn loses(&self) -> bool {
        self.special.as_ref().is_some_and(|special| special.loss.is_some())
    }

    /// Whether the buffer has room for a packet of this size.
    #[inline(always)]
    fn fits(&self, size: Bytes) -> bool {
        self.waiting.len() < self.places && self.special.as_ref().is_none_or(|special| special.fits(size))
    }

    /// A packet of this size waits in the buffer, behind all others.
    #[inline(always)]
    fn wait(&mut self, departs: Time, size: Bytes) {
        if let Some(room) = self.special.as_mut().and_then(|special| special.room.as_mut()) {
            room.charge(size);
        }
        if self.waiting.is_empty() {
            self.next_departure = departs;
        }
        self.waiting.push_back(Waiting { departs, size });
        self.waiting_bytes += size;
    }

    /// Frees the room of those that leave the queue by `at`.
    #[inline(always)]
    fn release_until(&mut self, at: Time) {
        while let Some(first) = self.waiting.pop_front() {
            if let Some(room) = self.special.as_mut().and_then(|special| special.room.as_mut()) {
                room.release(first.size);
            }
            self.waiting_bytes -= first.size;
            self.next_departure = self.waiting.front().map_or(Time::MAX, |next| next.departs);
            if self.next_departure > at {
                break;
            }
        }
    }

    /// Somebody may see a packet in the middle of this course, or of one before it. With it, so much waits when it
    /// enters.
    #[inline(never)]
    fn note_course(&mut self, course: Course, backlog: Backlog, measured: &mut Measured, cx: &mut Cx<'_>) {
        let unseen_until = cx.unseen_until();
        let counted_until = unseen_until.max(cx.now());
        if self.courses.front().is_some_and(|first| first.ends() <= counted_until) {
            self.count_courses(counted_until, measured, cx);
        }
        if course.ends() < unseen_until && self.courses.is_empty() {
            measured.queue.crossed(course.enters, course.departs, course.size(), backlog);
            measured.wire_bytes += course.wire();
            self.look_at_room(measured);
        } else {
            // What waits before it may have been counted as gone. What enters later finds noted all that waits before
            // it.
            if course.enters <= counted_until {
                measured.queue.notice(backlog);
            }
            if self.courses.len() == self.courses.capacity() {
                self.make_room_for_courses();
            }
            self.courses.push_back(course);
        }
    }

    /// The ring grows by a quarter, not to the double: a link that ten thousand flows share has half a million courses,
    /// and of links with few there are thousands.
    #[cold]
    fn make_room_for_courses(&mut self) {
        self.courses.reserve_exact((self.courses.len() / 4).max(ROOMY));
    }

    /// Tells the watchers what happened up to now, if there are any.
    #[inline]
    pub(crate) fn catch_up(&mut self, measured: &mut Measured, cx: &mut Cx<'_>) {
        if cx.is_watched(EventMask::QUEUES) {
            self.count_until(cx.now(), measured, cx);
        }
    }

    /// Puts into the statistics what happened up to `until`: all that enters by then has entered.
    #[inline(never)]
    pub(crate) fn count_until(&mut self, until: Time, measured: &mut Measured, cx: &mut Cx<'_>) {
        self.count_courses(until, measured, cx);
        self.let_end(until, measured, cx);
    }

    /// Puts the courses up to `until`, which nobody sees before, into the statistics.
    fn count_courses(&mut self, until: Time, measured: &mut Measured, cx: &mut Cx<'_>) {
        while let Some(&course) = self.courses.get(self.entered as usize).filter(|course| course.enters <= until) {
            self.count_departures(course.enters, measured, cx);
            self.count_entry(course, measured, cx);
            self.entered += 1;
        }
        self.count_departures(until, measured, cx);
        while self.departed > 0 && self.courses.front().is_some_and(|first| first.ends() <= until) {
            self.courses.pop_front();
            self.entered -= 1;
            self.departed -= 1;
        }
    }

    /// A packet more has left the queue.
    #[inline(always)]
    fn look_at_room(&mut self, measured: &Measured) {
        if measured.queue.sent_packets() & (LOOK - 1) == 0 {
            self.give_back_room();
        }
    }

    /// Those that waited before the line became idle are still in the ring.
    #[cold]
    fn tidy(&mut self, at: Time) {
        if self.next_departure <= at {
            self.release_until(at);
        }
        self.give_back_room();
    }

    #[cold]
    fn give_back_room(&mut self) {
        give_back_room(&mut self.waiting);
        give_back_room(&mut self.packets);
        give_back_room(&mut self.courses);
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
            let course = self.courses[self.departed as usize];
            if course.departs > until {
                return;
            }
            measured.queue.left(course.departs, course.enters, course.size());
            measured.wire_bytes += course.wire();
            self.look_at_room(measured);
            let (backlog, path) = (measured.queue.backlog(), &*self);
            cx.at(course.departs).trace(EventMask::QUEUES, || {
                dequeued(path.packet(path.departed), backlog, course.departs, course.enters)
            });
            self.departed += 1;
            // Who watches is told of it before what comes later.
            if course.is_lost() && cx.is_watched(EventMask::QUEUES) {
                self.let_end(course.departs, measured, cx);
            }
        }
    }

    /// The packet with this course. Where somebody watches, none passes through, and none arrives or is lost before it
    /// is counted.
    fn packet(&self, course: u32) -> &Packet {
        let course = course as usize;
        if !self.loses() {
            return &self.packets[self.packets.len() - (self.courses.len() - course)].packet;
        }
        let on = self.courses.range(course..);
        let lost = on.filter(|course| course.is_lost()).count();
        let ends = self.ends.iter().flat_map(|ends| ends.coming.iter().rev());
        match self.courses[course].is_lost() {
            false => &self.packets[self.packets.len() - (self.courses.len() - course - lost)].packet,
            true => {
                let mut on_the_line = ends.filter(|end| end.why != DropReason::QueueFull);
                &on_the_line.nth(lost - 1).expect("what is lost ends after it is counted").packet
            }
        }
    }

    /// A packet that entered at `at` does not arrive.
    #[cold]
    #[inline(never)]
    pub(crate) fn end(&mut self, packet: Packet, at: Time, ending: Ending, measured: &mut Measured, cx: &mut Cx<'_>) {
        let ends = self.ends.get_or_insert_default();
        ends.add(match ending {
            Ending::Full => End { at, packet, why: DropReason::QueueFull },
            Ending::Lost(departs, why) => End { at: departs, packet, why },
        });
        // What a line loses is known before others are refused that come before it leaves.
        let known = if self.loses() { at } else { Time::MAX };
        self.catch_up(measured, cx);
        self.let_end(cx.unseen_until().max(cx.now()).min(known), measured, cx);
    }

    /// Drops those that end by `until`.
    #[inline]
    fn let_end(&mut self, until: Time, measured: &mut Measured, cx: &mut Cx<'_>) {
        let Some(Ends { coming, lost, .. }) = self.ends.as_deref_mut() else { return };
        while coming.front().is_some_and(|first| first.at <= until) {
            let Some(End { at, packet, why }) = coming.pop_front() else { return };
            match why {
                DropReason::QueueFull => measured.queue.offered(at, packet.size(), measured.queue.backlog()),
                _ => lost.record(packet.size()),
            }
            cx.at(at).drop(packet, why);
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
        let ending = self.ends.iter().flat_map(|ends| &ends.coming).map(|end| end.packet.size());
        Count::of(arriving.chain(ending))
    }

    // As last counted.

    /// The packets that wait.
    pub(crate) fn waiting(&self) -> Count {
        Count::of(self.courses.range(self.departed as usize..self.entered as usize).map(Course::size))
    }

    /// The packets on the line.
    pub(crate) fn in_flight(&self) -> Count {
        let on_the_line = self.courses.range(..self.departed as usize).filter(|course| !course.is_lost());
        Count::of(on_the_line.map(Course::size))
    }

    /// The packets that the line has lost.
    pub(crate) fn lost(&self) -> Count {
        self.ends.as_ref().map_or(Count::ZERO, |ends| ends.lost)
    }
}

/// Half of the places, where few are taken.
fn give_back_room<T>(ring: &mut VecDeque<T>) {
    let places = ring.capacity();
    if places > ROOMY && SPARSE * ring.len() < places {
        ring.shrink_to(places / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four links stand between two hosts, and each packet under way is noted in one of them at least.
    #[test]
    fn what_a_link_takes_and_what_it_notes_of_a_packet() {
        assert!(size_of::<crate::Link>() <= 496, "a link takes {}", size_of::<crate::Link>());
        assert_eq!((size_of::<Arriving>(), size_of::<Waiting>(), size_of::<Course>()), (16, 16, 32));
    }
}
