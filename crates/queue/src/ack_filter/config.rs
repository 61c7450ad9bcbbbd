//! Settings of an ACK filter.

use super::rule::FilterRule;
use crate::{Backlog, QueueConfig, Threshold};
use lopsided_core::Bytes;
use lopsided_spec::{Choice, Fault, Key, Part, key};

/// Settings of an ACK filter.
#[derive(Clone, Debug, PartialEq)]
pub struct AckFilterConfig {
    /// The queue from which ACKs are removed.
    pub queue: QueueConfig,
    /// The rule that decides which ACKs are superfluous.
    pub rule: FilterRule,
    /// Fraction of the superfluous ACKs that is removed, from 0 to 1.
    pub share: f64,
    /// Which of the superfluous ACKs are removed if `share` is below 1.
    pub pick: Pick,
    /// ACKs are removed only if the backlog is at least this large. `None`: no lower bound.
    pub above: Option<Threshold>,
    /// ACKs are removed only if the backlog is smaller than this. `None`: no upper bound.
    pub below: Option<Threshold>,
    /// For `cumulative` and `window`: duplicate ACKs are removed, and from this number of duplicates on an ACK is
    /// marked for fast retransmit. 0: duplicates are never removed.
    pub fast_retransmit: u32,
    /// For `accurate_ecn`: minimum size of a full data segment in bytes. Without the accurate ECN option, the count of
    /// marks is unambiguous for at most 7 segments.
    pub segment: Bytes,
}

impl Default for AckFilterConfig {
    fn default() -> AckFilterConfig {
        AckFilterConfig {
            queue: QueueConfig::default(),
            rule: FilterRule::default(),
            share: 1.0,
            pick: Pick::Even,
            above: None,
            below: None,
            fast_retransmit: 0,
            segment: Bytes::new(1448),
        }
    }
}

/// Selects the superfluous ACKs that are removed if `share` is below 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// At regular distances.
    Even,
    /// Each ACK with probability `share`.
    Random,
}

impl Choice for Pick {
    const WORDS: &'static [(&'static str, Pick)] = &[("even", Pick::Even), ("random", Pick::Random)];
}

impl Part for AckFilterConfig {
    const NAME: &'static str = "ack_filter";
    const TEXT: &'static str =
        "Removes waiting ACKs that a new one of their connection makes superfluous, from any queue.";
    const KEYS: &'static [Key<AckFilterConfig>] = &[
        key("queue", |filter: &mut Self| &mut filter.queue, "Queue whose ACKs are filtered.").default_text("drop-tail"),
        key(
            "rule",
            |filter: &mut Self| &mut filter.rule,
            "ACKs to remove: those with a smaller number (cumulative), also those with another window (window), those that CAKE's ack-filter and ack-filter-aggressive remove (conservative, aggressive), or all that the new ACK covers, counts of marks included (accurate_ecn).",
        ),
        key("share", |filter: &mut Self| &mut filter.share, "Share of the superfluous ACKs that is removed."),
        key("pick", |filter: &mut Self| &mut filter.pick, "With a share, the removed ACKs are evenly spread, or chosen at random."),
        key("above", |filter: &mut Self| &mut filter.above, "ACKs are removed only while at least this much waits.")
            .none_word("always"),
        key(
            "below",
            |filter: &mut Self| &mut filter.below,
            "ACKs are removed only while less than this waits. If this equals the limit of the queue, a full queue drops the new ACK and removes none, as in balakrishnan1999's code.",
        )
        .none_word("always"),
        key(
            "fast_retransmit",
            |filter: &mut Self| &mut filter.fast_retransmit,
            "With cumulative or window: duplicates are removed too. From this number on, duplicates are marked, for a sender with marked_retransmit. Zero: duplicates stay.",
        ),
        key(
            "segment",
            |filter: &mut Self| &mut filter.segment,
            "With accurate_ecn: smallest size of a full segment. A count of marks without its option is valid for seven such segments.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if !(0.0..=1.0).contains(&self.share) {
            return Err(Fault::new("share", "a share must be from 0 to 1"));
        }
        if self.fast_retransmit > 0 && !matches!(self.rule, FilterRule::Cumulative | FilterRule::Window) {
            let fault = Fault::new("fast_retransmit", "only the rules `cumulative` and `window` count duplicates");
            return Err(fault.help("the others leave duplicates in the queue"));
        }
        Ok(())
    }
}

/// The range of backlogs in which ACKs are removed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    above: Option<Threshold>,
    below: Option<Threshold>,
}

impl Bounds {
    pub(super) fn new(config: &AckFilterConfig) -> Bounds {
        Bounds { above: config.above, below: config.below }
    }

    /// True if ACKs are removed at this backlog.
    #[inline]
    pub(super) fn hold(self, backlog: Backlog) -> bool {
        self.above.is_none_or(|above| above.measure(backlog) >= above.count())
            && self.below.is_none_or(|below| below.measure(backlog) < below.count())
    }
}
