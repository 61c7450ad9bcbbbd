//! An endpoint survives arbitrary datagrams, and its stream stays intact.

use crate::pair::{Pair, Seen, packet, pattern};
use lopsided_app::Transport;
use lopsided_core::{Duration, Ecn, Rng, Time};
use lopsided_quic::frames::packets;
use lopsided_quic::{Clock, QuicConfig};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The parser must not panic for any input.
    #[test]
    fn parsing_arbitrary_octets_does_not_panic(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        for packet in packets(&octets) {
            let _ = packet.frames().count();
        }
    }

    /// Modified and forged packets during a transfer do not change the data that arrives.
    #[test]
    fn modified_and_forged_packets_are_discarded(seed in any::<u64>(), garbage in prop::collection::vec(any::<u8>(), 0..1500)) {
        let content = pattern(60_000);
        let mut rng = Rng::for_role(seed, "line");
        let fate = Box::new(move |_: &Seen| if rng.chance(0.05) { vec![] } else { vec![10_000_000] });
        let config = QuicConfig { idle_timeout: None, ..QuicConfig::default() };
        let mut pair = Pair::new(&config, seed, Clock::default(), content.clone(), fate);
        pair.run(Time::ZERO + Duration::from_millis(70));
        let mut rng = Rng::for_role(seed, "hostile");
        for seen in pair.sent.clone() {
            let mut octets = seen.octets.clone();
            let at = rng.below(octets.len() as u64) as usize;
            octets[at] ^= 1 << rng.below(8);
            let changed = Seen { octets, ..seen };
            pair.ends[usize::from(changed.up)].handle_packet(pair.now, &packet(&changed));
        }
        for up in [false, true] {
            let invented = Seen { at: pair.now, up, octets: garbage.clone(), ecn: Ecn::Ce };
            pair.ends[usize::from(up)].handle_packet(pair.now, &packet(&invented));
        }
        pair.resume(Time::ZERO + Duration::from_secs(600));
        prop_assert!(pair.closed);
        prop_assert!(pair.got == content);
    }
}
