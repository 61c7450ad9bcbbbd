//! A queue: its discipline, what it may hold, and from where on it marks or drops.

use super::line::{Defaults, positive_size};
use super::read::{Layers, read, require};
use crate::error::Report;
use crate::model::{DropEnd, Marks, QueueDepth, QueueLimit, QueueSpec, RedSpec, StepSpec};
use crate::names::QUEUES;
use crate::tree::Node;
use crate::units::{QueueLimitText, UnitError};
use crate::value;
use lopsided_core::{BitRate, Bytes, Duration};

/// The line that a queue stands before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub rate: Option<BitRate>,
    /// The RTT of BDP, where there is one.
    pub base_rtt: Option<Duration>,
    pub defaults: Defaults,
}

/// The keys that only one discipline has.
const OWN_KEYS: &[(&str, &[&str])] = &[
    ("fifo", &["drop"]),
    ("red", &["min", "max", "probability", "avpkt", "burst", "weight", "bandwidth", "ecn", "harddrop", "gentle"]),
    ("step", &["threshold", "marks"]),
];

pub(super) fn resolve_queue(layers: &Layers<'_>, line: Before, report: &mut Report<'_>) -> QueueSpec {
    let known = read(layers, "kind", |node| value::choice(node, "queue", QUEUES), report);
    let kind = known.unwrap_or(QUEUES[0]);
    let own = layers.down_to("kind");
    if known.is_some() || !layers.has("kind") {
        refuse_others_keys(&own, kind, report);
    }
    let limit = resolve_limit(&layers.below("limit"), line, report);
    let limit = limit.unwrap_or(QueueLimit::Packets(line.defaults.queue_packets));
    match kind {
        "red" => QueueSpec::Red(resolve_red(&own, limit, line, report)),
        "step" => resolve_step(&own, limit, line, report),
        _ => {
            let front = read(&own, "drop", |node| value::choice(node, "drop", &["tail", "front"]), report);
            QueueSpec::Fifo { limit, drop: if front == Some("front") { DropEnd::Front } else { DropEnd::Tail } }
        }
    }
}

/// Keys of another discipline are mistakes, but for those that were there before an override changed the discipline.
fn refuse_others_keys(layers: &Layers<'_>, kind: &str, report: &mut Report<'_>) {
    let chosen = layers.get("kind").map_or(0, |(node, _)| node.place.source);
    for (other, keys) in OWN_KEYS.iter().filter(|(other, _)| *other != kind) {
        for key in keys.iter().filter(|key| layers.has(key)) {
            let (node, path) = layers.get(key).expect("it is there");
            if node.place.source < chosen {
                continue;
            }
            let message = format!("`{key}` belongs to kind = \"{other}\", and this queue is \"{kind}\"");
            report.problem(
                layers.place_of(key),
                &path,
                message,
                Some(format!("add kind = \"{other}\", or leave it out")),
            );
        }
    }
}

fn resolve_limit(layers: &Layers<'_>, line: Before, report: &mut Report<'_>) -> Option<QueueLimit> {
    let deciding = layers.deciding(&["amount", "bins"]);
    if deciding.has("bins") {
        if deciding.has("amount") {
            report.problem(deciding.place_of("amount"), layers.path(), "`amount` and `bins` exclude each other", None);
        }
        require(layers, "size", "\"512 B\"", report);
        let count = read(&deciding, "bins", value::positive_count, report)?;
        let size = read(layers, "size", positive_size, report)?;
        return Some(QueueLimit::Bins { count, size });
    }
    if layers.has("size") {
        let help = "the size is that of a bin: add bins = 100".to_owned();
        report.problem(layers.place_of("size"), layers.path(), "`size` needs `bins`", Some(help));
    }
    read(
        &deciding,
        "amount",
        |node| value::limit(node).and_then(|limit: QueueLimitText| limit.on_line(line.rate, line.base_rtt)),
        report,
    )
}

fn depth(node: &Node, line: Before) -> Result<QueueDepth, UnitError> {
    Ok(match value::limit(node)?.on_line(line.rate, line.base_rtt)? {
        QueueLimit::Packets(packets) => QueueDepth::Packets(packets),
        QueueLimit::Bytes(bytes) => QueueDepth::Bytes(bytes),
        QueueLimit::Bins { .. } => unreachable!("bins are no quantity"),
    })
}

fn resolve_step(layers: &Layers<'_>, limit: QueueLimit, line: Before, report: &mut Report<'_>) -> QueueSpec {
    require(layers, "threshold", "\"20 packets\" or \"1 ms\"", report);
    let threshold = |node: &Node| match value::limit(node)? {
        QueueLimitText::Time(span) => Ok(StepSpec::Sojourn(span)),
        _ => depth(node, line).map(StepSpec::Threshold),
    };
    let threshold = read(layers, "threshold", threshold, report).unwrap_or(StepSpec::Sojourn(Duration::ZERO));
    let marks = match read(layers, "marks", |node| value::choice(node, "marks", &["ect", "ect1"]), report) {
        Some("ect1") => Marks::Ect1,
        _ => Marks::Ect,
    };
    QueueSpec::Step { limit, threshold, marks }
}

/// The defaults are tc's.
fn resolve_red(layers: &Layers<'_>, limit: QueueLimit, line: Before, report: &mut Report<'_>) -> RedSpec {
    let mut threshold = |key: &str| read(layers, key, |node| depth(node, line), report);
    let (min, max) = (threshold("min"), threshold("max"));
    let max = max.or_else(|| quarter(limit)).unwrap_or_else(|| {
        require(layers, "max", "\"30 kB\"", report);
        QueueDepth::Packets(1)
    });
    let min = min.unwrap_or_else(|| third(max));
    let (low, high) = match (min, max) {
        (QueueDepth::Packets(min), QueueDepth::Packets(max)) => (u64::from(min), u64::from(max)),
        (QueueDepth::Bytes(min), QueueDepth::Bytes(max)) => (min.get(), max.get()),
        _ => {
            let place = layers.place_of(if layers.has("min") { "min" } else { "max" });
            let help =
                "one average is held against both: give both in packets, or both in bytes or as times".to_owned();
            report.problem(place, layers.path(), "`min` and `max` count in different units", Some(help));
            (0, 0)
        }
    };
    if low > high {
        report.problem(layers.place_of("min"), layers.path(), "`min` is above `max`", None);
    }
    let avpkt = read(layers, "avpkt", positive_size, report).unwrap_or(Bytes::new(1000));
    let unit = if matches!(min, QueueDepth::Packets(_)) { 1.0 } else { avpkt.get() as f64 };
    let mut flag = |key: &str| read(layers, key, value::flag, report).unwrap_or(false);
    let (ecn, harddrop, gentle) = (flag("ecn"), flag("harddrop"), flag("gentle"));
    if harddrop && !ecn {
        let help = "without ecn every packet is dropped anyway".to_owned();
        report.problem(layers.place_of("harddrop"), layers.path(), "`harddrop` needs `ecn = true`", Some(help));
    }
    RedSpec {
        limit,
        min,
        max,
        probability: read(layers, "probability", value::probability, report).unwrap_or(0.02),
        weight: resolve_weight(layers, low as f64 / unit, high as f64 / unit, report),
        avpkt,
        bandwidth: read(layers, "bandwidth", value::rate_or_unlimited, report).unwrap_or(line.rate),
        ecn,
        harddrop,
        gentle,
    }
}

/// The weight as given, or from the burst that must pass: all in packets.
fn resolve_weight(layers: &Layers<'_>, min: f64, max: f64, report: &mut Report<'_>) -> f64 {
    let deciding = layers.deciding(&["weight", "burst"]);
    if deciding.has("weight") && deciding.has("burst") {
        let help = "the weight follows from a burst, or is given".to_owned();
        report.problem(
            deciding.place_of("burst"),
            layers.path(),
            "`weight` and `burst` exclude each other",
            Some(help),
        );
    }
    let weight = |node: &Node| match value::probability(node)? {
        0.0 => Err(UnitError::new("a weight of zero would keep the average at zero")),
        weight => Ok(weight),
    };
    if deciding.has("weight") {
        return read(&deciding, "weight", weight, report).unwrap_or(1.0);
    }
    let usual = (2.0 * min + max) / 3.0;
    let burst = read(&deciding, "burst", value::positive_count, report).map_or(usual, f64::from);
    weight_for_burst(burst, min).unwrap_or_else(|| {
        let message = format!("a burst of {burst} packets does not even reach `min`");
        let help = format!("give more than {}, or a weight", min.ceil());
        report.problem(layers.place_of("burst"), layers.path(), message, Some(help));
        1.0
    })
}

/// The largest weight 2^-n with which a burst into an empty queue leaves the average below `min` (Floyd and Jacobson 1993, equation 2);
/// `None` if the burst is shorter than that.
fn weight_for_burst(burst: f64, min: f64) -> Option<f64> {
    const SMALLEST: u32 = 31;
    let excess = burst + 1.0 - min;
    let fits = |weight: &f64| excess <= (1.0 - libm::pow(1.0 - weight, burst + 1.0)) / weight;
    (excess >= 1.0).then(|| (1..=SMALLEST).map(|shift| 1.0 / f64::from(1u32 << shift)).find(fits))?
}

fn quarter(limit: QueueLimit) -> Option<QueueDepth> {
    match limit {
        QueueLimit::Packets(packets) => Some(QueueDepth::Packets((packets / 4).max(1))),
        QueueLimit::Bytes(bytes) => Some(QueueDepth::Bytes(Bytes::new((bytes.get() / 4).max(1)))),
        QueueLimit::Bins { .. } => None,
    }
}

fn third(max: QueueDepth) -> QueueDepth {
    match max {
        QueueDepth::Packets(packets) => QueueDepth::Packets((packets / 3).max(1)),
        QueueDepth::Bytes(bytes) => QueueDepth::Bytes(Bytes::new((bytes.get() / 3).max(1))),
    }
}
