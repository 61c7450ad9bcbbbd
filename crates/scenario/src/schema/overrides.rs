//! Overrides: a dotted key such as `link.up.queue.limit` or `flow.download.cc`, and a new value for it.
//!
//! A flow or a link of the topology is selected by its name or by its number, counted from 1; `*` selects all. Names
//! with special characters need quotes: `flow."download.1".cc`.
//!
//! The value `default` removes the key, so that the value of the preset or the default applies.

use super::check::{expand_shorthand, join, unknown_key};
use super::{file, table_of};
use crate::error::{Place, Report, did_you_mean, quote};
use crate::tree::{Node, Table, Value};
use lopsided_spec::{PartInfo, ValueType};

/// The value that removes a key.
const DEFAULT: &str = "default";

/// One part of a dotted key, with its position.
type Segment = (String, Place);

/// Sets a key in the tree. A key that does not exist is reported.
///
/// `locate` converts byte ranges of `key` to positions.
pub(crate) fn apply(
    root: &mut Table,
    key: &str,
    locate: &dyn Fn(usize, usize) -> Place,
    node: Node,
    report: &mut Report<'_>,
) {
    let mut segments = match split_key(key, locate) {
        Ok(segments) => segments,
        Err((place, message)) => {
            report.problem(place, key, message, Some("write a dotted key such as `link.up.queue.limit`".to_owned()));
            return;
        }
    };
    // In the resolved form of a scenario, the access line is the link `link` of the topology. Accept `link.KEY` for
    // this link.
    if segments[0].0 == "link" && segments.len() > 1 && root.get("link").is_none() && root.get("topology").is_some() {
        let place = segments[0].1;
        segments.splice(0..1, ["topology", "link", "link"].map(|part| (part.to_owned(), place)));
    }
    let problems = report.count();
    // Work on a copy: an error must leave the tree unchanged.
    let mut changed = root.clone();
    set_in_table(&mut changed, &file(), "", &segments, &node, report);
    // After an error keep the old tree, because a partly created table would cause further errors.
    if report.count() == problems {
        *root = changed;
    }
}

fn set_in_table(
    table: &mut Table,
    shape: &PartInfo,
    path: &str,
    segments: &[Segment],
    node: &Node,
    report: &mut Report<'_>,
) {
    let [(word, place), rest @ ..] = segments else { return };
    let Some(key) = shape.key(word) else {
        unknown_key(*place, word, shape, path, report);
        return;
    };
    if rest.is_empty() {
        // `default` is useful in a sweep, such as `link.up.queue.limit=default,20 packets`: the first point then uses
        // the preset's own value.
        if node.text() == Some(DEFAULT) {
            table.retain(|key| key != word);
        } else {
            table.set(word, *place, node.clone());
        }
        return;
    }
    let path = join(path, word);
    match (key.value_type, table_of(key.value_type)) {
        (ValueType::Map(below), _) => {
            let [(name, name_place), rest @ ..] = rest else { return };
            if rest.is_empty() {
                report.problem(
                    *name_place,
                    &path,
                    format!("`{path}.{name}` is a table: add the name of one of its keys"),
                    None,
                );
                return;
            }
            let names = child_table(table, word, *place, None);
            let child = child_table(names, name, *name_place, None);
            set_in_table(child, &below(), &join(&path, name), rest, node, report);
        }
        (ValueType::List(_), Some(below)) => set_in_list(table, word, &below, &path, rest, node, report),
        (_, Some(below)) => {
            let child = child_table(table, word, *place, Some(&below));
            set_in_table(child, &below, &path, rest, node, report);
        }
        (ValueType::Free, None) => report.problem(*place, &path, "[sweep] cannot be overridden", None),
        (_, None) => {
            let message = format!("`{path}` is a single value and has no key {}", quote(&rest[0].0));
            report.problem(rest[0].1, &path, message, None);
        }
    }
}

fn set_in_list(
    table: &mut Table,
    word: &str,
    shape: &PartInfo,
    path: &str,
    segments: &[Segment],
    node: &Node,
    report: &mut Report<'_>,
) {
    let [(wanted, place), rest @ ..] = segments else { return };
    let mut none = Vec::new();
    let items = match table.get_mut(word).map(|node| &mut node.value) {
        Some(Value::List(items)) => items,
        _ => &mut none,
    };
    let names: Vec<String> = items.iter().enumerate().map(|(index, item)| entry_name(index, item)).collect();
    let chosen: Vec<usize> = match names.iter().position(|name| name == wanted) {
        Some(index) => vec![index],
        // All items.
        None if wanted == "*" => (0..items.len()).collect(),
        None => wanted
            .parse::<usize>()
            .ok()
            .filter(|number| (1..=items.len()).contains(number))
            .map(|n| n - 1)
            .into_iter()
            .collect(),
    };
    if chosen.is_empty() {
        let help = did_you_mean(wanted, names.iter().map(String::as_str));
        report.problem(*place, path, format!("there is no {word} {}", quote(wanted)), Some(help));
        return;
    }
    if rest.is_empty() {
        report.problem(*place, path, format!("`{path}.{wanted}` is a table: add the name of one of its keys"), None);
        return;
    }
    for index in chosen {
        // Expand shorthand first, because the key is inside the table.
        expand_shorthand(&mut items[index], shape);
        if let Value::Table(child) = &mut items[index].value {
            set_in_table(child, shape, &join(path, wanted), rest, node, report);
        }
    }
}

/// Returns the name of a flow or link, or its default name if the scenario does not name it.
pub(crate) fn entry_name(index: usize, item: &Node) -> String {
    let Some(table) = item.table() else { return (index + 1).to_string() };
    if let Some(name) = table.get("name").and_then(Node::text) {
        return name.to_owned();
    }
    match table.get("between").map(|node| &node.value) {
        Some(Value::List(ends)) => ends.iter().filter_map(Node::text).collect::<Vec<_>>().join("-"),
        _ => format!("flow{}", index + 1),
    }
}

/// Returns the table under a key. A missing table is created, and shorthand is expanded.
fn child_table<'t>(table: &'t mut Table, key: &str, place: Place, shape: Option<&PartInfo>) -> &'t mut Table {
    if table.get(key).is_none() {
        table.set(key, place, Node { value: Value::Table(Table::default()), place });
    }
    let node = table.get_mut(key).expect("the value was set above");
    if let Some(shape) = shape {
        expand_shorthand(node, shape);
    }
    if !matches!(node.value, Value::Table(_)) {
        // The key has a single value, but the override sets a key of a table.
        node.value = Value::Table(Table::default());
    }
    match &mut node.value {
        Value::Table(table) => table,
        _ => unreachable!("it was made a table above"),
    }
}

/// Splits a dotted key into its parts. The result is never empty.
fn split_key(key: &str, locate: &dyn Fn(usize, usize) -> Place) -> Result<Vec<Segment>, (Place, String)> {
    let mut segments = Vec::new();
    let mut at = 0;
    loop {
        let rest = &key[at..];
        // Names of flow copies contain dots, so they must be quoted.
        let quoted = rest.chars().next().filter(|first| matches!(first, '"' | '\''));
        let (part, length) = match quoted {
            Some(mark) => match rest[1..].find(mark) {
                Some(end) => (&rest[1..=end], end + 2),
                None => {
                    return Err((locate(at, key.len()), format!("the key {} has an unclosed quote", quote(key))));
                }
            },
            None => {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].trim(), end)
            }
        };
        if part.is_empty() {
            return Err((locate(at, at + length.max(1)), format!("the key {} has an empty part", quote(key))));
        }
        segments.push((part.to_owned(), locate(at, at + length)));
        at += length;
        match key[at..].chars().next() {
            None => return Ok(segments),
            Some('.') => at += 1,
            Some(_) => return Err((locate(at, key.len()), format!("the key {} has no dot after a quote", quote(key)))),
        }
    }
}
