//! What a connection shows of itself: the fields of Linux's `tcp_info`, and counts for a whole run.

use lopsided_core::tcp_event::{CaState, State};
use lopsided_core::{BitRate, Bytes, Duration};

/// The state of a connection, with the fields and the meaning of Linux's `tcp_info` where it has them.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    pub state: State,
    /// `tcpi_ca_state`.
    pub ca_state: CaState,
    /// Consecutive timeouts without progress.
    pub retransmits: u32,
    pub backoff: u32,
    pub snd_wscale: u8,
    pub rcv_wscale: u8,
    pub rto: Duration,
    /// The delayed-ACK timeout.
    pub ato: Duration,
    pub snd_mss: Bytes,
    pub rcv_mss: Bytes,
    /// Segments sent and not acknowledged; of these SACKed, lost, sent again.
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    /// Octets in the network as the sender sees it.
    pub in_flight: Bytes,
    pub srtt: Option<Duration>,
    pub rttvar: Duration,
    pub min_rtt: Option<Duration>,
    pub snd_cwnd: Bytes,
    pub snd_ssthresh: Option<Bytes>,
    /// The peer's receive window.
    pub snd_wnd: Bytes,
    /// The window that this end advertises, and what its application read in the last round trip (`tcpi_rcv_space`).
    pub rcv_wnd: Bytes,
    pub rcv_space: Bytes,
    pub pacing_rate: Option<BitRate>,
    pub counters: Counters,
}

/// Counts since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub bytes_sent: Bytes,
    /// Octets of the stream that the peer acknowledged.
    pub bytes_acked: Bytes,
    /// Octets received in order.
    pub bytes_received: Bytes,
    pub segments_out: u64,
    pub segments_in: u64,
    pub data_segments_out: u64,
    pub data_segments_in: u64,
    /// Segments sent again (`tcpi_total_retrans`).
    pub retransmits: u64,
    /// Of these, found lost again.
    pub lost_retransmits: u64,
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
    pub local_reductions: u64,
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
