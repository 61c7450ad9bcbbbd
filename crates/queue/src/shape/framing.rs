//! The size of an IP packet on the wire, for links and for disciplines that shape.
//!
//! The overheads come from RFC 2684 (bridged and routed over AAL5), RFC 2364 (PPP over AAL5), RFC 2516 (PPPoE), ITU-T
//! I.363.5 (AAL5) and IEEE 802.3 clause 61 (PTM: 64/65). Not modelled: bit stuffing, and interleaving or coding of the
//! physical layer.

use lopsided_core::Bytes;
use lopsided_spec::{Choice, Fault, Given, Key, Part, Presets, key, part_value};

/// Link-layer framing: the bytes that are added to a packet, and the cells that carry the frame.
///
/// # Examples
///
/// ```
/// use lopsided_core::Bytes;
/// use lopsided_queue::Framing;
///
/// // A TCP ACK of 40 bytes over PPPoE on ADSL: 40 + 40 bytes need 2 ATM cells of 53 bytes.
/// let adsl = Framing::named("pppoe-llcsnap").unwrap();
/// assert_eq!(adsl.wire_size(Bytes::new(40)), Bytes::new(106));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Framing {
    /// Number of bytes added to each packet.
    pub overhead: Bytes,
    /// Minimum size of a frame in bytes, including the overhead. Smaller frames are padded.
    pub minimum: Bytes,
    /// The format in which the line carries a frame.
    pub cell_format: CellFormat,
}

/// The format in which the line carries a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CellFormat {
    /// Plain bytes, without further overhead.
    #[default]
    None,
    /// ATM cells of 53 bytes with 48 bytes of payload. The last cell of a frame is padded.
    Atm,
    /// Packet transfer mode (PTM): one additional byte for every 64 bytes or part of 64 bytes.
    Ptm,
}

impl Choice for CellFormat {
    const WORDS: &'static [(&'static str, CellFormat)] =
        &[("none", CellFormat::None), ("atm", CellFormat::Atm), ("ptm", CellFormat::Ptm)];
}

/// Maximum overhead per packet in bytes, far above the overhead of any real line.
const MOST_OVERHEAD: Bytes = Bytes::new(10_000);

impl Part for Framing {
    const NAME: &'static str = "framing";
    const TEXT: &'static str = "Link-layer framing, which determines the size of a packet on the wire.";
    const SHORTHAND: Option<&'static str> = Some("kind");
    const PRESETS: Option<Presets<Framing>> = Some(Presets {
        key: "kind",
        text: "A named framing. The names of the ADSL and VDSL2 framings are those in Linux's cake and tc stab.",
        noun: "framing",
        named: Framing::NAMED,
    });
    const EXCLUSIVE: &'static [&'static [&'static str]] = &[&["kind", "cell_format"]];
    const KEYS: &'static [Key<Framing>] = &[
        key(
            "overhead",
            |framing| &mut framing.overhead,
            "Octets added to each packet, in addition to the octets that the `kind` adds.",
        ),
        key(
            "minimum",
            |framing| &mut framing.minimum,
            "Smallest frame, including the overhead. Smaller frames are padded to this size.",
        ),
        key(
            "cell_format",
            |framing| &mut framing.cell_format,
            "Cell format of a framing without a `kind`: none, atm (each cell of 53 octets carries 48 octets; the last cell is padded) or ptm (one extra octet for every 64 octets).",
        ),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        self.check()?;
        // If a scenario sets both the kind and the overhead, the total overhead is the sum of the two.
        if let Some(base) = given.preset.and_then(Framing::named).filter(|_| given.has("overhead")) {
            self.overhead += base.overhead;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        // `MOST_OVERHEAD` limits the overhead that the scenario sets. Allow 100 B more here, because `complete` adds
        // the overhead of the kind.
        let most = MOST_OVERHEAD + Bytes::new(100);
        for (key, size) in [("overhead", self.overhead), ("minimum", self.minimum)] {
            if size > most {
                return Err(Fault::new(
                    key,
                    format!("{} B per packet is more than the maximum of {} B", size.get(), most.get()),
                ));
            }
        }
        Ok(())
    }
}

part_value!(Framing);

impl Framing {
    /// No framing: the IP packet only.
    pub const NONE: Framing = Framing::plain(0);
    /// An Ethernet device in Linux: a header of 14 bytes, without padding.
    pub const ETHERNET: Framing = Framing::plain(14);
    /// An Ethernet line, in bytes: preamble 8, header 14, padding to 64, check sequence 4, gap 12.
    pub const ETHERNET_WIRE: Framing =
        Framing { overhead: Bytes::new(38), minimum: Bytes::new(84), cell_format: CellFormat::None };
    /// PPPoE on an Ethernet device: Ethernet header 14 bytes, PPPoE header 6 bytes, PPP header 2 bytes.
    pub const PPPOE: Framing = Framing::plain(22);
    /// Cable, as counted by the rate limiter of a DOCSIS modem: header 14 bytes, check sequence 4 bytes, padding to 64
    /// bytes.
    pub const DOCSIS: Framing =
        Framing { overhead: Bytes::new(18), minimum: Bytes::new(64), cell_format: CellFormat::None };

    /// The framings by name. Names and overheads of the DSL framings are those of `tc-cake(8)`.
    pub const NAMED: &'static [(&'static str, Framing)] = &[
        ("none", Framing::NONE),
        ("ethernet", Framing::ETHERNET),
        ("ethernet-wire", Framing::ETHERNET_WIRE),
        ("pppoe", Framing::PPPOE),
        ("docsis", Framing::DOCSIS),
        ("ipoa-vcmux", Framing::atm(8)),
        ("ipoa-llcsnap", Framing::atm(16)),
        ("bridged-vcmux", Framing::atm(24)),
        ("bridged-llcsnap", Framing::atm(32)),
        ("pppoa-vcmux", Framing::atm(10)),
        ("pppoa-llc", Framing::atm(14)),
        ("pppoe-vcmux", Framing::atm(32)),
        ("pppoe-llcsnap", Framing::atm(40)),
        ("bridged-ptm", Framing::ptm(22)),
        ("pppoe-ptm", Framing::ptm(30)),
    ];

    /// Returns a framing that adds a constant number of bytes to each packet.
    pub const fn plain(overhead: u64) -> Framing {
        Framing { overhead: Bytes::new(overhead), minimum: Bytes::ZERO, cell_format: CellFormat::None }
    }

    /// Returns a framing of AAL5 over ATM. `overhead` includes the 8-byte trailer.
    pub const fn atm(overhead: u64) -> Framing {
        Framing { overhead: Bytes::new(overhead), minimum: Bytes::ZERO, cell_format: CellFormat::Atm }
    }

    /// Returns a framing of packet transfer mode, as on VDSL2.
    pub const fn ptm(overhead: u64) -> Framing {
        Framing { overhead: Bytes::new(overhead), minimum: Bytes::ZERO, cell_format: CellFormat::Ptm }
    }

    /// Returns the framing with this name; `None` if the name is unknown.
    pub fn named(name: &str) -> Option<Framing> {
        Framing::NAMED.iter().find(|(known, _)| *known == name).map(|(_, framing)| *framing)
    }

    /// Returns the size on the wire of an IP packet of `ip` bytes.
    #[inline]
    pub fn wire_size(&self, ip: Bytes) -> Bytes {
        // A frame is padded to its minimum size before it is divided into cells.
        let frame = (ip.get() + self.overhead.get()).max(self.minimum.get());
        Bytes::new(match self.cell_format {
            CellFormat::None => frame,
            CellFormat::Atm => frame.div_ceil(48) * 53,
            CellFormat::Ptm => frame + frame.div_ceil(64),
        })
    }
}
