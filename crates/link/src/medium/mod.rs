//! Media that several stations share: one decides who sends when, for all directions together.

mod config;
mod csma_cd;
mod packet_radio;
mod polled;
mod shared_link;

pub use config::{MEDIA, MediumConfig, MediumKind, MediumSettings, register as register_medium};
pub use csma_cd::{CsmaCd, CsmaCdConfig};
pub use packet_radio::{PacketRadio, PacketRadioConfig};
pub use polled::{Polled, PolledConfig};
pub use shared_link::SharedLink;

use lopsided_core::{Bytes, Time};
use std::fmt::Debug;

/// A channel that several stations share, such as a radio or a cable's upstream. It couples directions: what one station sends, and what
/// acknowledges it, is time that no other has.
///
/// # Contract
/// - A station has one frame with the medium at a time, from [`Medium::request`] until the event that ends it.
/// - Unlike a [`crate::Shaper`] a medium is not replayed: the link calls [`Medium::on_event`] at the time of [`Medium::next_event`], and
///   requests come at their own times.
/// - A frame is delivered at most once, and ends by [`MediumEvent::Done`] or [`MediumEvent::Lost`]; never by `Lost` once it was delivered.
pub trait Medium: Debug + Send {
    /// This station has a frame to send to another, of an IP packet of `size`.
    fn request(&mut self, station: usize, to: usize, size: Bytes, now: Time);

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

/// What became of a station's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediumEvent {
    /// Nothing that a station would see.
    Nothing,
    /// The frame of this station has arrived at the other end.
    Delivered(usize),
    /// The station knows that its frame was delivered, or gives it up after it was: it may send the next.
    Done(usize),
    /// The station gives its frame up, which never arrived.
    Lost(usize),
}
