//! The settings of a QUIC flow, and the ACK behaviour of known stacks.

use lopsided_app::{
    AppConfig, BulkConfig, CustomConfig, HttpConfig, OnOffConfig, Opening, TransferConfig, Transport, TransportEnd,
    TransportSettings,
};
use lopsided_core::{Bytes, Duration};
use lopsided_spec::{Choice, Fault, Given, Key, Part, Presets, key};
use lopsided_tcp::StackConfig;

/// RFC 9000, section 18.2: default of max_ack_delay.
const USUAL_MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// RFC 9000, section 14: every path carries UDP payloads of at least 1,200 bytes.
const SMALLEST_DATAGRAM: u64 = 1200;
/// Size of the IPv4 and UDP headers in bytes.
const HEADERS: u64 = 28;
/// Maximum ACK threshold in packets. With this threshold, only the timer triggers ACKs. Packet counts have 32 bits.
const MOST_ACK_PACKETS: u32 = 1 << 20;

/// The implementation of a QUIC sender's congestion control: lopsided's or quinn's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CcSource {
    /// Lopsided's congestion control, which TCP flows use under the same name.
    #[default]
    Lopsided,
    /// quinn's congestion control.
    Quinn,
}

impl Choice for CcSource {
    const WORDS: &'static [(&'static str, CcSource)] = &[("lopsided", CcSource::Lopsided), ("quinn", CcSource::Quinn)];
}

/// The settings of both ends of a QUIC flow.
///
/// # Examples
///
/// ```
/// use lopsided_core::Duration;
/// use lopsided_quic::QuicConfig;
/// use lopsided_spec::Part;
///
/// let config = QuicConfig { ack_packets: 10, ..QuicConfig::default() };
/// assert!(config.check().is_ok());
/// // A receiver may exceed the default of 25 ms only if the sender requests it.
/// let slow = QuicConfig { max_ack_delay: Duration::from_millis(50), ..config };
/// assert!(slow.check().is_err());
/// assert!(QuicConfig { ack_frequency: true, ..slow }.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct QuicConfig {
    /// Number of ack-eliciting packets per ACK.
    pub ack_packets: u32,
    /// For this number of packets at the start of a connection, the receiver acknowledges every second packet.
    pub ack_start: u32,
    /// One ACK may cover this fraction of the largest number of packets per RTT, if the result exceeds `ack_packets`.
    pub ack_window_share: f64,
    /// Upper bound of the number of packets per ACK, if `ack_window_share` determines this number.
    pub ack_packets_most: u32,
    /// Maximum delay of an ACK.
    pub max_ack_delay: Duration,
    /// Maximum delay of an ACK as a fraction of the RTT; 0 for no limit by the RTT.
    pub ack_delay_rtts: f64,
    /// Reordering threshold for immediate ACKs. 0: no immediate ACKs. 1: an immediate ACK for every packet out of
    /// order. n > 1: an immediate ACK only for a gap that makes the sender declare a packet lost.
    pub reordering_threshold: u32,
    /// True if the sender requests the ACK settings with ACK_FREQUENCY frames.
    pub ack_frequency: bool,
    /// The implementation of the sender's congestion control.
    pub cc_source: CcSource,
    /// Initial congestion window in packets.
    pub initial_window: u32,
    /// True if packets are sent as ECT(0) while ECN validation succeeds.
    pub ecn: bool,
    /// Maximum number of packets that one call sends back to back.
    pub gso_packets: u32,
    /// Time from the first received packet of a batch to the processing of the batch.
    pub receive_wait: Duration,
    /// Processor time for each packet.
    pub packet_cpu: Duration,
    /// True if the sender searches for the path MTU.
    pub mtu_discovery: bool,
    /// Maximum UDP payload in bytes that the search for the path MTU tries.
    pub max_datagram: Bytes,
    /// Receive window of a stream in bytes.
    pub stream_window: Bytes,
    /// Receive window of the connection, or `None` for no limit.
    pub connection_window: Option<Bytes>,
    /// Maximum amount of unacknowledged data over all streams, in bytes.
    pub send_window: Bytes,
    /// Time without a received packet after which the connection closes; `None` for no timeout.
    pub idle_timeout: Option<Duration>,
    /// Size of the server's handshake messages in bytes.
    pub server_flight: Bytes,
}

impl QuicConfig {
    /// The settings of quinn 0.11: one ACK per 2 packets, ECN, 10 packets per send call, path MTU discovery up to 1,452
    /// bytes, windows for 100 Mbit/s at 100 ms.
    const QUINN: QuicConfig = QuicConfig {
        ack_packets: 2,
        ack_start: 0,
        ack_window_share: 0.0,
        ack_packets_most: 32,
        max_ack_delay: USUAL_MAX_ACK_DELAY,
        ack_delay_rtts: 0.0,
        reordering_threshold: 1,
        ack_frequency: false,
        cc_source: CcSource::Lopsided,
        initial_window: 10,
        ecn: true,
        gso_packets: 10,
        receive_wait: Duration::ZERO,
        packet_cpu: Duration::ZERO,
        mtu_discovery: true,
        max_datagram: Bytes::new(1452),
        stream_window: Bytes::new(1_250_000),
        connection_window: None,
        send_window: Bytes::new(10_000_000),
        idle_timeout: Some(Duration::from_secs(30)),
        server_flight: Bytes::new(3000),
    };
}

impl Default for QuicConfig {
    fn default() -> QuicConfig {
        QuicConfig::QUINN
    }
}

/// The receiver's ACK behaviour in known stacks, when the sender sends no ACK_FREQUENCY frames.
const PRESETS: &[(&str, QuicConfig)] = &[
    // quinn-proto 0.11.19, connection/spaces.rs: PendingAcks::new.
    ("quinn", QuicConfig::QUINN),
    // ngtcp2's settings: ack_thresh = 2 and the default delay.
    ("ngtcp2", QuicConfig::QUINN),
    // msquic's quicdef.h: QUIC_MIN_ACK_SEND_NUMBER = 2 and the default delay.
    ("msquic", QuicConfig::QUINN),
    // quic-go's received_packet_tracker.go: packetsBeforeAck = 2 and the default delay.
    ("quic-go", QuicConfig::QUINN),
    // neqo's tracking.rs: DEFAULT_ACK_PACKET_TOLERANCE = 1, so an ACK for every second packet, and
    // DEFAULT_LOCAL_ACK_DELAY. Not modelled: neqo's immediate ACK of a packet that arrives an RTT after the last ACK.
    ("neqo", QuicConfig { max_ack_delay: Duration::from_millis(20), ..QuicConfig::QUINN }),
    // mvfst's QuicConstants.h: kDefaultRxPacketsBeforeAckBeforeInit and AfterInit, kAckTimerFactor and kMaxAckTimeout.
    ("mvfst", QuicConfig { ack_packets: 10, ack_delay_rtts: 0.25, ..QuicConfig::QUINN }),
    // quiche's quic_constants.h: kMinReceivedBeforeAckDecimation, kMaxRetransmittablePacketsBeforeAck and
    // kPeerAckDecimationDelay.
    ("chrome", QuicConfig { ack_packets: 10, ack_start: 100, ack_delay_rtts: 0.25, ..QuicConfig::QUINN }),
    // picoquic's frames.c, picoquic_compute_ack_gap and _ack_delay_max: one ACK per 25 % of the packets in a window,
    // but at least 2 and at most 32 packets. The ACK delay is at most 25 % of the minimum RTT and at most 10 ms. Not
    // modelled: picoquic's corrections for a slow reverse path.
    (
        "picoquic",
        QuicConfig {
            ack_window_share: 0.25,
            max_ack_delay: Duration::from_millis(10),
            ack_delay_rtts: 0.25,
            ..QuicConfig::QUINN
        },
    ),
    // quicly's constants.h: QUICLY_ACK_FREQUENCY_CWND_FRACTION, _MAX_PACKET_TOLERANCE and _FIRST_ACK_FREQUENCY_PACKET_NUMBER.
    ("quicly", QuicConfig { ack_window_share: 0.125, ack_packets_most: 100, ack_start: 1000, ..QuicConfig::QUINN }),
];

impl Part for QuicConfig {
    const NAME: &'static str = "quic";
    const TEXT: &'static str = "QUIC (RFC 9000) with the stack quinn-proto. The receiver of data opens the connection and requests the data, as a browser does. The web application loads a page over one connection, with one stream for each object.";
    const PRESETS: Option<Presets<QuicConfig>> = Some(Presets {
        key: "acks",
        text: "QUIC stack whose rules for sending ACKs apply to the receiver. Sets the keys ack_* and reordering_threshold.",
        noun: "ACK preset",
        named: PRESETS,
    });
    const KEYS: &'static [Key<QuicConfig>] = &[
        key(
            "ack_packets",
            |quic: &mut Self| &mut quic.ack_packets,
            "Number of ack-eliciting packets per ACK (RFC 9000 section 13.2.2 recommends 2).",
        ),
        key(
            "ack_start",
            |quic: &mut Self| &mut quic.ack_start,
            "Number of packets at the start of a connection during which the receiver sends an ACK for every second packet, regardless of ack_packets.",
        ),
        key(
            "ack_window_share",
            |quic: &mut Self| &mut quic.ack_window_share,
            "Share of the packets of a round trip that one ACK may cover, such as 25 %. Applies if the resulting number of packets is larger than ack_packets.",
        ),
        key(
            "ack_packets_most",
            |quic: &mut Self| &mut quic.ack_packets_most,
            "With ack_window_share: largest number of packets per ACK.",
        ),
        key("max_ack_delay", |quic: &mut Self| &mut quic.max_ack_delay, "Longest delay of an ACK."),
        key(
            "ack_delay_rtts",
            |quic: &mut Self| &mut quic.ack_delay_rtts,
            "Longest delay of an ACK as a share of the round-trip time, such as 25 %. The limit max_ack_delay applies too. 0: only max_ack_delay applies.",
        ),
        key(
            "reordering_threshold",
            |quic: &mut Self| &mut quic.reordering_threshold,
            "Reaction to a packet out of order. 1: an immediate ACK (RFC 9000 section 13.2.1). More than 1: an \
             immediate ACK only if the sender could now declare a packet lost. 0: never an immediate ACK. With \
             ack_frequency, quinn's own default is 2.",
        ),
        key(
            "ack_frequency",
            |quic: &mut Self| &mut quic.ack_frequency,
            "If true, the sender requests ack_packets, max_ack_delay and reordering_threshold with ACK_FREQUENCY frames (draft-ietf-quic-ack-frequency). If false, the receiver applies these values without a request.",
        ),
        key(
            "cc_source",
            |quic: &mut Self| &mut quic.cc_source,
            "Implementation of the congestion control: lopsided's, which TCP flows use too, or quinn's own reno \
             (NewReno) or cubic.",
        ),
        key(
            "initial_window",
            |quic: &mut Self| &mut quic.initial_window,
            "First congestion window, in packets (RFC 9002 section 7.2).",
        ),
        key(
            "ecn",
            |quic: &mut Self| &mut quic.ecn,
            "If true, packets are sent as ECT(0) while ECN validation succeeds (RFC 9000 section 13.4).",
        ),
        key(
            "gso_packets",
            |quic: &mut Self| &mut quic.gso_packets,
            "Largest number of packets that the endpoint hands to the network back to back in one call, as with \
             generic segmentation offload.",
        ),
        key(
            "receive_wait",
            |quic: &mut Self| &mut quic.receive_wait,
            "After a packet has arrived, the endpoint collects further packets for this time and then handles all of them together, as in a busy event loop or with interrupt coalescing.",
        ),
        key(
            "packet_cpu",
            |quic: &mut Self| &mut quic.packet_cpu,
            "Processor time of an endpoint for each packet that it receives or sends. Packets are handled one \
             after the other.",
        ),
        key(
            "mtu_discovery",
            |quic: &mut Self| &mut quic.mtu_discovery,
            "Path MTU discovery (RFC 8899) from 1200 B up to max_datagram.",
        ),
        key(
            "max_datagram",
            |quic: &mut Self| &mut quic.max_datagram,
            "Largest UDP payload that path MTU discovery tries. A smaller mtu of the stack lowers it.",
        ),
        key(
            "stream_window",
            |quic: &mut Self| &mut quic.stream_window,
            "Flow-control window of a stream at the receiver.",
        ),
        key(
            "connection_window",
            |quic: &mut Self| &mut quic.connection_window,
            "Flow-control window of the connection at the receiver.",
        )
        .none_word("unlimited"),
        key(
            "send_window",
            |quic: &mut Self| &mut quic.send_window,
            "Maximum amount of unacknowledged data of a sender, over all streams.",
        ),
        key(
            "idle_timeout",
            |quic: &mut Self| &mut quic.idle_timeout,
            "A connection on which no packet arrives for this time is closed.",
        )
        .none_word("never"),
        key(
            "server_flight",
            |quic: &mut Self| &mut quic.server_flight,
            "Size of the server's handshake messages, most of it certificates. Until the client's address is \
             validated, the server may send only three times the octets that it has received (RFC 9000 section \
             8.1).",
        ),
    ];

    fn complete(&mut self, _given: &Given<'_>) -> Result<(), Fault> {
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        if self.ack_packets == 0 || self.ack_packets > MOST_ACK_PACKETS {
            return Err(Fault::new("ack_packets", format!("this must be from 1 to {MOST_ACK_PACKETS}")));
        }
        if self.max_ack_delay < Duration::from_millis(1) {
            let fault = Fault::new("max_ack_delay", "this must be at least 1 ms, the resolution of quinn's timers");
            return Err(fault.help("for an ACK for each packet write ack_packets = 1"));
        }
        // RFC 9002, section 6.2.1: the sender's probe timeout includes `max_ack_delay`. A delay longer than the default
        // is allowed only if the sender requests it.
        if self.max_ack_delay > USUAL_MAX_ACK_DELAY && !self.ack_frequency {
            let fault = Fault::new("max_ack_delay", "a delay above 25 ms is allowed only if the sender requests it");
            return Err(fault.help("add ack_frequency = true"));
        }
        let adapts = [
            ("ack_start", self.ack_start > 0),
            ("ack_window_share", self.ack_window_share > 0.0),
            ("ack_delay_rtts", self.ack_delay_rtts > 0.0),
        ];
        if let Some((key, _)) = adapts.into_iter().find(|(_, given)| self.ack_frequency && *given) {
            let fault =
                Fault::new(key, "with ack_frequency, quinn's sender requests a constant ACK threshold and delay");
            return Err(fault.help("leave it out, or write ack_frequency = false"));
        }
        if self.ack_packets_most < self.ack_packets && self.ack_window_share > 0.0 {
            return Err(Fault::new("ack_packets_most", "this must be at least ack_packets"));
        }
        if !(1..=u32::from(u8::MAX)).contains(&self.gso_packets) {
            return Err(Fault::new("gso_packets", "this must be from 1 to 255"));
        }
        if self.initial_window < 2 {
            return Err(Fault::new("initial_window", "this must be at least 2 packets (RFC 9002 section 7.2)"));
        }
        if !(SMALLEST_DATAGRAM..=65_000).contains(&self.max_datagram.get()) {
            return Err(Fault::new("max_datagram", "this must be from 1200 B to 65000 B (RFC 9000 section 14)"));
        }
        for (key, window) in [("stream_window", self.stream_window), ("send_window", self.send_window)] {
            if window.get() == 0 {
                return Err(Fault::new(key, "this must be at least 1 B"));
            }
        }
        if self.connection_window == Some(Bytes::ZERO) {
            return Err(Fault::new("connection_window", "this must be at least 1 B"));
        }
        if self.server_flight.get() > 100_000 {
            return Err(Fault::new("server_flight", "this must be at most 100 kB"));
        }
        if self.idle_timeout.is_some_and(|timeout| timeout < Duration::from_millis(1)) {
            return Err(Fault::new("idle_timeout", "this must be at least 1 ms"));
        }
        Ok(())
    }
}

impl TransportSettings for QuicConfig {
    fn build(&self, end: &TransportEnd) -> Result<Option<Box<dyn Transport>>, String> {
        #[cfg(feature = "stack")]
        {
            Ok(Some(Box::new(crate::QuicEndpoint::new(self, end, crate::Clock::default())?)))
        }
        #[cfg(not(feature = "stack"))]
        {
            let _ = end;
            Err("this build of lopsided has no QUIC: it was built without the feature `quic`".to_owned())
        }
    }

    fn opening(&self) -> Opening {
        Opening::Receiver
    }

    fn check_flow(&self, app: &AppConfig, cc: &str) -> Result<(), Fault> {
        let carried = app.get::<BulkConfig>().is_some()
            || app.get::<TransferConfig>().is_some()
            || app.get::<OnOffConfig>().is_some()
            || app.get::<CustomConfig>().is_some();
        if let Some(http) = app.get::<HttpConfig>() {
            let usual = HttpConfig::default();
            if http.multiplexed != usual.multiplexed || http.connections != usual.connections {
                let fault = Fault::new("app", "over QUIC a page has one connection and a stream for each object");
                return Err(fault.help("remove `connections` and `multiplexed`"));
            }
        } else if !carried {
            let kind = app.part().info().name;
            let fault = Fault::new("app", format!("transport = \"quic\" cannot carry the application \"{kind}\""));
            return Err(fault.help("it carries bulk, transfer, on_off and http; use TCP for the others"));
        }
        if self.cc_source == CcSource::Quinn && !["reno", "newreno", "cubic"].contains(&cc) {
            let fault = match cc {
                "bbr" => Fault::new(
                    "cc",
                    "quinn's BBR uses a random generator that cannot be seeded, and quinn does not pace packets at BBR's rate",
                ),
                _ => Fault::new("cc", format!("quinn has no congestion control \"{cc}\"")),
            };
            return Err(fault.help("with cc_source = \"quinn\" write reno, newreno or cubic"));
        }
        if let Some(reason) = refused(cc) {
            let fault = Fault::new("cc", format!("cc = \"{cc}\" cannot run over QUIC: {reason}"));
            return Err(fault.help("write a window-based control such as cubic or reno, or use TCP"));
        }
        Ok(())
    }

    fn stack_keys(&self) -> Option<&'static [&'static str]> {
        Some(&["cc", "mtu", "mss", "dscp", "profile"])
    }

    fn largest_packet(&self, stack: &StackConfig) -> Bytes {
        stack.mtu().min(Bytes::new(self.max_datagram.get() + HEADERS))
    }

    /// Returns the size of a client's first packet. Datagrams with Initial packets are padded to 1,200 bytes (RFC 9000,
    /// section 14.1).
    fn opening_packet(&self) -> Option<Bytes> {
        Some(Bytes::new(SMALLEST_DATAGRAM + HEADERS))
    }

    fn shows_acks(&self) -> bool {
        false
    }
}

/// Returns the reason why a congestion control is rejected for QUIC flows; `None` if it is supported.
fn refused(cc: &str) -> Option<&'static str> {
    match cc {
        "dctcp" | "prague" | "prague-fallback" | "prague-fallback-5.15" => {
            Some("quinn reports that packets were marked, but not the number of marked packets")
        }
        // BBR needs a stack that paces packets at the congestion controller's rate, as only noq-proto does.
        "bbr" | "bbr3" if cfg!(feature = "noq") => None,
        "bbr" | "bbr3" => Some("quinn paces packets by the window and the round-trip time, not at the control's rate"),
        "ledbat" => Some("it measures one-way delays, which QUIC's acknowledgements do not carry"),
        _ => None,
    }
}
