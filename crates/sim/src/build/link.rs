//! One direction of a scenario's link, made into a link.

use super::BuildError;
use crate::host::Ring;
use lopsided_core::{Bytes, Dir, Duration};
use lopsided_link::{Carrying, Framing, GilbertConfig, Link, LinkConfig, LossConfig, ShaperConfig};
use lopsided_queue::{
    DropFrom, FifoConfig, Limit, MarkThreshold, Markable, QueueConfig, RedConfig, Threshold, ThresholdConfig,
};
use lopsided_scenario::{
    Cells, DirSpec, DropEnd, FramingSpec, LinkSpec, LossSpec, Marks, QueueDepth, QueueLimit, QueueSpec, StepSpec,
};

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
        queue: queue(&spec.queue),
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

fn queue(spec: &QueueSpec) -> QueueConfig {
    let limit = match spec.limit() {
        QueueLimit::Packets(packets) => Limit::Packets(packets),
        QueueLimit::Bytes(bytes) => Limit::Bytes(bytes),
        QueueLimit::Bins { count, size } => Limit::Bins { count, size },
    };
    match spec {
        QueueSpec::Fifo { drop, .. } => {
            let drop = match drop {
                DropEnd::Tail => DropFrom::Tail,
                DropEnd::Front => DropFrom::Front,
            };
            QueueConfig::Fifo(FifoConfig { limit, drop, header: Bytes::ZERO })
        }
        QueueSpec::Red(red) => QueueConfig::Red(RedConfig {
            limit,
            min: depth(red.min),
            max: depth(red.max),
            probability: red.probability,
            weight: red.weight,
            idle_packet: red.bandwidth.map_or(Duration::ZERO, |rate| rate.time_to_send(red.avpkt, 0).0),
            ecn: red.ecn,
            harddrop: red.harddrop,
            gentle: red.gentle,
        }),
        QueueSpec::Step { threshold, marks, .. } => QueueConfig::Threshold(ThresholdConfig {
            limit,
            above: match *threshold {
                StepSpec::Threshold(found) => MarkThreshold::Depth(depth(found)),
                StepSpec::Sojourn(longest) => MarkThreshold::Sojourn(longest),
            },
            marks: match marks {
                Marks::Ect => Markable::Ect,
                Marks::Ect1 => Markable::Ect1,
            },
        }),
    }
}

fn depth(spec: QueueDepth) -> Threshold {
    match spec {
        QueueDepth::Packets(packets) => Threshold::Packets(packets),
        QueueDepth::Bytes(bytes) => Threshold::Bytes(bytes),
    }
}
