//! Measures the cost of a delivered data packet: `bench m`, `bench d100`, `bench d1g`, `bench shared`, each with
//! `flows=N`, `loss=P`, `seconds=S`, `cc=NAME`, `profile=NAME`, `transport=KIND`, `queue=KIND`, `stage=1`, `watch=1`,
//! `cores=N`. `bench controls` prints the names for `cc`.
//!
//! The workloads are the same as in the comparison with other simulators:
//!
//! - **m**: an access line of 2.4 Mbit/s down and 196 kbit/s up with buffers of 50 packets. A download runs for 240 s,
//!   and an upload starts after 120 s.
//! - **d100** and **d1g**: 20 downloads run for 30 s over a bottleneck of 100 Mbit/s or 1 Gbit/s. The access links are
//!   ten times as fast, the RTT is 40 ms, and the buffer is one BDP.
//! - **shared**: any number of downloads with `share=N` Mbit/s each (default 5), between at most 10,000 pairs of hosts.
//!
//! `stage` inserts a stage that forwards every ACK. `watch` adds an observer of all packets.

use lopsided_app::AppConfig;
use lopsided_core::{BitRate, Dir, Duration, Event, EventMask, NodeId, Observer, Time};
use lopsided_link::{LinkConfig, LossConfig};
use lopsided_queue::{CodelQueueConfig, FqCodelConfig, QueueConfig};
use lopsided_scenario::{FlowSpec, Graph, LinkSpec, NodeRef, RecordSpec, Scenario, TransportConfig};
use lopsided_sim::{Monitor, Run, RunError, RunOptions};
use lopsided_stage::{AckThinningConfig, StageConfig};
use lopsided_tcp::StackConfig;
use std::process::ExitCode;
use std::sync::Arc;

struct Workload {
    name: String,
    /// Rates of the bottleneck, down and up, in bit/s.
    rates: (u64, u64),
    access: u64,
    flows: usize,
    queue: u32,
    seconds: u64,
    loss: f64,
    stack: Arc<StackConfig>,
    transport: TransportConfig,
    discipline: String,
    stage: bool,
    watch: bool,
    cores: usize,
    /// Rate of the bottleneck per flow, in Mbit/s; `None` if the rate of the bottleneck is fixed.
    share_mbps: Option<u64>,
}

/// Maximum number of hosts on each side.
const PAIRS: usize = 10_000;
/// Size of a full packet in bytes.
const PACKET: u64 = 1500;
/// Round-trip time without queues, in ms.
const RTT_MS: u64 = 40;

/// An observer of all packets.
struct Counter(u64);

impl Observer for Counter {
    fn mask(&self) -> EventMask {
        EventMask::PACKETS
    }

    fn record(&mut self, _at: Time, _node: NodeId, _event: &Event<'_>) {
        self.0 += 1;
    }
}

fn main() -> ExitCode {
    // `cargo bench` passes options such as `--bench`, which this program ignores.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if arguments.first().is_some_and(|first| first == "controls") {
        println!("{}", lopsided_tcp::CONTROLLERS.join(" "));
        return ExitCode::SUCCESS;
    }
    match workload(&arguments) {
        Ok(workload) => measure(&workload),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn workload(arguments: &[String]) -> Result<Workload, String> {
    let name = arguments.first().map_or("m", String::as_str);
    let mut workload = match name {
        "m" => Workload::new(name, (2_400_000, 196_000), 100_000_000, 1, 50, 240),
        "d100" => Workload::new(name, (100_000_000, 100_000_000), 1_000_000_000, 20, 333, 30),
        "d1g" => Workload::new(name, (1_000_000_000, 1_000_000_000), 10_000_000_000, 20, 3333, 30),
        "shared" => {
            let workload = Workload::new(name, (0, 0), 1_000_000_000, 20, 0, 5);
            Workload { share_mbps: Some(5), ..workload }
        }
        other => return Err(format!("no workload {other:?}: m, d100, d1g, shared or controls")),
    };
    for argument in arguments.iter().skip(1) {
        let (key, value) = argument.split_once('=').ok_or(format!("{argument:?} is not key=value"))?;
        let bad = |_| format!("{value:?} is not a valid value of {key}");
        match key {
            "flows" => workload.flows = value.parse().map_err(|_| bad(()))?,
            "seconds" => workload.seconds = value.parse().map_err(|_| bad(()))?,
            "loss" => workload.loss = value.parse().map_err(|_| bad(()))?,
            "cc" => Arc::make_mut(&mut workload.stack).cc = value.to_owned(),
            "profile" => Arc::make_mut(&mut workload.stack).profile = value.to_owned(),
            "transport" => workload.transport = transport(value)?,
            "queue" if ["fifo", "codel", "fq_codel"].contains(&value) => workload.discipline = value.to_owned(),
            "queue" => return Err(format!("no queue {value:?} here: fifo, codel or fq_codel")),
            "stage" => workload.stage = value == "1",
            "watch" => workload.watch = value == "1",
            "cores" => workload.cores = value.parse().map_err(|_| bad(()))?,
            "share" => workload.share_mbps = Some(value.parse().map_err(|_| bad(()))?),
            _ => {
                let known = "flows, seconds, loss, cc, profile, transport, queue, stage, watch, cores or share";
                return Err(format!("no setting {key:?}: {known}"));
            }
        }
    }
    if let Some(share) = workload.share_mbps {
        let rate = share * 1_000_000 * workload.flows as u64;
        workload.rates = (rate, rate);
        // One BDP in packets, but at least 4 packets.
        workload.queue = (rate * RTT_MS / 1000 / 8 / PACKET).max(4) as u32;
    }
    Ok(workload)
}

/// Returns a transport with its default settings.
fn transport(kind: &str) -> Result<TransportConfig, String> {
    let line =
        "[scenario]\nduration = \"1 s\"\n[link]\nrtt = \"1 ms\"\ndown.rate = \"1 Mbit/s\"\nup.rate = \"1 Mbit/s\"";
    let text = format!("{line}\n[[flow]]\ndirection = \"down\"\ntransport = \"{kind}\"");
    let scenario = Scenario::parse(&text, "transport", &[]).map_err(|errors| errors.to_string())?;
    Ok(scenario.flows[0].transport.clone())
}

impl Workload {
    fn new(name: &str, rates: (u64, u64), access: u64, flows: usize, queue: u32, seconds: u64) -> Workload {
        Workload {
            name: name.to_owned(),
            rates,
            access,
            flows,
            queue,
            seconds,
            loss: 0.0,
            stack: Arc::new(StackConfig::new("linux-6.1", "reno")),
            transport: TransportConfig::default(),
            discipline: "fifo".to_owned(),
            stage: false,
            watch: false,
            cores: 1,
            share_mbps: None,
        }
    }

    /// Builds senders and receivers around two routers. The one-way delays are 1 ms, 18 ms and 1 ms.
    fn scenario(&self) -> Scenario {
        let two_way = self.name == "m";
        let pairs = self.flows.min(PAIRS);
        let [bottleneck, access] = [true, false].map(|bottleneck| self.line(bottleneck));
        let mut links = vec![link("bottleneck", NodeRef::Router(0), NodeRef::Router(1), &bottleneck)];
        for number in 0..pairs {
            links.push(link(&format!("left{number}"), NodeRef::Host(number), NodeRef::Router(0), &access));
            links.push(link(&format!("right{number}"), NodeRef::Router(1), NodeRef::Host(pairs + number), &access));
        }
        // Flows start within 1 s. If there are more than 1,000 flows on a bottleneck with a fixed rate, all flows start
        // at time 0.
        let start = |n: usize| match self.flows as u64 {
            0..=20 => Duration::from_millis(50 * n as u64),
            flows if self.share_mbps.is_some() => Duration::from_micros(1_000_000 * n as u64 / flows),
            flows => Duration::from_millis(1_000 / flows * n as u64),
        };
        let mut flows: Vec<FlowSpec> =
            (0..self.flows).map(|n| self.flow(&format!("down{n}"), n % pairs, pairs + n % pairs, start(n))).collect();
        if two_way {
            flows.push(self.flow("up", self.flows, 0, Duration::from_secs(self.seconds / 2)));
        }
        let side = |side: &str| (0..pairs).map(|n| format!("{side}{n}")).collect::<Vec<_>>();
        let graph = Graph {
            hosts: [side("s"), side("c")].concat(),
            routers: vec!["r1".to_owned(), "r2".to_owned()],
            links,
            media: Vec::new(),
        };
        Scenario {
            name: self.name.clone(),
            title: None,
            duration: Duration::from_secs(self.seconds),
            seed: 1,
            graph,
            interfaces: std::collections::BTreeMap::new(),
            flows,
            record: RecordSpec { interval: None, ..RecordSpec::default() },
            fairness: None,
        }
    }

    /// Returns the settings for both directions of a link: the bottleneck if `bottleneck` is true, otherwise an access
    /// link.
    fn line(&self, bottleneck: bool) -> [Arc<LinkConfig>; 2] {
        let dir = |rate: u64, loss: f64| LinkConfig {
            rate: Some(BitRate::from_bps(if bottleneck { rate } else { self.access })),
            delay: Duration::from_millis(if bottleneck { 18 } else { 1 }),
            queue: if bottleneck { self.queue() } else { QueueConfig::packets(100_000) },
            loss: LossConfig { random: if bottleneck { loss } else { 0.0 }, ..LossConfig::default() },
            stages: if bottleneck { self.stages() } else { Vec::new() },
            ..LinkConfig::default()
        };
        [dir(self.rates.0, self.loss), dir(self.rates.1, 0.0)].map(Arc::new)
    }

    fn queue(&self) -> QueueConfig {
        match self.discipline.as_str() {
            "codel" => QueueConfig::new(CodelQueueConfig::default()),
            "fq_codel" => QueueConfig::new(FqCodelConfig::default()),
            _ => QueueConfig::packets(self.queue),
        }
    }

    /// Returns one stage that forwards everything.
    fn stages(&self) -> Vec<StageConfig> {
        let passes = || StageConfig::new(AckThinningConfig { keep: 1, ..AckThinningConfig::default() });
        self.stage.then(passes).into_iter().collect()
    }

    fn flow(&self, name: &str, from: usize, to: usize, start: Duration) -> FlowSpec {
        FlowSpec {
            name: name.to_owned(),
            group: name.to_owned(),
            from,
            to,
            direction: Some(if name == "up" { Dir::Up } else { Dir::Down }),
            start: Time::ZERO + start,
            start_jitter: Duration::ZERO,
            stop: Time::ZERO + Duration::from_secs(self.seconds),
            app: AppConfig::default(),
            transport: self.transport.clone(),
            from_stack: Arc::clone(&self.stack),
            to_stack: Arc::clone(&self.stack),
        }
    }
}

fn measure(workload: &Workload) -> ExitCode {
    let scenario = workload.scenario();
    let mut options = RunOptions { cores: workload.cores, ..RunOptions::default() };
    if workload.watch {
        options.observers.push(Box::new(Counter(0)));
    }
    let ended = Run::new(&scenario, 1, options).map_err(RunError::from).and_then(|prepared| {
        let before = cpu_seconds();
        Ok((prepared.finish(&Monitor::default())?, cpu_seconds() - before))
    });
    let (result, seconds) = match ended {
        Ok(ended) => ended,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let packets: u64 = result.flows.data_segments_in.iter().sum();
    let sent: u64 = result.flows.data_segments_out.iter().sum();
    // Number of packets that the queues of the bottleneck sent, in both directions.
    let crossed: u64 = result.links.sent_packets.iter().take(2).sum();
    let goodputs = &result.flows.goodput_bps;
    let retransmits: u64 = result.flows.retransmits.iter().sum();
    println!(
        "workload={} flows={} loss={} packets={packets} sent={sent} events={} cpu_s={seconds:.3} us_per_packet={:.3} crossed_per_s={:.0} events_per_packet={:.2} \
         peak_rss_mb={:.1} retransmits={retransmits} sum_mbps={:.3} min_mbps={:.3} max_mbps={:.3} digest={:016x}",
        workload.name,
        workload.flows,
        workload.loss,
        result.events,
        1e6 * seconds / packets as f64,
        crossed as f64 / seconds,
        result.events as f64 / packets as f64,
        peak_memory_mb(),
        goodputs.iter().sum::<f64>() / 1e6,
        goodputs.iter().copied().fold(f64::INFINITY, f64::min) / 1e6,
        goodputs.iter().copied().fold(0.0, f64::max) / 1e6,
        result.digest,
    );
    ExitCode::SUCCESS
}

/// Returns the CPU time of this process in seconds.
fn cpu_seconds() -> f64 {
    let nanos = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanos = nanos.and_then(|text| text.split_whitespace().next().and_then(|first| first.parse::<f64>().ok()));
    nanos.map_or_else(wall_seconds, |nanos| nanos / 1e9)
}

#[allow(clippy::disallowed_methods)] // A benchmark is about real time.
fn wall_seconds() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Returns the peak memory of this process in MB; NaN if the system does not report it.
fn peak_memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next().and_then(|number| number.parse::<f64>().ok()));
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1000.0)
}

fn link(name: &str, from: NodeRef, to: NodeRef, [down, up]: &[Arc<LinkConfig>; 2]) -> LinkSpec {
    LinkSpec { name: name.to_owned(), from, to, down: down.clone(), up: up.clone(), one_way: false }
}
