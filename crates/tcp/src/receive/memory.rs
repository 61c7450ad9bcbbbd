//! Linux's receive window.
//!
//! Linux advertises a share of the buffer's memory as the window. Up to 6.5, the share is half (`tcp_adv_win_scale` 1,
//! ip-sysctl). From 6.6 on, Linux measures the share (`scaling_ratio`). Each arriving segment opens the window by two
//! segments. The buffer grows with the number of bytes read per round trip (`tcp_moderate_rcvbuf`).
//!
//! The model was verified with captures of Linux 6.1 and 6.12. Not modelled: other values of `tcp_app_win`, memory
//! pressure, pruning.

use super::answer_window::AnswerWindow;
use super::filling::Filling;
use crate::profile::{BufferRule, Profile, WindowShare};
use lopsided_core::Bytes;

/// Minimum bytes of an in-order segment that opens the window (`tcp_event_data_recv`).
const WORTH_A_LARGER_WINDOW: u32 = 128;
/// Initial window in segments (RFC 6928). A round trip with at most this number of segments does not grow the buffer.
const INITIAL_SEGMENTS: u64 = 10;
/// Headroom in segments that is added to two round trips of data when the buffer grows (`tcp_rcv_space_adjust`).
const SPARE_SEGMENTS: u64 = 16;
/// Memory overhead per segment, in bytes, for which a growing buffer reserves space.
const PROVISION: u64 = 768;
/// The reserved memory per segment grows in steps of this size, in bytes, until the payload fits in half of it.
const PROVISION_STEP: u64 = 128;
/// Smallest buffer, in bytes of memory (Linux's SOCK_MIN_RCVBUF, socket(7)).
const LEAST_MEMORY: u64 = 2304;
/// Default maximum size of an automatic buffer, in bytes of memory (`tcp_rmem[2]`).
const USUAL_MAX: u64 = 6 << 20;
/// Largest window without window scaling, in bytes.
pub(super) const LARGEST_UNSCALED: u64 = 65_535;

#[derive(Debug)]
pub(super) struct Memory {
    /// Current size of the receive buffer, in bytes of memory.
    size: u64,
    /// Maximum size of the receive buffer (`tcp_rmem[2]`), in bytes of memory.
    max: u64,
    /// Memory overhead of a segment, in bytes: its memory minus its payload.
    per_segment: u32,
    /// Maximum buffer size that `tcp_grow_window` uses, in bytes: this buffer's maximum if it grows by Linux's rule,
    /// otherwise Linux's default.
    most: u32,
    /// Maximum window that may be advertised now, in bytes (`rcv_ssthresh`).
    threshold: u64,
    /// Upper limit of `threshold`, in bytes (`window_clamp`).
    bound: u64,
    /// Largest number of bytes that the application has read in one round trip (`rcvq_space.space`).
    space: u64,
    share: Share,
    /// True if unread data does not count for the growth of the buffer.
    excludes_unread: bool,
    /// Upper limit of the first advertised window, in bytes.
    first_most: u64,
}

/// The share of the buffer's memory that is advertised as window.
#[derive(Clone, Copy, Debug)]
struct Share {
    rule: WindowShare,
    /// Bytes of window per 256 bytes of memory (TCP_RMEM_TO_WIN_SCALE).
    ratio: u64,
    /// Value that is added to the product before the division by 256.
    rounding: u64,
}

/// A share of one half, used until a segment has been measured (TCP_DEFAULT_SCALING_RATIO).
const HALF_RATIO: u64 = 128;

impl Share {
    fn new(rule: WindowShare) -> Share {
        // `space - (space >> 1)` rounds half of an odd number up; the multiplication by a ratio rounds down.
        let rounding = if rule == WindowShare::Half { 255 } else { 0 };
        Share { rule, ratio: HALF_RATIO, rounding }
    }

    /// Returns the window in bytes that `memory` bytes of memory permit (`tcp_win_from_space`).
    #[inline(always)]
    fn window_of(self, memory: u64) -> u64 {
        (memory * self.ratio + self.rounding) >> 8
    }

    /// Returns the memory in bytes that a window of `window` bytes needs (`tcp_space_from_win`).
    fn memory_of(self, window: u128) -> u128 {
        (window << 8) / u128::from(self.ratio)
    }
}

/// Returns the memory in bytes of a buffer whose fixed size is `window` bytes: twice the size (socket(7)).
pub(super) fn of_window(window: u64) -> u64 {
    2 * window
}

impl Memory {
    pub fn new(profile: &Profile, per_segment: u64, share: WindowShare) -> Memory {
        let (rule, share) = (profile.receive_buffer, Share::new(share));
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
            bound: share.window_of(size),
            space: 0,
            share,
            excludes_unread: profile.growth_excludes_unread,
            first_most: if profile.wide_first_window { u64::MAX } else { LARGEST_UNSCALED },
        }
    }

    /// Sets the buffer to the fixed size that a window of `window` bytes needs.
    pub fn set_size(&mut self, window: u64) {
        self.size = of_window(window).max(LEAST_MEMORY);
        self.max = self.size;
        self.bound = self.bound.max(self.share.window_of(self.size));
    }

    /// Returns the first window to advertise: a whole number of segments, below 2^16 bytes in Linux up to 6.1.
    pub fn first_window(&self, mss: u64) -> u64 {
        let room = self.share.window_of(self.size);
        let whole = if room > mss { room / mss * mss } else { room };
        whole.min(self.first_most)
    }

    /// Recomputes the window's share of the memory (`tcp_measure_rcv_mss`). `len` is the size of the peer's full
    /// segments in bytes.
    pub fn measure(&mut self, len: u32) {
        if self.share.rule == WindowShare::Half {
            return;
        }
        let len = u64::from(len);
        let ratio = ((len << 8) / (len + u64::from(self.per_segment))).max(1);
        if ratio != self.share.ratio {
            self.share.ratio = ratio;
            self.bound = self.share.window_of(self.size);
            self.space = self.space.min(self.bound);
        }
    }

    /// Sets the initial threshold and bytes per round trip at the end of the handshake.
    pub fn establish(&mut self, filling: Filling) {
        let (room, mss) = (self.share.window_of(self.size), filling.own());
        // tcp_init_buffer_space: keep space for one segment in reserve.
        self.bound = room.saturating_sub(mss).max(2 * mss).min(room);
        // tcp_select_initial_window: limit the window to the largest value that the header field can express.
        self.bound = self.bound.min(LARGEST_UNSCALED << filling.scale);
        self.threshold = filling.offered.min(self.bound);
        // A round trip that delivers only the initial window must not grow the buffer.
        let first = self.threshold.min(filling.offered);
        // A stack without memory overhead per segment advertises the whole buffer, so a round trip never delivers more
        // data than one buffer. Start with half of the buffer size; otherwise the buffer would never grow.
        let first = if self.per_segment == 0 { first.min(room / 2) } else { first };
        self.space = first.min(INITIAL_SEGMENTS * mss);
    }

    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    pub fn space(&self) -> u64 {
        self.space
    }

    /// Returns the window that is left when `octets` bytes in `records` memory records occupy the buffer.
    #[inline(always)]
    fn window_after(&self, octets: u64, records: u64) -> u64 {
        self.share.window_of(self.size.saturating_sub(octets + u64::from(self.per_segment) * records))
    }

    fn room(&self, filling: Filling) -> u64 {
        self.window_after(filling.unread + filling.held, filling.unread_records + filling.held_records)
    }

    /// Returns the window to advertise, in bytes (`__tcp_select_window`). The right edge never moves back.
    pub fn window(&self, filling: Filling) -> u64 {
        let whole = self.share.window_of(self.size);
        let mss = filling.full().min(whole.min(self.bound));
        let mut room = self.room(filling);
        if self.is_half_filled(room) {
            room = room >> filling.scale << filling.scale;
            // Silly window avoidance: a nearly full buffer does not open the window.
            if room < whole / 16 || room < mss {
                return filling.open;
            }
        }
        let room = room.min(self.threshold);
        // With scaling, round up to the unit of the header field, so that rounding does not move the right edge back.
        // Without scaling, keep the old window until the change is a whole segment.
        let wanted = if filling.scale > 0 {
            room.next_multiple_of(1 << filling.scale)
        } else if filling.offered + mss <= room || filling.offered > room {
            room / mss * mss
        } else {
            filling.offered
        };
        wanted.max(filling.open)
    }

    /// Returns how an ACK would change the window if it is sent before the application reads the new data.
    pub fn answer_window(&self, filling: Filling) -> AnswerWindow {
        AnswerWindow { falls: self.falls(filling), half_filled: self.is_half_filled(self.room(filling)) }
    }

    /// Returns the result of [`Memory::answer_window`] in the usual case: at least half of the largest window is free, and
    /// the window is scaled. Otherwise returns `None`.
    #[inline(always)]
    pub fn usual_answer(&self, octets: u64, records: u64, offered: u64, scale: u8) -> Option<AnswerWindow> {
        let room = self.window_after(octets, records);
        let below_unit = (1u64 << scale) - 1;
        let falls = (room.min(self.threshold) + below_unit) & !below_unit < offered;
        let is_usual = below_unit > 0 && !self.is_half_filled(room);
        is_usual.then_some(AnswerWindow { falls, half_filled: false })
    }

    /// True if the free memory permits only a smaller window than the last advertised window.
    fn falls(&self, filling: Filling) -> bool {
        self.window(Filling { open: 0, ..filling }) < filling.offered
    }

    /// True if less than half of the largest window is free.
    #[inline]
    fn is_half_filled(&self, room: u64) -> bool {
        room < self.share.window_of(self.size).min(self.bound) / 2
    }

    /// Cheap check: if false, [`Memory::is_update_due`] is false too.
    #[inline]
    pub fn could_be_updated(&self, open: u64) -> bool {
        2 * open <= self.bound
    }

    /// True if the remaining window can at least double (`__tcp_cleanup_rbuf`).
    pub fn is_update_due(&self, filling: Filling) -> bool {
        self.could_be_updated(filling.open) && self.window(filling) >= (2 * filling.open).max(1)
    }

    /// True if a received segment of `len` bytes can make the receive window grow.
    #[inline]
    pub fn could_grow(&self, len: u32, in_order: bool) -> bool {
        (len >= WORTH_A_LARGER_WINDOW || !in_order) && self.threshold < self.bound
    }

    /// Grows the window after a received segment of `len` bytes (`tcp_grow_window`). Returns true if the window grew.
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

    /// Returns the number of bytes by which an out-of-order segment makes the window grow (`__tcp_grow_window`).
    fn step_out_of_order(&self, len: u32, filling: Filling) -> u64 {
        let (len, taken) = (u64::from(len), self.share.window_of(u64::from(self.per_segment) + u64::from(len)));
        if taken <= len {
            return 2 * filling.own();
        }
        let (mut taken, mut window) = (taken / 2, self.share.window_of(u64::from(self.most)) / 2);
        // Linux halves `taken` and `window` until `taken` does not exceed the payload. A smaller window thus grows with
        // segments that have more memory overhead.
        while self.threshold <= window {
            if taken <= len {
                return 2 * filling.full();
            }
            (taken, window) = (taken / 2, window / 2);
        }
        0
    }

    /// Grows the buffer after a round trip in which the application read `read` bytes (`tcp_rcv_space_adjust`). The new
    /// window is twice `read` plus 16 segments, and larger if `read` exceeds the previous maximum. `unread` is the
    /// number of bytes that are not read yet.
    pub fn tune(&mut self, read: u64, unread: u64, mss: u64) {
        let read = if self.excludes_unread { read.saturating_sub(unread) } else { read };
        if read <= self.space {
            return;
        }
        let window = 2 * read + SPARE_SEGMENTS * mss;
        let growth = u128::from(window) * u128::from(read - self.space) / u128::from(self.space.max(1));
        let window = u128::from(window) + 2 * growth;
        let wanted = match self.share.rule {
            WindowShare::Half => window / u128::from(mss) * u128::from(provision(mss)),
            WindowShare::Measured => self.share.memory_of(window),
        };
        let wanted = wanted.min(u128::from(self.max)) as u64;
        if wanted > self.size {
            self.size = wanted;
            self.bound = self.share.window_of(wanted);
        }
        self.space = read;
    }
}

/// Returns the memory in bytes that a growing buffer reserves per segment.
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

    fn profile(receive_buffer: BufferRule) -> Profile {
        Profile { receive_buffer, ..Profile::linux_6_1() }
    }

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

    /// Compares with the windows of a Linux 6.1 receiver at 3 Mbit/s, in units of 2^7 bytes. Every segment opens the
    /// window by two segments, up to half of the memory.
    #[test]
    fn the_window_opens_as_in_a_capture_of_linux_6_1() {
        let mut memory = Memory::new(&profile(AUTO), 768, WindowShare::Half);
        assert_eq!(memory.first_window(MSS), 65_160);
        memory.establish(filling(0, 65_160, 65_160));
        let mut offered = 65_160;
        let mut arrive = |memory: &mut Memory| {
            memory.grow(MSS as u32, true, filling(MSS, offered, offered - MSS));
            offered = memory.window(filling(0, offered, offered - MSS));
            offered >> SCALE
        };
        assert_eq!([arrive(&mut memory), arrive(&mut memory)], [501, 501]);
        memory.tune(12 * MSS, 0, MSS);
        let opening: Vec<u64> = (0..9).map(|_| arrive(&mut memory)).collect();
        assert_eq!(opening, [524, 546, 569, 592, 614, 637, 645, 645, 645]);
        memory.tune(14 * MSS, 0, MSS);
        assert_eq!(arrive(&mut memory), 667);
    }

    /// `__tcp_grow_window`: small segments, whose memory is mostly overhead, grow a window only while it is small.
    #[test]
    fn a_small_segment_out_of_order_opens_a_small_window_only() {
        // Segments of 100 bytes grow a window up to 1/8 of the largest window, and segments of 10 bytes up to 1/64.
        let step = |len: u32, threshold: u64| {
            let memory = Memory { threshold, ..Memory::new(&profile(AUTO), 768, WindowShare::Half) };
            memory.step_out_of_order(len, filling(0, 65_160, 65_160))
        };
        assert_eq!([100, 10].map(|len| step(len, 20_000)), [2 * MSS, 2 * MSS]);
        assert_eq!([100, 10].map(|len| step(len, 65_160)), [2 * MSS, 0]);
        assert_eq!([100, 10].map(|len| step(len, 900_000)), [0, 0]);
    }

    /// Compares with the windows of a Linux 6.12 receiver at 5 Mbit/s, in units of 2^7 bytes. A segment of 1,448 bytes
    /// occupies 2,280 bytes of memory, so the window is 162/256 of the memory.
    #[test]
    fn the_measured_share_opens_the_window_as_in_a_capture_of_linux_6_12() {
        let mut memory = Memory::new(&profile(AUTO), 832, WindowShare::Measured);
        assert_eq!(memory.first_window(MSS), 65_160);
        memory.establish(filling(0, 65_160, 65_160));
        memory.measure(MSS as u32);
        let mut offered = 65_160;
        let mut arrive = |memory: &mut Memory| {
            memory.grow(MSS as u32, true, filling(MSS, offered, offered - MSS));
            offered = memory.window(filling(0, offered, offered - MSS));
            offered >> SCALE
        };
        let opening: Vec<u64> = (0..8).map(|_| arrive(&mut memory)).collect();
        assert_eq!(opening, [524, 546, 569, 592, 614, 637, 637, 637]);
        // Unread data does not count for the growth of the buffer.
        let newer = Profile { growth_excludes_unread: true, ..profile(AUTO) };
        let mut memory = Memory::new(&newer, 832, WindowShare::Measured);
        memory.establish(filling(0, 65_160, 65_160));
        memory.tune(20 * MSS, 10 * MSS, MSS);
        assert_eq!(memory.space(), 10 * MSS);
        memory.tune(20 * MSS, 0, MSS);
        assert_eq!(memory.space(), 20 * MSS);
    }

    #[test]
    fn unread_data_occupies_memory_and_an_advertised_window_never_shrinks() {
        let mut memory = Memory::new(&profile(BufferRule::Fixed(Bytes::new(60_000))), 768, WindowShare::Half);
        memory.establish(filling(0, 59_368, 59_368));
        let full = memory.window(filling(0, 59_368, 59_368 - MSS));
        assert_eq!(full, (60_000 - MSS).next_multiple_of(128));
        // 20 unread segments in two records reduce the window by half of the memory that they occupy.
        let room = 60_000u64 - 10 * MSS - 768;
        assert_eq!(memory.window(filling(20 * MSS, full, 20_000)), room.next_multiple_of(128));
        assert_eq!(memory.window(filling(70 * MSS, full, 9_000)), 9_000, "an advertised window is not withdrawn");
        assert!(!memory.is_update_due(filling(20 * MSS, full, 23_000)));
        assert!(memory.is_update_due(filling(20 * MSS, full, 22_000)));
    }

    /// Linux's tcp_rcv_space_adjust: twice the bytes of a round trip plus 16 segments, and twice their growth.
    #[test]
    fn a_round_trip_of_more_data_grows_the_buffer() {
        let grown = |excludes_unread, read, unread| {
            let mut memory = Memory::new(&profile(AUTO), 768, WindowShare::Measured);
            memory.measure(1448);
            // 1448 * 256 / (1448 + 768), rounded down.
            assert_eq!((memory.share.ratio, memory.bound), (167, 131_072 * 167 / 256));
            (memory.space, memory.excludes_unread) = (50_000, excludes_unread);
            memory.tune(read, unread, MSS);
            (memory.size, memory.space)
        };
        // (2 * 100,000 + 16 * 1448) * (1 + 2 * 50,000 / 50,000) bytes of window.
        assert_eq!(grown(false, 100_000, 0), (669_504 * 256 / 167, 100_000));
        assert_eq!(grown(false, 100_000, 60_000), (669_504 * 256 / 167, 100_000));
        assert_eq!(grown(true, 100_000, 50_000), (131_072, 50_000), "Linux 6.12 excludes unread data");
        assert_eq!(grown(false, 50_000, 0), (131_072, 50_000));
        assert_eq!(grown(false, 10_000_000, 0), (6 << 20, 10_000_000), "at most the maximum");
        assert_eq!(grown(false, 50_001, 0), (123_174 * 256 / 167, 50_001));
    }

    #[test]
    fn a_new_fixed_size_never_lowers_the_bound() {
        let mut memory = Memory::new(&profile(AUTO), 768, WindowShare::Half);
        memory.set_size(100_000);
        assert_eq!((memory.size, memory.max, memory.bound), (200_000, 200_000, 100_000));
        memory.set_size(10_000);
        assert_eq!((memory.size, memory.bound), (20_000, 100_000));
        memory.set_size(1);
        assert_eq!(memory.size, LEAST_MEMORY);
    }

    #[test]
    fn an_odd_half_is_rounded_up_and_a_ratio_down() {
        let (half, measured) = (Share::new(WindowShare::Half), Share::new(WindowShare::Measured));
        assert_eq!([half.window_of(1001), measured.window_of(1001)], [501, 500]);
        assert_eq!(measured.memory_of(500), 1000);
        let quarter = Share { ratio: 64, ..measured };
        assert_eq!((quarter.window_of(1000), quarter.memory_of(250)), (250, 1000));
    }

    /// `__tcp_select_window`: a nearly full buffer keeps the right edge.
    #[test]
    fn less_than_a_sixteenth_of_the_buffer_opens_no_window() {
        let mut memory = Memory::new(&profile(AUTO), 0, WindowShare::Half);
        memory.threshold = 1 << 20;
        // 131,072 bytes of memory are 65,536 bytes of window, and a sixteenth is 4,096 bytes.
        let window = |room: u64| memory.window(filling(131_072 - 2 * room, 1000, 0));
        assert_eq!([window(3000), window(4095), window(4096), window(5000)], [0, 0, 4096, 4992]);
        memory.size = 8192;
        let window = |room: u64| memory.window(filling(8192 - 2 * room, 1000, 0));
        assert_eq!([window(1400), window(1536)], [0, 1536], "a sixteenth is less than a segment");
    }

    #[test]
    fn a_first_round_trip_of_the_initial_window_does_not_grow_the_buffer() {
        let established = |per_segment, offered| {
            let mut memory = Memory::new(&profile(AUTO), per_segment, WindowShare::Half);
            memory.establish(filling(0, offered, 0));
            (memory.threshold, memory.space)
        };
        assert_eq!(established(768, 65_535), (65_536 - MSS, 10 * MSS));
        assert_eq!(established(768, 5000), (5000, 5000));
        assert_eq!(established(0, 65_535), (65_536 - MSS, 10 * MSS));
        let mut small = Memory::new(&profile(BufferRule::Fixed(Bytes::new(10_000))), 0, WindowShare::Half);
        small.establish(filling(0, 65_535, 0));
        assert_eq!((small.bound, small.space), (10_000 - MSS, 5000), "half of the buffer");
    }
    /// `tcp_init_buffer_space` keeps one segment in reserve, but offers two segments if the buffer has them.
    #[test]
    fn a_buffer_of_less_than_three_segments_offers_two_segments_or_all() {
        let bound = |octets| {
            let mut memory = Memory::new(&profile(BufferRule::Fixed(Bytes::new(octets))), 0, WindowShare::Half);
            memory.establish(filling(0, octets, 0));
            memory.bound
        };
        assert_eq!(
            [1500, 2 * MSS, 2 * MSS + 500, 3 * MSS, 4 * MSS].map(bound),
            [1500, 2 * MSS, 2 * MSS, 2 * MSS, 3 * MSS]
        );
    }

    /// `tcp_grow_window`: the window opens by at least twice the length of the segment.
    #[test]
    fn a_long_segment_opens_the_window_by_twice_its_length() {
        let mut memory = Memory::new(&profile(AUTO), 768, WindowShare::Half);
        memory.threshold = 10_000;
        assert!(memory.grow(5000, true, filling(0, 10_000, 10_000)));
        assert_eq!(memory.threshold, 20_000);
        assert!(memory.grow(1000, true, filling(0, 10_000, 10_000)));
        assert_eq!(memory.threshold, 20_000 + 2 * MSS);
    }
}
