//! A distribution in little memory: counts in buckets of equal ratio, for quantiles within 3 %.

/// Buckets for each doubling of the value.
const PER_DOUBLING: f64 = 16.0;

/// Counts of positive values, in buckets whose bounds grow by 4.4 %.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// Bucket and count, in order of buckets.
    buckets: Vec<(i16, u32)>,
    count: u64,
}

impl Sketch {
    /// Adds a value; values that are not positive count as the smallest one.
    pub fn add(&mut self, value: f64) {
        let bucket = if value > 0.0 { (libm::log2(value) * PER_DOUBLING).round() as i16 } else { i16::MIN };
        self.count += 1;
        match self.buckets.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(place) => self.buckets[place].1 = self.buckets[place].1.saturating_add(1),
            Err(place) => self.buckets.insert(place, (bucket, 1)),
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The value that this share of the values does not exceed; NaN without values.
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in &self.buckets {
            seen += u64::from(*count);
            if seen >= wanted {
                return value(*bucket);
            }
        }
        f64::NAN
    }

    /// Share of the values that exceed a bound; NaN without values.
    pub fn share_above(&self, bound: f64) -> f64 {
        let above: u64 =
            self.buckets.iter().filter(|(bucket, _)| value(*bucket) > bound).map(|(_, count)| u64::from(*count)).sum();
        if self.count == 0 { f64::NAN } else { above as f64 / self.count as f64 }
    }

    /// The value around which most values lie within 10 %, and the share of all values that do. `None` without values.
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
        Some((value(bucket), count as f64 / self.count as f64))
    }
}

fn value(bucket: i16) -> f64 {
    if bucket == i16::MIN { 0.0 } else { libm::exp2(f64::from(bucket) / PER_DOUBLING) }
}
