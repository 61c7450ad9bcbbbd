//! Limits the data in the send buffer, and decides when a waiting application is notified of free space.

use crate::profile::{BufferRule, SendBufferAccounting};
use lopsided_core::Bytes;

/// Linux's allowance for headers in bytes (`tcp_sndbuf_expand`).
const HEADERS: u64 = 512;
/// Linux's allowance for the memory record of a segment, in bytes.
const RECORD: u64 = 256;
/// The smallest window for which Linux sizes the buffer, in segments.
const LEAST_SEGMENTS: u64 = 10;

/// The smallest buffer in bytes of memory (Linux's SOCK_MIN_SNDBUF, socket(7): 2 x 2304 bytes).
const LEAST_MEMORY: u64 = 4608;

/// The size limit of the send buffer, as the profile requires.
#[derive(Debug)]
pub(crate) struct SendBufferLimit {
    rule: BufferRule,
    room: SendBufferAccounting,
    /// Size of a buffer that grows automatically. The unit depends on `room`: bytes of the stream or bytes of memory.
    capacity: u64,
    /// True if the application has filled the buffer and waits for free space.
    waiting: bool,
}

/// The state of the send buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendBufferState {
    /// Bytes in the buffer.
    pub len: u64,
    /// Number of segments in the buffer. Adjacent SACKed segments of equal length count as one, because Linux merges them
    /// (`tcp_shift_skb_data`): only their payload needs memory.
    pub segments: u64,
    /// Bytes that are missing from the last unsent segment to make it a full segment.
    pub unfilled: u64,
    /// Payload of a full segment, in bytes.
    pub mss: u64,
    /// The congestion window, in bytes.
    pub cwnd: u64,
    /// Number of congestion windows that an automatically sized buffer holds.
    pub windows: u64,
}

/// The rule by which an ACK grows the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// The buffer does not grow.
    None,
    /// The buffer grows by a fixed step ([`SendBufferLimit::step`]).
    Step,
    /// The buffer grows to a multiple of the congestion window ([`SendBufferLimit::provide`]).
    Windows,
}

impl SendBufferLimit {
    pub fn new(rule: BufferRule, room: SendBufferAccounting) -> SendBufferLimit {
        SendBufferLimit { rule, room, capacity: rule.initial().get(), waiting: false }
    }

    /// Number of bytes that the application may write now.
    pub fn room(&self, filling: SendBufferState) -> u64 {
        self.room_for(filling, u64::MAX)
    }

    /// Number of bytes that may be written now by an application that has `wanted` bytes to write.
    pub fn room_for(&self, filling: SendBufferState, wanted: u64) -> u64 {
        match self.room {
            SendBufferAccounting::Stream => self.stream_capacity(filling).saturating_sub(filling.len),
            SendBufferAccounting::Segments { low_water } => {
                let capacity = self.stream_capacity(filling);
                let free = capacity.saturating_sub(filling.len);
                if free < wanted.min(low_water.get()).min(capacity) { 0 } else { free }
            }
            SendBufferAccounting::Memory { per_segment } => {
                let memory = self.memory(filling.len, filling.segments, per_segment);
                if self.waiting && !memory.is_worth_waking() {
                    return 0;
                }
                // Linux fills the last segment even if no memory is free. If memory is free, Linux allocates another
                // segment and fills this segment too.
                let begun = memory.free.saturating_sub(filling.unfilled).div_ceil(filling.mss + per_segment);
                filling.unfilled + begun * filling.mss
            }
        }
    }

    /// Cheap check: true if the application waits for free space, and too little is free to notify it. Then
    /// [`SendBufferLimit::room`] returns 0. `len` is the number of bytes in the buffer, and `segments` returns the
    /// number of segments.
    #[inline]
    pub fn keeps_waiting(&self, len: u64, segments: impl FnOnce() -> u64) -> bool {
        let SendBufferAccounting::Memory { per_segment } = self.room else { return false };
        self.waiting && !self.memory(len, segments(), per_segment).is_worth_waking()
    }

    /// Sets a fixed size of the buffer.
    pub fn set_size(&mut self, size: Bytes) {
        self.rule = BufferRule::Fixed(size);
    }

    /// True if the application has filled the buffer and waits for free space.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.waiting
    }

    /// Records a write. If the write filled the buffer, the application now waits for free space.
    pub fn note_written(&mut self, filling: SendBufferState) {
        if let SendBufferAccounting::Memory { per_segment } = self.room {
            self.waiting = filling.unfilled == 0 && self.memory(filling.len, filling.segments, per_segment).free == 0;
        }
    }

    /// Returns how the next ACK may grow the buffer.
    #[inline]
    pub fn growth(&self) -> Growth {
        match (self.room, self.rule) {
            (SendBufferAccounting::Segments { .. }, BufferRule::Stepped { max, .. }) if self.capacity < max.get() => {
                Growth::Step
            }
            (SendBufferAccounting::Memory { .. }, BufferRule::Auto { max, .. })
                if self.waiting && self.capacity < max.get() =>
            {
                Growth::Windows
            }
            _ => Growth::None,
        }
    }

    /// Grows the buffer by one step after an ACK, as FreeBSD does, if all of these are true:
    ///
    /// - `len`, the number of bytes that the ACK left in the buffer, is at least 7/8 of the buffer's size.
    /// - The unsent data fits the congestion window and the peer's window (`windows_take_it`).
    /// - The buffer is at most 25 % larger than the peer's window.
    pub fn step(&mut self, len: u64, peer_window: u64, windows_take_it: bool) {
        if let BufferRule::Stepped { step, max, .. } = self.rule {
            if len >= self.capacity / 8 * 7 && peer_window / 4 * 5 >= self.capacity && windows_take_it {
                self.capacity = (self.capacity + step.get()).min(max.get());
            }
        }
    }

    /// Sets the size of a full segment. 4.4BSD rounds its buffers to whole segments.
    pub fn agree(&mut self, mss: u64) {
        if !matches!(self.room, SendBufferAccounting::Segments { .. }) {
            return;
        }
        self.capacity = self.capacity.next_multiple_of(mss);
        if let BufferRule::Fixed(size) = self.rule {
            self.rule = BufferRule::Fixed(Bytes::new(size.get().next_multiple_of(mss)));
        }
    }

    /// Grows the buffer to `windows` times the memory of `segments` segments, as Linux does (`tcp_sndbuf_expand`).
    pub fn provide(&mut self, mss: u64, segments: u64, windows: u64) {
        if let (SendBufferAccounting::Memory { .. }, BufferRule::Auto { max, .. }) = (self.room, self.rule) {
            let segments = segments.max(LEAST_SEGMENTS);
            self.capacity = self.capacity.max((windows * segments * provision(mss)).min(max.get()));
        }
    }

    /// Size of the buffer in bytes of the stream.
    fn stream_capacity(&self, filling: SendBufferState) -> u64 {
        match self.rule {
            BufferRule::Fixed(size) => size.get(),
            BufferRule::Auto { initial, max } => {
                (filling.windows * filling.cwnd).clamp(initial.get(), max.get().max(initial.get()))
            }
            BufferRule::Stepped { .. } => self.capacity,
        }
    }

    /// Used and free memory of the buffer, in bytes.
    #[inline]
    fn memory(&self, len: u64, segments: u64, per_segment: u64) -> Memory {
        let capacity = match self.rule {
            BufferRule::Fixed(size) => 2 * size.get(),
            BufferRule::Auto { .. } | BufferRule::Stepped { .. } => self.capacity,
        };
        let capacity = capacity.max(LEAST_MEMORY);
        let used = len + per_segment * segments;
        Memory { used, free: capacity.saturating_sub(used) }
    }
}

/// Memory of the send buffer, in bytes.
struct Memory {
    used: u64,
    free: u64,
}

impl Memory {
    /// True if a waiting writer is notified: 1/3 of the buffer is free (Linux's sk_stream_write_space).
    #[inline]
    fn is_worth_waking(&self) -> bool {
        self.free >= self.used / 2
    }
}

/// Returns the memory in bytes that Linux reserves for one segment when it computes the size of the buffer.
fn provision(mss: u64) -> u64 {
    (mss + HEADERS).next_power_of_two() + RECORD
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const LINUX: SendBufferAccounting = SendBufferAccounting::Memory { per_segment: 768 };

    fn filled(segments: u64, cwnd: u64) -> SendBufferState {
        SendBufferState { len: segments * MSS, segments, unfilled: 0, mss: MSS, cwnd: cwnd * MSS, windows: 2 }
    }

    fn auto() -> SendBufferLimit {
        SendBufferLimit::new(BufferRule::Auto { initial: Bytes::new(46_080), max: Bytes::new(4 << 20) }, LINUX)
    }

    /// Compares the ends of a bulk sender's writes with Linux 6.1. The expected ends, in segments, are the PSH flags in
    /// a capture of slow start.
    #[test]
    fn the_writes_of_slow_start_end_at_the_offsets_of_linux() {
        let mut space = auto();
        let mut written = space.room(filled(0, 10)) / MSS;
        space.note_written(filled(written, 10));
        let mut ends = vec![written];
        for acked in 1..500 {
            let filling = filled(written - acked, 10 + acked);
            if space.growth() == Growth::Windows {
                space.provide(MSS, filling.cwnd / MSS, filling.windows);
            }
            let room = space.room(filling) / MSS;
            if room > 0 {
                written += room;
                space.note_written(filled(written - acked, 10 + acked));
                ends.push(written);
            }
        }
        assert_eq!(ends[..4], [21, 31, 46, 64]);
        let captured = [163, 215, 283, 369, 480, 625, 813, 1053, 1364];
        for (ours, linux) in ends.iter().skip_while(|end| **end < 150).zip(captured) {
            assert!(ours.abs_diff(linux) <= linux / 25, "{ours}, not {linux}");
        }
    }

    /// With 4 MiB of memory, the outstanding data in the capture reaches 1,893 segments.
    #[test]
    fn a_segment_occupies_more_memory_than_its_payload() {
        let mut space = auto();
        space.note_written(filled(21, 10));
        assert_eq!(space.growth(), Growth::Windows);
        space.provide(MSS, 5000, 2);
        assert_eq!(space.room(filled(0, 5000)), 1893 * MSS);
        space.note_written(filled(1000, 5000));
        let joined = SendBufferState { segments: 1293, ..filled(1893, 5000) };
        assert!(space.room(joined) > 150 * MSS, "SACKed segments free memory");
    }

    /// A write of 128 KiB ends within a segment. Space for the missing bytes of this segment stays reserved.
    #[test]
    fn a_short_segment_is_filled_before_the_next_segment_starts() {
        let mut space = auto();
        space.capacity = 3 * (MSS + 768) + 2000;
        let short = SendBufferState { len: 2 * MSS + 60, segments: 3, unfilled: MSS - 60, ..filled(0, 10) };
        assert_eq!(space.room(short), MSS - 60 + MSS);
        let full = SendBufferState { len: 4 * MSS + 60, segments: 5, ..short };
        assert_eq!(space.room(full), MSS - 60, "no memory for another segment");
        space.note_written(full);
        space.note_written(filled(5, 10));
        assert_eq!(space.room(filled(5, 10)), 0);
    }

    /// The conditions are listed at [`SendBufferLimit::step`].
    #[test]
    fn freebsds_buffer_grows_only_if_every_condition_holds() {
        let rule = BufferRule::Stepped { initial: Bytes::new(8_000), step: Bytes::new(1_000), max: Bytes::new(9_500) };
        let space = || SendBufferLimit::new(rule, SendBufferAccounting::Segments { low_water: Bytes::new(2_048) });
        let stepped = |len, peer_window, windows_take_it| {
            let mut space = space();
            space.step(len, peer_window, windows_take_it);
            space.capacity
        };
        assert_eq!(stepped(7_000, 6_400, true), 9_000);
        assert_eq!(stepped(6_999, 6_400, true), 8_000, "less than 7/8 are full");
        assert_eq!(stepped(7_000, 6_396, true), 8_000, "the peer's window is smaller than 4/5 of the buffer");
        assert_eq!(stepped(7_000, 6_400, false), 8_000, "a window holds back unsent data");
        let mut space = space();
        for _ in 0..3 {
            assert_eq!(space.growth(), if space.capacity < 9_500 { Growth::Step } else { Growth::None });
            space.step(9_500, 9_500, true);
        }
        assert_eq!(space.capacity, 9_500);
    }

    #[test]
    fn a_send_buffer_of_one_octet_accepts_three_segments() {
        let space = SendBufferLimit::new(BufferRule::Fixed(Bytes::new(1)), LINUX);
        assert_eq!(space.room(filled(0, 10)), 3 * MSS, "a third segment begins if any memory is free");
    }

    #[test]
    fn a_blocked_writer_is_notified_when_a_third_of_the_buffer_is_free() {
        let mut space = SendBufferLimit::new(BufferRule::Fixed(Bytes::new(1 << 17)), LINUX);
        let full = space.room(filled(0, 10)) / MSS;
        space.note_written(filled(full, 10));
        let woken = (0..full).rev().find(|queued| space.room(filled(*queued, 10)) > 0).expect("room at last");
        assert!(((full * 2 / 3 - 1)..=(full * 2 / 3)).contains(&woken), "{woken} of {full} still queued");
        space.note_written(filled(woken + 1, 10));
        assert!(space.room(filled(full - 1, 10)) > 0, "an application that never filled the buffer need not wait");
    }

    /// tcp_sndbuf_expand: an automatic buffer holds a number of congestion windows.
    #[test]
    fn an_automatic_buffer_of_stream_bytes_holds_two_windows() {
        let rule = BufferRule::Auto { initial: Bytes::new(46_080), max: Bytes::new(1 << 20) };
        let space = SendBufferLimit::new(rule, SendBufferAccounting::Stream);
        let room = |segments, cwnd| space.room(filled(segments, cwnd));
        assert_eq!([room(0, 10), room(0, 100), room(50, 100)], [46_080, 200 * MSS, 150 * MSS]);
        assert_eq!([room(0, 1000), room(2000, 1000)], [1 << 20, 0]);
    }

    #[test]
    fn a_writer_waits_from_a_full_buffer_until_a_third_is_free() {
        let mut space = auto();
        assert!(!space.is_awaited() && space.growth() == Growth::None);
        let full = space.room(filled(0, 10)) / MSS;
        space.note_written(filled(full, 10));
        assert!(space.is_awaited() && space.growth() == Growth::Windows);
        // 46,080 bytes of memory hold 21 segments with 768 bytes of overhead each, the last one beyond the limit.
        let rooms: Vec<bool> = (0..=full).map(|segments| space.room(filled(segments, 10)) > 0).collect();
        let waking = rooms.iter().rposition(|has_room| *has_room).expect("an empty buffer has room") as u64;
        assert_eq!(waking, 13, "two thirds of 46,080 bytes are 13.9 segments");
        assert!(space.keeps_waiting(14 * MSS, || 14) && !space.keeps_waiting(13 * MSS, || 13));
        space.note_written(filled(5, 10));
        assert!(!space.is_awaited());
    }
}
