//! Formats rates for display.

/// Formats a rate in bit/s with about 3 digits.
pub(crate) fn bits(rate: f64) -> String {
    match rate {
        rate if rate >= 1e9 => format!("{:.2} Gbit/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.1} Mbit/s", rate / 1e6),
        rate if rate >= 1e3 => format!("{:.0} kbit/s", rate / 1e3),
        rate => format!("{rate:.0} bit/s"),
    }
}
