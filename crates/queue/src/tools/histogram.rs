//! A histogram of durations. Larger durations have wider buckets, so both the relative error and the memory are
//! bounded.

use lopsided_core::Duration;

/// Number of bits after a value's leading bit that select the value's bucket. With 6 bits, the middle of a bucket
/// differs from the values in the bucket by at most 0.8 %.
const MANTISSA_BITS: u32 = 6;

/// Base-2 logarithm of the number of buckets per page. Memory is allocated in pages.
const PAGE_BITS: u32 = 3;
const PAGE: usize = 1 << PAGE_BITS;

/// A histogram of durations. Durations below 128 ns are exact; longer durations have an error of at most 0.8 %.
///
/// Only pages with a non-zero count have counters. Counters have 8 bits, because most buckets of a large network count a
/// few durations. Their overflows are counted separately. A histogram takes from a few hundred bytes to 30 kB.
///
/// # Examples
///
/// ```
/// use lopsided_core::Duration;
/// use lopsided_queue::Histogram;
///
/// let mut sojourns = Histogram::default();
/// (1..=100).for_each(|ns| sojourns.add(Duration::from_nanos(ns)));
/// assert_eq!(sojourns.quantile(0.95), Some(Duration::from_nanos(95)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Number of durations that are zero.
    zeros: u32,
    /// Number of the first page in `pages`.
    first: u32,
    /// For each page from `first` on, the index of its counters in `counts`; [`NOWHERE`] if the page has no counters.
    pages: Vec<u16>,
    /// The counters of the allocated pages.
    counts: Vec<[u8; PAGE]>,
    /// The buckets that have overflowed in ascending order, each with the number of its overflows.
    #[expect(clippy::box_collection, reason = "many histograms have none")]
    overflows: Option<Box<Vec<(u16, u32)>>>,
}

/// Marks a page without counters.
const NOWHERE: u16 = u16::MAX;

impl Histogram {
    /// Counts a duration.
    #[inline]
    pub fn add(&mut self, span: Duration) {
        if span.is_zero() {
            self.zeros += 1;
            return;
        }
        let bucket = bucket(span.as_nanos());
        let counter = self.counter(bucket);
        *counter = counter.wrapping_add(1);
        if *counter == 0 {
            self.overflow(bucket, 1);
        }
    }

    /// Adds `times` durations of zero.
    pub fn add_zeros(&mut self, times: u32) {
        self.zeros += times;
    }

    /// Adds `times` overflows of a bucket's counter.
    #[cold]
    fn overflow(&mut self, bucket: usize, times: u32) {
        let overflows = self.overflows.get_or_insert_default();
        match overflows.binary_search_by_key(&bucket, |(bucket, _)| usize::from(*bucket)) {
            Ok(found) => overflows[found].1 += times,
            Err(place) => overflows.insert(place, (bucket as u16, times)),
        }
    }

    /// Returns the counter of a bucket.
    #[inline]
    fn counter(&mut self, bucket: usize) -> &mut u8 {
        let page = (bucket >> PAGE_BITS) as u32;
        let place = match self.pages.get(page.wrapping_sub(self.first) as usize) {
            Some(&place) if place != NOWHERE => place,
            _ => self.begin_page(page),
        };
        &mut self.counts[usize::from(place)][bucket % PAGE]
    }

    /// Allocates the counters of a page.
    #[cold]
    fn begin_page(&mut self, page: u32) -> u16 {
        if self.pages.is_empty() {
            self.first = page;
        }
        // `pages` rarely grows at its front, because few durations are shorter than all earlier durations.
        if page < self.first {
            self.pages.splice(0..0, std::iter::repeat_n(NOWHERE, (self.first - page) as usize));
            self.first = page;
        }
        let at = (page - self.first) as usize;
        if at >= self.pages.len() {
            self.pages.reserve_exact(at + 1 - self.pages.len());
            self.pages.resize(at + 1, NOWHERE);
        }
        let place = self.counts.len() as u16;
        if self.counts.len() == self.counts.capacity() {
            // Grow by 25 % instead of doubling, because most queues need few pages.
            self.counts.reserve_exact(1 + self.counts.len() / 4);
        }
        self.counts.push([0; PAGE]);
        self.pages[at] = place;
        place
    }

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        let counters = self.counts.iter().flatten().map(|times| u64::from(*times)).sum::<u64>();
        let overflows = self.overflows.iter().flat_map(|list| list.iter()).map(|(_, times)| u64::from(*times));
        u64::from(self.zeros) + counters + (overflows.sum::<u64>() << u8::BITS)
    }

    /// Returns the smallest duration `d` such that at least the fraction `fraction` of all durations is at most `d`.
    /// The result is rounded to the middle of its bucket. `None` if the histogram is empty.
    pub fn quantile(&self, fraction: f64) -> Option<Duration> {
        let count = self.count();
        // Nearest-rank method, without interpolation.
        let rank = ((fraction * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut seen = u64::from(self.zeros);
        if seen >= rank {
            return Some(Duration::ZERO);
        }
        let (found, _) = self.buckets().find(|(_, times)| {
            seen += times;
            seen >= rank
        })?;
        Some(Duration::from_nanos(middle(found)))
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.zeros += other.zeros;
        for (bucket, times) in other.buckets() {
            let counter = self.counter(bucket);
            let sum = u64::from(*counter) + times;
            *counter = sum as u8;
            let overflows = (sum >> u8::BITS) as u32;
            if overflows > 0 {
                self.overflow(bucket, overflows);
            }
        }
    }

    /// Returns the non-empty buckets and their counts, in ascending order.
    fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let used = self.pages.iter().enumerate().filter(|(_, place)| **place != NOWHERE);
        let all = used.flat_map(move |(at, place)| {
            let begins = (self.first as usize + at) << PAGE_BITS;
            let counts = self.counts[usize::from(*place)].iter().enumerate();
            counts.map(move |(within, times)| (begins + within, self.times(begins + within, *times)))
        });
        all.filter(|(_, times)| *times > 0)
    }
}

impl Histogram {
    /// Returns the count of a bucket: its 8-bit counter plus 2^8 for each overflow.
    fn times(&self, bucket: usize, counter: u8) -> u64 {
        let found = |overflows: &Vec<(u16, u32)>| {
            let found = overflows.binary_search_by_key(&bucket, |(bucket, _)| usize::from(*bucket)).ok()?;
            Some(overflows[found].1)
        };
        let overflows = self.overflows.as_deref().and_then(found).unwrap_or(0);
        u64::from(overflows) << u8::BITS | u64::from(counter)
    }
}

/// Returns the bucket of a value. Buckets below 128 have width 1. Above 128, the width doubles with each octave.
#[inline]
fn bucket(value: u64) -> usize {
    let lowest = 1 << MANTISSA_BITS;
    let shift = 63 - (value | lowest).leading_zeros() - MANTISSA_BITS;
    ((shift as usize) << MANTISSA_BITS) + (value >> shift) as usize
}

/// Returns the middle of a bucket's values.
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
    fn add_zeros_equals_repeated_additions_of_zero() {
        let (mut at_once, mut one_by_one) = (Histogram::default(), Histogram::default());
        for histogram in [&mut at_once, &mut one_by_one] {
            histogram.add(Duration::from_nanos(70));
        }
        at_once.add_zeros(3);
        (0..3).for_each(|_| one_by_one.add(Duration::ZERO));
        assert_eq!((at_once.count(), one_by_one.count()), (4, 4));
        for fraction in [0.25, 0.5, 0.75, 1.0] {
            assert_eq!(at_once.quantile(fraction), one_by_one.quantile(fraction));
        }
    }

    #[test]
    fn quantiles_do_not_depend_on_order_or_merging() {
        let spans = [500_000, 0, 70, 3, 0, 1, 90_000_000, 500_000];
        let of = |spans: &[u64]| {
            let mut histogram = Histogram::default();
            spans.iter().for_each(|nanos| histogram.add(Duration::from_nanos(*nanos)));
            histogram
        };
        let mut sorted = spans;
        sorted.sort_unstable();
        let mut merged = of(&spans[4..]);
        merged.merge(&of(&spans[..4]));
        for (rank, nanos) in sorted.iter().enumerate() {
            let fraction = (rank + 1) as f64 / spans.len() as f64;
            for histogram in [&of(&spans), &of(&sorted), &merged] {
                let found = histogram.quantile(fraction).unwrap().as_nanos();
                assert!(found.abs_diff(*nanos) <= nanos / 128, "{found} for {nanos}");
            }
        }
        assert_eq!(merged.count(), 8);
    }

    #[test]
    fn counters_of_8_bits_may_overflow() {
        let mut many = Histogram::default();
        (0..70_000).for_each(|_| many.add(Duration::from_nanos(5)));
        (0..70_001).for_each(|_| many.add(Duration::from_nanos(9)));
        many.add(Duration::from_nanos(50));
        let mut twice = many.clone();
        twice.merge(&many);
        for (histogram, times) in [(many, 1), (twice, 2)] {
            assert_eq!(histogram.count(), times * 140_002);
            let below = |count: u64| histogram.quantile(count as f64 / (times * 140_002) as f64).unwrap().as_nanos();
            assert_eq!((below(times * 70_000), below(times * 70_000 + 1)), (5, 9));
            assert_eq!((below(times * 140_001), below(times * 140_002)), (9, 50));
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
