//! The reference of all keys, as a Markdown page.

use super::limit::limit;
use super::{file, table_of};
use crate::write::default_text;
use lopsided_spec::{Family, KeyInfo, PartInfo, ValueType};
use std::fmt::Write as _;

const HEAD: &str = "# Keys of a scenario file

`tools/keys` generates this page from the declarations in the code, and a test compares them.

A scenario is a TOML file. Quantities are strings with a unit (`\"2.4 Mbit/s\"`, `\"20 ms\"`, `\"64 KiB\"`). The prefixes k, M and G are decimal; Ki, Mi and Gi
are binary. If a table has a *short form*, you can write a single value instead of the table; this value is assigned to the key that the short form names.
You can set every key on the command line by its dotted name: `--set link.up.queue.limit=\"15 packets\"`. The value `default` removes the key from the
scenario, so that the value of the preset or the default value applies. `lopsided schema` prints the JSON Schema.
";

pub(crate) fn reference_page() -> String {
    let mut page = Page { text: HEAD.to_owned(), done: Vec::new(), waiting: Vec::new() };
    page.table(&file());
    // Write the sections breadth first, so that they appear in the order in which they are first mentioned.
    while !page.waiting.is_empty() {
        match page.waiting.remove(0) {
            Section::Table(info) => page.table(&info),
            Section::Family(family) => page.family(family),
        }
    }
    page.text
}

struct Page {
    text: String,
    /// Names of the sections that are written or waiting to be written.
    done: Vec<&'static str>,
    waiting: Vec<Section>,
}

enum Section {
    Table(PartInfo),
    Family(&'static Family),
}

impl Page {
    fn table(&mut self, info: &PartInfo) {
        let _ = write!(self.text, "\n## {}\n\n{}", heading(info.name), info.text);
        if let Some(short) = info.shorthand {
            let _ = write!(self.text, " Short form: `{short}`.");
        }
        self.text += "\n\n";
        self.keys(&info.keys);
    }

    fn family(&mut self, family: &'static Family) {
        let _ = write!(self.text, "\n## {}\n\n{}", heading(family.name), family.text);
        if let Some(short) = family.shorthand {
            let _ = write!(self.text, " Short form: `{short}`.");
        }
        let members = (family.members)();
        let _ = write!(
            self.text,
            " The key `kind` selects one of the kinds below; the default is `{}`.\n\n",
            members[0].info.name
        );
        for member in &members {
            let _ = write!(
                self.text,
                "### {} with `kind = \"{}\"`\n\n{}\n\n",
                heading(family.name),
                member.info.name,
                member.info.text
            );
            self.keys(&member.info.keys);
            self.text += "\n";
        }
        // Every section ends with exactly one line feed.
        self.text.truncate(self.text.trim_end().len());
        self.text += "\n";
    }

    fn keys(&mut self, keys: &[KeyInfo]) {
        self.text += "| key | value | default | meaning |\n|---|---|---|---|\n";
        for key in keys {
            let value = self.value(key);
            let default = match (key.example, default_text(key)) {
                (Some(_), _) => "required".to_owned(),
                (None, Some(text)) => text,
                (None, None) => String::new(),
            };
            let _ = writeln!(self.text, "| `{}` | {value} | {default} | {} |", key.name, key.text.replace('|', "\\|"));
        }
    }

    /// Describes the values of a key. A table is described in its own section.
    fn value(&mut self, key: &KeyInfo) -> String {
        let value = self.value_of(key.value_type);
        key.none_word.map_or_else(|| value.clone(), |word| format!("{value}, or `\"{word}\"`"))
    }

    fn value_of(&mut self, value_type: ValueType) -> String {
        match value_type {
            ValueType::Flag => "`true` or `false`".to_owned(),
            ValueType::Integer => "whole number".to_owned(),
            ValueType::Number => "number".to_owned(),
            ValueType::Probability => "probability: 0 to 1, or `\"1 %\"`".to_owned(),
            ValueType::Rate => "rate: `\"2.4 Mbit/s\"`".to_owned(),
            ValueType::Time => "time: `\"20 ms\"`".to_owned(),
            ValueType::Size => "size: `\"1500 B\"`".to_owned(),
            ValueType::Depth => "packets, size, time at the line's rate, or BDP".to_owned(),
            ValueType::DepthOrTime => "packets, size, BDP, or time".to_owned(),
            ValueType::Packets => "`\"1000 packets\"`".to_owned(),
            ValueType::Window => "`\"10 segments\"`, or size".to_owned(),
            ValueType::Word(words) => words_of(&words()),
            ValueType::Kind(family) => words_of(&family.kinds()),
            ValueType::Text => "text".to_owned(),
            ValueType::Name => "name".to_owned(),
            ValueType::Names => "two names".to_owned(),
            ValueType::Period => "two times".to_owned(),
            ValueType::Free => "table".to_owned(),
            ValueType::List(item) => format!("list of: {}", self.value_of(*item)),
            ValueType::OneOrMore(item) => format!("{}, or a list of them", self.value_of(*item)),
            ValueType::Map(_) => format!("one table per name: {}", self.section(value_type)),
            ValueType::Limit | ValueType::Part(_) | ValueType::Family(_) => self.section(value_type),
        }
    }

    /// Returns a link to the section of a table, which is then written.
    fn section(&mut self, value_type: ValueType) -> String {
        let info = if let ValueType::Limit = value_type { limit() } else { table_of(value_type).expect("a table") };
        let name = info.name;
        if !self.done.contains(&name) {
            // Add the name before the section is written, so that a table that contains itself is written only once.
            self.done.push(name);
            self.waiting.push(match value_type {
                ValueType::Family(family) => Section::Family(family),
                _ => Section::Table(info),
            });
        }
        format!("[{name}](#{})", anchor(name))
    }
}

/// Returns the heading of a table: ``Keys of `queue` `` if the name is a key, `Keys of a queue limit` if it is a type.
fn heading(name: &str) -> String {
    let is_key = !name.contains(' ') && !matches!(name, "line" | "direction" | "rule");
    match (is_key, name.starts_with('a')) {
        (true, _) => format!("Keys of `{name}`"),
        (false, true) => format!("Keys of an {name}"),
        (false, false) => format!("Keys of a {name}"),
    }
}

/// Returns the anchor of a heading, as MkDocs and GitHub compute it.
fn anchor(name: &str) -> String {
    heading(name).replace('`', "").replace(' ', "-").to_lowercase()
}

fn words_of(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
