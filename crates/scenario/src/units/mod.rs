//! Parses quantities such as `"2.4 Mbit/s"` or `2.4M` into exact integers, and formats them.
//!
//! - Upper and lower case are interchangeable if the meaning is clear: `mbit/s` is accepted, `kb` (kilobytes or
//!   kilobits?) is rejected.
//! - Prefixes are decimal (k = 1000); `Ki`, `Mi` and `Gi` are binary.
//! - A number without a unit is rejected, and so is a fraction of the base unit (bit/s, nanosecond, byte).
//!
//! Left out: compound times ("1 min 30 s"), and bytes per second as a rate.

mod decimal;
mod limit;

pub use decimal::Decimal;
pub(crate) use decimal::{NotDecimal, NotWhole};
pub(crate) use limit::LIMIT;
pub use limit::{QueueLimitText, parse_queue_limit};

use crate::error::quote;
use decimal::format_scaled;
use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_spec::Amount;
use std::fmt;

/// The reason why a text is not a valid quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// The error in one sentence, without a full stop.
    pub message: String,
    /// Advice on how to correct the error; `None` if there is none.
    pub help: Option<String>,
}

impl UnitError {
    pub(crate) fn new(message: impl Into<String>) -> UnitError {
        UnitError { message: message.into(), help: None }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> UnitError {
        UnitError { help: Some(help.into()), ..self }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.help {
            Some(help) => write!(f, "{}; {help}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for UnitError {}

/// A kind of quantity, with the texts for its error messages.
#[derive(Clone, Copy)]
pub(crate) struct Quantity {
    /// The name with its article: "a rate".
    pub name: &'static str,
    /// The units, as listed in messages.
    pub units: &'static str,
    /// A valid value.
    pub example: &'static str,
    /// Name of the base unit, in the plural.
    finest: &'static str,
    /// Suggests a unit for a number without a unit.
    guess: fn(&str) -> String,
}

pub(crate) const RATE: Quantity = Quantity {
    name: "a rate",
    units: "bit/s, kbit/s, Mbit/s or Gbit/s",
    example: "2.4 Mbit/s",
    finest: "bits per second",
    guess: guess_rate,
};
pub(crate) const SPAN: Quantity = Quantity {
    name: "a time",
    units: "ns, us, ms, s, min or h",
    example: "20 ms",
    finest: "nanoseconds",
    guess: |number| format!("`{number} ms` or `{number} s`"),
};
pub(crate) const SIZE: Quantity = Quantity {
    name: "a size",
    units: "B, kB, MB, GB, KiB, MiB or GiB",
    example: "64 KiB",
    finest: "bytes",
    guess: |number| format!("`{number} B` or `{number} kB`"),
};
pub(crate) const WINDOW: Quantity = Quantity {
    name: "a window",
    units: "segments, or a size in B, kB, KiB, MB",
    example: "10 segments",
    finest: "segments",
    guess: |number| format!("`{number} segments`"),
};

/// Parses a rate in bits per second: `"2.4 Mbit/s"`, `"196 kbit/s"`, `"2.4M"`. Zero is rejected.
///
/// # Errors
/// Returns an error if the text is not a number with a rate unit, or not a whole number of bits per second.
///
/// # Examples
///
/// ```
/// use lopsided_core::BitRate;
/// use lopsided_scenario::units::parse_rate;
///
/// assert_eq!(parse_rate("2.4 Mbit/s"), Ok(BitRate::from_bps(2_400_000)));
/// assert!(parse_rate("2.4").unwrap_err().to_string().contains("has no unit"));
/// ```
pub fn parse_rate(text: &str) -> Result<BitRate, UnitError> {
    let (number, unit) = split(text, RATE)?;
    let Some(factor) = rate_factor(unit) else {
        return Err(wrong_rate_unit(text, number, unit));
    };
    match whole(text, number, factor, RATE)? {
        0 => Err(UnitError::new(format!("{} is not a valid rate: no packet could ever be sent", quote(text)))),
        // With higher rates, products of rates and times could overflow.
        MOST_RATE.. => Err(UnitError::new(format!("{} is too high: the maximum is 10 Tbit/s", quote(text)))),
        bps => Ok(BitRate::from_bps(bps)),
    }
}

/// Parses a duration: `"200 ms"`, `"1.5 s"`, `"4 min"`, `"30 us"`.
///
/// # Errors
/// Returns an error if the text is not a number with a time unit, or not a whole number of nanoseconds.
pub fn parse_span(text: &str) -> Result<Duration, UnitError> {
    let (number, unit) = split(text, SPAN)?;
    let Some(factor) = span_factor(unit) else {
        let error = UnitError::new(format!("unknown unit {} for a time in {}", quote(unit), quote(text)));
        return Err(match unit {
            // `m` could mean minutes or milliseconds.
            "m" => error.help(format!("did you mean `{number} min` or `{number} ms`?")),
            _ => error.help(format!("use {}", SPAN.units)),
        });
    };
    Ok(Duration::from_nanos(whole(text, number, factor, SPAN)?))
}

/// Parses a size in bytes: `"1500 B"`, `"75 kB"`, `"64 KiB"`.
///
/// # Errors
/// Returns an error if the text is not a number with a size unit, or not a whole number of bytes.
pub fn parse_size(text: &str) -> Result<Bytes, UnitError> {
    let (number, unit) = split(text, SIZE)?;
    let Some(factor) = size_factor(unit) else {
        return Err(wrong_size_unit(text, number, unit, "a size", SIZE.units));
    };
    Ok(Bytes::new(whole(text, number, factor, SIZE)?))
}

/// Parses a window in segments or bytes: `"10 segments"`, `"64 KiB"`.
///
/// # Errors
/// Returns an error if the text is not a number with one of these units, or not a whole number of segments or bytes.
pub fn parse_window(text: &str) -> Result<Amount, UnitError> {
    let (number, unit) = split(text, WINDOW)?;
    if matches!(unit, "segments" | "segment" | "seg" | "mss" | "MSS") {
        return match u32::try_from(whole(text, number, 1, WINDOW)?) {
            Ok(segments) => Ok(Amount::Segments(segments)),
            Err(_) => Err(too_large(text)),
        };
    }
    let Some(factor) = size_factor(unit) else {
        return Err(wrong_size_unit(text, number, unit, "a window", WINDOW.units));
    };
    Ok(Amount::Bytes(Bytes::new(whole(text, number, factor, SIZE)?)))
}

/// The lowest rejected rate, in bit/s. For lower rates, products of bits and nanoseconds do not overflow.
const MOST_RATE: u64 = 10_000_000_000_001;

/// The smallest probability other than 0. A smaller probability would affect no packet of a run.
const LEAST_PROBABILITY: f64 = 1e-12;

/// Parses a probability: `"1 %"`, `"0.01"`.
///
/// # Errors
/// Returns an error if the text is not a number from 0 to 1, or if the number is larger than 0 and smaller than 10^-12.
pub fn parse_probability(text: &str) -> Result<f64, UnitError> {
    let trimmed = text.trim();
    // `1 %` and `0.01` are the same number.
    let (number, percent) = match trimmed.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (trimmed, false),
    };
    let no_probability = || {
        UnitError::new(format!("{} is not a probability", quote(text)))
            .help("write a number from 0 to 1, or a percentage such as `1 %`")
    };
    let value = match Decimal::parse(number) {
        Ok(value) => value,
        Err(NotDecimal::Negative) => {
            return Err(UnitError::new(format!("a probability cannot be negative: {}", quote(text))));
        }
        Err(NotDecimal::TooLong) => return Err(UnitError::new(format!("{} has too many digits", quote(text)))),
        Err(NotDecimal::Malformed) => return Err(no_probability()),
    };
    let value = if percent { value.shifted(-2).ok_or_else(no_probability)? } else { value };
    let float = value.to_f64();
    // Such a small number is probably a typing error in the exponent.
    if float != 0.0 && float < LEAST_PROBABILITY {
        return Err(
            UnitError::new(format!("{} is too small: the minimum is 1e-12", quote(text))).help("write 0 for never")
        );
    }
    if float <= 1.0 {
        return Ok(float);
    }
    let error = UnitError::new(format!("a probability cannot exceed 1: {}", quote(text)));
    Err(if percent { error } else { error.help(format!("did you mean `{number} %`?")) })
}

/// Formats a rate exactly, in the largest of bit/s, kbit/s, Mbit/s and Gbit/s in which the number is at least 1.
pub fn format_rate(rate: BitRate) -> String {
    let bps = rate.as_bps();
    match bps {
        1_000_000_000.. => format!("{} Gbit/s", format_scaled(bps, 9)),
        1_000_000.. => format!("{} Mbit/s", format_scaled(bps, 6)),
        1_000.. => format!("{} kbit/s", format_scaled(bps, 3)),
        _ => format!("{bps} bit/s"),
    }
}

/// Formats a duration exactly, in the largest of ns, us, ms and s in which the number is at least 1.
pub fn format_span(span: Duration) -> String {
    let nanos = span.as_nanos();
    match nanos {
        0 => "0 s".to_owned(),
        1_000_000_000.. => format!("{} s", format_scaled(nanos, 9)),
        1_000_000.. => format!("{} ms", format_scaled(nanos, 6)),
        1_000.. => format!("{} us", format_scaled(nanos, 3)),
        _ => format!("{nanos} ns"),
    }
}

/// Formats a size in the largest unit in which the number is whole. Sizes below 10,000 bytes stay in bytes.
pub fn format_size(size: Bytes) -> String {
    let octets = size.get();
    // Sizes below 10,000 bytes are easiest to read in bytes: "1500 B".
    if octets >= 10_000 {
        for (step, unit) in [(1_000_000, "MB"), (1 << 20, "MiB"), (1_000, "kB"), (1 << 10, "KiB")] {
            if octets % step == 0 {
                return format!("{} {unit}", octets / step);
            }
        }
    }
    format!("{octets} B")
}

/// Formats nanoseconds as seconds, exactly.
pub(crate) fn seconds(nanos: u64) -> String {
    format_scaled(nanos, 9)
}

/// Returns a suggestion for a rate without a unit. A small number probably means Mbit/s.
fn guess_rate(number: &str) -> String {
    let value = Decimal::parse(number).ok();
    if value.is_some_and(Decimal::is_zero) {
        return format!("a rate above 0, such as `{}`", RATE.example);
    }
    match value.and_then(|value| value.times_down(1)) {
        Some(0..1_000) => format!("`{number} Mbit/s` or `{number} kbit/s`"),
        Some(1_000..100_000) => format!("`{number} kbit/s`"),
        _ => format!("`{number} bit/s`"),
    }
}

/// Splits a quantity into its number and its unit. The unit is the text after the number.
fn split(text: &str, quantity: Quantity) -> Result<(&str, &str), UnitError> {
    let trimmed = text.trim();
    let example = format!("write {} such as `{}`", quantity.name, quantity.example);
    if trimmed.is_empty() {
        return Err(UnitError::new(format!("{} is missing: the string is empty", quantity.name)).help(example));
    }
    let end = number_end(trimmed);
    let (number, unit) = (&trimmed[..end], trimmed[end..].trim_start());
    if number.is_empty() {
        return Err(UnitError::new(format!(
            "{} is not {}: it does not start with a number",
            quote(text),
            quantity.name
        ))
        .help(example));
    }
    if unit.is_empty() {
        let error = UnitError::new(format!("{} has no unit", quote(text)));
        // Repeat the number in the suggestion only if it is short.
        let short = if number.len() <= 24 { (quantity.guess)(number) } else { format!("`{}`", quantity.example) };
        return Err(error.help(format!("did you mean {short}? (units of {}: {})", quantity.name, quantity.units)));
    }
    Ok((number, unit))
}

/// Returns the length of the number at the start of a text: sign, digits, points, exponent.
pub(crate) fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        match bytes[end] {
            b'0'..=b'9' | b'.' | b'_' => end += 1,
            // A minus sign is accepted here, so that the message can state that the number is negative.
            b'+' | b'-' if end == 0 => end += 1,
            b'e' | b'E' if end > 0 => {
                let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
                // In `5e`, the e belongs to the unit, not to an exponent.
                match bytes.get(end + 1 + sign) {
                    Some(b'0'..=b'9') => end += 2 + sign,
                    _ => break,
                }
            }
            _ => break,
        }
    }
    end
}

/// Multiplies the number by the factor of its unit. The result must be a whole number of the base unit.
fn whole(text: &str, number: &str, factor: u128, quantity: Quantity) -> Result<u64, UnitError> {
    let value = Decimal::parse(number).map_err(|why| match why {
        NotDecimal::Malformed => UnitError::new(format!("{} is not a number in {}", quote(number), quote(text))),
        NotDecimal::Negative => UnitError::new(format!("{} cannot be negative: {}", quantity.name, quote(text))),
        NotDecimal::TooLong => UnitError::new(format!("{} has too many digits", quote(text))),
    })?;
    value.times_exactly(factor).map_err(|why| match why {
        NotWhole::Fraction => UnitError::new(format!("{} is not a whole number of {}", quote(text), quantity.finest)),
        NotWhole::TooLarge => too_large(text),
    })
}

fn too_large(text: &str) -> UnitError {
    UnitError::new(format!("{} is too large", quote(text)))
}

fn rate_factor(unit: &str) -> Option<u128> {
    // A capital B means bytes. The error message then suggests the rate in bits.
    if unit.contains('B') {
        return None;
    }
    // Ignore the case of bit units: `mbit/s` can only mean Mbit/s.
    match unit.to_ascii_lowercase().as_str() {
        "bit/s" | "bits/s" | "b/s" | "bit" | "bps" => Some(1),
        "kbit/s" | "kbits/s" | "kb/s" | "kbit" | "kbps" | "k" => Some(1_000),
        "mbit/s" | "mbits/s" | "mb/s" | "mbit" | "mbps" | "m" => Some(1_000_000),
        "gbit/s" | "gbits/s" | "gb/s" | "gbit" | "gbps" | "g" => Some(1_000_000_000),
        _ => None,
    }
}

fn wrong_rate_unit(text: &str, number: &str, unit: &str) -> UnitError {
    // `2.4 MB/s` is a rate in bytes: convert it for the suggestion.
    let factor = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")).and_then(size_factor);
    if let Some(bps) = factor.and_then(|factor| whole(text, number, factor * 8, RATE).ok()) {
        let rate = format_rate(BitRate::from_bps(bps));
        return UnitError::new(format!("{} is in bytes, but rates are in bits", quote(text)))
            .help(format!("did you mean `{rate}`?"));
    }
    let error = UnitError::new(format!("unknown unit {} for a rate in {}", quote(unit), quote(text)));
    error.help(format!("use {}", RATE.units))
}

fn span_factor(unit: &str) -> Option<u128> {
    match unit {
        "ns" => Some(1),
        // Unicode has two characters for the micro sign.
        "us" | "\u{b5}s" | "\u{3bc}s" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" | "sec" | "second" | "seconds" => Some(1_000_000_000),
        "min" | "minute" | "minutes" => Some(60_000_000_000),
        "h" | "hour" | "hours" => Some(3_600_000_000_000),
        _ => None,
    }
}

fn size_factor(unit: &str) -> Option<u128> {
    match unit {
        "B" | "byte" | "bytes" | "octets" => Some(1),
        "kB" => Some(1_000),
        "MB" => Some(1_000_000),
        "GB" => Some(1_000_000_000),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        _ => None,
    }
}

fn wrong_size_unit(text: &str, number: &str, unit: &str, name: &str, units: &str) -> UnitError {
    let error = UnitError::new(format!("unknown unit {} for {name} in {}", quote(unit), quote(text)));
    let help = match unit {
        "b" => format!("did you mean `{number} B` (bytes)?"),
        "kb" | "Kb" => {
            format!("did you mean `{number} kB` (1000 bytes each) or `{number} kbit` (a rate would be kbit/s)?")
        }
        "mb" | "Mb" => format!("did you mean `{number} MB` (1000000 bytes each)?"),
        "gb" | "Gb" => format!("did you mean `{number} GB` (1000000000 bytes each)?"),
        "KB" | "K" | "k" => {
            format!("did you mean `{number} kB` (1000 bytes each) or `{number} KiB` (1024 bytes each)?")
        }
        "M" => format!("did you mean `{number} MB` or `{number} MiB`?"),
        "bit" | "kbit" | "Mbit" | "Gbit" => "sizes are in bytes: divide by 8".to_owned(),
        _ => match unit.strip_prefix('-') {
            Some(end) if end.starts_with(|letter: char| letter.is_ascii_digit()) => {
                format!("in a sweep, write the range as `{number}..{end}`")
            }
            _ => format!("use {units}"),
        },
    };
    error.help(help)
}

#[cfg(test)]
mod tests;
