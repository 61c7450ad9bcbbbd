//! Runs another TCP over one of lopsided's links: smoltcp, which scenarios select with `transport = "smoltcp"`.

mod endpoint;

use endpoint::Smoltcp;
use lopsided_scenario::Scenario;
use lopsided_sim::{Monitor, RunOptions, RunResult};
use std::error::Error;

const SCENARIO: &str = r#"
[scenario]
duration = "20 s"

[link]
rtt = "30 ms"
queue = "40 packets"
down.rate = "8 Mbit/s"
up.rate = "1 Mbit/s"

[[flow]]
name = "foreign"
direction = "down"
cc = "reno"
transport = { kind = "smoltcp", buffer = "128 KiB" }

[[flow]]
name = "ours"
direction = "down"
cc = "reno"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let flows = run(SCENARIO)?.flows;
    for flow in 0..flows.name.len() {
        println!("{} over {}: {:.2} Mbit/s", flows.name[flow], flows.profile[flow], flows.goodput_bps[flow] / 1e6);
    }
    Ok(())
}

fn run(text: &str) -> Result<RunResult, Box<dyn Error>> {
    lopsided_scenario::register_transport::<Smoltcp>()?;
    let scenario = Scenario::parse(text, "own-transport", &[])?;
    Ok(lopsided_sim::run(&scenario, scenario.seed, RunOptions::default(), &Monitor::default())?)
}

#[cfg(test)]
mod tests {
    use super::{SCENARIO, run};

    #[test]
    fn smoltcp_shares_a_line_with_the_simulators_tcp() {
        let result = run(SCENARIO).unwrap();
        assert_eq!(&*result.flows.profile[0], "smoltcp");
        assert!(result.flows.goodput_bps[0] > 0.5e6, "{:?}", result.flows.goodput_bps);
        assert!(result.flows.goodput_bps.iter().sum::<f64>() > 6e6, "{:?}", result.flows.goodput_bps);
        assert!(result.conservation.holds());
        assert_eq!(run(SCENARIO).unwrap().digest, result.digest);
    }

    #[test]
    fn a_transfer_is_complete_despite_losses() {
        let lossy = SCENARIO
            .replace("up.rate = \"1 Mbit/s\"", "up.rate = \"1 Mbit/s\"\ndown.loss = \"2 %\"")
            .replace("name = \"foreign\"", "name = \"foreign\"\napp = \"300 kB\"");
        let result = run(&lossy).unwrap();
        assert_eq!((result.flows.transfers[0], result.flows.delivered_bytes[0]), (1, 300_000));
    }
}
