//! The results of a run: tables of columns, the digest and the conservation check.

use crate::cores::CoresUsed;
use crate::table;
use crate::{Column, Name, TableSpec};
use lopsided_core::{Bytes, Conservation};
use lopsided_rdra::{Loss, Step, What};

table! {
    /// One row for each flow, in the order of the scenario.
    FlowTable of FlowRow as "flows" {
        /// Number of the flow in other tables.
        flow: u32 [Label "flow"],
        /// Name of the flow in the scenario.
        name: String [Text "flow"],
        /// Name of the flow's group: the name that all copies made by `count` share.
        group: Name [Text "group"],
        /// `down`: towards the client; `up`: away from the client; empty if the path crosses links in both directions.
        direction: &'static str [Text "direction"],
        /// The sending host.
        from: Name [Text "from"],
        /// The receiving host.
        to: Name [Text "to"],
        /// Congestion control of the sender.
        cc: Name [Text "CC"],
        /// Stack profile of the sender.
        profile: Name [Text "stack"],
        /// Time at which the application started: the start in the scenario plus the jitter of this seed.
        start_s: f64 [Second "start"],
        /// Time at which the application stopped, or the end of the run if the application did not stop earlier.
        stop_s: f64 [Second "stop"],
        /// Time in which the flow had data to send. For transfers, the sum of their durations; for other applications,
        /// the time until `stop_s`.
        active_s: f64 [Second "active"],
        /// Payload sent, including retransmissions. For UDP: size of the sent IP packets.
        sent_bytes: u64 [Byte "sent"],
        /// Payload that the receiver acknowledged.
        acked_bytes: u64 [Byte "acked"],
        /// Payload that the receiving application read. For UDP: size of the received IP packets.
        delivered_bytes: u64 [Byte "delivered"],
        /// `delivered_bytes` divided by `active_s`.
        goodput_bps: f64 [BitPerSecond "goodput"],
        /// Number of sent segments with data, including retransmissions (`tcpi_data_segs_out`). For UDP: sent datagrams.
        data_segments_out: u64 [Count "data segments out"],
        /// Number of received segments with data (`tcpi_data_segs_in` of the receiver). For UDP: received datagrams.
        data_segments_in: u64 [Count "data segments in"],
        /// Number of retransmitted segments, including SYNs (`tcpi_total_retrans`).
        retransmits: u64 [Count "retransmits"],
        /// Number of retransmission timeouts (RFC 6298), including timeouts of SYNs.
        timeouts: u64 [Count "timeouts"],
        /// Number of times that fast recovery began (RFC 5681).
        fast_retransmits: u64 [Count "fast retransmits"],
        /// Number of window reductions because the host's own interface was full.
        local_congestion: u64 [Count "local congestion"],
        /// Tail loss probes sent (RFC 8985).
        tail_probes: u64 [Count "tail probes"],
        /// Number of window reductions that were undone because the retransmission was spurious.
        undos: u64 [Count "undos"],
        /// Number of round-trip samples. A sample is the time from a data packet to the cumulative ACK that covers it.
        /// Retransmitted packets produce no sample. For UDP: number of one-way delays.
        rtt_count: u64 [Count "RTT samples"],
        /// Mean round-trip time.
        rtt_mean_ms: f64 [Millisecond "RTT mean"],
        /// Standard deviation of the round-trip time.
        rtt_std_ms: f64 [Millisecond "RTT std"],
        /// Shortest round-trip time.
        rtt_min_ms: f64 [Millisecond "RTT min"],
        /// Median round-trip time.
        rtt_p50_ms: f64 [Millisecond "RTT 50 %"],
        /// 95th percentile of the round-trip time.
        rtt_p95_ms: f64 [Millisecond "RTT 95 %"],
        /// Longest round-trip time.
        rtt_max_ms: f64 [Millisecond "RTT max"],
        /// Smoothed RTT at the end of the run (RFC 6298).
        srtt_ms: f64 [Millisecond "SRTT"],
        /// Mean congestion window over time, from the start of the first connection to the end of the last connection.
        cwnd_mean_bytes: f64 [Byte "cwnd mean"],
        /// Largest congestion window.
        cwnd_max_bytes: Option<u64> [Byte "cwnd max"],
        /// Number of completed transfers.
        transfers: u64 [Count "transfers"],
        /// Mean time from the start of a transfer to the delivery of its last byte.
        completion_s: f64 [Second "completion mean"],
        /// Longest time from the start of a transfer to the delivery of its last byte.
        completion_max_s: f64 [Second "completion max"],
        /// For UDP: number of sent datagrams that had not arrived by the end of the run.
        lost_packets: u64 [Count "lost"],
    }
}

table! {
    /// The state of senders at each sampling time, and with `[record] on_change` at each change of the congestion
    /// state.
    SampleTable of SampleRow as "samples" {
        /// Time of the sample.
        time_s: f64 [Second "time"],
        /// Number of the flow.
        flow: u32 [Label "flow"],
        /// The congestion state: `open`, `disorder`, `cwr`, `recovery`, `loss`; `closed` if the flow has no connection.
        state: &'static str [Text "state"],
        /// Congestion window.
        cwnd_bytes: u64 [Byte "cwnd"],
        /// Slow-start threshold; null if it is not set yet.
        ssthresh_bytes: f64 [Byte "ssthresh"],
        /// Smoothed RTT (RFC 6298).
        srtt_ms: f64 [Millisecond "SRTT"],
        /// RTT variation (RFC 6298).
        rttvar_ms: f64 [Millisecond "RTTVAR"],
        /// Retransmission timeout.
        rto_ms: f64 [Millisecond "RTO"],
        /// Sent payload that is neither acknowledged nor considered lost.
        in_flight_bytes: u64 [Byte "in flight"],
        /// The peer's receive window.
        snd_wnd_bytes: u64 [Byte "send window"],
        /// Payload that the application read in the last round trip (`tcpi_rcv_space`).
        rcv_space_bytes: u64 [Byte "receive space"],
        /// Payload sent since the flow began.
        sent_bytes: u64 [Byte "sent"],
        /// Payload acknowledged since the flow began.
        acked_bytes: u64 [Byte "acked"],
        /// Payload that the receiving application has read since the flow began.
        delivered_bytes: u64 [Byte "delivered"],
        /// Number of segments retransmitted since the flow began.
        retransmits: u64 [Count "retransmits"],
        /// Number of round-trip samples in the interval that ends now.
        rtt_count: u64 [Count "RTT samples"],
        /// Sum of the RTT samples in the interval that ends now.
        rtt_sum_ms: f64 [Millisecond "RTT sum"],
        /// Sum of the squares of the RTT samples in the interval that ends now.
        rtt_sumsq_ms2: f64 [SquareMillisecond "RTT sum of squares"],
        /// Shortest RTT sample in the interval that ends now.
        rtt_min_ms: f64 [Millisecond "RTT min"],
        /// Longest RTT sample in the interval that ends now.
        rtt_max_ms: f64 [Millisecond "RTT max"],
    }
}

table! {
    /// The state of every queue at each sampling time.
    QueueTable of QueueRow as "queues" {
        /// Time of the sample.
        time_s: f64 [Second "time"],
        /// Name of the link.
        link: Name [Text "link"],
        /// `down`: towards the client; `up`: away from the client.
        direction: &'static str [Text "direction"],
        /// Packets in the queue.
        backlog_packets: u32 [Packet "backlog"],
        /// Bytes in the queue.
        backlog_bytes: u64 [Byte "backlog"],
        /// Packets that arrived at the queue since the start, accepted or not.
        arrived_packets: u64 [Count "arrived"],
        /// Packets that the queue dropped since the start.
        dropped_packets: u64 [Count "dropped"],
        /// ACKs that an ACK filter removed since the start, because later ACKs cover them.
        filtered_packets: u64 [Count "filtered"],
        /// Packets that the queue marked with "congestion experienced" (ECN) since the start.
        marked_packets: u64 [Count "marked"],
        /// Packets that left the queue for the line since the start.
        sent_packets: u64 [Count "sent"],
        /// Bytes that left the queue for the line since the start.
        sent_bytes: u64 [Byte "sent"],
        /// Mean queueing time of the packets that left the queue in the interval that ends now.
        sojourn_mean_ms: f64 [Millisecond "sojourn mean"],
        /// Longest queueing time of the packets that left the queue in the interval that ends now.
        sojourn_max_ms: f64 [Millisecond "sojourn max"],
    }
}

table! {
    /// One row for each direction of each link, with totals and means over the whole run.
    LinkTable of LinkRow as "links" {
        /// Name of the link in the scenario.
        link: Name [Text "link"],
        /// `down`: towards the client; `up`: away from the client.
        direction: &'static str [Text "direction"],
        /// Rate of the line or shaper; null if unlimited.
        rate_bps: f64 [BitPerSecond "rate"],
        /// Share of the rate that was used; null if the link has no rate.
        utilisation: f64 [Share "utilization"],
        /// Mean number of packets in the queue over time.
        mean_backlog_packets: f64 [Packet "backlog mean"],
        /// Largest number of packets in the queue.
        max_backlog_packets: u32 [Packet "backlog max"],
        /// Mean number of bytes in the queue over time.
        mean_backlog_bytes: f64 [Byte "backlog mean"],
        /// Largest number of bytes in the queue.
        max_backlog_bytes: u64 [Byte "backlog max"],
        /// Packets that arrived at the queue, accepted or not.
        arrived_packets: u64 [Count "arrived"],
        /// Packets that left the queue for the line.
        sent_packets: u64 [Count "sent"],
        /// Bytes that left the queue for the line.
        sent_bytes: u64 [Byte "sent"],
        /// Packets that the queue dropped; the table `drops` has the reasons.
        dropped_packets: u64 [Count "dropped"],
        /// ACKs that an ACK filter removed from the queue, because later ACKs cover them.
        filtered_packets: u64 [Count "filtered"],
        /// Packets that the queue marked with "congestion experienced" (ECN); the table `marks` has the reasons.
        marked_packets: u64 [Count "marked"],
        /// Number of packets lost on the medium.
        lost_packets: u64 [Count "lost"],
        /// Mean time in the queue.
        sojourn_mean_ms: f64 [Millisecond "sojourn mean"],
        /// Median time in the queue.
        sojourn_p50_ms: f64 [Millisecond "sojourn 50 %"],
        /// 95th percentile of the time in the queue.
        sojourn_p95_ms: f64 [Millisecond "sojourn 95 %"],
        /// Longest time in the queue.
        sojourn_max_ms: f64 [Millisecond "sojourn max"],
    }
}

table! {
    /// Packets dropped during the whole run, with one row for each place and reason.
    DropTable of DropRow as "drops" {
        /// Name of the link, host, router or middlebox.
        node: Name [Text "node"],
        /// Direction of the link; empty for nodes that are not in a link.
        direction: &'static str [Text "direction"],
        /// Reason for the drops.
        reason: &'static str [Text "reason"],
        /// Number of dropped packets.
        packets: u64 [Count "packets"],
        /// Total size of the dropped IP packets.
        bytes: u64 [Byte "bytes"],
    }
}

table! {
    /// Packets that queues marked with "congestion experienced" (ECN) during the whole run, with one row for each place
    /// and reason.
    MarkTable of MarkRow as "marks" {
        /// Name of the link.
        node: Name [Text "node"],
        /// Direction of the link.
        direction: &'static str [Text "direction"],
        /// Rule of the discipline that marked the packets.
        reason: &'static str [Text "reason"],
        /// Number of marked packets.
        packets: u64 [Count "packets"],
        /// Total size of the marked IP packets.
        bytes: u64 [Byte "bytes"],
    }
}

table! {
    /// Quantities that parts of nodes report. Stages and media report at each sampling time and at the end. Queues
    /// report at each sampling time, and their classes at the end.
    PartTable of PartRow as "parts" {
        /// Time of the sample.
        time_s: f64 [Second "time"],
        /// Name of the stage, medium or link.
        node: Name [Text "node"],
        /// Direction of the link; empty for nodes that are not in a link.
        direction: &'static str [Text "direction"],
        /// Name of the class in a queue (a band, a flow) or of the station of a medium; otherwise empty.
        part: Name [Text "part"],
        /// Name of the quantity, with its unit at the end. The documentation of the part explains it.
        quantity: Name [Text "quantity"],
        /// Value at the time of the sample. Counts start at the beginning of the run.
        value: f64 [Number "value"],
    }
}

table! {
    /// One row for each completed transfer. The table is written only if the scenario records samples.
    TransferTable of TransferRow as "transfers" {
        /// Number of the flow.
        flow: u32 [Label "flow"],
        /// `transfer`; `fetch` for a transfer in ranges; for a web flow `page`, and its parts `connect`, `index` and
        /// `object`.
        what: &'static str [Text "what"],
        /// Start of the transfer.
        start_s: f64 [Second "start"],
        /// Time from the start to the delivery of the last byte.
        completion_s: f64 [Second "completion"],
        /// Payload.
        size_bytes: u64 [Byte "size"],
    }
}

table! {
    /// All packet events, in order of time. The table is written only if the scenario requests it (`[record] events =
    /// true`). If a column does not apply to an event, a numeric column is zero or null, and a text column is empty.
    EventTable of EventRow as "events" {
        /// Time of the event.
        time_s: f64 [Second "time"],
        /// Name of the host, router, link or middlebox.
        node: Name [Text "node"],
        /// Direction of the link; empty for nodes that are not in a link.
        direction: &'static str [Text "direction"],
        /// `sent`, `received`, `enqueued`, `dequeued`, `marked`, `dropped`, `rewritten` or `absorbed`.
        event: &'static str [Text "event"],
        /// Number of the flow.
        flow: u32 [Label "flow"],
        /// Number of the packet, which is the same at all nodes.
        packet: u64 [Label "packet"],
        /// `tcp`, `udp` or `other`.
        protocol: &'static str [Text "protocol"],
        /// Sequence number, as on the wire.
        seq: u32 [Label "seq"],
        /// Acknowledgement number, as on the wire.
        ack: u32 [Label "ack"],
        /// TCP flags, as a number with the bits of the TCP header.
        flags: u32 [Label "flags"],
        /// Bytes of payload.
        payload_bytes: u32 [Byte "payload"],
        /// Bytes of the IP packet.
        size_bytes: u32 [Byte "size"],
        /// The ECN bits of the IP header.
        ecn: u32 [Label "ECN"],
        /// Packets in the queue after the event.
        backlog_packets: u32 [Packet "backlog"],
        /// Time that the packet spent in the queue.
        sojourn_ms: f64 [Millisecond "sojourn"],
        /// Reason for the drop or mark.
        reason: &'static str [Text "reason"],
    }
}

table! {
    /// Steps of the controller of each download over several connections, in order of time. The table is written only
    /// if the scenario requests it (`app = { kind = "rdra", record_steps = true }`). If a column does not apply to a
    /// step, a numeric column is null, and a text column is empty.
    FetchTable of FetchRow as "fetches" {
        /// Time of the step.
        time_s: f64 [Second "time"],
        /// Number of the flow.
        flow: u32 [Label "flow"],
        /// Number of the stream.
        stream: u32 [Label "stream"],
        /// `asked`: a request was sent; `received`: bytes arrived; `observed`: the connection reported segments out of
        /// order or its segment size; `failed`: the connection was lost.
        step: &'static str [Text "step"],
        /// Offset in the object, in bytes.
        offset_bytes: Option<u64> [Byte "offset"],
        /// Number of bytes.
        length_bytes: Option<u64> [Byte "length"],
        /// Time between the arrival of the data and the step.
        late_s: f64 [Second "late"],
        /// Segments out of order since the connection began.
        out_of_order: Option<u64> [Count "out of order"],
        /// Segment size of the connection.
        mss_bytes: Option<u64> [Byte "MSS"],
        /// The controller's classification of a loss in this step. `channel`: a loss of the medium. All other classes
        /// count as congestion. `queue`: there is a standing queue. `together`: several streams have holes. `every`:
        /// every hole counts. `answered`: the last reduction was less than one round trip ago, so the window is not
        /// reduced again.
        loss: &'static str [Text "loss"],
        /// Window of all streams together, after the step; null if the window is unlimited.
        window_bytes: Option<u64> [Byte "window"],
        /// Bytes requested but not received, over all streams, after the step.
        requested_bytes: u64 [Byte "requested"],
    }
}

impl FetchRow {
    /// Converts a step to a row of `fetches`.
    pub fn of(flow: u32, step: Step) -> FetchRow {
        let blank = FetchRow {
            time_s: step.at.as_secs_f64(),
            flow,
            stream: step.stream as u32,
            step: step.what.name(),
            offset_bytes: None,
            length_bytes: None,
            late_s: f64::NAN,
            out_of_order: None,
            mss_bytes: None,
            loss: step.loss.map_or("", Loss::name),
            window_bytes: step.window.map(Bytes::get),
            requested_bytes: step.requested,
        };
        match step.what {
            What::Asked { first, octets } => {
                FetchRow { offset_bytes: Some(first), length_bytes: Some(octets), ..blank }
            }
            What::Received { first, octets, late } => {
                FetchRow { offset_bytes: Some(first), length_bytes: Some(octets), late_s: late.as_secs_f64(), ..blank }
            }
            What::Observed { out_of_order, mss } => {
                FetchRow { out_of_order: Some(out_of_order), mss_bytes: Some(mss.get()), ..blank }
            }
            What::Failed => blank,
        }
    }
}

table! {
    /// Events inside TCP endpoints, in order of time. The table is written only if the scenario requests it (`[record]
    /// tcp_events = true`). If a column does not apply to an event, a numeric column is null, and a text column is
    /// empty.
    TcpEventTable of TcpEventRow as "tcp_events" {
        /// Time of the event.
        time_s: f64 [Second "time"],
        /// Name of the host.
        node: Name [Text "node"],
        /// Number of the flow.
        flow: u32 [Label "flow"],
        /// Port of the end that opened the connection. The port and the flow identify the connection at both ends.
        opener_port: u32 [Label "port"],
        /// End of the connection: `sender` or `receiver` of the flow's data.
        end: &'static str [Text "end"],
        /// `state`, `ca_state`, `lost`, `cwnd_reduced`, `undone`, `timer`, `ack_sent`, `limited`, `retransmitted` or
        /// `cc_phase`.
        event: &'static str [Text "event"],
        /// State or phase before the event.
        from: &'static str [Text "from"],
        /// State or phase after the event.
        to: &'static str [Text "to"],
        /// Rule, signal, timer or limit that caused the event.
        reason: &'static str [Text "reason"],
        /// Offset in the stream, in bytes.
        offset_bytes: Option<u64> [Byte "offset"],
        /// Number of bytes.
        length_bytes: Option<u64> [Byte "length"],
        /// Number of segments.
        segments: Option<u64> [Count "segments"],
        /// Acknowledgement number, as on the wire.
        ack: Option<u64> [Label "ack"],
        /// Window before the event.
        cwnd_from_bytes: Option<u64> [Byte "cwnd from"],
        /// Window after the event, or the target of a gradual reduction.
        cwnd_to_bytes: Option<u64> [Byte "cwnd to"],
    }
}

/// All results of a run.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// The seed of the run.
    pub seed: u64,
    /// Duration of the run, in seconds.
    pub duration_s: f64,
    /// A hash of the arrivals and losses of all packets. Equal runs have equal digests.
    pub digest: u64,
    /// Number of events handled, which measures the work done.
    pub events: u64,
    /// The number of cores that the run used; `None` if only one core was requested.
    pub cores: Option<CoresUsed>,
    /// Numbers of packets and bytes that were created, delivered, dropped, and still in the network at the end.
    pub conservation: Conservation,
    /// Summaries of the flows.
    pub flows: FlowTable,
    /// Samples of senders.
    pub samples: SampleTable,
    /// Samples of queues.
    pub queues: QueueTable,
    /// Summaries of the link directions.
    pub links: LinkTable,
    /// Number of completed transfers.
    pub transfers: TransferTable,
    /// Steps of fetches over several connections (`app = { kind = "rdra" }`).
    pub fetches: FetchTable,
    /// Quantities of stages, media and queues.
    pub parts: PartTable,
    /// Dropped packets, by place and reason.
    pub drops: DropTable,
    /// Marked packets, by place and reason.
    pub marks: MarkTable,
    /// Events of packets.
    pub packet_events: EventTable,
    /// Events inside TCP.
    pub tcp_events: TcpEventTable,
}

impl RunResult {
    /// Returns the name and the columns of every table.
    pub fn tables(&self) -> Vec<(&'static str, Vec<(&'static str, Column<'_>)>)> {
        vec![
            ("flows", self.flows.columns()),
            ("samples", self.samples.columns()),
            ("queues", self.queues.columns()),
            ("links", self.links.columns()),
            ("drops", self.drops.columns()),
            ("marks", self.marks.columns()),
            ("transfers", self.transfers.columns()),
            ("fetches", self.fetches.columns()),
            ("parts", self.parts.columns()),
            ("events", self.packet_events.columns()),
            ("tcp_events", self.tcp_events.columns()),
        ]
    }
}

/// Returns the declarations of all tables of a run, the most important first.
pub fn catalogue() -> Vec<TableSpec> {
    vec![
        FlowTable::spec(),
        SampleTable::spec(),
        QueueTable::spec(),
        LinkTable::spec(),
        DropTable::spec(),
        MarkTable::spec(),
        TransferTable::spec(),
        FetchTable::spec(),
        PartTable::spec(),
        EventTable::spec(),
        TcpEventTable::spec(),
    ]
}
