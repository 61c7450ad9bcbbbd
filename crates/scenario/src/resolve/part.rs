//! Reading a part from its declaration: every key from the most specific table that gives it.

use super::read::{Layers, require};
use crate::error::Report;
use crate::schema::{WithKinds, join};
use crate::tree::{Node, Value as TreeValue};
use crate::units::{QueueLimitText, UnitError};
use crate::value;
use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_spec::{Amount, AnyPart, Family, Given, KeyInfo, Member, Part, PartInfo, Value, ValueType};

/// The line that a part belongs to, which times and BDP are converted with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    pub rate: Option<BitRate>,
    /// The part is behind something that asks it for a packet only while it has one, as a token bucket does.
    pub shaped: bool,
    /// The RTT of BDP, where there is one.
    pub base_rtt: Option<Duration>,
    /// The limit of a queue that says nothing, where the place has one of its own.
    pub queue_packets: Option<u32>,
}

/// Reads a part of a known type. Faults are reported; after one the part must not be used.
pub(super) fn read_part<P: Part>(layers: &Layers<'_>, line: Line, report: &mut Report<'_>) -> P {
    let mut part = P::default();
    fill(&mut part, &PartInfo::of::<P>(), &|_| layers.clone(), line, report);
    part
}

/// Reads a part of the kind that the scenario chooses.
pub(super) fn read_family(
    family: &'static Family,
    layers: &Layers<'_>,
    line: Line,
    report: &mut Report<'_>,
) -> Box<dyn AnyPart> {
    let kinds = family.kinds();
    let chosen = super::read::read(layers, "kind", |node| value::choice(node, family.name, &kinds), report);
    let kind = chosen.unwrap_or_else(|| kind_by_keys(family, layers));
    let member = (family.members)().into_iter().find(|member| member.info.name == kind);
    let Member { info, mut part } = member.expect("the kinds are the members' names");
    if chosen.is_none() && layers.has("kind") {
        // Without a kind nothing says which keys belong here.
        return part;
    }
    refuse_other_kinds_keys(family, &info, layers, report);
    // A kind that has a limit of its own keeps it.
    let usual = (family.members)().first().and_then(|member| member.info.key("limit").map(|key| key.default.clone()));
    let takes = info.key("limit").is_some_and(|key| Some(&key.default) == usual.as_ref());
    if let Some(packets) = line.queue_packets.filter(|_| takes) {
        let _ = part.set("limit", Value::Amount(Amount::Packets(packets)));
    }
    // A queue inside this queue has the defaults of its own kind.
    let shaped = line.shaped || lopsided_queue::asks_only_while_full(kind);
    let line = Line { queue_packets: None, shaped, ..line };
    // Keys written for another kind do not hold for this one. The key that all kinds share does.
    let own = layers.down_to("kind");
    let source = |key: &str| if Some(key) == family.shorthand { layers.clone() } else { own.clone() };
    fill(&mut *part, &info, &source, line, report);
    part
}

/// The kind where none is named: the first that has all keys that are given, if the family allows that.
fn kind_by_keys(family: &Family, layers: &Layers<'_>) -> &'static str {
    let members = (family.members)();
    let all: Vec<&str> = members.iter().flat_map(|member| member.info.names()).collect();
    let fits = |info: &PartInfo| all.iter().all(|key| !layers.has(key) || info.key(key).is_some());
    let has_some = |info: &PartInfo| info.names().any(|key| layers.has(key));
    let found = members.iter().find(|member| fits(&member.info));
    // Where no kind has all of them, one that has some is meant.
    let found = found.or_else(|| members.iter().find(|member| has_some(&member.info)));
    found.filter(|_| family.infer_kind).unwrap_or(&members[0]).info.name
}

/// Keys of another kind are mistakes, but for those that were there before an override changed the kind.
fn refuse_other_kinds_keys(family: &'static Family, chosen: &PartInfo, layers: &Layers<'_>, report: &mut Report<'_>) {
    let own = layers.down_to("kind");
    let since = own.get("kind").map_or(0, |(node, _)| node.place.source);
    for name in family.table().names().filter(|name| *name != "kind" && chosen.key(name).is_none()) {
        let Some((node, path)) = own.get(name).filter(|(node, _)| node.place.source >= since) else { continue };
        let kinds: Vec<String> = family.kinds_with(name).iter().map(|(kind, _)| format!("\"{kind}\"")).collect();
        let kinds = kinds.join(" or ");
        let message = format!("`{name}` belongs to kind = {kinds}, and this {} is \"{}\"", family.name, chosen.name);
        report.problem(node.place, &path, message, Some(format!("add kind = {kinds}, or leave it out")));
    }
}

/// Sets every key that is given, completes the part and checks it. `source` says where a key may be given.
fn fill<'t>(
    part: &mut dyn AnyPart,
    info: &PartInfo,
    source: &dyn Fn(&str) -> Layers<'t>,
    line: Line,
    report: &mut Report<'_>,
) {
    let problems = report.count();
    let (mut given, mut preset) = (Vec::new(), None);
    for key in &info.keys {
        let group = info.exclusive.iter().find(|group| group.contains(&key.name));
        let layers = source(key.name);
        let deciding = group.map_or_else(|| layers.clone(), |group| layers.deciding(group));
        if !deciding.has(key.name) {
            if let Some(example) = key.example {
                require(&layers, key.name, example, report);
            }
            continue;
        }
        given.push(key.name);
        let Some(value) = read_key(key, &deciding, line, report) else { continue };
        if let (Value::Word(word), true) = (&value, key.input_only) {
            preset = Some(*word);
        }
        if let Err(message) = part.set(key.name, value) {
            report.problem(deciding.place_of(key.name), &join(layers.path(), key.name), message, None);
        }
    }
    let own = source("");
    refuse_exclusive(info, &own, report);
    if report.count() > problems {
        return;
    }
    let folder = report.folder();
    let completed =
        part.complete(&Given { keys: &given, preset, line_rate: line.rate, line_peeks: line.shaped, folder });
    if let Err(fault) = completed.and_then(|()| part.check()) {
        let place = source(fault.key).place_of(fault.key);
        report.problem(place, &join(own.path(), fault.key), fault.message, fault.help);
    }
}

fn refuse_exclusive(info: &PartInfo, layers: &Layers<'_>, report: &mut Report<'_>) {
    for group in info.exclusive {
        let deciding = layers.deciding(group);
        let given: Vec<&str> = group.iter().copied().filter(|key| deciding.has(key)).collect();
        if let [first, second, ..] = given.as_slice() {
            let message = format!("`{first}` and `{second}` exclude each other");
            report.problem(deciding.place_of(second), layers.path(), message, None);
        }
    }
}

/// The value of a key; `None` if it is wrong and was reported.
fn read_key(key: &KeyInfo, layers: &Layers<'_>, line: Line, report: &mut Report<'_>) -> Option<Value> {
    match key.value_type {
        ValueType::Limit => read_limit(&layers.below(key.name), line, report).map(Value::Amount),
        ValueType::Part(table) => {
            let info = table();
            let mut part = info.make?();
            let below = layers.below(key.name);
            fill(&mut *part, &info, &|_| below.clone(), line, report);
            Some(Value::Part(part))
        }
        ValueType::Family(family) => Some(Value::Part(read_family(family, &layers.below(key.name), line, report))),
        ValueType::List(item) => read_items(key.name, *item, layers, line, report),
        _ => read_value(key, layers, line, report),
    }
}

/// A single value, or the word for none.
pub(super) fn read_value(key: &KeyInfo, layers: &Layers<'_>, line: Line, report: &mut Report<'_>) -> Option<Value> {
    let (node, path) = layers.get(key.name)?;
    let node = bare_amount(node);
    // A preset is named after its table: an unknown framing.
    let what = if key.input_only { layers.path().rsplit('.').next().unwrap_or(key.name) } else { key.name };
    let found = match key.none_word {
        Some(word) if value::is_word(node, word) => Ok(Value::None),
        _ => scalar(what, key.value_type, node, line),
    };
    let or_word = |error: UnitError| match (key.none_word, node.text()) {
        (Some(word), Some(_)) => {
            let help = error.help.as_deref().unwrap_or("write a value with its unit");
            let help = format!("{help}, or `{word}`");
            error.help(help)
        }
        _ => error,
    };
    found.map_err(or_word).map_err(|error| report.problem(node.place, &path, error.message, error.help)).ok()
}

/// The amount alone: where another kind of the family has a limit that may be a table, the amount was written into one.
fn bare_amount(node: &Node) -> &Node {
    match node.table() {
        Some(table) if table.entries.len() == 1 => table.get("amount").unwrap_or(node),
        _ => node,
    }
}

/// The items of a list, each read in its own table where it is one.
fn read_items(name: &str, item: ValueType, layers: &Layers<'_>, line: Line, report: &mut Report<'_>) -> Option<Value> {
    let (node, path) = layers.get(name)?;
    let TreeValue::List(nodes) = &node.value else { return None };
    let mut read = |number: usize, node: &Node| match (item, node.table()) {
        (ValueType::Family(family), Some(table)) => {
            let below = Layers::one(table, &join(&path, &number.to_string()), node.place);
            Some(Value::Part(read_family(family, &below, line, report)))
        }
        (ValueType::Part(table), Some(entries)) => {
            let info = table();
            let mut part = info.make?();
            let below = Layers::one(entries, &join(&path, &number.to_string()), node.place);
            fill(&mut *part, &info, &|_| below.clone(), line, report);
            Some(Value::Part(part))
        }
        _ => match scalar(name, item, node, line) {
            Ok(value) => Some(value),
            Err(error) => {
                report.problem(node.place, &path, error.message, error.help);
                None
            }
        },
    };
    let values = nodes.iter().enumerate().filter_map(|(index, node)| read(index + 1, node)).collect();
    Some(Value::List(values))
}

/// A single value of the type.
fn scalar(name: &str, value_type: ValueType, node: &Node, line: Line) -> Result<Value, UnitError> {
    Ok(match value_type {
        ValueType::Flag => Value::Flag(value::flag(node)?),
        ValueType::Integer => Value::Integer(value::count(node)?),
        ValueType::Number => Value::Number(value::number(node)?),
        ValueType::Probability => Value::Number(value::probability(node)?),
        ValueType::Rate => Value::Rate(value::rate(node)?),
        ValueType::Time => Value::Time(value::span(node)?),
        ValueType::Size => Value::Size(value::size(node)?),
        ValueType::Depth | ValueType::Limit => Value::Amount(value::limit(node)?.on_line(line.rate, line.base_rtt)?),
        ValueType::DepthOrTime => Value::Amount(match value::limit(node)? {
            QueueLimitText::Time(span) => Amount::Time(span),
            other => other.on_line(line.rate, line.base_rtt)?,
        }),
        ValueType::Packets => match value::limit(node)? {
            QueueLimitText::Packets(packets) => Value::Amount(Amount::Packets(packets)),
            _ => {
                let help = format!("write {name} = \"1000 packets\"");
                return Err(UnitError::new(format!("`{name}` counts packets")).help(help));
            }
        },
        ValueType::Window => Value::Amount(value::window(node)?),
        ValueType::Word(words) => Value::Word(value::word(node, name, &words())?),
        ValueType::Text => Value::Text(value::text(node)?),
        ValueType::Name => Value::Text(value::name(node)?),
        ValueType::Period => {
            let (from, to) = value::outage(node)?;
            Value::Period(from, to)
        }
        other => return Err(UnitError::new(format!("`{name}` holds {other:?}, which is no single value"))),
    })
}

/// An amount, or bins of memory.
fn read_limit(layers: &Layers<'_>, line: Line, report: &mut Report<'_>) -> Option<Amount> {
    let deciding = layers.deciding(&["amount", "bins"]);
    if deciding.has("bins") {
        if deciding.has("amount") {
            report.problem(deciding.place_of("amount"), layers.path(), "`amount` and `bins` exclude each other", None);
        }
        require(layers, "size", "\"512 B\"", report);
        let count = super::read::read(&deciding, "bins", value::positive_count, report)?;
        let size = super::read::read(layers, "size", positive_size, report)?;
        return Some(Amount::Bins { count, size });
    }
    if layers.has("size") {
        let help = "the size is that of a bin: add bins = 100".to_owned();
        report.problem(layers.place_of("size"), layers.path(), "`size` needs `bins`", Some(help));
    }
    let on_line = |node: &Node| value::limit(node)?.on_line(line.rate, line.base_rtt);
    super::read::read(&deciding, "amount", on_line, report)
}

pub(super) fn positive_size(node: &Node) -> Result<Bytes, UnitError> {
    match value::size(node)? {
        Bytes::ZERO => Err(UnitError::new("this must be at least 1 B")),
        size => Ok(size),
    }
}
