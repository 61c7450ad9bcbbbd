//! The settings of header compression.

use lopsided_spec::{Choice, Fault, Key, Part, key, part_value};

/// Settings of header compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderCompressionConfig {
    /// The compression scheme.
    pub scheme: CompressionScheme,
    /// Number of connections whose context both ends store, from 1 to 256.
    pub slots: u32,
    /// True if a packet omits its slot number when the previous packet had the same slot number.
    pub compress_slot: bool,
    /// True if the far end applies a difference once or twice more when the checksum fails (RFC 2507, section 10.1).
    pub twice: bool,
    /// True if the far end requests a full header when it has lost a context.
    pub feedback: bool,
    /// Size of every compressed header in bytes, for [`CompressionScheme::Fixed`] only.
    pub octets: u32,
}

/// A header compression scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompressionScheme {
    /// Headers are sent unchanged.
    None,
    /// Van Jacobson's compression, RFC 1144.
    Cslip,
    /// IP header compression, RFC 2507.
    Iphc,
    /// Robust header compression of TCP, RFC 6846.
    Rohc,
    /// All compressed headers have the same size, and there is no context that could be lost. Many simulations use this
    /// model.
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
    /// True if headers are compressed.
    pub fn is_on(&self) -> bool {
        self.scheme != CompressionScheme::None
    }
}

impl Part for HeaderCompressionConfig {
    const NAME: &'static str = "header_compression";
    const TEXT: &'static str =
        "Compression of TCP/IP headers on the line, including the loss of context after lost packets.";
    const SHORTHAND: Option<&'static str> = Some("scheme");
    const KEYS: &'static [Key<HeaderCompressionConfig>] = &[
        key(
            "scheme",
            |part: &mut Self| &mut part.scheme,
            "The scheme: none, cslip (Van Jacobson, RFC 1144), iphc (RFC 2507), rohc (RFC 6846), or fixed (each \
             header takes `octets`).",
        ),
        key(
            "slots",
            |part: &mut Self| &mut part.slots,
            "Number of connections whose headers both ends store, from 1 to 256.",
        ),
        key(
            "compress_slot",
            |part: &mut Self| &mut part.compress_slot,
            "With cslip: omit the octet with the slot number if the previous packet belonged to the same \
             connection.",
        ),
        key(
            "twice",
            |part: &mut Self| &mut part.twice,
            "With iphc: if the TCP checksum of a decompressed header is wrong, the far end applies the header's difference a second time (RFC 2507 section 10.1).",
        ),
        key(
            "feedback",
            |part: &mut Self| &mut part.feedback,
            "With iphc and rohc: the far end requests a full header if it lost the context (RFC 2507 section \
             10.2, RFC 5795).",
        ),
        key(
            "octets",
            |part: &mut Self| &mut part.octets,
            "With fixed: size of every compressed TCP/IP header. This scheme has no context, so no context can be \
             lost.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if !(1..=256).contains(&self.slots) {
            let fault = Fault::new("slots", "a slot number has one octet, so there must be from 1 to 256 slots");
            return Err(fault.help("RFC 1144 uses 16"));
        }
        if self.scheme == CompressionScheme::Fixed && !(1..=40).contains(&self.octets) {
            return Err(Fault::new("octets", "a compressed header must have from 1 to 40 octets"));
        }
        if self.is_on() && self.scheme != CompressionScheme::Cslip && !self.compress_slot {
            return Err(Fault::new("compress_slot", "only cslip can omit the slot number"));
        }
        // A key that belongs to another scheme would have no effect, so it is rejected.
        if self.scheme == CompressionScheme::Rohc && !self.twice {
            return Err(Fault::new("twice", "only iphc can apply a difference twice"));
        }
        if self.scheme == CompressionScheme::Cslip && !(self.twice && self.feedback) {
            let key = if self.twice { "feedback" } else { "twice" };
            return Err(Fault::new(key, "cslip has no repair: this is a key of iphc"));
        }
        Ok(())
    }
}

part_value!(HeaderCompressionConfig);
