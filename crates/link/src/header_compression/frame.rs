//! What goes over a line with header compression, and what each way to compress does at its two ends.

use lopsided_core::Packet;

/// What a packet goes over the line as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// As it is. Neither end learns from it.
    Ip,
    /// In full, with the connection's slot in place of IP's protocol: both ends remember it.
    Full { slot: u8 },
    /// With this header in place of that of IP and TCP.
    Compressed(Vec<u8>),
    /// Lost on the line.
    Damaged,
}

/// Both ends of a way to compress headers.
pub(crate) trait Scheme: std::fmt::Debug + Send {
    /// What a packet goes over the line as.
    fn compress(&mut self, packet: &Packet) -> Frame;

    /// Whether what is rebuilt from the frame is the packet.
    fn decompress(&mut self, frame: &Frame, packet: &Packet) -> bool;

    /// A damaged packet arrived at the far end.
    fn note_error(&mut self) {}

    /// The context for which the far end asks, after the packet that it was given last.
    fn poll_request(&mut self) -> Option<u8> {
        None
    }

    /// What the far end asked for arrives.
    fn on_request(&mut self, _context: u8) {}
}
