//! The advertised window.

use super::buffer::Buffer;
use super::filling::Filling;
use super::memory::LARGEST_UNSCALED;
use crate::profile::Profile;
use lopsided_core::Duration;

/// The window that the receiver has advertised, and the buffer from which the next window is computed.
///
/// # Invariants
///
/// - The right edge never moves back (RFC 9293 section 3.8.6).
/// - While `settled` is true, nothing that determines the window has changed since the window was advertised. Every
///   method that changes the buffer therefore resets `settled`, and [`OfferedWindow::data_changed`] resets it if the
///   received data changes.
#[derive(Debug)]
pub(super) struct OfferedWindow {
    buffer: Buffer,
    settled: bool,
    /// Window of an ACK that became due before the application read the new data.
    due: Option<u64>,
    /// Right edge of the advertised window, as a stream offset.
    edge: u64,
    /// The last advertised window, in bytes.
    offered: u64,
}

impl OfferedWindow {
    pub fn new(profile: &Profile, mss: u32) -> OfferedWindow {
        let buffer = Buffer::new(profile);
        let offered = buffer.first_window(u64::from(mss));
        OfferedWindow { buffer, settled: false, due: None, edge: 0, offered }
    }

    /// Notes that the received data or the segment sizes have changed.
    #[inline(always)]
    pub fn data_changed(&mut self) {
        self.settled = false;
    }

    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Returns the buffer, for a change that may change the window.
    #[inline(always)]
    pub fn buffer_mut(&mut self) -> &mut Buffer {
        self.settled = false;
        &mut self.buffer
    }

    /// Returns the buffer, for a measurement, which does not change the window until the buffer grows.
    #[inline(always)]
    pub fn measured(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    pub fn rtt(&self) -> Option<Duration> {
        self.buffer.rounds.rtt()
    }

    /// The last advertised window, in bytes. Before any data arrives, it is the window of the SYN. It may be larger than
    /// the header field can express.
    #[inline(always)]
    pub fn offered(&self) -> u64 {
        self.offered
    }

    #[inline(always)]
    pub fn edge(&self) -> u64 {
        self.edge
    }

    /// Part of the advertised window beyond `next` that the peer has not used yet, in bytes.
    #[inline(always)]
    pub fn open(&self, next: u64) -> u64 {
        self.edge.saturating_sub(next)
    }

    /// True if an ACK is due whose window was computed before the application read the new data.
    pub fn is_ack_due(&self) -> bool {
        self.due.is_some()
    }

    /// Like [`OfferedWindow::open`], but assumes that an ACK that is due has been sent.
    pub fn open_after_ack(&self, next: u64) -> u64 {
        self.open(next).max(self.due.unwrap_or(0))
    }

    /// Computes the window of the SYN-ACK, a whole number of segments of `mss` bytes.
    pub fn answer_with(&mut self, mss: u32) {
        self.settled = false;
        self.offered = self.buffer.first_window(u64::from(mss));
    }

    /// Records the window of a SYN as advertised. The window in a SYN is never scaled (RFC 7323 section 2.2).
    pub fn offer_in_syn(&mut self, next: u64) -> u16 {
        self.settled = false;
        // Linux counts the whole window as advertised (`rcv_wnd` in tcp_select_initial_window), although the header field
        // cannot express a window of 2^16 bytes or more.
        self.edge = self.edge.max(next + self.offered);
        self.offered.min(LARGEST_UNSCALED) as u16
    }

    /// The window field of the header if the window has not changed since it was last advertised; otherwise `None`.
    #[inline(always)]
    pub fn settled(&self, scale: u8) -> Option<u16> {
        self.settled.then_some(header_field(self.offered >> scale))
    }

    /// Computes the window, records it as advertised, and returns the header field.
    #[inline(always)]
    pub fn offer(&mut self, next: u64, filling: Filling) -> u16 {
        let units = self.units(filling);
        self.settled = self.due.take().is_none();
        // tcp_select_window: Linux counts the whole window as advertised (`rcv_wnd`), although the header field may be
        // unable to express it. As in Linux, the window is rounded up, so that the right edge never moves back.
        self.offered = units << filling.scale;
        self.edge = self.edge.max(next + self.offered);
        header_field(units)
    }

    /// Computes the window in units of the header field.
    #[inline(always)]
    pub fn units(&self, filling: Filling) -> u64 {
        let window = self.due.unwrap_or_else(|| self.buffer.window(filling));
        window.div_ceil(1 << filling.scale)
    }

    /// Stores the window of an ACK that is due before the application reads the new data.
    #[inline(always)]
    pub fn note_ack_due(&mut self, filling: Filling) {
        self.settled = false;
        self.due = self.buffer.counts_unread().then(|| self.buffer.window(filling));
    }
}

/// Returns the header field of a window of `units` units. The field has 16 bits.
#[inline(always)]
fn header_field(units: u64) -> u16 {
    units.min(u64::from(u16::MAX)) as u16
}
