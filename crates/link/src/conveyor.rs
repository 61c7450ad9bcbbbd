//! A drop-tail FIFO and the line behind it in one ring: packets on the line, then packets that wait, then room.
//!
//! Nothing can change the fate of a packet in such a queue, so when it leaves and when it arrives are known as it enters. That a
//! packet leaves the queue only moves a border in the ring: it is written once and read once.

use lopsided_core::{Bytes, Packet, Time};
use lopsided_queue::BufferLimit;
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Conveyor {
    room: BufferLimit,
    /// Those on the line, then those that wait.
    packets: VecDeque<Packet>,
    /// The course of each; what is asked more often than the packets themselves stands close together. As many as a power of two.
    notes: Vec<Note>,
    /// Count of packets ever taken from the line; its place is this count's remainder by the ring's length, and so below.
    front: usize,
    /// Count of packets ever departed: the first that waits.
    border: usize,
    /// Count of packets ever put in.
    end: usize,
}

/// The course of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    pub entered: Time,
    pub departs: Time,
    pub arrives: Time,
    /// Octets of IP, and on the wire.
    pub size: u32,
    pub wire: u32,
}

const NOTHING: Note = Note { entered: Time::ZERO, departs: Time::ZERO, arrives: Time::ZERO, size: 0, wire: 0 };
/// Small, because a big topology has thousands of links.
const SMALLEST: usize = 4;

impl Note {
    pub(crate) fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    pub(crate) fn wire(&self) -> Bytes {
        Bytes::new(u64::from(self.wire))
    }
}

impl Conveyor {
    pub(crate) fn new(room: BufferLimit) -> Conveyor {
        Conveyor { room, packets: VecDeque::new(), notes: vec![NOTHING; SMALLEST], front: 0, border: 0, end: 0 }
    }

    #[inline]
    fn place(&self, count: usize) -> usize {
        count & (self.notes.len() - 1)
    }

    /// Whether there is room for a packet of this size.
    #[inline]
    pub(crate) fn admits(&self, size: Bytes) -> bool {
        self.room.fits(size)
    }

    /// A packet that is admitted joins those that wait, and this is its course.
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet, course: impl FnOnce(&Packet) -> Note) {
        self.packets.push_back(packet);
        // Only now, so that the packet is not carried about meanwhile.
        let note = course(self.packets.back().expect("it was just put there"));
        if self.end - self.front == self.notes.len() {
            self.grow();
        }
        self.room.charge(note.size());
        let place = self.place(self.end);
        self.notes[place] = note;
        self.end += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let (old, new) = (self.notes.len(), 2 * self.notes.len());
        let mut notes = vec![NOTHING; new];
        for count in self.front..self.end {
            notes[count & (new - 1)] = self.notes[count & (old - 1)];
        }
        self.notes = notes;
    }

    /// Whether the next packet should have left the queue.
    #[inline]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.border < self.end && self.notes[self.place(self.border)].departs <= now
    }

    /// The next packet leaves the queue, if its time has come.
    #[inline]
    pub(crate) fn depart(&mut self, now: Time) -> Option<Note> {
        let note = self.notes[self.place(self.border)];
        if self.border == self.end || note.departs > now {
            return None;
        }
        self.border += 1;
        self.room.release(note.size());
        Some(note)
    }

    /// The packet that left the queue last.
    pub(crate) fn last_departed(&self) -> Option<&Packet> {
        self.packets.get(self.border - self.front - 1)
    }

    /// When the next packet arrives, whether it is on the line yet or not.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Time> {
        (self.front < self.end).then(|| self.notes[self.place(self.front)].arrives)
    }

    /// Takes the first packet on the line, and its size, if it has arrived.
    #[inline]
    pub(crate) fn take_arrived(&mut self, now: Time) -> Option<(Packet, Bytes)> {
        let place = self.place(self.front);
        let note = self.notes[place];
        if self.front == self.border || note.arrives > now {
            return None;
        }
        self.front += 1;
        self.packets.pop_front().map(|packet| (packet, note.size()))
    }

    /// Sizes of the packets that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Bytes> {
        (self.border..self.end).map(|count| self.notes[self.place(count)].size())
    }

    /// Sizes of the packets on the line.
    pub(crate) fn on_the_line(&self) -> impl Iterator<Item = Bytes> {
        (self.front..self.border).map(|count| self.notes[self.place(count)].size())
    }
}
