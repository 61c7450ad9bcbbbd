//! What a connection shows of itself: the fields of Linux's `tcp_info`, and counts for a whole run.

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

/// The state of a connection, with the fields and the meaning of Linux's `tcp_info` (6.1, and `rcv_wnd` of 6.2) where
/// other units do not say more: windows and what was delivered are in octets.
///
/// Left out: `tcpi_fackets` and `tcpi_last_ack_sent`, which Linux does not fill, and what is TCP Fast Open's.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    pub state: State,
    /// `tcpi_ca_state`.
    pub ca_state: CaState,
    /// Consecutive timeouts without progress.
    pub retransmits: u32,
    /// Window probes since the peer was last heard.
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
    /// The payload of the largest segment that this end takes, its usual options left out.
    pub advmss: Bytes,
    /// The largest packet that this end sends.
    pub pmtu: Bytes,
    /// Segments sent and not acknowledged; of these SACKed, lost, sent again.
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    /// Octets in the network as the sender sees it.
    pub in_flight: Bytes,
    /// Octets written that were never sent.
    pub notsent: Bytes,
    /// How long ago data was last sent, data and an acknowledgement last received.
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
    /// The window that this end advertises, the most that it would with an empty buffer, and what its application read
    /// in the last round trip (`tcpi_rcv_space`), which took `rcv_rtt`.
    pub rcv_wnd: Bytes,
    pub rcv_ssthresh: Bytes,
    pub rcv_space: Bytes,
    pub rcv_rtt: Option<Duration>,
    /// Duplicate ACKs that mean a loss, and segments seen to arrive out of order at the peer.
    pub reordering: u32,
    pub reord_seen: u32,
    pub pacing_rate: Option<BitRate>,
    /// What the application allows at most.
    pub max_pacing_rate: Option<BitRate>,
    /// The newest delivery rate, and whether the application held it back.
    pub delivery_rate: Option<BitRate>,
    pub delivery_rate_app_limited: bool,
    /// Octets that reached the peer, those included that only SACK reported.
    pub delivered: Bytes,
    /// How long there was data to send; of that, how long the peer's window or this end's send buffer held it back.
    pub busy_time: Duration,
    pub rwnd_limited: Duration,
    pub sndbuf_limited: Duration,
    pub counters: Counters,
}

/// Counts since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub bytes_sent: Bytes,
    /// Of these, octets sent again (`tcpi_bytes_retrans`).
    pub bytes_retransmitted: Bytes,
    /// Octets that the peer reported as marked (`tcpi_delivered_ce`).
    pub bytes_marked: Bytes,
    /// Octets of the stream that the peer acknowledged.
    pub bytes_acked: Bytes,
    /// Octets received in order.
    pub bytes_received: Bytes,
    pub segments_out: u64,
    pub segments_in: u64,
    pub data_segments_out: u64,
    pub data_segments_in: u64,
    /// Segments sent again, SYNs too (`tcpi_total_retrans`).
    pub retransmits: u64,
    /// Of these, found lost again.
    pub lost_retransmits: u64,
    /// Retransmission timeouts, a SYN's too (`TCPTimeouts`).
    pub timeouts: u64,
    pub fast_retransmits: u64,
    pub tail_probes: u64,
    /// Reductions taken back as unnecessary.
    pub undos: u64,
    pub dsacks_received: u64,
    pub duplicates_received: u64,
    pub out_of_order_received: u64,
    pub pure_acks_out: u64,
    pub ecn_reductions: u64,
    /// Reductions because the host's own interface refused a segment.
    pub local_congestion: u64,
}

/// Round-trip times as a packet capture at the sender gives them: one for each ACK that advances, from the sending of
/// the newest segment that it covers; none for an ACK that also covers a retransmission (Karn's rule: what it answers
/// is not known).
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
