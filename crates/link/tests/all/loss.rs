//! Tests of the loss models. The configured packets, or the expected number of packets, must be lost. Every run must
//! lose the same packets.

use crate::common::{Bench, Fate, Touch, kbit, nanos, run};
use lopsided_core::{DropReason, Duration, Event, EventMask, NodeId, Observer, Time};
use lopsided_link::{GilbertConfig, LinkConfig, LossConfig};
use lopsided_queue::QueueConfig;
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// Sends a packet every millisecond over a line that takes 1 ms per packet.
fn cross(loss: LossConfig, seed: u64, count: u64) -> Bench {
    let config =
        LinkConfig { loss, ..LinkConfig::new(Some(kbit(800)), Duration::from_millis(5), QueueConfig::packets(10)) };
    let touches: Vec<_> = (0..count).map(|id| (nanos(id * 1_000_000), Touch::Packet(100))).collect();
    run(config.build(seed, "link/up").unwrap(), &touches)
}

fn lost(bench: &Bench) -> Vec<u64> {
    let id = |fate: &Fate| match *fate {
        Fate::Dropped(id, ..) => id,
        Fate::Delivered(..) => unreachable!("this list contains only drops"),
    };
    bench.drops().iter().map(id).collect()
}

#[test]
fn a_pattern_loses_its_packets_when_they_leave_the_queue() {
    let mut bench = cross(LossConfig { packets: vec![1, 4, 5, 1000], ..LossConfig::default() }, 1, 8);
    let at = |id: u64| Fate::Dropped(id, nanos((id - 1) * 1_000_000), DropReason::PatternLoss);
    assert_eq!(bench.drops(), [at(1), at(4), at(5)]);
    assert_eq!(bench.delivered().len(), 5);
    assert_eq!(bench.view_last(|link| link.wire_bytes().get()), 800, "lost packets also use the wire");
}

#[test]
fn an_outage_loses_packets_from_its_start_until_just_before_its_end() {
    let window = |from: u64, to: u64| (nanos(from * 1_000_000), nanos(to * 1_000_000));
    let outages = vec![window(1, 3), (nanos(5_000_001), nanos(7_000_000)), window(100, 200)];
    let bench = cross(LossConfig { outages, ..LossConfig::default() }, 1, 9);
    // Packet n leaves the queue at n - 1 ms.
    assert_eq!(lost(&bench), [2, 3, 7]);
}

#[test]
fn random_loss_has_the_configured_rate_and_depends_on_the_seed() {
    let random = |random| LossConfig { random, ..LossConfig::default() };
    let count = 100_000;
    let some = lost(&cross(random(0.05), 1, count));
    let sigma = (count as f64 * 0.05 * 0.95).sqrt();
    assert!((some.len() as f64 - 5000.0).abs() < 4.0 * sigma, "{} of 5000", some.len());
    assert_eq!(lost(&cross(random(0.05), 1, count)), some, "the same seed loses the same packets");
    assert_ne!(lost(&cross(random(0.05), 2, count)), some, "another seed loses other packets");
    assert_eq!(cross(random(1.0), 1, 50).delivered(), []);
}

#[test]
fn bursts_have_the_length_and_share_of_the_gilbert_elliott_model() {
    let gilbert = GilbertConfig { to_bad: 0.01, to_good: 0.25, loss_bad: 1.0, loss_good: 0.0 };
    let count = 200_000;
    let lost = lost(&cross(LossConfig { gilbert: Some(gilbert), ..LossConfig::default() }, 3, count));
    let bursts = 1 + lost.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    let (share, length) = (lost.len() as f64 / count as f64, lost.len() as f64 / bursts as f64);
    assert!((share - 0.01 / 0.26).abs() < 0.004, "a share of {share}, expected 0.0385");
    assert!((length - 4.0).abs() < 0.3, "bursts of {length}, expected 4");
}

/// If a second loss model is added to a line, the first model must lose the same packets as before.
#[test]
fn loss_models_do_not_affect_each_other() {
    let random = LossConfig { random: 0.1, ..LossConfig::default() };
    let gilbert = Some(GilbertConfig { to_bad: 0.02, to_good: 0.5, loss_bad: 0.7, loss_good: 0.001 });
    let bursts = LossConfig { gilbert, ..LossConfig::default() };
    let both = LossConfig { packets: vec![17], ..LossConfig { gilbert, ..random.clone() } };
    let mut expected = [lost(&cross(random, 5, 2000)), lost(&cross(bursts, 5, 2000)), vec![17]].concat();
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(lost(&cross(both, 5, 2000)), expected);
}

/// Without a loss model, the link uses its fast path. With a loss model that loses no packet, the link must produce the
/// same result.
#[test]
fn a_loss_model_without_losses_does_not_affect_the_result() {
    let never = LossConfig { packets: vec![u64::MAX], ..LossConfig::default() };
    let touches: Vec<_> = (0..300_u64).map(|id| (nanos(id * id * 7919 % 90_000_000), 28 + id as u32 * 4)).collect();
    let mut touches: Vec<(Time, Touch)> = touches.into_iter().map(|(at, size)| (at, Touch::Packet(size))).collect();
    touches.sort_by_key(|(at, _)| *at);
    let crossed = |loss| {
        let config = LinkConfig {
            loss,
            ..LinkConfig::new(Some(kbit(9000)), Duration::from_millis(3), QueueConfig::packets(10))
        };
        run(config.build(1, "link").unwrap(), &touches)
    };
    let (plain, other) = (crossed(LossConfig::default()), crossed(never));
    assert!(plain.drops().len() > 20, "the queue should overflow");
    assert_eq!((plain.delivered(), plain.drops()), (other.delivered(), other.drops()));
}

/// Records the number and size of each packet that enters or leaves a link's queue.
#[derive(Clone, Debug, Default)]
struct Watcher(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    entered: Vec<(u64, u64)>,
    left: Vec<(u64, u64)>,
}

impl Observer for Watcher {
    fn mask(&self) -> EventMask {
        EventMask::QUEUES
    }

    fn record(&mut self, _at: Time, _node: NodeId, event: &Event<'_>) {
        let mut seen = self.0.lock().unwrap();
        match event {
            Event::Enqueued { packet, .. } => seen.entered.push((packet.id(), packet.size().get())),
            Event::Dequeued { packet, .. } => seen.left.push((packet.id(), packet.size().get())),
            _ => {}
        }
    }
}

proptest! {
    /// Packets leave a drop-tail queue in the order of their entry, even if the line loses some of them.
    #[test]
    fn an_observer_sees_each_entered_packet_leave(
        steps in proptest::collection::vec((0..400_000u64, 28..1500u32), 1..120),
        random in 0.0..0.9f64,
        limit in 1..12u32,
    ) {
        let loss = LossConfig { random, ..LossConfig::default() };
        let config = LinkConfig {
            loss,
            ..LinkConfig::new(Some(kbit(9000)), Duration::from_millis(3), QueueConfig::packets(limit))
        };
        let mut bench = Bench::new(config.build(7, "link").unwrap());
        let watcher = Watcher::default();
        bench.accounting.subscribe(Box::new(watcher.clone()));
        let mut at = 0;
        for (pause, size) in &steps {
            at += pause;
            bench.run_until(nanos(at));
            bench.touch(nanos(at), Touch::Packet(*size));
        }
        bench.run_until(Time::MAX);
        // The loss of the last packet causes no event, so only a later measurement counts the loss.
        bench.view(nanos(at + 10_000_000_000), |link| link.counters());
        let seen = watcher.0.lock().unwrap();
        prop_assert_eq!(&seen.entered, &seen.left);
        let refused = bench.drops().iter().filter(|fate| matches!(fate, Fate::Dropped(_, _, DropReason::QueueFull))).count();
        prop_assert_eq!(seen.entered.len() + refused, steps.len());
    }
}
