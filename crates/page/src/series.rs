//! Reduces curves to the resolution of a screen: the minimum and the maximum of each pixel column.

/// A curve: times in seconds, and values. A NaN value is a gap.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curve {
    pub time_s: Vec<f64>,
    pub value: Vec<f64>,
}

impl Curve {
    pub fn push(&mut self, time_s: f64, value: f64) {
        self.time_s.push(time_s);
        self.value.push(value);
    }

    /// Returns the curve between two times, with the minimum and maximum of each of `columns` parts, and one more point
    /// at each side.
    pub fn reduced(&self, from_s: f64, to_s: f64, columns: usize) -> Curve {
        let first = self.time_s.partition_point(|time| *time < from_s).saturating_sub(1);
        let last = (self.time_s.partition_point(|time| *time <= to_s) + 1).min(self.time_s.len());
        let columns = columns.max(1);
        let mut reduced = Curve::default();
        // A curve with few points needs no reduction.
        if last.saturating_sub(first) <= 2 * columns {
            reduced.time_s.extend_from_slice(&self.time_s[first..last]);
            reduced.value.extend_from_slice(&self.value[first..last]);
            return reduced;
        }
        let scale = columns as f64 / (to_s - from_s).max(f64::MIN_POSITIVE);
        let column = |row: usize| ((self.time_s[row] - from_s) * scale).floor() as i64;
        let mut row = first;
        while row < last {
            let here = column(row);
            let (mut least, mut greatest, mut gap) = (None, None, row);
            while row < last && column(row) == here {
                let value = self.value[row];
                // The column is a gap only if it contains no value at all.
                if value.is_nan() {
                    gap = row;
                } else {
                    if least.is_none_or(|at: usize| value < self.value[at]) {
                        least = Some(row);
                    }
                    if greatest.is_none_or(|at: usize| value > self.value[at]) {
                        greatest = Some(row);
                    }
                }
                row += 1;
            }
            match (least, greatest) {
                (Some(least), Some(greatest)) => {
                    // Keep the points in the order of time, so that the line does not run backwards.
                    let (one, other) = (least.min(greatest), least.max(greatest));
                    reduced.push(self.time_s[one], self.value[one]);
                    if other > one {
                        reduced.push(self.time_s[other], self.value[other]);
                    }
                }
                _ => reduced.push(self.time_s[gap], f64::NAN),
            }
        }
        reduced
    }

    /// Converts a growing total into a rate: the growth per second over the last `window_s` seconds, times `factor`.
    pub fn growth(&self, window_s: f64, factor: f64) -> Curve {
        let mut rates = Curve::default();
        let mut behind = 0;
        for row in 0..self.time_s.len() {
            let (now, since) = (self.time_s[row], self.time_s[row] - window_s);
            while behind < row && self.time_s[behind] <= since {
                behind += 1;
            }
            // The interval of the first sample starts at time 0, with a total of 0.
            let (time, total) = match behind {
                0 => (0.0, 0.0),
                behind => (self.time_s[behind - 1], self.value[behind - 1]),
            };
            let rate = (self.value[row] - total) / (now - time).max(1e-9) * factor;
            rates.push(now, rate.max(0.0));
        }
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: usize) -> Curve {
        let mut curve = Curve::default();
        (0..points).for_each(|at| curve.push(at as f64, ((at * 7919) % 101) as f64));
        curve
    }

    #[test]
    fn a_reduced_curve_keeps_the_extremes_of_every_column() {
        let whole = curve(10_000);
        let reduced = whole.reduced(0.0, 9_999.0, 100);
        assert!(reduced.time_s.len() <= 204, "{}", reduced.time_s.len());
        assert!(reduced.time_s.windows(2).all(|pair| pair[0] < pair[1]));
        for column in 0..100 {
            let within = |time: f64| (time * 100.0 / 9_999.0).floor() as usize == column;
            let extremes = |curve: &Curve| {
                let values = curve.time_s.iter().zip(&curve.value).filter(|(time, _)| within(**time));
                values.fold((f64::MAX, f64::MIN), |(least, most), (_, value)| (least.min(*value), most.max(*value)))
            };
            assert_eq!(extremes(&whole), extremes(&reduced), "column {column}");
        }
    }

    #[test]
    fn short_curves_and_gaps_are_not_reduced() {
        assert_eq!(curve(50).reduced(0.0, 49.0, 100), curve(50));
        let mut gap = Curve::default();
        (0..1000).for_each(|at| gap.push(f64::from(at), if at < 500 { f64::NAN } else { 1.0 }));
        let reduced = gap.reduced(0.0, 999.0, 10);
        assert!(reduced.value[0].is_nan() && reduced.value[reduced.value.len() - 1] == 1.0);
        assert_eq!(Curve::default().reduced(0.0, 1.0, 10), Curve::default());
    }

    #[test]
    fn growth_is_the_rate_over_the_preceding_window() {
        let mut total = Curve::default();
        (1..=10).for_each(|at| total.push(f64::from(at) * 0.5, f64::from(at) * 500.0));
        let rates = total.growth(1.0, 8.0);
        assert!(rates.value.iter().all(|rate| (rate - 8000.0).abs() < 1e-6), "{rates:?}");
    }
}
