//! A JSON writer. Numbers are written with exact digits and objects keep the order of their keys.

use crate::units::seconds;
use lopsided_core::Duration;
use std::fmt::{self, Write as _};

/// A JSON value. Objects keep the order of their keys.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// A number as the text to write.
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

pub(super) fn number(value: u64) -> Json {
    Json::Number(value.to_string())
}

/// Creates a float, which must be finite. All floats of a scenario are probabilities or similar numbers.
pub(super) fn float(value: f64) -> Json {
    Json::Number(value.to_string())
}

pub(super) fn span(span: Duration) -> Json {
    Json::Number(seconds(span.as_nanos()))
}
