//! Compares the control laws of queue disciplines with their specifications, step by step, for random delays.

use crate::common::{cx, packet, packet_with};
use lopsided_core::{Accounting, BitRate, Bytes, Duration, Ecn, Rng, Time};
use lopsided_queue::{Backlog, Cobalt, CobaltConfig, CoupledLaw, DocsisPie, DocsisPieConfig, DocsisPieLaw};
use lopsided_queue::{DualPi2Config, Pie, PieConfig, Qdisc, QueuedPacket, Verdict};

const STEPS: u64 = 5_000;

/// Returns delays that change randomly in small steps, stay at zero for a while, and jump.
fn delays(seed: u64) -> impl Iterator<Item = Duration> {
    let mut rng = Rng::for_role(seed, "delays");
    let mut micros = 0_i64;
    std::iter::repeat_with(move || {
        micros = match rng.below(20) {
            0 => 0,
            1 => rng.below(600_000) as i64,
            _ => (micros + rng.below(4001) as i64 - 2000).max(0),
        };
        Duration::from_micros(micros as u64)
    })
}

/// Returns the step scaled by the factor that PIE uses at this probability (RFC 8033 and 8034).
fn tuned(step: f64, probability: f64) -> f64 {
    let borders = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    step / borders.iter().find(|(border, _)| probability < *border).map_or(1.0, |(_, divisor)| *divisor)
}

#[test]
fn pie_follows_rfc_8033() {
    let config = PieConfig::default();
    let backlog = Backlog { packets: 100, bytes: Bytes::new(150_000) };
    let mut pie = Pie::new(&config);
    let (mut probability, mut old) = (0.0_f64, 0.0);
    for (number, delay) in delays(1).take(STEPS as usize).enumerate() {
        let now = Time::ZERO + config.tupdate * (number as u64 + 1);
        pie.left(&config, now, Bytes::new(1500), delay, backlog.bytes);
        pie.catch_up(&config, now, backlog);
        // Sections 4.2 and 5.5, with Linux's changes: 2 % are added above 250 ms, and the limit is 256 instead of 1.
        let current = delay.as_secs_f64();
        let mut step = tuned(0.125 * (current - 0.015) + 1.25 * (current - old), probability);
        if probability >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        if current > 0.25 {
            step += 0.02;
        }
        probability += step;
        probability = probability.clamp(0.0, 256.0);
        old = current;
        assert!((pie.probability() - probability).abs() < 1e-12, "step {number}: {} {probability}", pie.probability());
    }
}

#[test]
fn docsis_pie_follows_rfc_8034() {
    let target = Duration::from_millis(10);
    let mut law = DocsisPieLaw::default();
    let (mut probability, mut old) = (0.0_f64, 0.0);
    for (number, delay) in delays(2).take(STEPS as usize).enumerate() {
        law.update(target, delay);
        let current = delay.as_secs_f64();
        let more = if probability < 0.1 {
            1.0
        } else if probability < 1.0 {
            2.0
        } else if probability < 10.0 {
            8.0
        } else {
            32.0
        };
        let mut step = more * tuned(0.25 * (current - 0.010) + 2.5 * (current - old), probability);
        if probability >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        probability += step;
        if current < 0.005 && old < 0.005 {
            probability *= 0.98;
        } else if current > 0.2 {
            probability += 0.02;
        }
        probability = probability.clamp(0.0, 0.85 * 1024.0 / 64.0);
        old = current;
        assert!((law.probability() - probability).abs() < 1e-12, "step {number}: {} {probability}", law.probability());
    }
}

#[test]
fn docsis_pie_drops_in_proportion_to_size_and_accepts_a_burst_after_a_quiet_second() {
    let target = Duration::from_millis(10);
    let mut rng = Rng::for_role(1, "docsis");
    let waiting = Bytes::new(100_000);
    let mut law = DocsisPieLaw::default();
    let interval = Duration::from_millis(16);
    while law.probability() < 0.1 {
        law.update(target, Duration::from_millis(30));
    }
    assert!((0..1000).all(|_| !law.drops(target, Bytes::new(1500), waiting, false, &mut rng)), "less than 1/3 is full");
    while !law.drops(target, Bytes::new(1500), waiting, true, &mut rng) {}
    // The first drop starts a burst allowance of 142 ms, which lasts nine update intervals of 16 ms.
    for _ in 0..9 {
        assert!(!law.drops(target, Bytes::new(1500), waiting, true, &mut rng));
        law.update(target, interval * 10);
        assert_eq!(law.probability(), 0.0);
    }
    while law.probability() < 0.1 {
        law.update(target, Duration::from_millis(30));
    }
    let mut share = |size: u64| {
        let mut law = law.clone();
        (0..20_000).filter(|_| law.drops(target, Bytes::new(size), waiting, true, &mut rng)).count() as f64 / 20_000.0
    };
    let (large, small) = (share(1024), share(128));
    assert!((large / small - 8.0).abs() < 1.0, "dropped fractions: {large} of large and {small} of small packets");
    assert!(!law.drops(target, Bytes::new(1500), Bytes::new(2048), true, &mut rng), "two packets never cause a drop");
}

#[test]
fn docsis_pie_predicts_the_delay_from_both_rates_and_the_refilled_bucket() {
    let (sustained, peak) = (8_000_000, 100_000_000);
    let config = DocsisPieConfig {
        msr: Some(BitRate::from_bps(sustained)),
        peak_rate: Some(BitRate::from_bps(peak)),
        burst: Bytes::new(20_000),
        ..DocsisPieConfig::default()
    };
    // The packets empty the bucket at once. In one update interval of 16 ms, the bucket gains 16,000 bytes, but at most
    // its depth.
    for (intervals, refilled) in [(1_u64, 16_000_u64), (2, 20_000), (5, 20_000)] {
        let (mut queue, mut accounting) = (DocsisPie::new(&config, Rng::for_role(1, "x")).unwrap(), Accounting::new(1));
        let mut start = cx(Time::ZERO, &mut accounting);
        (0..34).for_each(|id| queue.enqueue(packet(id, 1500), &mut start));
        (0..14).for_each(|_| assert!(queue.dequeue(&mut start).is_some()));
        let waiting = queue.backlog().bytes.get();
        let now = Time::ZERO + Duration::from_millis(16) * intervals;
        queue.enqueue(packet(40, 1500), &mut cx(now, &mut accounting));
        let expected = (refilled * 8) as f64 / peak as f64 + ((waiting - refilled) * 8) as f64 / sustained as f64;
        let mut predicted = None;
        queue.gauges(&mut |name, value| {
            if name == "predicted_delay_ms" {
                predicted = Some(value);
            }
        });
        assert!((predicted.unwrap() - expected * 1e3).abs() < 1e-3, "{intervals}: {predicted:?} and {expected}");
    }
}

#[test]
fn dualpi2_follows_rfc_9332() {
    let config = DualPi2Config::default();
    let mut law = CoupledLaw::default();
    let (mut base, mut old) = (0.0_f64, 0.0);
    for (number, delay) in delays(3).take(STEPS as usize).enumerate() {
        law.update(&config, delay);
        let current = delay.as_secs_f64();
        base = (base + 0.16 * (current - 0.015) + 3.2 * (current - old)).clamp(0.0, 1.0);
        old = current;
        assert!((law.base() - base).abs() < 1e-12, "step {number}");
        assert_eq!((law.classic(), law.coupled(&config)), (law.base() * law.base(), 2.0 * law.base()));
    }
}

/// COBALT as in its paper: BLUE, and CoDel with a count that decays. Newton's method runs four steps for counts up to
/// 15, and one step for each change of a larger count.
#[derive(Default)]
struct Reference {
    count: u32,
    /// 0 until the count changes for the first time, so the first dropping episode starts without a delay of one interval.
    inverse_sqrt: f64,
    dropping: bool,
    drop_next: u64,
}

impl Reference {
    const INTERVAL: u64 = 100_000_000;
    const TARGET: u64 = 5_000_000;

    fn control(&self) -> u64 {
        (Self::INTERVAL as f64 * self.inverse_sqrt) as u64
    }

    fn recount(&mut self, count: u32) {
        let step = |x: f64, count: u32| x * (3.0 - f64::from(count) * x * x) / 2.0;
        let four_steps = |x: f64, count: u32| (0..4).fold(x, |x, _| step(x, count));
        self.inverse_sqrt = if count < 16 { (1..=count).fold(1.0, four_steps) } else { step(self.inverse_sqrt, count) };
        self.count = count;
    }

    fn drops(&mut self, now: u64, sojourn: u64) -> bool {
        let over = sojourn > Self::TARGET;
        let due_before = self.count > 0 && now >= self.drop_next;
        let mut late = now > self.drop_next;
        if over && !self.dropping {
            self.dropping = true;
            self.drop_next = now + self.control();
        }
        if over {
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut dropped = false;
        if self.dropping && due_before {
            dropped = true;
            self.recount(self.count + 1);
            self.drop_next += self.control();
            late = now > self.drop_next;
        } else if due_before {
            while self.count > 0 && now >= self.drop_next {
                self.recount(self.count - 1);
                self.drop_next += self.control();
                late = now > self.drop_next;
            }
        }
        if self.count == 0 {
            self.drop_next = now + Self::INTERVAL;
        } else if late && !dropped {
            self.drop_next = now;
        }
        dropped
    }
}

#[test]
fn cobalt_follows_the_control_law_up_and_down() {
    let config = CobaltConfig::default();
    let (mut cobalt, mut reference) = (Cobalt::default(), Reference::default());
    let mut accounting = Accounting::new(1);
    let mut rng = Rng::for_role(1, "cobalt");
    let (mut found, mut dropped) = (0, 0);
    // A long overload, followed by delays that change in small steps.
    let overload = std::iter::repeat_n(Duration::from_millis(50), 5_000);
    for (number, delay) in overload.chain(delays(4)).take(40_000).enumerate() {
        let now = Time::ZERO + Duration::from_secs(1) + Duration::from_millis(1) * number as u64;
        let mut packet = QueuedPacket {
            packet: packet_with(Ecn::NotEct, number as u64, 1500),
            enqueued_at: Time::from_nanos(now.as_nanos() - delay.as_nanos()),
        };
        let verdict = cobalt.judge(&config, &mut packet, 0, &mut rng, &mut cx(now, &mut accounting));
        cx(now, &mut accounting).drop(packet.packet, lopsided_core::DropReason::Early);
        let expected = reference.drops(now.as_nanos(), delay.as_nanos());
        // After several hundred drops, the rounding to 32 bits may determine which of two packets, 1 ms apart, is
        // dropped.
        assert!(cobalt.count().abs_diff(reference.count) <= 1, "packet {number} after {delay:?}");
        found += u32::from(verdict == Verdict::Drop);
        dropped += u32::from(expected);
    }
    // After n intervals of overload, the control law drops sqrt(n) / 2 packets per interval. In 5 s it drops about 600
    // packets.
    assert!(dropped > 500 && found.abs_diff(dropped) <= 1, "{found} and {dropped}");
}

/// Linux checks whether the control law is late before it sets the first drop time of an episode.
#[test]
fn cobalt_drops_at_once_if_the_queue_was_idle_for_longer_than_one_interval() {
    let config = CobaltConfig::default();
    let mut accounting = Accounting::new(1);
    let mut rng = Rng::for_role(1, "cobalt");
    let mut dropped_at = |pause: u64| {
        let mut cobalt = Cobalt::default();
        let mut judged = |at: u64, sojourn: u64| {
            let now = Time::ZERO + Duration::from_millis(at);
            let enqueued_at = Time::ZERO + Duration::from_millis(at - sojourn);
            let mut packet = QueuedPacket { packet: packet_with(Ecn::NotEct, at, 1500), enqueued_at };
            let verdict = cobalt.judge(&config, &mut packet, 0, &mut rng, &mut cx(now, &mut accounting));
            cx(now, &mut accounting).drop(packet.packet, lopsided_core::DropReason::Early);
            verdict == Verdict::Drop
        };
        // The sequence: a dropping episode with a decaying count, one packet without queueing delay, a pause, and then
        // packets with queueing delay.
        for at in [20, 40, 60, 80, 1000] {
            judged(at, if at < 1000 { 10 } else { 0 });
        }
        (0..20).map(|number| 1000 + pause + 20 * number).find(|at| judged(*at, 10)).map(|at| at - 1000 - pause)
    };
    assert_eq!(dropped_at(80), Some(100), "after one interval, the first step of the control law");
    assert_eq!(dropped_at(120), Some(20), "the next packet");
}

#[test]
fn blue_rises_once_per_target_during_an_overflow_and_decays_while_the_queue_is_empty() {
    let config = CobaltConfig::default();
    let mut cobalt = Cobalt::default();
    for micros in (10_000..110_000).step_by(100) {
        cobalt.overflowed(&config, Time::ZERO + Duration::from_micros(micros));
    }
    // Two changes of BLUE's probability must be more than 5 ms apart. The test reports an overflow every 100 µs, so the
    // changes are 5.1 ms apart.
    let steps = (100.0_f64 / 5.1).ceil();
    assert!((cobalt.probability() - steps / 256.0).abs() < 1e-12, "{}", cobalt.probability());
    for second in 1..1000 {
        cobalt.found_empty(&config, Time::ZERO + Duration::from_secs(second));
    }
    assert_eq!((cobalt.probability(), cobalt.count()), (0.0, 0));
    assert!(!cobalt.found_empty(&config, Time::ZERO + Duration::from_secs(2000)), "the whole state has decayed");
}
