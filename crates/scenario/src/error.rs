//! Errors of a scenario file, each with its position, an excerpt and advice.
//!
//! The errors are printed in the style of rustc.

use std::fmt::{self, Write as _};

/// One error of a scenario, with its position in the file or in an override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Name of the file, or `override` if the error is in an override.
    pub file: String,
    /// Line number in the file, counted from 1. Always 1 in an override.
    pub line: usize,
    /// Column, in characters, counted from 1.
    pub column: usize,
    /// Dotted key that contains the error, such as `link.up.rate`. Empty if the error concerns the whole file.
    pub key: String,
    /// Description of the error in one sentence, without a full stop.
    pub message: String,
    /// Advice on how to correct the error; `None` if there is none.
    pub help: Option<String>,
    /// The line that contains the error. A long line is cut to the part around the error.
    pub excerpt: String,
    /// Part of the excerpt to underline: its start and its length, in characters.
    pub underline: (usize, usize),
}

/// All errors of a scenario. The `Display` text is for a terminal and contains one block per error.
///
/// # Examples
///
/// ```
/// use lopsided_scenario::Scenario;
///
/// let text = r#"[scenario]
/// duration = "60"
/// [link]
/// rtt = "20 ms"
/// rate = "1 Mbit/s"
/// [[flow]]
/// direction = "down"
/// "#;
/// let errors = Scenario::parse(text, "my.toml", &[]).unwrap_err();
/// assert_eq!(errors.problems[0].message, "`60` has no unit");
/// assert_eq!((errors.problems[0].line, errors.problems[0].column), (2, 12));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors {
    /// The errors in the order of their positions; errors of overrides are last. Never empty.
    pub problems: Vec<Problem>,
}

/// Maximum number of errors that are printed. The remaining errors are only counted.
const SHOWN: usize = 30;

/// Maximum number of errors that are stored. A file with more errors is probably not a scenario file.
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
        // An override is a single line, so its line number would not help.
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
        // Print at least one caret, so that an error at an empty range is visible.
        writeln!(f, "{margin} | {}{}", " ".repeat(first), "^".repeat(length.max(1)))?;
        if let Some(help) = &self.help {
            writeln!(f, "{margin} = help: {help}")?;
        }
        Ok(())
    }
}

/// Name shown instead of a file name if the error is in an override.
pub(crate) const OVERRIDE: &str = "override";

/// A range of bytes in the file or in an override.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// 0 for the file, and `n` for the override with index `n - 1`.
    pub source: usize,
    /// First byte of the range.
    pub start: usize,
    /// Byte after the range.
    pub end: usize,
}

impl Place {
    pub(crate) const TOP: Place = Place { source: 0, start: 0, end: 0 };
}

/// The errors found so far, and the texts that their positions refer to.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    file: &'a str,
    text: &'a str,
    /// The text `key=value` of each override.
    overrides: Vec<String>,
    /// For each line of the file, the byte offset of its first character.
    lines: Vec<usize>,
    found: Vec<(Place, Problem)>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str, overrides: Vec<String>) -> Report<'a> {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Report { file, text, overrides, lines, found: Vec::new() }
    }

    /// Returns the folder that contains the scenario file, with its trailing separator; empty for the current folder.
    pub(crate) fn folder(&self) -> &'a str {
        self.file.rfind(['/', '\\']).map_or("", |end| &self.file[..=end])
    }

    /// Adds an error. An error with the same position and message as an earlier error is ignored.
    pub(crate) fn problem(&mut self, place: Place, key: &str, message: impl Into<String>, help: Option<String>) {
        let message = message.into();
        // A file with this many errors is probably not a scenario file.
        if self.is_full() {
            return;
        }
        // Settings are read once per flow, so the same error is found several times.
        if self.found.iter().any(|(other, problem)| *other == place && problem.message == message) {
            return;
        }
        let (file, line_number, line, line_start) = self.line_of(place);
        // A value may span several lines. Only its part on the first line is underlined.
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

    /// Returns true if the report stores no further errors.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= KEPT
    }

    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    pub(crate) fn finish(mut self) -> Option<Errors> {
        // The sort is stable, so errors at one place keep the order in which they were found.
        self.found.sort_by_key(|(place, _)| (place.source, place.start));
        let problems: Vec<Problem> = self.found.into_iter().map(|(_, problem)| problem).collect();
        if problems.is_empty() { None } else { Some(Errors { problems }) }
    }

    /// Returns the file name, the line number, the text of the line, and the byte offset of the line's start.
    fn line_of(&self, place: Place) -> (String, usize, &str, usize) {
        if let Some(text) = place.source.checked_sub(1).and_then(|index| self.overrides.get(index)) {
            return (OVERRIDE.to_owned(), 1, text, 0);
        }
        // The line that contains the start of the range.
        let index = self.lines.partition_point(|start| *start <= place.start) - 1;
        let start = self.lines[index];
        let end = self.lines.get(index + 1).map_or(self.text.len(), |next| next - 1);
        let line = self.text.get(start..end).unwrap_or("");
        // Windows line ends are not part of the line.
        (self.file.to_owned(), index + 1, line.strip_suffix('\r').unwrap_or(line), start)
    }
}

/// Formats a text for a message: in backticks, with control characters escaped, and cut to 60 characters.
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

/// Returns the known name that is most similar to `word`; `None` if no name is similar enough.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // No key is longer than 64 characters, and the time of the comparison is proportional to the length.
    if word.len() > 64 {
        return None;
    }
    // Treat `Start-Jitter` and `start_jitter` as the same word.
    let spelling = |text: &str| text.to_lowercase().replace('-', "_");
    let word = spelling(word);
    // Jaro-Winkler similarity favours a common prefix. The first letters of most misspelled keys are correct.
    let scored = known.into_iter().map(|name| (likeness(&word, &spelling(name)), name));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
    // Below 0.8 the suggestion would often be wrong.
    (best.0 > 0.8).then_some(best.1)
}

/// Returns the similarity of two names, from 0 to 1. An edit distance of 1 always counts as similar.
fn likeness(word: &str, name: &str) -> f64 {
    let common = strsim::jaro_winkler(word, name);
    let slip = word.chars().count() >= 3 && strsim::osa_distance(word, name) == 1;
    if slip { common.max(0.85 + common / 10.0) } else { common }
}

/// Returns "did you mean `x`?", or the list of known names if no known name is similar.
pub(crate) fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            // A longer list would hide the message.
            const SHOWN: usize = 24;
            let names: Vec<&str> = known.into_iter().collect();
            let more = names.len().saturating_sub(SHOWN);
            let listed: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
            match (names.len(), more) {
                (0, _) => "none is known".to_owned(),
                (_, 0) => format!("known: {}", listed.join(", ")),
                _ => format!("known: {} and {more} more", listed.join(", ")),
            }
        }
    }
}

/// Returns the part of a line to print, and the range to underline in it.
fn excerpt(line: &str, first: usize, length: usize) -> (String, (usize, usize)) {
    const WIDTH: usize = 100;
    const LEAD: usize = 40;
    // Shift the excerpt so that the error is visible with 40 characters before it.
    let skipped = if first + length.min(WIDTH / 2) > WIDTH { first.saturating_sub(LEAD) } else { 0 };
    let show = |character: char| match character {
        // Print a tab as a space, so that the underline stays aligned.
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

/// Returns true if the character moves the cursor or reverses the direction of text on a terminal.
fn is_hazardous(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Returns the largest character boundary that is at most `at`.
fn floor_boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
