//! The polled medium: every frame arrives at most once and ends once, only one thing is sent at a time, and losses cost time.

use lopsided_core::{BitRate, Bytes, Duration, Rng, Time};
use lopsided_link::{Medium, MediumEvent, Polled, PolledConfig};
use proptest::prelude::*;

fn at(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

/// 8 Mbit/s is an octet a microsecond: polls of 20, acknowledgements of 10, 100 us to turn around.
fn config(loss: f64, retries: u32) -> PolledConfig {
    PolledConfig {
        rate: BitRate::from_bps(8_000_000),
        poll: Bytes::new(20),
        ack: Bytes::new(10),
        loss,
        retries,
        ..PolledConfig::default()
    }
}

fn medium(loss: f64, retries: u32, seed: u64) -> Polled {
    Polled::new(config(loss, retries), 3, Rng::for_role(seed, "radio/medium"))
}

/// Lets everything happen, and gives what stations would see.
fn run_out(medium: &mut Polled) -> Vec<(Time, MediumEvent)> {
    let mut seen = Vec::new();
    while let Some(now) = medium.next_event() {
        let event = medium.on_event(now);
        if event != MediumEvent::Nothing {
            seen.push((now, event));
        }
    }
    seen
}

#[test]
fn stations_are_polled_in_turn_and_each_frame_is_acknowledged_before_the_next_poll() {
    let mut medium = medium(0.0, 3, 1);
    medium.request(2, Bytes::new(1000), at(0));
    medium.request(0, Bytes::new(500), at(0));
    // Station 0: turnaround 100, poll 20, frame 500; turnaround 100, acknowledgement 10. Station 1 has nothing: a poll of 120.
    let expected = [
        (at(620), MediumEvent::Delivered(0)),
        (at(730), MediumEvent::Done(0)),
        (at(730 + 120 + 120 + 1000), MediumEvent::Delivered(2)),
        (at(730 + 120 + 120 + 1000 + 110), MediumEvent::Done(2)),
    ];
    assert_eq!(run_out(&mut medium), expected);
}

#[test]
fn a_frame_that_never_arrives_is_given_up_after_its_retries() {
    let mut medium = medium(1.0, 2, 1);
    medium.request(1, Bytes::new(500), at(0));
    // Three tries of 730 us; station 0 is polled before the first, stations 2 and 0 before each other one.
    let end = 3 * 730 + 5 * 120;
    assert_eq!(run_out(&mut medium), [(at(end), MediumEvent::Lost(1))]);
}

proptest! {
    #[test]
    fn each_frame_arrives_at_most_once_and_ends_once(
        loss in 0.0..0.9_f64,
        retries in 0..6_u32,
        seed: u64,
        frames in prop::collection::vec((0..3_usize, 28..1500_u64), 1..40),
    ) {
        let mut medium = medium(loss, retries, seed);
        let mut waiting = frames;
        let (mut with_medium, mut delivered, mut latest) = ([false; 3], [false; 3], Time::ZERO);
        loop {
            // Each station gives its next frame as soon as it has none with the medium.
            while let Some(place) = waiting.iter().position(|(station, _)| !with_medium[*station]) {
                let (station, size) = waiting.remove(place);
                (with_medium[station], delivered[station]) = (true, false);
                medium.request(station, Bytes::new(size), latest);
            }
            let Some(now) = medium.next_event() else { break };
            prop_assert!(now >= latest);
            latest = now;
            match medium.on_event(now) {
                MediumEvent::Nothing => {}
                MediumEvent::Delivered(station) => {
                    prop_assert!(with_medium[station] && !delivered[station]);
                    delivered[station] = true;
                }
                MediumEvent::Done(station) => {
                    prop_assert!(with_medium[station] && delivered[station]);
                    with_medium[station] = false;
                }
                MediumEvent::Lost(station) => {
                    prop_assert!(with_medium[station] && !delivered[station]);
                    with_medium[station] = false;
                }
            }
        }
        prop_assert!(waiting.is_empty() && with_medium == [false; 3], "a frame never ended");
    }
}
