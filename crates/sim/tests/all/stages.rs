//! Stages of a link: their order on the path, the packets that they see, and their rows in the results.

use crate::{run, scenario};
use lopsided_core::{Count, Cx, Dir, DropReason, Packet};
use lopsided_link::LinkConfig;
use lopsided_scenario::Scenario;
use lopsided_sim::{Monitor, PartTable, RunOptions, RunResult};
use lopsided_spec::{Fault, Key, Part};
use lopsided_stage::{Outlet, Stage, StageConfig, StageKind, StageRole, StageSide};

const THINNED: &str = include_str!("../../../../scenarios/thinned-acks.toml");

/// Returns the value of a quantity at the end of the run.
fn last(parts: &PartTable, node: &str, quantity: &str) -> f64 {
    let found =
        (0..parts.value.len()).rev().find(|&row| &*parts.node[row] == node && &*parts.quantity[row] == quantity);
    parts.value[found.unwrap_or_else(|| panic!("there is no {quantity} of {node}"))]
}

fn run_scenario(scenario: &Scenario) -> RunResult {
    lopsided_sim::run(scenario, 1, RunOptions::default(), &Monitor::default()).unwrap()
}

#[test]
fn ack_thinning_shortens_the_queue_of_a_slow_uplink() {
    let thinned = run(THINNED);
    // The same scenario without the stage.
    let plain = run(&THINNED.replace("stages =", "#"));
    let [goodput, rtt] = [
        thinned.flows.goodput_bps[0] / plain.flows.goodput_bps[0],
        thinned.flows.rtt_mean_ms[0] / plain.flows.rtt_mean_ms[0],
    ];
    assert!(goodput > 0.98 && rtt < 0.8, "goodput and RTT are {goodput} and {rtt} times those without the stage");
    assert!(thinned.conservation.holds());
    let [arrived, sent, dropped] = ["arrived_packets", "sent_packets", "thinned_packets"]
        .map(|quantity| last(&thinned.parts, "link/1 ack_thinning", quantity));
    // At the end of the run, the stage holds at most one ACK.
    assert!(dropped > 0.5 * arrived && arrived - sent - dropped <= 1.0);
    let row = thinned.drops.reason.iter().position(|reason| *reason == DropReason::AckThinned.name()).unwrap();
    assert_eq!((thinned.drops.packets[row] as f64, thinned.drops.direction[row]), (dropped, "up"));
    assert!(plain.drops.reason.iter().all(|reason| *reason != DropReason::AckThinned.name()));
}

/// A stage that forwards and counts all packets, and records the order in which packets pass the stages.
#[derive(Clone, Debug, Default, PartialEq)]
struct Witness {
    exit: bool,
    sees_reverse: bool,
}

impl Part for Witness {
    const NAME: &'static str = "witness";
    const TEXT: &'static str = "Counts.";
    const KEYS: &'static [Key<Witness>] = &[];
}

impl StageKind for Witness {
    fn side(&self) -> StageSide {
        if self.exit { StageSide::Exit } else { StageSide::Entry }
    }

    fn build(&self, _role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault> {
        Ok(Box::new(Counting { sees_reverse: self.sees_reverse, ..Counting::default() }))
    }
}

#[derive(Debug, Default)]
struct Counting {
    sees_reverse: bool,
    forward: Count,
    reverse: Count,
}

impl Stage for Counting {
    fn handle_packet(&mut self, packet: Packet, out: &mut Outlet, _cx: &mut Cx<'_>) {
        self.forward.record(packet.size());
        out.forward(packet);
    }

    fn sees_reverse(&self) -> bool {
        self.sees_reverse
    }

    fn handle_reverse(&mut self, packet: Packet, out: &mut Outlet, _cx: &mut Cx<'_>) {
        self.reverse.record(packet.size());
        out.reverse(packet);
    }

    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("forward_packets", self.forward.packets as f64);
        out("reverse_packets", self.reverse.packets as f64);
    }
}

#[test]
fn passive_stages_see_every_packet_and_change_nothing() {
    let plain = scenario(&THINNED.replace("stages =", "#"));
    let mut watched = plain.clone();
    let witness = |exit, sees_reverse| StageConfig::new(Witness { exit, sees_reverse });
    // Two entry stages, the second of which sees the other direction, and one exit stage.
    let stages = vec![witness(false, false), witness(false, true), witness(true, true)];
    for dir in Dir::BOTH {
        let config = LinkConfig { stages: stages.clone(), ..watched.graph.links[0].dir(dir).clone() };
        *watched.graph.links[0].dir_mut(dir) = config;
    }
    let (plain, watched) = (run_scenario(&plain), run_scenario(&watched));
    assert_eq!(plain.flows.delivered_bytes, watched.flows.delivered_bytes);
    assert_eq!(plain.links.sent_packets, watched.links.sent_packets);
    for (dir, direction) in Dir::BOTH.into_iter().enumerate() {
        let value = |place: usize, quantity: &str| {
            let parts = &watched.parts;
            let node = format!("link/{} witness", place + 1);
            let at = |row: &usize| *parts.node[*row] == *node && &*parts.quantity[*row] == quantity;
            let row = (0..parts.value.len()).rev().find(|row| at(row) && parts.direction[*row] == direction.name());
            parts.value[row.unwrap()] as u64
        };
        let (own, other) = (&watched.links, 1 - dir);
        assert_eq!(value(0, "forward_packets"), own.arrived_packets[dir]);
        assert_eq!(value(1, "forward_packets"), own.arrived_packets[dir]);
        assert_eq!(value(0, "reverse_packets"), 0, "the stage has not requested the other direction");
        // The stage sees packets of the other direction after their line, or before their queue.
        assert!(value(1, "reverse_packets").abs_diff(own.sent_packets[other]) <= 200);
        assert_eq!(value(2, "reverse_packets"), own.arrived_packets[other]);
    }
}
