//! Placeholders: a receiver whose channel loses segments acknowledges what is missing, so that the sender does not take
//! a loss of the channel for congestion ("compatible TCP", Havey 2015, section 3.3.3). The application learns which
//! octets it has not got, and fetches them itself.
//!
//! Only as much is hidden as the channel is known to lose. In each round trip the octets that were missing when later
//! ones came are counted. Where they pass what is expected, the receiver is in its normal state and lets duplicate ACKs
//! go out, so that congestion control acts; after a round trip with less it puts placeholders again.
//!
//! Chosen here: the dissertation compares the measured with the expected rate, which a channel that loses just as
//! expected would exceed in half of the round trips. `margin` standard deviations of so many independent losses are
//! added; 0 is the literal rule. A round trip that passes already what a whole one may lose need not end first. What
//! arrives late, in the place of a placeholder, is a duplicate.
//!
//! Left out: a segment that is lost at the end of what is sent leaves no hole, and is for the sender's timer.

use lopsided_core::{Duration, Time};
use std::ops::Range;

/// A round trip, where none has been measured.
const UNKNOWN_RTT: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Placeholders {
    /// The part of the octets that the channel loses.
    expected: f64,
    /// Standard deviations above it.
    margin: u32,
    normal: bool,
    /// The end of what was seen of the stream.
    seen: u64,
    window: Window,
    /// Octets of the window before.
    last_octets: u64,
    /// Ranges of the stream that were filled and have not been told.
    filled: Vec<Range<u64>>,
    pub octets: u64,
}

/// What was counted since the round trip began.
#[derive(Debug, Default)]
struct Window {
    began: Option<Time>,
    octets: u64,
    missing: u64,
}

impl Placeholders {
    pub fn new(expected: f64, margin: u32) -> Placeholders {
        Placeholders {
            expected,
            margin,
            normal: false,
            seen: 0,
            window: Window::default(),
            last_octets: 0,
            filled: Vec::new(),
            octets: 0,
        }
    }

    /// Octets up to `end` of the stream came; whether what is missing before them is to be filled.
    pub fn fills(&mut self, now: Time, rtt: Option<Duration>, start: u64, end: u64, mss: u32) -> bool {
        let began = *self.window.began.get_or_insert(now);
        if now.saturating_since(began) >= rtt.unwrap_or(UNKNOWN_RTT) {
            self.normal = self.passes(self.window.octets, mss);
            self.last_octets = self.window.octets;
            self.window = Window { began: Some(now), ..Window::default() };
        }
        self.window.missing += start.saturating_sub(self.seen);
        self.window.octets += end.saturating_sub(self.seen);
        self.seen = self.seen.max(end);
        self.normal |= self.passes(self.window.octets.max(self.last_octets), mss);
        !self.normal
    }

    /// Whether more is missing than so many octets may lose.
    fn passes(&self, octets: u64, mss: u32) -> bool {
        let (segments, missing) = (octets as f64 / f64::from(mss), self.window.missing as f64 / f64::from(mss));
        let spread = (segments * self.expected * (1.0 - self.expected)).sqrt();
        missing > segments * self.expected + f64::from(self.margin) * spread
    }

    /// A range was filled.
    pub fn note(&mut self, range: Range<u64>) {
        self.octets += range.end - range.start;
        match self.filled.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.filled.push(range),
        }
    }

    pub fn take(&mut self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;
    const RTT: Option<Duration> = Some(Duration::from_millis(40));

    /// A round trip of a hundred segments of which every `nth` is missing: whether the last hole was filled.
    fn round(placeholders: &mut Placeholders, number: u64, nth: u64) -> bool {
        let mut fills = false;
        for segment in (number * 100..(number + 1) * 100).filter(|segment| segment % nth != nth - 1) {
            let now = Time::ZERO + Duration::from_micros(400 * segment);
            fills = placeholders.fills(now, RTT, segment * 1000, (segment + 1) * 1000, MSS);
        }
        fills
    }

    #[test]
    fn what_is_expected_is_filled_and_more_is_left_for_congestion_control() {
        let mut placeholders = Placeholders::new(0.1, 4);
        assert!(round(&mut placeholders, 0, 10) && round(&mut placeholders, 1, 10));
        // A third is lost: more than 10 and four times 3 of a hundred.
        assert!(!round(&mut placeholders, 2, 3));
        // Only the round trip after one with less is filled again.
        assert!(!round(&mut placeholders, 3, 10));
        assert!(round(&mut placeholders, 4, 10));
    }

    #[test]
    fn by_the_literal_rule_the_first_loss_above_the_rate_counts() {
        let mut placeholders = Placeholders::new(0.01, 0);
        assert!(round(&mut placeholders, 0, 1_000_000));
        assert!(!round(&mut placeholders, 1, 30));
    }
}
