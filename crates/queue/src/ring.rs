//! The ring of a FIFO: packets on the line, then packets that wait, then room.
//!
//! Packets are written once and read once; what is asked often (times and sizes) stands apart from them, close together.

use lopsided_core::{Packet, Time};

#[derive(Debug)]
pub(crate) struct Ring {
    /// As many as a power of two; `None` where no packet is, or where one was taken from among others.
    packets: Vec<Option<Packet>>,
    notes: Vec<Note>,
    /// Count of packets ever taken from the front; its place is this count's remainder by the ring's length, and so below.
    front: usize,
    /// Count of packets that ever left the queue: the first that waits.
    border: usize,
    /// Count of packets ever put in.
    end: usize,
    /// Places on the line whose packet was taken.
    holes: u32,
}

/// What is known of a packet in the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    /// While it waits: since when. On the line: when it arrives.
    pub time: Time,
    /// In octets of IP; zero where the packet was taken.
    pub size: u32,
}

const NOTHING: Note = Note { time: Time::ZERO, size: 0 };

impl Ring {
    pub(crate) fn new() -> Ring {
        let packets = std::iter::repeat_with(|| None).take(SMALLEST).collect();
        Ring { packets, notes: vec![NOTHING; SMALLEST], front: 0, border: 0, end: 0, holes: 0 }
    }

    #[inline]
    fn place(&self, count: usize) -> usize {
        count & (self.notes.len() - 1)
    }

    /// A packet joins those that wait.
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet, note: Note) {
        if self.end - self.front == self.notes.len() {
            self.grow();
        }
        let place = self.place(self.end);
        self.packets[place] = Some(packet);
        self.notes[place] = note;
        self.end += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let (old, new) = (self.notes.len(), 2 * self.notes.len());
        let mut packets: Vec<Option<Packet>> = std::iter::repeat_with(|| None).take(new).collect();
        let mut notes = vec![NOTHING; new];
        for count in self.front..self.end {
            packets[count & (new - 1)] = self.packets[count & (old - 1)].take();
            notes[count & (new - 1)] = self.notes[count & (old - 1)];
        }
        (self.packets, self.notes) = (packets, notes);
    }

    /// The first that waits.
    #[inline]
    pub(crate) fn head(&self) -> Option<Note> {
        (self.border < self.end).then(|| self.notes[self.place(self.border)])
    }

    pub(crate) fn head_packet(&self) -> Option<&Packet> {
        if self.border < self.end { self.packets[self.place(self.border)].as_ref() } else { None }
    }

    /// The first that waits goes onto the line, where it arrives at the given time.
    #[inline]
    pub(crate) fn depart(&mut self, arrives: Time) {
        debug_assert!(self.border < self.end);
        let place = self.place(self.border);
        self.notes[place].time = arrives;
        self.border += 1;
    }

    /// Takes the first that waits out of the ring.
    pub(crate) fn take_head(&mut self) -> Option<Packet> {
        let place = self.place(self.border);
        let packet = if self.border < self.end { self.packets[place].take() } else { None }?;
        if self.front == self.border {
            self.front += 1;
        } else {
            // Packets on the line stand before it: its place is given up when theirs are.
            self.notes[place].size = 0;
            self.holes += 1;
        }
        self.border += 1;
        Some(packet)
    }

    /// When the first on the line arrives.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Time> {
        (self.front < self.border).then(|| self.notes[self.place(self.front)].time)
    }

    /// Takes the first on the line, and its size, if it has arrived.
    #[inline]
    pub(crate) fn take_arrived(&mut self, now: Time) -> Option<(Packet, u32)> {
        let place = self.place(self.front);
        let note = self.notes[place];
        if self.front == self.border || note.time > now {
            return None;
        }
        let packet = self.packets[place].take();
        self.front += 1;
        if self.holes > 0 {
            self.skip_holes();
        }
        packet.map(|packet| (packet, note.size))
    }

    /// A place given up is never at the front of the line.
    #[cold]
    fn skip_holes(&mut self) {
        while self.front < self.border && self.notes[self.place(self.front)].size == 0 {
            self.front += 1;
            self.holes -= 1;
        }
    }

    /// The sizes of the packets on the line.
    pub(crate) fn line_sizes(&self) -> impl Iterator<Item = u32> {
        (self.front..self.border).map(|count| self.notes[self.place(count)].size).filter(|size| *size > 0)
    }
}

/// Small, because a big topology has thousands of links.
const SMALLEST: usize = 4;
