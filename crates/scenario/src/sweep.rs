//! Sweeps: axes along which a scenario is varied, and the points where they cross.
//!
//! An axis is a dotted key with values, `"link.up.queue.limit" = "5..50:5 packets"`, or a name with arms that each
//! change several keys: `line = [{ label = "ADSL", link.down.rate = "2.4 Mbit/s", link.up.rate = "196 kbit/s" }, ...]`.
//! The first axis varies slowest, repetitions fastest. The seed depends on the repetition alone, so that all arms meet
//! the same randomness and can be compared in pairs. Left out: random designs, and arms that depend on one another.

use crate::error::{Errors, Place, Report, quote};
use crate::schema::{apply, join};
use crate::tree::{self, Node, Table, Value};
use crate::units::{Decimal, UnitError, number_end};
use crate::{Scenario, value};

/// More points than this are a slip of the finger.
const MOST_POINTS: u64 = 1_000_000;

/// The axes of a sweep, in order, and how often each point is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    pub axes: Vec<Axis>,
    /// At least 1.
    pub repeat: u32,
}

/// One thing that is varied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The dotted key, or a name where the arms change several keys.
    pub name: String,
    /// Never empty.
    pub arms: Vec<AxisValue>,
}

/// One value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisValue {
    pub label: String,
    /// For [`Scenario::parse`].
    pub overrides: Vec<(String, String)>,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// From 0, in the order of the sweep.
    pub index: u64,
    /// The axis names with the labels of their arms.
    pub labels: Vec<(String, String)>,
    pub overrides: Vec<(String, String)>,
    /// From 0.
    pub repetition: u32,
}

impl Point {
    /// The seed of this run: the same for every arm of a repetition.
    pub fn seed(&self, scenario: &Scenario) -> u64 {
        scenario.seed.wrapping_add(u64::from(self.repetition))
    }
}

impl Default for Axes {
    /// A single point: the scenario as it is.
    fn default() -> Axes {
        Axes { axes: Vec::new(), repeat: 1 }
    }
}

impl Axes {
    /// The `[sweep]` of a scenario file; one without has a single point. Only what concerns the sweep is checked.
    ///
    /// # Errors
    /// If the file is no TOML, or its `[sweep]` is wrong: each mistake with its line.
    pub fn parse(text: &str, file: &str) -> Result<Axes, Errors> {
        let mut report = Report::new(file, text, Vec::new());
        let tree = tree::parse_file(text, &mut report);
        let axes = if report.count() == 0 { read_axes(&tree, &mut report) } else { Axes::default() };
        report.finish().map_or(Ok(axes), Err)
    }

    /// Adds an axis; one of the same name is replaced, so that a command line wins over the file.
    pub fn set(&mut self, axis: Axis) {
        match self.axes.iter_mut().find(|other| other.name == axis.name) {
            Some(other) => *other = axis,
            None => self.axes.push(axis),
        }
    }

    /// The number of points, repetitions counted.
    pub fn count(&self) -> u64 {
        let arms = self.axes.iter().map(|axis| axis.arms.len() as u64);
        arms.fold(u64::from(self.repeat), u64::saturating_mul)
    }

    /// Every point, the first axis varying slowest and the repetition fastest.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        (0..self.count()).map(|index| self.point(index))
    }

    fn point(&self, index: u64) -> Point {
        let repetition = (index % u64::from(self.repeat)) as u32;
        let mut rest = index / u64::from(self.repeat);
        let mut chosen: Vec<(&Axis, &AxisValue)> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            let arms = axis.arms.len() as u64;
            chosen.push((axis, &axis.arms[(rest % arms) as usize]));
            rest /= arms;
        }
        chosen.reverse();
        Point {
            index,
            labels: chosen.iter().map(|(axis, arm)| (axis.name.clone(), arm.label.clone())).collect(),
            overrides: chosen.iter().flat_map(|(_, arm)| arm.overrides.iter().cloned()).collect(),
            repetition,
        }
    }
}

impl Axis {
    /// Reads `key=5..50:5 packets`, `key=5,10,20 packets`, `key=1..64:x2 packets` or `key=reno,cubic`.
    ///
    /// A range runs from its first number in steps to at most its last; `x2` doubles instead. The last value's unit
    /// holds for those without one.
    ///
    /// # Errors
    /// If the text is not of one of these forms, or gives more values than a sweep may have.
    pub fn parse(text: &str) -> Result<Axis, UnitError> {
        let (key, values) = text.split_once('=').ok_or_else(|| {
            UnitError::new(format!("{} sets nothing", quote(text)))
                .help("write key=values, such as link.up.queue.limit=5..50:5")
        })?;
        let key = key.trim();
        if key.is_empty() {
            return Err(UnitError::new(format!("{} names no key", quote(text))));
        }
        let arms = parse_values(values)?.into_iter().map(|value| AxisValue::of_key(key, value)).collect();
        Ok(Axis { name: key.to_owned(), arms })
    }
}

impl AxisValue {
    fn of_key(key: &str, value: String) -> AxisValue {
        AxisValue { label: value.clone(), overrides: vec![(key.to_owned(), value)] }
    }
}

/// The axes of a file's tree, each key tried on a copy of the tree.
pub(crate) fn read_axes(root: &Table, report: &mut Report<'_>) -> Axes {
    let mut found = Axes::default();
    let Some(node) = root.get("sweep") else { return found };
    let Value::Table(sweep) = &node.value else {
        report.problem(
            node.place,
            "sweep",
            format!("[sweep] is a table of axes, and this is {}", node.value.kind()),
            None,
        );
        return found;
    };
    let mut axes = Vec::new();
    for entry in &sweep.entries {
        if entry.key == "repeat" {
            match value::positive_count(&entry.node) {
                Ok(count) => found.repeat = count,
                Err(error) => report.problem(entry.node.place, "sweep.repeat", error.message, error.help),
            }
        } else {
            flatten(&entry.key, entry.key_place, &entry.node, &mut axes);
        }
    }
    for (name, place, node) in axes {
        if let Some(arms) = read_arms(&name, node, report) {
            try_out(root, &arms, place, report);
            found.set(Axis { name, arms });
        }
    }
    if found.count() > MOST_POINTS {
        let message = format!("this sweep has {} points: at most {MOST_POINTS} are allowed", found.count());
        report.problem(node.place, "sweep", message, None);
    }
    found
}

/// Nested tables, as `link.up.rate = [...]` makes them, into dotted keys.
fn flatten<'t>(key: &str, place: Place, node: &'t Node, out: &mut Vec<(String, Place, &'t Node)>) {
    match &node.value {
        Value::Table(table) => {
            for entry in &table.entries {
                flatten(&join(key, &entry.key), entry.key_place, &entry.node, out);
            }
        }
        _ => out.push((key.to_owned(), place, node)),
    }
}

fn read_arms(name: &str, node: &Node, report: &mut Report<'_>) -> Option<Vec<AxisValue>> {
    let path = join("sweep", name);
    let arms: Vec<AxisValue> = match &node.value {
        Value::Text(text) => match parse_values(text) {
            Ok(values) => values.into_iter().map(|value| AxisValue::of_key(name, value)).collect(),
            Err(error) => {
                report.problem(node.place, &path, error.message, error.help);
                return None;
            }
        },
        Value::List(items) => items.iter().map(|item| read_arm(name, item)).collect(),
        _ => vec![read_arm(name, node)],
    };
    if arms.is_empty() {
        report.problem(node.place, &path, "this axis has no values", None);
        return None;
    }
    Some(arms)
}

fn read_arm(name: &str, item: &Node) -> AxisValue {
    let Value::Table(table) = &item.value else { return AxisValue::of_key(name, inline(item)) };
    let mut flat = Vec::new();
    for entry in table.entries.iter().filter(|entry| entry.key != "label") {
        flatten(&entry.key, entry.key_place, &entry.node, &mut flat);
    }
    let overrides: Vec<(String, String)> = flat.into_iter().map(|(key, _, node)| (key, inline(node))).collect();
    let label = match table.get("label") {
        Some(label) => inline(label),
        None => overrides.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", "),
    };
    AxisValue { label, overrides }
}

/// Reports keys that the scenario does not have, at the axis. Values are checked when a point is run.
fn try_out(root: &Table, arms: &[AxisValue], place: Place, report: &mut Report<'_>) {
    let mut tried: Vec<&str> = Vec::new();
    for (key, value) in arms.iter().flat_map(|arm| &arm.overrides) {
        if !tried.contains(&key.as_str()) {
            tried.push(key);
            let mut copy = root.clone();
            apply(&mut copy, key, &|_, _| place, tree::parse_override(value, place), report);
        }
    }
}

/// A value as an override's text: texts bare, everything else as TOML.
fn inline(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => text.clone(),
        _ => inline_toml(node),
    }
}

fn inline_toml(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => crate::write::quoted(text),
        Value::Number(text) | Value::Date(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        Value::List(items) => format!("[{}]", items.iter().map(inline_toml).collect::<Vec<_>>().join(", ")),
        Value::Table(table) => {
            let entries =
                table.entries.iter().map(|e| format!("{} = {}", crate::write::quoted(&e.key), inline_toml(&e.node)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A range, or values between commas; never none.
fn parse_values(text: &str) -> Result<Vec<String>, UnitError> {
    if let Some(range) = parse_range(text)? {
        return Ok(range);
    }
    let parts: Vec<&str> = split_commas(text).into_iter().map(str::trim).collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(UnitError::new(format!("{} has an empty value", quote(text))));
    }
    let last = parts[parts.len() - 1];
    let end = number_end(last);
    let unit = if Decimal::parse(&last[..end]).is_ok() { last[end..].trim() } else { "" };
    let with_unit = |part: &&str| match Decimal::parse(part) {
        Ok(_) if !unit.is_empty() => format!("{part} {unit}"),
        _ => (*part).to_owned(),
    };
    Ok(parts.iter().map(with_unit).collect())
}

/// `first..last`, `first..last:step` or `first..last:xfactor`, and a unit; `None` where the text is none of these.
fn parse_range(text: &str) -> Result<Option<Vec<String>>, UnitError> {
    const MOST_VALUES: usize = 100_000;
    let Some((first, rest)) = text.trim().split_once("..") else { return Ok(None) };
    let Ok(first) = Decimal::parse(first.trim()) else { return Ok(None) };
    let wrong = |what: &str| {
        UnitError::new(format!("the range {} {what}", quote(text)))
            .help("write first..last:step and a unit: `5..50:5 packets`")
    };
    let rest = rest.trim_start();
    let end = number_end(rest);
    let last = Decimal::parse(&rest[..end]).map_err(|_| wrong("has no last number"))?;
    let (step, doubling, unit) = match rest[end..].trim_start().strip_prefix(':') {
        None => (Decimal::ONE, false, &rest[end..]),
        Some(step) => {
            let step = step.trim_start();
            let (step, doubling) = step.strip_prefix('x').map_or((step, false), |factor| (factor, true));
            let end = number_end(step);
            (Decimal::parse(&step[..end]).map_err(|_| wrong("has no step"))?, doubling, &step[end..])
        }
    };
    let below = |one: Decimal, other: Decimal| one.at_most(other) == Some(true);
    if !below(first, last) {
        return Err(wrong("ends before it begins"));
    }
    let endless = if doubling { below(step, Decimal::ONE) || first.is_zero() } else { step.is_zero() };
    if endless {
        return Err(wrong("never ends"));
    }
    let unit = unit.trim();
    let mut values = Vec::new();
    let mut next = Some(first);
    while let Some(value) = next.filter(|value| below(*value, last)) {
        if values.len() == MOST_VALUES {
            return Err(wrong("has too many values"));
        }
        values.push(if unit.is_empty() { value.to_string() } else { format!("{value} {unit}") });
        next = if doubling { value.times(step) } else { value.plus(step) };
    }
    Ok(Some(values))
}

/// Splits at commas outside brackets and quotes.
fn split_commas(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut open_quote) = (Vec::new(), 0, 0usize, None);
    for (at, character) in text.char_indices() {
        match (open_quote, character) {
            (Some(mark), _) if character == mark => open_quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => open_quote = Some(character),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
