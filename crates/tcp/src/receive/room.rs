//! A receive buffer that is measured in bytes of the stream, as in 4.4BSD. In FreeBSD, the buffer grows in steps.

use super::filling::Filling;
use super::memory::LARGEST_UNSCALED;
use crate::profile::{BufferRule, Profile, ReceiveWindow, WindowUpdate};

/// FreeBSD: maximum duration of a round trip in ms, the unit of the timestamps. A longer round trip is ignored.
const LONGEST_ROUND_MS: i32 = 1000;

/// The buffer. The window is its free space.
#[derive(Debug)]
pub(super) struct Room {
    /// Size of the buffer, in bytes.
    capacity: u64,
    /// True if the buffer is a whole number of segments.
    whole: bool,
    update: WindowUpdate,
    /// FreeBSD: the growth of the buffer; `None` if the size is fixed.
    growth: Option<Steps>,
    /// FreeBSD: the timestamp that was sent at the start of the measured round trip.
    round: Option<u32>,
    /// FreeBSD: bytes received since the last round trip ended.
    octets: u64,
    /// FreeBSD: bytes received in the last round trip.
    brought: u64,
}

/// The growth of a buffer in steps.
#[derive(Clone, Copy, Debug)]
struct Steps {
    /// Growth per round trip, in bytes.
    step: u64,
    /// Maximum size, in bytes.
    max: u64,
}

impl Room {
    pub fn new(profile: &Profile) -> Room {
        let rule = profile.receive_buffer;
        let growth = match rule {
            BufferRule::Stepped { step, max, .. } => Some(Steps { step: step.get(), max: max.get() }),
            BufferRule::Fixed(_) | BufferRule::Auto { .. } => None,
        };
        Room {
            capacity: rule.initial().get(),
            whole: profile.receive_window == ReceiveWindow::Segments,
            update: profile.window_update,
            growth,
            round: None,
            octets: 0,
            brought: 0,
        }
    }

    /// Sets a fixed size of the buffer.
    pub fn set_size(&mut self, size: u64) {
        self.growth = None;
        self.capacity = size;
    }

    /// Size of the buffer, in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes received in the last round trip.
    pub fn space(&self) -> u64 {
        self.brought
    }

    /// The window that a SYN advertises, in bytes.
    pub fn first_window(&self) -> u64 {
        self.capacity.min(LARGEST_UNSCALED)
    }

    /// Rounds the size to whole segments at the end of the handshake, if the stack does so.
    pub fn establish(&mut self, filling: Filling) {
        if self.whole {
            self.capacity = self.capacity.next_multiple_of(filling.agreed());
        }
    }

    fn free(&self, filling: Filling) -> u64 {
        self.capacity.saturating_sub(filling.unread).min(filling.largest())
    }

    /// Returns the window to advertise, in bytes. To avoid silly windows, the window grows only by at least one segment
    /// or half of the buffer (RFC 9293 section 3.8.6.2.2). In 4.4BSD, the window grows only if one segment or 1/4 of
    /// the buffer is free.
    pub fn window(&self, filling: Filling) -> u64 {
        let free = self.free(filling);
        let grows = match self.update {
            WindowUpdate::NearlyClosed => free >= filling.open + filling.agreed().min(self.capacity / 2),
            WindowUpdate::TwoSegments => free > filling.open && free >= filling.agreed().min(self.capacity / 4),
        };
        if grows { free } else { filling.open }
    }

    /// True if a read opened the window so far that the peer must be notified. `ended` is true if the peer's FIN has
    /// arrived.
    pub fn is_update_due(&self, filling: Filling, ended: bool) -> bool {
        let opens = self.free(filling) >= filling.open + (2 * filling.agreed()).min(self.capacity / 2);
        match self.update {
            WindowUpdate::NearlyClosed => filling.open < filling.agreed() && opens,
            // After its FIN the peer sends no more data, so a window update would be useless.
            WindowUpdate::TwoSegments => opens && !ended,
        }
    }

    /// FreeBSD: starts a round trip with the timestamp `stamp` of a sent segment.
    pub fn begin_round(&mut self, stamp: u32) {
        if self.growth.is_some() {
            self.round.get_or_insert(stamp);
        }
    }

    /// FreeBSD: counts received data. The round trip ends when the peer echoes a timestamp that is up to 1 s later than
    /// `round`. The buffer then grows by one step if the data of the round trip exceeds 7/8 of the buffer.
    pub fn count(&mut self, echo: u32, len: u32) {
        let Some(Steps { step, max }) = self.growth else { return };
        let later = self.round.map_or(0, |stamp| echo.wrapping_sub(stamp) as i32);
        if later <= 0 || later >= LONGEST_ROUND_MS {
            self.octets += u64::from(len);
            return;
        }
        self.brought = self.octets;
        if self.octets > self.capacity / 8 * 7 {
            self.capacity = (self.capacity + step).min(max.max(self.capacity));
        }
        self.forget_round();
    }

    /// FreeBSD: resets the byte count after a segment that did not take the fast path.
    pub fn forget_round(&mut self) {
        self.round = None;
        self.octets = 0;
    }
}
