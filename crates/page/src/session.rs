//! A run in the page. It is opened, advanced in slices, displayed between the slices, and finished.

use crate::answer::{Answer, Columns};
use crate::json::Json;
use crate::limits;
use crate::packets::Packets;
use crate::picture;
use crate::request::{Problems, Request};
use crate::series::Curve;
use crate::view::View;
use lopsided_core::{Duration, Observer, Time};
use lopsided_scenario::Scenario;
use lopsided_sim::{Advanced, Monitor, NodeKind, Run, RunOptions, RunResult, node_labels};
use lopsided_trace::{Capture, Tap};
use lopsided_verdict::{Account, difference, mean_goodput};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest size of a capture in bytes.
const MOST_CAPTURED: usize = 128 << 20;

/// A run in progress.
#[derive(Debug)]
pub struct Session {
    run: Run<Arc<Scenario>>,
    scenario: Arc<Scenario>,
    view: View,
    /// Number of samples per sampling interval of the scenario.
    every: usize,
    packets: Option<Packets>,
}

impl Session {
    /// Starts a run of the scenario.
    ///
    /// # Errors
    /// Returns an error with the limit of the page that the scenario exceeds.
    pub fn open(mut scenario: Scenario, view: View) -> Result<Session, Problems> {
        let (interval, every) = view.interval(&scenario);
        scenario.record.interval = Some(interval);
        // Switch off recordings that the page never displays, because they would cost time and memory.
        scenario.record.on_change = false;
        scenario.record.events = false;
        scenario.record.tcp_events = false;
        limits::check(&scenario, interval)?;
        let (packets, options) = watch(&scenario, &view).unzip();
        let options = options.unwrap_or_default();
        let scenario = Arc::new(scenario);
        let seed = scenario.seed;
        let run = Run::new(Arc::clone(&scenario), seed, options).map_err(|error| Problems::of(error.to_string()))?;
        Ok(Session { run, scenario, view, every, packets })
    }

    /// Runs until `until_s` seconds of virtual time, or until about `budget` events are handled. Returns true at the
    /// end of the run.
    ///
    /// # Errors
    /// Returns an error if the run fails, or exceeds the page's limit of events.
    pub fn advance(&mut self, until_s: f64, budget: u64) -> Result<bool, Problems> {
        let until = Time::ZERO + Duration::from_nanos((until_s.clamp(0.0, 1e9) * 1e9) as u64);
        let advanced = self.run.advance(until, budget, &Monitor::default());
        match advanced.map_err(|error| Problems::of(error.to_string()))? {
            Advanced::Ended => Ok(true),
            _ if self.run.events() > limits::MOST_EVENTS => {
                let (most, now) = (limits::MOST_EVENTS / 1_000_000, self.run.now().as_secs_f64());
                Err(Problems::of(format!(
                    "the page stops a run after {most} million events, which was at {now:.3} s: make it shorter, or use \
                     `lopsided run`"
                )))
            }
            Advanced::Reached | Advanced::Paused => Ok(false),
        }
    }

    /// Returns the current virtual time in seconds.
    pub fn now_s(&self) -> f64 {
        self.run.now().as_secs_f64()
    }

    /// Returns the curves so far as an answer.
    pub fn picture(&self) -> Answer {
        let mut columns = Columns::default();
        let series = picture::series(&self.scenario, self.run.recorded(), &self.view, &mut columns);
        columns.into_answer([("now_s", Json::number(self.now_s())), ("series", series)])
    }

    /// Runs to the end. Returns the full answer, and the measurements for later comparisons.
    ///
    /// # Errors
    /// Returns an error if the run fails.
    pub fn finish(self, pinned: Option<&Account>) -> Result<(Answer, Account), Problems> {
        let Session { run, scenario, view, every, packets } = self;
        let result = run.finish(&Monitor::default()).map_err(|error| Problems::of(error.to_string()))?;
        let account = Account::of(&scenario, &result);
        // Use only the samples that the scenario itself requests. The sentences then equal the sentences of `lopsided
        // run`.
        let goodput = |flow: usize, start_s, stop_s| {
            let curve = delivered(&result, flow, every);
            Ok::<f64, ()>(mean_goodput(&curve.time_s, &curve.value, start_s, stop_s))
        };
        let sentences = account.sentences(goodput).unwrap_or_default();
        let mut columns = Columns::default();
        let recorded = lopsided_sim::Recorded { samples: &result.samples, queues: &result.queues };
        let series = picture::series(&scenario, recorded, &view, &mut columns);
        let mut head = vec![("now_s", Json::number(result.duration_s)), ("series", series)];
        if let Some(packets) = packets {
            head.push(("packets", packets.head(&mut columns)));
        }
        let changes = pinned.map(|pinned| difference(pinned, &account)).unwrap_or_default();
        head.extend([
            ("digest", Json::text(&format!("{:016x}", result.digest))),
            ("seed", Json::text(&result.seed.to_string())),
            ("events", Json::whole(result.events)),
            ("verdict", Json::texts(sentences.iter().map(String::as_str))),
            ("difference", Json::texts(changes.iter().map(String::as_str))),
            ("flows", flows(&result)),
            ("links", links(&result)),
        ]);
        Ok((columns.into_answer(head), account))
    }
}

/// Creates an observer for the packets that the view shows, and the options of the run. Returns `None` if the view
/// shows no packets.
fn watch(scenario: &Scenario, view: &View) -> Option<(Packets, RunOptions)> {
    if view.packets_to_s <= view.packets_from_s || scenario.graph.links.is_empty() {
        return None;
    }
    let labels = node_labels(scenario);
    let line = picture::main_link(scenario);
    let directions: Vec<_> = labels.iter().filter(|label| matches!(label.kind, NodeKind::Link(_))).collect();
    let line = [directions[2 * line].node, directions[2 * line + 1].node];
    // The page draws the time-sequence diagram only if the packets cover the time shown.
    let covers = view.packets_from_s <= view.from_s && view.packets_to_s >= view.to_s;
    let senders = covers.then(|| scenario.flows.iter().map(|flow| labels[flow.from].node).collect());
    let wait_s = picture::longest_wait(scenario);
    let packets = Packets::new(line, senders, view.packets_from_s, view.packets_to_s, wait_s);
    let observers: Vec<Box<dyn Observer>> = vec![Box::new(packets.clone())];
    let options = RunOptions { observers, watched: Some(packets.watched()), ..RunOptions::default() };
    Some((packets, options))
}

/// Returns the number of bytes that a flow had delivered at every `every`-th sample.
fn delivered(result: &RunResult, flow: usize, every: usize) -> Curve {
    let mut curve = Curve::default();
    let flows = result.flows.name.len();
    let rows = (0..result.samples.flow.len() / flows.max(1)).map(|instant| instant * flows + flow);
    for row in rows.skip(every.max(1) - 1).step_by(every.max(1)) {
        curve.push(result.samples.time_s[row], result.samples.delivered_bytes[row] as f64);
    }
    curve
}

fn flows(result: &RunResult) -> Json {
    let flows = &result.flows;
    Json::list((0..flows.name.len()).map(|row| {
        Json::object([
            ("name", Json::text(&flows.name[row])),
            ("direction", Json::text(flows.direction[row])),
            ("cc", Json::text(&flows.cc[row])),
            ("goodput_bps", Json::number(flows.goodput_bps[row])),
            ("rtt_min_ms", Json::number(flows.rtt_min_ms[row])),
            ("rtt_mean_ms", Json::number(flows.rtt_mean_ms[row])),
            ("rtt_p95_ms", Json::number(flows.rtt_p95_ms[row])),
            ("retransmits", Json::whole(flows.retransmits[row])),
            ("timeouts", Json::whole(flows.timeouts[row])),
            ("transfers", Json::whole(flows.transfers[row])),
            ("completion_s", Json::number(flows.completion_s[row])),
            ("lost_packets", Json::whole(flows.lost_packets[row])),
            ("start_s", Json::number(flows.start_s[row])),
            ("stop_s", Json::number(flows.stop_s[row])),
        ])
    }))
}

fn links(result: &RunResult) -> Json {
    let links = &result.links;
    Json::list((0..links.link.len()).map(|row| {
        Json::object([
            ("link", Json::text(&links.link[row])),
            ("direction", Json::text(links.direction[row])),
            ("rate_bps", Json::number(links.rate_bps[row])),
            ("utilisation", Json::number(links.utilisation[row])),
            ("mean_backlog_packets", Json::number(links.mean_backlog_packets[row])),
            ("max_backlog_packets", Json::whole(u64::from(links.max_backlog_packets[row]))),
            ("sojourn_mean_ms", Json::number(links.sojourn_mean_ms[row])),
            ("sojourn_p95_ms", Json::number(links.sojourn_p95_ms[row])),
            ("dropped_packets", Json::whole(links.dropped_packets[row])),
            ("marked_packets", Json::whole(links.marked_packets[row])),
        ])
    }))
}

/// An in-memory file. Clones share its contents.
#[derive(Clone, Debug, Default)]
struct File(Arc<Mutex<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if file.len() + bytes.len() > MOST_CAPTURED {
            return Err(io::Error::other("the capture is larger than the page can hold: use `lopsided run --pcap`"));
        }
        file.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs the scenario and returns a capture at a host, as a pcapng file.
///
/// # Errors
/// Returns the errors of the scenario, or an error if the capture is too large.
pub fn capture(request: &Request, host: &str) -> Result<Answer, Problems> {
    let scenario = request.scenario()?;
    let view = View::whole(&scenario, 100);
    let mut session = Session::open(scenario, view)?;
    let labels = node_labels(&session.scenario);
    let label = labels.iter().find(|label| label.kind == NodeKind::Host && label.name == host);
    let label = label.ok_or_else(|| Problems::of(format!("there is no host `{host}`")))?;
    let file = File::default();
    let capture = Capture::new(file.clone(), vec![Tap::host(host, label.node)], Duration::ZERO);
    let options = RunOptions { observers: vec![Box::new(capture.clone())], ..RunOptions::default() };
    let scenario = Arc::clone(&session.scenario);
    session.run =
        Run::new(scenario, session.scenario.seed, options).map_err(|error| Problems::of(error.to_string()))?;
    // Run in slices, so that the limit of events applies here too.
    while !session.advance(1e9, 1 << 20)? {}
    capture.finish().map_err(|error| Problems::of(error.to_string()))?;
    let bytes = std::mem::take(&mut *file.0.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Answer::raw(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the digest, and the packets of a period as JSON with their columns.
    fn packets(view: View, change: impl FnOnce(&mut RunOptions)) -> (u64, Answer) {
        let text = include_str!("../../../scenarios/adsl.toml");
        let set = [("link.down.loss".to_owned(), "0.1 %".to_owned())];
        let scenario = Arc::new(Scenario::parse(text, "adsl.toml", &set).expect("a scenario"));
        let (packets, mut options) = watch(&scenario, &view).expect("a link");
        change(&mut options);
        let run = Run::new(Arc::clone(&scenario), 1, options).expect("a network");
        let result = run.finish(&Monitor::default()).expect("a run");
        let mut columns = Columns::default();
        let head = packets.head(&mut columns);
        (result.digest, columns.into_answer([("packets", head)]))
    }

    #[test]
    fn recording_only_near_the_view_yields_the_same_packets() {
        let text = include_str!("../../../scenarios/adsl.toml");
        let scenario = Scenario::parse(text, "adsl.toml", &[]).expect("a scenario");
        for (packets_from_s, packets_to_s) in [(90.0, 95.0), (0.0, 3.0), (170.0, 180.0)] {
            let whole = View { packets_from_s, packets_to_s, ..View::whole(&scenario, 100) };
            let zoomed = View { from_s: packets_from_s, to_s: packets_to_s, ..whole };
            for (view, has_steps) in [(whole, false), (zoomed, true)] {
                let near = packets(view, |options| {
                    assert_eq!(options.watched.map(|watched| watched.hosts_before), Some(has_steps));
                });
                let always = packets(view, |options| options.watched = None);
                assert!(near.1.bytes().len() > 30_000);
                assert!(near == always, "{packets_from_s} s, steps: {has_steps}");
            }
        }
    }
}
