//! Sweeps: the axes along which a scenario varies, and the points of their grid.
//!
//! An axis is one of:
//!
//! - a dotted key with values: `"link.up.queue.limit" = "5..50:5 packets"`
//! - a name with arms that each set several keys: `line = [{ label = "ADSL", link.down.rate = "2.4 Mbit/s",
//!   link.up.rate = "196 kbit/s" }, ...]`
//!
//! The first axis varies slowest, the repetition fastest. The seed depends only on the repetition, so arms can be
//! compared in pairs. Left out: random designs, and arms that depend on each other.

use crate::error::{Errors, Place, Report, quote};
use crate::schema::{apply, join};
use crate::tree::{self, Node, Table, Value};
use crate::units::{Decimal, UnitError, number_end};
use crate::{Scenario, value};

/// Maximum number of points. A larger number is assumed to be a typing error.
const MOST_POINTS: u64 = 1_000_000;

/// The axes of a sweep and the number of repetitions.
///
/// # Examples
///
/// ```
/// use lopsided_scenario::{Axes, Axis};
///
/// let mut axes = Axes { repeat: 3, ..Axes::default() };
/// axes.set(Axis::parse("link.up.queue.limit=5..20:5 packets").unwrap());
/// axes.set(Axis::parse("flow.1.cc=reno,cubic").unwrap());
/// assert_eq!(axes.count(), 4 * 2 * 3);
/// let first = axes.points().next().unwrap();
/// assert_eq!(first.overrides[0], ("link.up.queue.limit".to_owned(), "5 packets".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    /// The axes; the first varies slowest.
    pub axes: Vec<Axis>,
    /// Number of repetitions of each point, at least 1.
    pub repeat: u32,
}

/// One axis of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The dotted key, or a name if the arms set several keys.
    pub name: String,
    /// The values of the axis. Never empty.
    pub arms: Vec<AxisValue>,
}

/// One value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisValue {
    /// The value's name in results.
    pub label: String,
    /// The overrides of this value, for [`Scenario::parse`].
    pub overrides: Vec<(String, String)>,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The number of the run, from 0.
    pub index: u64,
    /// The name of each axis, with the label of its value.
    pub labels: Vec<(String, String)>,
    /// The overrides of this point, from all axes, for [`Scenario::parse`].
    pub overrides: Vec<(String, String)>,
    /// The number of the repetition, from 0.
    pub repetition: u32,
}

impl Point {
    /// Returns the seed of this run. All points of a repetition have the same seed.
    pub fn seed(&self, scenario: &Scenario) -> u64 {
        scenario.seed.wrapping_add(u64::from(self.repetition))
    }
}

impl Default for Axes {
    /// Returns a sweep of one point: the unchanged scenario.
    fn default() -> Axes {
        Axes { axes: Vec::new(), repeat: 1 }
    }
}

impl Axes {
    /// Reads the `[sweep]` of a scenario file. A file without `[sweep]` has one point. Only errors of the sweep are
    /// reported.
    ///
    /// # Errors
    /// Returns an error if the file is not valid TOML, or if `[sweep]` is invalid.
    pub fn parse(text: &str, file: &str) -> Result<Axes, Errors> {
        let mut report = Report::new(file, text, Vec::new());
        let tree = tree::parse_file(text, &mut report);
        // If the file has errors, axes read from it would be misleading.
        let axes = if report.count() == 0 { read_axes(&tree, &mut report) } else { Axes::default() };
        report.finish().map_or(Ok(axes), Err)
    }

    /// Adds an axis, or replaces the axis with the same name, so that the command line overrides the file.
    pub fn set(&mut self, axis: Axis) {
        match self.axes.iter_mut().find(|other| other.name == axis.name) {
            // The replaced axis keeps its position.
            Some(other) => *other = axis,
            None => self.axes.push(axis),
        }
    }

    /// Returns the number of runs: points times repetitions.
    pub fn count(&self) -> u64 {
        let arms = self.axes.iter().map(|axis| axis.arms.len() as u64);
        arms.fold(u64::from(self.repeat), u64::saturating_mul)
    }

    /// Returns all runs. The first axis varies slowest, the repetition fastest.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        (0..self.count()).map(|index| self.point(index))
    }

    fn point(&self, index: u64) -> Point {
        // Read the index as a mixed-radix number. Its last digit is the repetition, and its first digit belongs to the
        // first axis.
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
    /// Parses an axis: `key=5..50:5 packets`, `key=5,10,20 packets`, `key=1..64:x2 packets` or `key=reno,cubic`.
    ///
    /// `:5` adds 5 in each step, `:x2` doubles the number. The unit at the end applies to all numbers without a unit.
    ///
    /// # Errors
    /// Returns an error if the text matches none of these forms, or if the axis would contain too many values.
    pub fn parse(text: &str) -> Result<Axis, UnitError> {
        let (key, values) = text.split_once('=').ok_or_else(|| {
            UnitError::new(format!("{} has no `=`", quote(text)))
                .help("write key=values, such as link.up.queue.limit=5..50:5")
        })?;
        let key = key.trim();
        if key.is_empty() {
            return Err(UnitError::new(format!("{} has no key before `=`", quote(text))));
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

/// Reads the axes of a file. Each key is checked on a copy of the tree.
pub(crate) fn read_axes(root: &Table, report: &mut Report<'_>) -> Axes {
    let mut found = Axes::default();
    let Some(node) = root.get("sweep") else { return found };
    let Value::Table(sweep) = &node.value else {
        report.problem(
            node.place,
            "sweep",
            format!("[sweep] must be a table of axes, not {}", node.value.kind()),
            None,
        );
        return found;
    };
    // Flatten all keys first, because the key of an axis may be written as nested tables.
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
        let message = format!("this sweep has {} points, but at most {MOST_POINTS} are allowed", found.count());
        report.problem(node.place, "sweep", message, None);
    }
    found
}

/// Converts nested tables, such as the tables that `link.up.rate = [...]` creates, to dotted keys.
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

/// Reports keys that do not exist in the scenario. The values are checked only when a point runs.
fn try_out(root: &Table, arms: &[AxisValue], place: Place, report: &mut Report<'_>) {
    let mut tried: Vec<&str> = Vec::new();
    for (key, value) in arms.iter().flat_map(|arm| &arm.overrides) {
        if !tried.contains(&key.as_str()) {
            // Check each key only once, even if it has several values.
            tried.push(key);
            // Use a fresh copy for each key, because several values of one axis may exclude each other.
            let mut copy = root.clone();
            apply(&mut copy, key, &|_, _| place, tree::parse_override(value, place), report);
        }
    }
}

/// Formats a value as the text of an override: strings without quotes, other values as TOML.
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

/// Parses a range, or values separated by commas. The result is never empty.
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
    // `5,10,20 packets`: the unit of the last value applies to all numbers.
    let unit = if Decimal::parse(&last[..end]).is_ok() { last[end..].trim() } else { "" };
    let with_unit = |part: &&str| match Decimal::parse(part) {
        Ok(_) if !unit.is_empty() => format!("{part} {unit}"),
        _ => (*part).to_owned(),
    };
    Ok(parts.iter().map(with_unit).collect())
}

/// Parses `first..last`, `first..last:step` or `first..last:xfactor`, followed by a unit. Returns `None` if the text
/// matches none of these forms.
fn parse_range(text: &str) -> Result<Option<Vec<String>>, UnitError> {
    const MOST_VALUES: usize = 100_000;
    let Some((first, rest)) = text.trim().split_once("..") else { return Ok(None) };
    // A path such as `../x.toml` contains `..` but is not a range.
    let Ok(first) = Decimal::parse(first.trim()) else { return Ok(None) };
    let wrong = |what: &str| {
        UnitError::new(format!("the range {} {what}", quote(text)))
            .help("write first..last:step and a unit: `5..50:5 packets`")
    };
    let rest = rest.trim_start();
    let end = number_end(rest);
    let last = Decimal::parse(&rest[..end]).map_err(|_| wrong("has no number after `..`"))?;
    let (step, doubling, unit) = match rest[end..].trim_start().strip_prefix(':') {
        None => (Decimal::ONE, false, &rest[end..]),
        Some(step) => {
            let step = step.trim_start();
            let (step, doubling) = step.strip_prefix('x').map_or((step, false), |factor| (factor, true));
            let end = number_end(step);
            (Decimal::parse(&step[..end]).map_err(|_| wrong("has no number after `:`"))?, doubling, &step[end..])
        }
    };
    let below = |one: Decimal, other: Decimal| one.at_most(other) == Some(true);
    if !below(first, last) {
        return Err(wrong("ends before it begins"));
    }
    // With a step of 0, or a factor of at most 1, the range would never end.
    let endless = if doubling { below(step, Decimal::ONE) || first.is_zero() } else { step.is_zero() };
    if endless {
        return Err(wrong("never ends"));
    }
    let unit = unit.trim();
    let mut values = Vec::new();
    let mut next = Some(first);
    // Decimal arithmetic is exact: 10 steps of 0.1 reach 1.
    while let Some(value) = next.filter(|value| below(*value, last)) {
        if values.len() == MOST_VALUES {
            return Err(wrong("has too many values"));
        }
        values.push(if unit.is_empty() { value.to_string() } else { format!("{value} {unit}") });
        next = if doubling { value.times(step) } else { value.plus(step) };
    }
    Ok(Some(values))
}

/// Splits a text at commas, except within brackets and quotes.
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
