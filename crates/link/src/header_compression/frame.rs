//! The frames of a line with header compression, and the two ends of a compression scheme.

use lopsided_core::Packet;

/// The form in which a packet crosses the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The IP packet unchanged. Neither end updates a context.
    Ip,
    /// The full header, with the connection's slot in IP's protocol field. Both ends store the header as their context.
    Full { slot: u8 },
    /// A compressed header, which replaces the IP and TCP headers.
    Compressed(Vec<u8>),
    /// A frame that was lost on the line.
    Damaged,
}

/// Both ends of a compression scheme.
pub(crate) trait Scheme: std::fmt::Debug + Send {
    /// Encodes a packet for the line.
    fn compress(&mut self, packet: &Packet) -> Frame;

    /// Decodes a frame at the far end. Returns true if the rebuilt header equals the packet's header.
    fn decompress(&mut self, frame: &Frame, packet: &Packet) -> bool;

    /// Notifies the far end of a damaged frame.
    fn note_error(&mut self) {}

    /// Returns the context for which the far end requests a full header.
    fn poll_request(&mut self) -> Option<u8> {
        None
    }

    /// Notifies the sending end that the far end requests a full header for a context.
    fn on_request(&mut self, _context: u8) {}
}
