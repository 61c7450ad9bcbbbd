//! Framings by name. Those of ADSL and VDSL2 have the names and octets of Linux's `cake` (tc-cake(8), "overhead keywords").

use crate::model::{Cells, FramingSpec};
use lopsided_core::Bytes;

/// The names, in the order of [`TABLE`].
pub(crate) const KINDS: &[&str] = &[
    "none",
    "ethernet",
    "ethernet-wire",
    "pppoe",
    "ipoa-vcmux",
    "ipoa-llcsnap",
    "bridged-vcmux",
    "bridged-llcsnap",
    "pppoa-vcmux",
    "pppoa-llc",
    "pppoe-vcmux",
    "pppoe-llcsnap",
    "bridged-ptm",
    "pppoe-ptm",
];

/// Octets added to an IP packet, the smallest frame, and the cells it is cut into.
const TABLE: &[(u64, u64, Cells)] = &[
    (0, 0, Cells::None),
    // The header alone, which is what Linux's qdiscs count.
    (14, 0, Cells::None),
    // Preamble (8), header (14), padding to 64, check sequence (4) and the gap between frames (12).
    (38, 84, Cells::None),
    // PPP and PPPoE (8) after an Ethernet header.
    (22, 0, Cells::None),
    (8, 0, Cells::Atm),
    (16, 0, Cells::Atm),
    (24, 0, Cells::Atm),
    (32, 0, Cells::Atm),
    (10, 0, Cells::Atm),
    (14, 0, Cells::Atm),
    (32, 0, Cells::Atm),
    (40, 0, Cells::Atm),
    (22, 0, Cells::Ptm),
    (30, 0, Cells::Ptm),
];

impl FramingSpec {
    /// The names of framings.
    pub const KINDS: &[&str] = KINDS;

    /// The framing of that name.
    pub fn named(name: &str) -> Option<FramingSpec> {
        let index = KINDS.iter().position(|kind| *kind == name)?;
        let (overhead, minimum, cells) = *TABLE.get(index)?;
        Some(FramingSpec { overhead: Bytes::new(overhead), minimum: Bytes::new(minimum), cells })
    }
}

impl Cells {
    pub fn name(self) -> &'static str {
        match self {
            Cells::None => "none",
            Cells::Atm => "atm",
            Cells::Ptm => "ptm",
        }
    }
}
