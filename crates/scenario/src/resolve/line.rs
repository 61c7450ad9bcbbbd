//! Reads both directions of a link: rate, delay, framing, shaper, loss.

use super::part::{Line, read_part};
use super::read::{Layers, read};
use crate::error::Report;
use crate::tree::{self, Node};
use crate::units::UnitError;
use crate::value;
use lopsided_core::{BitRate, Dir, Duration};
use lopsided_link::LinkConfig;
use lopsided_queue::QueueConfig;

/// Defaults of a link that depend on the link's position in the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults {
    /// Limit of a queue, in packets.
    pub queue_packets: u32,
    /// True if the scenario must specify a delay.
    pub delay_required: bool,
    /// RTT of the other links of the path. `None` if the flows over this link have different base RTTs.
    pub base_rtt_beyond: Option<Duration>,
}

/// Defaults of all links other than `[link]` and the LAN links.
pub(super) const PLAIN: Defaults = Defaults { queue_packets: 50, delay_required: false, base_rtt_beyond: None };
/// Defaults of links that should not be the bottleneck. The queue limit equals the default of Linux network devices
/// (`txqueuelen` 1000).
pub(super) const FAST: Defaults = Defaults { queue_packets: 1000, delay_required: false, base_rtt_beyond: None };

/// Reads both directions of a link.
pub(super) fn resolve_line(link: &Layers<'_>, defaults: Defaults, report: &mut Report<'_>) -> (LinkConfig, LinkConfig) {
    let (down_delay, up_delay) = resolve_delays(link, defaults, report);
    // A queue limit in BDP refers to the base RTT of the whole path.
    let base_rtt = defaults.base_rtt_beyond.map(|beyond| down_delay + up_delay + beyond);
    let mut direction = |dir: Dir, delay: Duration| {
        let layers = link.below(dir.name()).over(link);
        resolve_direction(&layers, dir, delay, base_rtt, defaults, report)
    };
    (direction(Dir::Down, down_delay), direction(Dir::Up, up_delay))
}

/// Returns the one-way delays, down and up. The delay of a direction takes precedence. An RTT is split in half.
pub(super) fn resolve_delays(link: &Layers<'_>, defaults: Defaults, report: &mut Report<'_>) -> (Duration, Duration) {
    let own = |dir: Dir, report: &mut Report<'_>| read(&link.below(dir.name()), "delay", value::span, report);
    // A delay of a direction overrides the delay of the link.
    let own = [own(Dir::Down, report), own(Dir::Up, report)];
    let deciding = link.deciding(&["rtt", "delay"]);
    let rtt = read(&deciding, "rtt", value::span, report);
    let delay = read(&deciding, "delay", value::span, report);
    if deciding.has("rtt") {
        // The RTT determines both one-way delays, so any other delay contradicts it.
        let clash = if deciding.has("delay") {
            Some(deciding.place_of("delay"))
        } else {
            Dir::BOTH.iter().find_map(|dir| link.below(dir.name()).get("delay").map(|(node, _)| node.place))
        };
        if let Some(place) = clash {
            let help = "use either `rtt`, or one-way delays, whose sum is the RTT".to_owned();
            report.problem(place, link.path(), "`delay` and `rtt` of a link exclude each other", Some(help));
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
    // If the RTT is odd, the direction `up` gets the extra nanosecond.
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
    // Some kinds of `access`, such as `reallocation`, define their own rates.
    if !layers.has("rate") && !layers.has("access") {
        let message = format!(
            "`rate` is missing for direction {} of [{}]",
            dir.name(),
            layers.path().trim_end_matches(".down").trim_end_matches(".up")
        );
        let help = format!(
            "add rate = \"2.4 Mbit/s\" to the link or to its `{}`; write \"unlimited\" for no limit",
            dir.name()
        );
        report.problem(layers.place, layers.path(), message, Some(help));
    }
    let rate = read(layers, "rate", value::rate_or_unlimited, report).flatten();
    // After an error in the rate, assume a rate, so that keys that depend on the rate do not report further errors.
    let assumed =
        rate.or(if layers.has("rate") && !is_unlimited(layers) { Some(BitRate::from_bps(1_000_000)) } else { None });
    let shaped = layers.has("shaper");
    let line = Line { rate: assumed, shaped, base_rtt, queue_packets: Some(defaults.queue_packets) };
    let direction: LinkConfig = read_part(layers, line, report);
    // The default limit depends on the position of the link in the network.
    let queue = if layers.has("queue") { direction.queue } else { QueueConfig::packets(defaults.queue_packets) };
    LinkConfig { rate, delay, queue, ..direction }
}

fn is_unlimited(layers: &Layers<'_>) -> bool {
    layers.get("rate").is_some_and(|(node, _)| node.text().map(str::trim) == Some("unlimited"))
}

/// Reads the items of a list, each with its node in the tree. Invalid items are reported and omitted.
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
