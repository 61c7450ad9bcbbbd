//! The contract between a medium and its stations.

use lopsided_core::{Bytes, DropReason, Time};
use std::fmt::Debug;

/// A channel that several stations share, such as a radio channel or a cable's upstream.
///
/// # Contract
/// - The medium stores a frame from [`Medium::request`] until the event that ends the frame.
/// - The link passes a station's next frame to the medium only if [`Medium::takes`] returns true. It calls `takes` when
///   a packet enters the station's queue, after each request, when one of the station's frames ends, and after
///   [`MediumEvent::Fill`].
/// - The link calls [`Medium::on_event`] at the time that [`Medium::next_event`] returns, and calls [`Medium::request`]
///   with the current time.
/// - A frame is delivered at most once. It ends with [`MediumEvent::Done`] or [`MediumEvent::Lost`]. A delivered frame
///   never ends with `Lost`.
///
/// # Examples
///
/// A medium of 2 stations, on which every frame takes 1 ms:
///
/// ```
/// use lopsided_core::{BitRate, Bytes, Rng, Time};
/// use lopsided_link::{FrameId, Medium, MediumEvent, Polled, PolledConfig};
///
/// let config = PolledConfig { rate: BitRate::from_bps(1_000_000), ..PolledConfig::default() };
/// let mut medium = Polled::new(config, 2, Rng::for_role(1, "radio/medium"));
/// let frame = FrameId { station: 0, number: 0 };
/// medium.request(frame, 1, Bytes::new(1500), Time::ZERO);
/// let mut events = Vec::new();
/// while let Some(at) = medium.next_event() {
///     match medium.on_event(at) {
///         MediumEvent::Nothing => {}
///         event => events.push(event),
///     }
/// }
/// assert_eq!(events, [MediumEvent::Delivered(frame), MediumEvent::Done(frame)]);
/// ```
pub trait Medium: Debug + Send {
    /// Adds a frame of station `frame.station` for station `to`. The frame contains an IP packet of `size` bytes.
    fn request(&mut self, frame: FrameId, to: usize, size: Bytes, now: Time);

    /// True if the medium accepts another frame from `station` now. `with_medium` is the number of the station's frames
    /// that the medium stores. With [`Medium::queue_per_receiver`], only frames for `receiver` are counted.
    fn takes(&self, station: usize, receiver: usize, with_medium: usize) -> bool {
        let _ = (station, receiver);
        with_medium == 0
    }

    /// True if a station has one queue per receiver instead of one queue for all receivers.
    fn queue_per_receiver(&self) -> bool {
        false
    }

    /// Returns the next station on a packet's path from station `from` to station `to`.
    fn next_hop(&self, from: usize, to: usize) -> usize {
        let _ = from;
        to
    }

    /// Returns the time of the next event; `None` if no event is pending.
    fn next_event(&self) -> Option<Time>;

    /// Handles the event that is due. `now` is the time that `next_event` returned.
    fn on_event(&mut self, now: Time) -> MediumEvent;

    /// Calls `out` with the station (`None` for the medium), name and value of each counter.
    fn sample(&self, out: &mut dyn FnMut(Option<usize>, &str, f64));
}

/// Identifies a frame that was passed to the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameId {
    /// Number of the station that sends the frame.
    pub station: usize,
    /// Number of the frame among the station's frames, counted from 0.
    pub number: u64,
}

/// An event of the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediumEvent {
    /// An event that does not concern any station.
    Nothing,
    /// The station is about to send to a receiver, and more frames can join this transmission.
    Fill {
        /// Number of the station that sends.
        station: usize,
        /// Number of the station that receives.
        receiver: usize,
    },
    /// The frame has arrived at the receiver.
    Delivered(FrameId),
    /// The frame ends after its delivery, because the sending station was notified of the delivery or dropped the
    /// frame.
    Done(FrameId),
    /// The frame ends without a delivery.
    Lost(FrameId, DropReason),
}
