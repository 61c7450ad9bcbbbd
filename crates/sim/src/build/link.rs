//! One direction of a scenario's link, made into a link.

use crate::error::BuildError;
use crate::host::Ring;
use lopsided_core::{Bytes, Dir};
use lopsided_link::{Carrying, Framing, GilbertConfig, Link, LinkConfig, LossConfig, ShaperConfig};
use lopsided_scenario::{Cells, DirSpec, FramingSpec, LinkSpec, LossSpec};

pub(super) fn build(spec: &LinkSpec, dir: Dir, seed: u64, audit: bool) -> Result<Link, BuildError> {
    let config = config(spec.dir(dir), audit);
    config.build(seed, &format!("{}/{}", spec.name, dir.name())).map_err(|error| BuildError::Link {
        link: format!("{}.{}", spec.name, dir.name()),
        what: format!("{}: {error}", error.key()),
    })
}

fn config(spec: &DirSpec, audit: bool) -> LinkConfig {
    LinkConfig {
        rate: spec.rate,
        shaper: spec.shaper.map(|shaper| ShaperConfig {
            burst: shaper.burst,
            interval: shaper.interval,
            line_rate: shaper.line_rate,
        }),
        framing: framing(spec.framing),
        delay: spec.delay,
        loss: loss(&spec.loss),
        queue: spec.queue.clone(),
        audit,
    }
}

/// The ring of a card that sends on this direction; `None` if it does not send at a plain rate.
pub(super) fn ring(places: u32, spec: &DirSpec) -> Option<Ring> {
    let rate = spec.rate.filter(|_| spec.shaper.is_none())?;
    Some(Ring::new(places, rate, framing(spec.framing)))
}

fn framing(spec: FramingSpec) -> Framing {
    let carrying = match spec.cells {
        Cells::None => Carrying::Plain,
        Cells::Atm => Carrying::AtmCells,
        Cells::Ptm => Carrying::Ptm,
    };
    let octets = |size: Bytes| u32::try_from(size.get()).unwrap_or(u32::MAX);
    Framing { overhead: octets(spec.overhead), minimum: octets(spec.minimum), carrying }
}

fn loss(spec: &LossSpec) -> LossConfig {
    LossConfig {
        random: spec.random,
        gilbert: spec.gilbert.map(|gilbert| GilbertConfig {
            to_bad: gilbert.to_bad,
            to_good: gilbert.to_good,
            loss_bad: gilbert.loss_bad,
            loss_good: gilbert.loss_good,
        }),
        packets: spec.packets.clone(),
        outages: spec.outages.clone(),
    }
}
