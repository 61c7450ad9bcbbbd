//! The receive buffer: how it grows, and the window that it lets a receiver offer.

use super::answer_window::AnswerWindow;
use super::filling::Filling;
use super::memory::{self, Memory};
use super::rounds::Rounds;
use crate::profile::{BufferRule, Profile, ReceiveWindow, WindowUpdate};
use lopsided_core::{Bytes, Time};

/// FreeBSD: in its clock's ticks of 1 ms, as timestamps have them.
const LONGEST_ROUND_MS: i32 = 1000;

#[derive(Debug)]
pub(super) struct Buffer {
    rule: BufferRule,
    update: WindowUpdate,
    window: Window,
    /// FreeBSD: the stamp that a round trip by timestamps began with, and the octets since the last one ended.
    round: Option<u32>,
    octets: u64,
    /// FreeBSD: what the last round trip brought.
    brought: u64,
    pub rounds: Rounds,
}

#[derive(Debug)]
enum Window {
    /// The room that the buffer has.
    Room {
        capacity: u64,
        /// It holds whole segments.
        whole: bool,
    },
    Memory(Memory),
}

impl Buffer {
    pub fn new(profile: &Profile) -> Buffer {
        let rule = profile.receive_buffer;
        let window = match (profile.receive_window, rule) {
            (ReceiveWindow::Memory { per_segment }, _) => Window::Memory(Memory::new(rule, per_segment)),
            // Buffers that grow freely are Linux's.
            (_, BufferRule::Auto { .. }) => Window::Memory(Memory::new(rule, 0)),
            (held, _) => Window::Room { capacity: rule.initial().get(), whole: held == ReceiveWindow::Segments },
        };
        let update = profile.window_update;
        Buffer { rule, update, window, round: None, octets: 0, brought: 0, rounds: Rounds::default() }
    }

    /// It is of this size from now on.
    pub fn set_size(&mut self, size: Bytes) {
        self.rule = BufferRule::Fixed(size);
        match &mut self.window {
            Window::Room { capacity, .. } => *capacity = size.get(),
            Window::Memory(memory) => memory.set_size(size.get()),
        }
    }

    /// The window of a SYN.
    pub fn first_window(&self, mss: u64) -> u64 {
        match &self.window {
            Window::Room { capacity, .. } => *capacity,
            Window::Memory(memory) => memory.first_window(mss),
        }
    }

    /// Data may come from now on.
    pub fn establish(&mut self, now: Time, filling: Filling) {
        self.rounds.begin(now);
        match &mut self.window {
            Window::Memory(memory) => memory.establish(filling),
            Window::Room { capacity, whole: true } => *capacity = capacity.next_multiple_of(filling.agreed()),
            Window::Room { whole: false, .. } => {}
        }
    }

    /// Whether so many octets in so many records leave so much room that [`Buffer::answer_window`] need not be asked.
    #[inline(always)]
    pub fn has_ample_room(&self, octets: u64, records: u64, offered: u64, scale: u8) -> bool {
        match &self.window {
            Window::Room { .. } => true,
            Window::Memory(memory) => memory.has_ample_room(octets, records, offered, scale),
        }
    }

    /// The window of an acknowledgement made before the application reads, where what is unread matters to it.
    pub fn answer_window(&self, filling: Filling) -> AnswerWindow {
        match &self.window {
            Window::Room { .. } => AnswerWindow::default(),
            Window::Memory(memory) => memory.answer_window(filling),
        }
    }

    /// Whether what is unread matters to the window of an acknowledgement.
    #[inline]
    pub fn counts_unread(&self) -> bool {
        matches!(self.window, Window::Memory(_))
    }

    /// The octets that a round trip last brought, as the buffer's growth knows them.
    pub fn space(&self) -> u64 {
        match &self.window {
            Window::Room { .. } => self.brought,
            Window::Memory(memory) => memory.space(),
        }
    }

    /// The most that is offered now, whatever room there is.
    pub fn threshold(&self) -> u64 {
        match &self.window {
            Window::Room { capacity, .. } => *capacity,
            Window::Memory(memory) => memory.threshold(),
        }
    }

    /// The window to offer; at most what is open now if it should not grow. It grows by at least a segment or stays
    /// (RFC 9293 section 3.8.6.2.2, silly window avoidance); 4.4BSD's grows by anything, but not from less than a
    /// segment and a quarter of the buffer.
    pub fn window(&self, filling: Filling) -> u64 {
        match &self.window {
            Window::Room { capacity, .. } => {
                let room = capacity.saturating_sub(filling.unread).min(filling.largest());
                let grows = match self.update {
                    WindowUpdate::NearlyClosed => room >= filling.open + filling.agreed().min(capacity / 2),
                    WindowUpdate::TwoSegments => room > filling.open && room >= filling.agreed().min(capacity / 4),
                };
                if grows { room } else { filling.open }
            }
            Window::Memory(memory) => memory.window(filling),
        }
    }

    /// Whether what is left of the window leaves [`Buffer::is_update_due`] a chance.
    #[inline]
    pub fn could_be_updated(&self, open: u64) -> bool {
        match &self.window {
            Window::Room { .. } => true,
            Window::Memory(memory) => memory.could_be_updated(open),
        }
    }

    /// Whether reading has opened the window so far that the peer should be told.
    pub fn is_update_due(&self, filling: Filling, ended: bool) -> bool {
        match &self.window {
            Window::Room { capacity, .. } => {
                let room = capacity.saturating_sub(filling.unread).min(filling.largest());
                let opens = room >= filling.open + (2 * filling.agreed()).min(capacity / 2);
                match self.update {
                    WindowUpdate::NearlyClosed => filling.open < filling.agreed() && opens,
                    // None where no data can follow.
                    WindowUpdate::TwoSegments => opens && !ended,
                }
            }
            Window::Memory(memory) => memory.is_update_due(filling),
        }
    }

    /// Whether a segment of `len` octets may open the window at all.
    #[inline]
    pub fn could_grow(&self, len: u32, in_order: bool) -> bool {
        match &self.window {
            Window::Room { .. } => false,
            Window::Memory(memory) => memory.could_grow(len, in_order),
        }
    }

    /// A segment of `len` octets arrived, which may open the window; says whether it did.
    #[inline(always)]
    pub fn grow(&mut self, len: u32, in_order: bool, filling: Filling) -> bool {
        match &mut self.window {
            Window::Room { .. } => false,
            Window::Memory(memory) => memory.grow(len, in_order, filling),
        }
    }

    /// The application read: a buffer that grows follows what it read in the last round trip.
    pub fn tune(&mut self, now: Time, mss: u64) {
        if let Window::Memory(memory) = &mut self.window {
            if let Some(read) = self.rounds.end(now) {
                memory.tune(read, mss);
            }
        }
    }

    /// FreeBSD: the first segment sent after a round trip ended begins the next.
    pub fn begin_round(&mut self, stamp: u32) {
        if let (BufferRule::Stepped { .. }, None) = (self.rule, self.round) {
            self.round = Some(stamp);
        }
    }

    /// FreeBSD: the first octets that echo a later timestamp end the round trip, and another step is taken if seven
    /// eighths of the buffer came within it, what came between the last and it included. An echo that took a second or
    /// more ends none, ever.
    pub fn count(&mut self, echo: u32, len: u32) {
        let BufferRule::Stepped { step, max, .. } = self.rule else { return };
        let later = self.round.map_or(0, |stamp| echo.wrapping_sub(stamp) as i32);
        if later <= 0 || later >= LONGEST_ROUND_MS {
            self.octets += u64::from(len);
            return;
        }
        self.brought = self.octets;
        if let Window::Room { capacity, .. } = &mut self.window {
            if self.octets > *capacity / 8 * 7 {
                *capacity = (*capacity + step.get()).min(max.get().max(*capacity));
            }
        }
        self.forget_round();
    }

    /// FreeBSD: what its fast path does not take in begins the count anew.
    #[inline]
    pub fn forget_round(&mut self) {
        self.round = None;
        self.octets = 0;
    }
}

/// The window-scale shift for a buffer that may grow to its maximum (RFC 7323 section 2.2). Linux counts the memory of
/// the buffer, of which it offers half as window.
pub(crate) fn window_scale(rule: BufferRule) -> u8 {
    let max = match rule {
        BufferRule::Auto { max, .. } => memory::of_window(max.get()),
        BufferRule::Fixed(max) | BufferRule::Stepped { max, .. } => max.get(),
    };
    (0..14).find(|shift| max >> shift <= 65_535).unwrap_or(14)
}
