//! Returns the fields of `tcp_info` for the Python blocks of a script.

use super::Runner;
use lopsided_core::Duration;
use lopsided_tcp::{CaState, State};
use std::collections::BTreeMap;

impl Runner {
    pub(super) fn info(&self) -> BTreeMap<&'static str, i64> {
        let mut fields = BTreeMap::new();
        let Some(connection) = &self.connection else { return fields };
        let info = connection.info(self.now);
        let mss = info.snd_mss.get().max(1);
        let counters = info.counters;
        let state = match info.state {
            State::Established => 1,
            State::SynSent => 2,
            State::SynReceived => 3,
            State::FinWait1 => 4,
            State::FinWait2 => 5,
            State::TimeWait => 6,
            State::Closed => 7,
            State::CloseWait => 8,
            State::LastAck => 9,
            State::Listen => 10,
            State::Closing => 11,
        };
        let phase = match info.ca_state {
            CaState::Open => 0,
            CaState::Disorder => 1,
            CaState::Cwr => 2,
            CaState::Recovery => 3,
            CaState::Loss => 4,
        };
        let us = |span: Duration| span.as_micros() as i64;
        let since = self.established.map_or(0, |at| us(self.now.saturating_since(at)));
        for (name, value) in [
            ("tcpi_state", state),
            ("tcpi_ca_state", phase),
            ("tcpi_retransmits", i64::from(info.retransmits)),
            ("tcpi_backoff", i64::from(info.backoff)),
            ("tcpi_rto", us(info.rto)),
            ("tcpi_ato", us(info.ato)),
            ("tcpi_snd_mss", mss as i64),
            ("tcpi_rcv_mss", info.rcv_mss.get() as i64),
            ("tcpi_unacked", i64::from(info.unacked)),
            ("tcpi_sacked", i64::from(info.sacked)),
            ("tcpi_lost", i64::from(info.lost)),
            ("tcpi_retrans", i64::from(info.retrans)),
            ("tcpi_rtt", info.srtt.map_or(0, us)),
            ("tcpi_rttvar", us(info.rttvar)),
            ("tcpi_min_rtt", info.min_rtt.map_or(0, us)),
            ("tcpi_snd_cwnd", (info.snd_cwnd.get() / mss) as i64),
            ("tcpi_snd_ssthresh", info.snd_ssthresh.map_or(0x7fff_ffff, |bytes| (bytes.get() / mss) as i64)),
            ("tcpi_snd_wscale", i64::from(info.snd_wscale)),
            ("tcpi_rcv_wscale", i64::from(info.rcv_wscale)),
            ("tcpi_snd_wnd", info.snd_wnd.get() as i64),
            ("tcpi_rcv_wnd", info.rcv_wnd.get() as i64),
            ("tcpi_rcv_space", info.rcv_space.get() as i64),
            ("tcpi_total_retrans", counters.retransmits as i64),
            ("tcpi_bytes_acked", counters.bytes_acked.get() as i64),
            ("tcpi_bytes_received", counters.bytes_received.get() as i64),
            ("tcpi_bytes_sent", counters.bytes_sent.get() as i64),
            ("tcpi_segs_out", counters.segments_out as i64),
            ("tcpi_segs_in", counters.segments_in as i64),
            ("tcpi_data_segs_out", counters.data_segments_out as i64),
            ("tcpi_data_segs_in", counters.data_segments_in as i64),
            ("tcpi_dsack_dups", counters.dsacks_received as i64),
            ("tcpi_delivered", (info.delivered.get().div_ceil(mss)) as i64),
            ("tcpi_delivered_ce", (counters.bytes_marked.get().div_ceil(mss)) as i64),
            ("tcpi_reordering", i64::from(info.reordering)),
            ("tcpi_reord_seen", i64::from(info.reord_seen)),
            ("tcpi_probes", i64::from(info.probes)),
            ("tcpi_advmss", info.advmss.get() as i64),
            ("tcpi_pmtu", info.pmtu.get() as i64),
            ("tcpi_rcv_ssthresh", info.rcv_ssthresh.get() as i64),
            ("tcpi_rcv_rtt", info.rcv_rtt.map_or(0, us)),
            ("tcpi_notsent_bytes", info.notsent.get() as i64),
            ("tcpi_busy_time", us(info.busy_time)),
            ("tcpi_rwnd_limited", us(info.rwnd_limited)),
            ("tcpi_sndbuf_limited", us(info.sndbuf_limited)),
            ("tcpi_last_data_sent", info.last_data_sent.map_or(0, us) / 1000),
            // Before the first data or ACK, Linux counts from the start of the connection.
            ("tcpi_last_data_recv", info.last_data_recv.map_or_else(|| since, us) / 1000),
            ("tcpi_last_ack_recv", info.last_ack_recv.map_or_else(|| since, us) / 1000),
            ("tcpi_bytes_retrans", counters.bytes_retransmitted.get() as i64),
            (
                "tcpi_options",
                i64::from(info.options.timestamps)
                    | i64::from(info.options.sack) << 1
                    | i64::from(info.options.window_scaling) << 2
                    | i64::from(info.options.ecn) << 3,
            ),
        ] {
            fields.insert(name, value);
        }
        if let Some(counts) = info.accurate_ecn {
            fields.extend([
                ("tcpi_received_ce", counts.received_ce as i64),
                ("tcpi_delivered_ce", counts.delivered_ce as i64),
                ("tcpi_delivered_e0_bytes", i64::from(counts.delivered_ect0_bytes)),
                ("tcpi_delivered_e1_bytes", i64::from(counts.delivered_ect1_bytes)),
                ("tcpi_delivered_ce_bytes", i64::from(counts.delivered_ce_bytes)),
            ]);
        }
        fields
    }
}
