//! The counters of both ends equal the segments that the network has seen.

use super::delivery::{LIMIT, faults};
use super::pair::{Faults, Pair};
use crate::{Counters, Profile};
use lopsided_core::packet::Flags;
use lopsided_core::{Bytes, Duration, Seq};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counters_equal_the_segments_on_the_network(
        linux: bool, timestamps: bool, sack: bool, faults in prop_oneof![Just(Faults::NONE), faults()], seed: u64,
        up in 1usize..200_000, down in 0usize..50_000,
    ) {
        let profile = if linux { Profile::linux_6_1() } else { Profile::freebsd_7() };
        let profile = Profile { timestamps, sack, ..profile };
        let mut pair = Pair::new(profile.clone(), profile, faults, seed);
        pair.synthetic = true;
        pair.stays_open = true;
        // An ACK that a connection has prepared counts as sent, so it must be taken before the next arrival.
        pair.answers_each = true;
        pair.transfer(&vec![1; up], &vec![2; down], LIMIT);
        for from_client in [true, false] {
            let (end, written, received) =
                if from_client { (&pair.client, up, down) } else { (&pair.server, down, up) };
            let Counters {
                bytes_sent, bytes_retransmitted, bytes_acked, bytes_received, segments_out, segments_in,
                data_segments_out, retransmits, lost_retransmits, pure_acks_out, ..
            } = end.counters();
            let sent = || pair.sent.iter().filter(|(_, to_server, ..)| *to_server == from_client);
            prop_assert_eq!(segments_out, sent().count() as u64);
            prop_assert_eq!(segments_in, pair.arrived[usize::from(from_client)]);
            prop_assert_eq!(bytes_sent.get(), sent().map(|(.., len)| u64::from(*len)).sum::<u64>());
            prop_assert_eq!(data_segments_out, sent().filter(|(.., len)| *len > 0).count() as u64);
            // A probe of the window or of a dead peer is no acknowledgement: it repeats an old byte.
            let pure = sent().filter(|(_, _, header, len)| header.flags == Flags::ACK && *len == 0).count() as u64;
            prop_assert_eq!(pure_acks_out, pure);
            if pair.received_by_server.len() < up || pair.received_by_client.len() < down {
                // The network has dropped every transmission of a segment.
                continue;
            }
            prop_assert_eq!(bytes_acked, Bytes::new(written as u64));
            prop_assert_eq!(bytes_received, Bytes::new(received as u64));
            prop_assert_eq!(bytes_sent - bytes_retransmitted, Bytes::new(written as u64));
            let syns = sent().filter(|(_, _, header, _)| header.flags.has(Flags::SYN)).count() as u64;
            let mut highest = None;
            let again = sent().filter(|(_, _, header, len)| {
                let old = *len > 0 && highest.is_some_and(|highest: Seq| (header.seq.get().wrapping_sub(highest.get()) as i32) < 0);
                if *len > 0 && !old {
                    highest = Some(header.seq + *len);
                }
                old
            });
            prop_assert_eq!(retransmits, again.count() as u64 + syns - 1);
            prop_assert!(lost_retransmits <= retransmits);
            let stats = end.rtt_stats();
            prop_assert!(stats.min.is_none_or(|min| min >= Duration::from_millis(20)), "{:?}", stats.min);
            prop_assert!(stats.min <= stats.max && stats.mean() <= stats.max && stats.mean() >= stats.min);
        }
    }
}

/// The statistics of a capture on a path of 20 ms: each ACK of new data is a sample.
#[test]
fn rtt_statistics_can_be_taken() {
    let mut pair = Pair::new(Profile::linux_6_1(), Profile::linux_6_1(), Faults::NONE, 1);
    pair.synthetic = true;
    pair.stays_open = true;
    pair.transfer(&[1; 30_000], &[], LIMIT);
    let taken = pair.client.take_rtt_stats();
    assert!(taken.count > 0);
    assert_eq!(taken.min, Some(Duration::from_millis(20)));
    assert_eq!(pair.client.take_rtt_stats().count, 0);
}
