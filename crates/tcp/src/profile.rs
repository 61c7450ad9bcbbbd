//! Stack profiles: how a particular TCP behaves where the RFCs leave room, as data.
//!
//! A profile is a plain struct. A scenario starts from one by name and may change single fields.

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
    /// The congestion window never goes beyond (Linux's `snd_cwnd_clamp`).
    pub max_window: Option<Bytes>,
    pub byte_counting: ByteCounting,
    pub sack: bool,
    pub dsack: bool,
    pub timestamps: bool,
    pub window_scaling: bool,
    pub ecn: EcnRule,
    /// An ECN mark costs Reno and CUBIC less than a loss does (RFC 8511).
    pub abe: bool,
    pub ack: AckRule,
    pub rto: RtoRule,
    pub grain: TimerGrain,
    pub loss_detection: LossDetection,
    /// Duplicate ACKs, or SACKed segments, that mean a loss.
    pub dup_threshold: u32,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    pub cwnd_reduction: CwndReduction,
    /// Probe for a lost tail after two round trips (RFC 8985 section 7).
    pub tlp: bool,
    pub undo: Undo,
    /// On a timeout forget what SACK reported and send everything again (4.4BSD); otherwise only what SACK left open
    /// (RFC 6675 section 5.1).
    pub timeout_forgets_sack: bool,
    pub idle_restart: IdleRestart,
    pub nagle: Nagle,
    /// Grow the window only while it is what limits the sender (RFC 7661).
    pub cwnd_validation: bool,
    pub send_buffer: BufferRule,
    pub send_buffer_accounting: SendBufferAccounting,
    pub receive_buffer: BufferRule,
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
    /// The initial one (RFC 5681 section 4.1).
    Initial,
    /// Half for each RTO that passed, down to the initial one (RFC 2861 section 3.2; Linux).
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

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AckRule {
    /// Every segment.
    Immediate,
    /// Every `segments`-th segment or after `timeout`; out-of-order segments at once (RFC 5681 section 4.2).
    Delayed { segments: u32, timeout: Duration },
    /// Linux: the first segments of a connection, and those after a pause or a duplicate, one by one; then one ACK for
    /// more than one full segment or after an adaptive timeout between `min` and `max`; after three duplicate ACKs in a
    /// row, one per `compress`. A short segment that was read is acknowledged at once, and with `push` (since 6.1.57) a
    /// full one with PSH too.
    LinuxQuickAck { min: Duration, max: Duration, quick_acks: u32, compress: Duration, push: bool },
}

/// How the retransmission timeout follows from the measured RTT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RtoRule {
    /// RFC 6298, plus a constant `slop` (4.4BSD's descendants add one for their coarse clocks).
    Rfc6298 { min: Duration, max: Duration, initial: Duration, slop: Duration },
    /// Linux: the deviation term is the largest of the last round trip, at least `min` by itself, and shrinks slowly
    /// when the RTT falls (Sarolahti and Kuznetsov, Congestion Control in Linux TCP, USENIX 2002, section 5).
    Linux { min: Duration, max: Duration, initial: Duration },
}

impl RtoRule {
    pub fn initial(self) -> Duration {
        match self {
            RtoRule::Rfc6298 { initial, .. } | RtoRule::Linux { initial, .. } => initial,
        }
    }

    pub fn min(self) -> Duration {
        match self {
            RtoRule::Rfc6298 { min, .. } | RtoRule::Linux { min, .. } => min,
        }
    }

    pub fn max(self) -> Duration {
        match self {
            RtoRule::Rfc6298 { max, .. } | RtoRule::Linux { max, .. } => max,
        }
    }

    #[must_use]
    pub fn with_min(self, min: Duration) -> RtoRule {
        match self {
            RtoRule::Rfc6298 { max, initial, slop, .. } => RtoRule::Rfc6298 { min, max, initial, slop },
            RtoRule::Linux { max, initial, .. } => RtoRule::Linux { min, max, initial },
        }
    }
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
    /// By the highest SACK: after the duplicate threshold all holes below it are lost (FreeBSD's SACK recovery).
    FreeBsdSack,
    /// By the distance to the highest SACK: a hole is lost when `dup_threshold` segments lie above it, SACKed or not
    /// (FACK: Mathis and Mahdavi, Forward Acknowledgement, SIGCOMM 1996, with Linux's allowance for reordering; its
    /// default until 4.15).
    Fack,
    /// By count: a hole is lost when `dup_threshold` segments above it were SACKed (RFC 6675).
    Rfc6675,
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
    /// FreeBSD: grows by `step` when a round trip used seven eighths of it.
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
    /// Linux: memory, of which a segment takes `per_segment` octets beyond its payload (by captures of 6.1); a fixed
    /// size counts twice (socket(7)). A writer that found the buffer full waits until a third of it is free, and so
    /// writes in bursts.
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

    /// Linux 6.1 as Debian 12 ships it, HZ=250: RFC 6928 window, RACK-TLP, PRR, F-RTO and Eifel undo.
    pub fn linux_6_1() -> Profile {
        Profile {
            name: "linux-6.1",
            initial_window_segments: 10,
            initial_window_cap: None,
            max_window: None,
            byte_counting: ByteCounting::Delivered,
            sack: true,
            dsack: true,
            timestamps: true,
            window_scaling: true,
            ecn: EcnRule::Accept,
            abe: false,
            ack: AckRule::LinuxQuickAck {
                min: Duration::from_millis(40),
                max: Duration::from_millis(200),
                quick_acks: 16,
                compress: Duration::from_millis(1),
                push: true,
            },
            rto: RtoRule::Linux {
                min: Duration::from_millis(200),
                max: Duration::from_secs(120),
                initial: Duration::from_secs(1),
            },
            grain: TimerGrain::Wheel(Duration::from_millis(4)),
            loss_detection: LossDetection::Rack,
            dup_threshold: 3,
            limited_transmit: true,
            cwnd_reduction: CwndReduction::Prr,
            tlp: true,
            undo: Undo { timestamps: true, dsack: true, frto: true, early_ack: false },
            timeout_forgets_sack: false,
            idle_restart: IdleRestart::Halving,
            nagle: Nagle::BehindShort,
            cwnd_validation: true,
            send_buffer: BufferRule::Auto { initial: Bytes::new(46_080), max: Bytes::new(4 << 20) },
            send_buffer_accounting: SendBufferAccounting::Memory { per_segment: 768 },
            receive_buffer: BufferRule::Auto { initial: Bytes::new(65_536), max: Bytes::new(3 << 20) },
        }
    }

    /// FreeBSD 7.2, the hosts of merritt2010: RFC 3390 window, one window step an ACK, SACK with a FACK estimate of the
    /// pipe, ACK of every second segment or after 100 ms, RTO of at least 30 ms with 200 ms of slop, buffers growing to
    /// 256 KiB. Its "inflight" limiter is left out: the thesis switched it off.
    pub fn freebsd_7() -> Profile {
        Profile {
            name: "freebsd-7",
            initial_window_segments: 4,
            initial_window_cap: Some(Bytes::new(4380)),
            max_window: None,
            byte_counting: ByteCounting::Acks,
            sack: true,
            dsack: false,
            timestamps: true,
            window_scaling: true,
            ecn: EcnRule::Off,
            abe: false,
            ack: AckRule::Delayed { segments: 2, timeout: Duration::from_millis(100) },
            rto: RtoRule::Rfc6298 {
                min: Duration::from_millis(30),
                max: Duration::from_secs(64),
                initial: Duration::from_secs(3),
                slop: Duration::from_millis(200),
            },
            grain: TimerGrain::Tick(Duration::from_millis(1)),
            loss_detection: LossDetection::FreeBsdSack,
            dup_threshold: 3,
            limited_transmit: true,
            cwnd_reduction: CwndReduction::Immediate,
            tlp: false,
            undo: Undo { timestamps: false, dsack: false, frto: false, early_ack: true },
            timeout_forgets_sack: true,
            idle_restart: IdleRestart::Initial,
            nagle: Nagle::BehindAny,
            cwnd_validation: false,
            send_buffer: BufferRule::Stepped {
                initial: Bytes::new(32_768),
                step: Bytes::new(8_192),
                max: Bytes::new(262_144),
            },
            send_buffer_accounting: SendBufferAccounting::Stream,
            receive_buffer: BufferRule::Stepped {
                initial: Bytes::new(65_536),
                step: Bytes::new(16_384),
                max: Bytes::new(262_144),
            },
        }
    }

    /// Linux 2.6.22, the hosts of orosz2010 and about those of yahya2011, with HZ=1000: three segments of initial
    /// window, one window step an ACK, FACK, rate halving, no F-RTO, an initial RTO of 3 s (Sarolahti and Kuznetsov,
    /// Congestion Control in Linux TCP, USENIX 2002).
    ///
    /// Left out: FACK ends for good once reordering is seen; some controls' rate halving may go below the threshold;
    /// during a repair segments older than the RTO are lost. The window's limits after idle, undo and disorder are
    /// those of `linux-6.1`.
    pub fn linux_2_6() -> Profile {
        Profile {
            name: "linux-2.6",
            initial_window_segments: 3,
            byte_counting: ByteCounting::Acks,
            // ACKs were not compressed before 4.18.
            ack: AckRule::LinuxQuickAck {
                min: Duration::from_millis(40),
                max: Duration::from_millis(200),
                quick_acks: 16,
                compress: Duration::ZERO,
                push: false,
            },
            rto: RtoRule::Linux {
                min: Duration::from_millis(200),
                max: Duration::from_secs(120),
                initial: Duration::from_secs(3),
            },
            grain: TimerGrain::Tick(Duration::from_millis(1)),
            loss_detection: LossDetection::Fack,
            cwnd_reduction: CwndReduction::RateHalving,
            tlp: false,
            undo: Undo { timestamps: true, dsack: true, frto: false, early_ack: false },
            send_buffer: BufferRule::Auto { initial: Bytes::new(16_384), max: Bytes::new(4 << 20) },
            send_buffer_accounting: SendBufferAccounting::Stream,
            receive_buffer: BufferRule::Auto { initial: Bytes::new(65_535), max: Bytes::new(3 << 20) },
            ..Profile::linux_6_1()
        }
    }

    /// BSD/OS 3.0, the hosts of balakrishnan1999, a 4.4BSD-Lite2: an initial window of one segment, no SACK, ACK of
    /// every second segment or after 200 ms, retransmission timers in ticks of 500 ms and of at least 1 s. Deviations:
    /// its recovery is Reno's, here NewReno's (RFC 6582); its RTT samples are in ticks too.
    pub fn bsdi_3() -> Profile {
        Profile {
            name: "bsdi-3",
            initial_window_segments: 1,
            initial_window_cap: None,
            sack: false,
            ack: AckRule::Delayed { segments: 2, timeout: Duration::from_millis(200) },
            rto: RtoRule::Rfc6298 {
                min: Duration::from_secs(1),
                max: Duration::from_secs(64),
                initial: Duration::from_secs(6),
                slop: Duration::ZERO,
            },
            grain: TimerGrain::Tick(Duration::from_millis(500)),
            loss_detection: LossDetection::Rfc6675,
            limited_transmit: false,
            undo: Undo { timestamps: false, dsack: false, frto: false, early_ack: false },
            send_buffer: BufferRule::Fixed(Bytes::new(16_384)),
            receive_buffer: BufferRule::Fixed(Bytes::new(16_384)),
            ..Profile::freebsd_7()
        }
    }

    /// ns-2's one-way `Agent/TCP/Reno` and `TCPSink`, the simulations of balakrishnan1999: an ACK for every segment, an
    /// initial window of one, no options, RTO of at least 200 ms. Its window is the receive buffer here, with
    /// balakrishnan1999's 100 kB. Deviations: recovery is NewReno's, sequence numbers count octets, connections have
    /// handshakes, RTT samples are not in ticks of 100 ms.
    pub fn ns2_reno() -> Profile {
        Profile {
            name: "ns2-reno",
            timestamps: false,
            ack: AckRule::Immediate,
            rto: RtoRule::Rfc6298 {
                min: Duration::from_millis(200),
                max: Duration::from_secs(100_000),
                initial: Duration::from_secs(3),
                slop: Duration::ZERO,
            },
            grain: TimerGrain::Exact,
            idle_restart: IdleRestart::Never,
            send_buffer: BufferRule::Fixed(Bytes::new(1 << 20)),
            receive_buffer: BufferRule::Fixed(Bytes::new(100_000)),
            ..Profile::bsdi_3()
        }
    }

    /// Windows 7, whose congestion control is `compound`: an initial window of two segments, SACK without timestamps,
    /// ACK of every second segment or after 200 ms, RTO of at least 300 ms, F-RTO, a receive window tuned up to 16 MiB,
    /// a clock of 64 Hz. From what Microsoft documents and the RFCs that it names; not measured.
    pub fn windows() -> Profile {
        Profile {
            name: "windows",
            initial_window_segments: 2,
            initial_window_cap: None,
            max_window: None,
            byte_counting: ByteCounting::Limited { segments: 2 },
            sack: true,
            dsack: true,
            timestamps: false,
            window_scaling: true,
            ecn: EcnRule::Off,
            abe: false,
            ack: AckRule::Delayed { segments: 2, timeout: Duration::from_millis(200) },
            rto: RtoRule::Rfc6298 {
                min: Duration::from_millis(300),
                max: Duration::from_secs(120),
                initial: Duration::from_secs(3),
                slop: Duration::ZERO,
            },
            grain: TimerGrain::Tick(Duration::from_micros(15_625)),
            loss_detection: LossDetection::Rfc6675,
            dup_threshold: 3,
            limited_transmit: true,
            cwnd_reduction: CwndReduction::Immediate,
            tlp: false,
            undo: Undo { timestamps: false, dsack: false, frto: true, early_ack: false },
            timeout_forgets_sack: false,
            idle_restart: IdleRestart::Initial,
            nagle: Nagle::BehindAny,
            cwnd_validation: true,
            send_buffer: BufferRule::Auto { initial: Bytes::new(65_536), max: Bytes::new(16 << 20) },
            send_buffer_accounting: SendBufferAccounting::Stream,
            receive_buffer: BufferRule::Auto { initial: Bytes::new(65_536), max: Bytes::new(16 << 20) },
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
