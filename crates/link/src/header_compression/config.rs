//! The settings of header compression.

use lopsided_spec::{Choice, Fault, Key, Part, key, part_value};

/// How headers are compressed, as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderCompressionConfig {
    pub scheme: CompressionScheme,
    /// The connections that both ends remember.
    pub slots: u32,
    /// A packet of the connection of the one before does not name its slot.
    pub compress_slot: bool,
    /// The far end applies the same difference again if a header does not fit.
    pub twice: bool,
    /// The far end requests a header that it needs.
    pub feedback: bool,
    /// Size of every header in bytes, whatever changed.
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
    /// A fixed size for every header, and no context to lose: the model of compression in many simulations.
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

part_value!(HeaderCompressionConfig);
