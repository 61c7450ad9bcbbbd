//! Linux's receive window. Linux counts the memory of the buffer and offers half of it as window (`tcp_adv_win_scale`
//! 1, ip-sysctl). The window opens by two segments for each segment that arrives, and the buffer grows with what the
//! application reads in a round trip (`tcp_moderate_rcvbuf`).
//!
//! Verified with captures of Linux 6.1. Not modelled: other values of `tcp_app_win`, memory pressure, pruning.

use super::answer_window::AnswerWindow;
use super::filling::Filling;
use crate::profile::BufferRule;
use lopsided_core::Bytes;

/// Linux opens its window only for in-order segments of at least this size: small segments take more memory than they
/// bring data.
const WORTH_A_LARGER_WINDOW: u32 = 128;
/// Number of segments that the first round trip is expected to bring, and that a larger buffer provides for in
/// addition.
const INITIAL_SEGMENTS: u64 = 10;
const SPARE_SEGMENTS: u64 = 16;
/// Linux's memory allowance for a segment in addition to its payload; also the step by which it grows until half of it
/// holds the payload.
const PROVISION: u64 = 768;
const PROVISION_STEP: u64 = 128;
/// The least memory of a buffer (Linux's SOCK_MIN_RCVBUF, socket(7)).
const LEAST_MEMORY: u64 = 2304;
/// Default maximum of an automatic buffer (Linux's tcp_rmem).
const USUAL_MAX: u64 = 6 << 20;
const LARGEST_UNSCALED: u64 = 65_535;

#[derive(Debug)]
pub(super) struct Memory {
    /// Current size of the buffer and its maximum (`tcp_rmem[2]`), in bytes of memory.
    size: u64,
    max: u64,
    /// Memory of a segment in addition to its payload, in bytes.
    per_segment: u32,
    /// Maximum memory of any buffer.
    most: u32,
    /// The window that may be offered now, and the bound that it grows to.
    threshold: u64,
    bound: u64,
    /// The most that a round trip has brought, in bytes.
    space: u64,
}

/// The memory needed for a window.
pub(super) fn of_window(window: u64) -> u64 {
    2 * window
}

/// The window that an amount of memory allows: half of it, rounded up.
fn window_of(memory: u64) -> u64 {
    memory - memory / 2
}

impl Memory {
    pub fn new(rule: BufferRule, per_segment: u64) -> Memory {
        let memory = |window: Bytes| of_window(window.get()).max(LEAST_MEMORY);
        let (size, max) = (memory(rule.initial()), memory(rule.max()));
        let most = match rule {
            BufferRule::Auto { .. } => max,
            BufferRule::Fixed(_) | BufferRule::Stepped { .. } => USUAL_MAX,
        };
        Memory {
            size,
            max,
            per_segment: per_segment.min(u64::from(u32::MAX)) as u32,
            most: most.min(u64::from(u32::MAX)) as u32,
            threshold: 0,
            bound: window_of(size),
            space: 0,
        }
    }

    /// Fixes the buffer at the memory for a window of `window` bytes.
    pub fn set_size(&mut self, window: u64) {
        self.size = of_window(window).max(LEAST_MEMORY);
        self.max = self.size;
        self.bound = self.bound.max(window_of(self.size));
    }

    /// The first window: whole segments, below 2^16.
    pub fn first_window(&self, mss: u64) -> u64 {
        let room = window_of(self.size);
        let whole = if room > mss { room / mss * mss } else { room };
        whole.min(LARGEST_UNSCALED)
    }

    pub fn establish(&mut self, filling: Filling) {
        let (room, mss) = (window_of(self.size), filling.own());
        // One segment is kept in reserve.
        self.bound = if room > 2 * mss { (room - mss).max(2 * mss) } else { room };
        self.threshold = filling.offered.min(self.bound);
        // A round trip of one initial window does not grow the buffer, nor does filling all of a small buffer.
        let first = self.threshold.min(filling.offered);
        // Other stacks that are set to grow like Linux start below the bound that growth could exceed.
        let first = if self.per_segment == 0 { first.min(room / 2) } else { first };
        self.space = first.min(INITIAL_SEGMENTS * mss);
    }

    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    pub fn space(&self) -> u64 {
        self.space
    }

    #[inline(always)]
    fn room_beside(&self, octets: u64, records: u64) -> u64 {
        window_of(self.size.saturating_sub(octets + u64::from(self.per_segment) * records))
    }

    fn room(&self, filling: Filling) -> u64 {
        self.room_beside(filling.unread + filling.held, filling.unread_records + filling.held_records)
    }

    pub fn window(&self, filling: Filling) -> u64 {
        let whole = window_of(self.size);
        let mss = filling.full().min(whole.min(self.bound));
        let mut room = self.room(filling);
        if self.is_half_filled(room) {
            room = room >> filling.scale << filling.scale;
            if room < whole / 16 || room < mss {
                return filling.open;
            }
        }
        let room = room.min(self.threshold);
        let wanted = if filling.scale > 0 {
            room.next_multiple_of(1 << filling.scale)
        } else if filling.offered + mss <= room || filling.offered > room {
            room / mss * mss
        } else {
            filling.offered
        };
        wanted.max(filling.open)
    }

    /// The window of an ACK that is sent before the application reads.
    pub fn answer_window(&self, filling: Filling) -> AnswerWindow {
        AnswerWindow { falls: self.falls(filling), half_filled: self.is_half_filled(self.room(filling)) }
    }

    /// Cheap check: true if the room is so large that unread data cannot affect the window. An offered window is
    /// rounded up to the header's unit; a SYN's is exact.
    #[inline(always)]
    pub fn has_ample_room(&self, octets: u64, records: u64, offered: u64, scale: u8) -> bool {
        let room = self.room_beside(octets, records);
        let below_unit = (1u64 << scale) - 1;
        !self.is_half_filled(room) && below_unit > 0 && (room.min(self.threshold) + below_unit) & !below_unit >= offered
    }

    /// True if an ACK now would offer less than the last one, were the window not open already.
    fn falls(&self, filling: Filling) -> bool {
        self.window(Filling { open: 0, ..filling }) < filling.offered
    }

    /// True if less than half of the offered window's room is free.
    #[inline]
    fn is_half_filled(&self, room: u64) -> bool {
        room < window_of(self.size).min(self.bound) / 2
    }

    #[inline]
    pub fn could_be_updated(&self, open: u64) -> bool {
        2 * open <= self.bound
    }

    /// True if the remaining window can at least be doubled.
    pub fn is_update_due(&self, filling: Filling) -> bool {
        self.could_be_updated(filling.open) && self.window(filling) >= (2 * filling.open).max(1)
    }

    #[inline]
    pub fn could_grow(&self, len: u32, in_order: bool) -> bool {
        (len >= WORTH_A_LARGER_WINDOW || !in_order) && self.threshold < self.bound
    }

    #[inline(always)]
    pub fn grow(&mut self, len: u32, in_order: bool, filling: Filling) -> bool {
        if !self.could_grow(len, in_order) {
            return false;
        }
        let room = self.bound.min(self.room(filling)).saturating_sub(self.threshold);
        let step = if in_order { 2 * filling.own() } else { self.step_out_of_order(len, filling) };
        if step == 0 || room == 0 {
            return false;
        }
        self.threshold += room.min(step.max(2 * u64::from(len)));
        true
    }

    /// Window growth for an out-of-order segment. It counts with its full memory (`tcp_grow_window`): if less than half
    /// of that is payload, the window opens less, and a large window not at all.
    fn step_out_of_order(&self, len: u32, filling: Filling) -> u64 {
        let (len, taken) = (u64::from(len), window_of(u64::from(self.per_segment) + u64::from(len)));
        if taken <= len {
            return 2 * filling.own();
        }
        let (mut taken, mut window) = (taken / 2, window_of(u64::from(self.most)) / 2);
        while self.threshold <= window {
            if taken <= len {
                return 2 * filling.full();
            }
            (taken, window) = (taken / 2, window / 2);
        }
        0
    }

    /// Grows the buffer to twice what a round trip brought, and more while that grows fast (slow start).
    pub fn tune(&mut self, read: u64, mss: u64) {
        if read <= self.space {
            return;
        }
        let window = 2 * read + SPARE_SEGMENTS * mss;
        let growth = u128::from(window) * u128::from(read - self.space) / u128::from(self.space.max(1));
        let segments = (u128::from(window) + 2 * growth) / u128::from(mss);
        let wanted = (segments * u128::from(provision(mss))).min(u128::from(self.max)) as u64;
        if wanted > self.size {
            self.size = wanted;
            self.bound = window_of(wanted);
        }
        self.space = read;
    }
}

/// The memory that a larger buffer provides for each segment.
fn provision(mss: u64) -> u64 {
    let least = mss + PROVISION;
    least + (2 * mss - 1).saturating_sub(least).next_multiple_of(PROVISION_STEP)
}

#[cfg(test)]
mod tests {
    use super::super::filling::SegmentSizes;
    use super::*;

    const MSS: u64 = 1448;
    const SCALE: u8 = 7;
    const AUTO: BufferRule = BufferRule::Auto { initial: Bytes::new(65_536), max: Bytes::new(3 << 20) };

    fn filling(unread: u64, offered: u64, open: u64) -> Filling {
        Filling {
            unread,
            unread_records: unread.div_ceil(17 * MSS),
            held: 0,
            held_records: 0,
            sizes: SegmentSizes { agreed: MSS as u32, full: MSS as u32, own: MSS as u32 },
            offered,
            open,
            scale: SCALE,
        }
    }

    /// The windows that a Linux 6.1 receiver offered on a 3 Mbit/s download, in units of 2^7. Every segment opens the
    /// window by two segments, up to half of the memory without that of the segment that just arrived.
    #[test]
    fn the_window_opens_as_in_a_capture() {
        let mut memory = Memory::new(AUTO, 768);
        assert_eq!(memory.first_window(MSS), 65_160);
        memory.establish(filling(0, 65_160, 65_160));
        let mut offered = 65_160;
        let mut arrive = |memory: &mut Memory| {
            memory.grow(MSS as u32, true, filling(MSS, offered, offered - MSS));
            offered = memory.window(filling(0, offered, offered - MSS));
            offered >> SCALE
        };
        assert_eq!([arrive(&mut memory), arrive(&mut memory)], [501, 501]);
        memory.tune(12 * MSS, MSS);
        let opening: Vec<u64> = (0..9).map(|_| arrive(&mut memory)).collect();
        assert_eq!(opening, [524, 546, 569, 592, 614, 637, 645, 645, 645]);
        memory.tune(14 * MSS, MSS);
        assert_eq!(arrive(&mut memory), 667);
    }

    #[test]
    fn unread_data_takes_memory_and_a_window_never_shrinks() {
        let mut memory = Memory::new(BufferRule::Fixed(Bytes::new(60_000)), 768);
        memory.establish(filling(0, 59_368, 59_368));
        let full = memory.window(filling(0, 59_368, 59_368 - MSS));
        assert_eq!(full, (60_000 - MSS).next_multiple_of(128));
        // Twenty unread segments, in two records, take half of their memory off the window.
        let room = 60_000u64 - 10 * MSS - 768;
        assert_eq!(memory.window(filling(20 * MSS, full, 20_000)), room.next_multiple_of(128));
        assert_eq!(memory.window(filling(70 * MSS, full, 9_000)), 9_000, "what was offered stays offered");
        assert!(!memory.is_update_due(filling(20 * MSS, full, 23_000)));
        assert!(memory.is_update_due(filling(20 * MSS, full, 22_000)));
    }
}
