//! Records the time series of a run, and creates the tables at the end of the run.
//!
//! A sample is taken after all events of its instant, and does not affect the run.

use crate::catalogue::Name;
use crate::event_log::EventLog;
use crate::flow_row;
use crate::host::Host;
use crate::meter::{Moments, TransferStats};
use crate::results::{
    DropRow, DropTable, FetchRow, FetchTable, LinkRow, LinkTable, MarkRow, MarkTable, PartRow, PartTable, QueueRow,
    QueueTable, RunResult, SampleTable, TransferRow, TransferTable,
};
use crate::simulation::{AppSite, FlowSite, Simulation};
use crate::tcp_log::TcpLog;
use lopsided_app::Report;
use lopsided_core::{Bytes, Dir, DropReason, Duration, MarkReason, NodeId, Time};
use lopsided_net::{NetNode, Network};
use lopsided_scenario::Scenario;
use std::collections::BTreeMap;

/// The time series that a run has recorded so far.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// The state of senders at each sampling time.
    pub samples: &'a SampleTable,
    /// All queues at each sampling time.
    pub queues: &'a QueueTable,
}

/// Records the measurements of one run.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Interval between samples.
    interval: Option<Duration>,
    /// Time of the next sample; `None` if the run takes no samples.
    next: Option<Time>,
    /// True if a flow is also sampled whenever its state changes.
    on_change: bool,
    samples: SampleTable,
    queues: QueueTable,
    transfers: Vec<TransferRow>,
    fetches: Vec<FetchRow>,
    parts: PartTable,
    /// Statistics of the transfers of each flow that has begun one, by flow number.
    tallies: BTreeMap<usize, TransferStats>,
    /// State of each flow at its last sample. Empty unless flows are sampled at changes.
    last: Vec<flow_row::ChangeKey>,
    log: EventLog,
    tcp_log: TcpLog,
}

impl Recorder {
    /// Returns the number of events in both logs.
    pub fn events(&self) -> usize {
        self.log.len() + self.tcp_log.len()
    }

    pub fn new(scenario: &Scenario, log: EventLog, tcp_log: TcpLog) -> Recorder {
        let record = scenario.record;
        let interval = record.interval.filter(|interval| !interval.is_zero());
        Recorder {
            interval,
            next: interval.map(|interval| Time::ZERO + interval),
            on_change: record.on_change,
            samples: SampleTable::default(),
            queues: QueueTable::default(),
            transfers: Vec::new(),
            fetches: Vec::new(),
            parts: PartTable::default(),
            tallies: BTreeMap::new(),
            last: vec![flow_row::ChangeKey::CLOSED; if record.on_change { scenario.flows.len() } else { 0 }],
            log,
            tcp_log,
        }
    }

    /// Returns the series recorded so far.
    pub fn recorded(&self) -> Recorded<'_> {
        Recorded { samples: &self.samples, queues: &self.queues }
    }

    /// Returns the time of the next sample.
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Collects the reports of applications, and takes a sample of each flow whose state has changed.
    pub fn gather(&mut self, simulation: &mut Simulation) {
        for (flow, site) in simulation.flows.iter().enumerate() {
            let (begun, done) =
                (take_reports(&mut simulation.network, site.source), take_reports(&mut simulation.network, site.sink));
            if !(begun.is_empty() && done.is_empty()) {
                self.tally(flow, begun, done);
            }
        }
        if self.on_change {
            self.sample_changes(simulation);
        }
    }

    /// Matches the starts of transfers with their ends. A flow has one transfer at a time.
    fn tally(&mut self, flow: usize, at_source: Vec<(Time, Report)>, at_sink: Vec<(Time, Report)>) {
        let mut begun =
            at_source.into_iter().filter(|(_, report)| *report == Report::Begun).map(|(at, _)| at).peekable();
        for (end, report) in at_sink {
            match report {
                // The receiver requested the data, so the receiver reports the start of the transfer.
                Report::Begun => self.tally_of(flow).running_since = Some(end),
                Report::Delivered { size } => {
                    // An aborted transfer has a start but no end, so use the latest start before this end.
                    while let Some(start) = begun.next_if(|start| *start <= end) {
                        self.tally_of(flow).running_since = Some(start);
                    }
                    if let Some(start) = self.tally_of(flow).running_since.take() {
                        self.complete(flow, "transfer", start, end, size);
                    }
                }
                Report::Completed { what, start, size } => self.complete(flow, what, start, end, size),
                Report::Fetching(step) => self.fetches.push(FetchRow::of(flow as u32, step)),
            }
        }
        // The last start without an end belongs to a transfer that is still running.
        if let Some(start) = begun.last() {
            self.tally_of(flow).running_since = Some(start);
        }
    }

    fn tally_of(&mut self, flow: usize) -> &mut TransferStats {
        self.tallies.entry(flow).or_default()
    }

    fn complete(&mut self, flow: usize, what: &'static str, start: Time, end: Time, size: Bytes) {
        let completion_s = (end - start).as_secs_f64();
        // Parts of a web page have their own rows, but are not transfers of the flow.
        if matches!(what, "transfer" | "page" | "fetch") {
            self.tally_of(flow).done.add(completion_s);
        }
        // If samples are off, the run keeps only the summaries of transfers and no rows.
        if self.interval.is_some() {
            let (flow, start_s, size_bytes) = (flow as u32, start.as_secs_f64(), size.get());
            self.transfers.push(TransferRow { flow, what, start_s, completion_s, size_bytes });
        }
    }

    /// Takes all samples if `now` is a sampling time.
    pub fn observe(&mut self, now: Time, scenario: &Scenario, simulation: &mut Simulation) {
        let Some(interval) = self.interval.filter(|_| self.next == Some(now)) else { return };
        simulation.name_nodes(scenario);
        self.next = Some(now + interval);
        for (flow, site) in simulation.flows.iter().enumerate() {
            let rtt = take_delays(&mut simulation.network, site);
            let row = flow_row::sample(flow, site, &simulation.network, Some(rtt));
            if self.on_change {
                self.last[flow] = flow_row::ChangeKey::from(&row);
            }
            self.samples.push(row);
        }
        for link in 0..simulation.links {
            let node = simulation.link_node(link);
            let (name, direction) = simulation.places.of(node);
            let sample = simulation.network.with_link(node, |link, cx| link.sync(cx).sample());
            let counters = simulation.network.accounting().node(node);
            // The queue counts a filtered ACK as a drop, but the tables list filtered ACKs separately.
            let filtered_packets = counters.dropped(DropReason::AckFiltered).packets;
            self.queues.push(QueueRow {
                time_s: now.as_secs_f64(),
                link: name,
                direction,
                backlog_packets: sample.backlog.packets,
                backlog_bytes: sample.backlog.bytes.get(),
                arrived_packets: sample.arrived_packets,
                dropped_packets: sample.dropped_packets - filtered_packets,
                filtered_packets,
                marked_packets: counters.marked_total().packets,
                sent_packets: sample.sent_packets,
                sent_bytes: sample.sent_bytes.get(),
                sojourn_mean_ms: millis(sample.sojourn_mean),
                sojourn_max_ms: millis(sample.sojourn_max),
            });
        }
        self.sample_parts(now, false, simulation);
    }

    /// Samples stages, media and queues. `classes` selects the classes of queues.
    fn sample_parts(&mut self, now: Time, classes: bool, simulation: &mut Simulation) {
        for number in 0..simulation.places.len() {
            let node = NodeId(number as u32);
            let (name, direction) = simulation.places.of(node);
            let time_s = now.as_secs_f64();
            let parts = &mut self.parts;
            let mut push = |part: &str, quantity: &str, value: f64| {
                let (node, part, quantity) = (name.clone(), Name::from(part), Name::from(quantity));
                parts.push(PartRow { time_s, node, direction, part, quantity, value });
            };
            match simulation.network.node(node) {
                NetNode::Link(_) => simulation.network.with_link(node, |link, cx| {
                    // A link updates its state only when it is used, so bring it up to date first.
                    let view = link.sync(cx);
                    if classes {
                        view.classes(&mut push);
                    } else {
                        view.gauges(&mut push);
                    }
                }),
                other => other.sample(&mut push),
            }
        }
    }

    fn sample_changes(&mut self, simulation: &mut Simulation) {
        for (flow, site) in simulation.flows.iter().enumerate() {
            let row = flow_row::sample(flow, site, &simulation.network, None);
            let watched = flow_row::ChangeKey::from(&row);
            if self.last[flow] != watched {
                self.last[flow] = watched;
                self.samples.push(row);
            }
        }
    }

    /// Creates the tables of the run.
    pub fn finish(mut self, scenario: &Scenario, seed: u64, end: Time, mut simulation: Simulation) -> RunResult {
        // Collect the reports that applications have made since the last slice of the run.
        self.gather(&mut simulation);
        simulation.network.free_reserves();
        simulation.name_nodes(scenario);
        let mut links = LinkTable::with_capacity(simulation.links);
        for link in 0..simulation.links {
            links.push(link_row(link, scenario, &mut simulation));
        }
        self.sample_parts(end, true, &mut simulation);
        for site in &simulation.flows {
            take_delays(&mut simulation.network, site);
        }
        let flows = flow_row::table(scenario, &simulation, &self.tallies);
        let held = simulation.network.held();
        let conservation = simulation.network.accounting().conservation(held);
        RunResult {
            seed,
            duration_s: end.as_secs_f64(),
            digest: digest(&simulation.network, &flows.delivered_bytes),
            events: simulation.network.events(),
            cores: None,
            conservation,
            flows,
            samples: self.samples,
            queues: self.queues,
            links,
            transfers: in_order(self.transfers),
            fetches: fetches_in_order(self.fetches),
            parts: self.parts,
            drops: drops(&simulation),
            marks: marks(&simulation),
            packet_events: self.log.take(&simulation.places),
            tcp_events: self.tcp_log.take(&simulation.places),
        }
    }
}

/// Sorts transfers by end time and then by flow. The order must not depend on the times at which reports were
/// collected.
fn in_order(mut rows: Vec<TransferRow>) -> TransferTable {
    let end = |row: &TransferRow| row.start_s + row.completion_s;
    rows.sort_by(|one, other| end(one).total_cmp(&end(other)).then(one.flow.cmp(&other.flow)));
    let mut table = TransferTable::with_capacity(rows.len());
    rows.into_iter().for_each(|row| table.push(row));
    table
}

/// Sorts the steps of fetches by time and then by flow.
fn fetches_in_order(mut rows: Vec<FetchRow>) -> FetchTable {
    rows.sort_by(|one, other| one.time_s.total_cmp(&other.time_s).then(one.flow.cmp(&other.flow)));
    let mut table = FetchTable::with_capacity(rows.len());
    rows.into_iter().for_each(|row| table.push(row));
    table
}

/// Returns the reports that an application has made since the last call.
fn take_reports(network: &mut Network<Host>, site: Option<AppSite>) -> Vec<(Time, Report)> {
    site.map_or_else(Vec::new, |site| network.host_mut(site.host).flow_meter_mut(site.app).take_reports())
}

/// Returns the flow's round-trip times (or one-way delays) of the interval that ends now.
fn take_delays(network: &mut Network<Host>, site: &FlowSite) -> Moments {
    let mut take = |site: Option<AppSite>| {
        site.map_or_else(Moments::default, |site| network.host_mut(site.host).take_delays(site.app))
    };
    let at_source = take(site.source);
    // The sender measures round-trip times; the receiver measures one-way delays of datagrams.
    if at_source.count > 0 { at_source } else { take(site.sink) }
}

fn millis(span: Option<Duration>) -> f64 {
    span.map_or(f64::NAN, Duration::as_millis_f64)
}

fn link_row(number: usize, scenario: &Scenario, simulation: &mut Simulation) -> LinkRow {
    let (spec, dir) = (&scenario.graph.links[number / 2], Dir::BOTH[number % 2]);
    let node = simulation.link_node(number);
    let (name, direction) = simulation.places.of(node);
    let now = simulation.network.now();
    let rate = spec.dir(dir).rate.map_or(f64::NAN, |rate| rate.as_bps() as f64);
    simulation.network.with_link(node, |link, cx| {
        let view = link.sync(cx);
        let counters = cx.counters();
        let stats = view.queue_stats();
        let filtered_packets = counters.dropped(DropReason::AckFiltered).packets;
        LinkRow {
            link: name,
            direction,
            rate_bps: rate,
            utilisation: view.wire_bytes().bits() as f64 / (rate * now.as_secs_f64()),
            mean_backlog_packets: stats.mean_packets(now),
            max_backlog_packets: stats.max_backlog().packets,
            mean_backlog_bytes: stats.mean_bytes(now),
            max_backlog_bytes: stats.max_backlog().bytes.get(),
            arrived_packets: stats.arrived_packets(),
            sent_packets: stats.sent_packets(),
            sent_bytes: stats.sent_bytes().get(),
            dropped_packets: stats.dropped_packets() - filtered_packets,
            filtered_packets,
            marked_packets: counters.marked_total().packets,
            // All drops of the link that were not made by the queue are losses on the line.
            lost_packets: counters.dropped_total().packets - stats.dropped_packets(),
            sojourn_mean_ms: millis(stats.mean_sojourn()),
            sojourn_p50_ms: millis(stats.sojourns().quantile(0.5)),
            sojourn_p95_ms: millis(stats.sojourns().quantile(0.95)),
            sojourn_max_ms: stats.max_sojourn().as_millis_f64(),
        }
    })
}

fn drops(simulation: &Simulation) -> DropTable {
    let mut table = DropTable::default();
    for (number, accounting) in simulation.network.accounting().nodes().iter().enumerate() {
        for (why, count) in
            DropReason::ALL.iter().map(|why| (why, accounting.dropped(*why))).filter(|(_, count)| count.packets > 0)
        {
            let (node, direction) = simulation.places.of(NodeId(number as u32));
            let (packets, bytes) = (count.packets, count.bytes.get());
            table.push(DropRow { node, direction, reason: why.name(), packets, bytes });
        }
    }
    table
}

fn marks(simulation: &Simulation) -> MarkTable {
    let mut table = MarkTable::default();
    for (number, accounting) in simulation.network.accounting().nodes().iter().enumerate() {
        for (why, count) in
            MarkReason::ALL.iter().map(|why| (why, accounting.marked(*why))).filter(|(_, count)| count.packets > 0)
        {
            let (node, direction) = simulation.places.of(NodeId(number as u32));
            let (packets, bytes) = (count.packets, count.bytes.get());
            table.push(MarkRow { node, direction, reason: why.name(), packets, bytes });
        }
    }
    table
}

/// Returns a digest of all arrivals and losses, and of the bytes that each application received.
fn digest(network: &Network<Host>, delivered: &[u64]) -> u64 {
    let mut digest = lopsided_core::Digest::default();
    digest.mix(network.accounting().digest());
    // Deliveries are part of the digest, because applications may read data later than it arrives.
    delivered.iter().for_each(|bytes| digest.mix(*bytes));
    digest.value()
}
