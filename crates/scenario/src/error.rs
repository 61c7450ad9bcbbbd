//! Errors that point at the text: where, what stands there, what was meant.
//!
//! The renderer is our own, in the shape of rustc's; nothing but one file's line, a caret and a hint is needed.

use std::fmt::{self, Write as _};

/// One thing that is wrong, with the place where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, or `override` where an override is at fault.
    pub file: String,
    /// From 1; in an override always 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The dotted key that is meant, such as `link.up.rate`; empty for the file as a whole.
    pub key: String,
    pub message: String,
    /// What was probably meant, or what to write.
    pub help: Option<String>,
    /// The line with the offending text, or a window of it where it is long.
    pub excerpt: String,
    /// What to underline in the excerpt, in characters: first and length.
    pub underline: (usize, usize),
}

/// Everything wrong with a scenario. Displayed as text for a terminal, one block for each problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors {
    /// Never empty; in the order of the text, overrides last.
    pub problems: Vec<Problem>,
}

/// More than these are counted, not shown.
const SHOWN: usize = 30;

/// Beyond so many, a file is something else than a scenario with mistakes, and nobody reads on.
const KEPT: usize = 200;

impl std::error::Error for Errors {}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in self.problems.iter().take(SHOWN) {
            writeln!(f, "{problem}")?;
        }
        match self.problems.len() {
            1 => write!(f, "1 error"),
            KEPT => write!(f, "{KEPT} errors or more, the first {SHOWN} shown"),
            count if count > SHOWN => write!(f, "{count} errors, the first {SHOWN} shown"),
            count => write!(f, "{count} errors"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = if self.file == OVERRIDE { String::new() } else { self.line.to_string() };
        let margin = " ".repeat(number.len());
        writeln!(f, "error: {}", self.message)?;
        if self.file == OVERRIDE {
            writeln!(f, "{margin} --> override")?;
        } else {
            writeln!(f, "{margin} --> {}:{}:{}", self.file, self.line, self.column)?;
        }
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}", self.excerpt)?;
        let (first, length) = self.underline;
        writeln!(f, "{margin} | {}{}", " ".repeat(first), "^".repeat(length.max(1)))?;
        if let Some(help) = &self.help {
            writeln!(f, "{margin} = help: {help}")?;
        }
        Ok(())
    }
}

/// What stands for the file's name where an override is at fault.
pub(crate) const OVERRIDE: &str = "override";

/// A stretch of the file or of an override.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// 0 is the file, `n` the override `n - 1`.
    pub source: usize,
    /// In bytes.
    pub start: usize,
    pub end: usize,
}

impl Place {
    pub(crate) const TOP: Place = Place { source: 0, start: 0, end: 0 };
}

/// The texts that places point into, and the problems found so far.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    file: &'a str,
    text: &'a str,
    /// Each `key=value` in full.
    overrides: Vec<String>,
    /// Offset of each line of the file.
    lines: Vec<usize>,
    found: Vec<(Place, Problem)>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str, overrides: Vec<String>) -> Report<'a> {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Report { file, text, overrides, lines, found: Vec::new() }
    }

    /// The folder of the scenario's file; empty for that in which the program runs.
    pub(crate) fn folder(&self) -> &'a str {
        self.file.rfind(['/', '\\']).map_or("", |end| &self.file[..=end])
    }

    /// Notes a problem, unless the same was noted at the same place: settings are read once for each flow that uses
    /// them.
    pub(crate) fn problem(&mut self, place: Place, key: &str, message: impl Into<String>, help: Option<String>) {
        let message = message.into();
        if self.is_full() {
            return;
        }
        if self.found.iter().any(|(other, problem)| *other == place && problem.message == message) {
            return;
        }
        let (file, line_number, line, line_start) = self.line_of(place);
        let start = floor_boundary(line, place.start.saturating_sub(line_start));
        let end = floor_boundary(line, place.end.saturating_sub(line_start)).max(start);
        let before = line[..start].chars().count();
        let (excerpt, underline) = excerpt(line, before, line[start..end].chars().count());
        let problem = Problem {
            file,
            line: line_number,
            column: before + 1,
            key: key.to_owned(),
            message,
            help,
            excerpt,
            underline,
        };
        self.found.push((place, problem));
    }

    /// Whether no more problems are taken.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= KEPT
    }

    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    pub(crate) fn finish(mut self) -> Option<Errors> {
        // Stable: what was found first at a place stays first.
        self.found.sort_by_key(|(place, _)| (place.source, place.start));
        let problems: Vec<Problem> = self.found.into_iter().map(|(_, problem)| problem).collect();
        if problems.is_empty() { None } else { Some(Errors { problems }) }
    }

    /// The file's name, the line's number and text without its end, and the offset of its beginning.
    fn line_of(&self, place: Place) -> (String, usize, &str, usize) {
        if let Some(text) = place.source.checked_sub(1).and_then(|index| self.overrides.get(index)) {
            return (OVERRIDE.to_owned(), 1, text, 0);
        }
        let index = self.lines.partition_point(|start| *start <= place.start) - 1;
        let start = self.lines[index];
        let end = self.lines.get(index + 1).map_or(self.text.len(), |next| next - 1);
        let line = self.text.get(start..end).unwrap_or("");
        (self.file.to_owned(), index + 1, line.strip_suffix('\r').unwrap_or(line), start)
    }
}

/// A text for a message: in backticks, control characters made visible, the middle left out where it is long.
pub(crate) fn quote(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::from("`");
    for (count, character) in text.chars().enumerate() {
        if count == LONGEST {
            out.push_str("...");
            break;
        }
        if is_hazardous(character) {
            let _ = write!(out, "{}", character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out.push('`');
    out
}

/// The name among `known` that was probably meant.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // A long word resembles no key, and the comparison costs its length.
    if word.len() > 64 {
        return None;
    }
    let spelling = |text: &str| text.to_lowercase().replace('-', "_");
    let word = spelling(word);
    let scored = known.into_iter().map(|name| (likeness(&word, &spelling(name)), name));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best.0 > 0.8).then_some(best.1)
}

/// From 0 to 1. In words as short as "rtt", one slip of the finger leaves little in common, and yet it is one slip.
fn likeness(word: &str, name: &str) -> f64 {
    let common = strsim::jaro_winkler(word, name);
    let slip = word.chars().count() >= 3 && strsim::osa_distance(word, name) == 1;
    if slip { common.max(0.85 + common / 10.0) } else { common }
}

/// "did you mean `x`?", or else the whole list.
pub(crate) fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            const SHOWN: usize = 24;
            let names: Vec<&str> = known.into_iter().collect();
            let more = names.len().saturating_sub(SHOWN);
            let listed: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
            match (names.len(), more) {
                (0, _) => "there is none".to_owned(),
                (_, 0) => format!("known: {}", listed.join(", ")),
                _ => format!("known: {} and {more} more", listed.join(", ")),
            }
        }
    }
}

/// The line as it can be shown, with what to underline; a window of it where it is long.
fn excerpt(line: &str, first: usize, length: usize) -> (String, (usize, usize)) {
    const WIDTH: usize = 100;
    const LEAD: usize = 40;
    let skipped = if first + length.min(WIDTH / 2) > WIDTH { first.saturating_sub(LEAD) } else { 0 };
    let show = |character: char| match character {
        '\t' => ' ',
        other if is_hazardous(other) => '\u{fffd}',
        other => other,
    };
    let mut shown: String = if skipped > 0 { "...".to_owned() } else { String::new() };
    let lead = shown.len();
    shown.extend(line.chars().skip(skipped).take(WIDTH).map(show));
    let first_shown = lead + first - skipped;
    if line.chars().nth(skipped + WIDTH).is_some() {
        shown.push_str("...");
    }
    let room = shown.chars().count().saturating_sub(first_shown).max(1);
    (shown, (first_shown, length.clamp(1, room)))
}

/// Characters that would move the cursor or reorder the text of a terminal.
fn is_hazardous(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
