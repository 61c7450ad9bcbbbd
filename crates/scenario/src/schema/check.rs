//! Checks the tree against the declarations: unknown keys, and values of the wrong form (single value, list or table).
//!
//! Short forms are expanded to tables, so later steps read only tables.

use super::family::WithKinds;
use super::table_of;
use crate::error::{Place, Report, did_you_mean, nearest, quote};
use crate::tree::{Entry, Node, Table, Value};
use lopsided_spec::{KeyInfo, PartInfo, ValueType};

/// Former names of keys, for the advice in error messages.
const RENAMED: &[(&str, &str)] = &[
    ("threshold", "mark_threshold"),
    ("marks", "ect"),
    ("cells", "cell_format"),
    ("interval", "refill_interval"),
    ("transfer", "app"),
    ("udp", "rate"),
];

/// Checks a table and everything below it. `path` is the table's dotted key, empty for the whole file.
///
/// A misspelled key is replaced by the most similar known key, because the known key would otherwise be reported as
/// missing.
pub(crate) fn check(table: &mut Table, shape: &PartInfo, path: &str, report: &mut Report<'_>) {
    // A misspelled key must not replace the correctly spelled key if both are present.
    let mut present: Vec<&str> = shape.names().filter(|name| table.get(name).is_some()).collect();
    table.entries.retain_mut(|entry| {
        if shape.key(&entry.key).is_none() {
            // Stop here, because a comparison of thousands of unknown words with all keys would take too long.
            if report.is_full() {
                return false;
            }
            unknown_key(entry.key_place, &entry.key, shape, path, report);
            if let Some(meant) = meant(&entry.key, shape).filter(|name| !present.contains(name)) {
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

/// Checks the value of a key. Returns false if the value must be removed.
fn check_value(entry: &mut Entry, key: &KeyInfo, path: &str, report: &mut Report<'_>) -> bool {
    let node = &mut entry.node;
    match key.value_type {
        ValueType::Map(below) => {
            let Value::Table(names) = &mut node.value else {
                return mismatch(node, path, "a table for each name", report);
            };
            for entry in &mut names.entries {
                check_table(&mut entry.node, &below(), &join(path, &entry.key), report);
            }
            true
        }
        ValueType::List(below) => check_list(node, *below, path, report),
        ValueType::OneOrMore(_) | ValueType::Free | ValueType::Names => true,
        other => match (shape_of(other, node), &node.value) {
            (Some(shape), _) => check_table(node, &shape, path, report),
            (None, Value::Table(_) | Value::List(_)) => mismatch(node, path, "a single value", report),
            (None, _) => true,
        },
    }
}

fn check_list(node: &mut Node, below: ValueType, path: &str, report: &mut Report<'_>) -> bool {
    let Value::List(items) = &mut node.value else {
        let wanted = match table_of(below) {
            Some(_) => format!("a list of tables ([[{path}]])"),
            None => format!("a list of {}", plural(below)),
        };
        return mismatch(node, path, &wanted, report);
    };
    let mut number = 0;
    // Remove faulty items, so that they cause no further errors.
    items.retain_mut(|item| {
        number += 1;
        match shape_of(below, item) {
            Some(shape) => check_table(item, &shape, &join(path, &number.to_string()), report),
            None => true,
        }
    });
    true
}

/// Returns the declaration of the table at this node, with the keys of its `kind` only.
fn shape_of(value_type: ValueType, node: &Node) -> Option<PartInfo> {
    let ValueType::Family(family) = value_type else { return table_of(value_type) };
    let Value::Table(table) = &node.value else { return Some(family.table()) };
    // The same key can have different types in different kinds of a part.
    let kind = table.get("kind").and_then(Node::text);
    Some(kind.map_or_else(|| family.table(), |kind| family.table_of_kind(kind)))
}

fn check_table(node: &mut Node, shape: &PartInfo, path: &str, report: &mut Report<'_>) -> bool {
    // Later steps read tables only.
    expand_shorthand(node, shape);
    match &mut node.value {
        Value::Table(table) => {
            check(table, shape, path, report);
            true
        }
        _ => mismatch(node, path, "a table", report),
    }
}

/// Expands shorthand: a single value becomes a table with one key.
pub(crate) fn expand_shorthand(node: &mut Node, shape: &PartInfo) {
    let Some(mut key) = shape.shorthand else { return };
    if matches!(node.value, Value::Table(_) | Value::List(_)) {
        return;
    }
    // Quantities start with a digit, so a value that starts with a letter names a kind.
    let is_word = node.text().is_some_and(|text| text.trim_start().starts_with(|c: char| c.is_ascii_alphabetic()));
    // `queue = "codel"` names a kind; `queue = "50 packets"` is a limit.
    if is_word && shape.key("kind").is_some() {
        key = "kind";
    }
    let inner = node.clone();
    let mut table = Table::default();
    table.set(key, node.place, inner);
    node.value = Value::Table(table);
}

pub(crate) fn unknown_key(place: Place, word: &str, shape: &PartInfo, path: &str, report: &mut Report<'_>) {
    let inside = if path.is_empty() { "a scenario file".to_owned() } else { format!("[{path}]") };
    let message = format!("unknown key {} in {inside}", quote(word));
    let help = match meant(word, shape) {
        Some(name) => format!("did you mean `{name}`?"),
        None => match elsewhere(word) {
            Some(home) => format!("`{word}` belongs in [{home}]"),
            None => did_you_mean(word, shape.names()),
        },
    };
    report.problem(place, &join(path, word), message, Some(help));
}

/// Returns the known key that a misspelled key probably means.
fn meant(word: &str, shape: &PartInfo) -> Option<&'static str> {
    let renamed = RENAMED.iter().find(|(old, new)| *old == word && shape.key(new).is_some());
    renamed.map(|(_, new)| *new).or_else(|| nearest(word, shape.names()))
}

/// Returns the top-level table that supports this key.
fn elsewhere(word: &str) -> Option<&'static str> {
    let file = super::file();
    let has = |key: &&KeyInfo| match key.value_type {
        ValueType::Map(_) => false,
        other => table_of(other).is_some_and(|shape| shape.key(word).is_some()),
    };
    file.keys.iter().find(has).map(|key| key.name)
}

fn mismatch(node: &Node, path: &str, wanted: &str, report: &mut Report<'_>) -> bool {
    report.problem(node.place, path, format!("`{path}` must be {wanted}, not {}", node.value.kind()), None);
    false
}

fn plural(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::Name => "names",
        ValueType::Integer => "numbers",
        ValueType::Period => "pairs of times",
        _ => "values",
    }
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
