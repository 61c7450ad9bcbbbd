//! What a run gives back: tables of columns, the digest and the audit.

use crate::cores::CoresUsed;
use crate::table;
use crate::{Column, Name, TableSpec};
use lopsided_core::{Bytes, Conservation};
use lopsided_rdra::{Loss, Step, What};

table! {
    /// One row for each flow, in the scenario's order.
    FlowTable of FlowRow as "flows" {
        /// Its number in other tables.
        flow: u32 [Label "flow"],
        /// Its name in the scenario.
        name: String [Text "flow"],
        /// The name before `count` multiplied it.
        group: Name [Text "group"],
        /// `down`: towards the client; `up`: away from it; empty where the path crosses links both ways.
        direction: &'static str [Text "direction"],
        /// The sending host.
        from: Name [Text "from"],
        /// The receiving host.
        to: Name [Text "to"],
        /// Congestion control of the sender.
        cc: Name [Text "CC"],
        /// Stack profile of the sender.
        profile: Name [Text "stack"],
        /// When the application began: the scenario's start and the jitter drawn for this seed.
        start_s: f64 [Second "start"],
        /// When it was told to stop, at the latest the end of the run.
        stop_s: f64 [Second "stop"],
        /// How long it had something to send: to `stop_s`, or the sum of its transfers' times.
        active_s: f64 [Second "active"],
        /// Payload handed to the network, retransmissions included (of UDP: IP octets).
        sent_bytes: u64 [Byte "sent"],
        /// Payload that the peer acknowledged.
        acked_bytes: u64 [Byte "acked"],
        /// Payload that the receiving application read (of UDP: IP octets received).
        delivered_bytes: u64 [Byte "delivered"],
        /// `delivered_bytes` over `active_s`.
        goodput_bps: f64 [BitPerSecond "goodput"],
        /// Segments with data that were sent, retransmissions included (`tcpi_data_segs_out`); of UDP datagrams.
        data_segments_out: u64 [Count "data segments out"],
        /// Segments with data that arrived (`tcpi_data_segs_in` of the receiver); of UDP datagrams.
        data_segments_in: u64 [Count "data segments in"],
        /// Segments that were retransmitted, SYNs too (`tcpi_total_retrans`).
        retransmits: u64 [Count "retransmits"],
        /// Retransmission timeouts (RFC 6298), a SYN's too.
        timeouts: u64 [Count "timeouts"],
        /// Times that fast recovery began (RFC 5681).
        fast_retransmits: u64 [Count "fast retransmits"],
        /// Window reductions because the host's own interface had no room.
        local_congestion: u64 [Count "local congestion"],
        /// Tail loss probes sent (RFC 8985).
        tail_probes: u64 [Count "tail probes"],
        /// Window reductions taken back because the retransmission was not needed.
        undos: u64 [Count "undos"],
        /// Round trips that were timed: single packets, from the sending of data to the cumulative ACK that covers it,
        /// without those sent twice; of UDP the one-way times.
        rtt_count: u64 [Count "RTT samples"],
        /// Mean of the round trips.
        rtt_mean_ms: f64 [Millisecond "RTT mean"],
        /// Their standard deviation.
        rtt_std_ms: f64 [Millisecond "RTT std"],
        /// The shortest.
        rtt_min_ms: f64 [Millisecond "RTT min"],
        /// Their median.
        rtt_p50_ms: f64 [Millisecond "RTT 50 %"],
        /// Their 95th percentile.
        rtt_p95_ms: f64 [Millisecond "RTT 95 %"],
        /// The longest.
        rtt_max_ms: f64 [Millisecond "RTT max"],
        /// The smoothed RTT at the end (RFC 6298).
        srtt_ms: f64 [Millisecond "SRTT"],
        /// Congestion window, mean over the time from the first connection's start to the end of the last.
        cwnd_mean_bytes: f64 [Byte "cwnd mean"],
        /// The largest congestion window.
        cwnd_max_bytes: Option<u64> [Byte "cwnd max"],
        /// Transfers completed.
        transfers: u64 [Count "transfers"],
        /// Mean time from the start of a transfer to its last octet's delivery.
        completion_s: f64 [Second "completion mean"],
        /// The longest such time.
        completion_max_s: f64 [Second "completion max"],
        /// Datagrams of a UDP flow that were sent and had not arrived by the end of the run.
        lost_packets: u64 [Count "lost"],
    }
}

table! {
    /// The senders' state at each sampling instant, and at each change where the scenario asks for it.
    SampleTable of SampleRow as "samples" {
        /// When.
        time_s: f64 [Second "time"],
        /// The flow's number.
        flow: u32 [Label "flow"],
        /// The congestion state: `open`, `disorder`, `cwr`, `recovery`, `loss`; `closed` without a connection.
        state: &'static str [Text "state"],
        /// Congestion window.
        cwnd_bytes: u64 [Byte "cwnd"],
        /// Slow-start threshold; null: not yet set.
        ssthresh_bytes: f64 [Byte "ssthresh"],
        /// Smoothed RTT (RFC 6298).
        srtt_ms: f64 [Millisecond "SRTT"],
        /// Its variation.
        rttvar_ms: f64 [Millisecond "RTTVAR"],
        /// Retransmission timeout.
        rto_ms: f64 [Millisecond "RTO"],
        /// Payload sent and neither acknowledged nor taken for lost.
        in_flight_bytes: u64 [Byte "in flight"],
        /// The peer's receive window.
        snd_wnd_bytes: u64 [Byte "send window"],
        /// The space that the receiver's autotuning provides for.
        rcv_space_bytes: u64 [Byte "receive space"],
        /// Since the flow began: payload handed to the network.
        sent_bytes: u64 [Byte "sent"],
        /// Since the flow began: payload acknowledged.
        acked_bytes: u64 [Byte "acked"],
        /// Since the flow began: payload that the receiving application read.
        delivered_bytes: u64 [Byte "delivered"],
        /// Since the flow began: segments retransmitted.
        retransmits: u64 [Count "retransmits"],
        /// Round trips of single packets that were timed in the interval just ended.
        rtt_count: u64 [Count "RTT samples"],
        /// Their sum.
        rtt_sum_ms: f64 [Millisecond "RTT sum"],
        /// The sum of their squares.
        rtt_sumsq_ms2: f64 [SquareMillisecond "RTT sum of squares"],
        /// The shortest of the interval.
        rtt_min_ms: f64 [Millisecond "RTT min"],
        /// The longest of the interval.
        rtt_max_ms: f64 [Millisecond "RTT max"],
    }
}

table! {
    /// Every queue at each sampling instant.
    QueueTable of QueueRow as "queues" {
        /// When.
        time_s: f64 [Second "time"],
        /// The link's name.
        link: Name [Text "link"],
        /// `down`: towards the client; `up`: away from it.
        direction: &'static str [Text "direction"],
        /// Packets in the queue.
        backlog_packets: u32 [Packet "backlog"],
        /// Their octets.
        backlog_bytes: u64 [Byte "backlog"],
        /// Since the beginning: packets that came, taken in or not.
        arrived_packets: u64 [Count "arrived"],
        /// Since the beginning: packets that the queue dropped.
        dropped_packets: u64 [Count "dropped"],
        /// Since the beginning: ACKs that a filter removed, as later ones say what they say.
        filtered_packets: u64 [Count "filtered"],
        /// Since the beginning: packets that the queue marked as having experienced congestion (ECN).
        marked_packets: u64 [Count "marked"],
        /// Since the beginning: packets that left for the line.
        sent_packets: u64 [Count "sent"],
        /// Since the beginning: their octets.
        sent_bytes: u64 [Byte "sent"],
        /// Mean time in the queue, of the packets that left it in the interval just ended.
        sojourn_mean_ms: f64 [Millisecond "sojourn mean"],
        /// The longest of them.
        sojourn_max_ms: f64 [Millisecond "sojourn max"],
    }
}

table! {
    /// One row for each direction of each link, over the whole run.
    LinkTable of LinkRow as "links" {
        /// Its name in the scenario.
        link: Name [Text "link"],
        /// `down`: towards the client; `up`: away from it.
        direction: &'static str [Text "direction"],
        /// Of the serializer or shaper; null: infinitely fast.
        rate_bps: f64 [BitPerSecond "rate"],
        /// Share of the rate that was used; null without a rate.
        utilisation: f64 [Share "utilization"],
        /// Packets in the queue, mean over time.
        mean_backlog_packets: f64 [Packet "backlog mean"],
        /// The most packets in the queue.
        max_backlog_packets: u32 [Packet "backlog max"],
        /// Octets in the queue, mean over time.
        mean_backlog_bytes: f64 [Byte "backlog mean"],
        /// The most octets in the queue.
        max_backlog_bytes: u64 [Byte "backlog max"],
        /// Packets that came, taken in by the queue or not.
        arrived_packets: u64 [Count "arrived"],
        /// Packets that left the queue for the line.
        sent_packets: u64 [Count "sent"],
        /// Their octets.
        sent_bytes: u64 [Byte "sent"],
        /// Packets that the queue dropped; the table `drops` has the reasons.
        dropped_packets: u64 [Count "dropped"],
        /// ACKs that a filter removed from the queue, as later ones say what they say.
        filtered_packets: u64 [Count "filtered"],
        /// Packets that the queue marked as having experienced congestion (ECN); the table `marks` has the reasons.
        marked_packets: u64 [Count "marked"],
        /// Packets lost on the medium.
        lost_packets: u64 [Count "lost"],
        /// Mean time in the queue.
        sojourn_mean_ms: f64 [Millisecond "sojourn mean"],
        /// Its median.
        sojourn_p50_ms: f64 [Millisecond "sojourn 50 %"],
        /// Its 95th percentile.
        sojourn_p95_ms: f64 [Millisecond "sojourn 95 %"],
        /// The longest time in the queue.
        sojourn_max_ms: f64 [Millisecond "sojourn max"],
    }
}

table! {
    /// What was lost where and why, over the whole run: one row for each place and reason that occurred.
    DropTable of DropRow as "drops" {
        /// The link, host, router or middlebox.
        node: Name [Text "node"],
        /// Of a link, or a middlebox in it; otherwise empty.
        direction: &'static str [Text "direction"],
        /// Why.
        reason: &'static str [Text "reason"],
        /// Packets lost.
        packets: u64 [Count "packets"],
        /// Octets of their IP packets.
        bytes: u64 [Byte "bytes"],
    }
}

table! {
    /// What was marked as having experienced congestion (ECN), where and why, over the whole run.
    MarkTable of MarkRow as "marks" {
        /// The link.
        node: Name [Text "node"],
        /// Of the link.
        direction: &'static str [Text "direction"],
        /// Which rule of the discipline marked.
        reason: &'static str [Text "reason"],
        /// Packets marked.
        packets: u64 [Count "packets"],
        /// Octets of their IP packets.
        bytes: u64 [Byte "bytes"],
    }
}

table! {
    /// What parts of nodes counted and measured: stages and media at each sampling instant and at the end of the run,
    /// inner quantities of queues at each sampling instant, their classes at the end.
    PartTable of PartRow as "parts" {
        /// When.
        time_s: f64 [Second "time"],
        /// The stage, medium or link.
        node: Name [Text "node"],
        /// Of a link, or a stage in it; otherwise empty.
        direction: &'static str [Text "direction"],
        /// The class within a queue (a band, a flow) or a medium (a station); otherwise empty.
        part: Name [Text "part"],
        /// Which quantity, with its unit at the end; the part's documentation says more.
        quantity: Name [Text "quantity"],
        /// Its value then; counts run from the beginning.
        value: f64 [Number "value"],
    }
}

table! {
    /// Each completed transfer of the flows that make them; only where samples are recorded.
    TransferTable of TransferRow as "transfers" {
        /// The flow's number.
        flow: u32 [Label "flow"],
        /// `transfer`; `fetch` of one in ranges; of a web flow `page`, and its parts `connect`, `index` and `object`.
        what: &'static str [Text "what"],
        /// When it began.
        start_s: f64 [Second "start"],
        /// From its start to its last octet's delivery.
        completion_s: f64 [Second "completion"],
        /// Its payload.
        size_bytes: u64 [Byte "size"],
    }
}

table! {
    /// Everything that happened to every packet, by time; only where the scenario asks for it (`[record] events =
    /// true`). A number that an event does not have is zero or null, a word empty.
    EventTable of EventRow as "events" {
        /// When.
        time_s: f64 [Second "time"],
        /// The host, router, link or middlebox.
        node: Name [Text "node"],
        /// Of a link, or a middlebox in it; otherwise empty.
        direction: &'static str [Text "direction"],
        /// `sent`, `received`, `enqueued`, `dequeued`, `marked`, `dropped`, `rewritten` or `absorbed`.
        event: &'static str [Text "event"],
        /// The flow's number.
        flow: u32 [Label "flow"],
        /// The packet's number, the same at every node.
        packet: u64 [Label "packet"],
        /// `tcp`, `udp` or `other`.
        protocol: &'static str [Text "protocol"],
        /// Sequence number, as on the wire.
        seq: u32 [Label "seq"],
        /// Acknowledgement number, as on the wire.
        ack: u32 [Label "ack"],
        /// The TCP flags, bit for bit.
        flags: u32 [Label "flags"],
        /// Octets of payload.
        payload_bytes: u32 [Byte "payload"],
        /// Octets of the IP packet.
        size_bytes: u32 [Byte "size"],
        /// The ECN bits of the IP header.
        ecn: u32 [Label "ECN"],
        /// Packets in the queue, after the event.
        backlog_packets: u32 [Packet "backlog"],
        /// How long it was in the queue.
        sojourn_ms: f64 [Millisecond "sojourn"],
        /// Why it was dropped or marked.
        reason: &'static str [Text "reason"],
    }
}

table! {
    /// Each step of the controllers of fetches over several connections, by time; only where the scenario asks for it
    /// (`app = { kind = "rdra", record_steps = true }`). A number that a step does not have is null, a word empty.
    FetchTable of FetchRow as "fetches" {
        /// When.
        time_s: f64 [Second "time"],
        /// The flow's number.
        flow: u32 [Label "flow"],
        /// The stream's number.
        stream: u32 [Label "stream"],
        /// `asked`: a request went out; `received`: octets came; `observed`: the connection told of segments out of
        /// order or of its segment size; `failed`: the connection was gone.
        step: &'static str [Text "step"],
        /// Where in the object: octets before it.
        offset_bytes: Option<u64> [Byte "offset"],
        /// How many octets.
        length_bytes: Option<u64> [Byte "length"],
        /// How long before its step the data had come.
        late_s: f64 [Second "late"],
        /// Segments out of order since the connection began.
        out_of_order: Option<u64> [Count "out of order"],
        /// The connection's segment size.
        mss_bytes: Option<u64> [Byte "MSS"],
        /// What a loss was taken for that the step showed: `channel`, or congestion, for a queue stood (`queue`), for
        /// holes on several streams (`together`), for each hole is (`every`), or of the last reduction still
        /// (`answered`).
        loss: &'static str [Text "loss"],
        /// The window of the one sender that the streams are to be, after the step; null where nothing limits them.
        window_bytes: Option<u64> [Byte "window"],
        /// Asked for and not received, over all streams, after the step.
        requested_bytes: u64 [Byte "requested"],
    }
}

impl FetchRow {
    /// A step as a row of `fetches`.
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
    /// What happened inside TCP's endpoints, by time; only where the scenario asks for it (`[record] tcp_events =
    /// true`). A number that an event does not have is null, a word empty.
    TcpEventTable of TcpEventRow as "tcp_events" {
        /// When.
        time_s: f64 [Second "time"],
        /// The host.
        node: Name [Text "node"],
        /// The flow's number.
        flow: u32 [Label "flow"],
        /// The port of the end that opened the connection: with the flow it names the connection at both ends.
        opener_port: u32 [Label "port"],
        /// `sender` or `receiver` of the flow's data.
        end: &'static str [Text "end"],
        /// `state`, `ca_state`, `lost`, `cwnd_reduced`, `undone`, `timer`, `ack_sent`, `limited`, `retransmitted` or
        /// `cc_phase`.
        event: &'static str [Text "event"],
        /// The state or phase before.
        from: &'static str [Text "from"],
        /// The state or phase after.
        to: &'static str [Text "to"],
        /// Why: the rule, signal, timer or limit.
        reason: &'static str [Text "reason"],
        /// Where in the stream: octets before it.
        offset_bytes: Option<u64> [Byte "offset"],
        /// How many octets.
        length_bytes: Option<u64> [Byte "length"],
        /// How many segments.
        segments: Option<u64> [Count "segments"],
        /// The acknowledgement number, as on the wire.
        ack: Option<u64> [Label "ack"],
        /// The window before.
        cwnd_from_bytes: Option<u64> [Byte "cwnd from"],
        /// The window after, or the target that it is led down to.
        cwnd_to_bytes: Option<u64> [Byte "cwnd to"],
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
    /// Of a run that several cores were offered: what became of it.
    pub cores: Option<CoresUsed>,
    /// Where all packets came to be.
    pub conservation: Conservation,
    pub flows: FlowTable,
    pub samples: SampleTable,
    pub queues: QueueTable,
    pub links: LinkTable,
    pub transfers: TransferTable,
    pub fetches: FetchTable,
    pub parts: PartTable,
    pub drops: DropTable,
    pub marks: MarkTable,
    pub packet_events: EventTable,
    pub tcp_events: TcpEventTable,
}

impl RunResult {
    /// Every table's name and columns.
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

/// Every table of a run as it was declared, in the order in which people ask for them.
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
