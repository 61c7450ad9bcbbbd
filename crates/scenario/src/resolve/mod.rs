//! Turns the checked tree into a [`Scenario`]: fills in defaults, looks up names, and rejects impossible values.

mod flows;
mod line;
mod network;
mod part;
mod preset;
mod read;
mod stack;

use crate::error::{Place, Report, quote};
use crate::graph::Hop;
use crate::head::Head;
use crate::measured::RecordSpec;
use crate::model::{InterfaceSpec, Scenario};
use crate::tree::{Node, Table, Value};
use crate::units::format_size;
use flows::{Flows, resolve_flows};
use lopsided_app::DatagramConfig;
use lopsided_core::{Bytes, Duration};
use lopsided_queue::Limit;
use network::{Network, resolve_network};
use part::{Line, read_part};
pub(crate) use preset::clear_for_preset;
use read::Layers;
use std::collections::BTreeMap;

/// Maximum number of sample rows. More rows do not fit into the memory of a desktop computer.
const MOST_ROWS: u128 = 50_000_000;
/// The Ethernet MTU in bytes, which is the default of all stacks.
const USUAL_PACKET: Bytes = Bytes::new(1500);

/// Resolves the tree. Errors are added to the report; after an error the result must not be used.
///
/// `controllers` are the valid values of `cc`.
pub(crate) fn resolve(tree: &Table, file: &str, controllers: &[&str], report: &mut Report<'_>) -> Option<Scenario> {
    let layers = Layers::one(tree, "", Place::TOP);
    // Store the number of errors, to find out below whether the duration is valid.
    let before = report.count();
    let head = resolve_head(&layers.below("scenario"), report);
    let duration = (report.count() == before).then_some(head.duration);
    let network = resolve_network(&layers, report);
    let interfaces = resolve_hosts(&layers, &network, controllers, report);
    // If the duration is invalid, use the longest possible duration. Then no start or stop time exceeds the duration
    // and causes another error.
    let flows = resolve_flows(&layers, &network, controllers, duration.unwrap_or(Duration::MAX), report);
    // Read these tables even after errors in other tables, so that all errors are reported together.
    let record = read_part(&layers.below("record"), Line::default(), report);
    let fairness = layers.below("fairness");
    let fairness = (!fairness.is_empty()).then(|| read_part(&fairness, Line::default(), report));
    check_rows(&layers, &network, &flows, duration?, &record, report);
    check_limits(&network, &flows, report);
    Some(Scenario {
        name: head.name.unwrap_or_else(|| stem(file)),
        title: head.title,
        duration: duration?,
        seed: head.seed,
        graph: network.graph,
        interfaces,
        flows: flows.specs,
        record,
        fairness,
    })
}

fn resolve_head(table: &Layers<'_>, report: &mut Report<'_>) -> Head {
    if table.is_empty() {
        let help = "start the file with [scenario] and duration = \"60 s\"".to_owned();
        report.problem(Place::TOP, "scenario", "[scenario] is missing", Some(help));
        return Head::default();
    }
    read_part(table, Line::default(), report)
}

/// Checks the tables `[host.NAME]`, and returns the interfaces of the hosts.
fn resolve_hosts(
    file: &Layers<'_>,
    network: &Network,
    controllers: &[&str],
    report: &mut Report<'_>,
) -> BTreeMap<usize, InterfaceSpec> {
    let mut interfaces = BTreeMap::new();
    let _ = stack::resolve_stack(&file.below("stack"), controllers, report);
    let Some((Node { value: Value::Table(hosts), .. }, _)) = file.get("host") else { return interfaces };
    // Without a network, every host name would be reported as unknown.
    if network.broken {
        return interfaces;
    }
    for entry in &hosts.entries {
        let path = format!("host.{}", entry.key);
        let Some(place) = network.host(&entry.key) else {
            let (message, help) = network.unknown_host(&entry.key);
            report.problem(entry.key_place, &path, message, Some(help));
            continue;
        };
        if let Some(table) = entry.node.table() {
            let host = Layers::one(table, &path, entry.key_place);
            let _ = stack::resolve_stack(&host.below("stack"), controllers, report);
            let interface = host.below("interface");
            if !interface.is_empty() {
                interfaces.insert(place, read_part(&interface, Line::default(), report));
            }
        }
    }
    interfaces
}

/// Reports an error if the sampling interval would produce too many rows.
fn check_rows(
    file: &Layers<'_>,
    network: &Network,
    flows: &Flows,
    duration: Duration,
    record: &RecordSpec,
    report: &mut Report<'_>,
) {
    let Some(interval) = record.interval else { return };
    // There is one series per flow and one per link direction.
    let series = flows.specs.len() as u128 + 2 * network.graph.links.len() as u128;
    let rows = u128::from(duration.as_nanos() / interval.as_nanos()) * series;
    if rows > MOST_ROWS {
        let place = match file.below("record").get("interval") {
            Some((node, _)) => node.place,
            None => file.below("scenario").place_of("duration"),
        };
        let millions = rows / 1_000_000;
        let message = format!("samples at this interval would produce {millions} million rows of flows and queues");
        let help = format!(
            "at most {} million are allowed: increase record.interval or shorten the run",
            MOST_ROWS / 1_000_000
        );
        report.problem(place, "record.interval", message, Some(help));
    }
}

/// Reports an error for each queue that is too small for the packets of a flow through this queue.
fn check_limits(network: &Network, flows: &Flows, report: &mut Report<'_>) {
    for (flow, path) in flows.specs.iter().zip(&flows.paths) {
        let packet = match flow.app.get::<DatagramConfig>() {
            Some(datagrams) => datagrams.size,
            None if flow.transport.is_tcp() => {
                flow.from_stack.mss.map_or(USUAL_PACKET, |mss| Bytes::new(u64::from(mss) + 40))
            }
            None => flow.transport.largest_packet(&flow.from_stack),
        };
        for hop in path {
            check_room(network, *hop, packet, &flow.name, report);
            // QUIC pads its first packets in both directions (RFC 9000, section 14.1).
            if let Some(packet) = flow.transport.opening_packet() {
                check_room(network, Hop { dir: hop.dir.reverse(), ..*hop }, packet, &flow.name, report);
            }
        }
    }
}

/// Reports an error if a queue cannot hold this packet.
fn check_room(network: &Network, hop: Hop, packet: Bytes, flow: &str, report: &mut Report<'_>) {
    let link = &network.graph.links[hop.link];
    let room = match link.dir(hop.dir).queue.limit() {
        // A limit in packets accepts packets of any size.
        None | Some(Limit::Packets(_)) => return,
        Some(Limit::Bytes(room)) => room,
        Some(Limit::Bins { count, size }) => Bytes::new(u64::from(count).saturating_mul(size.get())),
    };
    if room < packet {
        let (place, path) = &network.link_places[hop.link];
        let message = format!(
            "the {} queue of link {} holds {}, less than one packet of flow {} ({})",
            hop.dir.name(),
            quote(&link.name),
            format_size(room),
            quote(flow),
            format_size(packet)
        );
        report.problem(*place, path, message, None);
    }
}

/// Returns the file's name without folder and extension. Characters that names may not contain are replaced by `-`.
fn stem(file: &str) -> String {
    let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = base.strip_suffix(".toml").unwrap_or(base);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = stem.chars().take(64).map(|c| if fits(c) { c } else { '-' }).collect();
    // Names must not start or end with these characters.
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() { "scenario".to_owned() } else { name.to_owned() }
}
