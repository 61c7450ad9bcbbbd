//! Converts single values of the tree to Rust types.

use crate::error::{did_you_mean, quote};
use crate::tree::{Node, Value};
use crate::units::{self, Decimal, LIMIT, NotDecimal, NotWhole, Quantity, QueueLimitText, UnitError};
use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_spec::Amount;

type Read<T> = Result<T, UnitError>;

/// Reads a rate. Returns `Ok(None)` for `"unlimited"`.
pub(crate) fn rate_or_unlimited(node: &Node) -> Read<Option<BitRate>> {
    match node.text().map(str::trim) {
        Some("unlimited") => Ok(None),
        _ => rate(node).map(Some),
    }
}

pub(crate) fn rate(node: &Node) -> Read<BitRate> {
    units::parse_rate(quantity_text(node, units::RATE)?)
}

pub(crate) fn span(node: &Node) -> Read<Duration> {
    units::parse_span(quantity_text(node, units::SPAN)?)
}

pub(crate) fn size(node: &Node) -> Read<Bytes> {
    units::parse_size(quantity_text(node, units::SIZE)?)
}

pub(crate) fn limit(node: &Node) -> Read<QueueLimitText> {
    // In an override, a bare number is a number of packets, as in `--set link.up.queue.limit=5..50:5`. Sources above 0
    // are overrides.
    if let Value::Number(number) = &node.value {
        if node.place.source > 0 {
            return units::parse_queue_limit(&format!("{number} packets"));
        }
    }
    units::parse_queue_limit(quantity_text(node, LIMIT)?)
}

pub(crate) fn window(node: &Node) -> Read<Amount> {
    units::parse_window(quantity_text(node, units::WINDOW)?)
}

pub(crate) fn probability(node: &Node) -> Read<f64> {
    match &node.value {
        Value::Text(text) | Value::Number(text) => units::parse_probability(text),
        other => Err(UnitError::new(format!("expected a probability, found {}", other.kind()))),
    }
}

/// Reads a number that is 0 or larger.
pub(crate) fn number(node: &Node) -> Read<f64> {
    let Value::Number(text) = &node.value else {
        return Err(UnitError::new(format!("expected a number, found {}", node.value.kind())));
    };
    match Decimal::parse(text) {
        Ok(value) => Ok(value.to_f64()),
        Err(NotDecimal::Negative) => Err(UnitError::new(format!("this cannot be negative: {}", quote(text)))),
        Err(_) => Err(UnitError::new(format!("{} is not a number", quote(text)))),
    }
}

/// Returns true if the value is `word`, the key's word for "none". The value `false` also matches the word "off".
pub(crate) fn is_word(node: &Node, word: &str) -> bool {
    match &node.value {
        Value::Text(text) => text.trim() == word,
        Value::Bool(flag) => !flag && word == "off",
        _ => false,
    }
}

/// Reads one of these words. If the list contains "on" or "off", `true` means "on" and `false` means "off".
pub(crate) fn word(node: &Node, what: &str, words: &[&'static str]) -> Read<&'static str> {
    let switch = match &node.value {
        Value::Bool(true) => words.iter().find(|word| **word == "on"),
        Value::Bool(false) => words.iter().find(|word| **word == "off"),
        _ => None,
    };
    switch.map_or_else(|| choice(node, what, words), |word| Ok(word))
}

/// Reads an integer that is 0 or larger.
pub(crate) fn count(node: &Node) -> Read<u64> {
    let text = match &node.value {
        Value::Number(text) => text,
        // A user's own queue discipline may declare its limit as a plain integer. Accept "50 packets" for such a limit.
        Value::Text(text) if text.trim().strip_suffix(" packets").is_some_and(|count| count.parse::<u64>().is_ok()) => {
            text.trim().trim_end_matches(" packets")
        }
        Value::Text(text) => {
            let error = UnitError::new(format!("expected an integer, found the string {}", quote(text)));
            // Users often put quotes around a number.
            let bare = Decimal::parse(text.trim()).is_ok();
            return Err(if bare { error.help(format!("write it without quotes: {}", text.trim())) } else { error });
        }
        other => return Err(UnitError::new(format!("expected an integer, found {}", other.kind()))),
    };
    let malformed = || UnitError::new(format!("{} is not a whole number", quote(text)));
    match Decimal::parse(text).map(|value| value.times_exactly(1)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(NotWhole::TooLarge)) | Err(NotDecimal::TooLong) => {
            Err(UnitError::new(format!("{} is too large", quote(text))))
        }
        Err(NotDecimal::Negative) => Err(UnitError::new(format!("a count cannot be negative: {}", quote(text)))),
        Ok(Err(NotWhole::Fraction)) | Err(NotDecimal::Malformed) => Err(malformed()),
    }
}

pub(crate) fn small_count(node: &Node) -> Read<u32> {
    let value = count(node)?;
    u32::try_from(value).map_err(|_| UnitError::new(format!("{value} is too large")))
}

/// Reads an integer that is 1 or larger.
pub(crate) fn positive_count(node: &Node) -> Read<u32> {
    match small_count(node)? {
        0 => Err(UnitError::new("this must be at least 1")),
        value => Ok(value),
    }
}

pub(crate) fn flag(node: &Node) -> Read<bool> {
    match &node.value {
        Value::Bool(value) => Ok(*value),
        other => {
            let error = UnitError::new(format!("expected true or false, found {}", other.kind()));
            Err(match node.text().map(str::trim) {
                // TOML accepts only `true` and `false`.
                Some("on" | "yes" | "true") => error.help("write true, without quotes"),
                Some("off" | "no" | "false") => error.help("write false, without quotes"),
                _ => error,
            })
        }
    }
}

pub(crate) fn text(node: &Node) -> Read<String> {
    match &node.value {
        Value::Text(text) => Ok(text.clone()),
        // `--set scenario.title=42` means the string "42".
        Value::Number(text) | Value::Date(text) if node.place.source > 0 => Ok(text.clone()),
        other => Err(UnitError::new(format!("expected a string, found {}", other.kind()))),
    }
}

/// Reads a name of letters, digits, `-`, `_` and dots. The names of copies made by `count` contain a dot (`flow.1`).
pub(crate) fn name(node: &Node) -> Read<String> {
    const LONGEST: usize = 64;
    let text = text(node)?;
    // Names appear in file names, dotted keys and random streams.
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() {
        return Err(UnitError::new("a name cannot be empty"));
    }
    if text.len() > LONGEST {
        return Err(UnitError::new(format!("the name {} is longer than {LONGEST} characters", quote(&text))));
    }
    // A leading `-` would look like an option on a command line.
    if !text.chars().all(fits) || text.starts_with(['.', '-']) || text.ends_with('.') {
        let error = UnitError::new(format!("{} is not a valid name", quote(&text)));
        return Err(error.help("use letters, digits, `-` and `_`; a name must not start with `-`"));
    }
    Ok(text)
}

/// Reads one of the known names. `what` is the word for this kind of name in the error message.
pub(crate) fn choice<'k>(node: &Node, what: &str, known: &[&'k str]) -> Read<&'k str> {
    let word = text(node)?;
    match known.iter().find(|name| **name == word) {
        Some(name) => Ok(name),
        None => {
            let help = did_you_mean(&word, known.iter().copied());
            let listed = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            // If the help suggests one value, also list all valid values.
            let help = if help.starts_with("did") { format!("{help} (known: {listed})") } else { help };
            Err(UnitError::new(format!("unknown {what} {}", quote(&word))).help(help))
        }
    }
}

/// Reads the start and the end of an outage, in this order.
pub(crate) fn outage(node: &Node) -> Read<(Duration, Duration)> {
    let Value::List(ends) = &node.value else {
        return Err(UnitError::new(format!("an outage must be a pair of times, not {}", node.value.kind()))
            .help("write [[\"10 s\", \"10.1 s\"]], with two brackets"));
    };
    // Users often write a single pair of brackets instead of two.
    let [from, to] = ends.as_slice() else {
        return Err(UnitError::new(format!("an outage must be a pair of times, found {} values", ends.len())));
    };
    let (from, to) = (span(from)?, span(to)?);
    if to <= from {
        return Err(UnitError::new("an outage must end after it begins"));
    }
    Ok((from, to))
}

/// Returns the text of a quantity. A bare number is accepted, so that the parser reports the missing unit.
fn quantity_text(node: &Node, quantity: Quantity) -> Read<&str> {
    match &node.value {
        Value::Text(text) | Value::Number(text) => Ok(text),
        other => {
            let message =
                format!("expected {} such as \"{}\", found {}", quantity.name, quantity.example, other.kind());
            Err(UnitError::new(message))
        }
    }
}
