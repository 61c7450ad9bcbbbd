//! A stack profile describes the choices of a particular TCP implementation as data.
//!
//! A scenario starts from a named profile and may change single fields.

mod bsdi;
mod freebsd;
mod linux;
mod ns2;
mod rules;
mod windows;

pub use rules::{
    AckSettings, BufferRule, ByteCounting, CwndReduction, DuplicateCount, EcnRule, FastRecovery, IdleRestart,
    LossDetection, MetricsSave, Nagle, PushRule, ReceiveWindow, RtoRule, SendBufferAccounting, TickSamples, TimerGrain,
    Undo, WindowShare, WindowUpdate,
};

use lopsided_core::{Bytes, Duration};

/// The names that [`Profile::named`] accepts.
pub const PROFILES: &[&str] = &["linux-6.1", "linux-6.12", "freebsd-7", "linux-2.6", "bsdi-3", "ns2-reno", "windows"];

/// The behaviour of an endpoint, except its congestion control.
///
/// # Examples
///
/// Linux 6.1 without delayed ACKs, for the configuration of one end:
///
/// ```
/// use lopsided_core::Bytes;
/// use lopsided_tcp::{AckSettings, Profile};
///
/// let linux = Profile::named("linux-6.1").unwrap();
/// assert_eq!(linux.initial_window(Bytes::new(1448)), Bytes::new(14_480));
/// let profile = Profile { ack: AckSettings { policy: "immediate", ..linux.ack }, ..linux };
/// assert!(profile.tlp && profile.sack);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The name, one of [`PROFILES`].
    pub name: &'static str,
    /// Initial window in segments. [`Profile::initial_window`] applies the limit in bytes.
    pub initial_window_segments: u32,
    /// Maximum initial window in bytes (RFC 3390). At least two segments are always permitted. `None` for no limit.
    pub initial_window_cap: Option<Bytes>,
    /// Slow-start threshold that the host has saved for this destination, at least two segments (FreeBSD's
    /// `tcp_hostcache`; Linux's metrics without `tcp_no_ssthresh_metrics_save`).
    pub remembered_threshold: Option<Bytes>,
    /// Smoothed RTT that the host has saved for this destination. The first RTO is computed from this RTT if it exceeds
    /// the RTT of the handshake (Linux's `tcp_init_metrics`).
    pub remembered_rtt: Option<Duration>,
    /// The path metrics that the host saves when a connection ends.
    pub metrics_save: MetricsSave,
    /// Maximum congestion window (Linux's `snd_cwnd_clamp`); `None` for no limit.
    pub max_window: Option<Bytes>,
    /// The rule that determines how much an ACK adds to the congestion window.
    pub byte_counting: ByteCounting,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Duplicate SACK (RFC 2883).
    pub dsack: bool,
    /// True if SACK reports an out-of-order FIN without data as one sequence number (Linux).
    pub sack_fin: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// The ECN mode.
    pub ecn: EcnRule,
    /// True if the connection stops using ECN after SYNs were lost, or after the path has changed the ECN field of a
    /// SYN or SYN-ACK (Linux's tcp_ecn_fallback).
    pub ecn_fallback: bool,
    /// With accurate ECN, true adds the byte counts to each segment that has space for them, provided that the peer
    /// sends them too. True and false correspond to 2 and 0 in Linux's tcp_ecn_option.
    pub ecn_option: bool,
    /// How to interpret an ACK that covers more than 7 segments and carries no byte counts. If true, the sender counts
    /// the smallest possible number of marks while ACKs cover more than 4 segments on average (Linux 7.0). In all other
    /// cases, the sender counts the largest possible number (Linux 6.18).
    pub ecn_expects_thinning: bool,
    /// True if Reno and CUBIC reduce the window less for a mark than for a loss (RFC 8511).
    pub abe: bool,
    /// The policy that decides when this end acknowledges received data.
    pub ack: AckSettings,
    /// The rule that decides when this end notifies the peer of a larger window.
    pub window_update: WindowUpdate,
    /// Maximum number of full segments that are stored out of order; further segments are dropped (FreeBSD's
    /// `net.inet.tcp.reass.maxqlen`, 48 before version 9). `None` for no limit.
    pub reassembly_limit: Option<u32>,
    /// Expected loss rate of the channel in front of the receiver, from 0 to 1. The receiver acknowledges missing data
    /// up to this share, and its application fetches that data again (Havey 2015, section 3.3.3).
    pub placeholders: Option<f64>,
    /// The receiver attributes losses to the channel up to this number of standard deviations above the expected loss.
    pub placeholder_margin: u32,
    /// The rule by which the retransmission timeout is computed.
    pub rto: RtoRule,
    /// True if the handshake provides the first RTT sample (RFC 6298). False in ns-2, whose one-way agents have no
    /// handshake.
    pub handshake_sample: bool,
    /// Granularity of the stack's timers.
    pub grain: TimerGrain,
    /// The rule that decides when a segment counts as lost.
    pub loss_detection: LossDetection,
    /// Number of duplicate ACKs, or of SACKed segments, after which a segment counts as lost.
    pub dup_threshold: u32,
    /// The reaction of a sender without SACK to a partial ACK.
    pub fast_recovery: FastRecovery,
    /// Maximum number of segments in a burst; 0 for no limit. The bursts of a window are spread over the RTT
    /// (balakrishnan1999 section 8.3).
    pub max_burst: u32,
    /// Delayed bursts are sent at multiples of this time, like 4.4BSD's callouts. Zero permits bursts at any time.
    pub burst_tick: Duration,
    /// True if the sender retransmits its first unacknowledged segment at once when an ACK arrives that an ACK filter
    /// has marked (balakrishnan1999 section 6.3).
    pub marked_retransmit: bool,
    /// The rule by which duplicate ACKs are counted.
    pub duplicates: DuplicateCount,
    /// True if the first two duplicate ACKs each release a segment of new data (RFC 3042).
    pub limited_transmit: bool,
    /// The rule by which the window shrinks during a recovery.
    pub cwnd_reduction: CwndReduction,
    /// True if a loss sets the threshold to half of the smaller window: the congestion window or the peer's window
    /// (`tcp_input` of 4.4BSD, `slowdown` of ns-2).
    pub threshold_heeds_peer: bool,
    /// True if the sender sends a tail loss probe (RFC 8985 section 7).
    pub tlp: bool,
    /// The rules that detect spurious retransmissions.
    pub undo: Undo,
    /// True if a timeout discards the SACK state, so that SACKed data is retransmitted too (4.4BSD; unlike RFC 6675
    /// section 5.1).
    pub timeout_forgets_sack: bool,
    /// The effect of an idle period on the congestion window.
    pub idle_restart: IdleRestart,
    /// The rule that decides when a short segment has to wait.
    pub nagle: Nagle,
    /// The rule that selects the segments that carry PSH.
    pub push: PushRule,
    /// True if the segment with the FIN is sent even if cwnd is full (Linux before 6.12).
    pub fin_beyond_cwnd: bool,
    /// True if the FIN counts against the peer's window (Linux).
    pub fin_uses_window: bool,
    /// Number of SYN timeouts without backoff (Linux's `tcp_syn_linear_timeouts`). This number is added to the maximum
    /// number of retries.
    pub syn_linear_timeouts: u32,
    /// True if an out-of-order segment also updates the estimated size of full segments.
    pub measures_held: bool,
    /// True if Linux's receive-buffer autotuning excludes received data that the application has not read yet.
    pub growth_excludes_unread: bool,
    /// True if the first window may exceed 65,535 bytes.
    pub wide_first_window: bool,
    /// True if the window grows only while it limits the sender (RFC 7661).
    pub cwnd_validation: bool,
    /// True for 4.4BSD's header prediction: a predicted ACK does not grow a congestion window that is at least as large
    /// as the peer's window.
    pub fast_path: bool,
    /// True if an acknowledgement of data that was never sent is answered with an ACK (RFC 9293 section 3.10.7.4).
    /// Linux drops the segment.
    pub answers_unsent_ack: bool,
    /// True if each ACK without data repeats an unacknowledged FIN. 4.4BSD's `tcp_output` derives the flags from the
    /// state.
    pub ack_repeats_fin: bool,
    /// The size of the send buffer.
    pub send_buffer: BufferRule,
    /// How the use of the send buffer is measured.
    pub send_buffer_accounting: SendBufferAccounting,
    /// The size of the receive buffer.
    pub receive_buffer: BufferRule,
    /// The rule by which the advertised window is computed.
    pub receive_window: ReceiveWindow,
}

impl Profile {
    /// Returns the profile with this name; `None` if no profile has this name.
    pub fn named(name: &str) -> Option<Profile> {
        match name {
            "linux-6.1" => Some(Profile::linux_6_1()),
            "linux-6.12" => Some(Profile::linux_6_12()),
            "freebsd-7" => Some(Profile::freebsd_7()),
            "linux-2.6" => Some(Profile::linux_2_6()),
            "bsdi-3" => Some(Profile::bsdi_3()),
            "ns2-reno" => Some(Profile::ns2_reno()),
            "windows" => Some(Profile::windows()),
            _ => None,
        }
    }

    /// Returns the settings of the acknowledgement policy. The minimum RTO may limit the maximum delay of an ACK
    /// (`tcp_delack_max`).
    pub(crate) fn ack_settings(&self) -> AckSettings {
        let max_delay = match (self.ack.below_min_rto, self.ack.grain) {
            (false, _) => self.ack.max_delay,
            (true, TimerGrain::Exact) => self.ack.max_delay.min(self.rto.min()),
            (true, TimerGrain::Tick(tick) | TimerGrain::Wheel(tick)) => {
                self.ack.max_delay.min(self.rto.min().max(tick * 2) - tick)
            }
        };
        AckSettings { max_delay, ..self.ack }
    }

    /// Returns the initial window in bytes for the segment size `mss` (RFC 3390 section 1, RFC 6928 section 2).
    pub fn initial_window(&self, mss: Bytes) -> Bytes {
        let window = Bytes::new(u64::from(self.initial_window_segments) * mss.get());
        match self.initial_window_cap {
            Some(cap) => window.min(cap.max(Bytes::new(2 * mss.get()))),
            None => window,
        }
    }
}
