//! What a run gives back: tables of columns, the digest and the audit.

use crate::table::table;
use lopsided_core::Conservation;

table! {
    /// One row for each flow, in the scenario's order.
    ///
    /// A value that does not exist (the RTT of a flow without a sample, the completion time of a bulk flow) is NaN, or zero
    /// for counts.
    FlowTable of FlowRow {
        flow: u32,
        name: String,
        group: String,
        /// `down`, `up`, or empty for a flow that crosses links both ways.
        direction: &'static str,
        from: String,
        to: String,
        cc: String,
        profile: String,
        /// When the application began: the scenario's start and the jitter drawn for this seed.
        start_s: f64,
        /// When it was told to stop, at the latest the end of the run.
        stop_s: f64,
        /// How long it had something to send: to `stop_s`, or the sum of its transfers' times.
        active_s: f64,
        /// Octets of payload handed to the network, retransmissions included (of UDP: IP octets).
        sent_bytes: u64,
        /// Octets that the peer acknowledged.
        acked_bytes: u64,
        /// Octets that the receiving application read (of UDP: IP octets received).
        delivered_bytes: u64,
        /// `delivered_bytes` over `active_s`.
        goodput_bps: f64,
        data_packets_sent: u64,
        data_packets_delivered: u64,
        retransmits: u64,
        timeouts: u64,
        fast_retransmits: u64,
        /// Window reductions because the host's own interface had no room.
        local_reductions: u64,
        tail_probes: u64,
        /// Window reductions taken back because the retransmission was not needed.
        spurious: u64,
        /// Round trips of single packets, from the sending of data to the cumulative ACK that covers it, without those sent
        /// twice; of UDP the one-way times.
        rtt_count: u64,
        rtt_mean_ms: f64,
        rtt_std_ms: f64,
        rtt_min_ms: f64,
        rtt_p50_ms: f64,
        rtt_p95_ms: f64,
        rtt_max_ms: f64,
        /// The smoothed RTT at the end.
        srtt_ms: f64,
        /// Over the time from the first connection's start to the end of the last.
        cwnd_mean_bytes: f64,
        cwnd_max_bytes: u64,
        /// Transfers completed, the mean and the longest time from the start of one to its last octet's delivery.
        transfers: u64,
        completion_s: f64,
        completion_max_s: f64,
        /// Packets of a UDP flow that were sent and had not arrived by the end of the run.
        missing_packets: u64,
    }
}

table! {
    /// The senders' state at each sampling instant, and at each change where the scenario asks for it.
    SampleTable of SampleRow {
        time_s: f64,
        flow: u32,
        /// The congestion state: `open`, `disorder`, `recovery`, `loss`, ... ; `closed` without a connection.
        state: &'static str,
        cwnd_bytes: u64,
        /// NaN: not yet set.
        ssthresh_bytes: f64,
        srtt_ms: f64,
        rttvar_ms: f64,
        rto_ms: f64,
        in_flight_bytes: u64,
        /// The peer's receive window.
        snd_wnd_bytes: u64,
        /// The space that the receiver's autotuning provides for.
        rcv_space_bytes: u64,
        /// Since the flow began, as the three that follow.
        sent_bytes: u64,
        acked_bytes: u64,
        delivered_bytes: u64,
        retransmits: u64,
        /// Over the interval that just ended, as the other `rtt_*` columns: round trips of single packets.
        rtt_count: u64,
        rtt_sum_ms: f64,
        rtt_sumsq_ms2: f64,
        rtt_min_ms: f64,
        rtt_max_ms: f64,
    }
}

table! {
    /// Every queue at each sampling instant. Counters run from the beginning, waits are those of the interval just ended.
    QueueTable of QueueRow {
        time_s: f64,
        link: u32,
        backlog_packets: u32,
        backlog_bytes: u64,
        /// Packets that came, taken in or not.
        offered_packets: u64,
        dropped_packets: u64,
        /// Packets that the queue marked as having experienced congestion (ECN).
        marked_packets: u64,
        sent_packets: u64,
        sent_bytes: u64,
        sojourn_mean_ms: f64,
        sojourn_max_ms: f64,
    }
}

table! {
    /// One row for each direction of each link, over the whole run. `link` in other tables is the number of the row here.
    LinkTable of LinkRow {
        link: u32,
        name: String,
        direction: &'static str,
        /// NaN: infinitely fast.
        rate_bps: f64,
        /// Share of the rate that was used; NaN without a rate.
        utilisation: f64,
        mean_backlog_packets: f64,
        max_backlog_packets: u32,
        mean_backlog_bytes: f64,
        max_backlog_bytes: u64,
        offered_packets: u64,
        sent_packets: u64,
        sent_bytes: u64,
        dropped_packets: u64,
        dropped_queue_full: u64,
        dropped_head: u64,
        dropped_early: u64,
        dropped_policed: u64,
        /// Packets that the queue marked as having experienced congestion (ECN).
        marked_packets: u64,
        lost_random: u64,
        lost_pattern: u64,
        sojourn_mean_ms: f64,
        sojourn_p50_ms: f64,
        sojourn_p95_ms: f64,
        sojourn_max_ms: f64,
    }
}

table! {
    /// Each completed transfer of the flows that make them; only where samples are recorded.
    TransferTable of TransferRow {
        flow: u32,
        /// `transfer`; of a web flow `page`, and its parts `index` and `object`.
        what: &'static str,
        start_s: f64,
        completion_s: f64,
        size_bytes: u64,
    }
}

table! {
    /// Everything that happened to every packet, by time; only where the scenario asks for it. A number that an event does
    /// not have is zero or NaN, a word empty.
    EventTable of EventRow {
        time_s: f64,
        /// A row of the table of nodes.
        node: u32,
        /// `sent`, `received`, `enqueued`, `dequeued`, `marked`, `dropped`, `rewritten` or `absorbed`.
        event: &'static str,
        flow: u32,
        packet: u64,
        /// `tcp`, `udp` or `other`.
        protocol: &'static str,
        seq: u32,
        ack: u32,
        /// The TCP flags, bit for bit.
        flags: u32,
        payload_bytes: u32,
        /// Of the IP packet.
        size_bytes: u32,
        /// The ECN bits of the IP header.
        ecn: u32,
        /// Of the queue, after the event.
        backlog_packets: u32,
        sojourn_ms: f64,
        /// Why it was dropped or marked.
        reason: &'static str,
    }
}

table! {
    /// The nodes by number: hosts, routers, and each link's two directions.
    NodeTable of NodeRow {
        node: u32,
        name: String,
        /// `host`, `router`, `link` or `middlebox`.
        kind: &'static str,
        /// Of a link, or of a middlebox's link.
        direction: &'static str,
    }
}

/// All that a run found out.
#[derive(Debug, Clone)]
pub struct RunResult {
    pub seed: u64,
    /// The length of the run, in seconds.
    pub duration_s: f64,
    /// A hash of every packet's arrival and loss: equal where the runs were equal.
    pub digest: u64,
    /// Events that the loop handled: a measure of the work done.
    pub events: u64,
    /// Where all packets came to be.
    pub conservation: Conservation,
    pub flows: FlowTable,
    pub samples: SampleTable,
    pub queues: QueueTable,
    pub links: LinkTable,
    pub transfers: TransferTable,
    pub packet_events: EventTable,
    pub nodes: NodeTable,
}
