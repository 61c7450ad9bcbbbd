//! Quantities as people write them, `"2.4 Mbit/s"` or `2.4M`, into exact integers, and back.
//!
//! Case is forgiven where only one reading makes sense (`mbit/s`), never where two do (`kb`: kilobytes or kilobits?).
//! Prefixes are decimal (k = 1000) and `Ki`, `Mi`, `Gi` binary. A number without a unit, or finer than the unit of
//! account (bit/s, nanosecond, byte), is refused. Left out: compound times ("1 min 30 s"), bytes per second as a rate.

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

/// Why a text is not the quantity that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    pub message: String,
    /// What was probably meant.
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

/// A kind of quantity, for messages.
#[derive(Clone, Copy)]
pub(crate) struct Quantity {
    /// With its article: "a rate".
    pub name: &'static str,
    /// The units, as offered in messages.
    pub units: &'static str,
    pub example: &'static str,
    /// The unit of account, in the plural.
    finest: &'static str,
    /// For a bare number, what may have been meant.
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

/// A rate in bits per second: `"2.4 Mbit/s"`, `"196 kbit/s"`, `"2.4M"`. Zero is refused.
///
/// # Errors
/// If the text is no number with such a unit, or no whole number of the unit of account.
pub fn parse_rate(text: &str) -> Result<BitRate, UnitError> {
    let (number, unit) = split(text, RATE)?;
    let Some(factor) = rate_factor(unit) else {
        return Err(wrong_rate_unit(text, number, unit));
    };
    match whole(text, number, factor, RATE)? {
        0 => Err(UnitError::new(format!("{} is no rate: nothing would ever pass", quote(text)))),
        MOST_RATE.. => Err(UnitError::new(format!("{} is beyond any line: at most 10 Tbit/s", quote(text)))),
        bps => Ok(BitRate::from_bps(bps)),
    }
}

/// A length of time: `"200 ms"`, `"1.5 s"`, `"4 min"`, `"30 us"`.
///
/// # Errors
/// If the text is no number with such a unit, or no whole number of the unit of account.
pub fn parse_span(text: &str) -> Result<Duration, UnitError> {
    let (number, unit) = split(text, SPAN)?;
    let Some(factor) = span_factor(unit) else {
        let error = UnitError::new(format!("unknown unit {} of a time in {}", quote(unit), quote(text)));
        return Err(match unit {
            "m" => error.help(format!("did you mean `{number} min` or `{number} ms`?")),
            _ => error.help(format!("times are in {}", SPAN.units)),
        });
    };
    Ok(Duration::from_nanos(whole(text, number, factor, SPAN)?))
}

/// A number of octets: `"1500 B"`, `"75 kB"`, `"64 KiB"`.
///
/// # Errors
/// If the text is no number with such a unit, or no whole number of the unit of account.
pub fn parse_size(text: &str) -> Result<Bytes, UnitError> {
    let (number, unit) = split(text, SIZE)?;
    let Some(factor) = size_factor(unit) else {
        return Err(wrong_size_unit(text, number, unit, "a size", SIZE.units));
    };
    Ok(Bytes::new(whole(text, number, factor, SIZE)?))
}

/// A window in segments or octets: `"10 segments"`, `"64 KiB"`.
///
/// # Errors
/// If the text is no number with such a unit, or no whole number of the unit of account.
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

/// Just above 10 Tbit/s. Below it no sum of bits and nanoseconds overflows.
const MOST_RATE: u64 = 10_000_000_000_001;

/// Runs have far fewer packets than the inverse of this.
const LEAST_PROBABILITY: f64 = 1e-12;

/// A probability: `"1 %"`, `"0.01"`.
///
/// # Errors
/// If the text is no number from 0 to 1, or a smaller one than 10^-12 that is not 0.
pub fn parse_probability(text: &str) -> Result<f64, UnitError> {
    let trimmed = text.trim();
    let (number, percent) = match trimmed.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (trimmed, false),
    };
    let no_probability = || {
        UnitError::new(format!("{} is no probability", quote(text)))
            .help("write a number from 0 to 1 or a percentage such as `1 %`")
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
    if float != 0.0 && float < LEAST_PROBABILITY {
        return Err(UnitError::new(format!("{} is less than any run could show", quote(text))).help("write 0"));
    }
    if float <= 1.0 {
        return Ok(float);
    }
    let error = UnitError::new(format!("a probability cannot exceed 1: {}", quote(text)));
    Err(if percent { error } else { error.help(format!("did you mean `{number} %`?")) })
}

/// The largest of bit/s, kbit/s, Mbit/s, Gbit/s that leaves no fraction below one, exactly.
pub fn format_rate(rate: BitRate) -> String {
    let bps = rate.as_bps();
    match bps {
        1_000_000_000.. => format!("{} Gbit/s", format_scaled(bps, 9)),
        1_000_000.. => format!("{} Mbit/s", format_scaled(bps, 6)),
        1_000.. => format!("{} kbit/s", format_scaled(bps, 3)),
        _ => format!("{bps} bit/s"),
    }
}

/// The largest of ns, us, ms, s that leaves no fraction below one, exactly.
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

/// Octets, in a larger unit where they are a whole number of it.
pub fn format_size(size: Bytes) -> String {
    let octets = size.get();
    // Below ten thousand the plain number reads best: "1500 B".
    if octets >= 10_000 {
        for (step, unit) in [(1_000_000, "MB"), (1 << 20, "MiB"), (1_000, "kB"), (1 << 10, "KiB")] {
            if octets % step == 0 {
                return format!("{} {unit}", octets / step);
            }
        }
    }
    format!("{octets} B")
}

/// A time in seconds as an exact decimal number.
pub(crate) fn seconds(nanos: u64) -> String {
    format_scaled(nanos, 9)
}

/// Links run from kilobits to gigabits: a small bare number is one of megabits.
fn guess_rate(number: &str) -> String {
    match Decimal::parse(number).ok().and_then(|value| value.times_down(1)) {
        Some(0..1_000) => format!("`{number} Mbit/s` or `{number} kbit/s`"),
        Some(1_000..100_000) => format!("`{number} kbit/s`"),
        _ => format!("`{number} bit/s`"),
    }
}

/// The number and the unit of a quantity; the unit is what follows the last digit.
fn split(text: &str, quantity: Quantity) -> Result<(&str, &str), UnitError> {
    let trimmed = text.trim();
    let example = format!("write {} such as `{}`", quantity.name, quantity.example);
    if trimmed.is_empty() {
        return Err(UnitError::new(format!("{} is missing: the text is empty", quantity.name)).help(example));
    }
    let end = number_end(trimmed);
    let (number, unit) = (&trimmed[..end], trimmed[end..].trim_start());
    if number.is_empty() {
        return Err(UnitError::new(format!("{} has no number to be {}", quote(text), quantity.name)).help(example));
    }
    if unit.is_empty() {
        let error = UnitError::new(format!("{} has no unit", quote(text)));
        // A number that is none, such as `nan`, was refused above or will be; only digits are worth a guess.
        let short = if number.len() <= 24 { (quantity.guess)(number) } else { format!("`{}`", quantity.example) };
        return Err(error.help(format!("did you mean {short}? ({} is in {})", quantity.name, quantity.units)));
    }
    Ok((number, unit))
}

/// Where the number ends that a text begins with: signs, digits, points, and an exponent only if digits follow it.
pub(crate) fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        match bytes[end] {
            b'0'..=b'9' | b'.' | b'_' => end += 1,
            b'+' | b'-' if end == 0 => end += 1,
            b'e' | b'E' if end > 0 => {
                let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
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

/// The number times the unit's factor, which must be a whole number of the unit of account.
fn whole(text: &str, number: &str, factor: u128, quantity: Quantity) -> Result<u64, UnitError> {
    let value = Decimal::parse(number).map_err(|why| match why {
        NotDecimal::Malformed => UnitError::new(format!("{} is no number in {}", quote(number), quote(text))),
        NotDecimal::Negative => UnitError::new(format!("{} cannot be negative: {}", quantity.name, quote(text))),
        NotDecimal::TooLong => UnitError::new(format!("{} has too many digits", quote(text))),
    })?;
    value.times_exactly(factor).map_err(|why| match why {
        NotWhole::Fraction => UnitError::new(format!("{} is not a whole number of {}", quote(text), quantity.finest)),
        NotWhole::TooLarge => too_large(text),
    })
}

fn too_large(text: &str) -> UnitError {
    UnitError::new(format!("{} is larger than can be held", quote(text)))
}

fn rate_factor(unit: &str) -> Option<u128> {
    // A capital B is bytes: refused below, with the rate in bits.
    if unit.contains('B') {
        return None;
    }
    match unit.to_ascii_lowercase().as_str() {
        "bit/s" | "bits/s" | "b/s" | "bit" | "bps" => Some(1),
        "kbit/s" | "kbits/s" | "kb/s" | "kbit" | "kbps" | "k" => Some(1_000),
        "mbit/s" | "mbits/s" | "mb/s" | "mbit" | "mbps" | "m" => Some(1_000_000),
        "gbit/s" | "gbits/s" | "gb/s" | "gbit" | "gbps" | "g" => Some(1_000_000_000),
        _ => None,
    }
}

fn wrong_rate_unit(text: &str, number: &str, unit: &str) -> UnitError {
    let factor = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")).and_then(size_factor);
    if let Some(bps) = factor.and_then(|factor| whole(text, number, factor * 8, RATE).ok()) {
        let rate = format_rate(BitRate::from_bps(bps));
        return UnitError::new(format!("{} counts bytes; rates are in bits", quote(text)))
            .help(format!("did you mean `{rate}`?"));
    }
    let error = UnitError::new(format!("unknown unit {} of a rate in {}", quote(unit), quote(text)));
    error.help(format!("rates are in {}", RATE.units))
}

fn span_factor(unit: &str) -> Option<u128> {
    match unit {
        "ns" => Some(1),
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
    let error = UnitError::new(format!("unknown unit {} of {name} in {}", quote(unit), quote(text)));
    let help = match unit {
        "b" => format!("did you mean `{number} B` (bytes)?"),
        "kb" | "Kb" => {
            format!("did you mean `{number} kB` (1000 bytes each) or `{number} kbit` (a rate would be kbit/s)?")
        }
        "mb" | "Mb" => format!("did you mean `{number} MB` (a million bytes each)?"),
        "gb" | "Gb" => format!("did you mean `{number} GB` (a thousand million bytes each)?"),
        "KB" | "K" | "k" => {
            format!("did you mean `{number} kB` (1000 bytes each) or `{number} KiB` (1024 bytes each)?")
        }
        "M" => format!("did you mean `{number} MB` or `{number} MiB`?"),
        "bit" | "kbit" | "Mbit" | "Gbit" => "sizes are in bytes: divide by eight".to_owned(),
        _ => format!("write it in {units}"),
    };
    error.help(help)
}

#[cfg(test)]
mod tests;
