//! Describes the parts of a scenario that the page can display and change.

use crate::answer::Answer;
use crate::json::Json;
use crate::picture::{self, main_rate};
use crate::request::{Problems, Request};
use lopsided_core::Dir;
use lopsided_queue::Limit;
use lopsided_scenario::Scenario;

/// Describes a scenario for the page's controls: name, title, main link with its keys, flows, and TOML with every
/// default.
///
/// # Errors
/// Returns the errors of the scenario.
pub fn describe(request: &Request) -> Result<Answer, Problems> {
    let scenario = request.scenario()?;
    let mut groups: Vec<&str> = Vec::new();
    for flow in &scenario.flows {
        if !groups.contains(&flow.group.as_str()) {
            groups.push(&flow.group);
        }
    }
    let flows = groups.iter().map(|group| {
        let members: Vec<_> = scenario.flows.iter().filter(|flow| flow.group == *group).collect();
        let first = members[0];
        Json::object([
            ("name", Json::text(group)),
            ("count", Json::whole(members.len() as u64)),
            ("direction", Json::text(first.direction.map_or("", Dir::name))),
            ("app", Json::text(first.app.part().info().name)),
            ("cc", Json::text(&first.from_stack.cc)),
            ("transport", Json::text(first.transport.kind())),
            ("start_s", Json::number((first.start - lopsided_core::Time::ZERO).as_secs_f64())),
        ])
    });
    let title = scenario.title.as_deref().unwrap_or(&scenario.name);
    Ok(Answer::of(Json::object([
        ("name", Json::text(&scenario.name)),
        ("title", Json::text(title)),
        ("duration_s", Json::number(scenario.duration.as_secs_f64())),
        // Write the seed as text, because JavaScript's numbers represent integers exactly only up to 53 bits.
        ("seed", Json::text(&scenario.seed.to_string())),
        ("hosts", Json::texts(scenario.graph.hosts.iter().map(String::as_str))),
        ("flows", Json::list(flows)),
        ("flow_names", Json::texts(scenario.flows.iter().map(|flow| flow.name.as_str()))),
        ("line", line(&scenario, request)),
        ("scenario", Json::text(&scenario.to_toml())),
    ])))
}

/// Describes the main link. `key` is the prefix of its settings, empty if they are fixed. `rtt_key` is the key of its
/// RTT or one-way delay.
fn line(scenario: &Scenario, request: &Request) -> Json {
    let number = picture::main_link(scenario);
    let Some(link) = scenario.graph.links.get(number) else { return Json::object([]) };
    let candidates =
        ["link".to_owned(), format!("topology.link.{}", link.name), "topology.dumbbell.bottleneck".to_owned()];
    // Try each candidate key, because only the scenario's own text determines which of them exist.
    let takes = |key: &str, value: &str| {
        let mut changed = request.clone();
        changed.settings.push((key.to_owned(), value.to_owned()));
        // A key that adds a link would also be accepted, so also check that the number of links stays the same.
        changed.scenario().is_ok_and(|changed| changed.graph.links.len() == scenario.graph.links.len())
    };
    let is_key =
        |key: &&String| Dir::BOTH.iter().all(|dir| takes(&format!("{key}.{}.rate", dir.name()), "1234567 bit/s"));
    let key = candidates.iter().find(is_key).cloned().unwrap_or_default();
    let rtt = ["rtt", "delay"].map(|name| format!("{key}.{name}"));
    let rtt_key = rtt.iter().find(|key| takes(key, "20 ms")).cloned().unwrap_or_default();
    let direction = |dir: Dir| {
        let config = link.dir(dir);
        let limit = match config.queue.limit() {
            Some(Limit::Packets(packets)) => Json::whole(u64::from(packets)),
            _ => Json::null(),
        };
        Json::object([
            ("rate_bps", main_rate(scenario, dir).map_or_else(Json::null, Json::whole)),
            ("delay_ms", Json::number(config.delay.as_millis_f64())),
            ("queue", Json::text(config.queue.kind())),
            ("limit_packets", limit),
            ("loss", Json::flag(config.loss != Default::default())),
        ])
    };
    Json::object([
        ("name", Json::text(&link.name)),
        ("key", Json::text(&key)),
        ("rtt_key", Json::text(if key.is_empty() { "" } else { &rtt_key })),
        ("ends", Json::texts([scenario.graph.name(link.from), scenario.graph.name(link.to)])),
        ("down", direction(Dir::Down)),
        ("up", direction(Dir::Up)),
    ])
}
