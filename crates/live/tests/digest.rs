//! Every scenario produces the same packets in the simulator and in the pump.

use lopsided_core::{Duration, NodeId, Packet, Time, wire};
use lopsided_live::{Io, Pumped, Wake, pump};
use lopsided_scenario::Scenario;
use lopsided_sim::{Monitor, Passage, Run, RunOptions};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A test double of a real clock: waits end slightly early or late.
struct Clock {
    now: Time,
    naps: u64,
}

impl Io for Clock {
    fn now(&mut self) -> Time {
        self.now
    }

    fn receive(&mut self, _packet: &mut Vec<u8>) -> io::Result<Option<NodeId>> {
        Ok(None)
    }

    fn send(&mut self, edge: NodeId, _packet: &Packet) -> io::Result<()> {
        panic!("all hosts are inside, but {edge:?} is not a host")
    }

    fn wait(&mut self, until: Time) -> io::Result<Wake> {
        self.naps += 1;
        // Every seventh sleep ends early, and every third sleep ends up to 2 ms late.
        let woken = match self.naps % 21 {
            nap if nap % 7 == 0 => self.now + until.saturating_since(self.now) / 2,
            nap if nap % 3 == 0 => until + Duration::from_micros(100 * nap),
            _ => until,
        };
        self.now = woken.max(self.now + Duration::from_nanos(1));
        Ok(Wake::Look)
    }
}

fn scenarios() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("scenarios")];
    let papers = std::fs::read_dir(root.join("python/lopsided/papers")).expect("the folder of papers exists");
    folders.extend(papers.map(|paper| paper.expect("a folder").path().join("scenarios")).filter(|path| path.is_dir()));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder of scenarios"));
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() > 10, "{files:?}");
    files
}

/// A duration that is long enough for losses, timeouts and transfers in each scenario.
const SHORTENED: Duration = Duration::from_secs(12);

#[test]
fn the_pump_reproduces_the_digest_of_every_scenario() {
    let (files, next) = (scenarios(), AtomicUsize::new(0));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    the_pump_reproduces_the_digest_of(file);
                }
            });
        }
    });
}

fn the_pump_reproduces_the_digest_of(file: &Path) {
    let text = std::fs::read_to_string(file).expect("a readable file");
    let name = file.display().to_string();
    let mut scenario = Scenario::parse(&text, &name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
    scenario.duration = scenario.duration.min(SHORTENED);
    let prepared = || Run::new(&scenario, 1, RunOptions::default()).expect("the scenario is valid");
    let simulated = prepared().finish(&Monitor::default()).expect("every packet is accounted for");
    let (mut clock, mut pumped) = (Clock { now: Time::ZERO, naps: 0 }, Pumped::default());
    let driven = prepared()
        .finish_on(|network, until| pump(network, &mut clock, until, &mut pumped).expect("a clock does not fail"))
        .expect("every packet is accounted for");
    assert_eq!(driven.digest, simulated.digest, "{name}");
    assert_eq!(driven.events, simulated.events, "{name}");
    assert_eq!(driven.flows.delivered_bytes, simulated.flows.delivered_bytes, "{name}");
}

/// A model of the kernel in a passage: it forwards packets as bytes without delay, and decrements the TTL.
struct Carrier {
    now: Time,
    passages: Vec<Passage>,
    waiting: VecDeque<(NodeId, Vec<u8>)>,
    carried: u64,
}

impl Io for Carrier {
    fn now(&mut self) -> Time {
        self.now
    }

    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<NodeId>> {
        let Some((edge, octets)) = self.waiting.pop_front() else { return Ok(None) };
        *packet = octets;
        Ok(Some(edge))
    }

    fn send(&mut self, edge: NodeId, packet: &Packet) -> io::Result<()> {
        let other = |passage: &Passage| match edge {
            edge if edge == passage.near => Some(passage.far),
            edge if edge == passage.far => Some(passage.near),
            _ => None,
        };
        let other = self.passages.iter().find_map(other).expect("an edge of a passage");
        self.waiting.push_back((other, wire::encode(packet)));
        self.carried += 1;
        Ok(())
    }

    fn wait(&mut self, until: Time) -> io::Result<Wake> {
        if self.waiting.is_empty() {
            self.now = until;
        }
        Ok(Wake::Look)
    }
}

/// ACC's TCP option, SACK blocks and ECN marks survive the conversion to bytes and back.
#[test]
fn encoding_packets_between_a_host_and_its_link_changes_no_result() {
    let red =
        r#"{ kind = "red", limit = "30 packets", min = "5 packets", max = "15 packets", ecn = true, marks = "all" }"#;
    encoding_changes_nothing("\"30 packets\"", "");
    encoding_changes_nothing("\"30 packets\"", "ack_policy = \"acc_peerwin\"");
    encoding_changes_nothing(red, "ack_policy = \"acc\"");
    encoding_changes_nothing(red, "ecn = \"on\"");
}

fn encoding_changes_nothing(queue: &str, stack: &str) {
    let text = r#"
        [scenario]
        duration = "20 s"
        [link]
        rtt = "41.379 ms"
        down = { rate = "3917303 bit/s", queue = "20 packets" }
        up = { rate = "61307 bit/s", queue = QUEUE }
        [stack]
        STACK
        [[flow]]
        name = "download"
        direction = "down"
        app = "2 MB"
        [[flow]]
        name = "upload"
        direction = "up"
        start = "1 s"
    "#
    .replace("QUEUE", queue)
    .replace("STACK", stack);
    let scenario = Scenario::parse(&text, "carried.toml", &[]).expect("a line");
    let plain = Run::new(&scenario, 1, RunOptions::default()).expect("a line").finish(&Monitor::default());
    let plain = plain.expect("every packet is accounted for").flows;
    let options = RunOptions { passages: vec![0, 1], ..RunOptions::default() };
    let prepared = Run::new(&scenario, 1, options).expect("a line");
    let passages = prepared.passages();
    let (mut carrier, mut pumped) =
        (Carrier { now: Time::ZERO, passages, waiting: VecDeque::new(), carried: 0 }, Pumped::default());
    let run = prepared.finish_on(|network, until| {
        pump(network, &mut carrier, until, &mut pumped).expect("the link delivers the packet")
    });
    let carried = run.expect("every packet is accounted for").flows;
    assert!(carrier.carried > 400 && pumped.malformed == 0, "{} {pumped:?}", carrier.carried);
    assert_eq!(carried.delivered_bytes, plain.delivered_bytes, "{queue} {stack}");
    assert_eq!(carried.data_segments_out, plain.data_segments_out, "{queue} {stack}");
    assert_eq!(carried.retransmits, plain.retransmits, "{queue} {stack}");
    assert!(plain.delivered_bytes[0] > 500_000 && plain.retransmits[0] > 0, "a path with losses");
}
