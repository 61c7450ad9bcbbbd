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
    /// With a `share` below 1: the rule that selects the superfluous ACKs to remove.
    pub pick: Pick,
    /// ACKs are removed only if the backlog is at least this threshold. `None`: no lower bound.
    pub above: Option<Threshold>,
    /// ACKs are removed only if the backlog is smaller than this threshold. `None`: no upper bound.
    pub below: Option<Threshold>,
    /// For `cumulative` and `window`: duplicate ACKs are removed. The duplicate ACK with this number and all later
    /// duplicates are marked for fast retransmit. 0: no ACK is marked, and duplicates stay in the queue.
    pub fast_retransmit: u32,
    /// For `accurate_ecn`: minimum size of a full data segment in bytes.
    pub segment: Bytes,
    /// For `cumulative`: how the remaining ACK describes the ACKs that were removed.
    pub prefix: RemovedAcks,
    /// With a prefix: an ACK whose prefix counts at least this number of ACKs is not removed.
    pub prefix_most: u32,
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
            prefix: RemovedAcks::None,
            prefix_most: 1,
        }
    }
}

/// The rule that selects the superfluous ACKs to remove if `share` is below 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Evenly spaced ACKs: with a share of 0.25, every 4th ACK.
    Even,
    /// Random ACKs: each ACK with probability `share`.
    Random,
}

impl Choice for Pick {
    const WORDS: &'static [(&'static str, Pick)] = &[("even", Pick::Even), ("random", Pick::Random)];
}

/// How the remaining ACK describes the ACKs that were removed (RFC 3449, section 5.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovedAcks {
    /// No description.
    None,
    /// ACK compaction: the number of removed ACKs, and the mean number of bytes that each of them acknowledged.
    Count,
    /// ACK companding: in addition, the mean time between the removed ACKs.
    Spacing,
}

impl Choice for RemovedAcks {
    const WORDS: &'static [(&'static str, RemovedAcks)] =
        &[("none", RemovedAcks::None), ("count", RemovedAcks::Count), ("spacing", RemovedAcks::Spacing)];
}

impl Part for AckFilterConfig {
    const NAME: &'static str = "ack_filter";
    const TEXT: &'static str =
        "Removes the queued ACKs that a new ACK of the same connection makes redundant. Works with any queue.";
    const KEYS: &'static [Key<AckFilterConfig>] = &[
        key("queue", |filter: &mut Self| &mut filter.queue, "Queue whose ACKs are filtered.").default_text("drop-tail"),
        key(
            "rule",
            |filter: &mut Self| &mut filter.rule,
            "ACKs to remove: those with a smaller ACK number (cumulative); these, and those with the same number but a different window (window); those that CAKE's ack-filter or ack-filter-aggressive removes (conservative, aggressive); or all ACKs that the new ACK covers completely, including their counts of ECN marks (accurate_ecn).",
        ),
        key("share", |filter: &mut Self| &mut filter.share, "Fraction of the redundant ACKs that is removed."),
        key("pick", |filter: &mut Self| &mut filter.pick, "If share is less than 1: the removed ACKs are evenly spaced (even) or chosen at random (random)."),
        key("above", |filter: &mut Self| &mut filter.above, "ACKs are removed only while the queue length is at least this value.")
            .none_word("always"),
        key(
            "below",
            |filter: &mut Self| &mut filter.below,
            "ACKs are removed only while the queue length is less than this value. If this value equals the limit of the queue, a full queue drops the new ACK and removes no queued ACK, as in balakrishnan1999's code.",
        )
        .none_word("always"),
        key(
            "fast_retransmit",
            |filter: &mut Self| &mut filter.fast_retransmit,
            "With cumulative or window: the filter also removes duplicate ACKs, and counts them. It marks the duplicate ACK with this number and all later ones, so that a sender with marked_retransmit retransmits at once. 0: duplicates stay in the queue.",
        ),
        key(
            "segment",
            |filter: &mut Self| &mut filter.segment,
            "With accurate_ecn: smallest size of a full segment. Without the AccECN option, an ACK can report the marks of at most seven segments unambiguously.",
        ),
        key(
            "prefix",
            |filter: &mut Self| &mut filter.prefix,
            "With cumulative: a TCP option in the remaining ACK describes the removed ones, for a stage ack_expand: none, their number and mean bytes (count), or also the mean time between them (spacing).",
        ),
        key(
            "prefix_most",
            |filter: &mut Self| &mut filter.prefix_most,
            "With a prefix: an ACK stays in the queue if its prefix counts at least this number of ACKs. 1: no ACK with a prefix is removed, as in RFC 3449.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if !(0.0..=1.0).contains(&self.share) {
            return Err(Fault::new("share", "a share must be from 0 to 1"));
        }
        if self.fast_retransmit > 0 && !matches!(self.rule, FilterRule::Cumulative | FilterRule::Window) {
            let fault = Fault::new("fast_retransmit", "only the rules `cumulative` and `window` count duplicates");
            return Err(fault.help("the other rules leave duplicates in the queue"));
        }
        if self.prefix != RemovedAcks::None {
            let is_plain = self.rule == FilterRule::Cumulative && self.share >= 1.0 && self.fast_retransmit == 0;
            if !is_plain {
                let fault = Fault::new("prefix", "a prefix can describe only consecutive ACKs");
                return Err(fault.help("use the rule `cumulative`, and leave out `share` and `fast_retransmit`"));
            }
            if !(1..=255).contains(&self.prefix_most) {
                return Err(Fault::new("prefix_most", "a prefix can count from 1 to 255 ACKs"));
            }
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
