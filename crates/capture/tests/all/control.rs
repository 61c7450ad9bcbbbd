//! Infers the congestion control from the ACK log of a connection whose congestion window is known.

use lopsided_capture::{Loss, Step, guess};
use lopsided_core::Duration;

const MSS: u32 = 1448;
const RTT_US: u32 = 40_000;
/// Number of [`Step`]s in a round trip. A step is a group of ACKs.
const PARTS: u32 = 8;

/// Adds one round trip of 40 ms with a window of `segments` segments.
fn round(steps: &mut Vec<Step>, segments: u32, repairs: bool) {
    round_of(steps, segments, repairs, RTT_US);
}

/// Adds one round trip of `rtt_us` microseconds with a window of `segments` segments.
fn round_of(steps: &mut Vec<Step>, segments: u32, repairs: bool, rtt_us: u32) {
    let begin = steps.last().map_or(0, |last| last.at_us + last.rtt_us / PARTS);
    for part in 0..PARTS {
        let acked = segments * (part + 1) / PARTS - segments * part / PARTS;
        steps.push(Step {
            at_us: begin + part * rtt_us / PARTS,
            acked_bytes: acked * MSS,
            delivered_bytes: acked * MSS,
            acks: acked as u16,
            repairs,
            rtt_us,
            flight_bytes: if repairs { 0 } else { segments * MSS },
            ..Step::default()
        });
    }
}

/// Returns the log of a window that grows by `growth` segments per round trip, and falls from `most` to `least` at a
/// loss.
fn sawtooth(least: u32, most: u32, growth: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..8 {
        for segments in (least..=most).step_by(growth as usize) {
            round(&mut steps, segments, false);
            // The last ACK of the round trip increases the window.
            let last = steps.last_mut().expect("a step");
            last.flight_bytes = most.min(segments + growth) * MSS;
        }
        let last = steps.last_mut().expect("a round trip before the loss");
        last.loss = Some((Loss::Fast, most * MSS));
        round(&mut steps, least, true);
    }
    steps
}

#[test]
fn growth_by_one_segment_per_rtt_and_halving_after_a_loss_is_reno() {
    let (found, fits) = guess(&sawtooth(20, 40, 1), MSS, 10, None, 0.0);
    assert_eq!(found.name, "reno", "{fits:?}");
    assert!((0.5..0.6).contains(&found.factor), "{}", found.factor);
}

/// Returns the log of a window that grows by one segment in two round trips, and is halved by a loss.
fn slow_sawtooth(least: u32, most: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..6 {
        for segments in least..=most {
            round(&mut steps, segments, false);
            round(&mut steps, segments, false);
        }
        let last = steps.last_mut().expect("a round trip before the loss");
        last.loss = Some((Loss::Fast, most * MSS));
        round(&mut steps, least, true);
    }
    // Delayed ACKs: one ACK for every second segment.
    let mut segments = 0;
    for step in &mut steps {
        let before = segments / 2;
        segments += u32::from(step.acks);
        step.acks = (segments / 2 - before) as u16;
    }
    steps
}

#[test]
fn growth_once_per_ack_is_reno_and_less_probable_after_a_large_initial_window() {
    // If the window of 4.4BSD equals the threshold of 16 segments, it grows once more as in slow start. The log
    // therefore starts at 17 segments.
    let steps = slow_sawtooth(17, 32);
    let (small, fits) = guess(&steps, MSS, 4, None, 0.0);
    assert_eq!(small.name, "reno", "{fits:?}");
    let (large, fits) = guess(&steps, MSS, 10, None, 0.0);
    assert!(large.probability < 0.96 * small.probability, "{fits:?}");
    // Each of the six periods counts as evidence against HighSpeed, because Reno's windows match exactly.
    assert!(large.probability > 0.7, "{fits:?}");
    assert_eq!(fits[1].name, "highspeed", "{fits:?}");
}

/// Hybla counts ACKs, so a replay must not merge the 25 ACKs of a step.
#[test]
fn large_windows_grow_once_per_ack() {
    let (_, fits) = guess(&slow_sawtooth(401, 420), MSS, 10, Some(Duration::from_millis(25)), 0.0);
    let hybla = fits.iter().find(|fit| fit.name == "hybla").expect("Hybla is replayed");
    assert!(hybla.growth < 0.5, "{hybla:?}");
}

/// Reno grows by the segments that an ACK reports as received for the first time, by acknowledgement or SACK.
#[test]
fn segments_that_sack_blocks_report_count_for_growth() {
    let mut steps = sawtooth(20, 40, 1);
    steps.iter_mut().for_each(|step| step.acked_bytes /= 2);
    let (found, fits) = guess(&steps, MSS, 10, None, 0.0);
    assert!(found.name == "reno" && fits[0].growth < 0.1, "{fits:?}");
}

/// Linux counts all segments below the cumulative acknowledgement as acknowledged (`pkts_acked`), even if SACK blocks
/// reported the segments before. Illinois therefore grows by several segments at the end of a recovery.
#[test]
fn the_ack_that_ends_a_recovery_covers_the_segments_above_the_hole() {
    let mut steps = Vec::new();
    for _ in 0..8 {
        for segments in 8..=12 {
            round(&mut steps, segments, false);
            let last = steps.last_mut().expect("a step");
            last.flight_bytes = 12.min(segments + 1) * MSS;
        }
        steps.last_mut().expect("a step").loss = Some((Loss::Fast, 12 * MSS));
        round(&mut steps, 0, true);
        steps.last_mut().expect("a step").acks = 1;
        steps.last_mut().expect("a step").acked_bytes = 12 * MSS;
    }
    let (_, fits) = guess(&steps, MSS, 10, None, 0.0);
    let error = |name| fits.iter().find(|fit| fit.name == name).expect("a replay").reduction;
    assert!(error("illinois") < 0.5 && error("reno") > 1.0, "{fits:?}");
}

/// Hybla sets its growth from the minimum smoothed RTT, and Linux's first RTT sample is the handshake's.
#[test]
fn hybla_grows_like_reno_if_the_rtt_of_the_handshake_is_25_ms() {
    let growth = |handshake| {
        let (_, fits) = guess(&sawtooth(20, 40, 1), MSS, 10, handshake, 0.0);
        fits.iter().find(|fit| fit.name == "hybla").expect("Hybla is replayed").growth
    };
    // Hybla counts growth in units of 1/128 segment, so its window differs slightly from Reno's.
    let (with, without) = (growth(Some(Duration::from_millis(25))), growth(None));
    // Without the handshake, the first RTT is 40 ms.
    assert!(with < 2.0 && without > 4.0, "{with} {without}");
}

/// Vegas grows by one segment at the end of each round trip if the RTT shows no queue. A round trip ends when the data in
/// flight at its start is acknowledged.
#[test]
fn vegas_counts_round_trips_by_the_reduced_flight_after_a_loss() {
    let (_, fits) = guess(&sawtooth(100, 200, 1), MSS, 10, None, 0.0);
    let vegas = fits.iter().find(|fit| fit.name == "vegas").expect("Vegas is replayed");
    assert!(vegas.reduction < 0.1 && vegas.growth < 0.1, "{vegas:?}");
}

#[test]
fn a_reduction_to_seven_eighths_after_a_loss_is_scalable() {
    let (found, fits) = guess(&sawtooth(70, 80, 1), MSS, 10, None, 0.0);
    // On a path without a queue, YeAH has the same window.
    let names = [fits[0].name, fits[1].name];
    assert!(names.contains(&"scalable") && names.contains(&"yeah"), "{fits:?}");
    assert!(found.name == names[0] && found.probability <= 0.5, "{fits:?}");
}

#[test]
fn reductions_are_compared_even_if_each_round_trip_ends_with_a_loss() {
    let mut steps = Vec::new();
    let mut window = 400;
    for _ in 0..12 {
        round(&mut steps, window, false);
        steps.last_mut().expect("a round trip").loss = Some((Loss::Fast, window * MSS));
        window -= window / 8;
        round(&mut steps, window, true);
    }
    let (_, fits) = guess(&steps, MSS, 10, None, 0.0);
    let names = [fits[0].name, fits[1].name];
    assert!(names.contains(&"scalable") && fits[0].reductions >= 8, "{fits:?}");
}

#[test]
fn a_window_that_losses_reduce_too_much_is_named_after_the_best_fit() {
    // Several losses in one recovery reduce the window by more than one reduction of the congestion control.
    let (found, fits) = guess(&sawtooth(16, 40, 1), MSS, 10, None, 0.0);
    assert_eq!(found.name, fits[0].name, "{fits:?}");
    assert!(fits[0].reduction > 1.0 && fits[0].growth < 0.3, "{fits:?}");
}

#[test]
fn a_window_that_fits_no_congestion_control_is_unknown() {
    let (found, fits) = guess(&sawtooth(40, 76, 4), MSS, 10, None, 0.0);
    assert_eq!(found.name, "unknown", "{fits:?}");
}

/// RFC 6817, section 2.4.2: in each round trip, the window grows by 1 segment minus the queueing delay divided by 100 ms.
#[test]
fn growth_that_slows_down_as_the_queue_fills_is_ledbat() {
    let mut steps = Vec::new();
    let mut window: f64 = 20.0;
    for _ in 0..8 {
        while window < 38.0 {
            let queued_ms = 4.0 * (window - 20.0).max(0.0);
            round_of(&mut steps, window as u32, false, RTT_US + (1000.0 * queued_ms) as u32);
            window += 1.0 - queued_ms / 100.0;
        }
        let last = steps.last_mut().expect("a round trip before the loss");
        last.loss = Some((Loss::Fast, window as u32 * MSS));
        window /= 2.0;
        round(&mut steps, window as u32, true);
    }
    let (found, fits) = guess(&steps, MSS, 2, None, 0.0);
    assert_eq!(found.name, "ledbat", "{fits:?}");
}

#[test]
fn a_flight_that_shrinks_without_losses_is_bbr() {
    let mut steps = Vec::new();
    for _ in 0..10 {
        for segments in [40, 50, 40, 40, 40, 40, 40, 40] {
            round(&mut steps, segments, false);
        }
    }
    let (found, fits) = guess(&steps, MSS, 10, None, 0.0);
    assert_eq!(found.name, "bbr", "{fits:?}");
}

/// Returns the log of a level flight of 40 segments that rises to `top` in one of 31 round trips.
fn probes(top: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..4 {
        (0..30).for_each(|_| round(&mut steps, 40, false));
        round(&mut steps, top, false);
    }
    steps
}

#[test]
fn a_constant_flight_with_probes_of_a_quarter_is_bbr() {
    let (found, fits) = guess(&probes(50), MSS, 10, None, 0.0);
    assert_eq!(found.name, "bbr", "{fits:?}");
    let (smaller, fits) = guess(&probes(46), MSS, 10, None, 0.0);
    assert_ne!(smaller.name, "bbr", "{fits:?}");
}

#[test]
fn a_flight_of_four_segments_for_200_ms_every_ten_seconds_is_bbr() {
    let with_probes_every = |rounds: u32, segments: u32| {
        let mut steps = Vec::new();
        for number in 0..4 * rounds {
            let is_probe = number % rounds >= rounds - 6;
            round(&mut steps, if is_probe { segments } else { 12 }, false);
        }
        guess(&steps, MSS, 10, None, 0.0)
    };
    let (found, fits) = with_probes_every(250, 4);
    assert_eq!(found.name, "bbr", "{fits:?}");
    let (often, fits) = with_probes_every(75, 4);
    assert_ne!(often.name, "bbr", "{fits:?}");
    let (longer, fits) = with_probes_every(250, 6);
    assert_ne!(longer.name, "bbr", "{fits:?}");
}

#[test]
fn a_sender_that_paces_is_not_bbr_if_its_windows_follow_another_congestion_control() {
    let (reno, fits) = guess(&sawtooth(20, 40, 1), MSS, 10, None, 0.9);
    assert_eq!(reno.name, "reno", "{fits:?}");
    let (other, fits) = guess(&sawtooth(40, 76, 4), MSS, 10, None, 0.9);
    assert_eq!(other.name, "bbr", "{fits:?}");
}

#[test]
fn a_congestion_control_is_named_only_if_its_probability_is_at_least_49_percent() {
    let mut doubtful = 0;
    for least in [56, 60, 62, 64, 66, 68, 70, 72] {
        let (found, fits) = guess(&sawtooth(least, 80, 1), MSS, 10, None, 0.0);
        assert_eq!(found.name != "unknown", fits[0].probability >= 0.49, "{least}: {fits:?}");
        // The remaining probability is the probability of an unlisted congestion control.
        let unlisted = 1.0 - fits.iter().map(|fit| fit.probability).sum::<f64>();
        doubtful += u32::from(fits[0].probability < 0.49 && fits[0].probability > unlisted);
    }
    assert!(doubtful > 0);
}
