//! Placeholders: a receiver behind a lossy channel acknowledges missing data, so that a loss on the channel does not
//! count as congestion ("compatible TCP", Havey 2015, section 3.3.3). The application must fetch the missing ranges
//! itself.
//!
//! The receiver hides only the expected loss. If more data is lost in a round trip, the receiver sends normal duplicate
//! ACKs until a round trip with less loss.
//!
//! Deviation from the dissertation: the receiver hides losses up to `margin` standard deviations above the expected
//! loss, because half of the round trips exceed the expected loss. A margin of 0 is the dissertation's rule.

use lopsided_core::{Duration, Time};
use std::ops::Range;

/// RTT that is assumed before the first RTT sample.
const UNKNOWN_RTT: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Placeholders {
    /// Expected share of the bytes that the channel loses, from 0 to 1.
    expected: f64,
    /// The receiver hides losses up to this number of standard deviations above the expected loss.
    margin: u32,
    /// True while the loss exceeds the margin. The receiver then sends normal duplicate ACKs for gaps.
    normal: bool,
    /// End of the data received so far, as a stream offset.
    seen: u64,
    window: Window,
    /// Number of stream bytes that the previous round trip covered.
    last_octets: u64,
    /// Ranges of placeholders since the last call of [`Placeholders::take`].
    filled: Vec<Range<u64>>,
    /// Total number of placeholder bytes.
    pub octets: u64,
}

/// Counts since the current round trip began.
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

    /// Records the arrival of the bytes `[start, end)`. Returns true if the gap before these bytes should be filled
    /// with placeholders.
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
        // Early in a round trip few bytes have arrived, so one loss would exceed the margin. Use the number of bytes of
        // the previous round trip if it is larger.
        self.normal |= self.passes(self.window.octets.max(self.last_octets), mss);
        !self.normal
    }

    /// True if the missing bytes exceed the expected loss among `octets` bytes by more than the margin.
    fn passes(&self, octets: u64, mss: u32) -> bool {
        let (segments, missing) = (octets as f64 / f64::from(mss), self.window.missing as f64 / f64::from(mss));
        let spread = (segments * self.expected * (1.0 - self.expected)).sqrt();
        missing > segments * self.expected + f64::from(self.margin) * spread
    }

    /// Records a range that was filled with placeholders.
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

    /// Simulates a round trip of 100 segments in which every `nth` segment is lost. Returns true if the last gap was
    /// filled.
    fn round(placeholders: &mut Placeholders, number: u64, nth: u64) -> bool {
        let mut fills = false;
        for segment in (number * 100..(number + 1) * 100).filter(|segment| segment % nth != nth - 1) {
            let now = Time::ZERO + Duration::from_micros(400 * segment);
            fills = placeholders.fills(now, RTT, segment * 1000, (segment + 1) * 1000, MSS);
        }
        fills
    }

    #[test]
    fn expected_losses_are_filled_and_further_losses_are_left_to_congestion_control() {
        let mut placeholders = Placeholders::new(0.1, 4);
        assert!(round(&mut placeholders, 0, 10) && round(&mut placeholders, 1, 10));
        // One third of 100 segments is lost, which is more than the expected 10 segments plus 4 standard deviations of
        // 3 segments.
        assert!(!round(&mut placeholders, 2, 3));
        // The receiver hides losses again only after a complete round trip with less loss.
        assert!(!round(&mut placeholders, 3, 10));
        assert!(round(&mut placeholders, 4, 10));
    }

    #[test]
    fn with_a_margin_of_zero_the_first_loss_above_the_expected_rate_counts() {
        let mut placeholders = Placeholders::new(0.01, 0);
        assert!(round(&mut placeholders, 0, 1_000_000));
        assert!(!round(&mut placeholders, 1, 30));
    }

    /// The number of losses among n segments has the standard deviation sqrt(n p (1 - p)).
    #[test]
    fn the_margin_counts_standard_deviations() {
        let passes = |missing| {
            let mut placeholders = Placeholders::new(0.1, 4);
            placeholders.window.missing = missing * u64::from(MSS);
            placeholders.passes(100 * u64::from(MSS), MSS)
        };
        // 10 expected losses plus 4 times sqrt(9).
        assert_eq!([21, 22, 23].map(passes), [false, false, true]);
    }

    #[test]
    fn adjacent_ranges_are_joined_and_all_octets_counted() {
        let mut placeholders = Placeholders::new(0.1, 4);
        for range in [0..10, 10..30, 40..50] {
            placeholders.note(range);
        }
        assert_eq!((placeholders.take(), placeholders.octets), (vec![0..30, 40..50], 40));
    }
}
