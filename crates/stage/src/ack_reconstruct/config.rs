//! The settings of ACK reconstruction.

use crate::StageSide;
use lopsided_core::{Bytes, Duration};
use lopsided_spec::{Choice, Fault, Key, Part, key};

/// Settings of ACK reconstruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckReconstructConfig {
    /// The side of the queue on which the stage is placed.
    pub side: StageSide,
    /// Number of segments that an inserted ACK acknowledges.
    pub every: u32,
    /// An ACK that newly acknowledges more than this number of segments leaves a gap. Inserted ACKs fill the gap.
    pub threshold: u32,
    /// Weight of a new sample in the smoothed interval between ACKs.
    pub gain: f64,
    /// Initial mean time between ACKs. `None`: the first sample is the initial mean.
    pub interval: Option<Duration>,
    /// Payload of a full segment in bytes.
    pub segment: Bytes,
    /// Maximum delay of a reconstructed ACK.
    pub max_delay: Duration,
    /// True if the stage inserts one ACK fewer per gap, as in the paper's text.
    pub text: bool,
    /// Spacing of the reconstructed ACKs.
    pub spacing: Spacing,
}

/// Spacing of the ACKs that fill a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Spacing {
    /// All ACKs of a gap are spread over one mean interval, in proportion to the bytes that they acknowledge.
    #[default]
    Share,
    /// Each ACK leaves one mean interval after the previous ACK, as in the authors' code.
    Interval,
}

impl Choice for Spacing {
    const WORDS: &'static [(&'static str, Spacing)] = &[("share", Spacing::Share), ("interval", Spacing::Interval)];
}

impl Default for AckReconstructConfig {
    fn default() -> AckReconstructConfig {
        AckReconstructConfig {
            side: StageSide::Exit,
            every: 2,
            threshold: 2,
            gain: 0.25,
            interval: None,
            segment: Bytes::new(1448),
            max_delay: Duration::from_millis(100),
            text: false,
            spacing: Spacing::Share,
        }
    }
}

impl Part for AckReconstructConfig {
    const NAME: &'static str = "ack_reconstruct";
    const TEXT: &'static str = "Fills gaps in the ACK numbers with regenerated ACKs, and spaces the ACKs in time.";
    const KEYS: &'static [Key<AckReconstructConfig>] = &[
        key(
            "side",
            |part: &mut Self| &mut part.side,
            "Position of the stage: before the queue (entry) or after the line (exit).",
        ),
        key("every", |part: &mut Self| &mut part.every, "Number of segments per ACK after reconstruction."),
        key(
            "threshold",
            |part: &mut Self| &mut part.threshold,
            "The stage fills a gap in the ACK numbers only if it is larger than this number of segments.",
        ),
        key("gain", |part: &mut Self| &mut part.gain, "Weight of a new sample in the mean time between ACKs."),
        key(
            "interval",
            |part: &mut Self| &mut part.interval,
            "Assumed mean time between ACKs until the first sample. The authors' scripts use 10 ms.",
        )
        .none_word("the first"),
        key("segment", |part: &mut Self| &mut part.segment, "Payload of a full segment."),
        key("max_delay", |part: &mut Self| &mut part.max_delay, "Longest time for which an ACK is held."),
        key(
            "text",
            |part: &mut Self| &mut part.text,
            "If true, send one ACK fewer for each gap, as in the text of balakrishnan1999.",
        ),
        key(
            "spacing",
            |part: &mut Self| &mut part.spacing,
            "Spacing of the ACKs that fill a gap: all of them are sent within one mean interval between ACKs (share), or each ACK is sent one mean interval after the previous ACK (interval).",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.every == 0 {
            return Err(Fault::new("every", "an ACK must acknowledge at least one segment"));
        }
        if self.segment == Bytes::ZERO {
            return Err(Fault::new("segment", "a segment must have at least one octet"));
        }
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return Err(Fault::new("gain", "a gain must be above 0 and at most 1"));
        }
        if self.text && self.spacing == Spacing::Interval {
            return Err(Fault::new("text", "`text` cannot be combined with `spacing = \"interval\"`"));
        }
        Ok(())
    }
}

impl AckReconstructConfig {
    /// Returns the number of bytes that each inserted ACK acknowledges.
    pub(super) fn step(&self) -> u32 {
        self.every * self.segment.get() as u32
    }

    /// True if an ACK that newly acknowledges this number of bytes leaves a gap to fill.
    pub(super) fn is_gap(&self, octets: u32) -> bool {
        u64::from(octets) > u64::from(self.threshold) * self.segment.get()
    }
}
