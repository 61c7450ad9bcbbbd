//! Framings by name. Those of ADSL and VDSL2 have the names and octets of Linux's `cake` (tc-cake(8), "overhead keywords").

use crate::model::{Cells, FramingSpec};
use lopsided_core::Bytes;

/// The names, in the order of [`TABLE`].
pub(crate) const KINDS: &[&str] = &[
    "none",
    "ethernet",
    "ethernet-fcs",
    "ethernet-wire",
    "pppoe",
    "atm",
    "ipoa-vcmux",
    "ipoa-llcsnap",
    "pppoa-vcmux",
    "pppoa-llc",
    "bridged-vcmux",
    "bridged-llcsnap",
    "pppoe-vcmux",
    "pppoe-llcsnap",
    "ptm",
    "bridged-ptm",
    "pppoe-ptm",
];

/// Octets added to an IP packet, and the cells it is cut into.
const TABLE: &[(u64, Cells)] = &[
    (0, Cells::None),
    // The header alone, which is what Linux's qdiscs count.
    (14, Cells::None),
    (18, Cells::None),
    // With preamble (8) and the gap between frames (12).
    (38, Cells::None),
    // PPP and PPPoE (8) in an Ethernet header.
    (22, Cells::None),
    // The AAL5 trailer alone.
    (8, Cells::Atm),
    (8, Cells::Atm),
    (16, Cells::Atm),
    (10, Cells::Atm),
    (14, Cells::Atm),
    (24, Cells::Atm),
    (32, Cells::Atm),
    (32, Cells::Atm),
    (40, Cells::Atm),
    (22, Cells::Ptm),
    (22, Cells::Ptm),
    (30, Cells::Ptm),
];

/// The framing of a name in [`KINDS`].
pub(crate) fn by_name(name: &str) -> Option<FramingSpec> {
    let index = KINDS.iter().position(|kind| *kind == name)?;
    let (overhead, cells) = *TABLE.get(index)?;
    Some(FramingSpec { overhead: Bytes::new(overhead), cells })
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
