//! Stack profiles: the behaviour of a particular TCP where the RFCs leave room, as data.
//!
//! A profile is a plain struct. A scenario starts from a named profile and may change single fields.

mod bsdi;
mod freebsd;
mod linux;
mod ns2;
mod settings;
mod windows;

pub use settings::{DelayedAck, StackConfig, Switch};

use lopsided_core::{Bytes, Duration};

/// The names that [`Profile::named`] knows.
pub const PROFILES: &[&str] = &["linux-6.1", "freebsd-7", "linux-2.6", "bsdi-3", "ns2-reno", "windows"];

/// Everything about an endpoint that is not congestion control.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub name: &'static str,
    /// The initial window in segments, before [`Profile::initial_window`] applies its cap in octets.
    pub initial_window_segments: u32,
    /// RFC 3390's cap: at most this many octets, but at least two segments.
    pub initial_window_cap: Option<Bytes>,
    /// The threshold of slow start that the host remembers of this destination (FreeBSD's host cache, `tcp_hostcache`;
    /// Linux's metrics without `tcp_no_ssthresh_metrics_save`); at least two segments of it are taken.
    pub remembered_threshold: Option<Bytes>,
    /// The smoothed round-trip time that the host remembers of this destination: after the handshake the timeout starts
    /// from it if it is longer than the handshake's own (Linux's `tcp_init_metrics`).
    pub remembered_rtt: Option<Duration>,
    /// What a host keeps of a destination when a connection to it ends.
    pub metrics_save: MetricsSave,
    /// Largest congestion window (Linux's `snd_cwnd_clamp`).
    pub max_window: Option<Bytes>,
    pub byte_counting: ByteCounting,
    pub sack: bool,
    pub dsack: bool,
    /// An early FIN without data is reported by SACK as one sequence number (Linux).
    pub sack_fin: bool,
    pub timestamps: bool,
    pub window_scaling: bool,
    pub ecn: EcnRule,
    /// An ECN mark costs Reno and CUBIC less than a loss does (RFC 8511).
    pub abe: bool,
    pub ack: AckSettings,
    pub window_update: WindowUpdate,
    /// Largest number of full segments held out of order; further ones are dropped and must be retransmitted (FreeBSD's
    /// `net.inet.tcp.reass.maxqlen`, 48 until 9).
    pub reassembly_limit: Option<u32>,
    /// Expected loss of the channel before the receiver: missing data up to this share counts as received, and the
    /// application fetches it again (Havey 2015, section 3.3.3).
    pub placeholders: Option<f64>,
    /// Number of standard deviations above it that also count as the channel's loss.
    pub placeholder_margin: u32,
    pub rto: RtoRule,
    /// The handshake's round trip is the first sample of the timeout (RFC 6298). Without it the timeout of the first
    /// data is the initial one, as in ns-2, whose one-way agents have no handshake.
    pub handshake_sample: bool,
    pub grain: TimerGrain,
    pub loss_detection: LossDetection,
    /// Number of duplicate ACKs, or of SACKed segments, that mean a loss.
    pub dup_threshold: u32,
    pub fast_recovery: FastRecovery,
    /// Largest burst in segments; further segments are spread over the RTT; 0 for no limit (balakrishnan1999 section
    /// 8.3).
    pub max_burst: u32,
    /// Bursts that wait are sent on multiples of this time, as 4.4BSD's callouts are; zero for any time.
    pub burst_tick: Duration,
    /// An ACK marked by a filter retransmits the first segment at once (balakrishnan1999 section 6.3).
    pub marked_retransmit: bool,
    pub duplicates: DuplicateCount,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    pub cwnd_reduction: CwndReduction,
    /// After a loss the threshold is half of the peer's window, if that is smaller than the congestion window (4.4BSD).
    pub threshold_heeds_peer: bool,
    /// Send a tail loss probe after two round trips (RFC 8985 section 7).
    pub tlp: bool,
    pub undo: Undo,
    /// A timeout forgets SACK and retransmits everything (4.4BSD). Otherwise only data that is not SACKed is
    /// retransmitted (RFC 6675 section 5.1).
    pub timeout_forgets_sack: bool,
    pub idle_restart: IdleRestart,
    pub nagle: Nagle,
    pub push: PushRule,
    /// The FIN's segment ignores cwnd but must fit the peer's window with its FIN (Linux).
    pub fin_beyond_cwnd: bool,
    /// Grow the window only while it limits the sender (RFC 7661).
    pub cwnd_validation: bool,
    /// An ACK that only advances does not grow a congestion window that is at or above the peer's window: 4.4BSD's fast
    /// path (header prediction) ignores cwnd.
    pub fast_path: bool,
    /// An ACK of data that was never sent is answered with an ACK in ESTABLISHED too (RFC 9293 section 3.10.7.4). Linux
    /// drops it.
    pub answers_unsent_ack: bool,
    /// A pure ACK repeats our FIN until the peer acknowledges it, as `tcp_output` of 4.4BSD does: the flags of a segment
    /// follow from the state alone.
    pub ack_repeats_fin: bool,
    pub send_buffer: BufferRule,
    pub send_buffer_accounting: SendBufferAccounting,
    pub receive_buffer: BufferRule,
    pub receive_window: ReceiveWindow,
}

/// What a host keeps of a destination when a connection to it ends, for the next one (Linux's `tcp_metrics`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsSave {
    /// Nothing (Linux with `tcp_no_metrics_save`).
    Off,
    /// Round-trip time and reordering (Linux since 5.6, with `tcp_no_ssthresh_metrics_save` as it is by default).
    RoundTrips,
    /// The threshold of slow start too (Linux before 5.6).
    All,
}

/// When a read opens the receive window enough to notify the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUpdate {
    /// Only if less than a segment of the window was left (RFC 9293 section 3.8.6.2.2).
    NearlyClosed,
    /// If the window can move by two segments, or by half the buffer, beyond the last offer (4.4BSD; Wright and
    /// Stevens, TCP/IP Illustrated volume 2, section 26.3).
    TwoSegments,
}

/// How duplicate ACKs are counted. An ACK with another window is not a duplicate (RFC 5681 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateCount {
    /// Until the acknowledgement advances.
    UntilProgress,
    /// In a row: any other ACK in between restarts the count (4.4BSD).
    InARow,
}

/// ECN mode. Linux's tcp_ecn 0, 2, 1 and, since 6.18, 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnRule {
    Off,
    /// Not requested; accepted if the peer requests it.
    Accept,
    /// Requested and accepted, with RFC 3168's feedback.
    On,
    /// As `On`, with a count of all marks as feedback if the peer supports it (RFC 9768).
    Accurate,
}

/// What an ACK adds to the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteCounting {
    /// One step per ACK (RFC 5681 with one increment per ACK).
    Acks,
    /// As `Acks`, but fractions of a byte accumulate (ns-2, whose window is a real number). Rounding down would lose 3
    /// % of the growth of 64 segments.
    AcksExactly,
    /// As `Acks`, and a window equal to the threshold grows as in slow start (4.4BSD; RFC 5681 allows both).
    AcksThroughThreshold,
    /// The delivered bytes (Linux since 3.18).
    Delivered,
    /// The acknowledged bytes, in slow start at most L segments (RFC 3465).
    Limited { segments: u32 },
}

/// The window after an idle time of more than one RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// Unchanged.
    Never,
    /// The initial window (RFC 5681 section 4.1); idle time counts from the last segment that arrived (4.4BSD).
    Initial,
    /// Halved for each RTO since data was last sent, new or retransmitted, down to the initial window (RFC 2861 section
    /// 3.2; Linux).
    Halving,
}

/// When a short last segment waits for an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nagle {
    /// While any data is outstanding (RFC 9293 section 3.7.4).
    BehindAny,
    /// While a short segment is outstanding (draft-minshall-nagle; Linux).
    BehindShort,
}

/// Which segments carry PSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushRule {
    /// A segment that empties the send buffer (4.4BSD and its descendants).
    EmptiesBuffer,
    /// A segment that ends a write, and within a long write one per half of the largest window (Linux).
    Linux,
}

/// When a receiver acknowledges: the policy and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckSettings {
    /// One of [`ack_policies`](crate::ack_policies).
    pub policy: &'static str,
    /// An ACK for each N segments (RFC 5681 section 4.2).
    pub segments: u32,
    /// Shortest and longest delay of an ACK; the shortest is used by adaptive policies.
    pub min_delay: Duration,
    pub max_delay: Duration,
    /// Linux: largest number of quick ACKs at a beginning.
    pub quick_acks: u32,
    /// Linux: interval of compressed duplicate ACKs after the first three in a row; 0 sends all.
    pub compress: Duration,
    /// Linux: how much later the timer of a compressed ACK may expire. It expires that late if nothing else wakes the
    /// machine.
    pub compress_slack: Duration,
    /// Linux: clock of its timer and of the gaps between segments.
    pub grain: TimerGrain,
    /// Linux since 6.1.57: a full segment with PSH is acknowledged at once when it is read, as a short one is.
    pub heeds_push: bool,
    /// For policies that count per RTT.
    pub acks_per_rtt: u32,
    /// For policies that count by the sender's window: the most segments that an ACK covers, and the fewest ACKs per
    /// window.
    pub max_delack: u32,
    pub min_acks_per_window: u32,
    /// Immediate ACKs are sent before the application reads, so the offered window excludes the data (4.4BSD: the input
    /// path sends, the process reads later).
    pub before_read: bool,
}

impl AckSettings {
    /// Delayed ACKs: every second segment, or after `timeout`.
    pub const fn delayed(timeout: Duration) -> AckSettings {
        AckSettings {
            policy: "delayed",
            segments: 2,
            min_delay: timeout,
            max_delay: timeout,
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

/// How the retransmission timeout is computed from the RTT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RtoRule {
    /// RFC 6298.
    Rfc6298 { min: Duration, max: Duration, initial: Duration },
    /// Jacobson's integers (Congestion Avoidance and Control, SIGCOMM 1988, appendix A): samples in whole ticks of a
    /// coarse clock, SRTT in 1/8 and deviation in 1/4 of a tick.
    Ticks { tick: Duration, samples: TickSamples, min: Duration, max: Duration, initial: Duration },
    /// FreeBSD: as RFC 6298 plus a constant `slop` for the ticks of both clocks, which backoff does not double; a
    /// sample counts the current tick.
    FreeBsd { min: Duration, max: Duration, initial: Duration, slop: Duration },
    /// Linux: the deviation term is the maximum of the last round trip, at least `min`, and shrinks slowly when the RTT
    /// falls (Sarolahti and Kuznetsov, Congestion Control in Linux TCP, USENIX 2002, section 5).
    Linux { min: Duration, max: Duration, initial: Duration },
}

impl RtoRule {
    pub fn initial(self) -> Duration {
        match self {
            RtoRule::Rfc6298 { initial, .. }
            | RtoRule::Ticks { initial, .. }
            | RtoRule::FreeBsd { initial, .. }
            | RtoRule::Linux { initial, .. } => initial,
        }
    }

    pub fn min(self) -> Duration {
        match self {
            RtoRule::Rfc6298 { min, .. }
            | RtoRule::Ticks { min, .. }
            | RtoRule::FreeBsd { min, .. }
            | RtoRule::Linux { min, .. } => min,
        }
    }

    pub fn max(self) -> Duration {
        match self {
            RtoRule::Rfc6298 { max, .. }
            | RtoRule::Ticks { max, .. }
            | RtoRule::FreeBsd { max, .. }
            | RtoRule::Linux { max, .. } => max,
        }
    }

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

/// How many ticks an RTT counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickSamples {
    /// The ticks between sending and ACK on a free-running clock, plus one (4.4BSD).
    Counted,
    /// The nearest integer, at least one (ns-2).
    Nearest,
}

/// When a timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerGrain {
    /// Exactly on time.
    Exact,
    /// At the next tick of a clock.
    Tick(Duration),
    /// At a tick, and coarser for later deadlines: 8 times for each level of 64 ticks (a hierarchical timer wheel
    /// without cascading, as in Linux since 4.8).
    Wheel(Duration),
}

/// How a sender infers loss from ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// By time: a segment is lost if a segment sent later was delivered at least a reordering window ago (RFC 8985).
    Rack,
    /// By the number of duplicates, whatever SACK reports: after the threshold all holes below the highest SACK are
    /// lost (FreeBSD's SACK recovery). After a timeout all data that is not SACKed is retransmitted in order, and
    /// SACKed data counts as in flight, until three duplicates begin a recovery. Without SACK, duplicates for data
    /// outstanding at the last fast retransmit or timeout begin none (RFC 6582 section 4.1).
    FreeBsd,
    /// By distance to the highest SACK: a hole is lost if `dup_threshold` segments lie above it, SACKed or not (FACK:
    /// Mathis and Mahdavi, Forward Acknowledgement, SIGCOMM 1996, with Linux's allowance for reordering; Linux's
    /// default until 4.15).
    Fack,
    /// By count: a hole is lost if `dup_threshold` segments above it are SACKed (RFC 6675).
    Rfc6675,
}

/// How a sender without SACK treats the first ACK that advances after a fast retransmit. Both kinds of Reno also halve
/// the threshold with every timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastRecovery {
    /// A partial ACK repairs the next hole too, and recovery continues (RFC 6582).
    NewReno,
    /// Recovery ends (RFC 5681 section 3.2 step 6). Further duplicates begin another recovery and halve the window
    /// again.
    Reno,
    /// Recovery ends, and further duplicates begin no recovery until all data outstanding at the last recovery or
    /// timeout is acknowledged: of several losses in a window all but the first wait for a timeout (ns-2's `bugFix_`).
    CarefulReno,
}

/// How the window falls to the new threshold during a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwndReduction {
    /// At once (RFC 6675).
    Immediate,
    /// By one segment for every second ACK, and at most one segment beyond what is in flight (rate halving: Mathis,
    /// Semke and Mahdavi, draft-mathis-tcp-ratehalving, 1999; Linux until 3.1).
    RateHalving,
    /// In proportion to delivered data (RFC 6937).
    Prr,
    /// To one segment, plus one for each duplicate ACK while less than the threshold is in the network (FreeBSD's SACK
    /// recovery). Without SACK: at once, plus one segment for each duplicate (RFC 6582 section 3.2).
    PerDuplicate,
}

/// How a sender detects that a retransmission was spurious, and restores the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undo {
    /// An ACK echoes a timestamp from before the retransmission (Eifel, RFC 3522 and 4015).
    pub timestamps: bool,
    /// DSACK reports every retransmission as a duplicate (RFC 3708).
    pub dsack: bool,
    /// ACKs for data that was never retransmitted, after a timeout (F-RTO, RFC 5682 section 3).
    pub frto: bool,
    /// An ACK within half the smoothed RTT after a timeout (4.4BSD).
    pub early_ack: bool,
}

/// The size of a socket buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferRule {
    Fixed(Bytes),
    /// Grows with the data of a round trip (dynamic right-sizing, Fisk and Feng 2001) from `initial` to `max`.
    Auto {
        initial: Bytes,
        max: Bytes,
    },
    /// FreeBSD: grows by `step` if a round trip used 7/8 of it. Timestamps measure a receive buffer's round trip;
    /// without them it stays.
    Stepped {
        initial: Bytes,
        step: Bytes,
        max: Bytes,
    },
}

/// What the send buffer's size counts, and when a blocked writer continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendBufferAccounting {
    /// Bytes of the stream; there is room as soon as data is acknowledged.
    Stream,
    /// 4.4BSD: bytes of the stream, at least a whole number of segments; a writer with more than fits waits until
    /// `low_water` bytes are free.
    Segments { low_water: Bytes },
    /// Linux: memory; a segment takes `per_segment` bytes in addition to its payload (captures of 6.1); a fixed size
    /// counts twice (socket(7)). A blocked writer waits until 1/3 of the buffer is free, and so writes in bursts.
    Memory { per_segment: u64 },
}

/// How the offered window is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWindow {
    /// The free room of the receive buffer.
    Room,
    /// As `Room`, for a buffer that holds a whole number of segments (4.4BSD).
    Segments,
    /// Linux: half of the buffer's memory, of which a segment takes `per_segment` bytes in addition to its payload
    /// (captures of 6.1). The window opens with arriving segments. A fixed size counts twice (socket(7)).
    Memory { per_segment: u64 },
}

impl BufferRule {
    pub fn initial(self) -> Bytes {
        match self {
            BufferRule::Fixed(size) => size,
            BufferRule::Auto { initial, .. } | BufferRule::Stepped { initial, .. } => initial,
        }
    }

    pub fn max(self) -> Bytes {
        match self {
            BufferRule::Fixed(size) => size,
            BufferRule::Auto { max, .. } | BufferRule::Stepped { max, .. } => max,
        }
    }
}

impl Profile {
    /// The profile of that name; `None` for an unknown name.
    pub fn named(name: &str) -> Option<Profile> {
        match name {
            "linux-6.1" => Some(Profile::linux_6_1()),
            "freebsd-7" => Some(Profile::freebsd_7()),
            "linux-2.6" => Some(Profile::linux_2_6()),
            "bsdi-3" => Some(Profile::bsdi_3()),
            "ns2-reno" => Some(Profile::ns2_reno()),
            "windows" => Some(Profile::windows()),
            _ => None,
        }
    }

    /// The initial window for a segment size (RFC 3390 section 1, RFC 6928 section 2).
    pub fn initial_window(&self, mss: Bytes) -> Bytes {
        let window = Bytes::new(u64::from(self.initial_window_segments) * mss.get());
        match self.initial_window_cap {
            Some(cap) => window.min(cap.max(Bytes::new(2 * mss.get()))),
            None => window,
        }
    }
}
