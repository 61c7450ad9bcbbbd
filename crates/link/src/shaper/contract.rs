//! What a shaper is to a link.

use lopsided_core::{BitRate, Bytes, Time};
use std::fmt::Debug;

/// What decides when packets leave a link's queue: a serializer, a token bucket, a trace of delivery opportunities.
///
/// # Contract
/// A link has no event for each instant at which something could change: it says afterwards what was the case up to
/// now, and asks in advance when a packet may leave. Times never go back. `crates/link/tests/eager.rs` runs any shaper
/// both ways.
/// - While nothing can be sent the link calls [`Shaper::advance_idle`]; while a packet of a known size is at the head
///   it calls [`Shaper::advance_backlogged`] with that size. Neither may depend on how the time is divided among calls.
/// - [`Shaper::ready_at`] asks as of the last advance, and changes nothing.
/// - [`Shaper::transmit`] comes at a time not before `ready_at` of that size.
pub trait Shaper: Debug + Send {
    /// Whether `ready_at` depends on the packet's size. If so the link learns the size of the packet at the head in
    /// advance, and takes the packet out of a discipline that cannot tell it otherwise (see [`lopsided_queue::Child`]).
    fn needs_size(&self) -> bool;

    /// Nothing could be sent up to `now`.
    fn advance_idle(&mut self, now: Time);

    /// A packet of this size on the wire was at the head of the queue up to `now`, and may not be any more.
    fn advance_backlogged(&mut self, now: Time, wire: Bytes);

    /// When a packet of this size on the wire may leave the queue if nothing happens before; possibly in the past.
    fn ready_at(&mut self, wire: Bytes) -> Time;

    /// A packet leaves the queue at `start`; gives the time at which its last bit has left the line.
    fn transmit(&mut self, start: Time, wire: Bytes) -> Time;

    /// The rate that is never exceeded for long; `None` if there is no limit, or none that is known.
    fn rate(&self) -> Option<BitRate>;

    /// The course of a packet that enters a first-in-first-out queue now, behind all that was scheduled before: when it
    /// leaves the queue, and when its last bit has left the line.
    fn schedule(&mut self, now: Time, wire: Bytes) -> (Time, Time) {
        // Where others wait, the shaper has advanced beyond now already, and stays there.
        self.advance_idle(now);
        let start = self.ready_at(wire).max(now);
        (start, self.transmit(start, wire))
    }
}
