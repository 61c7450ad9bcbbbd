//! The error of a link whose configuration cannot be built.

use lopsided_core::BitRate;
use lopsided_spec::Fault;
use std::fmt;

/// The reason why a link cannot be built. The [`Fault`] names the key in the settings of the rejected component.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// The rate is below 1 bit/s or above 10 Tbit/s.
    Rate(BitRate),
    /// A shaper is configured without a rate.
    ShaperWithoutRate,
    /// The shaper rejects its settings.
    Shaper(Fault),
    /// The access method rejects its settings, or an access method and a shaper are both configured.
    Access(Fault),
    /// The loss model rejects its settings.
    Loss(Fault),
    /// Header compression rejects its settings, or cannot be combined with other settings of the direction.
    HeaderCompression(Fault),
    /// The queue rejects its settings.
    Queue(Fault),
}

impl From<Fault> for LinkError {
    fn from(fault: Fault) -> LinkError {
        LinkError::Queue(fault)
    }
}

impl LinkError {
    /// Returns the invalid or missing key of the link's configuration, spelled as in a scenario file.
    pub fn key(&self) -> String {
        match self {
            LinkError::Rate(_) | LinkError::ShaperWithoutRate => "rate".to_owned(),
            LinkError::Shaper(fault) => format!("shaper.{}", fault.key),
            LinkError::Access(fault) => format!("access.{}", fault.key),
            LinkError::Loss(fault) => format!("loss.{}", fault.key),
            LinkError::HeaderCompression(fault) if fault.key.is_empty() => "header_compression".to_owned(),
            LinkError::HeaderCompression(fault) => format!("header_compression.{}", fault.key),
            LinkError::Queue(fault) => format!("queue.{}", fault.key),
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Rate(rate) => {
                write!(f, "a rate of {rate:?}: a link needs at least 1 bit/s and at most 10 Tbit/s")
            }
            LinkError::ShaperWithoutRate => {
                f.write_str("a shaper needs the link's rate: tokens are added at this rate")
            }
            LinkError::Shaper(fault)
            | LinkError::Access(fault)
            | LinkError::Loss(fault)
            | LinkError::HeaderCompression(fault)
            | LinkError::Queue(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for LinkError {}
