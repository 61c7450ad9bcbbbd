//! On any network, every byte arrives exactly once and in order, and both ends close.

use super::pair::{Faults, Pair, connection_config};
use crate::cc::{Setup, build};
use crate::{
    AckSettings, BufferRule, ConnConfig, ConnError, ConnEvent, Connection, CwndReduction, FastRecovery, LossDetection,
    Profile,
};
use lopsided_core::{Bytes, Duration, Time};
use proptest::prelude::*;

pub const LIMIT: Time = Time::from_nanos(3_600_000_000_000 * 4);

fn pattern(len: usize, salt: u32) -> Vec<u8> {
    (0..len as u32).map(|n| (n.wrapping_mul(2_654_435_761).wrapping_add(salt) >> 24) as u8).collect()
}

pub fn profiles() -> impl Strategy<Value = Profile> {
    let base = prop_oneof![Just(Profile::linux_6_1()), Just(Profile::freebsd_7())];
    let detection = prop_oneof![
        Just(LossDetection::Rack),
        Just(LossDetection::FreeBsd),
        Just(LossDetection::Fack),
        Just(LossDetection::Rfc6675)
    ];
    let descent =
        prop_oneof![Just(CwndReduction::Immediate), Just(CwndReduction::RateHalving), Just(CwndReduction::Prr)];
    let recovery = prop_oneof![Just(FastRecovery::NewReno), Just(FastRecovery::Reno), Just(FastRecovery::CarefulReno)];
    let on = any::<[bool; 5]>();
    let rules = (detection, descent, recovery);
    (base, on, rules, 2_000u64..200_000).prop_map(|(mut profile, on, (detection, descent, recovery), buffer)| {
        profile.fast_recovery = recovery;
        profile.sack = on[0];
        profile.timestamps = on[1];
        profile.window_scaling = on[2];
        profile.cwnd_reduction = descent;
        profile.loss_detection = detection;
        if on[3] {
            profile.ack = AckSettings { policy: "immediate", ..AckSettings::delayed(Duration::from_millis(200)) };
        }
        if on[4] {
            profile.receive_buffer = BufferRule::Fixed(Bytes::new(buffer));
            profile.send_buffer = BufferRule::Fixed(Bytes::new(buffer));
        }
        profile
    })
}

pub fn faults() -> impl Strategy<Value = Faults> {
    (0.0..0.3, 0.0..0.2, 0.0..0.4, 1u64..80).prop_map(|(loss, duplicate, reorder, jitter)| Faults {
        loss,
        duplicate,
        reorder,
        jitter: Duration::from_millis(jitter),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    // The client sends at least one byte. A client without data that closes before the handshake is complete never
    // opens a connection.
    #[test]
    fn all_octets_arrive_once_and_in_order(
        client in profiles(), server in profiles(), faults in faults(), seed: u64, up in 1usize..120_000, down in 0usize..30_000,
    ) {
        let (up, down) = (pattern(up, 1), pattern(down, 2));
        let mut pair = Pair::new(client, server, faults, seed);
        let closed = pair.transfer(&up, &down, LIMIT);
        // This network may drop every transmission of a segment. The connection then fails, and the data received so
        // far must be a prefix of the data sent.
        if pair.client_events.contains(&ConnEvent::Failed(ConnError::TimedOut)) || pair.server_events.contains(&ConnEvent::Failed(ConnError::TimedOut)) {
            prop_assert!(up.starts_with(&pair.received_by_server) && down.starts_with(&pair.received_by_client));
            return Ok(());
        }
        prop_assert_eq!(pair.received_by_server.len(), up.len(), "client {:?} server {:?}", pair.client.info(pair.now), pair.server.info(pair.now));
        prop_assert_eq!(pair.received_by_client.len(), down.len());
        prop_assert!(pair.received_by_server == up && pair.received_by_client == down, "the octets differ");
        prop_assert!(closed, "client {:?}, server {:?}", pair.client.state(), pair.server.state());
    }
}

#[test]
fn a_lossless_network_causes_no_retransmission() {
    for profile in [Profile::linux_6_1(), Profile::freebsd_7()] {
        let data = pattern(1_000_000, 3);
        let mut pair = Pair::new(profile.clone(), profile, Faults::NONE, 1);
        assert!(pair.transfer(&data, &[], LIMIT));
        assert!(pair.received_by_server == data);
        let counters = pair.client.counters();
        assert_eq!((counters.retransmits, counters.timeouts, counters.tail_probes), (0, 0, 0));
        assert_eq!(counters.bytes_sent, counters.bytes_acked);
    }
}

#[test]
fn a_closed_window_stops_the_sender_until_a_probe_is_answered() {
    let mut profile = Profile::linux_6_1();
    profile.receive_buffer = BufferRule::Fixed(Bytes::new(8_000));
    let mut pair = Pair::new(Profile::linux_6_1(), profile, Faults { loss: 0.3, ..Faults::NONE }, 9);
    let data = pattern(100_000, 4);
    assert!(pair.transfer(&data, &[], LIMIT));
    assert!(pair.received_by_server == data);
}

/// The rate changes no segment of a controller that does not use the rate. BBR gets the rate even if the connection does
/// not report it.
#[test]
fn the_delivery_rate_is_measured_only_if_a_controller_or_a_report_needs_it() {
    let run = |reports_rate, controller: &str| {
        let faults = Faults { loss: 0.05, reorder: 0.1, jitter: Duration::from_millis(5), ..Faults::NONE };
        let mut pair = Pair::new(Profile::linux_6_1(), Profile::linux_6_1(), faults, 1);
        let config = connection_config(Profile::linux_6_1(), true);
        let setup = Setup::new(&config.profile, Bytes::new(1448), 0);
        let controller = build(controller, &setup).expect("built in");
        pair.client = Connection::connect(ConnConfig { reports_rate, controller, ..config });
        assert!(pair.transfer(&pattern(300_000, 0), &[], LIMIT));
        (pair.client.info(pair.now).delivery_rate.is_some(), pair.sent)
    };
    for (name, unreported) in
        [("reno", false), ("prague", false), ("dctcp", false), ("westwood", false), ("bbr", true), ("bbr3", true)]
    {
        let (measured, segments) = run(true, name);
        assert!(measured);
        assert_eq!(run(false, name), (unreported, segments), "{name}");
    }
}
