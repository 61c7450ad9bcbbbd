//! Sentences about one run.
//!
//! A sentence is printed only if it applies to the run. The thresholds are the constants below.

use crate::account::{Account, FlowFacts, LinkFacts, goodput_between};
use crate::units;
use lopsided_scenario::Scenario;
use lopsided_sim::RunResult;

/// RTTs count as long only if their mean is at least this multiple of the smallest RTT.
const BLOAT: f64 = 2.0;
/// RTTs count as long only if their mean exceeds the smallest RTT by this many milliseconds.
const BLOAT_MS: f64 = 20.0;
/// A queueing delay below this fraction of the rise of the RTT does not explain the rise.
const EXPLAINED: f64 = 0.2;
/// Mean queueing delay in milliseconds from which a queue explains a loss of goodput.
const LONG_WAIT_MS: f64 = 50.0;
/// The verdict mentions a flow that keeps less than this fraction of its goodput.
const LOST_SHARE: f64 = 0.6;
/// Time that a flow needs to reach its steady rate, in seconds. It is also the shortest time over which goodput is
/// measured.
const SETTLED_S: f64 = 3.0;
/// Fraction of datagrams that a call must lose for the loss to be mentioned.
const MOST_LOST: f64 = 0.01;

/// Returns the verdict on a simulated run, as a list of sentences.
pub fn verdict(scenario: &Scenario, result: &RunResult) -> Vec<String> {
    let account = Account::of(scenario, result);
    let goodput = |flow: usize, start_s, stop_s| Ok::<_, ()>(goodput_between(&result.samples, flow, start_s, stop_s));
    account.sentences(goodput).unwrap_or_default()
}

impl Account {
    /// Returns the sentences about the run; empty if the run has no flows. `goodput` returns the mean goodput of a flow
    /// in bit/s between two times in seconds.
    ///
    /// # Errors
    /// Returns the errors of `goodput`.
    pub fn sentences<E>(&self, mut goodput: impl FnMut(usize, f64, f64) -> Result<f64, E>) -> Result<Vec<String>, E> {
        // A flow that delivered nothing has no meaningful goodput or RTT.
        let flows: Vec<(usize, &FlowFacts)> =
            self.flows.iter().enumerate().filter(|(_, flow)| flow.delivered_bytes > 0).collect();
        if flows.is_empty() {
            let nothing = (!self.flows.is_empty()).then(|| "No flow delivered anything.".to_owned());
            return Ok(nothing.into_iter().collect());
        }
        let queue = self.longest_queue();
        let mut found = Vec::new();
        found.extend(round_trips(&flows, queue));
        found.extend(self.starved(&flows, queue, &mut goodput)?);
        completions(&flows, &mut found);
        calls(&flows, &mut found);
        found.extend(to_try(queue));
        if found.is_empty() {
            let total: f64 = flows.iter().map(|(_, flow)| flow.goodput_bps).sum();
            let s = if flows.len() == 1 { "" } else { "s" };
            found.push(format!("{} flow{s} got {} in all.", flows.len(), units::rate(total)));
        }
        Ok(found)
    }

    /// Returns the queue with the longest mean queueing delay.
    pub(crate) fn longest_queue(&self) -> Option<&LinkFacts> {
        let mut longest: Option<&LinkFacts> = None;
        for link in self.links.iter().filter(|link| link.sojourn_mean_ms > 0.0) {
            if longest.is_none_or(|other| link.sojourn_mean_ms > other.sojourn_mean_ms) {
                longest = Some(link);
            }
        }
        longest
    }

    /// Returns the flow that lost the largest fraction of its goodput after all flows had started.
    fn starved<E>(
        &self,
        flows: &[(usize, &FlowFacts)],
        queue: Option<&LinkFacts>,
        goodput: &mut impl FnMut(usize, f64, f64) -> Result<f64, E>,
    ) -> Result<Option<String>, E> {
        if flows.len() < 2 || self.samples == 0 {
            return Ok(None);
        }
        let mut starts: Vec<f64> = flows.iter().map(|(_, flow)| flow.start_s).collect();
        starts.sort_by(f64::total_cmp);
        let (first, joined) = (starts[0], starts[starts.len() - 1]);
        let stop = flows.iter().map(|(_, flow)| flow.stop_s).fold(f64::INFINITY, f64::min);
        let Some(alone_until) = starts.iter().copied().find(|start| *start > first) else { return Ok(None) };
        // One of the two phases is too short to measure goodput after the flows have settled.
        if alone_until - first < 2.0 * SETTLED_S || stop - joined < 2.0 * SETTLED_S {
            return Ok(None);
        }
        let mut worst: Option<(f64, &FlowFacts, f64, f64)> = None;
        for (place, flow) in flows.iter().filter(|(_, flow)| flow.start_s == first) {
            let before = goodput(*place, first + SETTLED_S, alone_until)?;
            let after = goodput(*place, joined + SETTLED_S, stop)?;
            if before > 0.0 && worst.is_none_or(|(share, ..)| after / before < share) {
                worst = Some((after / before, flow, before, after));
            }
        }
        let Some((_, flow, before, after)) = worst.filter(|(share, ..)| *share <= LOST_SHARE) else { return Ok(None) };
        let others: Vec<&FlowFacts> =
            flows.iter().map(|(_, other)| *other).filter(|other| other.start_s > first).collect();
        let names = if others.len() == 1 { others[0].name.clone() } else { format!("{} more flows", others.len()) };
        // RFC 3449: an upload can starve a download by delaying its ACKs. Flows in the same direction only share the
        // link.
        let opposite = others.iter().all(|other| other.direction != flow.direction);
        let why = match queue {
            _ if !opposite => ", which shares the line".to_owned(),
            Some(queue) if queue.direction != flow.direction && queue.sojourn_mean_ms >= LONG_WAIT_MS => {
                format!(": its ACKs wait in the queue of {} {}", queue.link, queue.direction)
            }
            _ => String::new(),
        };
        let (name, before, after) = (&flow.name, units::rate(before), units::rate(after));
        Ok(Some(format!("{name} falls from {before} to {after} after the start of {names}{why}.")))
    }
}

fn round_trips(flows: &[(usize, &FlowFacts)], queue: Option<&LinkFacts>) -> Option<String> {
    let mut worst: Option<&FlowFacts> = None;
    let rise = |flow: &FlowFacts| flow.rtt_mean_ms / flow.rtt_min_ms;
    for (_, flow) in flows {
        // The one-way delay of datagrams is not comparable with an RTT.
        let timed = !flow.is_datagrams && flow.rtt_min_ms > 0.0 && flow.rtt_mean_ms > 0.0;
        if timed && worst.is_none_or(|other| rise(flow) > rise(other)) {
            worst = Some(flow);
        }
    }
    let worst = worst?;
    let (name, least, mean) = (&worst.name, worst.rtt_min_ms, worst.rtt_mean_ms);
    if mean < BLOAT * least || mean - least < BLOAT_MS {
        let (mean, least) = (units::millis(mean), units::millis(least));
        return Some(format!("Round trips stay short: {mean} on average for {name}, at least {least}."));
    }
    let wait = match queue {
        None => String::new(),
        Some(queue) if queue.sojourn_mean_ms < EXPLAINED * (mean - least) => {
            format!("; packets wait only {} in the longest queue", units::millis(queue.sojourn_mean_ms))
        }
        Some(queue) => {
            let wait = units::millis(queue.sojourn_mean_ms);
            format!(". Packets wait longest in the queue of {} {}, {wait} on average", queue.link, queue.direction)
        }
    };
    let (least, mean, p95) = (units::millis(least), units::millis(mean), units::millis(worst.rtt_p95_ms));
    Some(format!("Round trips of {name} rise from {least} to {mean} on average (95th percentile {p95}){wait}."))
}

fn completions(flows: &[(usize, &FlowFacts)], found: &mut Vec<String>) {
    let timed: Vec<&FlowFacts> = flows
        .iter()
        .map(|(_, flow)| *flow)
        .filter(|flow| flow.transfers > 0 && flow.completion_s.is_finite())
        .collect();
    let mut groups: Vec<&str> = Vec::new();
    for flow in &timed {
        if !groups.contains(&flow.group.as_str()) {
            groups.push(&flow.group);
        }
    }
    for group in groups {
        let flows: Vec<&&FlowFacts> = timed.iter().filter(|flow| flow.group == group).collect();
        let number: u64 = flows.iter().map(|flow| flow.transfers).sum();
        // Weight each flow's mean by its number of transfers.
        let mean = flows.iter().map(|flow| flow.completion_s * flow.transfers as f64).sum::<f64>() / number as f64;
        let longest = flows.iter().map(|flow| flow.completion_max_s).fold(0.0, f64::max);
        let (number, mean, longest) = (units::count(number), units::millis(mean * 1e3), units::millis(longest * 1e3));
        found.push(format!("{number} transfers of {group} took {mean} on average, {longest} at most."));
    }
}

fn calls(flows: &[(usize, &FlowFacts)], found: &mut Vec<String>) {
    for (_, flow) in flows.iter().filter(|(_, flow)| flow.is_datagrams && flow.data_segments_out > 0) {
        let lost = flow.lost_packets as f64 / flow.data_segments_out as f64;
        if lost >= MOST_LOST {
            let late = flow.rtt_p95_ms;
            let late = if late > 0.0 {
                format!("; the 95th percentile of the delay is {}", units::millis(late))
            } else {
                String::new()
            };
            found.push(format!("{} lost {} of its datagrams{late}.", flow.name, units::percent(lost)));
        }
    }
}

fn to_try(queue: Option<&LinkFacts>) -> Option<String> {
    let queue = queue.filter(|queue| queue.sojourn_mean_ms >= LONG_WAIT_MS && queue.queue == "fifo")?;
    let place = format!("{} {}", queue.link, queue.direction);
    Some(format!("Try a shorter buffer (`lopsided size`) or fq_codel (`lopsided aqm`) in {place}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopsided_sim::{Monitor, RunOptions};

    fn film(wait_ms: f64) -> Option<String> {
        let flow = FlowFacts {
            name: "film".to_owned(),
            group: "film".to_owned(),
            direction: "down".to_owned(),
            is_datagrams: false,
            start_s: 0.0,
            stop_s: 10.0,
            delivered_bytes: 1,
            goodput_bps: 1.0,
            rtt_min_ms: 20.0,
            rtt_mean_ms: 60.0,
            rtt_p95_ms: 90.0,
            transfers: 0,
            completion_s: f64::NAN,
            completion_max_s: f64::NAN,
            data_segments_out: 1,
            lost_packets: 0,
        };
        let link = LinkFacts {
            link: "link".to_owned(),
            direction: "up".to_owned(),
            queue: "fifo".to_owned(),
            sojourn_mean_ms: wait_ms,
        };
        round_trips(&[(0, &flow)], Some(&link))
    }

    #[test]
    fn a_queue_is_named_only_if_it_explains_the_round_trips() {
        let little = film(2.0).expect("round trips doubled");
        assert!(little.contains("packets wait only 2.00 ms in the longest queue"), "{little}");
        let long = film(30.0).expect("round trips doubled");
        assert!(long.contains("in the queue of link up, 30.0 ms"), "{long}");
    }

    #[test]
    fn a_starved_download_is_named_with_its_cause() {
        let text = include_str!("../../../scenarios/adsl.toml");
        let scenario = Scenario::parse(text, "adsl.toml", &[]).expect("a scenario");
        let run = lopsided_sim::run(&scenario, 1, RunOptions::default(), &Monitor::default()).expect("it runs");
        let output = verdict(&scenario, &run).join(" ");
        assert!(output.contains("after the start of upload: its ACKs wait in the queue of link up."), "{output}");
    }
}
