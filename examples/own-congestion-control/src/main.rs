//! Compares two user-defined congestion controls with Reno and CUBIC. Each downloads in turn over an asymmetric link of
//! 16 and 1 Mbit/s.

mod gentle;
mod shallow;

use gentle::Gentle;
use lopsided_core::Duration;
use lopsided_scenario::Scenario;
use lopsided_sim::{Monitor, RunControllers, RunOptions};
use lopsided_tcp::cc::WindowController;
use shallow::Shallow;
use std::error::Error;
use std::fmt::Write;

const LINE: &str = r#"
[scenario]
duration = "60 s"

[link]
rtt = "40 ms"
down = { rate = "16 Mbit/s", queue = "200 ms" }
up = { rate = "1 Mbit/s", queue = "200 ms" }

[[flow]]
name = "download"
direction = "down"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", table()?);
    Ok(())
}

/// Runs each congestion control and returns a table of the results.
fn table() -> Result<String, Box<dyn Error>> {
    let controllers = own()?;
    let mut table = format!("{:<10} {:>8} {:>9} {:>8}\n", "", "Mbit/s", "RTT (ms)", "resent");
    for cc in ["reno", "cubic", "gentle", "shallow"] {
        let settings = [("flow.download.cc".to_owned(), cc.to_owned())];
        let scenario = Scenario::parse_with(LINE, "line.toml", &settings, &controllers.names())?;
        let options = RunOptions { controllers: controllers.clone(), ..RunOptions::default() };
        let run = lopsided_sim::run(&scenario, scenario.seed, options, &Monitor::default())?;
        let flows = &run.flows;
        let goodput = flows.goodput_bps[0] / 1e6;
        writeln!(table, "{cc:<10} {goodput:>8.2} {:>9.1} {:>8}", flows.rtt_mean_ms[0], flows.retransmits[0])?;
    }
    Ok(table)
}

/// Registers the names that scenarios may use in addition to the built-in ones, each with a function that creates a
/// controller for a connection.
fn own() -> Result<RunControllers, Box<dyn Error>> {
    let mut controllers = RunControllers::default();
    controllers.add("gentle", |setup| Box::new(WindowController::new(setup, Gentle)))?;
    controllers.add("shallow", |setup| Box::new(Shallow::new(setup, Duration::from_millis(10))))?;
    Ok(controllers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopsided_tcp::cc::Signal;
    use lopsided_tcp::cc::harness::{MSS, Path, path_state, setup};

    /// Runs one controller for 20 s, until its window has settled, on a link with 20 Mbit/s, an RTT of 50 ms and a
    /// queue of one bandwidth-delay product (86 segments).
    fn settled(name: &str) -> Path {
        let make = own().unwrap().get(name).unwrap();
        let mut path = Path::new(make(&setup()), 20.0, Duration::from_millis(50), 86);
        path.run(Duration::from_secs(20));
        path
    }

    #[test]
    fn the_guide_contains_the_table_that_the_program_prints() {
        let guide = include_str!("../../../docs/own-congestion-control.md");
        let table = table().unwrap();
        assert!(
            guide.contains(&format!("```\n{table}```")),
            "docs/own-congestion-control.md lacks this table:\n{table}"
        );
    }

    #[test]
    fn each_control_fills_a_line_alone() {
        for name in ["gentle", "shallow"] {
            let share = settled(name).run(Duration::from_secs(20));
            assert!(share > 0.9, "{name} uses {share} of the line");
        }
    }

    #[test]
    fn gentle_reduces_the_window_to_three_quarters_after_a_loss() {
        let Path { mut controller, now, .. } = settled("gentle");
        let before = controller.cwnd().get() / MSS;
        controller.on_congestion(now, Signal::Loss, &path_state());
        assert_eq!(controller.cwnd().get() / MSS, before * 3 / 4);
    }

    #[test]
    fn shallow_loses_no_packets_in_the_steady_state() {
        let mut path = settled("shallow");
        let losses = path.losses;
        path.run(Duration::from_secs(20));
        assert_eq!(path.losses, losses);
    }
}
