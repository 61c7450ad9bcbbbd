//! Decimal numbers without rounding. Computations use exactly the digits in the file.

/// The number `digits / 10^scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    digits: u128,
    scale: u32,
}

/// The reason why a text is not a valid decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotDecimal {
    /// The text is not a number.
    Malformed,
    /// The number is negative.
    Negative,
    /// The number has too many digits.
    TooLong,
}

/// Maximum number of digits. The product of such a number and the factor of any unit fits into 128 bits.
const MAX_DIGITS: usize = 24;
/// Maximum exponent: enough to read a printed float of 1e-12 back exactly.
const MAX_EXPONENT: i32 = 36;

impl Decimal {
    pub(crate) const ONE: Decimal = Decimal { digits: 1, scale: 0 };

    /// Parses `12`, `1.5`, `.5`, `1e3` or `1_000`. A minus sign is recognized only to produce a better error message.
    pub(crate) fn parse(text: &str) -> Result<Decimal, NotDecimal> {
        let unsigned = text.strip_prefix('+').unwrap_or(text);
        // The sign is only used for the error message.
        let (negative, unsigned) = match unsigned.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, unsigned),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: u128 = 0;
        let mut count = 0;
        let mut fraction_digits: i32 = 0;
        for (part, after_point) in [(whole, false), (fraction, true)] {
            for byte in part.bytes() {
                match byte {
                    b'0'..=b'9' => {
                        count += 1;
                        // Leading zeros do not count as digits.
                        if digits != 0 || byte != b'0' {
                            digits = digits.checked_mul(10).ok_or(NotDecimal::TooLong)? + u128::from(byte - b'0');
                            if digits >= 10u128.pow(MAX_DIGITS as u32) {
                                return Err(NotDecimal::TooLong);
                            }
                        }
                        fraction_digits += i32::from(after_point);
                        if fraction_digits > MAX_EXPONENT {
                            return Err(NotDecimal::TooLong);
                        }
                    }
                    b'_' if count > 0 => {}
                    _ => return Err(NotDecimal::Malformed),
                }
            }
        }
        if count == 0 {
            return Err(NotDecimal::Malformed);
        }
        // Accept -0, because it equals 0.
        if negative && digits != 0 {
            return Err(NotDecimal::Negative);
        }
        Decimal { digits, scale: 0 }.shifted(exponent - fraction_digits).ok_or(NotDecimal::TooLong)
    }

    /// Returns this number times `10^places`; `None` if the result has too many digits.
    pub(crate) fn shifted(self, places: i32) -> Option<Decimal> {
        if self.digits == 0 {
            return Some(Decimal { digits: 0, scale: 0 });
        }
        let places = places - self.scale as i32;
        if places >= 0 {
            let digits = self.digits.checked_mul(10u128.checked_pow(places as u32)?)?;
            return Some(Decimal { digits, scale: 0 });
        }
        let mut short = Decimal { digits: self.digits, scale: places.unsigned_abs() };
        // Remove trailing zeros, so that equal numbers have equal representations.
        while short.scale > 0 && short.digits % 10 == 0 {
            short = Decimal { digits: short.digits / 10, scale: short.scale - 1 };
        }
        (short.scale <= 2 * MAX_EXPONENT as u32).then_some(short)
    }

    pub(crate) fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// Returns this number times `factor`, or an error if the product is not a whole number.
    pub(crate) fn times_exactly(self, factor: u128) -> Result<u64, NotWhole> {
        let product = self.digits.checked_mul(factor).ok_or(NotWhole::TooLarge)?;
        let divisor = 10u128.checked_pow(self.scale).ok_or(NotWhole::Fraction)?;
        if product % divisor != 0 {
            return Err(NotWhole::Fraction);
        }
        u64::try_from(product / divisor).map_err(|_| NotWhole::TooLarge)
    }

    /// Returns this number times `factor`, rounded down; `None` on overflow.
    pub(crate) fn times_down(self, factor: u128) -> Option<u128> {
        Some(self.digits.checked_mul(factor)? / 10u128.checked_pow(self.scale)?)
    }

    pub(crate) fn plus(self, other: Decimal) -> Option<Decimal> {
        let scale = self.scale.max(other.scale);
        let lift = |d: Decimal| d.digits.checked_mul(10u128.checked_pow(scale - d.scale)?);
        Decimal { digits: lift(self)?.checked_add(lift(other)?)?, scale }.shifted(0)
    }

    pub(crate) fn times(self, other: Decimal) -> Option<Decimal> {
        Decimal { digits: self.digits.checked_mul(other.digits)?, scale: self.scale + other.scale }.shifted(0)
    }

    /// Returns true if this number is at most `other`; `None` on overflow.
    pub(crate) fn at_most(self, other: Decimal) -> Option<bool> {
        let scale = self.scale.max(other.scale);
        let lift = |d: Decimal| d.digits.checked_mul(10u128.checked_pow(scale - d.scale)?);
        Some(lift(self)? <= lift(other)?)
    }

    /// Returns the nearest `f64`.
    pub(crate) fn to_f64(self) -> f64 {
        // Use the parser of the standard library, because it rounds correctly. A floating-point division would not.
        format!("{}e-{}", self.digits, self.scale).parse().expect("digits, e and digits are a float")
    }
}

/// Prints a decimal number without trailing zeros.
impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = self.digits.to_string();
        let scale = self.scale as usize;
        if scale == 0 {
            return f.write_str(&digits);
        }
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() { f.write_str(whole) } else { write!(f, "{whole}.{fraction}") }
    }
}

/// The reason why a product cannot be returned as a 64-bit integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotWhole {
    /// The product is not an integer.
    Fraction,
    /// The product does not fit into 64 bits.
    TooLarge,
}

/// Returns `amount / 10^places` as text, without rounding.
pub(crate) fn format_scaled(amount: u64, places: u32) -> String {
    Decimal { digits: u128::from(amount), scale: places }.to_string()
}

fn parse_exponent(text: &str) -> Result<i32, NotDecimal> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NotDecimal::Malformed);
    }
    match text.strip_prefix('+').unwrap_or(text).parse::<i32>() {
        Ok(exponent) if exponent.abs() <= MAX_EXPONENT => Ok(exponent),
        _ => Err(NotDecimal::TooLong),
    }
}
