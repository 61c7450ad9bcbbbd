//! The rules of a profile: one type per choice that differs between stacks.

use lopsided_core::{Bytes, Duration};

/// The path metrics that a host saves for the next connection to the same destination (Linux's `tcp_metrics`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricsSave {
    /// No metrics (Linux with `tcp_no_metrics_save`).
    Off,
    /// RTT and reordering (Linux since 5.6, with the default of `tcp_no_ssthresh_metrics_save`).
    RoundTrips,
    /// RTT, reordering and the slow-start threshold (Linux before 5.6).
    All,
}

/// The rule that decides when the receiver notifies the peer of a larger window after a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowUpdate {
    /// The receiver notifies the peer if less than one segment of the advertised window was left (RFC 9293 section
    /// 3.8.6.2.2).
    NearlyClosed,
    /// The receiver notifies the peer if the right edge of the window can move by two segments or by half of the buffer
    /// (4.4BSD; TCP/IP Illustrated volume 2, section 26.3).
    TwoSegments,
}

/// The rule by which duplicate ACKs are counted. An ACK that changes the window is not a duplicate (RFC 5681 section
/// 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DuplicateCount {
    /// The count restarts when an ACK acknowledges new data.
    UntilProgress,
    /// The count restarts at any ACK that is not a duplicate (4.4BSD).
    InARow,
}

/// The ECN mode. The modes correspond to the values 0, 2, 1, 5 and 3 of Linux's tcp_ecn (5 and 3 since Linux 6.18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EcnRule {
    /// ECN is neither requested nor accepted.
    Off,
    /// ECN is accepted if the peer requests it.
    Accept,
    /// ECN is requested and accepted, with the feedback of RFC 3168.
    On,
    /// Like `Accept`, but with counters of all marks as feedback if the peer requests them (RFC 9768).
    AcceptAccurate,
    /// Like `On`, but with counters of all marks as feedback if the peer supports them (RFC 9768).
    Accurate,
}

/// The rule that determines how much an ACK adds to the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ByteCounting {
    /// One increment per ACK (RFC 5681), regardless of the number of acknowledged bytes.
    Acks,
    /// Like `Acks`, but fractions of a byte accumulate, as in ns-2, whose window is a real number.
    AcksExactly,
    /// Like `Acks`, but a window equal to the threshold grows as in slow start (4.4BSD; RFC 5681 permits both).
    AcksThroughThreshold,
    /// The number of delivered bytes (Linux since 3.18).
    Delivered,
    /// The number of acknowledged bytes; in slow start at most `segments` segments per ACK (RFC 3465's L).
    Limited {
        /// L: maximum number of segments that one ACK may add in slow start.
        segments: u32,
    },
    /// Half of the acknowledged bytes, so that two segments count as one (Balakrishnan et al. 1999, figure 19).
    Half,
}

/// How an idle period longer than one RTO changes the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdleRestart {
    /// The window does not change.
    Never,
    /// The window becomes the initial window (RFC 5681 section 4.1). The idle period starts when a segment last arrived
    /// (4.4BSD).
    Initial,
    /// Once per RTO without sent data, the window is halved, down to the initial window (RFC 2861 section 3.2; Linux).
    Halving,
}

/// The rule that decides when a short last segment waits for an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Nagle {
    /// The segment waits while any data is outstanding (RFC 9293 section 3.7.4).
    BehindAny,
    /// The segment waits while another short segment is outstanding (draft-minshall-nagle; Linux).
    BehindShort,
}

/// The rule that selects the segments that carry PSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushRule {
    /// A segment that empties the send buffer (4.4BSD and its descendants).
    EmptiesBuffer,
    /// The last segment of a write, and one segment per half of the largest advertised window (Linux).
    Linux,
}

/// The acknowledgement policy of a receiver and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckSettings {
    /// Name of the policy, one of [`ack_policies`](crate::ack_policies).
    pub policy: &'static str,
    /// Number of segments per ACK, for policies that count segments (RFC 5681 section 4.2).
    pub segments: u32,
    /// Minimum delay of an ACK, for adaptive policies.
    pub min_delay: Duration,
    /// Maximum delay of an ACK.
    pub max_delay: Duration,
    /// Linux: maximum of the adaptive timeout from which the delay is computed. The RTO also limits the timeout.
    pub max_timeout: Duration,
    /// Linux since 6.7: true if ACK delays are limited to the minimum RTO minus one tick (`tcp_delack_max`).
    pub below_min_rto: bool,
    /// Linux: maximum number of quick ACKs that are granted at once.
    pub quick_acks: u32,
    /// Linux: interval of compressed duplicate ACKs. Compression begins after three consecutive duplicate ACKs. Zero
    /// disables compression.
    pub compress: Duration,
    /// Linux: maximum time from the deadline of a compressed ACK to the expiry of its timer.
    pub compress_slack: Duration,
    /// Linux: granularity of the delayed-ACK timer and of the measured time between segments.
    pub grain: TimerGrain,
    /// True if a full segment with PSH is acknowledged when the application reads it (Linux since 6.1.57).
    pub heeds_push: bool,
    /// Number of ACKs per RTT, for policies that send a fixed number of ACKs per RTT.
    pub acks_per_rtt: u32,
    /// Maximum number of segments per ACK, for policies that adapt to the sender's window.
    pub max_delack: u32,
    /// Minimum number of ACKs per window, for policies that adapt to the sender's window.
    pub min_acks_per_window: u32,
    /// ACK congestion control: after this number of out-of-order segments, duplicate ACKs request a retransmission.
    /// 0 for never.
    pub mark_duplicates: u32,
    /// True if immediate ACKs are sent before the application reads the new data (4.4BSD). The unread data reduces the
    /// advertised window.
    pub before_read: bool,
}

/// Linux's maximum RTO (TCP_RTO_MAX). Delayed-ACK timeouts never become this long, so the value means no limit.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(120);

impl AckSettings {
    /// Returns the settings of delayed ACKs: an ACK is sent for every second segment, or after `timeout`.
    pub const fn delayed(timeout: Duration) -> AckSettings {
        AckSettings {
            policy: "delayed",
            segments: 2,
            min_delay: timeout,
            max_delay: timeout,
            max_timeout: LONGEST_TIMEOUT,
            below_min_rto: false,
            quick_acks: 0,
            compress: Duration::ZERO,
            compress_slack: Duration::ZERO,
            grain: TimerGrain::Exact,
            heeds_push: false,
            acks_per_rtt: 4,
            max_delack: 8,
            min_acks_per_window: 5,
            mark_duplicates: 0,
            before_read: false,
        }
    }
}

/// The rule by which the retransmission timeout is computed from the RTT.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RtoRule {
    /// RFC 6298: smoothed RTT plus 4 times the mean deviation, between `min` and `max`; `initial` before the first
    /// sample.
    Rfc6298 {
        /// Minimum RTO.
        min: Duration,
        /// Maximum RTO.
        max: Duration,
        /// The RTO before the first sample.
        initial: Duration,
    },
    /// Jacobson's integer arithmetic (Congestion Avoidance and Control, SIGCOMM 1988, appendix A). RTTs are measured in
    /// whole ticks. SRTT is stored in 1/8 tick, and the mean deviation in 1/4 tick.
    Ticks {
        /// The tick of the coarse clock.
        tick: Duration,
        /// The rule by which a sample is rounded to ticks.
        samples: TickSamples,
        /// Minimum RTO.
        min: Duration,
        /// Maximum RTO.
        max: Duration,
        /// The RTO before the first sample.
        initial: Duration,
    },
    /// FreeBSD: RFC 6298 plus a constant `slop`, which the backoff does not double. A sample includes the current tick.
    FreeBsd {
        /// Minimum RTO.
        min: Duration,
        /// Maximum RTO.
        max: Duration,
        /// The RTO before the first sample.
        initial: Duration,
        /// The constant that is added to the RTO.
        slop: Duration,
    },
    /// Linux: the deviation term is the largest deviation of the last round trip, and at least `min` (Sarolahti and
    /// Kuznetsov, Congestion Control in Linux TCP, USENIX 2002, section 5).
    Linux {
        /// Minimum of the deviation term.
        min: Duration,
        /// Maximum RTO.
        max: Duration,
        /// The RTO before the first sample.
        initial: Duration,
    },
}

impl RtoRule {
    /// The RTO before the first RTT sample.
    pub fn initial(self) -> Duration {
        match self {
            RtoRule::Rfc6298 { initial, .. }
            | RtoRule::Ticks { initial, .. }
            | RtoRule::FreeBsd { initial, .. }
            | RtoRule::Linux { initial, .. } => initial,
        }
    }

    /// The minimum RTO; for `Linux` the minimum of the deviation term.
    pub fn min(self) -> Duration {
        match self {
            RtoRule::Rfc6298 { min, .. }
            | RtoRule::Ticks { min, .. }
            | RtoRule::FreeBsd { min, .. }
            | RtoRule::Linux { min, .. } => min,
        }
    }

    /// The maximum RTO.
    pub fn max(self) -> Duration {
        match self {
            RtoRule::Rfc6298 { max, .. }
            | RtoRule::Ticks { max, .. }
            | RtoRule::FreeBsd { max, .. }
            | RtoRule::Linux { max, .. } => max,
        }
    }

    /// Returns the same rule with the minimum `min`.
    #[must_use]
    pub fn with_min(self, min: Duration) -> RtoRule {
        match self {
            RtoRule::Rfc6298 { max, initial, .. } => RtoRule::Rfc6298 { min, max, initial },
            RtoRule::Ticks { tick, samples, max, initial, .. } => RtoRule::Ticks { tick, samples, min, max, initial },
            RtoRule::FreeBsd { max, initial, slop, .. } => RtoRule::FreeBsd { min, max, initial, slop },
            RtoRule::Linux { max, initial, .. } => RtoRule::Linux { min, max, initial },
        }
    }
}

/// The rule by which an RTT sample is converted to ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TickSamples {
    /// The number of ticks of a free-running clock between the segment and its ACK, plus one (4.4BSD).
    Counted,
    /// The number of ticks of a free-running clock between the segment and its ACK, at least one (ns-2).
    Boundaries,
}

/// The granularity of a timer: how long after its deadline the timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimerGrain {
    /// The timer expires at its deadline.
    Exact,
    /// The timer expires at the first tick of a clock at or after the deadline.
    Tick(Duration),
    /// The timer expires at a tick of a timer wheel without cascading (Linux since 4.8). Each level of the wheel has 64
    /// slots, which are 8 times as long as the slots of the level below.
    Wheel(Duration),
}

/// The rule by which a sender infers losses from ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossDetection {
    /// A segment is lost one reordering window after a later segment was delivered (RFC 8985).
    Rack,
    /// After `dup_threshold` duplicate ACKs, all holes below the highest SACK count as lost (FreeBSD's SACK recovery).
    /// After a timeout, all data that is not SACKed is retransmitted in order. Without SACK, RFC 6582 section 4.1
    /// applies.
    FreeBsd,
    /// A hole is lost if the highest SACKed segment is at least `dup_threshold` segments beyond the hole (FACK: Mathis
    /// and Mahdavi, Forward Acknowledgement, SIGCOMM 1996; Linux's default before 4.15).
    Fack,
    /// A hole is lost if `dup_threshold` segments above the hole are SACKed (RFC 6675).
    Rfc6675,
}

/// The reaction of a sender without SACK to the first ACK of new data after a fast retransmit. With `Reno` and
/// `CarefulReno` every timeout halves the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FastRecovery {
    /// After a partial ACK, the next hole is retransmitted and recovery continues (RFC 6582).
    NewReno,
    /// Recovery ends (RFC 5681 section 3.2 step 6). Further duplicate ACKs start another recovery, which halves the
    /// window again.
    Reno,
    /// Recovery ends. Duplicate ACKs start another recovery only after all data that was outstanding at the last
    /// recovery or timeout is acknowledged (ns-2's `bugFix_`).
    CarefulReno,
}

/// The rule by which the window shrinks to the new threshold during a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CwndReduction {
    /// The window shrinks to the threshold at once (RFC 6675).
    Immediate,
    /// The window shrinks by one segment per two ACKs (rate halving: Mathis, Semke and Mahdavi,
    /// draft-mathis-tcp-ratehalving, 1999; Linux before 3.2).
    RateHalving,
    /// The window shrinks in proportion to the delivered data (RFC 6937).
    Prr,
    /// With SACK, the window shrinks to one segment and grows by one segment per duplicate ACK (FreeBSD's SACK
    /// recovery). Without SACK, the window starts at the threshold (RFC 6582 section 3.2).
    PerDuplicate,
}

/// The evidence of a spurious retransmission after which a sender restores its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undo {
    /// An ACK echoes a timestamp from before the retransmission (Eifel, RFC 3522 and 4015).
    pub timestamps: bool,
    /// DSACKs report every retransmission as a duplicate (RFC 3708).
    pub dsack: bool,
    /// After a timeout, ACKs arrive for data that was never retransmitted (F-RTO, RFC 5682 section 3).
    pub frto: bool,
    /// An ACK arrives within half the smoothed RTT after a timeout (4.4BSD).
    pub early_ack: bool,
}

/// The size of a socket buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BufferRule {
    /// A constant size.
    Fixed(Bytes),
    /// The buffer grows with the data per round trip (dynamic right-sizing, Fisk and Feng 2001).
    Auto {
        /// Initial size, in bytes.
        initial: Bytes,
        /// Maximum size, in bytes.
        max: Bytes,
    },
    /// FreeBSD: the buffer grows by `step` after a round trip that used 7/8 of the buffer. A receive buffer grows only
    /// on connections with timestamps.
    Stepped {
        /// Initial size, in bytes.
        initial: Bytes,
        /// Growth per round trip, in bytes.
        step: Bytes,
        /// Maximum size, in bytes.
        max: Bytes,
    },
}

/// How the use of the send buffer is measured, and the condition under which a blocked writer may continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendBufferAccounting {
    /// The use is measured in bytes of the stream. A blocked writer may continue as soon as any data is acknowledged.
    Stream,
    /// 4.4BSD: the use is measured in bytes of the stream, and the size of the buffer is a whole number of segments. A
    /// blocked writer waits for `low_water` free bytes.
    Segments {
        /// Number of free bytes at which a blocked writer may continue.
        low_water: Bytes,
    },
    /// Linux: the use is measured in bytes of memory. A segment occupies `per_segment` bytes more than its payload
    /// (captures of 6.1). A fixed size is doubled (socket(7)). A blocked writer waits until 1/3 of the buffer is free.
    Memory {
        /// Memory overhead of a segment, in bytes: its memory minus its payload.
        per_segment: u64,
    },
}

/// The rule by which the advertised window is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiveWindow {
    /// The window is the free space of the receive buffer.
    Room,
    /// Like `Room`, but the buffer is a whole number of segments (4.4BSD).
    Segments,
    /// Linux: the window is a share of the buffer's free memory. A segment occupies `per_segment` bytes more than its
    /// payload (captures of user-mode Linux). A fixed size is doubled (socket(7)).
    Memory {
        /// Memory overhead of a segment, in bytes: its memory minus its payload.
        per_segment: u64,
        /// The share of the memory that is advertised as the window.
        share: WindowShare,
    },
}

/// The share of a receive buffer's memory that Linux advertises as the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowShare {
    /// One half (`tcp_adv_win_scale` 1, until Linux 6.5). A buffer that grows reserves memory for the overhead of each
    /// segment.
    Half,
    /// The payload's measured share of a full segment's memory, in 1/256 (`scaling_ratio`, since Linux 6.6); one half
    /// before the first segment.
    Measured,
}

impl BufferRule {
    /// Initial size, in bytes.
    pub fn initial(self) -> Bytes {
        match self {
            BufferRule::Fixed(size) => size,
            BufferRule::Auto { initial, .. } | BufferRule::Stepped { initial, .. } => initial,
        }
    }

    /// Maximum size, in bytes.
    pub fn max(self) -> Bytes {
        match self {
            BufferRule::Fixed(size) => size,
            BufferRule::Auto { max, .. } | BufferRule::Stepped { max, .. } => max,
        }
    }
}
