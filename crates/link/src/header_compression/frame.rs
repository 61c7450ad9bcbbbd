//! The frames of a line with header compression, and the two ends of a compression scheme.

use lopsided_core::Packet;

/// The form in which a packet crosses the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Unchanged. Neither end learns from it.
    Ip,
    /// In full, with the connection's slot instead of IP's protocol: both ends store it.
    Full { slot: u8 },
    /// With this header instead of those of IP and TCP.
    Compressed(Vec<u8>),
    /// Lost on the line.
    Damaged,
}

/// Both ends of a way to compress headers.
pub(crate) trait Scheme: std::fmt::Debug + Send {
    /// Encodes a packet for the line.
    fn compress(&mut self, packet: &Packet) -> Frame;

    /// Decodes a frame. True if the result is the packet.
    fn decompress(&mut self, frame: &Frame, packet: &Packet) -> bool;

    /// A damaged packet arrived at the far end.
    fn note_error(&mut self) {}

    /// The context that the far end requests after the last packet.
    fn poll_request(&mut self) -> Option<u8> {
        None
    }

    /// Handles a request of the far end.
    fn on_request(&mut self, _context: u8) {}
}
