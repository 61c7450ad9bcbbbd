//! The keys by which a scenario may change a profile, one entry per key.

use crate::AckSettings;
use crate::profile::{
    BufferRule, ByteCounting, CwndReduction, DuplicateCount, EcnRule, FastRecovery, LossDetection, MetricsSave,
    Profile, WindowUpdate,
};
use lopsided_core::{Bytes, Duration};
use lopsided_spec::ValueType::{Flag, Integer, Part as Table, Size, Time, Window, Word};
use lopsided_spec::{Amount, Choice, Fault, Key, KeyInfo, Part, PartInfo, Setting, Value, ValueType, key};
use std::collections::BTreeMap;

/// MTU in bytes if the scenario sets no MSS: the MTU of Ethernet.
const MTU: u64 = 1500;
/// Length of the IPv4 and TCP headers without options, in bytes (RFC 6691).
const HEADERS: u64 = 40;
/// Length of the timestamps option with its padding, in bytes (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;
/// Linux's default maximum of the receive window: half of `tcp_rmem[2]`.
const LARGEST_BUFFER: Bytes = Bytes::new(3 << 20);
/// Number of segments per ACK and maximum delay if delayed ACKs are enabled for a profile without delayed ACKs (RFC
/// 1122 section 4.2.3.2).
const USUAL_DELAY: (u32, Duration) = (2, Duration::from_millis(100));

/// Maximum tick frequency in Hz: one tick per microsecond.
const MOST_TICKS: u64 = 1_000_000;
/// Maximum DSCP: the field has six bits (RFC 2474 section 3).
const MOST_DSCP: u64 = 63;

/// The keys in the order in which they are applied. To add a key, add an entry here.
const SETTINGS: &[StackKey] = &[
    field("sack", |p| &mut p.sack, "Selective acknowledgements (RFC 2018)."),
    field("dsack", |p| &mut p.dsack, "Duplicate SACK (RFC 2883)."),
    field("timestamps", |p| &mut p.timestamps, "Timestamps (RFC 7323)."),
    field("window_scaling", |p| &mut p.window_scaling, "Window scaling (RFC 7323)."),
    field(
        "ecn",
        |p| &mut p.ecn,
        "Explicit congestion notification: on or true (RFC 3168), off or false, accept (only if the peer requests it, Linux's default), accurate (RFC 9768), accept_accurate (RFC 9768, only if the peer requests it). The congestion controls dctcp and prague request it regardless of this key.",
    ),
    field(
        "ecn_fallback",
        |p| &mut p.ecn_fallback,
        "If true, a connection stops using ECN if SYNs that request ECN are lost, or if the path changes the ECN field of a SYN or SYN-ACK.",
    ),
    field(
        "ecn_option",
        |p| &mut p.ecn_option,
        "With accurate ECN: if true, each segment carries the byte counts in an option of 12 bytes.",
    ),
    field(
        "ecn_expects_thinning",
        |p| &mut p.ecn_expects_thinning,
        "With accurate ECN: the 3-bit count of marks is ambiguous if an ACK covers more than 7 segments and carries no AccECN option. If true, and if ACKs cover more than 4 segments on average, the sender assumes the smallest possible number of marks (Linux 7.0). Otherwise the sender assumes the largest possible number (Linux 6.18).",
    ),
    field(
        "abe",
        |p| &mut p.abe,
        "With reno, newreno or cubic: a mark reduces the window less than a loss does, to 80 % (reno, newreno) or 85 % (cubic) (RFC 8511).",
    ),
    change("rack", Flag, rack, "RACK loss detection (RFC 8985)."),
    change(
        "fack",
        Flag,
        fack,
        "FACK loss detection: a segment is lost if it is too far below the highest SACKed segment (Mathis and Mahdavi 1996). Without rack and fack, losses are detected as in RFC 6675.",
    ),
    field("tlp", |p| &mut p.tlp, "Tail loss probes (RFC 8985)."),
    change("prr", Flag, prr, "Proportional rate reduction (RFC 6937)."),
    change(
        "rate_halving",
        Flag,
        rate_halving,
        "Rate halving: during recovery, every second ACK reduces the window by one segment. Without prr and rate_halving, the window is reduced at once (RFC 6675).",
    ),
    field("frto", |p| &mut p.undo.frto, "F-RTO detection of spurious timeouts (RFC 5682)."),
    field(
        "dup_threshold",
        |p| &mut p.dup_threshold,
        "Number of duplicate ACKs, or of SACKed segments above a hole, that indicate a loss (RFC 5681 section 3.2).",
    ),
    field(
        "fast_recovery",
        |p| &mut p.fast_recovery,
        "Without SACK, the reaction to the first ACK of new data after a fast retransmit: newreno retransmits the next lost segment (RFC 6582); reno ends the recovery (RFC 5681 section 3.2); careful-reno also ends the recovery, but starts no new one until all data that was outstanding at its start is acknowledged (ns-2's bugFix_).",
    ),
    field("limited_transmit", |p| &mut p.limited_transmit, "Limited transmit (RFC 3042)."),
    change(
        "abc",
        Integer,
        byte_counting,
        "Appropriate byte counting (RFC 3465): the limit L in segments. 0: each ACK counts once, however many bytes it acknowledges.",
    ),
    change(
        "abc_half",
        Flag,
        |p, value, _| {
            if let Value::Flag(true) = value {
                p.byte_counting = ByteCounting::Half
            }
        },
        "If true, half of the acknowledged bytes count. The window then grows as fast as with Reno if the receiver acknowledges every second segment (Balakrishnan et al. 1999, figure 19).",
    ),
    change(
        "ack_policy",
        Word(crate::ack_policies),
        ack_policy,
        "Name of the policy that decides when the receiver sends ACKs. To change only the delays of the profile's own policy, use delayed_ack.",
    ),
    field(
        "max_delack",
        |p| &mut p.ack.max_delack,
        "With ack_policy acc, acc_peerwin, rfc5690, tarr, ace or growing: the largest number of segments per ACK.",
    ),
    field(
        "min_acks_per_window",
        |p| &mut p.ack.min_acks_per_window,
        "With ack_policy acc, acc_peerwin or ace: the smallest number of ACKs per window of the sender.",
    ),
    field(
        "mark_duplicates",
        |p| &mut p.ack.mark_duplicates,
        "With ack_policy acc or acc_peerwin: after this number of out-of-order segments in a row, the receiver marks its duplicate ACKs. A sender with marked_retransmit then retransmits at once. 0: never.",
    ),
    field(
        "max_burst",
        |p| &mut p.max_burst,
        "Largest number of segments that are sent back to back. A timer spreads the bursts of a window evenly over a round trip. 0: no limit.",
    ),
    change(
        "burst_tick",
        Time,
        |p, value, _| {
            if let Value::Time(tick) = value {
                p.burst_tick = *tick
            }
        },
        "With max_burst: delayed bursts are sent at multiples of this time, such as \"10 ms\" (4.4BSD's callouts); \"0 s\": at any time.",
    ),
    field(
        "marked_retransmit",
        |p| &mut p.marked_retransmit,
        "The sender retransmits its first unacknowledged segment as soon as it receives an ACK that was marked by an ACK filter (fast_retransmit) or by the receiver (mark_duplicates).",
    ),
    field("acks_per_rtt", |p| &mut p.ack.acks_per_rtt, "With ack_policy tack or tarr: number of ACKs per round trip."),
    field(
        "ack_before_read",
        |p| &mut p.ack.before_read,
        "Immediate ACKs are sent before the application reads the new data, so this data reduces the advertised window (4.4BSD).",
    ),
    field(
        "window_update",
        |p| &mut p.window_update,
        "When the receiver sends a window update after the application has read data: \"closed\" if less than one segment of the window was left (RFC 9293), or \"two_segments\" if the window can move by two segments or by half of the buffer (4.4BSD).",
    ),
    field(
        "reassembly_limit",
        |p| &mut p.reassembly_limit,
        "Largest number of full-sized out-of-order segments that the receiver stores. The receiver drops further segments (FreeBSD's net.inet.tcp.reass.maxqlen).",
    ),
    field(
        "placeholders",
        |p| &mut p.placeholders,
        "Expected loss rate of the channel. The receiver acknowledges missing data up to this share of the data, and its application fetches the missing data again (FWP's compatible TCP, Havey 2015).",
    ),
    field(
        "placeholder_margin",
        |p| &mut p.placeholder_margin,
        "With placeholders: losses up to this number of standard deviations above the expected loss also count as losses of the channel. 0: only the expected loss counts, as in the dissertation.",
    ),
    field(
        "duplicates",
        |p| &mut p.duplicates,
        "When the count of duplicate ACKs restarts: \"until_progress\" at an ACK of new data, \"in_a_row\" at any ACK that is not a duplicate (4.4BSD).",
    ),
    change("delayed_ack", Table(PartInfo::of::<DelayedAck>), delayed_ack, "Delayed ACKs: \"on\", \"off\", or a table."),
    change("initial_window", Window, initial_window, "The first congestion window, such as \"10 segments\"."),
    change(
        "remembered_threshold",
        Window,
        |p, value, mtu| p.remembered_threshold = octets(p, value, mtu),
        "Slow-start threshold of a new connection, such as \"20 kB\", as if the host had cached this threshold from an earlier connection to the same destination.",
    ),
    field(
        "metrics_save",
        |p| &mut p.metrics_save,
        "Metrics of a connection that a host stores for the next connection: none (off), the round-trip time and reordering (rtt, Linux since 5.6), or also the slow-start threshold (all, Linux before 5.6).",
    ),
    field(
        "handshake_sample",
        |p| &mut p.handshake_sample,
        "Use the round-trip time of the handshake as the first RTT sample for the retransmission timeout (RFC 6298). Otherwise the initial timeout also applies to the first data.",
    ),
    change(
        "min_rto",
        Time,
        |p, value, _| {
            if let Value::Time(min) = value {
                p.rto = p.rto.with_min(*min)
            }
        },
        "The shortest retransmission timeout, such as \"200 ms\".",
    ),
    change(
        "hz",
        Integer,
        hz,
        "Resolution of the stack's timers, in ticks per second (Linux's HZ: 250 in Debian's kernels, 1000 or 100 in other kernels).",
    ),
    change(
        "max_window",
        Window,
        |p, value, mtu| p.max_window = octets(p, value, mtu),
        "Upper bound of the congestion window, such as \"64 KiB\".",
    ),
    buffer_key(
        "send_buffer",
        |p, value, _| p.send_buffer = buffer(p.send_buffer, value),
        "Send buffer: a size, or \"auto\" to let the stack grow it.",
    ),
    buffer_key(
        "receive_buffer",
        |p, value, _| p.receive_buffer = buffer(p.receive_buffer, value),
        "Receive buffer: a size, or \"auto\" to let the stack grow it.",
    ),
    StackKey {
        name: "dscp",
        text: "The differentiated services codepoint of every packet that this end sends, including UDP datagrams (RFC 2474): 0 to 63.",
        none_word: None,
        change: Change::OfHost(Integer),
    },
];

/// One end of a connection as plain data: a profile, a congestion control, and changes to the profile.
///
/// # Examples
///
/// ```
/// use lopsided_spec::Value;
/// use lopsided_tcp::StackConfig;
///
/// let mut stack = StackConfig::new("linux-6.1", "cubic");
/// stack.set("sack", Value::Flag(false));
/// let profile = stack.to_profile().unwrap();
/// assert!(!profile.sack);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StackConfig {
    /// One of [`crate::PROFILES`].
    pub profile: String,
    /// Name of the congestion control: a name in [`crate::CONTROLLERS`], or the name of a controller of this run.
    pub cc: String,
    /// Value of the MSS option in bytes: the MTU minus 40 (RFC 6691). `None`: computed from Ethernet's MTU.
    pub mss: Option<u16>,
    changes: BTreeMap<&'static str, Value>,
}

impl StackConfig {
    /// Creates a configuration with the unchanged profile `profile` and the congestion control `cc`.
    pub fn new(profile: &str, cc: &str) -> StackConfig {
        StackConfig { profile: profile.to_owned(), cc: cc.to_owned(), mss: None, changes: BTreeMap::new() }
    }

    /// Returns all keys except `profile`, `cc` and `mss`.
    pub fn keys() -> Vec<KeyInfo> {
        SETTINGS.iter().map(StackKey::info).collect()
    }

    /// Returns the value that was set for a key; `None` if the key was not set and the profile's value applies.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.changes.get(key)
    }

    /// Sets a key to a value of the key's type.
    ///
    /// # Panics
    ///
    /// Panics if the key does not exist.
    pub fn set(&mut self, key: &str, value: Value) {
        let setting = SETTINGS.iter().find(|setting| setting.name == key);
        self.changes.insert(setting.expect("a key of the table").name, value);
    }

    /// Checks the range of a value.
    ///
    /// # Errors
    ///
    /// Returns an error if a window is 0, a DSCP exceeds six bits, or a number is outside of the key's range.
    pub fn check(key: &'static str, value: &Value) -> Result<(), Fault> {
        match (key, value) {
            (_, Value::Amount(Amount::Segments(0) | Amount::Bytes(Bytes::ZERO))) => {
                Err(Fault::new(key, "a window of 0 would never allow a segment to be sent"))
            }
            ("dscp", Value::Integer(dscp)) if *dscp > MOST_DSCP => {
                Err(Fault::new(key, format!("a DSCP must be from 0 to {MOST_DSCP}, not {dscp}")))
            }
            ("placeholders", Value::Number(loss)) if *loss >= 1.0 => {
                Err(Fault::new(key, "this must be less than 100 %: a channel with 100 % loss delivers no data"))
            }
            ("dup_threshold" | "reassembly_limit" | "hz", Value::Integer(0)) => {
                Err(Fault::new(key, "this must be at least 1"))
            }
            ("hz", Value::Integer(hz)) if *hz > MOST_TICKS => {
                Err(Fault::new(key, format!("this must be at most {MOST_TICKS} ticks per second")))
            }
            _ => Ok(()),
        }
    }

    /// The differentiated services codepoint of the packets that this end sends.
    pub fn dscp(&self) -> u8 {
        match self.get("dscp") {
            Some(Value::Integer(dscp)) => (*dscp).min(MOST_DSCP) as u8,
            _ => 0,
        }
    }

    /// The MTU that corresponds to the MSS, in bytes.
    pub fn mtu(&self) -> Bytes {
        Bytes::new(self.mss.map_or(MTU, |mss| u64::from(mss) + HEADERS))
    }

    /// Returns the profile with all changes applied; `None` if no profile has the configured name.
    pub fn to_profile(&self) -> Option<Profile> {
        let mut profile = Profile::named(&self.profile)?;
        for setting in SETTINGS {
            let Some(value) = self.changes.get(setting.name) else { continue };
            match setting.change {
                Change::Field(field) => {
                    field(&mut profile).set(value.clone()).expect("the value was read by the key's type")
                }
                Change::By(_, apply) => apply(&mut profile, value, self.mtu().get()),
                Change::OfHost(_) => {}
            }
        }
        Some(profile)
    }
}

/// One key of a stack configuration.
struct StackKey {
    name: &'static str,
    text: &'static str,
    none_word: Option<&'static str>,
    change: Change,
}

/// The effect of a key's value on a profile.
enum Change {
    /// Sets the field that the function returns.
    Field(fn(&mut Profile) -> &mut dyn Setting),
    /// Calls a function with the value and the MTU in bytes.
    By(ValueType, fn(&mut Profile, &Value, u64)),
    /// Changes nothing in the profile: the host reads the key.
    OfHost(ValueType),
}

const fn field(name: &'static str, field: fn(&mut Profile) -> &mut dyn Setting, text: &'static str) -> StackKey {
    StackKey { name, text, none_word: None, change: Change::Field(field) }
}

const fn change(
    name: &'static str,
    value_type: ValueType,
    apply: fn(&mut Profile, &Value, u64),
    text: &'static str,
) -> StackKey {
    StackKey { name, text, none_word: None, change: Change::By(value_type, apply) }
}

const fn buffer_key(name: &'static str, apply: fn(&mut Profile, &Value, u64), text: &'static str) -> StackKey {
    StackKey { name, text, none_word: Some("auto"), change: Change::By(Size, apply) }
}

impl StackKey {
    fn info(&self) -> KeyInfo {
        let value_type = match self.change {
            Change::Field(field) => field(&mut Profile::linux_6_1()).value_type(),
            Change::By(value_type, _) | Change::OfHost(value_type) => value_type,
        };
        KeyInfo { none_word: self.none_word, ..KeyInfo::new(self.name, value_type, self.text) }
    }
}

impl Choice for WindowUpdate {
    const WORDS: &'static [(&'static str, WindowUpdate)] =
        &[("closed", WindowUpdate::NearlyClosed), ("two_segments", WindowUpdate::TwoSegments)];
}

impl Choice for DuplicateCount {
    const WORDS: &'static [(&'static str, DuplicateCount)] =
        &[("until_progress", DuplicateCount::UntilProgress), ("in_a_row", DuplicateCount::InARow)];
}

impl Choice for EcnRule {
    const WORDS: &'static [(&'static str, EcnRule)] = &[
        ("off", EcnRule::Off),
        ("accept", EcnRule::Accept),
        ("on", EcnRule::On),
        ("accept_accurate", EcnRule::AcceptAccurate),
        ("accurate", EcnRule::Accurate),
    ];
}

impl Choice for MetricsSave {
    const WORDS: &'static [(&'static str, MetricsSave)] =
        &[("off", MetricsSave::Off), ("rtt", MetricsSave::RoundTrips), ("all", MetricsSave::All)];
}

impl Choice for FastRecovery {
    const WORDS: &'static [(&'static str, FastRecovery)] = &[
        ("newreno", FastRecovery::NewReno),
        ("reno", FastRecovery::Reno),
        ("careful-reno", FastRecovery::CarefulReno),
    ];
}

/// Settings of delayed ACKs (RFC 5681 section 4.2). `None` keeps the profile's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// True if ACKs are delayed.
    pub mode: Switch,
    /// Number of segments per ACK.
    pub segments: Option<u32>,
    /// Maximum delay of an ACK.
    pub timeout: Option<Duration>,
}

/// `on` or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// The feature is on.
    On,
    /// The feature is off.
    Off,
}

impl Choice for Switch {
    const WORDS: &'static [(&'static str, Switch)] = &[("on", Switch::On), ("off", Switch::Off)];
}

impl Default for DelayedAck {
    fn default() -> DelayedAck {
        DelayedAck { mode: Switch::On, segments: None, timeout: None }
    }
}

impl Part for DelayedAck {
    const NAME: &'static str = "delayed ACK";
    const TEXT: &'static str = "Delay of a receiver's ACKs (RFC 5681 section 4.2).";
    const SHORTHAND: Option<&'static str> = Some("mode");
    const KEYS: &'static [Key<DelayedAck>] = &[
        key("mode", |delayed| &mut delayed.mode, "\"on\" or \"off\"."),
        key("segments", |delayed| &mut delayed.segments, "Number of full segments per ACK; usually 2."),
        key("timeout", |delayed| &mut delayed.timeout, "Longest delay of an ACK, such as \"40 ms\"."),
    ];
}

fn rack(profile: &mut Profile, value: &Value, _mtu: u64) {
    match (value, profile.loss_detection) {
        (Value::Flag(true), _) => profile.loss_detection = LossDetection::Rack,
        (_, LossDetection::Rack) => profile.loss_detection = LossDetection::Rfc6675,
        _ => {}
    }
}

fn fack(profile: &mut Profile, value: &Value, _mtu: u64) {
    match (value, profile.loss_detection) {
        (Value::Flag(true), _) => profile.loss_detection = LossDetection::Fack,
        (_, LossDetection::Fack | LossDetection::FreeBsd) => profile.loss_detection = LossDetection::Rfc6675,
        _ => {}
    }
}

fn prr(profile: &mut Profile, value: &Value, _mtu: u64) {
    match (value, profile.cwnd_reduction) {
        (Value::Flag(true), _) => profile.cwnd_reduction = CwndReduction::Prr,
        (_, CwndReduction::Prr) => profile.cwnd_reduction = CwndReduction::Immediate,
        _ => {}
    }
}

fn rate_halving(profile: &mut Profile, value: &Value, _mtu: u64) {
    match (value, profile.cwnd_reduction) {
        (Value::Flag(true), _) => profile.cwnd_reduction = CwndReduction::RateHalving,
        (_, CwndReduction::RateHalving) => profile.cwnd_reduction = CwndReduction::Immediate,
        _ => {}
    }
}

fn byte_counting(profile: &mut Profile, value: &Value, _mtu: u64) {
    profile.byte_counting = match value {
        Value::Integer(0) => ByteCounting::Acks,
        Value::Integer(segments) => ByteCounting::Limited { segments: u32::try_from(*segments).unwrap_or(u32::MAX) },
        _ => profile.byte_counting,
    };
}

fn ack_policy(profile: &mut Profile, value: &Value, _mtu: u64) {
    if let Value::Word(policy) = value {
        profile.ack.policy = policy;
    }
}

fn delayed_ack(profile: &mut Profile, value: &Value, _mtu: u64) {
    let Value::Part(part) = value else { return };
    let Some(&DelayedAck { mode, segments, timeout }) = part.downcast() else { return };
    let base = profile.ack;
    let delayed = |segments, timeout| AckSettings { policy: "delayed", segments, max_delay: timeout, ..base };
    profile.ack = match (mode, base.policy, segments, timeout) {
        (Switch::Off, ..) => AckSettings { policy: "immediate", ..base },
        (_, "immediate", _, _) => delayed(segments.unwrap_or(USUAL_DELAY.0), timeout.unwrap_or(USUAL_DELAY.1)),
        // If a number of segments is set, simple delayed ACKs replace Linux's policy. If only a timeout is set, Linux's
        // policy remains and uses this delay.
        (_, "linux", Some(segments), _) => delayed(segments, timeout.unwrap_or(base.min_delay)),
        (_, "linux", None, Some(timeout)) => AckSettings { min_delay: timeout, max_delay: timeout, ..base },
        (_, "linux", None, None) => base,
        _ => AckSettings {
            segments: segments.unwrap_or(base.segments),
            max_delay: timeout.unwrap_or(base.max_delay),
            ..base
        },
    };
}

fn hz(profile: &mut Profile, value: &Value, _mtu: u64) {
    if let Value::Integer(hz) = value {
        let tick = Duration::from_nanos(1_000_000_000 / (*hz).max(1));
        profile.grain = profile.grain.with_tick(tick);
        profile.ack.grain = profile.ack.grain.with_tick(tick);
    }
}

fn initial_window(profile: &mut Profile, value: &Value, _mtu: u64) {
    match *value {
        Value::Amount(Amount::Segments(segments)) => {
            profile.initial_window_segments = segments;
            profile.initial_window_cap = None;
        }
        Value::Amount(Amount::Bytes(bytes)) => {
            profile.initial_window_segments = u32::MAX;
            profile.initial_window_cap = Some(bytes);
        }
        _ => {}
    }
}

/// Converts a window to bytes. A full segment is the MTU without headers and options.
fn octets(profile: &Profile, value: &Value, mtu: u64) -> Option<Bytes> {
    let payload = mtu - HEADERS - if profile.timestamps { TIMESTAMPS } else { 0 };
    match *value {
        Value::Amount(Amount::Segments(count)) => Some(Bytes::new(u64::from(count) * payload)),
        Value::Amount(Amount::Bytes(bytes)) => Some(bytes),
        _ => None,
    }
}

fn buffer(base: BufferRule, value: &Value) -> BufferRule {
    match (value, base) {
        (Value::Size(size), _) => BufferRule::Fixed(*size),
        // The buffer starts with the stack's own fixed size and may grow to Linux's maximum.
        (_, BufferRule::Fixed(initial)) => BufferRule::Auto { initial, max: LARGEST_BUFFER.max(initial) },
        _ => base,
    }
}
