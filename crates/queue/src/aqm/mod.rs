//! Disciplines that drop or mark packets before the buffer is full.

mod afvq;
mod ared;
mod asqm;
mod bdp;
mod choke;
pub(crate) mod cobalt;
pub(crate) mod codel;
mod docsis_pie;
mod dualpi2;
pub(crate) mod passive_rtt;
pub(crate) mod pie;
pub(crate) mod red;
pub(crate) mod updates;
mod wred;

pub use afvq::{Afvq, AfvqConfig};
pub use ared::AredConfig;
pub use asqm::{Asqm, AsqmConfig};
pub use bdp::{Bdp, BdpBound, BdpConfig};
pub use choke::{Choke, ChokeConfig};
pub use cobalt::{Cobalt, CobaltConfig, CobaltQueue, CobaltQueueConfig, Verdict};
pub use codel::{Codel, CodelConfig, CodelQueue, CodelQueueConfig, CodelSource};
pub use docsis_pie::{DocsisPie, DocsisPieConfig, DocsisPieLaw};
pub use dualpi2::{CoupledLaw, DualPi2, DualPi2Config};
pub use pie::{Pie, PieConfig, PieQueue, PieQueueConfig};
pub use red::{Marks, Red, RedConfig, Victim};
pub use wred::{Wred, WredConfig, WredProfile};
