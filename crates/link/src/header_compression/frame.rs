//! The frames of a line with header compression, and the two ends of a compression scheme.

use lopsided_core::Packet;

/// The form in which a packet crosses the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The IP packet unchanged. Neither end updates a context.
    Ip,
    /// The full header, with the connection's slot in IP's protocol field. Both ends store the header.
    Full { slot: u8 },
    /// This compressed header instead of the headers of IP and TCP.
    Compressed(Vec<u8>),
    /// A frame that the line lost.
    Damaged,
}

/// Both ends of a compression scheme.
pub(crate) trait Scheme: std::fmt::Debug + Send {
    /// Encodes a packet for the line.
    fn compress(&mut self, packet: &Packet) -> Frame;

    /// Decodes a frame at the far end. Returns true if the rebuilt header equals the packet's.
    fn decompress(&mut self, frame: &Frame, packet: &Packet) -> bool;

    /// Handles a damaged frame at the far end.
    fn note_error(&mut self) {}

    /// Returns the context whose full header the far end requests after the last frame, if it requests one.
    fn poll_request(&mut self) -> Option<u8> {
        None
    }

    /// Handles a request of the far end at the sending end.
    fn on_request(&mut self, _context: u8) {}
}
