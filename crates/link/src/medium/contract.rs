//! The contract between a medium and its stations.

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

    /// True if the station can be given another frame while the medium has `with_medium` of its frames. With
    /// [`Medium::queue_per_receiver`], only frames to `receiver` count.
    fn takes(&self, station: usize, receiver: usize, with_medium: usize) -> bool {
        let _ = (station, receiver);
        with_medium == 0
    }

    /// True if a station has one queue per receiver instead of one for all.
    fn queue_per_receiver(&self) -> bool {
        false
    }

    /// The next station of a packet on its way between two stations.
    fn next_hop(&self, from: usize, to: usize) -> usize {
        let _ = from;
        to
    }

    /// Time of the next event; `None` if there is none.
    fn next_event(&self) -> Option<Time>;

    /// Processes the event at the time of `next_event`.
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

/// The fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediumEvent {
    /// Nothing visible to a station.
    Nothing,
    /// The station is about to send to a receiver and accepts more frames that fit.
    Fill { station: usize, receiver: usize },
    /// The frame has arrived at the other end.
    Delivered(FrameId),
    /// The station learns that its frame was delivered, or gives it up after delivery.
    Done(FrameId),
    /// The frame never arrives: the station gives it up, or does not learn of it.
    Lost(FrameId, DropReason),
}
