//! Queue limits as written in a scenario: packets, bytes, a time at the link's rate, or bandwidth-delay products.

use super::{Decimal, Quantity, UnitError, size_factor, span_factor, split, too_large, whole, wrong_size_unit};
use crate::error::quote;
use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_spec::Amount;

pub(crate) const LIMIT: Quantity = Quantity {
    name: "a queue limit",
    units: "packets, a size in B, kB, KiB, MB, a time in ms, or BDP",
    example: "50 packets",
    finest: "packets",
    guess: |number| format!("`{number} packets`"),
};

/// A queue limit before it is converted with the link's rate and base RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimitText {
    /// A number of packets.
    Packets(u32),
    /// A number of bytes.
    Bytes(Bytes),
    /// The number of bytes that the link sends in this time.
    Time(Duration),
    /// A number of bandwidth-delay products.
    Bdp(Decimal),
}

/// Parses a limit: `"50 packets"`, `"50p"`, `"75 kB"`, `"200 ms"` or `"1.5 BDP"`. Zero is rejected.
///
/// # Errors
/// Returns an error if the text is none of these quantities, or has no unit.
pub fn parse_queue_limit(text: &str) -> Result<QueueLimitText, UnitError> {
    let (number, unit) = split(text, LIMIT)?;
    let limit = if matches!(unit, "packets" | "packet" | "pkts" | "pkt" | "p") {
        QueueLimitText::Packets(u32::try_from(whole(text, number, 1, LIMIT)?).map_err(|_| too_large(text))?)
    } else if let Some(factor) = size_factor(unit) {
        QueueLimitText::Bytes(Bytes::new(whole(text, number, factor, super::SIZE)?))
    } else if let Some(factor) = span_factor(unit) {
        QueueLimitText::Time(Duration::from_nanos(whole(text, number, factor, super::SPAN)?))
    } else if unit.eq_ignore_ascii_case("bdp") {
        // The number of BDPs may be a fraction. If the number is malformed, `whole` returns the error.
        match Decimal::parse(number) {
            Ok(value) => QueueLimitText::Bdp(value),
            Err(_) => return Err(whole(text, number, 1, LIMIT).err().unwrap_or_else(|| too_large(text))),
        }
    } else {
        return Err(wrong_size_unit(text, number, unit, LIMIT.name, LIMIT.units));
    };
    if limit.is_zero() {
        let error = UnitError::new(format!("{} is not a valid queue limit: no packet could ever wait", quote(text)));
        return Err(error.help("the smallest limit is `1 packet`"));
    }
    Ok(limit)
}

impl QueueLimitText {
    fn is_zero(self) -> bool {
        match self {
            QueueLimitText::Packets(count) => count == 0,
            QueueLimitText::Bytes(size) => size == Bytes::ZERO,
            QueueLimitText::Time(span) => span.is_zero(),
            QueueLimitText::Bdp(products) => products.is_zero(),
        }
    }

    /// Converts the limit to packets or bytes on a line with this rate and base RTT. Bytes are rounded down.
    ///
    /// # Errors
    /// Returns an error if the limit is a time or a BDP and the line has no rate or no base RTT, or if the result is
    /// less than 1 byte.
    pub fn on_line(self, rate: Option<BitRate>, base_rtt: Option<Duration>) -> Result<Amount, UnitError> {
        let (products, span) = match self {
            QueueLimitText::Packets(count) => return Ok(Amount::Packets(count)),
            QueueLimitText::Bytes(size) => return Ok(Amount::Bytes(size)),
            QueueLimitText::Time(span) => (Decimal::ONE, span),
            QueueLimitText::Bdp(products) => (
                products,
                base_rtt.ok_or_else(|| {
                    UnitError::new("a limit in BDP needs a single base RTT, but this network can have several")
                        .help("write packets, bytes, or a time at the line's rate such as `200 ms`")
                })?,
            ),
        };
        let rate = rate.ok_or_else(|| {
            UnitError::new("this queue limit needs a rate, but the line has none").help("write packets or bytes")
        })?;
        // The unit is bit/s * ns, that is 10^-9 bits. The product of 10 Tbit/s and 10 years fits into 128 bits.
        let bits_e9 = u128::from(rate.as_bps()) * u128::from(span.as_nanos());
        let octets =
            products.times_down(bits_e9).map(|work| work / 8_000_000_000).and_then(|octets| u64::try_from(octets).ok());
        match octets {
            // A queue of 0 bytes would drop every packet.
            Some(0) => Err(UnitError::new("this queue limit is less than one byte at the line's rate")),
            Some(octets) => Ok(Amount::Bytes(Bytes::new(octets))),
            None => Err(UnitError::new("this queue limit is too large")),
        }
    }
}
