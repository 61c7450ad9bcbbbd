//! A link's two directions: rate, delay, framing, shaper, loss.

use super::part::{Line, positive_size, read_family};
use super::read::{Layers, read, require};
use crate::error::Report;
use crate::model::{Cells, DirSpec, FramingSpec, Gilbert, LossSpec, ShaperSpec};
use crate::tree::{self, Node};
use crate::units::{UnitError, format_size};
use crate::value;
use lopsided_core::{BitRate, Bytes, Dir, Duration, Time};
use lopsided_queue::{QUEUES, QueueConfig};
use lopsided_spec::{Amount, Scalar, Value};

/// Beyond this a bucket shapes nothing, and its credit would no longer fit 64 bits.
const DEEPEST_BUCKET: Bytes = Bytes::new(1 << 30);

/// What a link's keys default to, which depends on where the link stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults {
    pub queue_packets: u32,
    /// Whether a rate and a delay must be given.
    pub delay_required: bool,
    /// Whether the link is the whole path, so that its RTT is the RTT of BDP; with what the hosts' own links add to it.
    pub base_rtt_beyond: Option<Duration>,
}

/// A link that is neither a LAN nor the one line of `[link]`.
pub(super) const PLAIN: Defaults = Defaults { queue_packets: 50, delay_required: false, base_rtt_beyond: None };
/// Links that should not be the bottleneck: the queue of Linux's network devices.
pub(super) const FAST: Defaults = Defaults { queue_packets: 1000, delay_required: false, base_rtt_beyond: None };

/// Both directions of a link from its table.
pub(super) fn resolve_line(link: &Layers<'_>, defaults: Defaults, report: &mut Report<'_>) -> (DirSpec, DirSpec) {
    let (down_delay, up_delay) = resolve_delays(link, defaults, report);
    let base_rtt = defaults.base_rtt_beyond.map(|beyond| down_delay + up_delay + beyond);
    let mut direction = |dir: Dir, delay: Duration| {
        let layers = link.below(dir.name()).over(link);
        resolve_direction(&layers, dir, delay, base_rtt, defaults, report)
    };
    (direction(Dir::Down, down_delay), direction(Dir::Up, up_delay))
}

/// One-way delays: from the directions, the link's delay, or halves of its RTT.
pub(super) fn resolve_delays(link: &Layers<'_>, defaults: Defaults, report: &mut Report<'_>) -> (Duration, Duration) {
    let own = |dir: Dir, report: &mut Report<'_>| read(&link.below(dir.name()), "delay", value::span, report);
    let own = [own(Dir::Down, report), own(Dir::Up, report)];
    let deciding = link.deciding(&["rtt", "delay"]);
    let rtt = read(&deciding, "rtt", value::span, report);
    let delay = read(&deciding, "delay", value::span, report);
    if deciding.has("rtt") {
        let clash = if deciding.has("delay") {
            Some(deciding.place_of("delay"))
        } else {
            Dir::BOTH.iter().find_map(|dir| link.below(dir.name()).get("delay").map(|(node, _)| node.place))
        };
        if let Some(place) = clash {
            let help = "give the rtt, or one-way delays: the rtt is their sum".to_owned();
            report.problem(place, link.path(), "a delay contradicts the link's rtt", Some(help));
        }
    }
    let given = |dir: Dir| deciding.has("rtt") || deciding.has("delay") || link.below(dir.name()).has("delay");
    if defaults.delay_required && !Dir::BOTH.into_iter().all(given) {
        let message = format!("`rtt` is missing in [{}]", link.path());
        let help = "add rtt = \"20 ms\", or a one-way delay for each direction".to_owned();
        report.problem(link.place, link.path(), message, Some(help));
    }
    let half = rtt.map(|rtt| rtt / 2);
    let down = own[0].or(half).or(delay).unwrap_or(Duration::ZERO);
    // An odd nanosecond goes up.
    let up = own[1].or(rtt.zip(half).map(|(rtt, half)| rtt - half)).or(delay).unwrap_or(Duration::ZERO);
    (down, up)
}

fn resolve_direction(
    layers: &Layers<'_>,
    dir: Dir,
    delay: Duration,
    base_rtt: Option<Duration>,
    defaults: Defaults,
    report: &mut Report<'_>,
) -> DirSpec {
    if !layers.has("rate") {
        let message = format!(
            "`rate` is missing for direction {} of [{}]",
            dir.name(),
            layers.path().trim_end_matches(".down").trim_end_matches(".up")
        );
        let help = format!("add rate = \"2.4 Mbit/s\" to the link or to its `{}`; \"unlimited\" for none", dir.name());
        report.problem(layers.place, layers.path(), message, Some(help));
    }
    let rate = read(layers, "rate", value::rate_or_unlimited, report).flatten();
    // A rate that is wrong was reported; what depends on it is not reported too.
    let assumed =
        rate.or(if layers.has("rate") && !is_unlimited(layers) { Some(BitRate::from_bps(1_000_000)) } else { None });
    DirSpec {
        rate,
        delay,
        framing: resolve_framing(&layers.below("framing"), report),
        queue: resolve_queue(&layers.below("queue"), Line { rate: assumed, base_rtt }, defaults, report),
        shaper: resolve_shaper(&layers.below("shaper"), rate, report),
        loss: resolve_loss(&layers.below("loss"), report),
    }
}

fn resolve_queue(layers: &Layers<'_>, line: Line, defaults: Defaults, report: &mut Report<'_>) -> QueueConfig {
    let usual = [("limit", Value::Amount(Amount::Packets(defaults.queue_packets)))];
    let part = read_family(&QUEUES, layers, line, &usual, report);
    QueueConfig::from_value(Value::Part(part)).expect("it is one of the family's")
}

fn is_unlimited(layers: &Layers<'_>) -> bool {
    layers.get("rate").is_some_and(|(node, _)| node.text().map(str::trim) == Some("unlimited"))
}

fn resolve_framing(layers: &Layers<'_>, report: &mut Report<'_>) -> FramingSpec {
    let deciding = layers.deciding(&["kind", "cells"]);
    if deciding.has("kind") && deciding.has("cells") {
        let help = "a kind already says which cells it uses".to_owned();
        report.problem(deciding.place_of("cells"), layers.path(), "`kind` and `cells` exclude each other", Some(help));
    }
    let kind = read(&deciding, "kind", |node| value::choice(node, "framing", FramingSpec::KINDS), report);
    let cells = read(&deciding, "cells", |node| value::choice(node, "cells", &["none", "atm", "ptm"]), report);
    let cells = match cells {
        Some("atm") => Cells::Atm,
        Some("ptm") => Cells::Ptm,
        _ => Cells::None,
    };
    let plain = FramingSpec { overhead: Bytes::ZERO, minimum: Bytes::ZERO, cells };
    let base = kind.and_then(FramingSpec::named).unwrap_or(plain);
    let extra = read(layers, "overhead", overhead, report).unwrap_or(Bytes::ZERO);
    let minimum = read(layers, "minimum", overhead, report).unwrap_or(base.minimum);
    FramingSpec { overhead: base.overhead + extra, minimum, ..base }
}

fn overhead(node: &Node) -> Result<Bytes, UnitError> {
    let size = value::size(node)?;
    if size > Bytes::new(10_000) {
        return Err(UnitError::new(format!("{} with each packet is more than any line adds", format_size(size))));
    }
    Ok(size)
}

fn resolve_shaper(layers: &Layers<'_>, rate: Option<BitRate>, report: &mut Report<'_>) -> Option<ShaperSpec> {
    if layers.is_empty() {
        return None;
    }
    let Some(rate) = rate else {
        let help = "the bucket fills at the direction's rate".to_owned();
        report.problem(layers.place, layers.path(), "a shaper needs a rate", Some(help));
        return None;
    };
    let interval = read(layers, "interval", value::span, report);
    if interval.is_some_and(Duration::is_zero) {
        report.problem(layers.place_of("interval"), layers.path(), "a shaper's interval cannot be zero", None);
        return None;
    }
    let line_rate = read(layers, "line_rate", value::rate_or_unlimited, report).flatten();
    if line_rate.is_some_and(|line| line < rate) {
        let help = "it is the physical rate at which a burst leaves, such as \"100 Mbit/s\"".to_owned();
        report.problem(
            layers.place_of("line_rate"),
            layers.path(),
            "the line_rate is below the shaper's rate",
            Some(help),
        );
    }
    // Rounded up: a bucket must hold a whole lump.
    let lump = interval.map(|interval| {
        let bits_e9 = u128::from(rate.as_bps()) * u128::from(interval.as_nanos());
        Bytes::new(u64::try_from(bits_e9.div_ceil(8_000_000_000)).unwrap_or(u64::MAX))
    });
    if lump.is_none() {
        require(layers, "burst", "\"1600 B\"", report);
    }
    let burst = read(layers, "burst", positive_size, report).or(lump)?;
    if let Some(lump) = lump.filter(|lump| burst < *lump) {
        let message =
            format!("a bucket of {} cannot hold what comes in one interval: {}", format_size(burst), format_size(lump));
        let help = "leave `burst` out: with an interval it follows from the rate".to_owned();
        report.problem(layers.place_of("burst"), layers.path(), message, Some(help));
    }
    if burst > DEEPEST_BUCKET {
        let message = format!("a bucket of {} is deeper than the 1 GiB that is allowed", format_size(burst));
        report.problem(layers.place_of("burst"), layers.path(), message, None);
    }
    Some(ShaperSpec { burst, interval, line_rate })
}

fn resolve_loss(layers: &Layers<'_>, report: &mut Report<'_>) -> LossSpec {
    let random = read(layers, "random", value::probability, report).unwrap_or(0.0);
    let gilbert = layers.below("gilbert");
    let gilbert = if gilbert.is_empty() { None } else { resolve_gilbert(&gilbert, report) };
    let mut packets = read_list(layers, "packets", value::count, report);
    if let Some(zero) = packets.iter().find(|(number, _)| *number == 0) {
        report.problem(zero.1.place, layers.path(), "packets are counted from 1", None);
    }
    packets.sort_by_key(|(number, _)| *number);
    let mut packets: Vec<u64> = packets.into_iter().map(|(number, _)| number).collect();
    packets.dedup();
    let mut outages = read_list(layers, "outages", value::outage, report);
    outages.sort_by_key(|(outage, _)| *outage);
    for pair in outages.windows(2) {
        if pair[1].0.0 < pair[0].0.1 {
            report.problem(pair[1].1.place, layers.path(), "this outage begins before another ends", None);
        }
    }
    let outages = outages.into_iter().map(|((from, to), _)| (Time::ZERO + from, Time::ZERO + to)).collect();
    LossSpec { random, gilbert, packets, outages }
}

fn resolve_gilbert(layers: &Layers<'_>, report: &mut Report<'_>) -> Option<Gilbert> {
    require(layers, "to_bad", "0.01", report);
    require(layers, "to_good", "0.3", report);
    let mut probability = |key: &str| read(layers, key, value::probability, report);
    let (to_bad, to_good) = (probability("to_bad"), probability("to_good"));
    let (loss_bad, loss_good) = (probability("loss_bad").unwrap_or(1.0), probability("loss_good").unwrap_or(0.0));
    Some(Gilbert { to_bad: to_bad?, to_good: to_good?, loss_bad, loss_good })
}

/// The items of a list, each with where it stands; wrong ones are reported and left out.
pub(super) fn read_list<'t, T>(
    layers: &Layers<'t>,
    key: &str,
    parse: impl Fn(&Node) -> Result<T, UnitError>,
    report: &mut Report<'_>,
) -> Vec<(T, &'t Node)> {
    let Some((node, path)) = layers.get(key) else { return Vec::new() };
    let items: &[Node] = match &node.value {
        tree::Value::List(items) => items,
        _ => std::slice::from_ref(node),
    };
    let mut read = Vec::with_capacity(items.len());
    for item in items {
        match parse(item) {
            Ok(value) => read.push((value, item)),
            Err(error) => report.problem(item.place, &path, error.message, error.help),
        }
    }
    read
}
