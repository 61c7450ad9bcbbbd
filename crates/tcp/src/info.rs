//! The state of a connection: the fields of Linux's `tcp_info`, and counters of a whole run.

use lopsided_core::tcp_event::{CaState, State};
use lopsided_core::{BitRate, Bytes, Duration};

/// The options that a connection has agreed on (`tcpi_options`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionsInUse {
    pub timestamps: bool,
    pub sack: bool,
    pub window_scaling: bool,
    pub ecn: bool,
}

/// The state of a connection, with the fields and meanings of Linux's `tcp_info` (6.1, and `rcv_wnd` of 6.2), except
/// that windows and delivered data are in bytes.
///
/// Not included: `tcpi_fackets` and `tcpi_last_ack_sent`, which Linux does not fill, and the fields of TCP Fast Open.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    pub state: State,
    /// `tcpi_ca_state`.
    pub ca_state: CaState,
    /// Number of timeouts in a row without progress.
    pub retransmits: u32,
    /// Number of window probes since the peer last answered.
    pub probes: u32,
    pub backoff: u32,
    pub options: OptionsInUse,
    pub snd_wscale: u8,
    pub rcv_wscale: u8,
    pub rto: Duration,
    /// The delayed-ACK timeout.
    pub ato: Duration,
    pub snd_mss: Bytes,
    pub rcv_mss: Bytes,
    /// The largest payload that this end accepts, without its usual options.
    pub advmss: Bytes,
    /// The largest packet that this end sends.
    pub pmtu: Bytes,
    /// Number of outstanding segments; `sacked`, `lost` and `retrans` count parts of them.
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    /// Bytes in the network according to the sender.
    pub in_flight: Bytes,
    /// Written bytes that were never sent.
    pub notsent: Bytes,
    /// Time since data was last sent, and since data and an acknowledgement were last received.
    pub last_data_sent: Option<Duration>,
    pub last_data_recv: Option<Duration>,
    pub last_ack_recv: Option<Duration>,
    pub srtt: Option<Duration>,
    pub rttvar: Duration,
    pub min_rtt: Option<Duration>,
    pub snd_cwnd: Bytes,
    pub snd_ssthresh: Option<Bytes>,
    /// The peer's receive window.
    pub snd_wnd: Bytes,
    /// The window that this end offers, the largest that it would offer with an empty buffer, and the bytes that its
    /// application read in the last round trip (`tcpi_rcv_space`), which took `rcv_rtt`.
    pub rcv_wnd: Bytes,
    pub rcv_ssthresh: Bytes,
    pub rcv_space: Bytes,
    pub rcv_rtt: Option<Duration>,
    /// Number of duplicate ACKs that mean a loss, and number of segments that reached the peer out of order.
    pub reordering: u32,
    pub reord_seen: u32,
    pub pacing_rate: Option<BitRate>,
    /// The application's limit.
    pub max_pacing_rate: Option<BitRate>,
    /// The newest delivery rate, and whether the application limited it.
    pub delivery_rate: Option<BitRate>,
    pub delivery_rate_app_limited: bool,
    /// Bytes that reached the peer, including those only SACKed.
    pub delivered: Bytes,
    /// Time with data to send; `rwnd_limited` and `sndbuf_limited`: the parts limited by the peer's window and by the
    /// send buffer.
    pub busy_time: Duration,
    pub rwnd_limited: Duration,
    pub sndbuf_limited: Duration,
    pub counters: Counters,
}

/// Counts since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub bytes_sent: Bytes,
    /// Retransmitted bytes (`tcpi_bytes_retrans`).
    pub bytes_retransmitted: Bytes,
    /// Bytes that the peer reported as marked (`tcpi_delivered_ce`).
    pub bytes_marked: Bytes,
    /// Bytes of the stream that the peer acknowledged.
    pub bytes_acked: Bytes,
    /// Bytes received in order.
    pub bytes_received: Bytes,
    pub segments_out: u64,
    pub segments_in: u64,
    pub data_segments_out: u64,
    pub data_segments_in: u64,
    /// Retransmitted segments, including SYNs (`tcpi_total_retrans`).
    pub retransmits: u64,
    /// Retransmissions that were lost.
    pub lost_retransmits: u64,
    /// Retransmission timeouts, including a SYN's (`TCPTimeouts`).
    pub timeouts: u64,
    pub fast_retransmits: u64,
    pub tail_probes: u64,
    /// Reductions undone as spurious.
    pub undos: u64,
    pub dsacks_received: u64,
    pub duplicates_received: u64,
    pub out_of_order_received: u64,
    pub pure_acks_out: u64,
    pub ecn_reductions: u64,
    /// Reductions because the host's interface refused a segment.
    pub local_congestion: u64,
}

impl std::ops::Add for Counters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            bytes_sent: self.bytes_sent + other.bytes_sent,
            bytes_retransmitted: self.bytes_retransmitted + other.bytes_retransmitted,
            bytes_marked: self.bytes_marked + other.bytes_marked,
            bytes_acked: self.bytes_acked + other.bytes_acked,
            bytes_received: self.bytes_received + other.bytes_received,
            segments_out: self.segments_out + other.segments_out,
            segments_in: self.segments_in + other.segments_in,
            data_segments_out: self.data_segments_out + other.data_segments_out,
            data_segments_in: self.data_segments_in + other.data_segments_in,
            retransmits: self.retransmits + other.retransmits,
            lost_retransmits: self.lost_retransmits + other.lost_retransmits,
            timeouts: self.timeouts + other.timeouts,
            fast_retransmits: self.fast_retransmits + other.fast_retransmits,
            tail_probes: self.tail_probes + other.tail_probes,
            undos: self.undos + other.undos,
            dsacks_received: self.dsacks_received + other.dsacks_received,
            duplicates_received: self.duplicates_received + other.duplicates_received,
            out_of_order_received: self.out_of_order_received + other.out_of_order_received,
            pure_acks_out: self.pure_acks_out + other.pure_acks_out,
            ecn_reductions: self.ecn_reductions + other.ecn_reductions,
            local_congestion: self.local_congestion + other.local_congestion,
        }
    }
}

/// RTTs as a packet capture at the sender shows them: one for each ACK that advances, from the transmission of the
/// newest segment that it covers; none for an ACK that also covers a retransmission (Karn's rule).
#[derive(Clone, Copy, Debug, Default)]
pub struct RttStats {
    pub count: u64,
    pub sum_ns: u64,
    /// In square milliseconds.
    pub sum_of_squares_ms2: f64,
    pub min: Option<Duration>,
    pub max: Option<Duration>,
}

impl RttStats {
    #[inline]
    pub(crate) fn add(&mut self, rtt: Duration) {
        self.count += 1;
        self.sum_ns += rtt.as_nanos();
        let ms = rtt.as_millis_f64();
        self.sum_of_squares_ms2 += ms * ms;
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        self.max = Some(self.max.map_or(rtt, |max| max.max(rtt)));
    }

    pub fn mean(&self) -> Option<Duration> {
        self.sum_ns.checked_div(self.count).map(Duration::from_nanos)
    }
}
