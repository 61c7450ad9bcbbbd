//! Writes parts and their values as TOML and as JSON, according to the declarations of the parts.

use super::inline::{Inline, list, quoted};
use super::json::{self, Json};
use crate::units::{format_rate, format_size, format_span};
use lopsided_spec::{Amount, AnyPart, KeyInfo, Value, ValueType};

/// Returns a part as a table with all of its keys.
pub(crate) fn part_to_toml(part: &dyn AnyPart) -> Inline {
    let info = part.info();
    let written = info.keys.iter().filter(|key| !key.input_only);
    written.fold(Inline::default(), |table, key| table.maybe(key.name, value_to_toml(key, &part.get(key.name))))
}

/// Returns a part of a family as a table: `kind`, followed by the keys of the kind.
pub(crate) fn kind_to_toml(part: &dyn AnyPart) -> Inline {
    let mut written = Inline::default().text("kind", part.info().name);
    written.append(part_to_toml(part));
    written
}

/// Returns the value of a key in TOML syntax; `None` if the key can be omitted.
pub(crate) fn value_to_toml(key: &KeyInfo, value: &Value) -> Option<String> {
    Some(match value {
        Value::None => quoted(key.none_word?),
        // An empty list must be written if the default is a non-empty list.
        Value::List(items) if items.is_empty() && !matches!(&key.default, Value::List(usual) if !usual.is_empty()) => {
            return None;
        }
        Value::List(items) => list(items.iter().filter_map(|item| item_to_toml(item, key.value_type))),
        other => item_to_toml(other, key.value_type)?,
    })
}

fn item_to_toml(value: &Value, value_type: ValueType) -> Option<String> {
    Some(match value {
        Value::None => return None,
        Value::Flag(flag) => flag.to_string(),
        // Write "1 packet" but "2 packets".
        Value::Integer(1) if matches!(value_type, ValueType::Packets) => quoted("1 packet"),
        Value::Integer(number) if matches!(value_type, ValueType::Packets) => quoted(&format!("{number} packets")),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Rate(rate) => quoted(&format_rate(*rate)),
        Value::Time(time) => quoted(&format_span(*time)),
        Value::Size(size) => quoted(&format_size(*size)),
        Value::Amount(Amount::Bins { count, size }) => {
            Inline::default().put("bins", *count).text("size", &format_size(*size)).braces()
        }
        Value::Amount(amount) => quoted(&amount_text(*amount)),
        Value::Word(word) => quoted(word),
        Value::Text(text) => quoted(text),
        Value::Period(from, to) => list([*from, *to].map(|end| quoted(&format_span(end)))),
        Value::Part(part) => match value_type {
            ValueType::Family(_) | ValueType::List(ValueType::Family(_)) => kind_to_toml(&**part).braces(),
            _ => part_to_toml(&**part).braces(),
        },
        Value::List(items) => list(items.iter().filter_map(|item| item_to_toml(item, value_type))),
    })
}

fn amount_text(amount: Amount) -> String {
    match amount {
        Amount::Packets(1) => "1 packet".to_owned(),
        Amount::Packets(count) => format!("{count} packets"),
        Amount::Segments(count) => format!("{count} segments"),
        Amount::Bytes(size) => format_size(size),
        Amount::Bins { count, size } => format!("{count} bins of {}", format_size(size)),
        Amount::Time(time) => format_span(time),
    }
}

/// Returns the default of a key, in TOML syntax or in words; `None` if there is no default to show.
pub(crate) fn default_text(key: &KeyInfo) -> Option<String> {
    if key.example.is_some() {
        return None;
    }
    match (key.default_text, &key.default) {
        // An empty description means that the default is not shown.
        (Some(""), _) => None,
        (Some(text), _) => Some(text.to_owned()),
        (None, Value::None) => key.none_word.map(str::to_owned),
        (None, Value::Amount(amount)) => Some(amount_text(*amount)),
        // Lists and tables are too long for a table cell.
        (None, Value::List(_) | Value::Part(_)) => None,
        (None, value) => item_to_toml(value, key.value_type).map(|text| text.trim_matches('"').to_owned()),
    }
}

/// Returns a part as a JSON object. The keys of numbers end with the unit.
pub(super) fn part_to_json(part: &dyn AnyPart) -> Json {
    Json::Object(fields_of(part))
}

/// Returns a part of a family as a JSON object: `kind`, followed by the keys of the kind.
pub(super) fn kind_to_json(part: &dyn AnyPart) -> Json {
    let mut fields = vec![("kind".to_owned(), Json::text(part.info().name))];
    fields.extend(fields_of(part));
    Json::Object(fields)
}

pub(super) fn fields_of(part: &dyn AnyPart) -> Vec<(String, Json)> {
    let info = part.info();
    let field = |key: &KeyInfo| {
        (format!("{}{}", key.name, suffix(key.value_type)), to_json(&part.get(key.name), key.value_type))
    };
    info.keys.iter().filter(|key| !key.input_only).map(field).collect()
}

/// Returns a TCP setting with its JSON key. The value is null if the setting is not set, or the key's word for "none".
pub(super) fn setting_to_json(key: &KeyInfo, value: Option<&Value>) -> (String, Json) {
    let written = match (value, key.none_word) {
        (None, _) => Json::Null,
        (Some(Value::None), Some(word)) => Json::text(word),
        (Some(value), _) => to_json(value, key.value_type),
    };
    (format!("{}{}", key.name, suffix(key.value_type)), written)
}

/// Returns the suffix for the unit of a JSON key of this type.
pub(super) fn suffix(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::Rate => "_bps",
        ValueType::Time | ValueType::Period => "_s",
        ValueType::Size => "_bytes",
        ValueType::Packets => "_packets",
        ValueType::List(item) => suffix(*item),
        _ => "",
    }
}

fn to_json(value: &Value, value_type: ValueType) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Flag(flag) => Json::Bool(*flag),
        Value::Integer(number) => json::number(*number),
        Value::Number(number) => json::float(*number),
        Value::Rate(rate) => json::number(rate.as_bps()),
        Value::Time(span) => json::span(*span),
        Value::Size(size) => json::number(size.get()),
        Value::Amount(Amount::Packets(count)) if matches!(value_type, ValueType::Packets) => {
            json::number(u64::from(*count))
        }
        Value::Amount(Amount::Packets(count)) => Json::object([("packets", json::number(u64::from(*count)))]),
        Value::Amount(Amount::Segments(count)) => Json::object([("segments", json::number(u64::from(*count)))]),
        Value::Amount(Amount::Bytes(size)) => Json::object([("bytes", json::number(size.get()))]),
        Value::Amount(Amount::Bins { count, size }) => {
            Json::object([("bins", json::number(u64::from(*count))), ("bin_bytes", json::number(size.get()))])
        }
        Value::Amount(Amount::Time(span)) => Json::object([("time_s", json::span(*span))]),
        Value::Word(word) => Json::text(word),
        Value::Text(text) => Json::text(text),
        Value::Period(from, to) => Json::List(vec![json::span(*from), json::span(*to)]),
        Value::Part(part) => match value_type {
            ValueType::Family(_) => kind_to_json(&**part),
            _ => part_to_json(&**part),
        },
        Value::List(items) => {
            let item_type = if let ValueType::List(item) = value_type { *item } else { value_type };
            Json::List(items.iter().map(|item| to_json(item, item_type)).collect())
        }
    }
}
