//! A network in parts on several threads has the same packets, statistics and digest as the network in one part.

mod tree;

use lopsided_core::{BitRate, Duration, NodeId, Time};
use lopsided_link::LinkConfig;
use lopsided_net::{Division, LinePair, Network, Parts, Together};
use lopsided_queue::QueueConfig;
use proptest::prelude::*;
use std::cell::Cell;
use tree::{END, HOSTS, Host, Tree, look, tree};

const STUCK: u64 = 1 << 20;

fn lines(tree: &Tree) -> Vec<LinePair> {
    let id = |join, dir| NodeId(tree.link(join, dir) as u32);
    (0..tree.lines.len()).map(|join| (id(join, 0), id(join, 1))).collect()
}

fn division(tree: &Tree, network: &Network<Host>, most: usize) -> Option<Division> {
    let work: Vec<u64> = network.nodes().enumerate().map(|(node, _)| u64::from(node < HOSTS)).collect();
    Division::of(network, &lines(tree), &work, most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn in_parts_or_in_one_all_is_the_same(tree in tree(), step_us in 500u64..50_000, most in 2usize..5, rows: bool, unseen: bool) {
        let (mut whole, mut apart) = (tree.network(rows), tree.network(rows));
        let Some(division) = division(&tree, &apart, most) else { return Ok(()) };
        prop_assert!((2..=most).contains(&division.parts()));
        let mut parts = Parts::new(&apart, division);
        let mut now = Time::ZERO;
        for step in 0.. {
            now = (now + Duration::from_micros(step_us)).min(END);
            whole.advance(now);
            if unseen {
                apart.promise_unseen(now);
            }
            // Sometimes the network runs by itself between two runs in parts.
            if step % 5 == 3 {
                apart.advance(now);
            } else {
                prop_assert_eq!(parts.run(&mut apart, now, STUCK, |_| true), Together::Reached);
            }
            prop_assert_eq!(apart.now(), now);
            prop_assert_eq!(look(&mut apart, &tree), look(&mut whole, &tree));
            if now == END {
                break;
            }
        }
    }
}

/// Hosts 0 and 1 at the ends of a row of three routers, host 2 at the first router. The two lines between routers have
/// 20 and 30 ms, all others 1 ms.
fn row(sends: Vec<(u64, usize, usize, u32)>) -> Tree {
    let plain =
        |ms| LinkConfig::new(Some(BitRate::from_bps(10_000_000)), Duration::from_millis(ms), QueueConfig::packets(10));
    let lines = [1, 20, 30, 1, 1].into_iter().map(|ms| [plain(ms), plain(ms)]).collect();
    Tree { routers: 3, beside: 0, lines, sends }
}

#[test]
fn the_longest_lines_that_leave_equal_work_are_cut() {
    let tree = row(Vec::new());
    let network = tree.network(true);
    let two = division(&tree, &network, 2).expect("lines that foretell");
    // Both long lines divide the work equally, so the longer delay decides.
    assert_eq!(two.exits(), [NodeId(tree.link(2, 0) as u32), NodeId(tree.link(2, 1) as u32)]);
    assert_eq!((two.parts(), two.lookahead()), (2, Duration::from_millis(30)));
    // A further cut would make a part without hosts, which has no work.
    assert_eq!(division(&tree, &network, 4), Some(two));
    assert_eq!(division(&tree, &network, 1), None);
}

#[test]
fn a_run_that_is_called_off_ends_together_and_can_go_on() {
    let tree = row((0..300).map(|at| (1000 * at, 0, 1, 1000)).collect());
    let (mut whole, mut apart) = (tree.network(true), tree.network(true));
    let mut parts = Parts::new(&apart, division(&tree, &apart, 2).expect("a division"));
    // `goes_on` is called once per window.
    let windows = Cell::new(0);
    let at_the_third = |_: Time| {
        windows.set(windows.get() + 1);
        windows.get() < 3
    };
    assert_eq!(parts.run(&mut apart, END, STUCK, at_the_third), Together::Stopped);
    let stopped = Time::ZERO + parts.division().lookahead() * 3;
    assert_eq!(apart.now(), stopped);
    whole.advance(stopped);
    assert_eq!(look(&mut apart, &tree), look(&mut whole, &tree));
    assert_eq!(parts.run(&mut apart, END, STUCK, |_| true), Together::Reached);
    whole.advance(END);
    assert_eq!(look(&mut apart, &tree), look(&mut whole, &tree));
}

/// Three hosts around one router, each in a part of its own. A packet that crossed the first cut when a run ends is
/// already in the second.
#[test]
fn what_crosses_two_cuts_is_there_whenever_a_run_ends() {
    let plain =
        |ms| LinkConfig::new(Some(BitRate::from_bps(10_000_000)), Duration::from_millis(ms), QueueConfig::packets(10));
    let lines = [5, 5, 1].into_iter().map(|ms| [plain(ms), plain(ms)]).collect();
    let sends = (0..100).map(|at| (1000 * at, 0, 1, 1000)).collect();
    let tree = Tree { routers: 1, beside: 0, lines, sends };
    let (mut whole, mut apart) = (tree.network(true), tree.network(true));
    let mut parts = Parts::new(&apart, division(&tree, &apart, 3).expect("a division"));
    // The cut with the most equal work comes first.
    let cut = [(1, 0), (1, 1), (0, 0), (0, 1)].map(|(join, dir)| NodeId(tree.link(join, dir) as u32));
    assert_eq!(parts.division().exits(), cut);
    let mut now = Time::ZERO;
    while now < END {
        now = (now + Duration::from_micros(2300)).min(END);
        whole.advance(now);
        assert_eq!(parts.run(&mut apart, now, STUCK, |_| true), Together::Reached);
        assert_eq!(look(&mut apart, &tree), look(&mut whole, &tree));
    }
}
