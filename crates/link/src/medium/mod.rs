//! Media that several stations share. One medium schedules the transmissions of all its stations, in both directions.

mod config;
mod contract;
mod csma_cd;
mod docsis;
mod kinds;
mod packet_radio;
mod polled;
mod shared_link;
mod wifi;

pub use config::{MediumConfig, MediumKind, MediumSettings};
pub use contract::{FrameId, Medium, MediumEvent};
pub use csma_cd::{CsmaCd, CsmaCdConfig};
pub use docsis::{Docsis, DocsisConfig};
pub use kinds::{MEDIA, register as register_medium};
pub use packet_radio::{PacketRadio, PacketRadioConfig};
pub use polled::{Polled, PolledConfig};
pub use shared_link::{SharedLink, StationQueue};
pub use wifi::{Standard, Wifi, WifiConfig, WifiStation};
