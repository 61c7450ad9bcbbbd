//! How many octets an IP packet takes on the wire.
//!
//! The overheads are those of the encapsulations' standards: RFC 2684 (bridged and routed over AAL5), RFC 2364 (PPP over AAL5),
//! RFC 2516 (PPPoE), ITU-T I.363.5 (AAL5: an 8-octet trailer, whole cells of 48 in 53 octets), IEEE 802.3 clause 61 (PTM: 64/65).
//! Leaves out bit stuffing of HDLC-like framing and the interleaving or coding of the physical layer.

use lopsided_core::Bytes;

/// What is added to a packet, and what the sum is carried in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Framing {
    /// Octets added to every packet.
    pub overhead: u32,
    /// The smallest frame, overhead included; shorter ones are padded.
    pub minimum: u32,
    pub carrying: Carrying,
}

/// How the line carries a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Carrying {
    /// Octet by octet.
    #[default]
    Plain,
    /// In cells of 48 octets that take 53; the last one is padded.
    AtmCells,
    /// With one octet of synchronisation for each 64 begun.
    Ptm,
}

impl Framing {
    /// The IP packet alone.
    pub const NONE: Framing = Framing::plain(0);
    /// What Linux counts for an Ethernet device: the 14-octet header, without padding.
    pub const ETHERNET: Framing = Framing::plain(14);
    /// All that a frame takes of an Ethernet line: preamble 8, header 14, padding to 64 octets, check sequence 4, gap 12.
    pub const ETHERNET_WIRE: Framing = Framing { overhead: 38, minimum: 84, carrying: Carrying::Plain };
    /// PPPoE on an Ethernet device: header 14, PPPoE 6, PPP 2.
    pub const PPPOE: Framing = Framing::plain(22);

    /// Names and framings as scenarios know them. Names and overheads of the DSL ones are as in `tc-cake(8)`.
    pub const NAMED: [(&'static str, Framing); 14] = [
        ("none", Framing::NONE),
        ("ethernet", Framing::ETHERNET),
        ("ethernet-wire", Framing::ETHERNET_WIRE),
        ("pppoe", Framing::PPPOE),
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

    /// A number of octets with each packet.
    pub const fn plain(overhead: u32) -> Framing {
        Framing { overhead, minimum: 0, carrying: Carrying::Plain }
    }

    /// AAL5 over ATM. `overhead` includes the 8-octet trailer.
    pub const fn atm(overhead: u32) -> Framing {
        Framing { overhead, minimum: 0, carrying: Carrying::AtmCells }
    }

    /// Packet transfer mode, as on VDSL2.
    pub const fn ptm(overhead: u32) -> Framing {
        Framing { overhead, minimum: 0, carrying: Carrying::Ptm }
    }

    /// The framing of that name.
    pub fn named(name: &str) -> Option<Framing> {
        Framing::NAMED.iter().find(|(known, _)| *known == name).map(|(_, framing)| *framing)
    }

    /// The octets on the wire of an IP packet of this size.
    #[inline]
    pub fn wire_size(&self, ip: Bytes) -> Bytes {
        let frame = (ip.get() + u64::from(self.overhead)).max(u64::from(self.minimum));
        Bytes::new(match self.carrying {
            Carrying::Plain => frame,
            Carrying::AtmCells => frame.div_ceil(48) * 53,
            Carrying::Ptm => frame + frame.div_ceil(64),
        })
    }
}
