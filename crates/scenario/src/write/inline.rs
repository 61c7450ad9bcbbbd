//! Writes tables and strings in TOML syntax.

use crate::units::format_span;
use lopsided_core::Duration;
use std::fmt::Write as _;

/// The keys of one table, with their values in TOML syntax.
#[derive(Default)]
pub(super) struct Inline(Vec<(&'static str, String)>);

impl Inline {
    pub(super) fn put(mut self, key: &'static str, value: impl ToString) -> Inline {
        self.0.push((key, value.to_string()));
        self
    }

    pub(super) fn maybe(self, key: &'static str, value: Option<impl ToString>) -> Inline {
        match value {
            Some(value) => self.put(key, value),
            None => self,
        }
    }

    pub(super) fn text(self, key: &'static str, text: &str) -> Inline {
        self.put(key, quoted(text))
    }

    pub(super) fn span(self, key: &'static str, span: Duration) -> Inline {
        self.text(key, &format_span(span))
    }

    pub(super) fn append(&mut self, other: Inline) {
        self.0.extend(other.0);
    }

    /// Returns one line per key.
    pub(super) fn lines(&self) -> String {
        self.0.iter().fold(String::new(), |mut out, (key, value)| {
            let _ = writeln!(out, "{key} = {value}");
            out
        })
    }

    /// Returns an inline table: all keys on one line, in braces.
    pub(super) fn braces(&self) -> String {
        let keys: Vec<String> = self.0.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        format!("{{ {} }}", keys.join(", "))
    }
}

pub(super) fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}

/// Returns the text as a TOML basic string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // TOML forbids control characters in strings.
            control if control < ' ' || control == '\u{7f}' => {
                let _ = write!(out, "\\u{:04X}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
