//! The scenario file as a tree. Each key and value has its position.

use crate::error::{Place, Report};
use std::borrow::Cow;
use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeTable, DeValue};

/// A value with its position.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub value: Value,
    pub place: Place,
}

/// A TOML value. A number is stored as text, so that no digit is lost.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Number(String),
    Bool(bool),
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

/// A table. Its keys are in the order in which they appear in the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
}

/// A key of a table, with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub key_place: Place,
    pub node: Node,
}

impl Value {
    /// Returns the name of the value's type with its article, such as "a table", for error messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "a string",
            Value::Number(_) => "a number",
            Value::Bool(_) => "a boolean",
            Value::Date(_) => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

impl Node {
    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Table {
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// Removes all keys for which `keep` returns false.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.entries.retain(|entry| keep(&entry.key));
    }

    /// Sets a key. An existing key keeps its position in the table.
    pub(crate) fn set(&mut self, key: &str, key_place: Place, node: Node) {
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => *entry = Entry { key: key.to_owned(), key_place, node },
            None => self.entries.push(Entry { key: key.to_owned(), key_place, node }),
        }
    }
}

/// Parses a file. Reports TOML syntax errors. After an error, the result contains the parts that could be parsed.
pub(crate) fn parse_file(text: &str, report: &mut Report<'_>) -> Table {
    // The recoverable parser reports all syntax errors, not only the first.
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        // Errors about the file as a whole have no position.
        let span = error.span().unwrap_or(0..0);
        let message = format!("this is not TOML: {}", error.message().lines().collect::<Vec<_>>().join(" "));
        let help = syntax_help(text, span.start);
        report.problem(Place { source: 0, start: span.start, end: span.end }, "", message, help);
    }
    convert_table(table.into_inner(), &|span| Place { source: 0, start: span.start, end: span.end })
}

/// Parses the value of an override. Text that is not valid TOML is a string, so users need no quotes.
pub(crate) fn parse_override(text: &str, place: Place) -> Node {
    let bare = || Node { value: Value::Text(text.trim().to_owned()), place };
    // TOML would read the text after a line break as further keys.
    if text.contains(['\n', '\r']) {
        return bare();
    }
    // A text such as `50 packets` is not a TOML value, so it becomes a string.
    match DeValue::parse(text.trim()) {
        Ok(value) => match convert(value, &|_| place) {
            // In an override, `2026-01-01` may be meant as a name, so it remains text.
            Node { value: Value::Date(_), .. } => bare(),
            node => node,
        },
        Err(_) => bare(),
    }
}

/// Reports all strings and keys with control characters, because names are printed on terminals.
pub(crate) fn refuse_control_characters(table: &Table, report: &mut Report<'_>) {
    for entry in &table.entries {
        refuse_in(&entry.key, entry.key_place, "a key", report);
        refuse_in_value(&entry.node, report);
    }
}

fn refuse_in_value(node: &Node, report: &mut Report<'_>) {
    match &node.value {
        Value::Text(text) => refuse_in(text, node.place, "a string", report),
        Value::List(items) => items.iter().for_each(|item| refuse_in_value(item, report)),
        Value::Table(table) => refuse_control_characters(table, report),
        Value::Number(_) | Value::Bool(_) | Value::Date(_) => {}
    }
}

fn refuse_in(text: &str, place: Place, what: &str, report: &mut Report<'_>) {
    if let Some(found) = text.chars().find(|letter| letter.is_control()) {
        let message = format!("{what} contains the control character U+{:04X}", u32::from(found));
        report.problem(place, "", message, None);
    }
}

/// Returns advice for the most common syntax error: a quantity without quotes.
fn syntax_help(text: &str, at: usize) -> Option<String> {
    let text = text.get(..text.len())?;
    let start = text.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..)?.lines().next()?;
    let (key, value) = line.split_once('=')?;
    let value = value.split('#').next()?.trim();
    // Quantities start with a digit and contain a unit.
    let begins_with_digit = value.starts_with(|c: char| c.is_ascii_digit());
    let plain = value.chars().all(|c| c.is_alphanumeric() || " ./%".contains(c)) && value.len() <= 40;
    (begins_with_digit && plain && value.contains(|c: char| c.is_alphabetic() || c == '%'))
        .then(|| format!("put values with units in quotes: {} = \"{value}\"", key.trim()))
}

/// Converts a byte range of the text to a position.
type Locate<'a> = &'a dyn Fn(std::ops::Range<usize>) -> Place;

fn convert_table(table: DeTable<'_>, locate: Locate<'_>) -> Table {
    let entries = table.into_iter().map(|(key, value): (Spanned<Cow<'_, str>>, Spanned<DeValue<'_>>)| {
        let key_place = locate(key.span());
        Entry { key: key.into_inner().into_owned(), key_place, node: convert(value, locate) }
    });
    let mut entries: Vec<Entry> = entries.collect();
    // The parser sorts keys alphabetically. Restore the order in which they appear in the text.
    entries.sort_by_key(|entry| entry.key_place.start);
    Table { entries }
}

fn convert(value: Spanned<DeValue<'_>>, locate: Locate<'_>) -> Node {
    let place = locate(value.span());
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => Value::Number(decimal_text(&number)),
        DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(list) => Value::List(convert_list(list, locate)),
        DeValue::Table(table) => Value::Table(convert_table(table, locate)),
    };
    Node { value, place }
}

fn convert_list(list: DeArray<'_>, locate: Locate<'_>) -> Vec<Node> {
    list.into_iter().map(|item| convert(item, locate)).collect()
}

/// Returns an integer in decimal digits, whatever its base in the file (for example `0xff`).
fn decimal_text(number: &DeInteger<'_>) -> String {
    if number.radix() == 10 {
        return number.as_str().to_owned();
    }
    match u64::from_str_radix(number.as_str(), number.radix()) {
        Ok(value) => value.to_string(),
        // The number does not fit into 64 bits. The code that reads the key reports the error.
        Err(_) => number.to_string(),
    }
}
