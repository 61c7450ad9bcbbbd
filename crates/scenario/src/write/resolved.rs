//! The resolved scenario as JSON. The key of a number ends with the unit (`_s`, `_bps`, `_bytes`). Nodes are identified
//! by name.
//!
//! Tables are declared here or generated from the declaration of a component (queue, link, controller).

use super::json::{Json, number, span};
use super::value::{fields_of, kind_to_json, part_to_json, setting_to_json, suffix};
use crate::graph::{Graph, LinkSpec};
use crate::measured::{FairnessSpec, RecordSpec};
use crate::model::{FlowSpec, InterfaceSpec, Scenario};
use crate::transport::TRANSPORTS;
use lopsided_app::APPS;
use lopsided_core::{Dir, Time};
use lopsided_link::{LinkConfig, MEDIA};
use lopsided_spec::ValueType::{self, Family, Flag, Integer, List, Name, Part, Size, Text, Word};
use lopsided_spec::{KeyInfo, PartInfo};
use lopsided_tcp::StackConfig;

/// The type of a JSON table: for each entry its key, including the unit, and the type of its value.
pub(super) struct TableShape {
    pub name: &'static str,
    pub text: &'static str,
    pub entries: Vec<(String, Shape)>,
}

/// The type of a value.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// A value.
    Value(ValueType),
    /// A value or null.
    Optional(ValueType),
    /// A value, null, or this word.
    OrWord(ValueType, &'static str),
    /// A table.
    Table(fn() -> TableShape),
    /// A list of tables.
    Tables(fn() -> TableShape),
}

use Shape::{Optional, OrWord, Table, Tables, Value};

/// One entry of a table: key without the unit, type, and the function that computes the value.
struct Entry<T: 'static> {
    name: &'static str,
    shape: Shape,
    get: fn(&Graph, &T) -> Json,
}

const fn entry<T>(name: &'static str, shape: Shape, get: fn(&Graph, &T) -> Json) -> Entry<T> {
    Entry { name, shape, get }
}

const SCENARIO: &[Entry<Scenario>] = &[
    entry("name", Value(Name), |_, scenario| Json::text(&scenario.name)),
    entry("title", Optional(Text), |_, scenario| optional(scenario.title.as_deref(), Json::text)),
    entry("duration", Value(ValueType::Time), |_, scenario| span(scenario.duration)),
    entry("seed", Value(Integer), |_, scenario| number(scenario.seed)),
    entry("hosts", Value(List(&Name)), |graph, _| list(&graph.hosts, |name| Json::text(name))),
    entry("routers", Value(List(&Name)), |graph, _| list(&graph.routers, |name| Json::text(name))),
    entry("media", Value(List(&MEDIUM)), |graph, _| list(&graph.media, |each| kind_to_json(each.medium.part()))),
    entry(
        "links",
        Tables(|| shape("link", "A link between two nodes: `down` leads from `from` to `to`.", LINK)),
        |graph, _| list(&graph.links, |each| object(LINK, graph, each)),
    ),
    entry("interfaces", Tables(interface_shape), |graph, scenario| {
        list(&scenario.interfaces, |each| interface(graph, each))
    }),
    entry("flows", Tables(|| shape("flow", "A flow from one host to another.", FLOW)), |graph, scenario| {
        list(&scenario.flows, |each| object(FLOW, graph, each))
    }),
    entry("record", Value(Part(PartInfo::of::<RecordSpec>)), |_, scenario| part_to_json(&scenario.record)),
    entry("fairness", Optional(Part(PartInfo::of::<FairnessSpec>)), |_, scenario| {
        optional(scenario.fairness, |fairness| part_to_json(&fairness))
    }),
];

static MEDIUM: ValueType = Family(&MEDIA);

const LINK: &[Entry<LinkSpec>] = &[
    entry("name", Value(Name), |_, link| Json::text(&link.name)),
    entry("from", Value(Name), |graph, link| Json::text(graph.name(link.from))),
    entry("to", Value(Name), |graph, link| Json::text(graph.name(link.to))),
    entry("down", Value(Part(PartInfo::of::<LinkConfig>)), |_, link| part_to_json(&*link.down)),
    entry("up", Value(Part(PartInfo::of::<LinkConfig>)), |_, link| part_to_json(&*link.up)),
    entry("one_way", Value(Flag), |_, link| Json::Bool(link.one_way)),
];

const FLOW: &[Entry<FlowSpec>] = &[
    entry("name", Value(Name), |_, flow| Json::text(&flow.name)),
    entry("group", Value(Name), |_, flow| Json::text(&flow.group)),
    entry("from", Value(Name), |graph, flow| Json::text(&graph.hosts[flow.from])),
    entry("to", Value(Name), |graph, flow| Json::text(&graph.hosts[flow.to])),
    entry("direction", Optional(Word(directions)), |_, flow| optional(flow.direction, |dir| Json::text(dir.name()))),
    entry("start", Value(ValueType::Time), |_, flow| span(flow.start - Time::ZERO)),
    entry("start_jitter", Value(ValueType::Time), |_, flow| span(flow.start_jitter)),
    entry("stop", Value(ValueType::Time), |_, flow| span(flow.stop - Time::ZERO)),
    entry("app", Value(Family(&APPS)), |_, flow| kind_to_json(flow.app.part())),
    entry("transport", Value(Family(&TRANSPORTS)), |_, flow| kind_to_json(flow.transport.part())),
    entry("sender_stack", Table(stack_shape), |_, flow| stack(&flow.from_stack)),
    entry("receiver_stack", Table(stack_shape), |_, flow| stack(&flow.to_stack)),
];

/// The TCP settings that are not keys of the profile. Null means that the profile's value applies.
const STACK: &[Entry<StackConfig>] = &[
    entry("profile", Value(Text), |_, stack| Json::text(&stack.profile)),
    entry("cc", Value(Text), |_, stack| Json::text(&stack.cc)),
    entry("mss", Optional(Size), |_, stack| optional(stack.mss, |mss| number(u64::from(mss)))),
];

/// The first entry of an interface: its host. The interface's own keys follow.
const INTERFACE: &[Entry<usize>] = &[entry("host", Value(Name), |graph, host| Json::text(&graph.hosts[*host]))];

/// Returns the whole scenario as JSON.
pub(crate) fn to_json(scenario: &Scenario) -> Json {
    object(SCENARIO, &scenario.graph, scenario)
}

/// Returns the type of the whole scenario's JSON.
pub(super) fn scenario_shape() -> TableShape {
    shape("resolved", "The whole scenario, with all defaults.", SCENARIO)
}

fn object<T>(entries: &[Entry<T>], graph: &Graph, of: &T) -> Json {
    Json::Object(fields(entries, graph, of))
}

fn fields<T>(entries: &[Entry<T>], graph: &Graph, of: &T) -> Vec<(String, Json)> {
    entries.iter().map(|entry| (entry.shape.key(entry.name), (entry.get)(graph, of))).collect()
}

fn shape<T>(name: &'static str, text: &'static str, entries: &[Entry<T>]) -> TableShape {
    TableShape { name, text, entries: entries.iter().map(|entry| (entry.shape.key(entry.name), entry.shape)).collect() }
}

fn interface(graph: &Graph, (host, spec): (&usize, &InterfaceSpec)) -> Json {
    let mut written = fields(INTERFACE, graph, host);
    written.extend(fields_of(spec));
    Json::Object(written)
}

fn interface_shape() -> TableShape {
    let mut table = shape("interface", "The network interface of a host, in front of its links.", INTERFACE);
    table.entries.extend(part_shape(&PartInfo::of::<InterfaceSpec>()).entries);
    table
}

fn stack(stack: &StackConfig) -> Json {
    let mut written = fields(STACK, &Graph::default(), stack);
    written.extend(StackConfig::keys().iter().map(|key| setting_to_json(key, stack.get(key.name))));
    Json::Object(written)
}

fn stack_shape() -> TableShape {
    let setting = |key: KeyInfo| {
        let or_null = Optional(key.value_type);
        (or_null.key(key.name), key.none_word.map_or(or_null, |word| OrWord(key.value_type, word)))
    };
    let mut table = shape("stack", "The TCP of one end. None means the value of the profile.", STACK);
    table.entries.extend(StackConfig::keys().into_iter().map(setting));
    table
}

/// Returns the type of a part's JSON.
pub(super) fn part_shape(part: &PartInfo) -> TableShape {
    let entry = |key: &KeyInfo| {
        let shape = if key.optional { Optional(key.value_type) } else { Value(key.value_type) };
        (shape.key(key.name), shape)
    };
    let written = part.keys.iter().filter(|key| !key.input_only);
    TableShape { name: part.name, text: part.text, entries: written.map(entry).collect() }
}

impl Shape {
    /// Returns the key with its unit appended.
    fn key(self, name: &str) -> String {
        match self {
            Value(value_type) | Optional(value_type) | OrWord(value_type, _) => format!("{name}{}", suffix(value_type)),
            Table(_) | Tables(_) => name.to_owned(),
        }
    }
}

fn directions() -> Vec<&'static str> {
    [Dir::Down, Dir::Up].map(Dir::name).to_vec()
}

fn list<T>(items: impl IntoIterator<Item = T>, write: impl Fn(T) -> Json) -> Json {
    Json::List(items.into_iter().map(write).collect())
}

fn optional<T>(value: Option<T>, write: impl Fn(T) -> Json) -> Json {
    value.map_or(Json::Null, write)
}
