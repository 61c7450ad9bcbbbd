//! Disciplines that limit a rate, and the size of a packet on the wire.

mod framing;
mod htb;
mod policer;
mod tbf;

pub use framing::{CellFormat, Framing};
pub use htb::{Htb, HtbClass, HtbConfig};
pub use policer::{Policer, PolicerConfig};
pub use tbf::{Tbf, TbfConfig};
