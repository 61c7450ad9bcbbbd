//! The network knows no clock: driven by the pump on another one than the simulator's loop, every scenario gives the same packets.

use lopsided_core::{Duration, NodeId, Packet, Time};
use lopsided_live::{Io, Pumped, Wake, pump};
use lopsided_scenario::Scenario;
use lopsided_sim::{Monitor, Prepared, RunOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A clock as a machine has one: whoever sleeps by it wakes a little early or late for no reason.
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
        panic!("all hosts are inside, and {edge:?} is none")
    }

    fn wait(&mut self, until: Time) -> io::Result<Wake> {
        self.naps += 1;
        // Every seventh sleep ends early, every third by up to 2 ms late.
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
    let papers = std::fs::read_dir(root.join("python/lopsided/papers")).expect("the papers are there");
    folders.extend(papers.map(|paper| paper.expect("a folder").path().join("scenarios")).filter(|path| path.is_dir()));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder of scenarios"));
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() > 10, "{files:?}");
    files
}

/// Long enough for losses, timeouts and transfers in each.
const SHORTENED: Duration = Duration::from_secs(12);

#[test]
fn the_pump_gives_the_digest_of_every_scenario() {
    for file in scenarios() {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let name = file.display().to_string();
        let mut scenario = Scenario::parse(&text, &name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        scenario.duration = scenario.duration.min(SHORTENED);
        let prepared = || Prepared::new(&scenario, 1, RunOptions::default()).expect("it can be built");
        let simulated = prepared().finish(&Monitor::default()).expect("it balances");
        let (mut clock, mut pumped) = (Clock { now: Time::ZERO, naps: 0 }, Pumped::default());
        let driven = prepared()
            .finish_on(|network, until| pump(network, &mut clock, until, &mut pumped).expect("a clock does not fail"))
            .expect("it balances");
        assert_eq!(driven.digest, simulated.digest, "{name}");
        assert_eq!(driven.events, simulated.events, "{name}");
        assert_eq!(driven.flows.delivered_bytes, simulated.flows.delivered_bytes, "{name}");
    }
}
