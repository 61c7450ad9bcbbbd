//! The receive buffer: how it grows, and the window that it permits.

use super::answer_window::AnswerWindow;
use super::filling::Filling;
use super::memory::{self, LARGEST_UNSCALED, Memory};
use super::rounds::Rounds;
use crate::profile::{BufferRule, Profile, ReceiveWindow, WindowShare, WindowUpdate};
use lopsided_core::{Bytes, Time};

/// FreeBSD: maximum duration of a round trip in ms, the unit of the timestamps. A longer round trip is ignored.
const LONGEST_ROUND_MS: i32 = 1000;

#[derive(Debug)]
pub(super) struct Buffer {
    rule: BufferRule,
    update: WindowUpdate,
    window: Window,
    /// FreeBSD: the timestamp that was sent at the start of the measured round trip.
    round: Option<u32>,
    /// FreeBSD: bytes received since the last round trip ended.
    octets: u64,
    /// FreeBSD: bytes received in the last round trip.
    brought: u64,
    pub rounds: Rounds,
}

#[derive(Debug)]
enum Window {
    /// The window is the free space of the buffer, in bytes.
    Room {
        capacity: u64,
        /// True if the buffer is a whole number of segments.
        whole: bool,
    },
    /// The window is computed from the memory that Linux accounts for.
    Memory(Memory),
}

impl Buffer {
    pub fn new(profile: &Profile) -> Buffer {
        let rule = profile.receive_buffer;
        let window = match (profile.receive_window, rule) {
            (ReceiveWindow::Memory { per_segment, share }, _) => {
                Window::Memory(Memory::new(profile, per_segment, share))
            }
            // An automatic buffer grows by Linux's rule in every profile.
            (_, BufferRule::Auto { .. }) => Window::Memory(Memory::new(profile, 0, WindowShare::Half)),
            (held, _) => Window::Room { capacity: rule.initial().get(), whole: held == ReceiveWindow::Segments },
        };
        let update = profile.window_update;
        Buffer { rule, update, window, round: None, octets: 0, brought: 0, rounds: Rounds::default() }
    }

    /// Sets a fixed size of the buffer.
    pub fn set_size(&mut self, size: Bytes) {
        self.rule = BufferRule::Fixed(size);
        match &mut self.window {
            Window::Room { capacity, .. } => *capacity = size.get(),
            Window::Memory(memory) => memory.set_size(size.get()),
        }
    }

    /// The window that a SYN advertises, in bytes.
    pub fn first_window(&self, mss: u64) -> u64 {
        match &self.window {
            Window::Room { capacity, .. } => (*capacity).min(LARGEST_UNSCALED),
            Window::Memory(memory) => memory.first_window(mss),
        }
    }

    /// Starts the first round trip at the end of the handshake.
    pub fn establish(&mut self, now: Time, filling: Filling) {
        self.rounds.begin(now);
        match &mut self.window {
            Window::Memory(memory) => memory.establish(filling),
            Window::Room { capacity, whole: true } => *capacity = capacity.next_multiple_of(filling.agreed()),
            Window::Room { whole: false, .. } => {}
        }
    }

    /// Returns the result of [`Buffer::answer_window`] in the usual case, otherwise `None`.
    #[inline(always)]
    pub fn usual_answer(&self, octets: u64, records: u64, offered: u64, scale: u8) -> Option<AnswerWindow> {
        match &self.window {
            Window::Room { .. } => Some(AnswerWindow::default()),
            Window::Memory(memory) => memory.usual_answer(octets, records, offered, scale),
        }
    }

    /// Returns how an ACK would change the window if it is sent before the application reads the new data.
    pub fn answer_window(&self, filling: Filling) -> AnswerWindow {
        match &self.window {
            Window::Room { .. } => AnswerWindow::default(),
            Window::Memory(memory) => memory.answer_window(filling),
        }
    }

    /// True if unread data reduces the window of an ACK.
    #[inline]
    pub fn counts_unread(&self) -> bool {
        matches!(self.window, Window::Memory(_))
    }

    /// Bytes received or read in the last round trip, from which the growth of the buffer is computed.
    pub fn space(&self) -> u64 {
        match &self.window {
            Window::Room { .. } => self.brought,
            Window::Memory(memory) => memory.space(),
        }
    }

    /// Maximum window that may be advertised now, even if the buffer is empty.
    pub fn threshold(&self) -> u64 {
        match &self.window {
            Window::Room { capacity, .. } => *capacity,
            Window::Memory(memory) => memory.threshold(),
        }
    }

    /// Returns the window to advertise, in bytes. To avoid silly windows, the window grows only by at least one segment
    /// or half of the buffer (RFC 9293 section 3.8.6.2.2). In 4.4BSD, the window grows only if one segment or 1/4 of
    /// the buffer is free.
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

    /// Cheap check: if false, [`Buffer::is_update_due`] is false too.
    #[inline]
    pub fn could_be_updated(&self, open: u64) -> bool {
        match &self.window {
            Window::Room { .. } => true,
            Window::Memory(memory) => memory.could_be_updated(open),
        }
    }

    /// True if a read opened the window so far that the peer must be notified. `ended` is true if the peer's FIN has
    /// arrived.
    pub fn is_update_due(&self, filling: Filling, ended: bool) -> bool {
        match &self.window {
            Window::Room { capacity, .. } => {
                let room = capacity.saturating_sub(filling.unread).min(filling.largest());
                let opens = room >= filling.open + (2 * filling.agreed()).min(capacity / 2);
                match self.update {
                    WindowUpdate::NearlyClosed => filling.open < filling.agreed() && opens,
                    // After its FIN the peer sends no more data, so a window update would be useless.
                    WindowUpdate::TwoSegments => opens && !ended,
                }
            }
            Window::Memory(memory) => memory.is_update_due(filling),
        }
    }

    /// True if a received segment of `len` bytes can make the receive window grow.
    #[inline]
    pub fn could_grow(&self, len: u32, in_order: bool) -> bool {
        match &self.window {
            Window::Room { .. } => false,
            Window::Memory(memory) => memory.could_grow(len, in_order),
        }
    }

    /// Records a received segment of `len` bytes. Returns true if the receive window grew.
    #[inline(always)]
    pub fn grow(&mut self, len: u32, in_order: bool, filling: Filling) -> bool {
        match &mut self.window {
            Window::Room { .. } => false,
            Window::Memory(memory) => memory.grow(len, in_order, filling),
        }
    }

    /// Sets the estimated size of the peer's full segments to `len` bytes.
    pub fn measure(&mut self, len: u32) {
        if let Window::Memory(memory) = &mut self.window {
            memory.measure(len);
        }
    }

    /// Grows an automatic buffer after a read. `unread` is the number of bytes that are not read yet.
    pub fn tune(&mut self, now: Time, unread: u64, mss: u64) {
        if let Window::Memory(memory) = &mut self.window {
            if let Some(read) = self.rounds.end(now) {
                memory.tune(read, unread, mss);
            }
        }
    }

    /// FreeBSD: starts a round trip with the timestamp `stamp` of a sent segment.
    pub fn begin_round(&mut self, stamp: u32) {
        if let (BufferRule::Stepped { .. }, None) = (self.rule, self.round) {
            self.round = Some(stamp);
        }
    }

    /// FreeBSD: counts received data. The round trip ends when the peer echoes a timestamp that is up to 1 s later than
    /// `round`. The buffer then grows by one step if the data of the round trip exceeds 7/8 of the buffer.
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

    /// FreeBSD: resets the byte count after a segment that did not take the fast path.
    #[inline]
    pub fn forget_round(&mut self) {
        self.round = None;
        self.octets = 0;
    }
}

/// Returns the window-scale shift for the maximum size of a buffer (RFC 7323 section 2.2). The size of an automatic
/// buffer is in bytes of memory, twice the window (Linux).
pub(crate) fn window_scale(rule: BufferRule) -> u8 {
    let max = match rule {
        BufferRule::Auto { max, .. } => memory::of_window(max.get()),
        BufferRule::Fixed(max) | BufferRule::Stepped { max, .. } => max.get(),
    };
    (0..14).find(|shift| max >> shift <= 65_535).unwrap_or(14)
}
