//! Sentences that compare two runs of nearly the same scenario.

use crate::account::{Account, FlowFacts, LinkFacts};
use crate::units;

/// Smallest relative change that is mentioned.
const NOTABLE: f64 = 0.05;
/// Smallest difference that is mentioned, in milliseconds.
const NOTABLE_MS: f64 = 1.0;
/// Maximum number of flows, and of queues, that are mentioned. The flows and queues with the largest changes are
/// chosen.
const SHOWN: usize = 3;

/// Describes the changes from one run to another: goodput and RTT of flows, and queueing delays. The largest changes
/// come first.
pub fn difference(before: &Account, after: &Account) -> Vec<String> {
    let mut found: Vec<(f64, String)> = Vec::new();
    for flow in &after.flows {
        let Some(old) = before.flows.iter().find(|old| old.name == flow.name) else { continue };
        found.extend(flow_change(old, flow));
    }
    let mut sentences = largest(found);
    let queues = after.links.iter().filter_map(|link| {
        let same = |old: &&LinkFacts| old.link == link.link && old.direction == link.direction;
        queue_change(before.links.iter().find(same)?, link)
    });
    sentences.extend(largest(queues.collect()));
    let unmatched = |flows: &[FlowFacts], others: &[FlowFacts]| {
        flows.iter().filter(|flow| others.iter().all(|other| other.name != flow.name)).count()
    };
    let (new, gone) = (unmatched(&after.flows, &before.flows), unmatched(&before.flows, &after.flows));
    if new + gone > 0 {
        sentences.push(format!("{new} flows are new, {gone} are gone."));
    }
    if sentences.is_empty() {
        let share = units::percent(NOTABLE);
        sentences.push(format!("No goodput, round trip or wait differs by more than {share}."));
    }
    sentences
}

fn largest(mut found: Vec<(f64, String)>) -> Vec<String> {
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.truncate(SHOWN);
    found.into_iter().map(|(_, sentence)| sentence).collect()
}

/// Returns the size of a change, which is the absolute logarithm of the ratio. `None` if the change is too small to be
/// mentioned.
fn change(before: f64, after: f64) -> Option<f64> {
    // On a logarithmic scale, doubling and halving are equally large changes.
    let log = (after / before).ln().abs();
    // The ratio is infinite or 0 if one of the values is 0, and undefined if both values are 0.
    if before > 0.0 || after > 0.0 { Some(log).filter(|log| *log >= (1.0 + NOTABLE).ln()) } else { None }
}

fn millis_change(before: f64, after: f64) -> Option<f64> {
    change(before, after).filter(|_| (after - before).abs() >= NOTABLE_MS)
}

fn flow_change(old: &FlowFacts, new: &FlowFacts) -> Option<(f64, String)> {
    let goodput = change(old.goodput_bps, new.goodput_bps);
    let rtt = millis_change(old.rtt_mean_ms, new.rtt_mean_ms);
    let trips = if new.is_datagrams { "one-way times" } else { "round trips" };
    let name = &new.name;
    let rates = format!("{} instead of {}", units::rate(new.goodput_bps), units::rate(old.goodput_bps));
    let times = format!("{} instead of {}", units::millis(new.rtt_mean_ms), units::millis(old.rtt_mean_ms));
    match (goodput, rtt) {
        (None, None) => None,
        (Some(size), None) => Some((size, format!("{name} gets {rates}."))),
        (None, Some(size)) => Some((size, format!("{trips} of {name} take {times} on average."))),
        (Some(one), Some(other)) => {
            Some((one.max(other), format!("{name} gets {rates}, and its {trips} take {times} on average.")))
        }
    }
    .map(|(size, sentence)| (size, capitalised(&sentence, name)))
}

/// Capitalizes the first word of a sentence, unless the word is the flow's name.
fn capitalised(sentence: &str, name: &str) -> String {
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) if !sentence.starts_with(name) => first.to_uppercase().chain(letters).collect(),
        _ => sentence.to_owned(),
    }
}

fn queue_change(old: &LinkFacts, new: &LinkFacts) -> Option<(f64, String)> {
    let wait = |link: &LinkFacts| if link.sojourn_mean_ms.is_finite() { link.sojourn_mean_ms } else { 0.0 };
    let size = millis_change(wait(old), wait(new))?;
    let (now, then) = (units::millis(wait(new)), units::millis(wait(old)));
    Some((size, format!("Packets wait {now} instead of {then} in the queue of {} {}.", new.link, new.direction)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopsided_scenario::Scenario;
    use lopsided_sim::{Monitor, RunOptions};

    fn account(limit: &str) -> Account {
        let text = include_str!("../../../scenarios/adsl.toml");
        let limit = [("link.up.queue.limit".to_owned(), limit.to_owned())];
        let scenario = Scenario::parse(text, "adsl.toml", &limit).expect("a scenario");
        let run = lopsided_sim::run(&scenario, 1, RunOptions::default(), &Monitor::default()).expect("it runs");
        Account::of(&scenario, &run)
    }

    #[test]
    fn the_effect_of_a_shorter_buffer_is_described() {
        let output = difference(&account("50 packets"), &account("15 packets")).join(" ");
        assert!(output.contains("download gets ") && output.contains(" instead of 1.38 Mbit/s"), "{output}");
        assert!(output.contains("instead of 329 ms in the queue of link up."), "{output}");
    }

    #[test]
    fn equal_runs_have_no_differences() {
        let one = account("50 packets");
        assert_eq!(difference(&one, &one), ["No goodput, round trip or wait differs by more than 5.0 %."]);
    }
}
