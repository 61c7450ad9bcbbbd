//! Builds one direction of a link.

use crate::error::BuildError;
use crate::host::TxRing;
use lopsided_core::Dir;
use lopsided_link::{Link, LinkConfig};
use lopsided_scenario::LinkSpec;

pub(super) fn build(spec: &LinkSpec, dir: Dir, seed: u64, audit: bool) -> Result<Link, BuildError> {
    let config = LinkConfig { audit, ..spec.dir(dir).clone() };
    config.build(seed, &format!("{}/{}", spec.name, dir.name())).map_err(|error| BuildError::Link {
        link: format!("{}.{}", spec.name, dir.name()),
        what: format!("{}: {error}", error.key()),
    })
}

/// Returns the card's transmit ring; `None` if the line has no constant rate.
pub(super) fn ring(places: u32, config: &LinkConfig) -> Option<TxRing> {
    let rate = config.rate.filter(|_| config.shaper.is_none() && !config.header_compression.is_on())?;
    Some(TxRing::new(places, rate, config.framing))
}
