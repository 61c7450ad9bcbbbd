//! JSON: numbers with their units in the keys (`_s`, `_bps`, `_bytes`), nodes by name.

use super::value::{fields_of, kind_to_json, part_to_json, setting_to_json};
use crate::graph::{Graph, LinkSpec};
use crate::model::{FlowSpec, InterfaceSpec, Scenario};
use crate::units::seconds;
use lopsided_core::{Duration, Time};
use lopsided_tcp::StackConfig;
use std::fmt::{self, Write as _};

/// A JSON value; objects keep their order.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// In the digits that are to be written.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
        Json::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    pub(crate) fn text(text: &str) -> Json {
        Json::Text(text.to_owned())
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(digits) => f.write_str(digits),
            Json::Text(text) => write_text(f, text),
            Json::List(items) if items.is_empty() => f.write_str("[]"),
            Json::List(items) => write_block(f, indent, ('[', ']'), items, |f, item, indent| item.write(f, indent)),
            Json::Object(fields) if fields.is_empty() => f.write_str("{}"),
            Json::Object(fields) => write_block(f, indent, ('{', '}'), fields, |f, (key, value), indent| {
                write_text(f, key)?;
                f.write_str(": ")?;
                value.write(f, indent)
            }),
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

fn write_block<T>(
    f: &mut fmt::Formatter<'_>,
    indent: usize,
    (open, close): (char, char),
    items: &[T],
    mut write_item: impl FnMut(&mut fmt::Formatter<'_>, &T, usize) -> fmt::Result,
) -> fmt::Result {
    f.write_char(open)?;
    for (index, item) in items.iter().enumerate() {
        f.write_str(if index == 0 { "\n" } else { ",\n" })?;
        write!(f, "{:width$}", "", width = indent + 2)?;
        write_item(f, item, indent + 2)?;
    }
    write!(f, "\n{:indent$}{close}", "")
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            control if control < ' ' || control == '\u{7f}' => write!(f, "\\u{:04x}", control as u32)?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('"')
}

fn interface(graph: &Graph, host: usize, spec: &InterfaceSpec) -> Json {
    let mut fields = vec![("host".to_owned(), Json::text(&graph.hosts[host]))];
    fields.extend(fields_of(spec));
    Json::Object(fields)
}

/// The whole scenario.
pub(crate) fn to_json(scenario: &Scenario) -> Json {
    let graph = &scenario.graph;
    let names = |names: &[String]| Json::List(names.iter().map(|name| Json::text(name)).collect());
    Json::object([
        ("name", Json::text(&scenario.name)),
        ("title", optional(scenario.title.as_deref(), Json::text)),
        ("duration_s", span(scenario.duration)),
        ("seed", number(scenario.seed)),
        ("hosts", names(&graph.hosts)),
        ("routers", names(&graph.routers)),
        ("media", Json::List(graph.media.iter().map(|each| kind_to_json(each.medium.part())).collect())),
        ("links", Json::List(graph.links.iter().map(|each| link(graph, each)).collect())),
        (
            "interfaces",
            Json::List(scenario.interfaces.iter().map(|(host, spec)| interface(graph, *host, spec)).collect()),
        ),
        ("flows", Json::List(scenario.flows.iter().map(|each| flow(graph, each)).collect())),
        ("record", part_to_json(&scenario.record)),
        ("fairness", optional(scenario.fairness, |fairness| part_to_json(&fairness))),
    ])
}

fn link(graph: &Graph, link: &LinkSpec) -> Json {
    Json::object([
        ("name", Json::text(&link.name)),
        ("from", Json::text(graph.name(link.from))),
        ("to", Json::text(graph.name(link.to))),
        ("down", part_to_json(&link.down)),
        ("up", part_to_json(&link.up)),
    ])
}

fn flow(graph: &Graph, flow: &FlowSpec) -> Json {
    Json::object([
        ("name", Json::text(&flow.name)),
        ("group", Json::text(&flow.group)),
        ("from", Json::text(&graph.hosts[flow.from])),
        ("to", Json::text(&graph.hosts[flow.to])),
        ("direction", optional(flow.direction, |dir| Json::text(dir.name()))),
        ("start_s", time(flow.start)),
        ("start_jitter_s", span(flow.start_jitter)),
        ("stop_s", time(flow.stop)),
        ("app", kind_to_json(flow.app.part())),
        ("sender_stack", stack(&flow.from_stack)),
        ("receiver_stack", stack(&flow.to_stack)),
    ])
}

/// What is not given is as the profile says: null.
fn stack(stack: &StackConfig) -> Json {
    let mut fields = vec![
        ("profile".to_owned(), Json::text(&stack.profile)),
        ("cc".to_owned(), Json::text(&stack.cc)),
        ("mss_bytes".to_owned(), optional(stack.mss, |mss| number(u64::from(mss)))),
    ];
    fields.extend(StackConfig::keys().iter().map(|key| setting_to_json(key, stack.get(key.name))));
    Json::Object(fields)
}

fn optional<T>(value: Option<T>, write: impl Fn(T) -> Json) -> Json {
    value.map_or(Json::Null, write)
}

pub(super) fn number(value: u64) -> Json {
    Json::Number(value.to_string())
}

/// Probabilities only: never infinite, never not a number.
pub(super) fn float(value: f64) -> Json {
    Json::Number(value.to_string())
}

fn span(span: Duration) -> Json {
    Json::Number(seconds(span.as_nanos()))
}

pub(super) fn time(time: Time) -> Json {
    Json::Number(seconds(time.as_nanos()))
}
