//! Stack profiles: the behaviour of a particular TCP where the RFCs leave a choice, as data.
//!
//! A profile is a plain struct. A scenario starts from a named profile and may change single fields.

mod bsdi;
mod freebsd;
mod linux;
mod ns2;
mod rules;
mod settings;
mod windows;

pub use rules::{
    AckSettings, BufferRule, ByteCounting, CwndReduction, DuplicateCount, EcnRule, FastRecovery, IdleRestart,
    LossDetection, MetricsSave, Nagle, PushRule, ReceiveWindow, RtoRule, SendBufferAccounting, TickSamples, TimerGrain,
    Undo, WindowShare, WindowUpdate,
};
pub use settings::{DelayedAck, StackConfig, Switch};

use lopsided_core::{Bytes, Duration};

/// The names that [`Profile::named`] accepts.
pub const PROFILES: &[&str] = &["linux-6.1", "linux-6.12", "freebsd-7", "linux-2.6", "bsdi-3", "ns2-reno", "windows"];

/// The behaviour of an endpoint, except its congestion control.
///
/// # Examples
///
/// Linux 6.1 without delayed ACKs, as a configuration of one end uses it:
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
    /// The initial window in segments, before [`Profile::initial_window`] applies its cap in bytes.
    pub initial_window_segments: u32,
    /// RFC 3390's cap of the initial window in bytes, but at least two segments; `None` without a cap.
    pub initial_window_cap: Option<Bytes>,
    /// The slow-start threshold that the host has stored for this destination, used as at least two segments (FreeBSD's
    /// host cache, `tcp_hostcache`; Linux's metrics without `tcp_no_ssthresh_metrics_save`).
    pub remembered_threshold: Option<Bytes>,
    /// The smoothed RTT that the host has stored for this destination. If it is longer than the RTT of the handshake,
    /// the first timeout is computed from it (Linux's `tcp_init_metrics`).
    pub remembered_rtt: Option<Duration>,
    /// The metrics that the host stores when a connection ends.
    pub metrics_save: MetricsSave,
    /// Largest congestion window (Linux's `snd_cwnd_clamp`); `None` without a limit.
    pub max_window: Option<Bytes>,
    /// The unit in which ACKs grow the window.
    pub byte_counting: ByteCounting,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Duplicate SACK (RFC 2883).
    pub dsack: bool,
    /// True if a FIN without data that arrives early is reported by SACK as one sequence number (Linux).
    pub sack_fin: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// The ECN mode.
    pub ecn: EcnRule,
    /// True if Reno and CUBIC reduce the window less for an ECN mark than for a loss (RFC 8511).
    pub abe: bool,
    /// When this end acknowledges as a receiver.
    pub ack: AckSettings,
    /// When this end notifies the peer of a larger window.
    pub window_update: WindowUpdate,
    /// Largest number of full segments held out of order. Further segments are dropped and must be retransmitted
    /// (FreeBSD's `net.inet.tcp.reass.maxqlen`, 48 until 9). `None` without a limit.
    pub reassembly_limit: Option<u32>,
    /// Expected loss of the channel before the receiver, from 0 to 1. The receiver acknowledges missing data up to this
    /// share, and its application fetches the data again (Havey 2015, section 3.3.3). `None` acknowledges no missing
    /// data.
    pub placeholders: Option<f64>,
    /// Number of standard deviations above the expected loss that also count as the channel's loss.
    pub placeholder_margin: u32,
    /// The computation of the retransmission timeout.
    pub rto: RtoRule,
    /// True if the handshake gives the first RTT sample (RFC 6298). Otherwise the first data is sent with the initial
    /// timeout, as in ns-2, whose one-way agents have no handshake.
    pub handshake_sample: bool,
    /// The clock of the stack's timers.
    pub grain: TimerGrain,
    /// The rule by which segments count as lost.
    pub loss_detection: LossDetection,
    /// Number of duplicate ACKs, or of SACKed segments, that mean a loss.
    pub dup_threshold: u32,
    /// The reaction to a partial ACK without SACK.
    pub fast_recovery: FastRecovery,
    /// Largest burst in segments; 0 without a limit. Further segments are spread over the RTT (balakrishnan1999 section
    /// 8.3).
    pub max_burst: u32,
    /// Delayed bursts are sent at multiples of this time, as by 4.4BSD's callouts; zero sends them at any time.
    pub burst_tick: Duration,
    /// True if an ACK that a filter has marked makes the sender retransmit its first segment at once (balakrishnan1999
    /// section 6.3).
    pub marked_retransmit: bool,
    /// How duplicate ACKs are counted.
    pub duplicates: DuplicateCount,
    /// True if the first two duplicate ACKs release new data (RFC 3042).
    pub limited_transmit: bool,
    /// How the window shrinks during a recovery.
    pub cwnd_reduction: CwndReduction,
    /// True if the threshold after a loss is half of the peer's window if that window is smaller than the congestion
    /// window (4.4BSD).
    pub threshold_heeds_peer: bool,
    /// True if a tail loss probe is sent after two round trips (RFC 8985 section 7).
    pub tlp: bool,
    /// The rules that detect spurious retransmissions.
    pub undo: Undo,
    /// True if a timeout discards SACK state and retransmits all data (4.4BSD). Otherwise only data that is not SACKed
    /// is retransmitted (RFC 6675 section 5.1).
    pub timeout_forgets_sack: bool,
    /// The window after an idle time.
    pub idle_restart: IdleRestart,
    /// The rule that holds back short segments.
    pub nagle: Nagle,
    /// The rule that sets PSH.
    pub push: PushRule,
    /// True if the segment with the FIN ignores cwnd (Linux before 6.12).
    pub fin_beyond_cwnd: bool,
    /// True if the segment with the FIN must fit the peer's window including the FIN (Linux).
    pub fin_uses_window: bool,
    /// Number of SYN timeouts that do not double the next one (Linux's `tcp_syn_linear_timeouts`). The attempt fails by
    /// this number of timeouts later.
    pub syn_linear_timeouts: u32,
    /// True if a segment behind a gap counts for the measured size of full segments, as one in order does.
    pub measures_held: bool,
    /// True if data that the application has not read yet does not count for the growth of a Linux receive buffer.
    pub growth_excludes_unread: bool,
    /// True if the first window may exceed 65,535 bytes. The window field of a SYN cannot.
    pub wide_first_window: bool,
    /// True if the window grows only while it limits the sender (RFC 7661).
    pub cwnd_validation: bool,
    /// True if an ACK that only advances does not grow a congestion window at or above the peer's window. 4.4BSD's fast
    /// path (header prediction) ignores cwnd.
    pub fast_path: bool,
    /// True if an ACK of data that was never sent is answered with an ACK in ESTABLISHED too (RFC 9293 section
    /// 3.10.7.4). Linux drops it.
    pub answers_unsent_ack: bool,
    /// True if an ACK without data repeats the FIN until the peer acknowledges it, as in 4.4BSD: `tcp_output` takes the
    /// flags of a segment from the state.
    pub ack_repeats_fin: bool,
    /// The size of the send buffer.
    pub send_buffer: BufferRule,
    /// The unit of the send buffer's size.
    pub send_buffer_accounting: SendBufferAccounting,
    /// The size of the receive buffer.
    pub receive_buffer: BufferRule,
    /// The computation of the offered window.
    pub receive_window: ReceiveWindow,
}

impl Profile {
    /// The profile with this name; `None` if the name is unknown.
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

    /// The settings of the acknowledgement policy, with the bound that follows from the smallest RTO
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

    /// The initial window in bytes for a segment size (RFC 3390 section 1, RFC 6928 section 2).
    pub fn initial_window(&self, mss: Bytes) -> Bytes {
        let window = Bytes::new(u64::from(self.initial_window_segments) * mss.get());
        match self.initial_window_cap {
            Some(cap) => window.min(cap.max(Bytes::new(2 * mss.get()))),
            None => window,
        }
    }
}
