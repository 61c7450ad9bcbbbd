//! Reads the parts of a scenario, such as queues and applications. If several tables set a key, the most specific table
//! takes precedence.

use super::read::{Layers, require};
use crate::error::Report;
use crate::schema::{WithKinds, join};
use crate::tree::{Node, Value as TreeValue};
use crate::units::{QueueLimitText, UnitError};
use crate::value;
use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_spec::{Amount, AnyPart, Family, Given, KeyInfo, Member, Part, PartInfo, Value, ValueType};

/// Properties of the link to which a part belongs. They are needed to convert times and BDPs to bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    /// Rate of the link; `None` if the rate is unlimited.
    pub rate: Option<BitRate>,
    /// True if a token bucket or a scheduler dequeues from this queue. Both dequeue only while the queue contains
    /// packets.
    pub shaped: bool,
    /// The round-trip time for limits in BDP; `None` if the network has no single base RTT.
    pub base_rtt: Option<Duration>,
    /// The default limit of queues at this position in the network, in packets; `None` for the default of the
    /// discipline.
    pub queue_packets: Option<u32>,
}

/// Reads a part of a known type. After an error the part must not be used.
pub(super) fn read_part<P: Part>(layers: &Layers<'_>, line: Line, report: &mut Report<'_>) -> P {
    let mut part = P::default();
    fill(&mut part, &PartInfo::of::<P>(), &|_| layers.clone(), line, report);
    part
}

/// Reads a part of the kind that the scenario selects.
pub(super) fn read_family(
    family: &'static Family,
    layers: &Layers<'_>,
    line: Line,
    report: &mut Report<'_>,
) -> Box<dyn AnyPart> {
    let kinds = family.kinds();
    let chosen = super::read::read(layers, "kind", |node| value::choice(node, family.name, &kinds), report);
    // The keys may identify the kind. For example, only RED has the key `min`.
    let kind = chosen.unwrap_or_else(|| kind_by_keys(family, layers));
    // `choice` and `kind_by_keys` return names of members only.
    let member = (family.members)().into_iter().find(|member| member.info.name == kind);
    let Member { info, mut part } = member.expect("the kinds are the members' names");
    if chosen.is_none() && layers.has("kind") {
        // The kind is invalid, so the valid keys are unknown.
        return part;
    }
    refuse_other_kinds_keys(family, &info, layers, report);
    // The default limit for this position in the network applies only if the kind has no default limit of its own.
    let usual = (family.members)().first().and_then(|member| member.info.key("limit").map(|key| key.default.clone()));
    let takes = info.key("limit").is_some_and(|key| Some(&key.default) == usual.as_ref());
    if let Some(packets) = line.queue_packets.filter(|_| takes) {
        let _ = part.set("limit", Value::Amount(Amount::Packets(packets)));
    }
    // A child queue has the default limit of its own kind.
    let shaped = line.shaped || lopsided_queue::dequeues_only_nonempty(kind);
    let line = Line { queue_packets: None, shaped, ..line };
    // A less specific table may contain keys of another kind. From such a table only the family's shorthand key is read
    // (`limit` for queues), because all kinds have this key.
    let own = layers.down_to("kind");
    // If the shorthand key of the user's own discipline is an integer, ignore a value such as "250 ms" that was written
    // for another kind.
    let since = own.get("kind").map(|(node, _)| node.place.source);
    let foreign = |key: &str| {
        info.key(key).is_some_and(|key| matches!(key.value_type, ValueType::Integer))
            && layers.get(key).is_some_and(|(node, _)| {
                (!own.has(key) || Some(node.place.source) < since) && value::count(node).is_err()
            })
    };
    let source = |key: &str| match family.shorthand {
        Some(shorthand) if shorthand == key && foreign(key) => Layers::none(layers.place),
        Some(shorthand) if shorthand == key => layers.clone(),
        _ => own.clone(),
    };
    fill(&mut *part, &info, &source, line, report);
    part
}

/// Returns the kind of a part without the key `kind`. If the family permits it, this is the first kind that supports
/// all given keys, otherwise the default.
fn kind_by_keys(family: &Family, layers: &Layers<'_>) -> &'static str {
    let members = (family.members)();
    let all: Vec<&str> = members.iter().flat_map(|member| member.info.names()).collect();
    let fits = |info: &PartInfo| all.iter().all(|key| !layers.has(key) || info.key(key).is_some());
    let has_some = |info: &PartInfo| info.names().any(|key| layers.has(key));
    let found = members.iter().find(|member| fits(&member.info));
    // If no kind supports all given keys, choose a kind that supports at least one of them, so that the error message
    // is helpful.
    let found = found.or_else(|| members.iter().find(|member| has_some(&member.info)));
    found.filter(|_| family.infer_kind).unwrap_or(&members[0]).info.name
}

/// Reports keys that belong to another kind, unless an override has changed the kind.
fn refuse_other_kinds_keys(family: &'static Family, chosen: &PartInfo, layers: &Layers<'_>, report: &mut Report<'_>) {
    let own = layers.down_to("kind");
    // Sources are numbered in order of precedence: the file is 0, and overrides follow.
    let since = own.get("kind").map_or(0, |(node, _)| node.place.source);
    for name in family.table().names().filter(|name| *name != "kind" && chosen.key(name).is_none()) {
        let Some((node, path)) = own.get(name).filter(|(node, _)| node.place.source >= since) else { continue };
        let kinds: Vec<String> = family.kinds_with(name).iter().map(|(kind, _)| format!("\"{kind}\"")).collect();
        let kinds = kinds.join(" or ");
        let message = format!("`{name}` belongs to kind = {kinds}, but this {} is \"{}\"", family.name, chosen.name);
        report.problem(node.place, &path, message, Some(format!("add kind = {kinds}, or remove the key")));
    }
}

/// Sets all given keys, completes the part and checks it. `source` returns the tables in which a key may be set.
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
        // If keys exclude each other, only the most specific table that sets one of them is read.
        let group = info.exclusive.iter().find(|group| group.contains(&key.name));
        let layers = source(key.name);
        let deciding = group.map_or_else(|| layers.clone(), |group| layers.deciding(group));
        // A mandatory key may be set in any of the tables.
        if !deciding.has(key.name) {
            if let Some(example) = key.example {
                require(&layers, key.name, example, report);
            }
            continue;
        }
        // `complete` must be able to distinguish given keys from defaults.
        given.push(key.name);
        let Some(value) = read_key(key, &deciding, line, report) else { continue };
        // This key selects the preset.
        if let (Value::Word(word), true) = (&value, key.input_only) {
            preset = Some(*word);
        }
        if let Err(message) = part.set(key.name, value) {
            report.problem(deciding.place_of(key.name), &join(layers.path(), key.name), message, None);
        }
    }
    let own = source("");
    refuse_exclusive(info, &own, report);
    // After an error, the checks below would only report consequences of this error.
    if report.count() > problems {
        return;
    }
    let folder = report.folder();
    // First compute the settings that depend on others, then check all settings.
    let completed =
        part.complete(&Given { keys: &given, preset, line_rate: line.rate, line_peeks: line.shaped, folder });
    if let Err(fault) = completed.and_then(|()| part.check()) {
        let place = source(fault.key).place_of(fault.key);
        report.problem(place, &join(own.path(), fault.key), fault.message, fault.help);
    }
}

/// Reports keys that exclude each other but are set in the same table.
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

/// Returns the value of a key. If the value is invalid, reports an error and returns `None`.
fn read_key(key: &KeyInfo, layers: &Layers<'_>, line: Line, report: &mut Report<'_>) -> Option<Value> {
    match key.value_type {
        ValueType::Limit => read_limit(&layers.below(key.name), line, report).map(Value::Amount),
        // Each key of a nested table is read from the nested tables of this name, most specific table first.
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

/// Reads a single value, or the word that means "none" for this key.
pub(super) fn read_value(key: &KeyInfo, layers: &Layers<'_>, line: Line, report: &mut Report<'_>) -> Option<Value> {
    let (node, path) = layers.get(key.name)?;
    let node = bare_amount(node);
    let what = key.noun.unwrap_or(key.name);
    let found = match key.none_word {
        Some(word) if value::is_word(node, word) => Ok(Value::None),
        _ => scalar(what, key.value_type, node, line),
    };
    // The word for "none" is also valid, so the advice must mention this word.
    let or_word = |error: UnitError| match (key.none_word, node.text()) {
        (Some(word), Some(_)) => {
            let help = error.help.as_deref().unwrap_or("write a value with a unit");
            let help = format!("{help}, or `{word}`");
            error.help(help)
        }
        _ => error,
    };
    found.map_err(or_word).map_err(|error| report.problem(node.place, &path, error.message, error.help)).ok()
}

/// Returns the amount of a table that contains only the key `amount`. Returns the node itself in all other cases.
fn bare_amount(node: &Node) -> &Node {
    match node.table() {
        Some(table) if table.entries.len() == 1 => table.get("amount").unwrap_or(node),
        _ => node,
    }
}

/// Reads the items of a list. An item may be a table.
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
    // Error messages count the items from 1.
    let values = nodes.iter().enumerate().filter_map(|(index, node)| read(index + 1, node)).collect();
    Some(Value::List(values))
}

/// Converts a single value to a type.
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
            // A queue depth in bytes or BDP is converted to bytes at the link's rate. A depth in time remains a
            // queueing delay.
            other => other.on_line(line.rate, line.base_rtt)?,
        }),
        ValueType::Packets => match value::limit(node)? {
            QueueLimitText::Packets(packets) => Value::Amount(Amount::Packets(packets)),
            _ => {
                let help = format!("write {name} = \"1000 packets\"");
                return Err(UnitError::new(format!("`{name}` must be a number of packets")).help(help));
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
        other => return Err(UnitError::new(format!("`{name}` has the type {other:?}, which is not a single value"))),
    })
}

/// Reads a queue limit: an amount, or a number of fixed-size memory bins.
fn read_limit(layers: &Layers<'_>, line: Line, report: &mut Report<'_>) -> Option<Amount> {
    let deciding = layers.deciding(&["amount", "bins"]);
    if deciding.has("bins") {
        if deciding.has("amount") {
            report.problem(deciding.place_of("amount"), layers.path(), "`amount` and `bins` exclude each other", None);
        }
        // A limit in bins needs the size of a bin.
        require(layers, "size", "\"512 B\"", report);
        let count = super::read::read(&deciding, "bins", value::positive_count, report)?;
        let size = super::read::read(layers, "size", positive_size, report)?;
        return Some(Amount::Bins { count, size });
    }
    if layers.has("size") {
        let help = "`size` is the size of a bin: add bins = 100".to_owned();
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
