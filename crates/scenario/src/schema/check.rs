//! Holds the tree against the shapes: unknown keys, and tables or lists where a value belongs and the other way round.
//!
//! Shorthands are written out on the way, so that the reader meets tables only.

use super::{Key, Kind, Shape, TableShape};
use crate::error::{Place, Report, did_you_mean, nearest, quote};
use crate::tree::{Entry, Node, Table, Value};

/// Checks a table and everything below it. `path` is its dotted key, empty for the file.
///
/// A key that is nearly a known one is reported and then read as that one, so that it is not reported as missing too.
pub(crate) fn check(table: &mut Table, shape: &'static TableShape, path: &str, report: &mut Report<'_>) {
    let mut present: Vec<&str> = shape.names().filter(|name| table.get(name).is_some()).collect();
    table.entries.retain_mut(|entry| {
        if shape.key(&entry.key).is_none() {
            if report.is_full() {
                return false;
            }
            unknown_key(entry.key_place, &entry.key, shape, path, report);
            if let Some(meant) = nearest(&entry.key, shape.names()).filter(|name| !present.contains(name)) {
                present.push(meant);
                entry.key = meant.to_owned();
            }
        }
        match shape.key(&entry.key) {
            Some(key) => check_value(entry, key, &join(path, key.name), report),
            None => false,
        }
    });
}

/// Whether the value may stay.
fn check_value(entry: &mut Entry, key: &'static Key, path: &str, report: &mut Report<'_>) -> bool {
    let node = &mut entry.node;
    match key.shape {
        Shape::Table(shape) => check_table(node, shape, path, report),
        Shape::Map(shape) => {
            let Value::Table(names) = &mut node.value else {
                return mismatch(node, path, "a table for each name", report);
            };
            for entry in &mut names.entries {
                check_table(&mut entry.node, shape, &join(path, &entry.key), report);
            }
            true
        }
        Shape::Tables(shape) => {
            let Value::List(items) = &mut node.value else {
                let wanted = format!("a list of tables: write [[{path}]] with two brackets");
                return mismatch(node, path, &wanted, report);
            };
            for (index, item) in items.iter_mut().enumerate() {
                let path = join(path, &(index + 1).to_string());
                match &mut item.value {
                    Value::Table(table) => check(table, shape, &path, report),
                    _ => _ = mismatch(item, &path, "a table", report),
                }
            }
            items.retain(|item| item.table().is_some());
            true
        }
        Shape::List(kind) => match &node.value {
            Value::List(_) => true,
            _ => mismatch(node, path, &format!("a list of {}", plural(kind)), report),
        },
        Shape::OneOrList(_) | Shape::Sweep => true,
        Shape::Value(Kind::Pair) => true,
        Shape::Value(_) => match &node.value {
            Value::Table(_) | Value::List(_) => mismatch(node, path, "a single value", report),
            _ => true,
        },
    }
}

fn check_table(node: &mut Node, shape: &'static TableShape, path: &str, report: &mut Report<'_>) -> bool {
    expand_shorthand(node, shape);
    match &mut node.value {
        Value::Table(table) => {
            check(table, shape, path, report);
            true
        }
        _ => mismatch(node, path, "a table", report),
    }
}

/// A single value in place of a table that has a shorthand becomes that table.
pub(crate) fn expand_shorthand(node: &mut Node, shape: &TableShape) {
    let Some(key) = shape.shorthand else { return };
    if matches!(node.value, Value::Table(_) | Value::List(_)) {
        return;
    }
    let inner = node.clone();
    let mut table = Table::default();
    table.set(key, node.place, inner);
    node.value = Value::Table(table);
}

pub(crate) fn unknown_key(place: Place, word: &str, shape: &TableShape, path: &str, report: &mut Report<'_>) {
    let inside = if path.is_empty() { "a scenario file".to_owned() } else { format!("[{path}]") };
    let message = format!("unknown key {} in {inside}", quote(word));
    let help = match nearest(word, shape.names()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => match elsewhere(word) {
            Some(home) => format!("`{word}` belongs in [{home}]"),
            None => did_you_mean(word, shape.names()),
        },
    };
    report.problem(place, &join(path, word), message, Some(help));
}

/// The table of the file that has this key, for keys that were put one table too high or too low.
fn elsewhere(word: &str) -> Option<&'static str> {
    super::FILE.keys.iter().find_map(|key| match key.shape {
        Shape::Table(shape) | Shape::Tables(shape) if shape.key(word).is_some() => Some(key.name),
        _ => None,
    })
}

fn mismatch(node: &Node, path: &str, wanted: &str, report: &mut Report<'_>) -> bool {
    report.problem(node.place, path, format!("`{path}` must be {wanted}, and this is {}", node.value.kind()), None);
    false
}

fn plural(kind: Kind) -> &'static str {
    match kind {
        Kind::Name => "names",
        Kind::Count => "numbers",
        Kind::Outage => "pairs of times",
        _ => "values",
    }
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
