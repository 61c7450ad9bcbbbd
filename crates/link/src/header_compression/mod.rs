//! Header compression on a line: the state of its two ends, the size of headers on the wire, and the fate of packets
//! after a lost one.
//!
//! Every packet is encoded when it leaves the queue and decoded when it arrives, by the bytes of its compressed header.
//! A packet that the far end cannot rebuild is dropped there. A comparison with the sent header replaces the TCP
//! checksum.
//!
//! The line reports damaged packets to the far end, as PPP's frame check and a modem's error control do.
//!
//! The far end's requests reach the near end after the line's own delay. They are not lost and load no link: `requests`
//! counts them.
//!
//! Not modelled: in a real network a wrongly rebuilt packet travels on and is dropped by TCP's checksum at its host;
//! here it loads no further link. IP's identification counts the packets of a host, whatever their connection, as BSD's
//! does (RFC 1144 section 3.2.2).

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

/// Both ends of one direction, and the frames between them.
#[derive(Debug)]
pub(crate) struct HeaderCompression {
    scheme: Box<dyn Scheme>,
    /// The frames on the line, in order.
    line: VecDeque<Frame>,
    /// The far end's requests, and when they reach the near end.
    requests: VecDeque<(Time, u8)>,
    way_back: Duration,
    counts: CompressionCounts,
}

/// Number of packets by their form on the line, and by their fate.
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
    /// `None` if headers are not compressed. Requests of the far end arrive after `way_back`.
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

    /// A packet leaves for the line: its size there, before framing.
    pub(crate) fn send(&mut self, packet: &Packet, now: Time) -> Bytes {
        while self.requests.front().is_some_and(|(comes, _)| *comes <= now) {
            let (_, context) = self.requests.pop_front().expect("it is there");
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

    /// The packet sent last is lost on the line.
    pub(crate) fn lose(&mut self) {
        *self.line.back_mut().expect("it was sent") = Frame::Damaged;
    }

    /// The next packet that was not lost arrives. False if it cannot be rebuilt.
    #[must_use]
    pub(crate) fn receive(&mut self, packet: &Packet, now: Time) -> bool {
        loop {
            let frame = self.line.pop_front().expect("it was sent");
            if frame != Frame::Damaged {
                let whole = self.scheme.decompress(&frame, packet);
                self.counts.tossed += u64::from(!whole);
                if let Some(context) = self.scheme.poll_request() {
                    self.counts.requests += 1;
                    self.requests.push_back((now + self.way_back, context));
                }
                return whole;
            }
            self.scheme.note_error();
        }
    }

    /// Calls `out` with the name and value of each count since the beginning.
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
