//! A histogram with logarithmic buckets. It needs little memory, and its quantiles are accurate to within 3 %.

/// Number of buckets per factor of 2.
const PER_DOUBLING: f64 = 16.0;

/// Bounds between the buckets of the values from 1 to 2: `2^((k + 0.5) / 16)`.
const BOUNDS: [f64; 16] = [
    1.0218971486541166,
    1.0671404006768237,
    1.1143867425958924,
    1.1637248587775775,
    1.215247359980469,
    1.2690509571917332,
    1.3252366431597413,
    1.383909881963832,
    1.4451808069770467,
    1.5091644275934228,
    1.5759808451078865,
    1.645755478153965,
    1.718619298122478,
    1.7947090750031072,
    1.8741676341103,
    1.9571441241754002,
];

/// For each sixteenth of the values from 1 to 2, the number of bounds at or below its start.
const BELOW: [u8; 16] = {
    let mut below = [0; 16];
    let mut part = 0;
    while part < 16 {
        while BOUNDS[below[part] as usize] <= 1.0 + part as f64 / 16.0 {
            below[part] += 1;
        }
        part += 1;
    }
    below
};

/// A histogram of positive values, in buckets whose bounds grow by 4.4 %.
///
/// # Examples
///
/// ```
/// use lopsided_capture::Sketch;
///
/// let mut waits_ms = Sketch::default();
/// (1..=100).for_each(|ms| waits_ms.add(f64::from(ms)));
/// assert!((waits_ms.quantile(0.5) - 50.0).abs() < 0.03 * 50.0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// Bucket and count, ordered by bucket. Empty buckets are not stored.
    buckets: Vec<(i16, u32)>,
    /// Index of the bucket of the latest value.
    latest: u32,
}

impl Sketch {
    /// A histogram without values.
    pub(crate) const EMPTY: Sketch = Sketch { buckets: Vec::new(), latest: 0 };

    /// Adds a value. Zero, negative values and NaN count as 0.
    pub fn add(&mut self, value: f64) {
        let bucket = if value > 0.0 { bucket(value) } else { i16::MIN };
        // Successive values are often in the same bucket.
        if let Some((_, count)) = self.buckets.get_mut(self.latest as usize).filter(|(latest, _)| *latest == bucket) {
            *count = count.saturating_add(1);
            return;
        }
        let found = self.buckets.binary_search_by_key(&bucket, |(bucket, _)| *bucket);
        match found {
            Ok(place) => self.buckets[place].1 = self.buckets[place].1.saturating_add(1),
            Err(place) => self.buckets.insert(place, (bucket, 1)),
        }
        self.latest = found.unwrap_or_else(|place| place) as u32;
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// Returns the quantile `share` (0 to 1), accurate to within 3 %; NaN without values.
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = (share * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in &self.buckets {
            seen += u64::from(*count);
            if seen >= wanted {
                return value(*bucket);
            }
        }
        f64::NAN
    }

    /// Returns the share of values above `bound`; NaN without values.
    pub fn share_above(&self, bound: f64) -> f64 {
        let above: u64 =
            self.buckets.iter().filter(|(bucket, _)| value(*bucket) > bound).map(|(_, count)| u64::from(*count)).sum();
        above as f64 / self.count() as f64
    }

    /// Returns the most frequent value (within about 10 %) and its share of all values. `None` without positive values.
    pub fn mode(&self) -> Option<(f64, f64)> {
        let near = |centre: i16| -> u64 {
            self.buckets
                .iter()
                .filter(|(bucket, _)| (i32::from(*bucket) - i32::from(centre)).abs() <= 2)
                .map(|(_, count)| u64::from(*count))
                .sum()
        };
        let real = self.buckets.iter().filter(|(bucket, _)| *bucket > i16::MIN + 2);
        let (bucket, count) = real.map(|(bucket, _)| (*bucket, near(*bucket))).max_by_key(|(_, count)| *count)?;
        Some((value(bucket), count as f64 / self.count() as f64))
    }
}

/// Returns `log2(value) * PER_DOUBLING`, rounded. A look-up in a table is much faster than a logarithm, and each packet
/// adds several values.
fn bucket(value: f64) -> i16 {
    let bits = value.to_bits();
    // IEEE 754: 11 bits of exponent with a bias of 1,023, then 52 bits of fraction.
    let exponent = (bits >> 52) as i32 - 1023;
    let fraction = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // Each sixteenth contains at most two bounds.
    let below = usize::from(BELOW[(bits >> 48) as usize & 15]);
    let above = |place: usize| i32::from(BOUNDS.get(place).is_some_and(|bound| fraction >= *bound));
    let within = below as i32 + above(below) + above(below + 1);
    (exponent * PER_DOUBLING as i32 + within) as i16
}

/// Returns the value at the centre of a bucket.
fn value(bucket: i16) -> f64 {
    if bucket == i16::MIN { 0.0 } else { libm::exp2(f64::from(bucket) / PER_DOUBLING) }
}

#[cfg(test)]
mod tests {
    use super::{PER_DOUBLING, bucket};

    #[test]
    fn the_table_returns_the_rounded_logarithm() {
        for step in -4_000..4_000 {
            let value = libm::exp2(f64::from(step) / 37.3);
            assert_eq!(bucket(value), (libm::log2(value) * PER_DOUBLING).round() as i16, "{value}");
        }
    }
}
