//! The state of a connection, with the fields of Linux's `tcp_info`, and the connection's counters.

use lopsided_core::tcp_event::{CaState, State};
use lopsided_core::{BitRate, Bytes, Duration};

/// The options that both ends agreed on (`tcpi_options`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionsInUse {
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Explicit congestion notification, in any form.
    pub ecn: bool,
}

/// Counters of accurate ECN (RFC 9768). All counters start at 0, unlike the counters on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnCounts {
    /// Number of CE-marked packets that arrived, including packets without data (`tcpi_received_ce`).
    pub received_ce: u64,
    /// Number of packets sent by this end that the peer reported as CE-marked, including packets without data
    /// (`tcpi_delivered_ce`).
    pub delivered_ce: u64,
    /// Bytes of data that the peer received with ECT(0), modulo 2^32 (`tcpi_delivered_e0_bytes`).
    pub delivered_ect0_bytes: u32,
    /// Bytes of data that the peer received with ECT(1), modulo 2^32 (`tcpi_delivered_e1_bytes`).
    pub delivered_ect1_bytes: u32,
    /// Bytes of data that the peer received with CE, modulo 2^32 (`tcpi_delivered_ce_bytes`).
    pub delivered_ce_bytes: u32,
}

/// The state of a connection, with the fields of Linux 6.1's `tcp_info`; `rcv_wnd` is from Linux 6.2. Windows and
/// delivered data are in bytes.
///
/// Not included: `tcpi_fackets` and `tcpi_last_ack_sent`, which Linux leaves at 0, and the fields of TCP Fast Open.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    /// State of the connection (`tcpi_state`).
    pub state: State,
    /// State of congestion control and loss recovery (`tcpi_ca_state`).
    pub ca_state: CaState,
    /// Number of consecutive retransmission timeouts without an acknowledgement of new data.
    pub retransmits: u32,
    /// Number of window probes that were sent since the peer last answered.
    pub probes: u32,
    /// Number of times that the RTO was doubled since the last RTT sample.
    pub backoff: u32,
    /// The options that both ends agreed on.
    pub options: OptionsInUse,
    /// Window scale of the peer: left shift of the window fields that this end receives.
    pub snd_wscale: u8,
    /// Window scale of this end: right shift of the window fields that this end sends.
    pub rcv_wscale: u8,
    /// The retransmission timeout.
    pub rto: Duration,
    /// The delayed-ACK timeout.
    pub ato: Duration,
    /// Payload of a full segment that this end sends, in bytes.
    pub snd_mss: Bytes,
    /// Estimated payload of the peer's full segments, in bytes.
    pub rcv_mss: Bytes,
    /// Largest payload, in bytes, that this end accepts in a segment with the usual options.
    pub advmss: Bytes,
    /// Path MTU: the largest IP packet that this end may send, in bytes.
    pub pmtu: Bytes,
    /// Number of outstanding segments.
    pub unacked: u32,
    /// Number of outstanding segments that are SACKed.
    pub sacked: u32,
    /// Number of outstanding segments that are marked lost.
    pub lost: u32,
    /// Number of retransmitted segments that are still outstanding.
    pub retrans: u32,
    /// Number of bytes that the sender assumes to be in flight.
    pub in_flight: Bytes,
    /// Number of bytes that the application has written and TCP has never sent.
    pub notsent: Bytes,
    /// Time since data was last sent; `None` if never.
    pub last_data_sent: Option<Duration>,
    /// Time since data was last received; `None` if never.
    pub last_data_recv: Option<Duration>,
    /// Time since an acknowledgement was last received; `None` if never.
    pub last_ack_recv: Option<Duration>,
    /// The smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// The mean deviation of the RTT.
    pub rttvar: Duration,
    /// The minimum RTT of the last 5 minutes.
    pub min_rtt: Option<Duration>,
    /// The congestion window in force.
    pub snd_cwnd: Bytes,
    /// The slow-start threshold; `None` before the first reduction.
    pub snd_ssthresh: Option<Bytes>,
    /// The peer's receive window.
    pub snd_wnd: Bytes,
    /// Part of the advertised receive window that the peer has not used yet.
    pub rcv_wnd: Bytes,
    /// Largest window that this end would advertise if its receive buffer were empty.
    pub rcv_ssthresh: Bytes,
    /// Bytes that the application read in the last round trip (`tcpi_rcv_space`).
    pub rcv_space: Bytes,
    /// The receiver's estimate of the RTT; `None` before the first sample.
    pub rcv_rtt: Option<Duration>,
    /// Number of duplicate ACKs after which a segment counts as lost.
    pub reordering: u32,
    /// Number of ACKs that reported segments as delivered out of order.
    pub reord_seen: u32,
    /// The pacing rate of the congestion control; `None` without pacing.
    pub pacing_rate: Option<BitRate>,
    /// Upper limit of the pacing rate that the application set; `None` if the application set no limit.
    pub max_pacing_rate: Option<BitRate>,
    /// Delivery rate of the last sample that the rate estimator accepted; `None` before the first sample,
    /// and if the connection does not measure the rate ([`ConnConfig::reports_rate`](crate::ConnConfig::reports_rate)).
    pub delivery_rate: Option<BitRate>,
    /// True if the sample of `delivery_rate` was limited by the application.
    pub delivery_rate_app_limited: bool,
    /// Number of bytes delivered to the peer, including SACKed bytes.
    pub delivered: Bytes,
    /// Time during which the connection had data to send or outstanding data.
    pub busy_time: Duration,
    /// Part of `busy_time` during which the peer's window limited the sender.
    pub rwnd_limited: Duration,
    /// Part of `busy_time` during which the send buffer limited the sender.
    pub sndbuf_limited: Duration,
    /// The counters of accurate ECN; `None` if it is not negotiated.
    pub accurate_ecn: Option<EcnCounts>,
    /// The counters since the start of the connection.
    pub counters: Counters,
}

/// Counters since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes of data sent, including retransmissions.
    pub bytes_sent: Bytes,
    /// Retransmitted bytes (`tcpi_bytes_retrans`).
    pub bytes_retransmitted: Bytes,
    /// Bytes that the peer reported as CE-marked (`tcpi_delivered_ce`, in bytes).
    pub bytes_marked: Bytes,
    /// Bytes of the stream that the peer has acknowledged.
    pub bytes_acked: Bytes,
    /// Bytes received in order.
    pub bytes_received: Bytes,
    /// Segments sent, including SYNs, ACKs and resets.
    pub segments_out: u64,
    /// Segments received.
    pub segments_in: u64,
    /// Segments sent with data or a FIN, including retransmissions.
    pub data_segments_out: u64,
    /// Segments received with data or a FIN.
    pub data_segments_in: u64,
    /// Retransmitted segments, including SYNs (`tcpi_total_retrans`).
    pub retransmits: u64,
    /// Retransmissions that were marked lost.
    pub lost_retransmits: u64,
    /// Retransmission timeouts, including those of a SYN (`TCPTimeouts`).
    pub timeouts: u64,
    /// Fast recoveries.
    pub fast_retransmits: u64,
    /// Tail loss probe timers that expired.
    pub tail_probes: u64,
    /// Window reductions that were undone because the loss was spurious.
    pub undos: u64,
    /// DSACK blocks received.
    pub dsacks_received: u64,
    /// Segments received whose data was already received or was not acceptable.
    pub duplicates_received: u64,
    /// Segments received out of order.
    pub out_of_order_received: u64,
    /// ACKs sent without data.
    pub pure_acks_out: u64,
    /// Window reductions in response to ECN feedback (ECE or reported marks).
    pub ecn_reductions: u64,
    /// Window reductions because the queue of this end's interface was full.
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

/// RTT statistics as computed from a capture at the sender. Each ACK of new data provides one sample: the RTT of the
/// newest segment that the ACK covers. ACKs that cover a retransmission provide no sample (Karn's rule).
#[derive(Clone, Copy, Debug, Default)]
pub struct RttStats {
    /// Number of samples.
    pub count: u64,
    /// Sum of all samples, in ns.
    pub sum_ns: u64,
    /// Sum of the squares of all samples, in square milliseconds.
    pub sum_of_squares_ms2: f64,
    /// The shortest sample.
    pub min: Option<Duration>,
    /// The longest sample.
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

    /// The mean of all samples; `None` without a sample.
    pub fn mean(&self) -> Option<Duration> {
        self.sum_ns.checked_div(self.count).map(Duration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_two_connections_are_added() {
        let one = Counters {
            bytes_sent: Bytes::new(2),
            bytes_retransmitted: Bytes::new(3),
            bytes_marked: Bytes::new(4),
            bytes_acked: Bytes::new(5),
            bytes_received: Bytes::new(6),
            segments_out: 7,
            segments_in: 8,
            data_segments_out: 9,
            data_segments_in: 10,
            retransmits: 11,
            lost_retransmits: 12,
            timeouts: 13,
            fast_retransmits: 14,
            tail_probes: 15,
            undos: 16,
            dsacks_received: 17,
            duplicates_received: 18,
            out_of_order_received: 19,
            pure_acks_out: 20,
            ecn_reductions: 21,
            local_congestion: 22,
        };
        assert_eq!(one + Counters::default(), one);
        assert_eq!(one + one + one, one + (one + one));
        assert_eq!((one + one).local_congestion, 2 * one.local_congestion);
    }

    #[test]
    fn the_mean_rtt_is_the_sum_divided_by_the_number_of_samples() {
        let mut stats = RttStats::default();
        assert_eq!(stats.mean(), None);
        for ms in [10, 30, 50] {
            stats.add(Duration::from_millis(ms));
        }
        assert_eq!(stats.mean(), Some(Duration::from_millis(30)));
        assert_eq!((stats.min, stats.max), (Some(Duration::from_millis(10)), Some(Duration::from_millis(50))));
        assert_eq!(stats.sum_of_squares_ms2, 100.0 + 900.0 + 2500.0);
    }
}
