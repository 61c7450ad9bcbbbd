//! A run with a user-defined queue discipline: see `docs/own-queue.md`.

mod marking;

use lopsided_scenario::Scenario;
use lopsided_sim::{Monitor, RunOptions, RunResult};
use marking::MarkingConfig;
use std::error::Error;

const SCENARIO: &str = r#"
[scenario]
duration = "10 s"

[stack]
ecn = true

[link]
rtt = "30 ms"
up = { rate = "1 Mbit/s" }

[link.down]
rate = "8 Mbit/s"
queue = { kind = "marking", limit = "40 packets", mark_above = "10 packets" }

[[flow]]
name = "download"
direction = "down"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let links = run()?.links;
    println!("{} packets left the queue, {} of them marked", links.sent_packets[0], links.marked_packets[0]);
    Ok(())
}

fn run() -> Result<RunResult, Box<dyn Error>> {
    lopsided_queue::register::<MarkingConfig>()?;
    let scenario = Scenario::parse(SCENARIO, "own-queue", &[])?;
    Ok(lopsided_sim::run(&scenario, scenario.seed, RunOptions::default(), &Monitor::default())?)
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn a_scenario_can_use_the_discipline_and_gets_its_marks() {
        let result = run().unwrap();
        assert!(result.links.marked_packets[0] > 0);
        assert!(result.conservation.holds());
        assert_eq!(run().unwrap().digest, result.digest);
    }
}
