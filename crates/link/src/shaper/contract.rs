//! The contract between a shaper and a link.

use lopsided_core::{BitRate, Bytes, Time};
use std::fmt::Debug;

/// Decides when packets leave a link's queue: a serializer, a token bucket, or a trace of delivery opportunities.
///
/// # Contract
/// A link reports an idle or backlogged period when the period ends, and computes in advance when a packet may leave.
/// Times never go back. `crates/link/tests/all/eager.rs` compares each shaper with a model that steps through
/// every nanosecond.
/// - While no packet can be sent, the link calls [`Shaper::advance_idle`]. While a packet of known size is at the head
///   of the queue, it calls [`Shaper::advance_backlogged`] with that size. The result must not depend on how these
///   calls divide the time.
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
    /// True if `ready_at` depends on the packet's size. If the discipline cannot return the size, the link then
    /// dequeues the packet in advance (see [`lopsided_queue::Child`]).
    fn needs_size(&self) -> bool;

    /// Advances to `now`, at the end of a period in which no packet could be sent.
    fn advance_idle(&mut self, now: Time);

    /// Advances to `now`, at the end of a period in which a packet of `wire` bytes was at the head of the queue.
    fn advance_backlogged(&mut self, now: Time, wire: Bytes);

    /// Returns the time at which a packet of `wire` bytes may leave the queue. This time may be in the past.
    fn ready_at(&mut self, wire: Bytes) -> Time;

    /// Sends a packet that leaves the queue at `start`. Returns the time at which its last bit is sent.
    fn transmit(&mut self, start: Time, wire: Bytes) -> Time;

    /// Returns the upper limit of the long-run rate; `None` if there is no limit or the limit is unknown.
    fn rate(&self) -> Option<BitRate>;

    /// Sends a packet that enters a FIFO now. Returns the departure time from the queue, and the time at which the last
    /// bit is sent.
    fn schedule(&mut self, now: Time, wire: Bytes) -> (Time, Time) {
        // If earlier packets still wait, the shaper has already advanced beyond `now`, so this call does nothing.
        self.advance_idle(now);
        let start = self.ready_at(wire).max(now);
        (start, self.transmit(start, wire))
    }
}
