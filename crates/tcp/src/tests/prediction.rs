//! Tests that header prediction and the announcement of the next segment change no result: with and without these
//! optimizations, two connections send the same segments at the same times.

use super::delivery::{LIMIT, faults, profiles};
use super::pair::{Faults, Pair};
use crate::Profile;
use lopsided_core::{Duration, Time};
use proptest::prelude::*;

/// Returns the sent segments, the final state of both ends, and the number of predicted segments.
fn transfer(mut pair: Pair, predicts: bool, (up, down): (usize, usize)) -> (Vec<String>, String, u64) {
    pair.client.prediction.off = !predicts;
    pair.server.prediction.off = !predicts;
    pair.transfer(&vec![1; up], &vec![2; down], LIMIT);
    let sent = pair.sent.iter().map(|segment| format!("{segment:?}")).collect();
    let ends = [&pair.client, &pair.server].map(|end| (end.info(pair.now), *end.rtt_stats(), end.poll_timeout()));
    (sent, format!("{ends:?}"), pair.client.prediction.taken + pair.server.prediction.taken)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn prediction_does_not_change_the_segments_sent(
        client in profiles(),
        server in profiles(),
        faults in prop_oneof![
            faults(),
            (0.0..0.01, 1u64..30).prop_map(|(rare, jitter)| Faults {
                loss: rare, duplicate: rare, reorder: rare, jitter: Duration::from_millis(jitter),
            }),
        ],
        seed: u64,
        synthetic: bool,
        stays_open: bool,
        path_mtu in proptest::option::of((0u64..1_000, 600u64..1_400)),
        up in 1usize..300_000,
        down in 0usize..100_000,
    ) {
        let pair = || {
            let mut pair = Pair::new(client.clone(), server.clone(), faults, seed);
            pair.synthetic = synthetic;
            pair.stays_open = stays_open;
            pair.path_mtu = path_mtu.map(|(ms, mtu)| (Time::ZERO + Duration::from_millis(ms), mtu));
            pair
        };
        let (sent, ends, _) = transfer(pair(), true, (up, down));
        let (long, long_ends, predicted) = transfer(pair(), false, (up, down));
        prop_assert_eq!(predicted, 0);
        prop_assert_eq!(sent, long);
        prop_assert_eq!(ends, long_ends);
    }

    #[test]
    fn announced_segments_equal_polled_segments(
        client in profiles(),
        server in profiles(),
        faults in prop_oneof![Just(Faults::NONE), faults()],
        seed: u64,
        stays_open: bool,
        path_mtu in proptest::option::of((0u64..1_000, 600u64..1_400)),
        up in 1usize..300_000,
        down in 0usize..100_000,
    ) {
        let pair = |relies_on_next| {
            let mut pair = Pair::new(client.clone(), server.clone(), faults, seed);
            pair.synthetic = true;
            pair.stays_open = stays_open;
            pair.path_mtu = path_mtu.map(|(ms, mtu)| (Time::ZERO + Duration::from_millis(ms), mtu));
            pair.relies_on_next = relies_on_next;
            pair
        };
        let (sent, ends, _) = transfer(pair(true), true, (up, down));
        let (polled, polled_ends, _) = transfer(pair(false), true, (up, down));
        prop_assert_eq!(sent, polled);
        prop_assert_eq!(ends, polled_ends);
    }
}

#[test]
fn most_segments_of_an_upload_are_announced() {
    let mut pair = Pair::new(Profile::linux_6_1(), Profile::linux_6_1(), Faults::NONE, 1);
    pair.synthetic = true;
    pair.relies_on_next = true;
    pair.transfer(&vec![1; 1_000_000], &[], LIMIT);
    let full = pair.sent.iter().filter(|(_, _, _, payload)| *payload == 1448).count() as u64;
    assert!(pair.announced > full / 3, "{} of {full}", pair.announced);
}

#[test]
fn most_segments_of_a_download_are_predicted() {
    let mut pair = Pair::new(Profile::linux_6_1(), Profile::linux_6_1(), Faults::NONE, 1);
    pair.synthetic = true;
    pair.stays_open = true;
    let (sent, _, predicted) = transfer(pair, true, (1_000_000, 0));
    let handshake = 3;
    assert!(predicted + handshake >= sent.len() as u64, "{predicted} of {}", sent.len());
}
