//! Stack profiles: how a particular TCP behaves where the RFCs leave room, as data.
//!
//! A profile is a plain struct. A scenario starts from one by name and may change single fields.

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
    /// Linux's metrics without `tcp_no_ssthresh_metrics_save`); at least two segments of it are taken. Left out: the
    /// round-trip time that is remembered beside it, and how a host comes to remember either.
    pub remembered_threshold: Option<Bytes>,
    /// The congestion window never goes beyond (Linux's `snd_cwnd_clamp`).
    pub max_window: Option<Bytes>,
    pub byte_counting: ByteCounting,
    pub sack: bool,
    pub dsack: bool,
    /// A FIN without data that comes early is reported by SACK, as the number that it takes (Linux).
    pub sack_fin: bool,
    pub timestamps: bool,
    pub window_scaling: bool,
    pub ecn: EcnRule,
    /// An ECN mark costs Reno and CUBIC less than a loss does (RFC 8511).
    pub abe: bool,
    pub ack: AckSettings,
    pub window_update: WindowUpdate,
    /// At most so many full segments are held out of order; what comes beyond them is dropped, and must be sent again
    /// (FreeBSD's `net.inet.tcp.reass.maxqlen`, 48 until 9).
    pub reassembly_limit: Option<u32>,
    /// What the channel before the receiver is expected to lose: up to so much counts as received, and is the
    /// application's to fetch again (Havey 2015, section 3.3.3).
    pub placeholders: Option<f64>,
    /// So many standard deviations above it too.
    pub placeholder_margin: u32,
    pub rto: RtoRule,
    pub grain: TimerGrain,
    pub loss_detection: LossDetection,
    /// Duplicate ACKs, or SACKed segments, that mean a loss.
    pub dup_threshold: u32,
    pub fast_recovery: FastRecovery,
    /// So many segments go out back to back at most, the others in bursts at the rate of the window per round trip;
    /// zero for any number (balakrishnan1999 section 8.3).
    pub max_burst: u32,
    /// An ACK with the mark of a filter has the first segment sent again at once (balakrishnan1999 section 6.3).
    pub marked_retransmit: bool,
    pub duplicates: DuplicateCount,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    pub cwnd_reduction: CwndReduction,
    /// After a loss the threshold is half of the peer's window, where that is less than the congestion window (4.4BSD).
    pub threshold_heeds_peer: bool,
    /// Probe for a lost tail after two round trips (RFC 8985 section 7).
    pub tlp: bool,
    pub undo: Undo,
    /// On a timeout forget what SACK reported and send everything again (4.4BSD); otherwise only what SACK left open
    /// (RFC 6675 section 5.1).
    pub timeout_forgets_sack: bool,
    pub idle_restart: IdleRestart,
    pub nagle: Nagle,
    pub push: PushRule,
    /// The segment with the FIN goes though the congestion window has no room for it, and waits for a peer's window
    /// that has room for the FIN too (Linux).
    pub fin_beyond_cwnd: bool,
    /// Grow the window only while it is what limits the sender (RFC 7661).
    pub cwnd_validation: bool,
    /// An ACK that brings progress and nothing else, with the congestion window at or beyond the peer's, adds nothing
    /// to it: 4.4BSD's fast path (header prediction) knows no congestion window.
    pub fast_path: bool,
    /// An ACK of data that was never sent is answered with an ACK in ESTABLISHED too (RFC 9293 section 3.10.7.4). Linux
    /// drops it.
    pub answers_unsent_ack: bool,
    pub send_buffer: BufferRule,
    pub send_buffer_accounting: SendBufferAccounting,
    pub receive_buffer: BufferRule,
    pub receive_window: ReceiveWindow,
}

/// When reading opens the receive window so far that the peer is told at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUpdate {
    /// Only when less than a segment was left of it (RFC 9293 section 3.8.6.2.2).
    NearlyClosed,
    /// Whenever it can be moved by two segments, or half the buffer, beyond what was offered last (4.4BSD; Wright and
    /// Stevens, TCP/IP Illustrated volume 2, section 26.3).
    TwoSegments,
}

/// How duplicate ACKs add up to the threshold. One that offers another window is none (RFC 5681 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateCount {
    /// Until the acknowledgement advances.
    UntilProgress,
    /// In a row: any other ACK in between starts the count anew (4.4BSD).
    InARow,
}

/// How an end uses explicit congestion notification. Linux's tcp_ecn 0, 2, 1 and, since 6.18, 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnRule {
    Off,
    /// Not asked for; given to a peer that asks.
    Accept,
    /// Asked for and given, with RFC 3168's feedback.
    On,
    /// As `On`, with a count of all marks as feedback where the peer has that too (RFC 9768).
    Accurate,
}

/// What an ACK adds to the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteCounting {
    /// A step for each ACK (RFC 5681 with one increment an ACK).
    Acks,
    /// As `Acks`, and fractions of an octet add up (ns-2, whose window is a real number): rounding down takes 3 % of
    /// the growth of 64 segments.
    AcksExactly,
    /// As `Acks`, and a window that is just the threshold grows as in slow start (4.4BSD; RFC 5681 leaves it open).
    AcksThroughThreshold,
    /// What it delivered (Linux since 3.18).
    Delivered,
    /// What it acknowledges, in slow start at most L segments (RFC 3465).
    Limited { segments: u32 },
}

/// The window after an idle time of more than one RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// As it was.
    Never,
    /// The initial one (RFC 5681 section 4.1), counted from the last segment that arrived (4.4BSD).
    Initial,
    /// Half for each RTO that passed since data was last sent, new or again, down to the initial one (RFC 2861 section
    /// 3.2; Linux).
    Halving,
}

/// When a segment that is short, and the last there is to send, waits for an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nagle {
    /// While anything is out (RFC 9293 section 3.7.4).
    BehindAny,
    /// While a short segment is out (draft-minshall-nagle; Linux).
    BehindShort,
}

/// Which segments carry PSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushRule {
    /// One that empties the send buffer (4.4BSD and its descendants).
    EmptiesBuffer,
    /// One with which a write ends, and within a long write one for each half of the largest window (Linux).
    Linux,
}

/// When a receiver acknowledges: the policy, and the settings that it may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckSettings {
    /// One of [`ack_policies`](crate::ack_policies).
    pub policy: &'static str,
    /// An ACK for every so many segments (RFC 5681 section 4.2).
    pub segments: u32,
    /// The shortest and the longest time that an ACK waits; the first where the delay adapts.
    pub min_delay: Duration,
    pub max_delay: Duration,
    /// Linux: the most segments acknowledged one by one at a beginning.
    pub quick_acks: u32,
    /// Linux: duplicate ACKs go out one for each of these, after the first three in a row; zero for all.
    pub compress: Duration,
    /// Linux: how much later the timer of such an ACK may fire, and does where nothing else wakes the machine.
    pub compress_slack: Duration,
    /// Linux: the clock of its timer and of the gaps between segments.
    pub grain: TimerGrain,
    /// Linux since 6.1.57: a full segment with PSH that was read is acknowledged at once, as a short one is.
    pub heeds_push: bool,
    /// For policies that count by the round trip.
    pub acks_per_rtt: u32,
    /// For policies that count by the sender's window: the most segments an ACK stands for, and the fewest ACKs for a
    /// window.
    pub max_delack: u32,
    pub min_acks_per_window: u32,
    /// What is to be acknowledged at once is so before the application has read it: the window offered leaves it out
    /// (4.4BSD, whose input path sends; a process reads later).
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

/// How the retransmission timeout follows from the measured RTT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RtoRule {
    /// RFC 6298.
    Rfc6298 { min: Duration, max: Duration, initial: Duration },
    /// Jacobson's integers (Congestion Avoidance and Control, SIGCOMM 1988, appendix A): samples are whole ticks of a
    /// coarse clock, SRTT is kept in eighths and the deviation in quarters of one.
    Ticks { tick: Duration, samples: TickSamples, min: Duration, max: Duration, initial: Duration },
    /// FreeBSD: as RFC 6298 with a constant `slop` for the ticks of both clocks, which backing off does not double; a
    /// sample counts the tick that has begun.
    FreeBsd { min: Duration, max: Duration, initial: Duration, slop: Duration },
    /// Linux: the deviation term is the largest of the last round trip, at least `min` by itself, and shrinks slowly
    /// when the RTT falls (Sarolahti and Kuznetsov, Congestion Control in Linux TCP, USENIX 2002, section 5).
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

/// How many ticks a round trip took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickSamples {
    /// Those between sending and the ACK on a clock that runs for itself, and one (4.4BSD).
    Counted,
    /// The nearest number, at least one (ns-2).
    Nearest,
}

/// When a timer really fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerGrain {
    /// At once.
    Exact,
    /// At the next tick of a clock.
    Tick(Duration),
    /// At a tick, and coarser the further off it is: eight times for each level of 64 ticks (a hierarchical timer wheel
    /// that does not cascade, as Linux has had since 4.8).
    Wheel(Duration),
}

/// How a sender infers loss from ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// By time: a segment is lost when one sent later has been delivered a reordering window before (RFC 8985).
    Rack,
    /// By counted duplicates alone, whatever SACK reports: after the threshold all holes below the highest SACK are
    /// lost (FreeBSD's SACK recovery). After a timeout all that SACK leaves open goes again in order, and what it
    /// reported counts as in flight, until three duplicates begin a recovery. Without SACK duplicates for what was out
    /// at the last fast retransmit or timeout begin none (RFC 6582 section 4.1).
    FreeBsd,
    /// By the distance to the highest SACK: a hole is lost when `dup_threshold` segments lie above it, SACKed or not
    /// (FACK: Mathis and Mahdavi, Forward Acknowledgement, SIGCOMM 1996, with Linux's allowance for reordering; its
    /// default until 4.15).
    Fack,
    /// By count: a hole is lost when `dup_threshold` segments above it were SACKed (RFC 6675).
    Rfc6675,
}

/// What a sender without SACK makes of the first ACK that advances after a fast retransmit. Both kinds of Reno also
/// halve the threshold with every timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastRecovery {
    /// One that leaves data open which was out at the loss repairs that too, and recovery goes on (RFC 6582).
    NewReno,
    /// Recovery is over (RFC 5681 section 3.2 step 6). Further duplicates begin another, and halve the window again.
    Reno,
    /// Recovery is over, and further duplicates begin none before all is acknowledged that was out when the last one,
    /// or a timeout, began: of several losses in a window all but the first wait for a timeout (ns-2's `bugFix_`).
    CarefulReno,
}

/// How the window comes down to the new threshold while a loss is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwndReduction {
    /// At once (RFC 6675).
    Immediate,
    /// By a segment for every second ACK, and never more than one beyond what is in flight (rate halving: Mathis, Semke
    /// and Mahdavi, draft-mathis-tcp-ratehalving, 1999; Linux until 3.1).
    RateHalving,
    /// In proportion to what arrives (RFC 6937).
    Prr,
    /// Down to a segment, and then a segment for each duplicate ACK while less than the threshold is in the network
    /// (FreeBSD's SACK recovery). Without SACK: at once, and up by a segment for each duplicate (RFC 6582 section 3.2).
    PerDuplicate,
}

/// How a sender finds out that a retransmission was not needed, and takes the window reduction back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undo {
    /// An ACK echoes a timestamp from before the retransmission (Eifel, RFC 3522 and 4015).
    pub timestamps: bool,
    /// DSACK reports every retransmission as a duplicate (RFC 3708).
    pub dsack: bool,
    /// ACKs for data that was never sent again, after a timeout (F-RTO, RFC 5682 section 3).
    pub frto: bool,
    /// An ACK within half the smoothed RTT after a timeout (4.4BSD).
    pub early_ack: bool,
}

/// The size of a socket buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferRule {
    Fixed(Bytes),
    /// Grows with what passes in a round trip (dynamic right-sizing, Fisk and Feng 2001) from `initial` to `max`.
    Auto {
        initial: Bytes,
        max: Bytes,
    },
    /// FreeBSD: grows by `step` when a round trip used seven eighths of it; the round trip of a receive buffer is told
    /// by timestamps, and without them it stays.
    Stepped {
        initial: Bytes,
        step: Bytes,
        max: Bytes,
    },
}

/// What the size of the send buffer counts, and when a writer that found it full may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendBufferAccounting {
    /// Octets of the stream; there is room as soon as something is acknowledged.
    Stream,
    /// 4.4BSD: octets of the stream, a whole number of segments of them at least; a writer that has more than fits
    /// waits until `low_water` octets are free.
    Segments { low_water: Bytes },
    /// Linux: memory, of which a segment takes `per_segment` octets beyond its payload (by captures of 6.1); a fixed
    /// size counts twice (socket(7)). A writer that found the buffer full waits until a third of it is free, and so
    /// writes in bursts.
    Memory { per_segment: u64 },
}

/// What the offered window follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWindow {
    /// The room that the receive buffer has.
    Room,
    /// As `Room`, of a buffer that holds a whole number of segments (4.4BSD).
    Segments,
    /// Linux: half of the buffer's memory, of which a segment takes `per_segment` octets beyond its payload (by
    /// captures of 6.1); it opens with the segments that arrive. A fixed size counts twice (socket(7)).
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
