//! The Python types of the resolved scenario's JSON, generated from the same declarations.

use super::resolved::{Shape, TableShape, part_shape, scenario_shape};
use lopsided_spec::{Family, PartInfo, ValueType};

const HEAD: &str = r#""""The resolved scenario as plain values: the keys that `Scenario.resolved` has, and the type of each.

`tools/keys` generates this stub from the declarations in the code, and a test compares them. The types exist only for
type checkers: import them under `TYPE_CHECKING`. The unit of a number is in its key (`rate_bps`, `delay_s`,
`size_bytes`). `docs/scenario.md` explains each key. Left out: kinds that are declared outside of this repository, such
as a discipline in your own Rust crate.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict, final

@final
class Packets(TypedDict):
    """An amount counted in packets."""

    packets: int

@final
class Bytes(TypedDict):
    """An amount counted in IP bytes."""

    bytes: int

@final
class Bins(TypedDict):
    """A number of memory bins of this size."""

    bins: int
    bin_bytes: int

@final
class Segments(TypedDict):
    """An amount counted in full segments."""

    segments: int

@final
class Span(TypedDict):
    """A depth of a queue, measured as the waiting time of a packet."""

    time_s: float

Limit: TypeAlias = Packets | Bytes | Bins
Depth: TypeAlias = Packets | Bytes
Window: TypeAlias = Segments | Bytes
"#;

/// Maximum line length of the stub, in characters.
const WIDTH: usize = 120;

/// Python keywords, which cannot be names of class attributes.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

pub(crate) fn python_types() -> String {
    let mut module = Module { text: HEAD.to_owned(), done: Vec::new() };
    module.table(scenario_shape(), "", None);
    module.text
}

struct Module {
    text: String,
    /// Names of the types that are written or being written.
    done: Vec<String>,
}

impl Module {
    /// Writes the class of a table, preceded by the types that it uses. Returns the name of the class, which ends with
    /// the name of the family.
    fn table(&mut self, table: TableShape, family: &str, kind: Option<&str>) -> String {
        let name = camel(table.name) + &camel(family);
        if self.begins(&name) {
            let kind = kind.map(|kind| ("kind".to_owned(), format!("Literal[\"{kind}\"]")));
            let types = table.entries.into_iter().map(|(key, shape)| (key, self.shape(shape)));
            let types: Vec<(String, String)> = kind.into_iter().chain(types).collect();
            self.class(&name, table.text, types);
        }
        name
    }

    fn class(&mut self, name: &str, text: &str, entries: Vec<(String, String)>) {
        let (reserved, usual): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(key, _)| KEYWORDS.contains(&key.as_str()));
        // Keys such as `from` are Python keywords. They need the functional syntax of TypedDict.
        let mut base = "TypedDict".to_owned();
        if !reserved.is_empty() {
            base = format!("_{name}");
            let entries: Vec<String> = reserved.iter().map(|(key, of)| format!("\"{key}\": {of}")).collect();
            self.text += &format!("\n{base} = TypedDict(\"{base}\", {{{}}})\n", entries.join(", "));
        }
        self.text += &format!("\nclass {name}({base}):\n");
        self.text += &docstring(text);
        for (key, of) in usual {
            // Break longer types into several lines, as ruff does.
            let fits = 4 + key.len() + 2 + of.len() <= WIDTH;
            let words = of.strip_prefix("Literal[").and_then(|rest| rest.strip_suffix(']'));
            self.text += &match (fits, words) {
                (true, _) => format!("    {key}: {of}\n"),
                (false, Some(words)) => format!("    {key}: Literal[\n        {words}\n    ]\n"),
                (false, None) => format!("    {key}: (\n        {}\n    )\n", of.replace(" | ", "\n        | ")),
            };
        }
    }

    /// Writes a union of all parts of a family, and returns its name.
    fn family(&mut self, family: &'static Family) -> String {
        let name = camel(family.name);
        if self.begins(&name) {
            let members = (family.members)();
            let members: Vec<String> = members
                .iter()
                .map(|member| self.table(part_shape(&member.info), family.name, Some(member.info.name)))
                .collect();
            let union = format!("{name}: TypeAlias = {}\n", members.join(" | "));
            let broken = || format!("{name}: TypeAlias = (\n    {}\n)\n", members.join("\n    | "));
            self.text += "\n";
            self.text += &if union.len() > WIDTH { broken() } else { union };
        }
        name
    }

    /// Returns true if the type is not yet written, and marks the type as written.
    fn begins(&mut self, name: &str) -> bool {
        let new = !self.done.iter().any(|done| done == name);
        if new {
            self.done.push(name.to_owned());
        }
        new
    }

    fn shape(&mut self, shape: Shape) -> String {
        match shape {
            Shape::Value(value_type) => self.value(value_type),
            Shape::Optional(value_type) => format!("{} | None", self.value(value_type)),
            Shape::OrWord(value_type, word) => format!("{} | Literal[\"{word}\"] | None", self.value(value_type)),
            Shape::Table(table) => self.table(table(), "", None),
            Shape::Tables(table) => format!("list[{}]", self.table(table(), "", None)),
        }
    }

    fn value(&mut self, value_type: ValueType) -> String {
        match value_type {
            ValueType::Flag => "bool".to_owned(),
            ValueType::Integer | ValueType::Rate | ValueType::Size | ValueType::Packets => "int".to_owned(),
            ValueType::Number | ValueType::Probability | ValueType::Time => "float".to_owned(),
            ValueType::Limit => "Limit".to_owned(),
            ValueType::Depth => "Depth".to_owned(),
            ValueType::DepthOrTime => "Depth | Span".to_owned(),
            ValueType::Window => "Window".to_owned(),
            ValueType::Word(words) => literal(&words()),
            ValueType::Kind(family) => literal(&family.kinds()),
            ValueType::Text | ValueType::Name => "str".to_owned(),
            ValueType::Names => "tuple[str, str]".to_owned(),
            ValueType::Period => "tuple[float, float]".to_owned(),
            ValueType::Part(table) => self.part(&table()),
            ValueType::Family(family) => self.family(family),
            ValueType::Map(table) => format!("dict[str, {}]", self.part(&table())),
            ValueType::List(item) => format!("list[{}]", self.value(*item)),
            ValueType::OneOrMore(item) => {
                let item = self.value(*item);
                format!("{item} | list[{item}]")
            }
            ValueType::Free => "dict[str, object]".to_owned(),
        }
    }

    fn part(&mut self, info: &PartInfo) -> String {
        self.table(part_shape(info), "", None)
    }
}

fn literal(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("Literal[{}]", quoted.join(", "))
}

/// Returns the text as a docstring, broken into lines.
fn docstring(text: &str) -> String {
    let mut lines = vec!["    \"\"\"".to_owned()];
    for (index, word) in text.split(' ').enumerate() {
        let line = lines.last_mut().expect("one exists");
        if line.len() + 1 + word.len() + 3 > WIDTH {
            lines.push(format!("    {word}"));
        } else {
            *line += if index == 0 { "" } else { " " };
            *line += word;
        }
    }
    let end = if lines.len() == 1 { "\"\"\"" } else { "\n    \"\"\"" };
    format!("{}{end}\n\n", lines.join("\n"))
}

/// Converts `ack_thinning` to `AckThinning`.
fn camel(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
    };
    name.split([' ', '_', '-']).map(|part| word(&part.to_lowercase())).collect()
}
