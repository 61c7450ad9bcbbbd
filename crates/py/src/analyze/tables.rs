//! The tables of an analysis: their columns, with names, units and meanings.

use lopsided_sim::table;

table! {
    /// One row for each direction of a TCP connection that carried data. A value that the capture does not show is
    /// null.
    DirectionTable of DirectionRow as "directions" {
        /// Number of the direction in the capture, from 1. Other tables refer to it.
        direction: u64 [Label "direction"],
        /// Number of the connection in the capture, from 1. Both of its directions have this number.
        connection: u64 [Label "connection"],
        /// Address of the sender of the data.
        from: String [Text "from"],
        /// Port of the sender.
        from_port: u32 [Label "port"],
        /// Address of the receiver of the data.
        to: String [Text "to"],
        /// Port of the receiver.
        to_port: u32 [Label "port"],
        /// Where the capture was taken: near the `sender` or the `receiver`, in the `middle`, or `unknown`.
        vantage: &'static str [Text "captured at"],
        /// Endpoint that sent the SYN: `sender` or `receiver` of the data; `unknown` if the capture begins after the
        /// SYN.
        opened_by: &'static str [Text "opened by"],
        /// How the connection ended: `fin`, `rst`, or `open` if the capture ended first.
        ending: &'static str [Text "ending"],
        /// Time of the connection's first packet, since the first packet of the capture.
        start_s: f64 [Second "start"],
        /// Time from the first to the last packet of the connection.
        elapsed_s: f64 [Second "elapsed"],
        /// Number of the connection's first packet in the capture.
        first_packet: u64 [Label "first packet"],
        /// Number of the connection's last packet in the capture.
        last_packet: u64 [Label "last packet"],
        /// Round-trip time of the handshake over the whole path.
        handshake_ms: f64 [Millisecond "handshake"],
        /// The smaller of the MSS options in the two SYNs.
        mss_bytes: Option<u64> [Byte "MSS"],
        /// Options that both SYNs contain, separated by spaces: `sack`, `timestamps`, `window_scale`.
        options: String [Text "options"],
        /// Segments that the sender sent before the first ACK of data.
        initial_window_packets: u64 [Packet "initial window"],
        /// Packets from the sender, with or without data.
        packets: u64 [Count "packets"],
        /// Packets to the sender, with or without data.
        packets_back: u64 [Count "packets back"],
        /// Packets with data, including retransmissions.
        data_packets: u64 [Count "data packets"],
        /// Payload sent, including retransmissions.
        data_bytes: u64 [Byte "data"],
        /// Payload that the receiver acknowledged.
        acked_bytes: u64 [Byte "acked"],
        /// Acknowledged payload divided by the time from the first data packet to the last ACK of new data.
        goodput_bps: f64 [BitPerSecond "goodput"],
        /// Time from the first to the last data packet.
        sending_s: f64 [Second "sending"],
        /// `yes` if the capture contains packets larger than the MSS, because the host or its network card splits or
        /// merges segments (TSO, GRO).
        offload: &'static str [Text "offload"],
        /// Packets whose data begins below the highest sequence number seen.
        retransmitted_packets: u64 [Count "retransmitted packets"],
        /// Payload of the retransmitted packets.
        retransmitted_bytes: u64 [Byte "retransmitted"],
        /// Packets retransmitted although the receiver had their data, as an ACK, SACK or DSACK shows.
        spurious_packets: u64 [Count "spurious"],
        /// Packets that fill a hole in the captured data. Their first copy was lost before the point of capture, or
        /// arrived late.
        filled_holes: u64 [Count "holes filled"],
        /// Loss recoveries that were started by duplicate ACKs or SACK.
        recoveries: u64 [Count "recoveries"],
        /// Retransmission timeouts.
        timeouts: u64 [Count "timeouts"],
        /// The reason why slow start ended: `loss`, `delay` or `receive_window`; empty if slow start did not end.
        slow_start_end: &'static str [Text "slow start ended by"],
        /// Data packets that are marked CE.
        marked_packets: u64 [Count "CE marks"],
        /// ACKs with the ECE flag.
        echoed_marks: u64 [Count "echoed marks"],
        /// Number of RTT samples between the point of capture and the receiver. Retransmitted segments produce no
        /// sample (Karn's rule).
        rtt_count: u64 [Count "RTT samples"],
        /// Mean round trip from the point of capture to the receiver.
        rtt_mean_ms: f64 [Millisecond "RTT mean"],
        /// Standard deviation of the round trip from the point of capture to the receiver.
        rtt_std_ms: f64 [Millisecond "RTT std"],
        /// Shortest round trip from the point of capture to the receiver.
        rtt_min_ms: f64 [Millisecond "RTT min"],
        /// Longest round trip from the point of capture to the receiver.
        rtt_max_ms: f64 [Millisecond "RTT max"],
        /// Median round trip from the point of capture to the receiver.
        rtt_p50_ms: f64 [Millisecond "RTT p50"],
        /// 95th percentile of the round trip from the point of capture to the receiver.
        rtt_p95_ms: f64 [Millisecond "RTT p95"],
        /// Shortest round trip from the point of capture to the sender.
        near_rtt_min_ms: f64 [Millisecond "RTT to sender"],
        /// Shortest round-trip time of the whole path.
        rtt_floor_ms: f64 [Millisecond "RTT floor"],
        /// Median queueing delay of data.
        data_wait_p50_ms: f64 [Millisecond "data wait"],
        /// 95th percentile of the queueing delay of data.
        data_wait_p95_ms: f64 [Millisecond "data wait 95 %"],
        /// Median queueing delay of ACKs.
        ack_wait_p50_ms: f64 [Millisecond "ACK wait"],
        /// 95th percentile of the queueing delay of ACKs.
        ack_wait_p95_ms: f64 [Millisecond "ACK wait 95 %"],
        /// Largest amount of unacknowledged data, as seen by the sender.
        outstanding_max_bytes: u64 [Byte "outstanding max"],
        /// Smallest window that the receiver advertised.
        window_min_bytes: u64 [Byte "window min"],
        /// Largest window that the receiver advertised.
        window_max_bytes: u64 [Byte "window max"],
        /// Pure ACKs from the receiver.
        acks: u64 [Count "ACKs"],
        /// Number of pure ACKs divided by the number of data packets.
        ack_ratio: f64 [Number "ACK ratio"],
        /// Median number of bytes that an ACK newly acknowledges, outside loss recovery.
        ack_bytes_p50_bytes: f64 [Byte "octets per ACK"],
        /// 95th percentile of the number of bytes that an ACK newly acknowledges, outside loss recovery.
        ack_bytes_p95_bytes: f64 [Byte "octets per ACK 95 %"],
        /// Share of ACKs that cover more than two segments.
        stretch_share: f64 [Share "stretch ACKs"],
        /// Share of ACKs that acknowledge data at more than twice the rate of the data's bottleneck.
        compressed_share: f64 [Share "compressed ACKs"],
        /// Interval between bursts of ACKs; null unless most ACKs arrive in bursts at a regular interval.
        batching_ms: f64 [Millisecond "ACK batches every"],
        /// The reason why there are few ACKs: `receiver` (delays or merges ACKs), `network` (drops ACKs) or `unknown`;
        /// `none` if there are enough.
        ack_thinning: &'static str [Text "ACK thinning"],
        /// ACKs that arrived after an ACK with a higher acknowledgement number.
        reordered_acks: u64 [Count "ACKs reordered"],
        /// Share of the capacity of the ACKs' bottleneck that the ACKs use.
        ack_uplink_share: f64 [Share "ACKs of uplink"],
        /// The limit that applied for the largest share of the time.
        limited_by: &'static str [Text "limited by"],
        /// Share of the sending time in which the application had nothing to send.
        limited_application: f64 [Share "by application"],
        /// Share of the sending time in which the receiver's window was full.
        limited_receive_window: f64 [Share "by receive window"],
        /// Share of the sending time in which the congestion window was full, in slow start.
        limited_slow_start: f64 [Share "by slow start"],
        /// Share of the sending time in which the congestion window was full, after slow start.
        limited_avoidance: f64 [Share "by congestion avoidance"],
        /// Share of the sending time in which the sender recovered from losses.
        limited_recovery: f64 [Share "by recovery"],
        /// Share of the sending time in which pacing limited the sender.
        limited_pacing: f64 [Share "by pacing"],
        /// Share of the sending time in which the congestion window was full because ACKs had a longer queueing delay
        /// than data.
        limited_ack_path: f64 [Share "by ACK path"],
        /// Share of the sending time in which no packet was sent until the retransmission timer expired.
        limited_rto_idle: f64 [Share "by RTO idle"],
        /// Share of the sending time in which the receiver's window was smaller than a segment.
        limited_receiver_stall: f64 [Share "by receiver stall"],
        /// Bit rate of the data's bottleneck, including IP headers, measured over all connections of the host.
        data_rate_bps: f64 [BitPerSecond "data line"],
        /// Buffer of the data's bottleneck, as the queueing delay of a full buffer; null if the buffer was never full.
        data_buffer_ms: f64 [Millisecond "data buffer"],
        /// Buffer of the data's bottleneck in bytes; null if the buffer was never full.
        data_buffer_bytes: f64 [Byte "data buffer"],
        /// Longest queueing delay of data, which is a lower bound for the buffer.
        data_longest_wait_ms: f64 [Millisecond "longest data wait"],
        /// How the data's bottleneck treats packets that exceed its capacity: `drop_tail`, `aqm`, `policer` or
        /// `unknown`.
        data_discipline: &'static str [Text "discipline"],
        /// Rate of the ACKs' bottleneck; null if it was never busy.
        ack_rate_bps: f64 [BitPerSecond "ACK line"],
        /// Longest queueing delay of ACKs, which is a lower bound for the buffer of their bottleneck.
        ack_longest_wait_ms: f64 [Millisecond "longest ACK wait"],
        /// Congestion control that the sender probably uses, or `unknown`.
        cc: &'static str [Text "CC"],
        /// Probability of the named congestion control.
        cc_probability: f64 [Share "CC probability"],
        /// Median, over all losses, of the data in flight after the loss divided by the data in flight before it.
        reduction: f64 [Number "reduction"],
    }
}

table! {
    /// Each direction over time, with one row per interval. All intervals of a direction have the same length.
    TimelineTable of TimelineRow as "timeline" {
        /// The direction, as in the table of directions.
        direction: u64 [Label "direction"],
        /// Start of the interval, since the first packet of the capture.
        time_s: f64 [Second "time"],
        /// Length of the interval.
        width_s: f64 [Second "width"],
        /// Number of the first data packet or ACK in the interval; 0 without packets.
        first_packet: u64 [Label "first packet"],
        /// Number of the last data packet or ACK in the interval; 0 without packets.
        last_packet: u64 [Label "last packet"],
        /// The limit that applied for the longest time in the interval; empty outside the transfer.
        limit: &'static str [Text "limit"],
        /// Share of the interval's attributed time in which this limit applied.
        confidence: f64 [Share "confidence"],
        /// Payload sent, including retransmissions.
        sent_bytes: u64 [Byte "sent"],
        /// Payload newly acknowledged.
        acked_bytes: u64 [Byte "acked"],
        /// Acknowledged payload divided by the length of the interval.
        goodput_bps: f64 [BitPerSecond "goodput"],
        /// Retransmitted packets.
        retransmitted_packets: u64 [Count "retransmitted packets"],
        /// Pure ACKs.
        acks: u64 [Count "ACKs"],
        /// Mean round-trip time of the whole path.
        rtt_mean_ms: f64 [Millisecond "RTT mean"],
        /// Longest round-trip time of the whole path.
        rtt_max_ms: f64 [Millisecond "RTT max"],
        /// Mean queueing delay of data.
        data_wait_ms: f64 [Millisecond "data wait"],
        /// Mean queueing delay of ACKs.
        ack_wait_ms: f64 [Millisecond "ACK wait"],
        /// Largest amount of unacknowledged data, as seen by the sender.
        outstanding_max_bytes: u64 [Byte "outstanding max"],
        /// Smallest window that the receiver advertised.
        window_bytes: Option<u64> [Byte "window"],
    }
}

table! {
    /// Points of time-sequence diagrams, reduced to at most 4,000 of each kind and direction.
    PointTable of PointRow as "points" {
        /// The direction, as in the table of directions.
        direction: u64 [Label "direction"],
        /// `data`, `retransmission`, `ack` or `sack`.
        kind: &'static str [Text "kind"],
        /// Time since the first packet of the capture.
        time_s: f64 [Second "time"],
        /// Start in the data stream. For an ACK: the amount of data acknowledged.
        start_bytes: u64 [Byte "from"],
        /// End in the data stream. For an ACK: the end of the receiver's window.
        end_bytes: u64 [Byte "to"],
        /// Number of the packet in the capture.
        packet: u64 [Label "packet"],
    }
}

table! {
    /// Two captures of the same flows: one row for each direction that both captures contain.
    BetweenTable of BetweenRow as "between" {
        /// Address of the sender.
        from: String [Text "from"],
        /// Port of the sender.
        from_port: u32 [Label "port"],
        /// Address of the receiver.
        to: String [Text "to"],
        /// Port of the receiver.
        to_port: u32 [Label "port"],
        /// The capture through whose point the packets pass first: 1 or 2.
        first: u64 [Label "first point"],
        /// Packets in the first capture.
        packets_1: u64 [Count "packets in 1"],
        /// Packets in the second capture.
        packets_2: u64 [Count "packets in 2"],
        /// Packets that are in both captures.
        packets_both: u64 [Count "in both"],
        /// Packets that passed the first point of capture but not the second.
        lost_packets: u64 [Count "lost between"],
        /// Shortest delay between the two points. It is assumed to be equal in both directions.
        delay_min_ms: f64 [Millisecond "delay min"],
        /// Median delay between the two points.
        delay_p50_ms: f64 [Millisecond "delay p50"],
        /// 95th percentile of the delay between the two points.
        delay_p95_ms: f64 [Millisecond "delay p95"],
        /// Longest delay between the two points.
        delay_max_ms: f64 [Millisecond "delay max"],
    }
}

table! {
    /// The packets of two captures, ordered by time on a common clock.
    PassageTable of PassageRow as "passages" {
        /// Row of the packet's direction in the table `between`, from 1.
        way: u64 [Label "direction"],
        /// Time at the first capture, measured from the first packet of the first capture. If the first capture lacks
        /// the packet, the converted time at the second capture.
        time_s: f64 [Second "time"],
        /// Number of the packet in the first capture; null if the packet is missing there.
        packet_1: Option<u64> [Label "packet in 1"],
        /// Number of the packet in the second capture; null if the packet is missing there.
        packet_2: Option<u64> [Label "packet in 2"],
        /// Delay between the two points; null if the packet is missing in one capture.
        delay_ms: f64 [Millisecond "delay"],
    }
}
