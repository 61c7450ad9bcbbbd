//! Formats quantities for display, with three significant digits and a unit. A number that is not finite becomes `–`.

const NOTHING: &str = "–";

/// Formats a rate such as `2.07 Mbit/s` or `132 kbit/s`, with three significant digits.
pub fn rate(bits_per_second: f64) -> String {
    scaled(bits_per_second, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"])
}

/// Formats a size such as `74.3 kB` or `1.50 MB`, with three significant digits.
pub fn size(octets: f64) -> String {
    scaled(octets, &["B", "kB", "MB", "GB", "TB"])
}

/// Formats a time such as `206 ms`, `1.53 s` or `42.0 µs`, with three significant digits.
pub fn millis(milliseconds: f64) -> String {
    if !milliseconds.is_finite() {
        return NOTHING.to_owned();
    }
    if milliseconds != 0.0 && milliseconds.abs() < 1.0 {
        return format!("{} µs", three_digits(milliseconds * 1e3));
    }
    if milliseconds.abs() < 999.5 {
        return format!("{} ms", three_digits(milliseconds));
    }
    format!("{} s", three_digits(milliseconds / 1e3))
}

/// Formats a share such as `93 %`, `4.2 %` or `0.31 %`, with two significant digits.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return NOTHING.to_owned();
    }
    let decimals = match share.abs() {
        size if size == 0.0 || size >= 0.0995 => 0,
        size if size >= 0.00995 => 1,
        _ => 2,
    };
    format!("{:.decimals$} %", share * 100.0)
}

/// Formats a count such as `12,345`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn scaled(mut value: f64, units: &[&str]) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    let mut step = 0;
    // From 999.5 on, rounding to three significant digits would result in 1000, so use the next larger unit.
    while value.abs() >= 999.5 && step < units.len() - 1 {
        value /= 1e3;
        step += 1;
    }
    // Whole numbers of the base unit need no decimals.
    if step == 0 && value == value.trunc() {
        return format!("{value:.0} {}", units[0]);
    }
    format!("{} {}", three_digits(value), units[step])
}

fn three_digits(value: f64) -> String {
    let size = value.abs();
    if size >= 99.95 || value == 0.0 {
        return format!("{value:.0}");
    }
    if size >= 9.995 { format!("{value:.1}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_significant_digits_and_a_unit() {
        assert_eq!(
            [rate(2_071_234.0), rate(132_000.0), rate(0.5), rate(7.0)],
            ["2.07 Mbit/s", "132 kbit/s", "0.50 bit/s", "7 bit/s"]
        );
        assert_eq!([rate(999.4), rate(999.6), rate(f64::NAN)], ["999 bit/s", "1.00 kbit/s", "–"]);
        assert_eq!(
            [millis(0.042), millis(206.4), millis(1531.0), millis(0.0)],
            ["42.0 µs", "206 ms", "1.53 s", "0 ms"]
        );
        assert_eq!([percent(0.93), percent(0.0423), percent(0.0031), percent(0.0)], ["93 %", "4.2 %", "0.31 %", "0 %"]);
        assert_eq!([count(0), count(999), count(12_345), count(1_234_567)], ["0", "999", "12,345", "1,234,567"]);
        assert_eq!(size(74_300.0), "74.3 kB");
    }
}
