//! What a medium is to the stations that share it.

use lopsided_core::{Bytes, DropReason, Time};
use std::fmt::Debug;

/// A channel that several stations share, such as a radio or a cable's upstream. It couples directions: what one
/// station sends, and what acknowledges it, is time that no other has.
///
/// # Contract
/// - A frame is with the medium from [`Medium::request`] until the event that ends it. The link numbers a station's
///   frames in the order of their requests.
/// - The link gives a station's next frame when [`Medium::takes`] says so. It asks after the request before, after each
///   event of the station's frames, and when a packet joins its queue.
/// - Unlike a [`crate::Shaper`] a medium is not replayed: the link calls [`Medium::on_event`] at the time of
///   [`Medium::next_event`], and requests come at their own times.
/// - A frame is delivered at most once, and ends by [`MediumEvent::Done`] or [`MediumEvent::Lost`]; never by `Lost`
///   once it was delivered.
pub trait Medium: Debug + Send {
    /// This station has a frame to send to another, of an IP packet of `size`.
    fn request(&mut self, frame: FrameId, to: usize, size: Bytes, now: Time);

    /// Whether the station can be given another frame; `with_medium` are there. With [`Medium::queue_per_receiver`],
    /// frames to `receiver` are meant and counted.
    fn takes(&self, station: usize, receiver: usize, with_medium: usize) -> bool {
        let _ = (station, receiver);
        with_medium == 0
    }

    /// Whether a station has a queue for each station that it sends to, or one for all.
    fn queue_per_receiver(&self) -> bool {
        false
    }

    /// The station that a packet goes to next, on its way from one to another.
    fn next_hop(&self, from: usize, to: usize) -> usize {
        let _ = from;
        to
    }

    /// When something happens next; `None` while nothing can.
    fn next_event(&self) -> Option<Time>;

    /// What happens now, at the time of `next_event`.
    fn on_event(&mut self, now: Time) -> MediumEvent;

    /// Calls `out` with each counter of a station (by its number), or of the medium itself (`None`).
    fn sample(&self, out: &mut dyn FnMut(Option<usize>, &str, f64));
}

/// A frame that a station has with the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameId {
    pub station: usize,
    /// Among the station's frames.
    pub number: u64,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediumEvent {
    /// Nothing that a station would see.
    Nothing,
    /// This station is about to send to a receiver, and takes what fits beside what it has.
    Fill { station: usize, receiver: usize },
    /// The frame has arrived at the other end.
    Delivered(FrameId),
    /// The station knows that its frame was delivered, or gives it up after it was.
    Done(FrameId),
    /// The frame never arrives: the station gives it up, or does not know.
    Lost(FrameId, DropReason),
}
