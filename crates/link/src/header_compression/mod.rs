//! Header compression on a line: what its two ends remember of each connection, what a header takes on the wire, and what becomes of the
//! packets behind a lost one.
//!
//! Every packet is encoded as it leaves the queue and decoded as it arrives, by the octets of its compressed header. A packet that the far
//! end cannot rebuild is dropped there. What stands in for the TCP checksum is a comparison with the header that was sent.
//!
//! The line is taken to tell the far end of a damaged packet, as PPP's frame check and a modem's error control do, so a packet lost on the
//! line is an error that the far end knows of.
//!
//! What the far end sends back, to ask for a header or to say what it knows, comes to the near end after the line's own delay. It is not lost
//! and loads no link: it is counted in `requests`.
//!
//! Left out: a packet rebuilt wrongly goes on to its host in a real network, and is dropped there by TCP's checksum; here it loads no link
//! behind. The identification of IP counts the packets of a host, whatever their connection, as BSD's does (RFC 1144 section 3.2.2).

mod bits;
mod cslip;
mod fixed;
mod header;
mod iphc;
mod rohc;

use crate::header_compression::cslip::Cslip;
use crate::header_compression::fixed::Fixed;
use crate::header_compression::iphc::Iphc;
use crate::header_compression::rohc::Rohc;
use lopsided_core::{Bytes, Duration, Packet, Time};
use lopsided_spec::{Choice, Fault, Key, Part, PartInfo, Scalar, Value, ValueType, key};
use std::collections::VecDeque;

/// How headers are compressed, as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderCompressionConfig {
    pub scheme: CompressionScheme,
    /// The connections that both ends remember.
    pub slots: u32,
    /// A packet of the connection of the one before does not name its slot.
    pub compress_slot: bool,
    /// The far end tries the same difference again where a header does not fit.
    pub twice: bool,
    /// The far end asks for a header that it cannot do without.
    pub feedback: bool,
    /// What every header takes, whatever changed.
    pub octets: u32,
}

/// A way to compress headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionScheme {
    None,
    /// RFC 1144.
    Cslip,
    /// RFC 2507.
    Iphc,
    /// RFC 6846.
    Rohc,
    /// A number of octets for every header, and no context to lose: what a simulation takes for a line with compression.
    Fixed,
}

impl Choice for CompressionScheme {
    const WORDS: &'static [(&'static str, CompressionScheme)] = &[
        ("none", CompressionScheme::None),
        ("cslip", CompressionScheme::Cslip),
        ("iphc", CompressionScheme::Iphc),
        ("rohc", CompressionScheme::Rohc),
        ("fixed", CompressionScheme::Fixed),
    ];
}

impl Default for HeaderCompressionConfig {
    fn default() -> HeaderCompressionConfig {
        HeaderCompressionConfig {
            scheme: CompressionScheme::None,
            slots: 16,
            compress_slot: true,
            twice: true,
            feedback: true,
            octets: 6,
        }
    }
}

impl HeaderCompressionConfig {
    /// Whether headers are compressed at all.
    pub fn is_on(&self) -> bool {
        self.scheme != CompressionScheme::None
    }
}

impl Part for HeaderCompressionConfig {
    const NAME: &'static str = "header_compression";
    const TEXT: &'static str = "Compression of TCP/IP headers on the line, and its loss of context.";
    const SHORTHAND: Option<&'static str> = Some("scheme");
    const KEYS: &'static [Key<HeaderCompressionConfig>] = &[
        key(
            "scheme",
            |part: &mut Self| &mut part.scheme,
            "How: none; cslip, which is RFC 1144, Van Jacobson's; iphc, which is RFC 2507; rohc, which is RFC 6846; fixed, of so many `octets`.",
        ),
        key("slots", |part: &mut Self| &mut part.slots, "The connections that both ends remember, from 1 to 256."),
        key(
            "compress_slot",
            |part: &mut Self| &mut part.compress_slot,
            "With cslip: a packet of the same connection as the one before leaves out the octet with its slot.",
        ),
        key(
            "twice",
            |part: &mut Self| &mut part.twice,
            "With iphc: the far end applies a difference again where the header does not fit (RFC 2507 section 10.1).",
        ),
        key(
            "feedback",
            |part: &mut Self| &mut part.feedback,
            "With iphc and rohc: the far end asks for a header in full where it lost the context (RFC 2507 section 10.2, RFC 5795).",
        ),
        key(
            "octets",
            |part: &mut Self| &mut part.octets,
            "With fixed: what every header of TCP over IP takes, whatever changed; nothing is remembered, and nothing can be lost.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if !(1..=256).contains(&self.slots) {
            let fault = Fault::new("slots", "a connection's slot is one octet: there are from 1 to 256");
            return Err(fault.help("16 is what RFC 1144 takes"));
        }
        if self.scheme == CompressionScheme::Fixed && !(1..=40).contains(&self.octets) {
            return Err(Fault::new("octets", "a header has 40 octets or more, of which from 1 to 40 can be left"));
        }
        if self.is_on() && self.scheme != CompressionScheme::Cslip && !self.compress_slot {
            return Err(Fault::new("compress_slot", "only cslip may leave out the slot: the others always name it"));
        }
        if self.scheme == CompressionScheme::Rohc && !self.twice {
            return Err(Fault::new("twice", "rohc tries no difference twice: this is a key of iphc"));
        }
        if self.scheme == CompressionScheme::Cslip && !(self.twice && self.feedback) {
            let key = if self.twice { "feedback" } else { "twice" };
            return Err(Fault::new(key, "cslip repairs nothing by itself: this is a key of iphc"));
        }
        Ok(())
    }
}

impl Scalar for HeaderCompressionConfig {
    const TYPE: ValueType = ValueType::Part(PartInfo::of::<HeaderCompressionConfig>);

    fn to_value(&self) -> Value {
        Value::of_part(self)
    }

    fn from_value(value: Value) -> Result<HeaderCompressionConfig, String> {
        value.into_part()
    }
}

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

/// Both ends of one direction, and what is between them.
#[derive(Debug)]
pub(crate) struct HeaderCompression {
    scheme: Box<dyn Scheme>,
    /// What is on the line, in order.
    line: VecDeque<Frame>,
    /// What the far end asked for, and when that comes to the near one.
    requests: VecDeque<(Time, u8)>,
    way_back: Duration,
    counts: CompressionCounts,
}

/// Packets by what they went over the line as, and what became of them.
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
    /// `None` where headers are not compressed. What the far end asks for comes after `way_back`.
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
