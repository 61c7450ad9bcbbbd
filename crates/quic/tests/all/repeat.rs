//! The same seed produces the same packets, independently of the clock's base.

use crate::pair::{Pair, pattern};
use lopsided_core::{Duration, Rng, Time};
use lopsided_quic::{Clock, QuicConfig};

/// Returns the time, direction and contents of every packet.
fn packets(clock: Clock, seed: u64) -> Vec<(Time, bool, Vec<u8>)> {
    let mut rng = Rng::for_role(7, "line");
    let fate = Box::new(move |_: &_| if rng.chance(0.05) { vec![] } else { vec![15_000_000 + rng.below(5_000_000)] });
    let mut pair = Pair::new(&QuicConfig::default(), seed, clock, pattern(400_000), fate);
    pair.run(Time::ZERO + Duration::from_secs(120));
    assert!(pair.closed);
    pair.sent.into_iter().map(|seen| (seen.at, seen.up, seen.octets)).collect()
}

#[test]
fn runs_do_not_depend_on_the_origin_of_the_clock() {
    let first = packets(Clock::default(), 1);
    assert!(first == packets(Clock::default(), 1), "twice in one process");
    let shifted = Clock::default().shifted(Duration::from_nanos(1_234_567_987_654_321));
    assert!(first == packets(shifted, 1), "another origin of the clock");
    assert!(first != packets(Clock::default(), 2), "another seed has other connection IDs");
}
