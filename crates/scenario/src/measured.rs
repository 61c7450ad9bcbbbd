//! What is written down and measured of a run: `[record]` and `[fairness]`.

use lopsided_core::Duration;
use lopsided_spec::{Fault, Given, Key, Part, key};

/// What is written down while a run goes on. Summaries are always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSpec {
    /// Flow and queue samples this often; `None`: no samples.
    pub interval: Option<Duration>,
    /// A flow sample at every change of its congestion state too.
    pub on_change: bool,
    /// A table of every packet event.
    pub events: bool,
    /// A table of what happens inside TCP's endpoints.
    pub tcp_events: bool,
    /// What a capture at each sending host would say of its connections.
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
    const TEXT: &'static str = "What is written down during the run. Summaries are always kept.";
    const KEYS: &'static [Key<RecordSpec>] = &[
        key(
            "interval",
            |record: &mut Self| &mut record.interval,
            "Samples of flows and queues this often; false for none.",
        )
        .none_word("off"),
        key("on_change", |record| &mut record.on_change, "A sample too whenever a flow's congestion state changes."),
        key("events", |record| &mut record.events, "A table of every packet event: large."),
        key(
            "tcp_events",
            |record| &mut record.tcp_events,
            "A table of what happens inside TCP: states, losses and the rules that found them, reductions, timers, limits.",
        ),
        key(
            "traces",
            |record| &mut record.traces,
            "A table of what a capture at each sending host would say, as tcptrace does.",
        ),
    ];

    fn complete(&mut self, _given: &Given<'_>) -> Result<(), Fault> {
        self.interval = self.interval.filter(|interval| !interval.is_zero());
        Ok(())
    }
}

/// How fairness is measured. Nothing here changes what happens in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FairnessSpec {
    /// Left out of the means after the last flow has begun; `None`: a third of the time in which all are active.
    pub warmup: Option<Duration>,
    /// How far from its fair share a flow may be, as a part of that share, and still count as having converged.
    pub within: f64,
    /// For how long it must stay there.
    pub hold: Duration,
    /// Whether each group of flows is run alone too, which harm is measured against.
    pub harm: bool,
}

impl Default for FairnessSpec {
    fn default() -> FairnessSpec {
        FairnessSpec { warmup: None, within: 0.2, hold: Duration::from_secs(5), harm: true }
    }
}

impl Part for FairnessSpec {
    const NAME: &'static str = "fairness";
    const TEXT: &'static str =
        "Who takes what from whom: Jain's index, shares, convergence time and harm. Needs samples ([record] interval).";
    const KEYS: &'static [Key<FairnessSpec>] = &[
        key(
            "warmup",
            |fairness: &mut Self| &mut fairness.warmup,
            "Left out of the means after the last flow has begun.",
        )
        .default_text("a third of the time in which all are active"),
        key(
            "within",
            |fairness| &mut fairness.within,
            "A flow has converged while its share is this near to its fair share, as a part of that.",
        ),
        key("hold", |fairness| &mut fairness.hold, "It must stay there for so long."),
        key(
            "harm",
            |fairness| &mut fairness.harm,
            "Run each group of flows alone too, which harm is measured against.",
        ),
    ];
}
