//! The receive buffer: how it grows, and the window that it permits.

use super::answer_window::AnswerWindow;
use super::filling::Filling;
use super::memory::{self, Memory};
use super::room::Room;
use super::rounds::Rounds;
use crate::profile::{BufferRule, Profile, ReceiveWindow, WindowShare};
use lopsided_core::{Bytes, Time};

#[derive(Debug)]
pub(super) struct Buffer {
    window: Window,
    pub rounds: Rounds,
}

#[derive(Debug)]
enum Window {
    /// The window is the free space of the buffer, in bytes.
    Room(Room),
    /// The window is computed from the memory that Linux accounts for.
    Memory(Memory),
}

impl Buffer {
    pub fn new(profile: &Profile) -> Buffer {
        let window = match (profile.receive_window, profile.receive_buffer) {
            (ReceiveWindow::Memory { per_segment, share }, _) => {
                Window::Memory(Memory::new(profile, per_segment, share))
            }
            // An automatic buffer grows by Linux's rule in every profile.
            (_, BufferRule::Auto { .. }) => Window::Memory(Memory::new(profile, 0, WindowShare::Half)),
            _ => Window::Room(Room::new(profile)),
        };
        Buffer { window, rounds: Rounds::default() }
    }

    /// Sets a fixed size of the buffer.
    pub fn set_size(&mut self, size: Bytes) {
        match &mut self.window {
            Window::Room(room) => room.set_size(size.get()),
            Window::Memory(memory) => memory.set_size(size.get()),
        }
    }

    /// The window that a SYN advertises, in bytes.
    pub fn first_window(&self, mss: u64) -> u64 {
        match &self.window {
            Window::Room(room) => room.first_window(),
            Window::Memory(memory) => memory.first_window(mss),
        }
    }

    /// Starts the first round trip at the end of the handshake.
    pub fn establish(&mut self, now: Time, filling: Filling) {
        self.rounds.begin(now);
        match &mut self.window {
            Window::Memory(memory) => memory.establish(filling),
            Window::Room(room) => room.establish(filling),
        }
    }

    /// Returns the result of [`Buffer::answer_window`] in the usual case, otherwise `None`.
    #[inline(always)]
    pub fn usual_answer(&self, octets: u64, records: u64, offered: u64, scale: u8) -> Option<AnswerWindow> {
        match &self.window {
            Window::Room(_) => Some(AnswerWindow::default()),
            Window::Memory(memory) => memory.usual_answer(octets, records, offered, scale),
        }
    }

    /// Returns how an ACK would change the window if it is sent before the application reads the new data.
    pub fn answer_window(&self, filling: Filling) -> AnswerWindow {
        match &self.window {
            Window::Room(_) => AnswerWindow::default(),
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
            Window::Room(room) => room.space(),
            Window::Memory(memory) => memory.space(),
        }
    }

    /// Maximum window that may be advertised now, even if the buffer is empty.
    pub fn threshold(&self) -> u64 {
        match &self.window {
            Window::Room(room) => room.capacity(),
            Window::Memory(memory) => memory.threshold(),
        }
    }

    /// Returns the window to advertise, in bytes.
    pub fn window(&self, filling: Filling) -> u64 {
        match &self.window {
            Window::Room(room) => room.window(filling),
            Window::Memory(memory) => memory.window(filling),
        }
    }

    /// Cheap check: if false, [`Buffer::is_update_due`] is false too.
    #[inline]
    pub fn could_be_updated(&self, open: u64) -> bool {
        match &self.window {
            Window::Room(_) => true,
            Window::Memory(memory) => memory.could_be_updated(open),
        }
    }

    /// True if a read opened the window so far that the peer must be notified. `ended` is true if the peer's FIN has
    /// arrived.
    pub fn is_update_due(&self, filling: Filling, ended: bool) -> bool {
        match &self.window {
            Window::Room(room) => room.is_update_due(filling, ended),
            Window::Memory(memory) => memory.is_update_due(filling),
        }
    }

    /// True if a received segment of `len` bytes can make the receive window grow.
    #[inline]
    pub fn could_grow(&self, len: u32, in_order: bool) -> bool {
        match &self.window {
            Window::Room(_) => false,
            Window::Memory(memory) => memory.could_grow(len, in_order),
        }
    }

    /// Records a received segment of `len` bytes. Returns true if the receive window grew.
    #[inline(always)]
    pub fn grow(&mut self, len: u32, in_order: bool, filling: Filling) -> bool {
        match &mut self.window {
            Window::Room(_) => false,
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
    #[inline]
    pub fn begin_round(&mut self, stamp: u32) {
        if let Window::Room(room) = &mut self.window {
            room.begin_round(stamp);
        }
    }

    /// FreeBSD: counts received data, whose timestamp echo is `echo`. The end of a round trip may grow the buffer.
    #[inline]
    pub fn count(&mut self, echo: u32, len: u32) {
        if let Window::Room(room) = &mut self.window {
            room.count(echo, len);
        }
    }

    /// FreeBSD: resets the byte count after a segment that did not take the fast path.
    #[inline]
    pub fn forget_round(&mut self) {
        if let Window::Room(room) = &mut self.window {
            room.forget_round();
        }
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
