//! Limits for a run in the page, estimated before the run starts.
//!
//! A run that exceeds a browser tab's memory would end in a trap.

use crate::request::Problems;
use lopsided_core::{Dir, Duration};
use lopsided_queue::Limit;
use lopsided_scenario::Scenario;

/// Largest estimated memory of a run, in bytes.
pub const MOST_BYTES: f64 = 256e6;
/// Largest number of events in one run: about 30 s on a fast laptop.
pub const MOST_EVENTS: u64 = 100_000_000;
/// Largest number of flows in one run.
pub const MOST_FLOWS: usize = 400;

/// Memory of one sample of a flow, in bytes.
const FLOW_SAMPLE: f64 = 200.0;
/// Memory of one sample of a queue, in bytes.
const QUEUE_SAMPLE: f64 = 150.0;
/// Memory of one packet, in bytes.
const PACKET: f64 = 400.0;
/// Memory of both ends of a flow with their buffers, in bytes.
const FLOW: f64 = 20_000.0;
/// Packet size assumed for full buffers, in bytes. Small packets need the most memory per buffered byte.
const SMALL_PACKET: f64 = 576.0;

/// Rejects a run that would need more memory than is available to the page.
///
/// # Examples
///
/// ```
/// use lopsided_core::Duration;
/// use lopsided_page::{Request, limits};
///
/// let text = b"[scenario]\nduration = \"10 s\"\n[link]\nrtt = \"12 ms\"\ndown.rate = \"50 Mbit/s\"\nup.rate = \"5 Mbit/s\"\n[[flow]]\nname = \"download\"\ndirection = \"down\"\n";
/// let scenario = Request::read(text).scenario()?;
/// assert!(limits::check(&scenario, Duration::from_millis(100)).is_ok());
/// assert!(limits::check(&scenario, Duration::from_nanos(1)).is_err(), "too many samples");
/// # Ok::<(), lopsided_page::Problems>(())
/// ```
///
/// # Errors
/// Returns an error with the quantity that exceeds its limit, and the remedy.
pub fn check(scenario: &Scenario, interval: Duration) -> Result<(), Problems> {
    if scenario.flows.len() > MOST_FLOWS {
        let (flows, most) = (scenario.flows.len(), MOST_FLOWS);
        return Err(Problems::of(format!(
            "{flows} flows are too many for the page (at most {most}): use `lopsided run`"
        )));
    }
    let need = memory(scenario, interval);
    if need > MOST_BYTES {
        let (need, most) = (need / 1e6, MOST_BYTES / 1e6);
        let message = format!(
            "this run may need {need:.0} MB of memory, and the page has {most:.0} MB: make it shorter, its buffers \
             smaller or its samples fewer, or use `lopsided run`"
        );
        return Err(Problems::of(message));
    }
    Ok(())
}

/// Returns an upper estimate of the memory that a run needs, in bytes.
pub fn memory(scenario: &Scenario, interval: Duration) -> f64 {
    let duration = scenario.duration.as_secs_f64();
    let instants = if interval.is_zero() { 0.0 } else { duration / interval.as_secs_f64() };
    let links = scenario.graph.links.len() as f64;
    let flows = scenario.flows.len() as f64;
    let samples = instants * (flows * FLOW_SAMPLE + 2.0 * links * QUEUE_SAMPLE);
    let directions = scenario.graph.links.iter().flat_map(|link| Dir::BOTH.map(|dir| link.dir(dir)));
    let packets: f64 = directions
        .map(|link| {
            // Large buffers do not fill in a short run. Assume that the number of queued packets is at most 20 times
            // the number that the link can carry in the whole run.
            let rate = link.rate.map_or(f64::INFINITY, |rate| rate.as_bps() as f64 / 8.0);
            let on_the_way = rate * link.delay.as_secs_f64() / SMALL_PACKET;
            let waiting = match link.queue.limit() {
                Some(Limit::Packets(packets)) => f64::from(packets),
                Some(Limit::Bytes(bytes)) => bytes.get() as f64 / SMALL_PACKET,
                Some(Limit::Bins { count, .. }) => f64::from(count),
                None => 10_000.0,
            };
            let carried = 20.0 * rate * duration / SMALL_PACKET;
            (if on_the_way.is_finite() { on_the_way } else { 0.0 }) + waiting.min(carried)
        })
        .sum();
    // TCP's windows limit the number of packets in flight, however large the buffers are.
    samples + PACKET * packets.min(flows * 25_000.0) + FLOW * flows
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCSIS: &str = r#"
        [scenario]
        duration = "10 s"
        [link]
        rtt = "12 ms"
        down = { rate = "1 Gbit/s", queue = "1000 packets" }
        up = { rate = "35 Mbit/s", queue = "300 packets" }
        [[flow]]
        name = "download"
        direction = "down"
    "#;

    fn checked(text: &str, interval: Duration) -> Result<(), Problems> {
        check(&Scenario::parse(text, "docsis.toml", &[]).expect("a scenario"), interval)
    }

    #[test]
    fn a_run_that_needs_gigabytes_is_rejected_with_its_memory_demand() {
        assert_eq!(checked(DOCSIS, Duration::from_millis(10)), Ok(()));
        let refused = checked(DOCSIS, Duration::from_micros(1)).expect_err("ten million samples do not fit");
        assert!(refused.messages()[0].contains("may need 5"), "{refused:?}");
        let crowd = DOCSIS.replace("name = \"download\"", "count = 500");
        let refused = checked(&crowd, Duration::from_millis(100)).expect_err("500 flows are too many");
        assert!(refused.messages()[0].starts_with("500 flows"), "{refused:?}");
    }
}
