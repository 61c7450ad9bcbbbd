//! A receiver that acknowledges what a lossy channel has dropped ("compatible TCP", Havey 2015, section 3.3.3).

use super::script::{PEER, Script, linux};
use crate::Profile;
use std::ops::Range;

fn established(expected: f64) -> Script {
    let profile = Profile { placeholders: Some(expected), placeholder_margin: 4, ..linux() };
    let mut t = Script::established(profile, PEER);
    assert!(t.connection.takes_placeholders());
    for segment in 0..20 {
        t.deliver(110 + segment, &format!("{}:{}", 1 + segment * 1000, 1001 + segment * 1000));
    }
    t
}

#[test]
fn an_expected_loss_is_acknowledged_and_reported_to_the_application() {
    let mut t = established(0.2);
    assert_eq!(t.connection.take_placeholders(), Vec::<Range<u64>>::new());
    t.inject(140, "21001:22001");
    assert_eq!(t.take().map(|(ack, _)| ack), Some(22_001));
    t.drain();
    assert_eq!(t.connection.take_placeholders(), std::slice::from_ref(&(20_000..21_000)));
    assert!(t.connection.take_placeholders().is_empty(), "each range is returned once");
    // Two gaps that follow each other are one range; a gap after data is another one.
    t.deliver(141, "23001:23501");
    t.deliver(142, "25001:25501");
    assert_eq!(t.connection.take_placeholders(), [22_000..23_000, 23_500..25_000]);
}

#[test]
fn old_data_and_data_beyond_the_window_create_no_placeholders() {
    let mut t = established(0.2);
    t.deliver(140, "1:1001");
    t.deliver(141, "20001:21001");
    t.deliver(142, "90000001:90001001");
    assert!(t.connection.take_placeholders().is_empty());
    t.deliver(143, "21001:22001");
    assert_eq!(t.info().counters.bytes_received.get(), 22_000);
}

#[test]
fn without_an_expected_loss_a_gap_is_reported_by_sack() {
    let mut t = Script::established(linux(), PEER);
    assert!(!t.connection.takes_placeholders());
    t.answers(110, "1001:2001", "ack 1 sack 1001:2001");
    assert!(t.connection.take_placeholders().is_empty());
}
