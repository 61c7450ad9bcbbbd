//! A histogram of spans with buckets that widen with the value: the relative error is bounded, the memory too.

use lopsided_core::Duration;

/// Bits of a value that its bucket keeps below the leading one: 64 buckets an octave, so a bucket is at most 1/64 of
/// its value wide and its middle at most 0.8 % off.
const MANTISSA_BITS: u32 = 6;

/// Counts of spans: exact below 128 ns, within 0.8 % above.
///
/// Holds a counter for every bucket up to the largest span seen: 6 kB for a second, 15 kB at the very most.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u32>,
}

impl Histogram {
    #[inline]
    pub fn add(&mut self, span: Duration) {
        let bucket = bucket(span.as_nanos());
        match self.counts.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.grow(bucket),
        }
    }

    #[cold]
    fn grow(&mut self, bucket: usize) {
        self.counts.resize(bucket + 1, 0);
        self.counts[bucket] = 1;
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().copied().map(u64::from).sum()
    }

    /// The smallest span that at least `fraction` of all are not above, to the bucket's middle; `None` of an empty
    /// histogram.
    pub fn quantile(&self, fraction: f64) -> Option<Duration> {
        let count = self.count();
        let rank = ((fraction * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        let found = self.counts.iter().position(|&in_bucket| {
            seen += u64::from(in_bucket);
            seen >= rank
        })?;
        Some(Duration::from_nanos(middle(found)))
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Histogram) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }
}

/// The bucket of a value: buckets are one wide below 128, then double in width with every octave.
#[inline]
fn bucket(value: u64) -> usize {
    let lowest = 1 << MANTISSA_BITS;
    let shift = 63 - (value | lowest).leading_zeros() - MANTISSA_BITS;
    ((shift as usize) << MANTISSA_BITS) + (value >> shift) as usize
}

/// The middle of a bucket's values.
fn middle(bucket: usize) -> u64 {
    let shift = (bucket >> MANTISSA_BITS).saturating_sub(1);
    let first = ((bucket - (shift << MANTISSA_BITS)) as u64) << shift;
    first + ((1u64 << shift) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_into_a_bucket_whose_middle_is_near() {
        let around_powers =
            (0..63).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1, (1 << bit) + (1 << bit) / 3]);
        for value in around_powers.chain([u64::MAX]) {
            let near = middle(bucket(value));
            assert!(near.abs_diff(value) <= value / 128, "{value} became {near}");
        }
    }

    #[test]
    fn buckets_are_contiguous() {
        let mut last = 0;
        for value in 1..100_000 {
            let here = bucket(value);
            assert!(here == last || here == last + 1, "{value}");
            last = here;
        }
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        for value in 1..=100 {
            histogram.add(Duration::from_nanos(value));
        }
        for (fraction, nanos) in [(0.0, 1), (0.01, 1), (0.5, 50), (0.501, 51), (0.95, 95), (1.0, 100)] {
            assert_eq!(histogram.quantile(fraction), Some(Duration::from_nanos(nanos)), "{fraction}");
        }
    }
}
