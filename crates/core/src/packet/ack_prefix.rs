//! The prefix of ACK compaction and companding.

use super::{OtherOptions, TcpOptions};
use crate::Duration;

/// The kind of the option that carries the prefix. A reserved kind is sufficient, because the option is removed at the
/// far end of the line.
const KIND: u8 = 252;
/// Unit of the spacing on the wire.
const TICK: Duration = Duration::from_micros(100);

/// Describes the ACKs that a filter removed in favour of the ACK with the prefix (RFC 3449, section 5.3.2). The RFC
/// specifies no format. Here the prefix is a TCP option of 8 bytes, including padding.
///
/// # Examples
///
/// ```
/// use lopsided_core::Duration;
/// use lopsided_core::packet::{AckPrefix, TcpOptions};
///
/// let prefix = AckPrefix { removed: 3, octets: 2896, spacing: Some(Duration::from_millis(2)) };
/// let mut options = TcpOptions::default();
/// prefix.write(&mut options);
/// assert_eq!((AckPrefix::of(&options), options.len()), (Some(prefix), 8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckPrefix {
    /// Number of removed ACKs.
    pub removed: u8,
    /// Mean number of bytes between two acknowledgement numbers, from the first removed ACK to the ACK with the prefix.
    pub octets: u16,
    /// Mean time between two arrivals, from the first removed ACK to the ACK with the prefix, in whole units of 100 µs.
    /// `None` if the prefix has no spacing.
    pub spacing: Option<Duration>,
}

impl AckPrefix {
    /// Returns the prefix in `options`; `None` if they contain no prefix.
    pub fn of(options: &TcpOptions) -> Option<AckPrefix> {
        let (spacing, [removed, high, low]) = match *options.other().get(KIND)? {
            [removed, high, low] => (None, [removed, high, low]),
            [removed, high, low, more, less] => {
                (Some(TICK * u64::from(u16::from_be_bytes([more, less]))), [removed, high, low])
            }
            _ => return None,
        };
        Some(AckPrefix { removed, octets: u16::from_be_bytes([high, low]), spacing })
    }

    /// Adds the prefix to options that contain only timestamps or are empty. A spacing above 6.5 s is written as 6.5 s.
    pub fn write(&self, options: &mut TcpOptions) {
        let mut data = vec![self.removed];
        data.extend(self.octets.to_be_bytes());
        if let Some(spacing) = self.spacing {
            let ticks = spacing.as_nanos() / TICK.as_nanos();
            data.extend(u16::try_from(ticks).unwrap_or(u16::MAX).to_be_bytes());
        }
        let mut other = OtherOptions::new();
        other.push(KIND, &data);
        options.set_other(other);
    }

    /// Removes the prefix from options to which [`AckPrefix::write`] added it.
    pub fn clear(options: &mut TcpOptions) {
        options.set_other(OtherOptions::new());
    }
}
