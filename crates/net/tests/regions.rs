//! Runs the same network in two ways: divided into rows and regions, and as a model with a single heap of events. The
//! outcome of each packet, the statistics and the digest must be equal for any number of threads.

mod tree;

use lopsided_core::{Accounting, BitRate, Cx, Duration, Node, NodeId, Packet, Port, Time};
use lopsided_link::LinkConfig;
use lopsided_net::{Attachment, NetNode, Network, Progress};
use lopsided_queue::QueueConfig;
use proptest::prelude::*;
use tree::{END, Tree, look, tree};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]
    #[test]
    fn every_combination_of_rows_regions_and_threads_matches_the_model(
        tree in tree(),
        step_us in 500u64..50_000,
        budget in prop_oneof![1u64..20, Just(u64::MAX)],
        in_rows in prop::bool::weighted(0.9),
        in_one_order in prop::bool::weighted(0.3),
        threads in 1usize..4,
        unseen: bool,
    ) {
        let (network, mut model) = (tree.network(in_rows, threads), tree.model());
        let mut network = if in_one_order { network.in_one_order() } else { network };
        let mut now = Time::ZERO;
        while now < END {
            now = (now + Duration::from_micros(step_us)).min(END);
            if unseen {
                network.promise_unseen(now);
            }
            let (mut before, mut reached) = (network.events(), network.now());
            // A call that uses up its budget stops in the middle of a time window. Threads stop only at the end of a
            // time window.
            while network.run(now, budget) == Progress::Paused {
                let handled = network.events() - before;
                prop_assert!(handled == budget || (threads > 1 && handled > budget));
                prop_assert!(reached <= network.now() && network.now() <= now);
                (before, reached) = (network.events(), network.now());
            }
            model.advance(now);
            prop_assert_eq!(network.now(), now);
            prop_assert_eq!(look(&mut network, &tree), look(&mut model, &tree));
        }
    }
}

/// A host whose timer expires after each `period` and interrupts the run. With a period of 0 the timer expires
/// endlessly at the same instant.
#[derive(Debug)]
struct Restless {
    timer: Option<Time>,
    period: Duration,
}

impl Node for Restless {
    fn handle_packet(&mut self, _port: Port, _packet: Packet, _cx: &mut Cx<'_>) {}

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.timer = self.timer.map(|timer| timer + self.period);
        if !self.period.is_zero() {
            cx.interrupt();
        }
    }

    fn poll_transmit(&mut self, _cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.timer
    }
}

const FIRST: Time = Time::from_nanos(1_000_000);

/// Returns a network of two hosts that can run ahead of each other. The timer of host 1 expires first, at `FIRST`.
fn network(period: Duration) -> Network<Restless> {
    let host = |timer| NetNode::Host(Box::new(Restless { timer, period }));
    let line = || {
        let config = LinkConfig::new(None, Duration::from_millis(5), QueueConfig::packets(5));
        NetNode::Link(Box::new(config.build(1, "line").expect("a link")))
    };
    let nodes = vec![host(None), host(Some(FIRST)), line(), line()];
    let wires = [2, 3, 1, 0].map(|node| vec![Attachment { node: NodeId(node), port: Port(0) }]);
    // With several threads, a network is divided into regions even without a shared link.
    Network::new(nodes, &wires, Accounting::new(4)).with_threads(2, f64::INFINITY).with_followers(Vec::new())
}

#[test]
fn events_at_one_instant_are_counted_across_pauses() {
    let mut network = network(Duration::ZERO);
    for pause in 1..=5 {
        assert_eq!(network.run(END, 100), Progress::Paused);
        assert_eq!(network.instant(), (FIRST, 100 * (pause - 1)));
    }
}

#[test]
fn the_count_of_events_restarts_at_each_new_instant() {
    let period = Duration::from_micros(1);
    let mut network = network(period).in_one_order();
    for pause in 0..5 {
        assert_eq!(network.run(END, 100), Progress::Paused);
        assert_eq!(network.instant(), (FIRST + period * pause, 0));
    }
}

fn plain(ms: u64) -> LinkConfig {
    LinkConfig::new(Some(BitRate::from_bps(10_000_000)), Duration::from_millis(ms), QueueConfig::packets(10))
}

/// Hosts 0 and 2 send to host 1 over a shared line.
#[test]
fn regions_of_a_window_run_on_several_threads() {
    let lines = [1, 20, 1, 1].into_iter().map(|ms| [plain(ms), plain(ms)]).collect();
    let sends = (0..300).flat_map(|at| [(1000 * at, 0, 1, 1000), (1000 * at, 2, 1, 1000)]).collect();
    let tree = Tree { routers: 2, beside: 0, lines, sends };
    let mut model = tree.model();
    model.advance(END);
    let seen = look(&mut model, &tree);
    for threads in 1..4 {
        let mut network = tree.network(true, threads);
        network.advance(END);
        assert!(look(&mut network, &tree) == seen, "{threads} threads");
        let (most, events) = network.threads_used();
        assert_eq!((most, events > 0), (threads.min(2), threads > 1));
    }
}

#[test]
fn a_row_of_links_is_traversed_in_one_event() {
    let lines = (0..5).map(|_| [plain(1), plain(1)]).collect();
    let tree = Tree { routers: 3, beside: 0, lines, sends: (0..10).map(|at| (10_000 * at, 0, 1, 1000)).collect() };
    let mut network = tree.network(true, 1);
    network.advance(END);
    // The network handles 10 sends, 10 arrivals and 5 responses, each in one event.
    assert_eq!(network.events(), 10 + 10 + 5);
    let mut network = tree.network(false, 1);
    network.advance(END);
    assert_eq!(network.events(), 10 + 4 * 10 + 4 * 5);
}

#[test]
fn packets_from_several_links_enter_the_shared_link_in_batches() {
    let lines = (0..5).map(|_| [plain(1), plain(1)]).collect();
    let sends = (0..10).flat_map(|at| [(10_000 * at, 0, 1, 1000), (10_000 * at, 2, 1, 1000)]).collect();
    let tree = Tree { routers: 3, beside: 0, lines, sends };
    let mut network = tree.network(true, 1);
    network.advance(END);
    // The network handles 20 sends, 20 arrivals and 10 responses, each in one event.
    assert_eq!(network.events(), 20 + 20 + 10);
    // With one global order of time, the shared link takes its packets from the merge point in 10 batches of 2 packets.
    // Each batch is an event too.
    let mut network = tree.network(true, 1).in_one_order();
    network.advance(END);
    assert_eq!(network.events(), 20 + 20 + 10 + 10);
}
