//! A link's two directions: rate, delay, framing, shaper, loss.

use super::part::{Line, read_part};
use super::read::{Layers, read};
use crate::error::Report;
use crate::tree::{self, Node};
use crate::units::UnitError;
use crate::value;
use lopsided_core::{BitRate, Dir, Duration};
use lopsided_link::LinkConfig;
use lopsided_queue::QueueConfig;

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
pub(super) fn resolve_line(link: &Layers<'_>, defaults: Defaults, report: &mut Report<'_>) -> (LinkConfig, LinkConfig) {
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
) -> LinkConfig {
    if !layers.has("rate") && !layers.has("access") {
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
    let shaped = layers.has("shaper");
    let line = Line { rate: assumed, shaped, base_rtt, queue_packets: Some(defaults.queue_packets) };
    let direction: LinkConfig = read_part(layers, line, report);
    let queue = if layers.has("queue") { direction.queue } else { QueueConfig::packets(defaults.queue_packets) };
    LinkConfig { rate, delay, queue, ..direction }
}

fn is_unlimited(layers: &Layers<'_>) -> bool {
    layers.get("rate").is_some_and(|(node, _)| node.text().map(str::trim) == Some("unlimited"))
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
