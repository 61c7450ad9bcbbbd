//! The receive buffer and how it grows.

use crate::profile::BufferRule;
use lopsided_core::{Duration, Time};

/// FreeBSD: in its clock's ticks of 1 ms, as timestamps have them.
const LONGEST_ROUND_MS: i32 = 1000;

/// FreeBSD: a round trip by timestamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    stamp: u32,
    octets: u64,
}

#[derive(Debug)]
pub(super) struct Buffer {
    pub rule: BufferRule,
    pub capacity: u64,
    /// Linux opens the window with the segments that arrive, not at once, and keeps a segment of the buffer back.
    pub offered: u64,
    /// The round trip that is being measured: when it began, what the application had read, and what it read in the one
    /// before.
    pub round_began: Time,
    /// FreeBSD: the timestamp with which the present round trip began, and the octets counted since.
    pub round: Option<Round>,
    pub round_read: u64,
    pub space: u64,
    pub read: u64,
    pub rtt: Option<Duration>,
    /// The echoed timestamp that gave the last sample: the same one again would time the queue of a burst.
    pub last_echo: Option<u32>,
}

impl Buffer {
    pub fn tune(&mut self, now: Time, mss: u64) {
        match self.rule {
            BufferRule::Fixed(_) => self.offered = self.capacity,
            BufferRule::Auto { max, .. } => {
                if let Some(read) = self.read_in_round(now) {
                    if read > self.space {
                        // Room for twice what a round trip brought, and more while that grows fast (slow start).
                        let window = 2 * read + 16 * mss;
                        let growth = window as u128 * u128::from(read - self.space) / u128::from(self.space);
                        let target = (u128::from(window) + 2 * growth).min(u128::from(max.get())) as u64;
                        self.capacity = self.capacity.max(target);
                        self.space = read;
                    }
                }
            }
            // It follows what arrives.
            BufferRule::Stepped { .. } => {}
        }
    }

    /// FreeBSD: the first segment sent after a round trip ended begins the next.
    pub fn begin_round(&mut self, stamp: u32) {
        if let (BufferRule::Stepped { .. }, None) = (self.rule, self.round) {
            self.round = Some(Round { stamp, octets: 0 });
        }
    }

    /// FreeBSD: the first octets that echo a later timestamp end the round trip, and another step is taken if seven
    /// eighths of the buffer came within it. An echo that took a second or more ends none, ever.
    pub fn count(&mut self, echo: u32, len: u32) {
        let (BufferRule::Stepped { step, max, .. }, Some(round)) = (self.rule, &mut self.round) else { return };
        let later = echo.wrapping_sub(round.stamp) as i32;
        if later <= 0 || later >= LONGEST_ROUND_MS {
            round.octets += u64::from(len);
            return;
        }
        self.space = round.octets;
        if round.octets > self.capacity / 8 * 7 {
            self.capacity = (self.capacity + step.get()).min(max.get().max(self.capacity));
            self.offered = self.capacity;
        }
        self.round = None;
    }

    pub fn grow(&mut self, occupied: u64, mss: u64) -> bool {
        let BufferRule::Auto { .. } = self.rule else { return false };
        let room = self.capacity.saturating_sub(occupied).saturating_sub(self.offered);
        self.offered += room.min(2 * mss);
        room > 0
    }

    fn read_in_round(&mut self, now: Time) -> Option<u64> {
        if now.saturating_since(self.round_began) < self.rtt? {
            return None;
        }
        let read = self.read - self.round_read;
        self.round_began = now;
        self.round_read = self.read;
        Some(read)
    }
}

/// The window-scale shift for a buffer that may grow to its maximum (RFC 7323 section 2.2). Linux counts the memory of
/// the buffer, of which it offers half as window.
pub(crate) fn window_scale(rule: BufferRule) -> u8 {
    let max = match rule {
        BufferRule::Auto { max, .. } => 2 * max.get(),
        BufferRule::Fixed(max) | BufferRule::Stepped { max, .. } => max.get(),
    };
    (0..14).find(|shift| max >> shift <= 65_535).unwrap_or(14)
}
