//! The contract between a shaper and a link.

use lopsided_core::{BitRate, Bytes, Time};
use std::fmt::Debug;

/// Decides when packets leave a link's queue: a serializer, a token bucket, or a trace of delivery opportunities.
///
/// # Contract
/// A link has no event for each instant at which the shaper's state could change. It reports afterwards what happened
/// up to now, and requests in advance the time at which a packet may leave. Times never go back.
/// `crates/link/tests/eager.rs` compares each shaper with a model that steps through every nanosecond.
/// - While no packet can be sent, the link calls [`Shaper::advance_idle`]. While a packet of known size is at the head
///   of the queue, it calls [`Shaper::advance_backlogged`] with that size. The result must not depend on how the time
///   is divided among the calls.
/// - [`Shaper::ready_at`] refers to the state after the last advance and does not change it.
/// - [`Shaper::transmit`] is called at or after `ready_at` for that size.
///
/// # Examples
///
/// ```
/// use lopsided_core::{BitRate, Bytes, Duration, Time};
/// use lopsided_link::Shaper;
///
/// /// One packet per millisecond, whatever its size.
/// #[derive(Debug)]
/// struct EveryMillisecond {
///     free_at: Time,
/// }
///
/// impl Shaper for EveryMillisecond {
///     fn needs_size(&self) -> bool {
///         false
///     }
///     fn advance_idle(&mut self, _now: Time) {}
///     fn advance_backlogged(&mut self, _now: Time, _wire: Bytes) {}
///     fn ready_at(&mut self, _wire: Bytes) -> Time {
///         self.free_at
///     }
///     fn transmit(&mut self, start: Time, _wire: Bytes) -> Time {
///         self.free_at = start + Duration::from_millis(1);
///         self.free_at
///     }
///     fn rate(&self) -> Option<BitRate> {
///         None
///     }
/// }
///
/// let mut shaper = EveryMillisecond { free_at: Time::ZERO };
/// assert_eq!(shaper.schedule(Time::ZERO, Bytes::new(1500)).0, Time::ZERO);
/// assert_eq!(shaper.schedule(Time::ZERO, Bytes::new(1500)).0, Time::from_nanos(1_000_000));
/// ```
pub trait Shaper: Debug + Send {
    /// True if `ready_at` depends on the packet's size. The link then looks up the size of the packet at the head in
    /// advance. If the discipline cannot return the size, the link takes the packet out of it (see
    /// [`lopsided_queue::Child`]).
    fn needs_size(&self) -> bool;

    /// Advances to `now`, after a time in which no packet could be sent.
    fn advance_idle(&mut self, now: Time);

    /// Advances to `now`, after a time in which a packet of this size on the wire was at the head of the queue. The
    /// packet may have been replaced at `now`.
    fn advance_backlogged(&mut self, now: Time, wire: Bytes);

    /// Returns when a packet of this size on the wire may leave the queue, if nothing happens before. The time may be
    /// in the past.
    fn ready_at(&mut self, wire: Bytes) -> Time;

    /// Sends a packet that leaves the queue at `start`. Returns the time of its last bit on the line.
    fn transmit(&mut self, start: Time, wire: Bytes) -> Time;

    /// Returns the long-run limit of the rate; `None` if there is no limit or no known one.
    fn rate(&self) -> Option<BitRate>;

    /// Sends a packet that enters a FIFO queue now, after all packets scheduled before. Returns when it leaves the
    /// queue, and the time of its last bit on the line.
    fn schedule(&mut self, now: Time, wire: Bytes) -> (Time, Time) {
        // If earlier packets still wait, the shaper has already advanced beyond `now`, and this call has no effect.
        self.advance_idle(now);
        let start = self.ready_at(wire).max(now);
        (start, self.transmit(start, wire))
    }
}
