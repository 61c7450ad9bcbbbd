//! Compares the lazy link with a naive model that steps through every nanosecond. Each packet must have the same fate
//! in both.

use crate::common::{Bench, Fate, Touch, nanos, octets, run};
use lopsided_core::{BitRate, Bytes, Cx, DropReason, Duration, Packet, Time};
use lopsided_link::{AnyShaper, Framing, LinkConfig, LossConfig, Shaper, ShaperConfig};
use lopsided_queue::{
    Backlog, DropFrom, Fifo, FifoConfig, Limit, MarkThreshold, Markable, Qdisc, Queue, QueueConfig, QueuedPacket,
    RedConfig, Threshold, ThresholdConfig,
};
use proptest::prelude::*;

/// The results of the naive model, which simulates each nanosecond.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    delivered: Vec<Fate>,
    drops: Vec<Fate>,
    /// Sum, over all nanoseconds, of the backlog in packets.
    area_packets: u64,
    area_bytes: u64,
    max_packets: u32,
    marked: u64,
}

/// A line that is simulated one nanosecond at a time.
struct Naive<'a> {
    config: &'a LinkConfig,
    shortest_first: bool,
    now: u64,
    queue: Vec<(u64, u64)>,
    /// Arrival time of each packet, by its number.
    since: Vec<u64>,
    shaper: Box<dyn Stepped>,
    outcome: Outcome,
}

impl<'a> Naive<'a> {
    fn run(
        config: &'a LinkConfig,
        shaper: Box<dyn Stepped>,
        shortest_first: bool,
        touches: &[(Time, Touch)],
        until: u64,
    ) -> Outcome {
        let outcome = Outcome::default();
        let queue = Vec::new();
        let mut line = Naive { config, shortest_first, now: 0, queue, since: vec![0], shaper, outcome };
        let mut arrivals = touches.iter().filter_map(|&(at, touch)| match touch {
            Touch::Packet(size) => Some((at.as_nanos(), u64::from(size))),
            _ => None,
        });
        let mut next = arrivals.next();
        let mut id = 0;
        while line.now <= until {
            line.let_go();
            while let Some((_, size)) = next.filter(|(at, _)| *at == line.now) {
                id += 1;
                line.arrive(id, size);
                line.let_go();
                next = arrivals.next();
            }
            line.outcome.area_packets += line.queue.len() as u64;
            line.outcome.area_bytes += line.queue.iter().map(|(_, size)| size).sum::<u64>();
            line.tick();
        }
        assert!(line.queue.is_empty() && next.is_none(), "the model's time ended too early");
        line.outcome
    }

    fn arrive(&mut self, id: u64, size: u64) {
        self.since.push(self.now);
        let fifo = &buffer(&self.config.queue);
        let used = |queue: &[(u64, u64)]| queue.iter().map(|(_, size)| cost(fifo, *size)).sum::<u64>();
        let capacity = match fifo.limit {
            Limit::Packets(packets) => u64::from(packets),
            Limit::Bytes(bytes) => bytes.get(),
            Limit::Bins { count, .. } => u64::from(count),
        };
        while fifo.drop == DropFrom::Front
            && cost(fifo, size) <= capacity
            && used(&self.queue) + cost(fifo, size) > capacity
        {
            let (oldest, _) = self.queue.remove(0);
            self.outcome.drops.push(Fate::Dropped(oldest, nanos(self.now), DropReason::HeadDrop));
        }
        if used(&self.queue) + cost(fifo, size) > capacity {
            self.outcome.drops.push(Fate::Dropped(id, nanos(self.now), DropReason::QueueFull));
            return;
        }
        if let Some(&ThresholdConfig { mark_threshold: MarkThreshold::Depth(depth), .. }) = self.config.queue.get() {
            let found = match depth {
                Threshold::Packets(_) => self.queue.len() as u64,
                Threshold::Bytes(_) => self.queue.iter().map(|(_, size)| size).sum(),
            };
            self.outcome.marked += u64::from(found > depth.count());
        }
        self.queue.push((id, size));
        self.outcome.max_packets = self.outcome.max_packets.max(self.queue.len() as u32);
    }

    fn head(&self) -> Option<usize> {
        let numbered = self.queue.iter().enumerate();
        if self.shortest_first {
            numbered.min_by_key(|(_, (id, size))| (*size, *id)).map(|(index, _)| index)
        } else {
            numbered.map(|(index, _)| index).next()
        }
    }

    fn wire_size(&self, index: usize) -> Bytes {
        self.config.framing.wire_size(octets(self.queue[index].1))
    }

    fn let_go(&mut self) {
        while let Some(index) = self.head() {
            let wire = self.wire_size(index);
            if !self.shaper.may_send(self.now, wire) {
                return;
            }
            let (id, _) = self.queue.remove(index);
            if let Some(&ThresholdConfig { mark_threshold: MarkThreshold::Sojourn(longest), .. }) =
                self.config.queue.get()
            {
                self.outcome.marked += u64::from(self.now - self.since[id as usize] > longest.as_nanos());
            }
            let end = self.shaper.send(self.now, wire);
            self.outcome.delivered.push(Fate::Delivered(id, nanos(end) + self.config.delay));
        }
    }

    fn tick(&mut self) {
        self.now += 1;
        let head = self.head().map(|index| self.wire_size(index));
        self.shaper.tick(self.now, head);
    }
}

/// A shaper that is simulated one nanosecond at a time.
trait Stepped {
    fn may_send(&mut self, now: u64, wire: Bytes) -> bool;
    /// Sends a packet now. Returns the time of its last bit on the line.
    fn send(&mut self, now: u64, wire: Bytes) -> u64;
    /// Handles the end of a nanosecond, in which a packet of size `head` was at the head of the queue.
    fn tick(&mut self, now: u64, head: Option<Bytes>);
}

/// A simple model of the configurable shapers. Amounts are in units of 10^-9 bit.
struct NaiveShaper {
    rate: Option<BitRate>,
    bucket: Option<ShaperConfig>,
    tokens: i128,
    /// The part of the current packet that the physical line has not sent yet.
    unsent: i128,
}

impl NaiveShaper {
    fn of(config: &LinkConfig) -> Box<dyn Stepped> {
        let tokens = config.shaper.map_or(0, |shaper| units(shaper.burst));
        Box::new(NaiveShaper { rate: config.rate, bucket: config.shaper, tokens, unsent: 0 })
    }

    fn line_rate(&self) -> Option<BitRate> {
        self.bucket.map_or(self.rate, |shaper| shaper.line_rate)
    }
}

impl Stepped for NaiveShaper {
    fn may_send(&mut self, _now: u64, wire: Bytes) -> bool {
        let has_tokens = self.bucket.is_none() || self.tokens >= units(wire);
        // The line counts as free if the rest of the current packet takes less than 1 ns.
        has_tokens && self.line_rate().is_none_or(|rate| self.unsent < i128::from(rate.as_bps()))
    }

    fn send(&mut self, now: u64, wire: Bytes) -> u64 {
        self.tokens -= units(wire);
        let Some(rate) = self.line_rate() else { return now };
        self.unsent += units(wire);
        now + (self.unsent / i128::from(rate.as_bps())) as u64
    }

    fn tick(&mut self, now: u64, head: Option<Bytes>) {
        // A packet that follows without a gap uses the rest of the nanosecond. Otherwise the rest is lost.
        if let Some(rate) = self.line_rate() {
            self.unsent = (self.unsent - i128::from(rate.as_bps())).max(0);
        }
        let Some(shaper) = self.bucket else { return };
        let rate = i128::from(self.rate.unwrap().as_bps());
        let gained = match shaper.interval.map(Duration::as_nanos) {
            None => rate,
            Some(interval) if now % interval == 0 => rate * i128::from(interval),
            Some(_) => 0,
        };
        if head.is_some_and(|wire| units(wire) > self.tokens) {
            self.tokens += gained;
        } else if self.tokens < units(shaper.burst) {
            self.tokens = (self.tokens + gained).min(units(shaper.burst));
        }
    }
}

/// Advances a shaper every nanosecond. A link advances the shaper later, in one step, with the same result.
struct EveryNanosecond(AnyShaper);

impl Stepped for EveryNanosecond {
    fn may_send(&mut self, now: u64, wire: Bytes) -> bool {
        self.0.ready_at(wire) <= nanos(now)
    }

    fn send(&mut self, now: u64, wire: Bytes) -> u64 {
        self.0.transmit(nanos(now), wire).as_nanos()
    }

    fn tick(&mut self, now: u64, head: Option<Bytes>) {
        match head {
            None => self.0.advance_idle(nanos(now)),
            Some(wire) => self.0.advance_backlogged(nanos(now), wire),
        }
    }
}

/// A shaper from another crate: at each multiple of a period, one packet of at most 1,600 bytes may leave.
#[derive(Debug)]
struct Slots {
    period: u64,
    next: u64,
}

impl Shaper for Slots {
    fn needs_size(&self) -> bool {
        false
    }

    fn advance_idle(&mut self, now: Time) {
        self.next = self.next.max(now.as_nanos().next_multiple_of(self.period));
    }

    fn advance_backlogged(&mut self, now: Time, _wire: Bytes) {
        self.advance_idle(now);
    }

    fn ready_at(&mut self, _wire: Bytes) -> Time {
        nanos(self.next)
    }

    fn transmit(&mut self, start: Time, _wire: Bytes) -> Time {
        self.next = (start.as_nanos() + 1).next_multiple_of(self.period);
        nanos(self.next)
    }

    fn rate(&self) -> Option<BitRate> {
        None
    }
}

/// Returns the buffer of the queue under test.
fn buffer(queue: &QueueConfig) -> FifoConfig {
    let step = || FifoConfig::new(queue.get::<ThresholdConfig>().expect("the model has no other queues").limit);
    queue.get::<FifoConfig>().cloned().unwrap_or_else(step)
}

fn units(wire: Bytes) -> i128 {
    i128::from(wire.bits()) * 1_000_000_000
}

fn cost(fifo: &FifoConfig, size: u64) -> u64 {
    match fifo.limit {
        Limit::Packets(_) => 1,
        Limit::Bytes(_) => size + fifo.header.get(),
        Limit::Bins { size: bin, .. } => (size + fifo.header.get()).div_ceil(bin.get()),
    }
}

/// Serves the shortest packet first. Packets of the same size are served in the order of arrival. Any enqueue may
/// change the head.
#[derive(Debug, Default)]
struct ShortestFirst {
    inside: Vec<QueuedPacket>,
    backlog: Backlog,
    /// True if `peek` returns `None`, so that a shaper must dequeue the packet in advance.
    hides_head: bool,
}

impl ShortestFirst {
    fn head(&self) -> Option<usize> {
        let key = |(_, waiting): &(usize, &QueuedPacket)| (waiting.packet.size(), waiting.packet.id());
        self.inside.iter().enumerate().min_by_key(key).map(|(index, _)| index)
    }
}

impl Qdisc for ShortestFirst {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.backlog.add(&packet, packet.size(), cx);
        self.inside.push(QueuedPacket { packet, enqueued_at: cx.now() });
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let waiting = self.inside.remove(self.head()?);
        self.backlog.remove(waiting.packet.size());
        Some(waiting)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn peek(&mut self, _cx: &mut Cx<'_>) -> Option<Bytes> {
        self.head().filter(|_| !self.hides_head).map(|index| self.inside[index].packet.size())
    }
}

/// Delays each packet by `longest`, and then until the next multiple of `grain`.
#[derive(Debug)]
struct Holds {
    fifo: Fifo,
    since: std::collections::VecDeque<Time>,
    longest: Duration,
    grain: Duration,
    hides_head: bool,
}

impl Qdisc for Holds {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.fifo.enqueue(packet, cx);
        self.since.push_back(cx.now());
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        if self.ready_at(cx.now())? > cx.now() {
            return None;
        }
        self.since.pop_front();
        self.fifo.dequeue(cx)
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        self.since.front().map(|since| (*since + self.longest).ceil_to(self.grain).max(now))
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        if self.hides_head { None } else { self.fifo.peek(cx) }
    }
}

/// Rates of 0.3 to 5 Gbit/s, so that a test simulates few nanoseconds. Odd numbers reveal rounding errors.
fn rate() -> impl Strategy<Value = BitRate> {
    (300_000_001..5_000_000_000_u64).prop_map(BitRate::from_bps)
}

fn shaper(rate: BitRate) -> impl Strategy<Value = ShaperConfig> {
    let line =
        prop::option::of(1..20_u64).prop_map(move |times| times.map(|n| BitRate::from_bps(rate.as_bps() * n + 7)));
    (30..3000_u64, prop::option::of(100..900_u64), line).prop_map(move |(burst, interval, line_rate)| {
        let lump = interval.map_or(0, |nanos| (rate.as_bps() * nanos).div_ceil(8_000_000_000));
        ShaperConfig { burst: octets(burst.max(lump)), interval: interval.map(Duration::from_nanos), line_rate }
    })
}

fn fifo() -> impl Strategy<Value = QueueConfig> {
    let limit = prop_oneof![
        (1..8_u32).prop_map(Limit::Packets),
        (400..6000_u64).prop_map(|bytes| Limit::Bytes(octets(bytes))),
        (2..20_u32, 100..700_u64).prop_map(|(count, size)| Limit::Bins { count, size: octets(size) }),
    ];
    let drop = prop_oneof![Just(DropFrom::Tail), Just(DropFrom::Front)];
    (limit, drop, prop_oneof![Just(0), Just(14_u64)])
        .prop_map(|(limit, drop, header)| QueueConfig::new(FifoConfig { limit, drop, header: octets(header) }))
}

fn step() -> impl Strategy<Value = QueueConfig> {
    let above = prop_oneof![
        (0..6_u32).prop_map(|packets| MarkThreshold::Depth(Threshold::Packets(packets))),
        (0..5000_u64).prop_map(|bytes| MarkThreshold::Depth(Threshold::Bytes(octets(bytes)))),
        (0..20_000_u64).prop_map(|nanos| MarkThreshold::Sojourn(Duration::from_nanos(nanos))),
    ];
    (2..8_u32, above).prop_map(|(packets, mark_threshold)| {
        QueueConfig::new(ThresholdConfig { limit: Limit::Packets(packets), mark_threshold, ect: Markable::Ect })
    })
}

fn config() -> impl Strategy<Value = LinkConfig> {
    let gate = prop_oneof![
        1 => Just((None, None)),
        4 => rate().prop_map(|rate| (Some(rate), None)),
        6 => rate().prop_flat_map(|rate| (Just(Some(rate)), shaper(rate).prop_map(Some))),
    ];
    let framing = prop_oneof![Just(Framing::NONE), Just(Framing::ETHERNET), Just(Framing::atm(10))];
    let queue = prop_oneof![2 => fifo(), 1 => step()];
    (gate, framing, 0..4000_u64, queue).prop_map(|((rate, shaper), framing, delay, queue)| LinkConfig {
        shaper,
        framing,
        loss: LossConfig::default(),
        ..LinkConfig::new(rate, Duration::from_nanos(delay), queue)
    })
}

fn touches() -> impl Strategy<Value = Vec<(Time, Touch)>> {
    let gap = prop_oneof![3 => Just(0), 3 => 1..300_u64, 3 => 1..2000_u64, 1 => 1..20_000_u64];
    let size = prop_oneof![Just(40), Just(1500), 28..1501_u32];
    let touch = prop_oneof![
        6 => size.prop_map(Touch::Packet),
        1 => Just(Touch::SpuriousTimeout),
        1 => Just(Touch::Observe),
    ];
    prop::collection::vec((gap, touch), 1..80).prop_map(|steps| {
        let mut now = 0;
        let at = |(gap, touch)| {
            now += gap;
            (nanos(now), touch)
        };
        steps.into_iter().map(at).collect()
    })
}

/// Returns a time at which even the slowest line has sent all packets.
fn long_enough(config: &LinkConfig, touches: &[(Time, Touch)]) -> u64 {
    let bits: u64 = touches.len() as u64 * config.framing.wire_size(octets(1500)).bits();
    let sending = config.rate.map_or(0, |rate| bits * 1_000_000_000 / rate.as_bps());
    touches.last().map_or(0, |(at, _)| at.as_nanos()) + sending + 4000
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_lazy_link_equals_the_naive_model(config in config(), touches in touches()) {
        let until = long_enough(&config, &touches);
        let expected = Naive::run(&config, NaiveShaper::of(&config), false, &touches, until);
        let stepped = EveryNanosecond(config.build_shaper(1, "link").unwrap());
        prop_assert_eq!(&Naive::run(&config, Box::new(stepped), false, &touches, until), &expected);
        for audit in [false, true] {
            let config = LinkConfig { audit, ..config.clone() };
            let mut bench = run(config.build(1, "link").unwrap(), &touches);
            prop_assert_eq!(bench.delivered(), &expected.delivered[..]);
            prop_assert_eq!(bench.drops(), expected.drops.clone());
            let stats = bench.view_last(|link| link.queue_stats().clone());
            let span = nanos(until + 1);
            prop_assert_eq!((stats.mean_packets(span) * span.as_nanos() as f64).round() as u64, expected.area_packets);
            prop_assert_eq!((stats.mean_bytes(span) * span.as_nanos() as f64).round() as u64, expected.area_bytes);
            prop_assert_eq!(stats.max_backlog().packets, expected.max_packets);
            prop_assert_eq!(stats.dropped_packets(), expected.drops.len() as u64);
            prop_assert_eq!((bench.marked, bench.marks_in_books()), (expected.marked, expected.marked));
        }
    }

    /// A link may count packets in advance if its statistics are not read before the next observation. The reference
    /// counts each packet at its time, for an observer of each event.
    #[test]
    fn counting_in_advance_does_not_affect_the_statistics(
        config in config(), touches in touches(), random in prop_oneof![Just(0.0), 0.0..0.5],
    ) {
        let config = LinkConfig { loss: LossConfig { random, ..LossConfig::default() }, ..config };
        let end = nanos(long_enough(&config, &touches));
        let looks: Vec<Time> = touches.iter().filter(|(_, touch)| *touch == Touch::Observe).map(|(at, _)| *at).collect();
        let seen = |mut bench: Bench, ahead: bool| {
            let mut seen = Vec::new();
            for &(at, touch) in &touches {
                // The last look is after the last packet.
                let next = looks.iter().copied().find(|look| *look >= at).unwrap_or(end);
                bench.accounting.promise_unseen(if ahead { next } else { Time::ZERO });
                bench.run_until(at);
                bench.touch(at, touch);
                if touch == Touch::Observe {
                    seen.push(bench.view(at, |link| (link.counters(), link.wire_bytes(), link.queue_stats().clone())));
                }
            }
            bench.run_until(end);
            seen.push(bench.view(end, |link| (link.counters(), link.wire_bytes(), link.queue_stats().clone())));
            (bench.delivered().to_vec(), format!("{seen:?}"))
        };
        let build = || config.build(1, "link").unwrap();
        prop_assert_eq!(seen(Bench::unwatched(build()), true), seen(Bench::new(build()), false));
    }

    /// RED drops packets at random, so the test cannot list the drops in advance. It compares the link with a second link
    /// that has the same seed and an observer. A link with an observer processes each event when it occurs.
    #[test]
    fn an_observer_does_not_affect_red(config in config(), touches in touches(), seed: u64, weight in 0.01..1.0_f64) {
        let red = RedConfig {
            limit: Limit::Packets(7),
            min: Threshold::Packets(1),
            max: Threshold::Packets(4),
            probability: 0.5,
            weight,
            // At `bandwidth`, a packet of this size takes 500 ns.
            avpkt: octets(1000),
            bandwidth: Some(BitRate::from_bps(16_000_000_000)),
            burst: None,
            ecn: true,
            harddrop: seed % 2 == 0,
            gentle: seed % 3 == 0,
            ..RedConfig::default()
        };
        let config = LinkConfig { queue: QueueConfig::new(red), ..config };
        let until = long_enough(&config, &touches);
        let looks = (0..until).step_by(1000).map(|at| (nanos(at), Touch::Observe));
        let mut watched: Vec<(Time, Touch)> = touches.iter().copied().chain(looks).collect();
        watched.sort_by_key(|(at, _)| *at);
        let alone = run(config.build(seed, "link").unwrap(), &touches);
        let watched = run(LinkConfig { audit: true, ..config }.build(seed, "link").unwrap(), &watched);
        prop_assert_eq!(alone.delivered(), watched.delivered());
        prop_assert_eq!(alone.drops(), watched.drops());
        prop_assert_eq!((alone.marked, alone.marks_in_books()), (watched.marked, watched.marks_in_books()));
        prop_assert_eq!(alone.marked, alone.marks_in_books());
    }

    #[test]
    fn a_lazy_link_equals_the_naive_model_if_the_head_packet_changes(config in config(), touches in touches()) {
        let config = LinkConfig { queue: QueueConfig::packets(1000), ..config };
        let expected = Naive::run(&config, NaiveShaper::of(&config), true, &touches, long_enough(&config, &touches));
        let queue = Queue::Custom(Box::new(ShortestFirst::default())).checked();
        let bench = run(config.build_with(queue, config.build_shaper(1, "link").unwrap(), 1, "link").unwrap(), &touches);
        prop_assert_eq!(bench.delivered(), &expected.delivered[..]);
    }

    #[test]
    fn custom_shapers_work_with_any_queue(config in config(), touches in touches(), period in 1..3000_u64) {
        let slots = || AnyShaper::Custom(Box::new(Slots { period, next: 0 }));
        let until = touches.last().map_or(0, |(at, _)| at.as_nanos()) + (touches.len() as u64 + 2) * period;
        let expected = Naive::run(&config, Box::new(EveryNanosecond(slots())), false, &touches, until);
        let queue = config.queue.build(1, "link").unwrap();
        let bench = run(config.build_with(queue, slots(), 1, "link").unwrap(), &touches);
        prop_assert_eq!(bench.delivered(), &expected.delivered[..]);
        prop_assert_eq!(bench.drops(), expected.drops.clone());
    }

    /// The reference is a second link with an observer. The observer forces this link to process each event when it
    /// occurs.
    #[test]
    fn an_observer_does_not_affect_disciplines_without_peek_or_with_delays(
        config in config(), touches in touches(), hides_head: bool, holds: bool, longest in 0..3000_u64, grain in 1..2000_u64,
    ) {
        let queue = || -> Box<dyn Qdisc> {
            if holds {
                let fifo = Fifo::new(&FifoConfig::new(Limit::Packets(1000))).unwrap();
                let (longest, grain) = (Duration::from_nanos(longest), Duration::from_nanos(grain));
                Box::new(Holds { fifo, since: Default::default(), longest, grain, hides_head })
            } else {
                Box::new(ShortestFirst { hides_head, ..ShortestFirst::default() })
            }
        };
        let build = || {
            let (queue, shaper) = (Queue::Custom(queue()).checked(), config.build_shaper(1, "link").unwrap());
            config.build_with(queue, shaper, 1, "link").unwrap()
        };
        let until = long_enough(&config, &touches) + longest + grain;
        let looks = (0..until).step_by(100).map(|at| (nanos(at), Touch::Observe));
        let mut watched: Vec<(Time, Touch)> = touches.iter().copied().chain(looks).collect();
        watched.sort_by_key(|(at, _)| *at);
        let (alone, watched) = (run(build(), &touches), run(build(), &watched));
        let offered = touches.iter().filter(|(_, touch)| matches!(touch, Touch::Packet(_))).count();
        prop_assert_eq!(alone.delivered().len(), offered);
        prop_assert_eq!(alone.delivered(), watched.delivered());
    }
}
