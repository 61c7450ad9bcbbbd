//! Samples, tables and events describe the run and agree with one another.

use crate::{BUSY, TWO_WAY, run};
use lopsided_sim::{Unit, catalogue};

#[test]
fn samples_add_up_to_the_summary() {
    let result = run(&format!("{TWO_WAY}\n[record]\ninterval = \"500 ms\""));
    let (samples, flows) = (&result.samples, &result.flows);
    // Two flows are sampled every 500 ms for 20 s.
    assert_eq!(samples.time_s.len(), 40 * 2);
    for flow in 0..2u32 {
        let rows: Vec<usize> = (0..samples.flow.len()).filter(|row| samples.flow[*row] == flow).collect();
        for pair in rows.windows(2) {
            for column in [&samples.sent_bytes, &samples.acked_bytes, &samples.delivered_bytes, &samples.retransmits] {
                // These columns are totals since the start of the flow, so they never decrease.
                assert!(column[pair[0]] <= column[pair[1]]);
            }
        }
        let (flow, last) = (flow as usize, *rows.last().expect("there are samples"));
        // The last sample is taken at the end of the run.
        assert_eq!(samples.delivered_bytes[last], flows.delivered_bytes[flow]);
        assert_eq!(samples.retransmits[last], flows.retransmits[flow]);
        let count: u64 = rows.iter().map(|row| samples.rtt_count[*row]).sum();
        assert_eq!(count, flows.rtt_count[flow]);
        let sum: f64 = rows.iter().map(|row| samples.rtt_sum_ms[*row]).sum();
        assert!((sum / count as f64 - flows.rtt_mean_ms[flow]).abs() < 1e-9);
        let least = rows.iter().map(|row| samples.rtt_min_ms[*row]).fold(f64::INFINITY, f64::min);
        assert_eq!(least, flows.rtt_min_ms[flow]);
        assert!(
            // The histogram's buckets have a relative error of at most 0.8 %.
            flows.rtt_p50_ms[flow] <= flows.rtt_p95_ms[flow]
                && flows.rtt_p95_ms[flow] <= flows.rtt_max_ms[flow] * 1.008
        );
    }
}

#[test]
fn the_rtt_is_the_sum_of_line_and_queueing_delays() {
    let result = run(TWO_WAY);
    // The propagation delay is 40 ms; the rest is the transmission time of a full segment and its ACK.
    assert!((45.0..50.0).contains(&result.flows.rtt_min_ms[0]), "{}", result.flows.rtt_min_ms[0]);
    // The RTT is longest if both queues are full: 21 packets of 1,500 bytes down, and 11 up.
    let most = 40.0 + 21.0 * 12_000.0 / 2_400.0 + 11.0 * 12_000.0 / 196.0;
    assert!(result.flows.rtt_max_ms[0] < most, "{} {most}", result.flows.rtt_max_ms[0]);
}

#[test]
fn every_change_of_the_window_is_recorded() {
    let result = run(&format!("{TWO_WAY}\n[record]\ninterval = \"0 s\"\non_change = true"));
    let samples = &result.samples;
    let rows: Vec<usize> = (0..samples.flow.len()).filter(|row| samples.flow[*row] == 0).collect();
    let state = |row: usize| (samples.state[row], samples.cwnd_bytes[row], samples.ssthresh_bytes[row].to_bits());
    assert!(rows.len() > 200, "{}", rows.len());
    // A row is written only if the state, the window or the threshold has changed.
    assert!(rows.windows(2).all(|pair| state(pair[0]) != state(pair[1])));
    assert!(rows.windows(2).all(|pair| samples.time_s[pair[0]] <= samples.time_s[pair[1]]));
    let largest = rows.iter().map(|row| samples.cwnd_bytes[*row]).max();
    // No change is missed, not even the largest window.
    assert_eq!(largest, result.flows.cwnd_max_bytes[0]);
}

#[test]
fn the_event_table_contains_every_packet() {
    let result = run(&format!("{TWO_WAY}\n[record]\nevents = true"));
    let events = &result.packet_events;
    let count = |event: &str| events.event.iter().filter(|of_row| **of_row == event).count() as u64;
    // The event table and the accounting count the same packets independently of each other.
    assert_eq!(count("sent"), result.conservation.originated.packets);
    assert_eq!(count("received"), result.conservation.delivered.packets);
    assert_eq!(count("dropped"), result.conservation.dropped.packets);
    assert_eq!(count("dequeued"), result.links.sent_packets.iter().sum::<u64>());
    assert!(events.time_s.is_sorted());
    let of_links = events.event.iter().zip(&events.direction).filter(|(event, _)| **event == "dequeued");
    assert!(of_links.into_iter().all(|(_, direction)| ["down", "up"].contains(direction)));
}

#[test]
fn the_last_queue_sample_equals_the_link_totals() {
    let result = run(BUSY);
    // The last sample has one row per link direction, in the order of the table of links.
    let links = result.links.link.len();
    let last = &result.queues.sent_packets[result.queues.sent_packets.len() - links..];
    assert_eq!(last, result.links.sent_packets);
    let dropped = &result.queues.dropped_packets[result.queues.dropped_packets.len() - links..];
    assert_eq!(dropped, result.links.dropped_packets);
}

#[test]
fn without_recording_no_tables_are_filled() {
    let result = run(&format!("{TWO_WAY}\n[record]\ninterval = \"0 s\""));
    assert!(
        result.samples.time_s.is_empty() && result.queues.time_s.is_empty() && result.packet_events.time_s.is_empty()
    );
}

#[test]
fn drops_are_counted_by_reason_and_add_up() {
    let result = run(BUSY);
    let (drops, links) = (&result.drops, &result.links);
    assert_eq!(drops.packets.iter().sum::<u64>(), result.conservation.dropped.packets);
    assert_eq!(drops.bytes.iter().sum::<u64>(), result.conservation.dropped.bytes.get());
    for row in 0..links.link.len() {
        // Drops by the queue and losses on the line are separate columns of the table of links.
        let here = (0..drops.node.len())
            .filter(|of| drops.node[*of] == links.link[row] && drops.direction[*of] == links.direction[row]);
        let lost: u64 = here.map(|of| drops.packets[of]).sum();
        assert_eq!(lost, links.dropped_packets[row] + links.lost_packets[row]);
    }
}

#[test]
fn the_name_of_a_column_ends_with_its_unit() {
    let units = [(Unit::BitPerSecond, "_bps"), (Unit::Byte, "bytes"), (Unit::Second, "_s"), (Unit::Millisecond, "_ms")];
    for table in catalogue() {
        for column in table.columns {
            for (unit, ending) in units {
                // A column has a unit if and only if its name ends with that unit.
                assert_eq!(column.unit == unit, column.name.ends_with(ending), "{}.{}", table.name, column.name);
            }
            assert!(column.meaning.ends_with('.'), "{}.{}: {}", table.name, column.name, column.meaning);
        }
    }
}
