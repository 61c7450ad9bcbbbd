//! Header compression on a line: the state of both ends, the sizes of headers, and the packets that are lost because of
//! wrong contexts.
//!
//! A packet is compressed when it leaves the queue and decompressed when it arrives. Instead of checking TCP's
//! checksum, the far end compares the rebuilt header with the sent header.
//!
//! The link layer notifies the far end of each damaged packet, as PPP's frame check does.
//!
//! The far end's requests arrive after the line's own delay. They are never lost and take no capacity.
//!
//! The IPv4 identification counts all packets of a host, as in BSD, instead of the packets of each connection (RFC
//! 1144, section 3.2.2).
//!
//! The far end drops a packet whose header was rebuilt incorrectly. In a real network, such a packet reaches the
//! receiving host, where TCP's checksum fails.

mod bits;
mod config;
mod contexts;
mod cslip;
mod deltas;
mod fixed;
mod frame;
mod header;
mod iphc;
mod rohc;

pub use config::{CompressionScheme, HeaderCompressionConfig};

use cslip::Cslip;
use fixed::Fixed;
use frame::{Frame, Scheme};
use iphc::Iphc;
use lopsided_core::{Bytes, Duration, Packet, Time};
use rohc::Rohc;
use std::collections::VecDeque;

/// Both ends of one direction, and the frames on the line between them.
#[derive(Debug)]
pub(crate) struct HeaderCompression {
    scheme: Box<dyn Scheme>,
    /// Frames on the line, in the order in which they were sent.
    line: VecDeque<Frame>,
    /// Requests on their way to the near end: arrival time and context number.
    requests: VecDeque<(Time, u8)>,
    /// Delay of a request from the far end to the near end.
    way_back: Duration,
    counts: CompressionCounts,
}

/// Number of packets sent unchanged, in full and compressed, and counters of saved bytes, tossed packets and requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CompressionCounts {
    plain: u64,
    full: u64,
    compressed: u64,
    saved_bytes: u64,
    tossed: u64,
    requests: u64,
}

impl HeaderCompression {
    /// Creates both ends; `None` without compression. A request of the far end arrives after `way_back`.
    pub(crate) fn of(config: &HeaderCompressionConfig, way_back: Duration) -> Option<HeaderCompression> {
        let scheme: Box<dyn Scheme> = match config.scheme {
            CompressionScheme::None => return None,
            CompressionScheme::Cslip => Box::new(Cslip::new(config.slots, config.compress_slot)),
            CompressionScheme::Iphc => Box::new(Iphc::new(config)),
            CompressionScheme::Rohc => Box::new(Rohc::new(config)),
            CompressionScheme::Fixed => Box::new(Fixed { octets: config.octets as usize }),
        };
        let (line, requests) = (VecDeque::new(), VecDeque::new());
        Some(HeaderCompression { scheme, line, requests, way_back, counts: CompressionCounts::default() })
    }

    /// Compresses a packet that leaves the queue. Returns its size on the line in bytes, before framing.
    pub(crate) fn send(&mut self, packet: &Packet, now: Time) -> Bytes {
        // A request that has arrived by now affects this packet.
        while self.requests.front().is_some_and(|(comes, _)| *comes <= now) {
            let (_, context) = self.requests.pop_front().expect("the loop checks that there is a request");
            self.scheme.on_request(context);
        }
        let frame = self.scheme.compress(packet);
        let size = match &frame {
            Frame::Compressed(header) => {
                self.counts.compressed += 1;
                packet.payload().len() as u64 + header.len() as u64
            }
            other => {
                let count = if *other == Frame::Ip { &mut self.counts.plain } else { &mut self.counts.full };
                *count += 1;
                packet.size().get()
            }
        };
        self.counts.saved_bytes += packet.size().get().saturating_sub(size);
        self.line.push_back(frame);
        Bytes::new(size)
    }

    /// Marks the packet that was sent last as lost on the line.
    pub(crate) fn lose(&mut self) {
        *self.line.back_mut().expect("the lost packet was sent") = Frame::Damaged;
    }

    /// Decompresses the next packet that was not lost. Returns false if the far end cannot decompress it.
    #[must_use]
    pub(crate) fn receive(&mut self, packet: &Packet, now: Time) -> bool {
        // First remove the frames that were lost before this frame. The link layer reports each of them to the far end
        // as damaged.
        loop {
            let frame = self.line.pop_front().expect("a received packet was sent");
            if frame != Frame::Damaged {
                let whole = self.scheme.decompress(&frame, packet);
                self.counts.tossed += u64::from(!whole);
                if let Some(context) = self.scheme.poll_request() {
                    self.counts.requests += 1;
                    // Requests travel in the opposite direction, and do not wait in that direction's queue.
                    self.requests.push_back((now + self.way_back, context));
                }
                return whole;
            }
            self.scheme.note_error();
        }
    }

    /// Calls `out` with the name and value of each counter. Counters start at 0 with the run.
    pub(crate) fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        let CompressionCounts { plain, full, compressed, saved_bytes, tossed, requests } = self.counts;
        out("plain_packets", plain as f64);
        out("full_header_packets", full as f64);
        out("compressed_packets", compressed as f64);
        out("saved_bytes", saved_bytes as f64);
        out("tossed_packets", tossed as f64);
        out("requests", requests as f64);
    }
}
