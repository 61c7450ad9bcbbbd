//! What a scenario file may contain, as data: one description from which unknown keys are refused, overrides find their way,
//! and the JSON Schema for editors is written.

mod check;
mod json;
mod keys;
mod overrides;

pub(crate) use check::{check, join};
pub(crate) use json::schema_json;
pub(crate) use keys::FILE;
pub(crate) use overrides::{apply, entry_name};

/// The keys of a table.
#[derive(Debug)]
pub(crate) struct TableShape {
    /// Names the table in messages and in the JSON Schema.
    pub name: &'static str,
    pub doc: &'static str,
    pub keys: &'static [Key],
    /// A single value in place of the table means this key: `queue = "50 packets"` is `queue = { limit = "50 packets" }`.
    pub shorthand: Option<&'static str>,
}

/// One key of a table.
#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub shape: Shape,
    pub doc: &'static str,
    /// As it would be written; empty where there is none or it depends.
    pub default: &'static str,
}

/// What may stand after a key.
#[derive(Debug)]
pub(crate) enum Shape {
    /// A single value; the unit is the reader's business.
    Value(Kind),
    /// A list of values or tables that the reader looks into itself.
    List(Kind),
    /// One value, or a list of them.
    OneOrList(Kind),
    Table(&'static TableShape),
    /// A table of tables under names of the user's choice.
    Map(&'static TableShape),
    /// A list of tables, addressed by name or by number from 1.
    Tables(&'static TableShape),
    /// Whatever the reader makes of it.
    Sweep,
}

/// A kind of single value, as far as an editor can check it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rate,
    Duration,
    /// A time, or `false` for none.
    SpanOrOff,
    Size,
    Limit,
    Window,
    Buffer,
    Probability,
    Count,
    /// A count, or `"forever"`.
    Repeat,
    /// A size, or `"bulk"`.
    Amount,
    /// `true`, `false`, `"on"`, `"off"`.
    Switch,
    /// A switch, or `"accept"`, `"accurate"`.
    Ecn,
    Flag,
    Text,
    Name,
    Choice(&'static [&'static str]),
    /// A pair of times.
    Outage,
    /// A pair of names.
    Pair,
}

impl TableShape {
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.keys.iter().map(|key| key.name)
    }
}
