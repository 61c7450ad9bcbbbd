//! The tables `[record]` and `[fairness]`: the records that a run keeps, and the settings of the fairness metrics.

use lopsided_core::Duration;
use lopsided_spec::{Fault, Given, Key, Part, key};

/// Optional records of a run. Summaries are always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSpec {
    /// Interval between samples of flows and queues; `None` for no samples.
    pub interval: Option<Duration>,
    /// True to take an additional sample of a flow each time its congestion state changes.
    pub on_change: bool,
    /// True to write a table of all packet events.
    pub events: bool,
    /// True to write a table of the events inside TCP endpoints.
    pub tcp_events: bool,
    /// True to write a table with statistics of each sending host's connections, as a packet capture at the host would
    /// show them.
    pub traces: bool,
}

impl Default for RecordSpec {
    fn default() -> RecordSpec {
        RecordSpec {
            interval: Some(Duration::from_millis(100)),
            on_change: false,
            events: false,
            tcp_events: false,
            traces: false,
        }
    }
}

impl Part for RecordSpec {
    const NAME: &'static str = "record";
    const TEXT: &'static str =
        "Data to record during the run, in addition to the summaries, which are always recorded.";
    const KEYS: &'static [Key<RecordSpec>] = &[
        key(
            "interval",
            |record: &mut Self| &mut record.interval,
            "Interval between samples of flows and queues; \"off\" for no samples.",
        )
        .none_word("off"),
        key(
            "on_change",
            |record| &mut record.on_change,
            "If true, also sample a flow when its congestion state changes.",
        ),
        key(
            "events",
            |record| &mut record.events,
            "If true, write the table `events` of all packet events. This table is large.",
        ),
        key(
            "tcp_events",
            |record| &mut record.tcp_events,
            "If true, write the table `tcp_events` of events inside TCP: state changes, losses with the rule that detected each loss, window reductions, timers, limits.",
        ),
        key(
            "traces",
            |record| &mut record.traces,
            "If true, write the table `traces`: statistics of a capture at each sending host, as tcptrace computes them.",
        ),
    ];

    fn complete(&mut self, _given: &Given<'_>) -> Result<(), Fault> {
        // An interval of 0 means no samples, like "off".
        self.interval = self.interval.filter(|interval| !interval.is_zero());
        Ok(())
    }
}

/// Settings of the fairness metrics. They do not change the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FairnessSpec {
    /// The averages exclude this time after the start of the last flow. `None`: they exclude the first 33 % of the time
    /// in which all flows are active.
    pub warmup: Option<Duration>,
    /// Maximum deviation of a converged flow from the fair share, as a fraction of that share.
    pub within: f64,
    /// Time for which a flow must stay within the deviation `within` to count as converged.
    pub hold: Duration,
    /// True if each group of flows also runs alone. The harm metric compares the results with these runs.
    pub harm: bool,
}

impl Default for FairnessSpec {
    fn default() -> FairnessSpec {
        FairnessSpec { warmup: None, within: 0.2, hold: Duration::from_secs(5), harm: true }
    }
}

impl Part for FairnessSpec {
    const NAME: &'static str = "fairness";
    const TEXT: &'static str = "Measures of fairness between flows: Jain's index, shares, convergence time and harm. They need samples ([record] interval).";
    const KEYS: &'static [Key<FairnessSpec>] = &[
        key(
            "warmup",
            |fairness: &mut Self| &mut fairness.warmup,
            "Length of the warm-up, which is excluded from the means. The warm-up begins when the last flow starts.",
        )
        .default_text("1/3 of the time in which all flows are active"),
        key(
            "within",
            |fairness| &mut fairness.within,
            "A flow has converged while its share deviates from its fair share by at most this fraction of the fair share.",
        ),
        key(
            "hold",
            |fairness| &mut fairness.hold,
            "Time for which a flow must stay within the deviation `within` to count as converged.",
        ),
        key(
            "harm",
            |fairness| &mut fairness.harm,
            "If true, each group of flows also runs without the other groups. The harm metrics compare the results with these runs.",
        ),
    ];
}
