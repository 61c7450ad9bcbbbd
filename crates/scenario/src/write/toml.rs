//! Writes a scenario as TOML in its general form, with every default written out.

use super::inline::{Inline, list, quoted};
use super::value::{kind_to_toml, part_to_toml, value_to_toml};
use crate::graph::{Graph, LinkSpec};
use crate::head::Head;
use crate::model::{FlowSpec, Scenario};
use lopsided_core::Time;
use lopsided_tcp::StackConfig;
use std::fmt::Write as _;

/// Returns the whole scenario as TOML, which can be read back as an equal scenario.
pub(crate) fn to_toml(scenario: &Scenario) -> String {
    let mut out = String::from("# A resolved lopsided scenario: every default is written out.\n\n[scenario]\n");
    let head = Head {
        name: Some(scenario.name.clone()),
        title: scenario.title.clone(),
        duration: scenario.duration,
        seed: scenario.seed,
    };
    out += &part_to_toml(&head).lines();
    out += "\n[topology]\n";
    let names = |names: &[String]| list(names.iter().map(|name| quoted(name)));
    let graph = &scenario.graph;
    // The media are the last routers. They are written as [[topology.medium]] below.
    let routers = &graph.routers[..graph.media.first().map_or(graph.routers.len(), |medium| medium.router)];
    out += &Inline::default().put("hosts", names(&graph.hosts)).put("routers", names(routers)).lines();
    for each in &graph.media {
        out += "\n[[topology.medium]]\n";
        out += &kind_to_toml(each.medium.part()).lines();
    }
    for each in &graph.links {
        out += "\n[[topology.link]]\n";
        out += &link(graph, each).lines();
    }
    for (host, interface) in &scenario.interfaces {
        let _ = writeln!(out, "\n[host.{}.interface]", graph.hosts[*host]);
        out += &part_to_toml(interface).lines();
    }
    for each in &scenario.flows {
        out += "\n[[flow]]\n";
        out += &flow(graph, each).lines();
    }
    out += "\n[record]\n";
    out += &part_to_toml(&scenario.record).lines();
    if let Some(fairness) = &scenario.fairness {
        out += "\n[fairness]\n";
        out += &part_to_toml(fairness).lines();
    }
    out
}

fn link(graph: &Graph, link: &LinkSpec) -> Inline {
    let ends = [link.from, link.to].map(|node| quoted(graph.name(node)));
    Inline::default()
        .text("name", &link.name)
        .put("between", list(ends))
        .put("down", part_to_toml(&*link.down).braces())
        .put("up", part_to_toml(&*link.up).braces())
        .maybe("one_way", link.one_way.then_some(true))
}

fn flow(graph: &Graph, flow: &FlowSpec) -> Inline {
    Inline::default()
        .text("name", &flow.name)
        .text("group", &flow.group)
        .text("from", &graph.hosts[flow.from])
        .text("to", &graph.hosts[flow.to])
        .span("start", flow.start - Time::ZERO)
        .span("start_jitter", flow.start_jitter)
        .span("stop", flow.stop - Time::ZERO)
        .put("app", kind_to_toml(flow.app.part()).braces())
        .put("transport", kind_to_toml(flow.transport.part()).braces())
        .put("sender_stack", stack(&flow.from_stack).braces())
        .put("receiver_stack", stack(&flow.to_stack).braces())
}

/// Returns the TCP settings. A setting that the scenario does not set is omitted, and the profile's value applies.
fn stack(stack: &StackConfig) -> Inline {
    let written = Inline::default()
        .text("profile", &stack.profile)
        .text("cc", &stack.cc)
        .maybe("mss", stack.mss.map(|mss| quoted(&format!("{mss} B"))));
    StackConfig::keys().iter().fold(written, |table, key| {
        table.maybe(key.name, stack.get(key.name).and_then(|value| value_to_toml(key, value)))
    })
}
