//! Computes the table rows of a flow: its samples, and its summary at the end of the run.

use crate::catalogue::Name;
use crate::host::{DatagramCounts, Host};
use crate::meter::{DelayStats, Moments, TimeWeightedGauge, TransferStats};
use crate::results::{FlowRow, FlowTable, SampleRow};
use crate::simulation::{AppSite, FlowSite, Simulation};
use lopsided_app::TransferConfig;
use lopsided_core::{Dir, Duration, Time};
use lopsided_net::Network;
use lopsided_scenario::{FlowSpec, Scenario};
use lopsided_tcp::Counters;
use std::collections::{BTreeMap, BTreeSet};

/// The fields of a sample whose changes trigger a new row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ChangeKey {
    state: &'static str,
    cwnd_bytes: u64,
    /// The bits of the slow-start threshold, because NaN must compare equal to NaN.
    ssthresh: u64,
}

impl ChangeKey {
    /// The key of a flow without a connection.
    pub const CLOSED: ChangeKey = ChangeKey { state: "closed", cwnd_bytes: 0, ssthresh: f64::NAN.to_bits() };
}

impl From<&SampleRow> for ChangeKey {
    fn from(row: &SampleRow) -> ChangeKey {
        ChangeKey { state: row.state, cwnd_bytes: row.cwnd_bytes, ssthresh: row.ssthresh_bytes.to_bits() }
    }
}

/// Returns a sample of the flow. `rtt` contains the RTTs of the sampling interval that ends now; `None` if no interval
/// ends now.
pub(crate) fn sample(flow: usize, site: &FlowSite, network: &Network<Host>, rtt: Option<Moments>) -> SampleRow {
    let now = network.now();
    let delivered = delivered(network, site);
    let rtt = rtt.unwrap_or_default();
    let row = SampleRow {
        time_s: now.as_secs_f64(),
        flow: flow as u32,
        state: "closed",
        cwnd_bytes: 0,
        ssthresh_bytes: f64::NAN,
        srtt_ms: f64::NAN,
        rttvar_ms: f64::NAN,
        rto_ms: f64::NAN,
        in_flight_bytes: 0,
        snd_wnd_bytes: 0,
        rcv_space_bytes: site.sink.map_or(0, |sink| receive_space(network, sink)),
        sent_bytes: 0,
        acked_bytes: 0,
        delivered_bytes: delivered.bytes,
        retransmits: 0,
        rtt_count: rtt.count,
        rtt_sum_ms: rtt.sum,
        rtt_sumsq_ms2: rtt.sum_of_squares,
        rtt_min_ms: rtt.least(),
        rtt_max_ms: rtt.greatest(),
    };
    // The state of a sender outside the simulation is unknown.
    let Some(source) = site.source else { return row };
    let host = network.host(source.host);
    if site.datagrams {
        let sent_bytes = host.flow_meter(source.app).datagrams().bytes_sent.get();
        return SampleRow { state: "udp", sent_bytes, ..row };
    }
    with_connections(row, host, source.app, now)
}

/// Adds the state of the connections. Counters and windows are sums; all other values belong to the oldest connection.
fn with_connections(row: SampleRow, host: &Host, app: usize, now: Time) -> SampleRow {
    let infos = host.infos(app, now);
    let counters = host.total(app, now);
    let row = SampleRow {
        sent_bytes: counters.bytes_sent.get(),
        acked_bytes: counters.bytes_acked.get(),
        retransmits: counters.retransmits,
        ..row
    };
    // After all connections have closed, only the counters have values.
    let Some(oldest) = infos.first() else { return row };
    SampleRow {
        state: oldest.state,
        cwnd_bytes: infos.iter().map(|info| info.cwnd.get()).sum(),
        ssthresh_bytes: oldest.ssthresh.map_or(f64::NAN, |ssthresh| ssthresh.get() as f64),
        srtt_ms: oldest.srtt.map_or(f64::NAN, Duration::as_millis_f64),
        rttvar_ms: oldest.rttvar.as_millis_f64(),
        rto_ms: oldest.rto.as_millis_f64(),
        in_flight_bytes: infos.iter().map(|info| info.in_flight.get()).sum(),
        snd_wnd_bytes: infos.iter().map(|info| info.snd_wnd.get()).sum(),
        ..row
    }
}

/// Returns the payload that the receiving application read in the last round trip, summed over its connections.
fn receive_space(network: &Network<Host>, sink: AppSite) -> u64 {
    let infos = network.host(sink.host).infos(sink.app, network.now());
    infos.iter().map(|info| info.rcv_space.get()).sum()
}

/// Data that reached the receiving application. All values are 0 if the application is outside of the simulation.
#[derive(Default)]
struct Delivered {
    bytes: u64,
    packets: u64,
}

fn delivered(network: &Network<Host>, site: &FlowSite) -> Delivered {
    let Some(AppSite { host, app }) = site.sink else { return Delivered::default() };
    let now = network.now();
    let host = network.host(host);
    let meter = host.flow_meter(app);
    let packets = if site.datagrams { meter.datagrams().received } else { host.data_segments_in(app, now) };
    Delivered { bytes: meter.delivered_bytes, packets }
}

/// Returns the summaries of all flows.
pub(crate) fn table(
    scenario: &Scenario,
    simulation: &Simulation,
    tallies: &BTreeMap<usize, TransferStats>,
) -> FlowTable {
    let mut table = FlowTable::with_capacity(scenario.flows.len());
    let (mut words, none) = (Words::default(), TransferStats::default());
    for (flow, spec) in scenario.flows.iter().enumerate() {
        table.push(row(flow, spec, &mut words, simulation, tallies.get(&flow).unwrap_or(&none)));
    }
    table
}

/// Cache of names that many rows share.
#[derive(Default)]
struct Words(BTreeSet<Name>);

impl Words {
    fn get(&mut self, word: &str) -> Name {
        if let Some(known) = self.0.get(word) {
            return known.clone();
        }
        let new = Name::from(word);
        self.0.insert(new.clone());
        new
    }
}

fn row(flow: usize, spec: &FlowSpec, words: &mut Words, simulation: &Simulation, tally: &TransferStats) -> FlowRow {
    let (network, site) = (&simulation.network, &simulation.flows[flow]);
    let (sent, delivered) = (sent(network, site), delivered(network, site));
    // The receiver measures one-way delays, and the sender measures round-trip times.
    let measured_at = if site.datagrams { site.sink } else { site.source };
    let nothing = DelayStats::default();
    let path = measured_at.and_then(|at| network.host(at.host).flow_meter(at.app).path.as_deref());
    let delays = path.map_or(&nothing, |path| &path.rtt);
    let rtt = delays.all();
    // If the caller controls the clock, the run may end before the flow's stop time.
    let stop = site.stop.min(network.now());
    let active_s = match spec.app.get::<TransferConfig>() {
        // A flow of transfers is active only during its transfers.
        Some(_) => {
            let running = tally.running_since.map_or(Duration::ZERO, |since| network.now().saturating_since(since));
            tally.done.sum + running.as_secs_f64()
        }
        None => stop.saturating_since(site.start).as_secs_f64(),
    };
    let udp = site.datagrams;
    FlowRow {
        flow: flow as u32,
        name: spec.name.clone(),
        group: words.get(&spec.group),
        direction: spec.direction.map_or("", Dir::name),
        from: simulation.host_name(spec.from),
        to: simulation.host_name(spec.to),
        cc: words.get(if udp { "" } else { &spec.from_stack.cc }),
        profile: words.get(match (udp, spec.transport.is_tcp()) {
            (true, _) => "udp",
            (false, true) => &spec.from_stack.profile,
            (false, false) => spec.transport.kind(),
        }),
        start_s: site.start.as_secs_f64(),
        stop_s: stop.as_secs_f64(),
        active_s,
        sent_bytes: sent.counters.bytes_sent.get(),
        acked_bytes: sent.counters.bytes_acked.get(),
        delivered_bytes: delivered.bytes,
        goodput_bps: if active_s > 0.0 { 8.0 * delivered.bytes as f64 / active_s } else { 0.0 },
        data_segments_out: sent.counters.data_segments_out,
        data_segments_in: delivered.packets,
        retransmits: sent.counters.retransmits,
        timeouts: sent.counters.timeouts,
        fast_retransmits: sent.counters.fast_retransmits,
        local_congestion: sent.counters.local_congestion,
        tail_probes: sent.counters.tail_probes,
        undos: sent.counters.undos,
        rtt_count: rtt.count,
        rtt_mean_ms: rtt.mean(),
        rtt_std_ms: rtt.std(),
        rtt_min_ms: rtt.least(),
        rtt_p50_ms: delays.quantile(0.5),
        rtt_p95_ms: delays.quantile(0.95),
        rtt_max_ms: rtt.greatest(),
        srtt_ms: sent.srtt.map_or(f64::NAN, Duration::as_millis_f64),
        cwnd_mean_bytes: sent.cwnd_mean,
        cwnd_max_bytes: sent.cwnd_max,
        transfers: tally.done.count,
        completion_s: tally.done.mean(),
        completion_max_s: tally.done.greatest(),
        lost_packets: if udp { sent.counters.data_segments_out.saturating_sub(delivered.packets) } else { 0 },
    }
}

/// Data that the sender has sent over all of its connections. All values are 0 if the sender is outside of the
/// simulation.
#[derive(Default)]
struct Sent {
    counters: Counters,
    srtt: Option<Duration>,
    cwnd_mean: f64,
    cwnd_max: Option<u64>,
}

fn sent(network: &Network<Host>, site: &FlowSite) -> Sent {
    let Some(AppSite { host, app }) = site.source else {
        return Sent { cwnd_mean: f64::NAN, ..Sent::default() };
    };
    let host = network.host(host);
    let meter = host.flow_meter(app);
    if site.datagrams {
        let DatagramCounts { sent: packets, bytes_sent, .. } = meter.datagrams();
        let counters =
            Counters { bytes_sent, data_segments_out: packets, segments_out: packets, ..Counters::default() };
        return Sent { counters, srtt: None, cwnd_mean: f64::NAN, cwnd_max: None };
    }
    let now = network.now();
    let live = host.infos(app, now);
    let cwnd = meter.path.as_deref().map_or_else(TimeWeightedGauge::default, |path| path.cwnd);
    Sent {
        counters: host.total(app, now),
        // After the last connection has ended, report its final SRTT.
        srtt: live.first().map_or_else(|| host.last_srtt(app), |info| info.srtt),
        cwnd_mean: cwnd.mean(now),
        // A maximum of 0 means that the flow never had a connection.
        cwnd_max: Some(cwnd.max).filter(|cwnd| *cwnd > 0),
    }
}
