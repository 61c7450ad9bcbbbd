//! Every byte of a stream arrives once and in order.

use crate::pair::{Pair, pattern};
use lopsided_core::{Duration, Rng, Time};
use lopsided_quic::{Clock, QuicConfig};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The path loses, delays, reorders and repeats packets.
    #[test]
    fn a_stream_arrives_complete_over_a_lossy_path(
        seed in any::<u64>(),
        loss in 0.0..0.25,
        repeats in 0.0..0.2,
        jitter_ms in 0u64..60,
        size in 1usize..120_000,
        acks in prop::sample::select(vec![1u32, 2, 10]),
        asks in any::<bool>(),
    ) {
        let config = QuicConfig { ack_packets: acks, ack_frequency: asks, idle_timeout: None, ..QuicConfig::default() };
        let mut rng = Rng::for_role(seed, "line");
        let fate = Box::new(move |_: &_| {
            let mut delay = || 10 * MS + rng.below(jitter_ms * MS + 1);
            let copies = [delay(), delay()];
            match (rng.chance(loss), rng.chance(repeats)) {
                (true, _) => vec![],
                (false, true) => copies.to_vec(),
                (false, false) => copies[..1].to_vec(),
            }
        });
        let content = pattern(size);
        let mut pair = Pair::new(&config, seed, Clock::default(), content.clone(), fate);
        pair.run(Time::ZERO + Duration::from_secs(600));
        prop_assert!(pair.closed, "the transfer ended");
        prop_assert!(pair.got == content, "{} of {} octets arrived", pair.got.len(), content.len());
    }
}

/// A link without losses delivers the data at the first attempt, after a handshake of one RTT.
#[test]
fn a_lossless_transfer_takes_two_round_trips_plus_transmission() {
    let content = pattern(1000);
    let fate = Box::new(|_: &_| vec![20 * MS]);
    let mut pair = Pair::new(&QuicConfig::default(), 1, Clock::default(), content.clone(), fate);
    pair.run(Time::ZERO + Duration::from_secs(10));
    assert_eq!(pair.got, content);
    // noq-proto also paces the handshake, based on an initial RTT of 333 ms (RFC 9002, section 6.2.2).
    let most_ms = if cfg!(feature = "noq") { 165 } else { 125 };
    assert!(pair.now < Time::ZERO + Duration::from_millis(most_ms), "{:?}", pair.now);
}

/// RFC 9000, section 8.1: the server sends at most three times the bytes received, so a long certificate chain costs an
/// RTT.
#[test]
fn a_long_certificate_chain_costs_a_round_trip() {
    let took = |flight: u64| {
        let config = QuicConfig { server_flight: lopsided_core::Bytes::new(flight), ..QuicConfig::default() };
        let mut pair = Pair::new(&config, 1, Clock::default(), pattern(10), Box::new(|_: &_| vec![20 * MS]));
        pair.run(Time::ZERO + Duration::from_secs(10));
        let (mut up, mut down) = (0, 0);
        for seen in &pair.sent {
            if seen.up {
                up += seen.octets.len()
            } else {
                down += seen.octets.len()
            }
            // The client's second flight validates the client's address.
            if seen.up && seen.at >= Time::ZERO + Duration::from_millis(40) {
                break;
            }
            assert!(down <= 3 * up, "{down} octets were sent after {up} octets were received");
        }
        pair.now
    };
    let (short, long) = (took(1000), took(6000));
    assert!(long >= short + Duration::from_millis(40), "{short:?} {long:?}");
}
