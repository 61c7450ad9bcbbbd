//! Runs every fuzz target on a few hundred inputs, or on PROPTEST_CASES inputs. A failing input is minimized and
//! printed.

use lopsided_fuzz::{ack_way, capture, connection, line, quic, scenario};
use proptest::collection::vec;
use proptest::prelude::*;

/// Inputs long enough for several dozen operations.
fn octets() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..2000)
}

#[test]
fn acks_pass_every_stage_and_every_pair_of_stages() {
    assert!(ack_way::cross_every_pair() > 100);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ways_of_acks(octets in vec(any::<u8>(), 0..300)) {
        ack_way::run(&octets);
    }

    #[test]
    fn captures(octets in octets()) {
        capture::run(&octets);
    }

    #[test]
    fn connections(octets in octets()) {
        connection::run(&octets);
    }

    #[test]
    fn connections_run_to_completion(octets in octets()) {
        connection::run_to_completion(&octets);
    }

    #[test]
    fn lines(octets in vec(any::<u8>(), 0..200)) {
        line::run(&octets);
    }

    #[test]
    fn quic_connections(octets in octets()) {
        quic::run(&octets);
    }

    #[test]
    fn scenarios(octets in octets()) {
        scenario::run(&octets);
    }
}
