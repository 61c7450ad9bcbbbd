//! The view of a run on the page, and the sampling interval that the view needs.

use lopsided_core::Duration;
use lopsided_scenario::Scenario;

/// Largest number of samples per flow in one run.
const MOST_SAMPLES: u64 = 20_000;
/// Views with fewer columns are shown while the user drags a control, so speed counts more than detail.
const COARSE: usize = 200;
/// Shortest interval between two samples.
const SHORTEST: Duration = Duration::from_micros(100);

/// The part of a run that the page shows, and its resolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Width of a chart in pixel columns. A curve has at most two points in each column.
    pub columns: usize,
    /// Start of the displayed time, in seconds.
    pub from_s: f64,
    /// End of the displayed time, in seconds.
    pub to_s: f64,
    /// Start of the period whose packets are kept, in seconds. If the period is empty, no packets are kept.
    pub packets_from_s: f64,
    /// End of the period whose packets are kept, in seconds.
    pub packets_to_s: f64,
}

impl View {
    /// Returns a view of the whole run without packets.
    pub fn whole(scenario: &Scenario, columns: usize) -> View {
        View { columns, from_s: 0.0, to_s: scenario.duration.as_secs_f64(), packets_from_s: 0.0, packets_to_s: 0.0 }
    }

    /// Returns the interval between samples, and the number of samples per sampling interval of the scenario. The
    /// sampling interval has no effect on the digest.
    ///
    /// The scenario's sampling interval is a multiple of this interval, so that the verdict can use the samples of
    /// `lopsided run`.
    pub(crate) fn interval(&self, scenario: &Scenario) -> (Duration, usize) {
        let duration = scenario.duration.as_nanos();
        let shown = ((self.to_s - self.from_s).max(1e-3) * 1e9) as u64;
        let wanted = (shown / (2 * self.columns.max(1) as u64)).max(duration / MOST_SAMPLES).max(SHORTEST.as_nanos());
        let own = scenario.record.interval.map_or(0, Duration::as_nanos);
        let (nanos, every) = if own == 0 {
            (wanted, 1)
        } else if own < wanted {
            let is_coarse = self.columns < COARSE || duration / own > MOST_SAMPLES;
            (if is_coarse { own * (wanted / own) } else { own }, 1)
        } else {
            // Use the smallest sufficient number of parts that divides the interval without remainder.
            let parts = own.div_ceil(wanted);
            let parts = (parts..parts + 64).find(|parts| own % parts == 0).unwrap_or(1);
            (own / parts, parts as usize)
        };
        (Duration::from_nanos(nanos), every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval_ms(own: &str, view: impl Fn(View) -> View) -> (f64, usize) {
        let text = include_str!("../../../scenarios/adsl.toml");
        let own = [("record.interval".to_owned(), own.to_owned())];
        let scenario = Scenario::parse(text, "adsl.toml", &own).expect("a scenario");
        let (interval, every) = view(View::whole(&scenario, 560)).interval(&scenario);
        (interval.as_millis_f64(), every)
    }

    #[test]
    fn the_sample_interval_fits_the_width_of_the_view() {
        assert_eq!(interval_ms("100 ms", |whole| whole), (100.0, 1), "the scenario's interval");
        assert_eq!(
            interval_ms("100 ms", |whole| View { columns: 150, ..whole }),
            (600.0, 1),
            "a longer interval while the view moves"
        );
        assert_eq!(
            interval_ms("100 us", |whole| whole),
            (160.7, 1),
            "at most the number of samples that a screen shows"
        );
        assert_eq!(interval_ms("10 s", |whole| whole), (156.25, 64), "a fraction of the scenario's interval");
        let zoomed = |whole| View { from_s: 90.0, to_s: 95.0, ..whole };
        assert_eq!(interval_ms("100 ms", zoomed), (6.25, 16), "a shorter interval in a short view");
    }
}
