//! The curves that the page draws for a run, which may still be in progress.

use crate::answer::Columns;
use crate::json::Json;
use crate::series::Curve;
use crate::view::View;
use lopsided_core::Dir;
use lopsided_queue::Limit;
use lopsided_scenario::Scenario;
use lopsided_sim::{QueueTable, Recorded, SampleTable};

/// If a run has more flows than this, curves are drawn for groups of flows.
const MOST_CURVES: usize = 8;
/// Largest number of links whose queues are drawn. Links with the slowest directions come first.
const MOST_LINKS: usize = 3;

/// Returns the index of the link that the page animates: the link with the slowest direction.
pub(crate) fn main_link(scenario: &Scenario) -> usize {
    slowest_links(scenario).first().copied().unwrap_or(0)
}

/// Returns the rate of one direction of the animated link in bit/s; `None` if the direction has no rate.
pub(crate) fn main_rate(scenario: &Scenario, dir: Dir) -> Option<u64> {
    let link = scenario.graph.links.get(main_link(scenario))?;
    link.dir(dir).rate.map(|rate| rate.as_bps())
}

/// Returns the longest time in seconds that a packet may spend at the animated link: a full buffer, plus a margin for
/// shared media.
pub(crate) fn longest_wait(scenario: &Scenario) -> f64 {
    let Some(link) = scenario.graph.links.get(main_link(scenario)) else { return 0.0 };
    let waits = Dir::BOTH.iter().map(|dir| {
        let config = link.dir(*dir);
        let packets = match config.queue.limit() {
            Some(Limit::Packets(packets)) => f64::from(packets.min(20_000)),
            _ => 1_000.0,
        };
        let full_packet_s = config.rate.map_or(0.0, |rate| 12_500.0 / rate.as_bps() as f64);
        2.0 + 1.5 * packets * full_packet_s + config.delay.as_secs_f64()
    });
    waits.fold(0.0, f64::max)
}

fn slowest_links(scenario: &Scenario) -> Vec<usize> {
    let rate = |link: usize| {
        let spec = &scenario.graph.links[link];
        Dir::BOTH.iter().filter_map(|dir| spec.dir(*dir).rate).map(|rate| rate.as_bps()).min().unwrap_or(u64::MAX)
    };
    let mut links: Vec<usize> = (0..scenario.graph.links.len()).collect();
    links.sort_by_key(|link| rate(*link));
    links
}

/// A group of flows drawn as one curve.
struct Curved<'a> {
    name: &'a str,
    direction: &'static str,
    flows: Vec<usize>,
}

fn curved(scenario: &Scenario) -> Vec<Curved<'_>> {
    let by_group = scenario.flows.len() > MOST_CURVES;
    let mut found: Vec<Curved<'_>> = Vec::new();
    for (number, flow) in scenario.flows.iter().enumerate() {
        let name = if by_group { &flow.group } else { &flow.name };
        match found.iter_mut().find(|curved| curved.name == name) {
            Some(curved) => curved.flows.push(number),
            None => {
                let direction = flow.direction.map_or("", Dir::name);
                found.push(Curved { name, direction, flows: vec![number] });
            }
        }
    }
    // There may also be many groups. A chart with more curves than this is unreadable.
    found.truncate(2 * MOST_CURVES);
    found
}

/// Lists the series, each with its chart, its subject and its two columns.
pub(crate) fn series(scenario: &Scenario, recorded: Recorded<'_>, view: &View, columns: &mut Columns) -> Json {
    let mut list = Vec::new();
    let mut add = |chart: &str, of: &str, direction: &str, curve: &Curve| {
        let reduced = curve.reduced(view.from_s, view.to_s, view.columns);
        let (x, y) = (columns.wide(reduced.time_s), columns.narrow(reduced.value));
        list.push(Json::object([
            ("chart", Json::text(chart)),
            ("of", Json::text(of)),
            ("direction", Json::text(direction)),
            ("x", x),
            ("y", y),
        ]));
    };
    let samples = Samples { table: recorded.samples, flows: scenario.flows.len() };
    // Shorter windows would show single packets, longer ones would hide changes.
    let window_s = (scenario.duration.as_secs_f64() / 90.0).clamp(0.2, 2.0);
    for curved in curved(scenario) {
        let delivered = samples.curve(&curved.flows, |table, row| table.delivered_bytes[row] as f64, 1.0);
        add("goodput", curved.name, curved.direction, &delivered.growth(window_s, 8.0));
        // Draw the mean window of the group's flows, so that groups of different sizes can be compared.
        let share = 1.0 / curved.flows.len() as f64;
        let cwnd = samples.curve(&curved.flows, |table, row| table.cwnd_bytes[row] as f64, share);
        add("cwnd", curved.name, curved.direction, &cwnd);
        add("rtt", curved.name, curved.direction, &samples.round_trips(&curved.flows));
    }
    let queues = Queues { table: recorded.queues, links: 2 * scenario.graph.links.len() };
    for link in slowest_links(scenario).into_iter().take(MOST_LINKS) {
        for (place, dir) in Dir::BOTH.iter().enumerate() {
            let (name, number) = (&scenario.graph.links[link].name, 2 * link + place);
            add("queue", name, dir.name(), &queues.curve(number, |table, row| f64::from(table.backlog_packets[row])));
            add("wait", name, dir.name(), &queues.curve(number, |table, row| table.sojourn_mean_ms[row]));
            let dropped = queues.curve(number, |table, row| table.dropped_packets[row] as f64);
            add("drops", name, dir.name(), &dropped);
        }
    }
    Json::list(list)
}

/// The table of samples. For each sampling time it has one row per flow, in the flows' order.
struct Samples<'a> {
    table: &'a SampleTable,
    flows: usize,
}

impl Samples<'_> {
    /// Returns the sum of a value over flows, times `factor`.
    fn curve(&self, flows: &[usize], value: impl Fn(&SampleTable, usize) -> f64, factor: f64) -> Curve {
        let mut curve = Curve::default();
        for instant in 0..self.table.time_s.len() / self.flows.max(1) {
            let rows = flows.iter().map(|flow| instant * self.flows + flow);
            let sum: f64 = rows.map(|row| value(self.table, row)).sum();
            curve.push(self.table.time_s[instant * self.flows], sum * factor);
        }
        curve
    }

    /// Returns the mean RTT in milliseconds of the packets in each interval. The curve has a gap only after two RTTs
    /// without a measurement.
    fn round_trips(&self, flows: &[usize]) -> Curve {
        let mut curve = Curve::default();
        let (mut measured_s, mut last_ms) = (f64::NEG_INFINITY, 0.0);
        for instant in 0..self.table.time_s.len() / self.flows.max(1) {
            let (mut count, mut sum) = (0, 0.0);
            for row in flows.iter().map(|flow| instant * self.flows + flow) {
                if self.table.rtt_count[row] > 0 {
                    count += self.table.rtt_count[row];
                    sum += self.table.rtt_sum_ms[row];
                }
            }
            let now_s = self.table.time_s[instant * self.flows];
            if count > 0 {
                (measured_s, last_ms) = (now_s, sum / count as f64);
                curve.push(now_s, last_ms);
            // Two RTTs: `last_ms` is in milliseconds, times are in seconds.
            } else if now_s - measured_s > 2e-3 * last_ms {
                curve.push(now_s, f64::NAN);
            }
        }
        curve
    }
}

/// The table of queues: one row per link direction for each sampling time.
struct Queues<'a> {
    table: &'a QueueTable,
    links: usize,
}

impl Queues<'_> {
    fn curve(&self, link: usize, value: impl Fn(&QueueTable, usize) -> f64) -> Curve {
        let mut curve = Curve::default();
        for row in (link..self.table.time_s.len()).step_by(self.links.max(1)) {
            curve.push(self.table.time_s[row], value(self.table, row));
        }
        curve
    }
}
