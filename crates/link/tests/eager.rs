//! The lazy link against a naive model that goes through time nanosecond by nanosecond: every packet must meet the same fate at
//! the same time, whatever the gate, the buffer, the drop policy and the order of service.

mod common;

use common::{Fate, Touch, nanos, octets, run};
use lopsided_core::{BitRate, Bytes, Cx, DropReason, Duration, Packet, Time};
use lopsided_link::{Framing, LinkConfig, LossConfig, ShaperConfig};
use lopsided_queue::{
    Backlog, DropFrom, FifoConfig, Limit, MarkThreshold, Markable, Qdisc, Queue, QueueConfig, QueuedPacket, RedConfig,
    Threshold, ThresholdConfig,
};
use proptest::prelude::*;

/// What the naive model found.
#[derive(Debug, Default)]
struct Outcome {
    delivered: Vec<Fate>,
    drops: Vec<Fate>,
    /// The backlog summed over every nanosecond.
    area_packets: u64,
    area_bytes: u64,
    max_packets: u32,
    marked: u64,
}

/// A line that goes through its life one nanosecond at a time. Bits are in units of 10^-9.
struct Naive<'a> {
    config: &'a LinkConfig,
    shortest_first: bool,
    now: u64,
    queue: Vec<(u64, u64)>,
    /// When each packet came, by its number.
    since: Vec<u64>,
    credit: i128,
    /// What the physical line has still to send.
    unsent: i128,
    outcome: Outcome,
}

impl<'a> Naive<'a> {
    fn run(config: &'a LinkConfig, shortest_first: bool, touches: &[(Time, Touch)], until: u64) -> Outcome {
        let credit = config.shaper.map_or(0, |shaper| units(shaper.burst));
        let outcome = Outcome::default();
        let queue = Vec::new();
        let mut line = Naive { config, shortest_first, now: 0, queue, since: vec![0], credit, unsent: 0, outcome };
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

    fn line_rate(&self) -> Option<BitRate> {
        self.config.shaper.map_or(self.config.rate, |shaper| shaper.line_rate)
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

    fn need(&self, index: usize) -> i128 {
        units(self.config.framing.wire_size(octets(self.queue[index].1)))
    }

    /// Whether less than this nanosecond is left to send.
    fn line_is_free(&self) -> bool {
        self.line_rate().is_none_or(|rate| self.unsent < i128::from(rate.as_bps()))
    }

    fn let_go(&mut self) {
        while let Some(index) = self.head() {
            let need = self.need(index);
            let credited = self.config.shaper.is_none() || self.credit >= need;
            if !credited || !self.line_is_free() {
                return;
            }
            let (id, _) = self.queue.remove(index);
            if let Some(&ThresholdConfig { mark_threshold: MarkThreshold::Sojourn(longest), .. }) =
                self.config.queue.get()
            {
                self.outcome.marked += u64::from(self.now - self.since[id as usize] > longest.as_nanos());
            }
            self.credit -= need;
            let mut end = self.now;
            if let Some(rate) = self.line_rate() {
                self.unsent += need;
                end += (self.unsent / i128::from(rate.as_bps())) as u64;
            }
            self.outcome.delivered.push(Fate::Delivered(id, nanos(end) + self.config.delay));
        }
    }

    fn tick(&mut self) {
        // What is left of a nanosecond is carried into a packet that follows at once, and forgotten otherwise.
        if let Some(rate) = self.line_rate() {
            self.unsent = (self.unsent - i128::from(rate.as_bps())).max(0);
        }
        self.now += 1;
        let Some(shaper) = self.config.shaper else { return };
        let rate = i128::from(self.config.rate.unwrap().as_bps());
        let gained = match shaper.interval.map(Duration::as_nanos) {
            None => rate,
            Some(interval) if self.now % interval == 0 => rate * i128::from(interval),
            Some(_) => 0,
        };
        let waits_for_credit = self.head().is_some_and(|index| self.need(index) > self.credit);
        if waits_for_credit {
            self.credit += gained;
        } else if self.credit < units(shaper.burst) {
            self.credit = (self.credit + gained).min(units(shaper.burst));
        }
    }
}

/// What may wait.
fn buffer(queue: &QueueConfig) -> FifoConfig {
    let step = || FifoConfig::new(queue.get::<ThresholdConfig>().expect("there is no model of another one").limit);
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

/// Serves the shortest packet first, the older of equals: its head may change at any enqueue.
#[derive(Debug, Default)]
struct ShortestFirst {
    inside: Vec<QueuedPacket>,
    backlog: Backlog,
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

    fn head_size(&self) -> Option<Bytes> {
        self.head().map(|index| self.inside[index].packet.size())
    }
}

/// Rates of gigabits, so that packets take few nanoseconds and the model little time; odd ones, so that rounding shows.
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

/// Long enough for the slowest line to send all.
fn long_enough(config: &LinkConfig, touches: &[(Time, Touch)]) -> u64 {
    let bits: u64 = touches.len() as u64 * config.framing.wire_size(octets(1500)).bits();
    let sending = config.rate.map_or(0, |rate| bits * 1_000_000_000 / rate.as_bps());
    touches.last().map_or(0, |(at, _)| at.as_nanos()) + sending + 4000
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_lazy_link_does_what_an_eager_one_does(config in config(), touches in touches()) {
        let until = long_enough(&config, &touches);
        let expected = Naive::run(&config, false, &touches, until);
        for audit in [false, true] {
            let config = LinkConfig { audit, ..config.clone() };
            let bench = run(config.build(1, "link").unwrap(), &touches);
            prop_assert_eq!(bench.delivered(), &expected.delivered[..]);
            prop_assert_eq!(bench.drops(), expected.drops.clone());
            let stats = bench.link.queue_stats();
            let span = nanos(until + 1);
            prop_assert_eq!((stats.mean_packets(span) * span.as_nanos() as f64).round() as u64, expected.area_packets);
            prop_assert_eq!((stats.mean_bytes(span) * span.as_nanos() as f64).round() as u64, expected.area_bytes);
            prop_assert_eq!(stats.max_backlog().packets, expected.max_packets);
            prop_assert_eq!(stats.dropped_packets(), expected.drops.len() as u64);
            prop_assert_eq!((bench.marked, bench.marks_in_books()), (expected.marked, expected.marked));
        }
    }

    /// RED draws at random, so it is held against itself: a link that is looked at all the time, which replays nothing late.
    #[test]
    fn red_does_the_same_when_it_is_watched(config in config(), touches in touches(), seed: u64, weight in 0.01..1.0_f64) {
        let red = RedConfig {
            limit: Limit::Packets(7),
            min: Threshold::Packets(1),
            max: Threshold::Packets(4),
            probability: 0.5,
            weight,
            // 500 ns each.
            avpkt: octets(1000),
            bandwidth: Some(BitRate::from_bps(16_000_000_000)),
            burst: None,
            ecn: true,
            harddrop: seed % 2 == 0,
            gentle: seed % 3 == 0,
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
    fn so_it_does_when_the_head_changes_while_it_waits(config in config(), touches in touches()) {
        let config = LinkConfig { queue: QueueConfig::packets(1000), ..config };
        let expected = Naive::run(&config, true, &touches, long_enough(&config, &touches));
        let queue = Queue::Custom(Box::new(ShortestFirst::default())).checked();
        let bench = run(config.build_with(queue, 1, "link").unwrap(), &touches);
        prop_assert_eq!(bench.delivered(), &expected.delivered[..]);
    }
}
