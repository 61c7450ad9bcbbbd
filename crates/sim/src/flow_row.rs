//! A flow's rows in the tables: its sender's state at an instant, and its summary at the end.

use crate::build::{FlowSite, Simulation};
use crate::host::{App, Host, Meter, TcpSource, add_counters};
use crate::meter::{Delays, Moments};
use crate::observe::Tally;
use crate::results::{FlowRow, FlowTable, SampleRow};
use crate::world::World;
use lopsided_core::{Dir, Duration};
use lopsided_scenario::{FlowSpec, Scenario, Transfer};
use lopsided_tcp::{Counters, TcpInfo};

/// The part of a sample whose change is worth a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Watched {
    state: &'static str,
    cwnd_bytes: u64,
    /// As bits: NaN must equal NaN.
    ssthresh: u64,
}

impl From<&SampleRow> for Watched {
    fn from(row: &SampleRow) -> Watched {
        Watched { state: row.state, cwnd_bytes: row.cwnd_bytes, ssthresh: row.ssthresh_bytes.to_bits() }
    }
}

/// The flow now. `rtt`: the round trips of the interval that ends now; of a row between two intervals `None`.
pub(crate) fn sample(flow: usize, site: &FlowSite, world: &World, rtt: Option<Moments>) -> SampleRow {
    let now = world.now();
    let host = world.host(site.source.host);
    let delivered = delivered(world, site);
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
        rcv_space_bytes: 0,
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
    match host.app(site.source.app) {
        App::TcpSource(source) => with_connection(row, host, source),
        App::UdpSource(source) => SampleRow { state: "udp", sent_bytes: source.sent_bytes().get(), ..row },
        App::TcpSink(_) | App::UdpSink(_) => row,
    }
}

fn with_connection(row: SampleRow, host: &Host, source: &TcpSource) -> SampleRow {
    let info = source.current.and_then(|slot| host.connection(slot)).map(|connection| connection.info());
    let counters = total(&source.meter, info.as_ref());
    let row = SampleRow {
        sent_bytes: counters.bytes_sent.get(),
        acked_bytes: counters.bytes_acked.get(),
        retransmits: counters.retransmits,
        ..row
    };
    let Some(info) = info else { return row };
    SampleRow {
        state: info.ca_state.name(),
        cwnd_bytes: info.snd_cwnd.get(),
        ssthresh_bytes: info.snd_ssthresh.map_or(f64::NAN, |ssthresh| ssthresh.get() as f64),
        srtt_ms: info.srtt.map_or(f64::NAN, Duration::as_millis_f64),
        rttvar_ms: info.rttvar.as_millis_f64(),
        rto_ms: info.rto.as_millis_f64(),
        in_flight_bytes: info.in_flight.get(),
        snd_wnd_bytes: info.snd_wnd.get(),
        rcv_space_bytes: info.rcv_space.get(),
        ..row
    }
}

/// What reached the receiving application.
struct Delivered {
    bytes: u64,
    packets: u64,
}

fn delivered(world: &World, site: &FlowSite) -> Delivered {
    let host = world.host(site.sink.host);
    match host.app(site.sink.app) {
        App::TcpSink(sink) => {
            let packets = |slot| host.connection(slot).map_or(0, |connection| connection.counters().data_segments_in);
            Delivered { bytes: sink.delivered_bytes, packets: sink.packets(packets) }
        }
        App::UdpSink(sink) => Delivered { bytes: sink.received_bytes.get(), packets: sink.received_packets },
        App::TcpSource(_) | App::UdpSource(_) => Delivered { bytes: 0, packets: 0 },
    }
}

/// The counters of all of a source's connections.
fn total(meter: &Meter, info: Option<&TcpInfo>) -> Counters {
    info.map_or(meter.past, |info| add_counters(meter.past, info.counters))
}

/// The summaries of all flows.
pub(crate) fn table(scenario: &Scenario, simulation: &Simulation, tallies: &[Tally]) -> FlowTable {
    let mut table = FlowTable::default();
    for (flow, spec) in scenario.flows.iter().enumerate() {
        table.push(row(flow, spec, scenario, simulation, &tallies[flow]));
    }
    table
}

fn row(flow: usize, spec: &FlowSpec, scenario: &Scenario, simulation: &Simulation, tally: &Tally) -> FlowRow {
    let (world, site) = (&simulation.world, &simulation.flows[flow]);
    let source_host = world.host(site.source.host);
    let (sent, delivered) = (sent(world, site), delivered(world, site));
    let empty = Delays::default();
    let delays = match (source_host.app(site.source.app), world.host(site.sink.host).app(site.sink.app)) {
        (App::TcpSource(source), _) => &source.meter.rtt,
        (_, App::UdpSink(sink)) => &sink.one_way,
        _ => &empty,
    };
    let rtt = delays.all();
    let active_s = match spec.transfer {
        Transfer::Bytes { .. } => {
            let running = tally.running_since.map_or(Duration::ZERO, |since| world.now().saturating_since(since));
            tally.done.sum + running.as_secs_f64()
        }
        _ => site.stop.saturating_since(site.start).as_secs_f64(),
    };
    let udp = matches!(spec.transfer, Transfer::Udp { .. });
    FlowRow {
        flow: flow as u32,
        name: spec.name.clone(),
        group: spec.group.clone(),
        direction: spec.direction.map_or("", Dir::name),
        from: scenario.graph.hosts[spec.from].clone(),
        to: scenario.graph.hosts[spec.to].clone(),
        cc: if udp { String::new() } else { spec.from_stack.cc.clone() },
        profile: if udp { "udp".to_owned() } else { spec.from_stack.profile.clone() },
        start_s: site.start.as_secs_f64(),
        stop_s: site.stop.as_secs_f64(),
        active_s,
        sent_bytes: sent.counters.bytes_sent.get(),
        acked_bytes: sent.counters.bytes_acked.get(),
        delivered_bytes: delivered.bytes,
        goodput_bps: if active_s > 0.0 { 8.0 * delivered.bytes as f64 / active_s } else { 0.0 },
        data_packets_sent: sent.counters.data_segments_out,
        data_packets_delivered: delivered.packets,
        retransmits: sent.counters.retransmits,
        timeouts: sent.counters.timeouts,
        fast_retransmits: sent.counters.fast_retransmits,
        local_reductions: sent.counters.local_reductions,
        tail_probes: sent.counters.tail_probes,
        spurious: sent.counters.undos,
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
        missing_packets: if udp { sent.counters.data_segments_out - delivered.packets } else { 0 },
    }
}

/// What the sender did, over all its connections.
struct Sent {
    counters: Counters,
    srtt: Option<Duration>,
    cwnd_mean: f64,
    cwnd_max: u64,
}

fn sent(world: &World, site: &FlowSite) -> Sent {
    let host = world.host(site.source.host);
    let nothing = Sent { counters: Counters::default(), srtt: None, cwnd_mean: f64::NAN, cwnd_max: 0 };
    match host.app(site.source.app) {
        App::TcpSource(source) => {
            let info = source.current.and_then(|slot| host.connection(slot)).map(|connection| connection.info());
            Sent {
                counters: total(&source.meter, info.as_ref()),
                srtt: info.map_or(source.meter.last_srtt, |info| info.srtt),
                cwnd_mean: source.meter.cwnd.mean(world.now()),
                cwnd_max: source.meter.cwnd.max,
            }
        }
        App::UdpSource(source) => {
            let (bytes_sent, packets) = (source.sent_bytes(), source.sent_packets);
            let counters =
                Counters { bytes_sent, data_segments_out: packets, segments_out: packets, ..Counters::default() };
            Sent { counters, ..nothing }
        }
        App::TcpSink(_) | App::UdpSink(_) => nothing,
    }
}
