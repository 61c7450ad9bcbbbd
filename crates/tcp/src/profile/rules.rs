//! The rules of a profile: one type for each choice that stacks make differently.

use lopsided_core::{Bytes, Duration};

/// The metrics that a host stores at the end of a connection for the next one to the same destination (Linux's
/// `tcp_metrics`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricsSave {
    /// None (Linux with `tcp_no_metrics_save`).
    Off,
    /// RTT and reordering (Linux since 5.6, with the default of `tcp_no_ssthresh_metrics_save`).
    RoundTrips,
    /// The slow-start threshold too (Linux before 5.6).
    All,
}

/// The condition under which a read notifies the peer of a larger window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowUpdate {
    /// Less than a segment of the window was left (RFC 9293 section 3.8.6.2.2).
    NearlyClosed,
    /// The window can move by two segments, or by half the buffer, beyond the last offer (4.4BSD; Wright and Stevens,
    /// TCP/IP Illustrated volume 2, section 26.3).
    TwoSegments,
}

/// The way in which duplicate ACKs are counted. An ACK with a different window is not a duplicate (RFC 5681 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DuplicateCount {
    /// The count restarts when the acknowledgement advances.
    UntilProgress,
    /// The count restarts with any other ACK in between (4.4BSD).
    InARow,
}

/// The ECN mode. It corresponds to Linux's tcp_ecn 0, 2, 1 and, since 6.18, 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EcnRule {
    /// ECN is neither requested nor accepted.
    Off,
    /// ECN is accepted if the peer requests it.
    Accept,
    /// ECN is requested and accepted, with the feedback of RFC 3168.
    On,
    /// As `On`, with counters of all marks as feedback if the peer supports it (RFC 9768).
    Accurate,
}

/// The amount that an ACK adds to the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ByteCounting {
    /// One step per ACK (RFC 5681 with one increment per ACK).
    Acks,
    /// As `Acks`, but fractions of a byte accumulate (ns-2, whose window is a real number). Rounding down would lose 3
    /// % of the growth of a window of 64 segments.
    AcksExactly,
    /// As `Acks`, and a window equal to the threshold grows as in slow start (4.4BSD; RFC 5681 allows both).
    AcksThroughThreshold,
    /// The delivered bytes count (Linux since 3.18).
    Delivered,
    /// The acknowledged bytes count, in slow start at most `segments` segments (RFC 3465's L).
    Limited {
        /// L, the limit of one ACK in slow start.
        segments: u32,
    },
    /// Half of the acknowledged bytes count, so that two segments count as one (Balakrishnan et al. 1999, figure 19).
    Half,
}

/// The window after an idle time of more than one RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdleRestart {
    /// Unchanged.
    Never,
    /// The initial window (RFC 5681 section 4.1). Idle time counts from the last segment that arrived (4.4BSD).
    Initial,
    /// The window is halved for each RTO since data was last sent, new or retransmitted, but not below the initial
    /// window (RFC 2861 section 3.2; Linux).
    Halving,
}

/// The condition under which a short last segment waits for an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Nagle {
    /// While any data is outstanding (RFC 9293 section 3.7.4).
    BehindAny,
    /// While a short segment is outstanding (draft-minshall-nagle; Linux).
    BehindShort,
}

/// The rule that sets PSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushRule {
    /// A segment that empties the send buffer (4.4BSD and its descendants).
    EmptiesBuffer,
    /// A segment that ends a write, and within a long write one segment per half of the largest window (Linux).
    Linux,
}

/// The acknowledgement policy of a receiver and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckSettings {
    /// One of [`ack_policies`](crate::ack_policies).
    pub policy: &'static str,
    /// Number of segments per ACK, for policies that count segments (RFC 5681 section 4.2).
    pub segments: u32,
    /// Shortest delay of an ACK, for adaptive policies.
    pub min_delay: Duration,
    /// Longest delay of an ACK.
    pub max_delay: Duration,
    /// Linux: largest value of the adaptive timeout from which the delay follows. The RTO bounds the timeout too.
    pub max_timeout: Duration,
    /// Linux since 6.7: true if no ACK is delayed by more than the smallest RTO minus one tick (`tcp_delack_max`).
    pub below_min_rto: bool,
    /// Linux: largest number of quick ACKs granted at once.
    pub quick_acks: u32,
    /// Linux: interval of compressed duplicate ACKs after the first three in a row; zero sends all duplicate ACKs.
    pub compress: Duration,
    /// Linux: time by which the timer of a compressed ACK may be late. It is that late if nothing else wakes the
    /// machine.
    pub compress_slack: Duration,
    /// Linux: clock of the delayed-ACK timer and of the gaps between segments.
    pub grain: TimerGrain,
    /// Linux since 6.1.57: true if a full segment with PSH is acknowledged when it is read, as a short one is.
    pub heeds_push: bool,
    /// Number of ACKs per RTT, for policies that count per RTT.
    pub acks_per_rtt: u32,
    /// Largest number of segments per ACK, for policies that follow the sender's window.
    pub max_delack: u32,
    /// Smallest number of ACKs per window, for policies that follow the sender's window.
    pub min_acks_per_window: u32,
    /// True if immediate ACKs are sent before the application reads, so that the offered window excludes the data
    /// (4.4BSD: the input path sends the ACK, and the process reads later).
    pub before_read: bool,
}

/// Linux's largest retransmission timeout (TCP_RTO_MAX). Delayed-ACK timeouts are much shorter, so this bound never
/// applies to them.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(120);

impl AckSettings {
    /// Delayed ACKs: one for every second segment, or after `timeout`.
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
            before_read: false,
        }
    }
}

/// The computation of the retransmission timeout from the RTT.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RtoRule {
    /// RFC 6298: smoothed RTT plus 4 times the deviation, between `min` and `max`; `initial` before the first sample.
    Rfc6298 {
        /// The smallest timeout.
        min: Duration,
        /// The largest timeout.
        max: Duration,
        /// The timeout before the first sample.
        initial: Duration,
    },
    /// Jacobson's integers (Congestion Avoidance and Control, SIGCOMM 1988, appendix A): samples in whole ticks of a
    /// coarse clock, SRTT in eighths and deviation in quarters of a tick.
    Ticks {
        /// The tick of the coarse clock.
        tick: Duration,
        /// How a sample is rounded to ticks.
        samples: TickSamples,
        /// The smallest timeout.
        min: Duration,
        /// The largest timeout.
        max: Duration,
        /// The timeout before the first sample.
        initial: Duration,
    },
    /// FreeBSD: as RFC 6298 plus a constant `slop` for the ticks of both clocks, which the backoff does not double. A
    /// sample includes the current tick.
    FreeBsd {
        /// The smallest timeout.
        min: Duration,
        /// The largest timeout.
        max: Duration,
        /// The timeout before the first sample.
        initial: Duration,
        /// The constant that is added.
        slop: Duration,
    },
    /// Linux: the deviation term is the maximum of the last round trip and at least `min`. It shrinks slowly when the
    /// RTT falls (Sarolahti and Kuznetsov, Congestion Control in Linux TCP, USENIX 2002, section 5).
    Linux {
        /// The smallest deviation term.
        min: Duration,
        /// The largest timeout.
        max: Duration,
        /// The timeout before the first sample.
        initial: Duration,
    },
}

impl RtoRule {
    /// The timeout before the first RTT sample.
    pub fn initial(self) -> Duration {
        match self {
            RtoRule::Rfc6298 { initial, .. }
            | RtoRule::Ticks { initial, .. }
            | RtoRule::FreeBsd { initial, .. }
            | RtoRule::Linux { initial, .. } => initial,
        }
    }

    /// The smallest timeout; for `Linux` the smallest deviation term.
    pub fn min(self) -> Duration {
        match self {
            RtoRule::Rfc6298 { min, .. }
            | RtoRule::Ticks { min, .. }
            | RtoRule::FreeBsd { min, .. }
            | RtoRule::Linux { min, .. } => min,
        }
    }

    /// The largest timeout.
    pub fn max(self) -> Duration {
        match self {
            RtoRule::Rfc6298 { max, .. }
            | RtoRule::Ticks { max, .. }
            | RtoRule::FreeBsd { max, .. }
            | RtoRule::Linux { max, .. } => max,
        }
    }

    /// The same rule with a different minimum.
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

/// The number of ticks in an RTT sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TickSamples {
    /// The ticks of a free-running clock between sending and ACK, plus one (4.4BSD).
    Counted,
    /// The nearest integer, at least one (ns-2).
    Nearest,
}

/// The time at which a timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimerGrain {
    /// At its deadline.
    Exact,
    /// At the first tick of a clock after its deadline.
    Tick(Duration),
    /// At a tick, in coarser steps for later deadlines: 8 times as coarse for each level of 64 ticks (a hierarchical
    /// timer wheel without cascading, as in Linux since 4.8).
    Wheel(Duration),
}

/// The rule by which a sender infers loss from ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossDetection {
    /// By time: a segment is lost if a segment sent later was delivered at least a reordering window ago (RFC 8985).
    Rack,
    /// By the number of duplicate ACKs, regardless of SACK: after the threshold all holes below the highest SACK are
    /// lost (FreeBSD's SACK recovery). After a timeout all data that is not SACKed is retransmitted in order. SACKed
    /// data then counts as in flight until three duplicates begin a recovery. Without SACK, duplicates for data
    /// outstanding at the last fast retransmit or timeout begin no recovery (RFC 6582 section 4.1).
    FreeBsd,
    /// By distance to the highest SACK: a hole is lost if `dup_threshold` segments follow it, SACKed or not (FACK:
    /// Mathis and Mahdavi, Forward Acknowledgement, SIGCOMM 1996, with Linux's allowance for reordering; Linux's
    /// default until 4.15).
    Fack,
    /// By count: a hole is lost if `dup_threshold` segments above it are SACKed (RFC 6675).
    Rfc6675,
}

/// The reaction of a sender without SACK to the first ACK that advances after a fast retransmit. With `Reno` and
/// `CarefulReno` every timeout also halves the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FastRecovery {
    /// A partial ACK repairs the next hole too, and recovery continues (RFC 6582).
    NewReno,
    /// Recovery ends (RFC 5681 section 3.2 step 6). Further duplicates begin another recovery and halve the window
    /// again.
    Reno,
    /// Recovery ends. Further duplicates begin no recovery until all data outstanding at the last recovery or timeout
    /// is acknowledged. If a window has several losses, all but the first therefore wait for a timeout (ns-2's
    /// `bugFix_`).
    CarefulReno,
}

/// The way in which the window shrinks to the new threshold during a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CwndReduction {
    /// At once (RFC 6675).
    Immediate,
    /// By one segment for every second ACK, and to at most one segment more than is in flight (rate halving: Mathis,
    /// Semke and Mahdavi, draft-mathis-tcp-ratehalving, 1999; Linux until 3.1).
    RateHalving,
    /// In proportion to delivered data (RFC 6937).
    Prr,
    /// To one segment, plus one for each duplicate ACK while less than the threshold is in the network (FreeBSD's SACK
    /// recovery). Without SACK: at once, plus one segment for each duplicate (RFC 6582 section 3.2).
    PerDuplicate,
}

/// The evidence by which a sender detects spurious retransmissions and restores the window.
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
    /// The buffer grows with the data of a round trip from `initial` to `max` (dynamic right-sizing, Fisk and Feng
    /// 2001).
    Auto {
        /// The size at the beginning.
        initial: Bytes,
        /// The largest size.
        max: Bytes,
    },
    /// FreeBSD: the buffer grows by `step` if a round trip used 7/8 of it. The round trip of a receive buffer is
    /// measured by timestamps; without timestamps it does not grow.
    Stepped {
        /// The size at the beginning.
        initial: Bytes,
        /// The growth for one round trip.
        step: Bytes,
        /// The largest size.
        max: Bytes,
    },
}

/// The unit of the send buffer's size, and the condition under which a blocked writer continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendBufferAccounting {
    /// Bytes of the stream. A blocked writer continues as soon as data is acknowledged.
    Stream,
    /// 4.4BSD: bytes of the stream, rounded up to whole segments. A writer whose data does not fit waits until
    /// `low_water` bytes are free.
    Segments {
        /// Free bytes at which a blocked writer continues.
        low_water: Bytes,
    },
    /// Linux: bytes of memory. A segment uses `per_segment` bytes in addition to its payload (captures of 6.1). A
    /// fixed size is doubled, as by `SO_SNDBUF` (socket(7)). A blocked writer waits until 1/3 of the buffer is free,
    /// and therefore writes in bursts.
    Memory {
        /// Memory of a segment in addition to its payload, in bytes.
        per_segment: u64,
    },
}

/// The computation of the offered window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiveWindow {
    /// The free room of the receive buffer.
    Room,
    /// As `Room`, for a buffer that holds a whole number of segments (4.4BSD).
    Segments,
    /// Linux: a share of the buffer's memory. A segment uses `per_segment` bytes in addition to its payload (captures of
    /// user-mode Linux). The window opens as segments arrive. A fixed size is doubled, as by `SO_RCVBUF` (socket(7)).
    Memory {
        /// Memory of a segment in addition to its payload, in bytes.
        per_segment: u64,
        /// The share of the memory that is window.
        share: WindowShare,
    },
}

/// The share of a receive buffer's memory that Linux offers as window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowShare {
    /// Half (`tcp_adv_win_scale` 1, until Linux 6.5). A buffer that grows reserves memory for each segment.
    Half,
    /// The payload's share of the memory of a full segment, in units of 1/256, measured when the size of full segments
    /// changes (`scaling_ratio`, since Linux 6.6). Half before the first segment.
    Measured,
}

impl BufferRule {
    /// The size at the beginning, in bytes.
    pub fn initial(self) -> Bytes {
        match self {
            BufferRule::Fixed(size) => size,
            BufferRule::Auto { initial, .. } | BufferRule::Stepped { initial, .. } => initial,
        }
    }

    /// The largest size, in bytes.
    pub fn max(self) -> Bytes {
        match self {
            BufferRule::Fixed(size) => size,
            BufferRule::Auto { max, .. } | BufferRule::Stepped { max, .. } => max,
        }
    }
}
