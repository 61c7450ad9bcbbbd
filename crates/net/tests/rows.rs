//! Rows of links: passing through several links in one event changes neither a packet's fate nor a statistic at any
//! time. Counting departures in advance, while no statistic is read, changes no result either.

mod tree;

use lopsided_core::{BitRate, Duration, Time};
use lopsided_link::LinkConfig;
use lopsided_queue::QueueConfig;
use proptest::prelude::*;
use tree::{END, Tree, look, tree};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn in_rows_or_one_by_one_all_is_the_same(tree in tree(), step_us in 500u64..50_000) {
        let (mut in_rows, mut one_by_one) = (tree.network(true), tree.network(false));
        let (mut unseen, mut unseen_one_by_one) = (tree.network(true), tree.network(false));
        let mut now = Time::ZERO;
        while now < END {
            now = (now + Duration::from_micros(step_us)).min(END);
            in_rows.advance(now);
            one_by_one.advance(now);
            let seen = look(&mut one_by_one, &tree);
            prop_assert_eq!(look(&mut in_rows, &tree), &seen[..]);
            // These networks may count departures in advance up to the next look.
            for network in [&mut unseen, &mut unseen_one_by_one] {
                network.promise_unseen(now);
                network.advance(now);
                prop_assert_eq!(look(network, &tree), &seen[..]);
            }
        }
        // Rows exist to save events.
        prop_assert!(in_rows.events() <= one_by_one.events());
    }
}

#[test]
fn a_row_is_one_event() {
    let rate = Some(BitRate::from_bps(10_000_000));
    let plain = || LinkConfig::new(rate, Duration::from_millis(1), QueueConfig::packets(10));
    let lines = (0..5).map(|_| [plain(), plain()]).collect();
    let tree = Tree { routers: 3, beside: 0, lines, sends: (0..10).map(|at| (10_000 * at, 0, 1, 1000)).collect() };
    let mut network = tree.network(true);
    network.advance(END);
    // 10 sends, 10 arrivals, 5 answers.
    assert_eq!(network.events(), 10 + 10 + 5);
    let mut network = tree.network(false);
    network.advance(END);
    assert_eq!(network.events(), 10 + 4 * 10 + 4 * 5);
}

#[test]
fn what_several_links_bring_goes_on_many_at_a_time() {
    let rate = Some(BitRate::from_bps(10_000_000));
    let plain = || LinkConfig::new(rate, Duration::from_millis(1), QueueConfig::packets(10));
    let lines = (0..5).map(|_| [plain(), plain()]).collect();
    let sends = (0..10).flat_map(|at| [(10_000 * at, 0, 1, 1000), (10_000 * at, 2, 1, 1000)]).collect();
    let tree = Tree { routers: 3, beside: 0, lines, sends };
    let mut network = tree.network(true);
    network.advance(END);
    // 20 sends and 20 arrivals. The packets go from the first router to the second in 10 batches of 2, and 10 are
    // answered.
    assert_eq!(network.events(), 20 + 20 + 10 + 10);
}
