//! Compares Wi-Fi with known results: Bianchi's saturation throughput, the durations in the standard, and the effects
//! of a block-ACK window.

use lopsided_core::{BitRate, Bytes, DropReason, Duration, Rng, Time};
use lopsided_link::{FrameId, Medium, MediumEvent, Standard, Wifi, WifiConfig, WifiStation};
use lopsided_spec::{Given, Part};
use std::collections::BTreeMap;

fn names(stations: usize) -> Vec<String> {
    (0..stations).map(|number| if number == 0 { "ap".into() } else { format!("station{number}") }).collect()
}

/// Stations that always have packets to send, and the fates of their packets.
struct Saturated {
    medium: Wifi,
    /// Sender, receiver and packet size of each flow.
    pairs: Vec<(usize, usize, Bytes)>,
    with_medium: BTreeMap<(usize, usize), usize>,
    requested: Vec<u64>,
    receiver: BTreeMap<FrameId, usize>,
    now: Time,
    delivered: BTreeMap<(usize, usize), Vec<(Time, u64)>>,
    lost: Vec<(FrameId, DropReason)>,
}

impl Saturated {
    fn new(config: WifiConfig, stations: usize, pairs: &[(usize, usize, u64)], seed: u64) -> Saturated {
        let medium = Wifi::new(config, &names(stations), Rng::for_role(seed, "wifi/medium")).unwrap();
        let pairs = pairs.iter().map(|(from, to, size)| (*from, *to, Bytes::new(*size))).collect();
        Saturated {
            medium,
            pairs,
            with_medium: BTreeMap::new(),
            requested: vec![0; stations],
            receiver: BTreeMap::new(),
            now: Time::ZERO,
            delivered: BTreeMap::new(),
            lost: Vec::new(),
        }
    }

    fn feed(&mut self) {
        for (from, to, size) in self.pairs.clone() {
            while self.medium.takes(from, to, *self.with_medium.entry((from, to)).or_default()) {
                let frame = FrameId { station: from, number: self.requested[from] };
                self.requested[from] += 1;
                self.receiver.insert(frame, to);
                *self.with_medium.get_mut(&(from, to)).unwrap() += 1;
                self.medium.request(frame, to, size, self.now);
            }
        }
    }

    fn run(mut self, time: Duration) -> Saturated {
        self.feed();
        while let Some(now) = self.medium.next_event().filter(|now| *now < Time::ZERO + time) {
            assert!(now >= self.now, "time went back");
            self.now = now;
            match self.medium.on_event(now) {
                MediumEvent::Nothing => {}
                MediumEvent::Fill { .. } => self.feed(),
                MediumEvent::Delivered(frame) => {
                    let pair = (frame.station, self.receiver[&frame]);
                    self.delivered.entry(pair).or_default().push((now, frame.number));
                }
                MediumEvent::Done(frame) => self.end(frame),
                MediumEvent::Lost(frame, reason) => {
                    self.lost.push((frame, reason));
                    self.end(frame);
                }
            }
        }
        self
    }

    fn end(&mut self, frame: FrameId) {
        let receiver = self.receiver.remove(&frame).expect("a frame ends once");
        *self.with_medium.get_mut(&(frame.station, receiver)).unwrap() -= 1;
        self.feed();
    }

    fn packets(&self, from: usize, to: usize) -> usize {
        self.delivered.get(&(from, to)).map_or(0, Vec::len)
    }

    fn count(&self, station: usize, wanted: &str) -> f64 {
        let mut found = f64::NAN;
        self.medium.sample(&mut |of, quantity, value| {
            if (of, quantity) == (Some(station), wanted) {
                found = value;
            }
        });
        found
    }
}

/// Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE JSAC 18(3), 2000, table
/// II. Stations wait for the same time after a collision and after a success.
fn bianchi(window: u32, stages: u32, rts: bool) -> WifiConfig {
    WifiConfig {
        rate: BitRate::from_bps(1_000_000),
        symbol: Duration::ZERO,
        preamble: Duration::from_micros(128),
        control_rate: BitRate::from_bps(1_000_000),
        control_preamble: Duration::from_micros(128),
        slot: Duration::from_micros(50),
        sifs: Duration::from_micros(28),
        aifsn: 2,
        cw_min: window - 1,
        cw_max: (window << stages) - 1,
        eifs_extra: Duration::ZERO,
        propagation: Duration::from_micros(1),
        retries: 255,
        rts_threshold: rts.then_some(Bytes::ZERO),
        header: Bytes::new(34),
        ppdu_time: Duration::from_millis(100),
        ..WifiConfig::of(Standard::A)
    }
}

/// Bianchi's equations 7, 9, 13, 14 and 17: the fraction of the time in which payload is sent.
fn bianchi_throughput(window: u32, stages: u32, rts: bool, stations: i32) -> f64 {
    let (w, m) = (f64::from(window), stages as i32);
    let tau = |p: f64| 2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (w + 1.0) + p * w * (1.0 - (2.0 * p).powi(m)));
    // At p = 0.5, the solution of the chain is 0 / 0. The bisection of this range never evaluates p = 0.5.
    let (mut low, mut high) = (0.0, 0.99);
    for _ in 0..200 {
        let p = f64::midpoint(low, high);
        if 1.0 - (1.0 - tau(p)).powi(stations - 1) > p { low = p } else { high = p }
    }
    let tau = tau(low);
    let any = 1.0 - (1.0 - tau).powi(stations);
    let one = f64::from(stations) * tau * (1.0 - tau).powi(stations - 1) / any;
    let (header, payload, slot, sifs, difs, delay) = (272.0 + 128.0, 8184.0, 50.0, 28.0, 128.0, 1.0);
    let (ack, rts_frame, cts) = (112.0 + 128.0, 160.0 + 128.0, 112.0 + 128.0);
    let exchange = header + payload + sifs + delay + ack + difs + delay;
    let (success, collision) = match rts {
        false => (exchange, header + payload + difs + delay),
        true => (rts_frame + sifs + delay + cts + sifs + delay + exchange, rts_frame + difs + delay),
    };
    one * any * payload / ((1.0 - any) * slot + any * one * success + any * (1.0 - one) * collision)
}

fn saturation(config: WifiConfig, stations: usize, seconds: u64) -> f64 {
    let pairs: Vec<_> = (1..=stations).map(|station| (station, 0, 1023)).collect();
    let run = Saturated::new(config, stations + 1, &pairs, 1).run(Duration::from_secs(seconds));
    let packets: usize = pairs.iter().map(|(from, ..)| run.packets(*from, 0)).sum();
    packets as f64 * 8184.0 / (seconds as f64 * 1e6)
}

#[test]
fn stations_that_always_send_reach_bianchis_throughput() {
    for (window, stages, rts) in [(32, 3, false), (32, 3, true), (32, 5, false), (128, 3, false), (128, 3, true)] {
        for stations in [2, 5, 10, 20, 50] {
            let predicted = bianchi_throughput(window, stages, rts, stations);
            let measured = saturation(bianchi(window, stages, rts), stations as usize, 40);
            let off = (measured / predicted - 1.0).abs();
            assert!(off < 0.02, "W {window}, m {stages}, RTS {rts}, n {stations}: {measured:.4}, not {predicted:.4}");
        }
    }
    // EDCA counts the slot in which another station starts, like Bianchi's chain.
    let edca = saturation(WifiConfig { edca: true, ..bianchi(32, 3, false) }, 10, 100);
    assert!((edca / bianchi_throughput(32, 3, false, 10) - 1.0).abs() < 0.01, "{edca}");
}

/// Returns the bit rate of IP packets of a single sender that always has packets of 1,500 bytes.
fn alone(config: WifiConfig) -> (f64, Saturated) {
    let run = Saturated::new(config, 2, &[(0, 1, 1500)], 1).run(Duration::from_secs(5));
    (run.packets(0, 1) as f64 * 12_000.0 / 5.0, run)
}

/// A cycle consists of AIFS, half of the contention window, the PPDU, SIFS and the acknowledgement.
#[test]
fn the_throughput_of_one_sender_matches_the_durations_of_the_standards() {
    let cycle_us = |aifs: f64, ppdu: f64, ack: f64| aifs + 7.5 * 9.0 + ppdu + 16.0 + ack;
    // 802.11a, 54 Mbit/s: 1,536 bytes take 57 symbols of 4 us; an ACK at 24 Mbit/s takes 28 us.
    let legacy = 12_000.0 / cycle_us(34.0, 20.0 + 57.0 * 4.0, 28.0);
    // 802.11n, 300 Mbit/s: 42 MPDUs of 1,544 bytes fit into 65,535 bytes; 481 symbols of 3.6 us; preamble 40 us, block
    // acknowledgement 32 us.
    let n = 42.0 * 12_000.0 / cycle_us(43.0, 40.0 + 481.0 * 3.6, 32.0);
    // 802.11ac, 866.7 Mbit/s: 64 MPDUs, 253.4 symbols of 3,120 bits, rounded up to 254; preamble 44 us.
    let ac = 64.0 * 12_000.0 / cycle_us(43.0, 44.0 + 254.0 * 3.6, 32.0);
    // 802.11ax, 1,201 Mbit/s: 256 MPDUs, 193.6 symbols of 16,333 bits and 13.6 us, rounded up to 194; preamble 50.4 us;
    // a block acknowledgement with a bitmap of 256 bits takes 40 us.
    let ax = 256.0 * 12_000.0 / cycle_us(43.0, 50.4 + 194.0 * 13.6, 40.0);
    // 802.11n without A-MPDU, with A-MSDUs of 7,935 bytes: 5 packets of 14 + 8 + 1,500 bytes, padded to 1,524; 57
    // symbols of 1,080 bits.
    let amsdu = 5.0 * 12_000.0 / cycle_us(43.0, 40.0 + 57.0 * 3.6, 28.0);
    let with = |standard| WifiConfig::of(standard);
    // With RTS and CTS, which take 28 us each, and two more SIFS.
    let announced = 12_000.0 / cycle_us(34.0 + 28.0 + 28.0 + 32.0, 20.0 + 57.0 * 4.0, 28.0);
    let rts_config = WifiConfig { rts_threshold: Some(Bytes::new(500)), ..with(Standard::A) };
    let amsdu_config = WifiConfig { amsdu: Bytes::new(7_935), ampdu: 1, ..with(Standard::N) };
    for (config, mbit) in [
        (with(Standard::A), legacy),
        (with(Standard::N), n),
        (with(Standard::Ac), ac),
        (with(Standard::Ax), ax),
        (amsdu_config, amsdu),
        (rts_config, announced),
    ] {
        let (name, (bps, _)) = (format!("{:?}", config.standard), alone(config));
        assert!((bps / 1e6 / mbit - 1.0).abs() < 0.005, "{name}: {:.1} Mbit/s, not {mbit:.1}", bps / 1e6);
    }
}

#[test]
fn without_acknowledgements_a_loss_is_final_and_delays_no_later_frame() {
    let lossy = WifiConfig { acknowledge: false, reorder: false, frame_error: 0.25, ..WifiConfig::of(Standard::Ac) };
    let clean = WifiConfig { frame_error: 0.0, ..lossy.clone() };
    let ((with, run), (without, _)) = (alone(lossy), alone(clean));
    assert!((with / without - 0.75).abs() < 0.01, "{with} of {without}");
    assert!(run.lost.iter().all(|(_, reason)| *reason == DropReason::RandomLoss));
    let lost = run.lost.len() as f64;
    assert!((lost / (lost + run.packets(0, 1) as f64) - 0.25).abs() < 0.01);
    assert_eq!(
        run.count(0, "frames_sent") as usize / 64,
        run.count(0, "ppdus_sent") as usize,
        "each aggregate is full"
    );
}

#[test]
fn acknowledged_frames_all_arrive_in_order_but_losses_shorten_aggregates() {
    let lossy = WifiConfig { frame_error: 0.2, retries: 100, ..WifiConfig::of(Standard::Ac) };
    let (_, run) = alone(lossy);
    assert!(run.lost.is_empty());
    let order: Vec<u64> = run.delivered[&(0, 1)].iter().map(|(_, number)| *number).collect();
    assert_eq!(order, (0..order.len() as u64).collect::<Vec<_>>());
    let per_ppdu = run.count(0, "frames_sent") / run.count(0, "ppdus_sent");
    assert!((15.0..45.0).contains(&per_ppdu), "{per_ppdu} frames in an aggregate");
}

#[test]
fn a_lost_acknowledgement_causes_no_duplicate() {
    let config = WifiConfig { ack_error: 0.5, frame_error: 0.1, retries: 2, ..WifiConfig::of(Standard::N) };
    let (_, run) = alone(config);
    let mut numbers: Vec<u64> = run.delivered[&(0, 1)].iter().map(|(_, number)| *number).collect();
    let delivered = numbers.len();
    numbers.dedup();
    assert_eq!(numbers.len(), delivered);
    assert!(!run.lost.is_empty() && run.lost.iter().all(|(_, reason)| *reason == DropReason::RetriesExhausted));
}

/// Heusse et al., INFOCOM 2003: all stations send equally often, so a slow station slows down all other stations.
#[test]
fn a_slow_station_reduces_the_throughput_of_a_fast_station() {
    let slow =
        WifiStation { name: "station2".into(), rate: Some(BitRate::from_bps(30_000_000)), ..WifiStation::default() };
    let single = WifiConfig { ampdu: 1, ..WifiConfig::of(Standard::N) };
    let mixed = WifiConfig { stations: vec![slow], ..single.clone() };
    let pairs = [(1, 0, 1500), (2, 0, 1500)];
    let run = |config| Saturated::new(config, 3, &pairs, 1).run(Duration::from_secs(5));
    let (equal, mixed) = (run(single), run(mixed));
    let share = mixed.packets(1, 0) as f64 / mixed.packets(2, 0) as f64;
    assert!((0.9..1.1).contains(&share), "{share}");
    assert!(mixed.packets(1, 0) * 3 < equal.packets(1, 0) * 2);
    assert!(mixed.count(2, "airtime_s") > 3.0 * mixed.count(1, "airtime_s"));
}

/// The access point serves its stations in turn, regardless of the lengths of their queues.
#[test]
fn the_access_point_sends_to_each_station_in_turn() {
    let run = Saturated::new(WifiConfig::of(Standard::Ac), 4, &[(0, 1, 1500), (0, 2, 1500), (0, 3, 1500)], 1)
        .run(Duration::from_secs(1));
    let packets = [1, 2, 3].map(|to| run.packets(0, to));
    assert!(packets.iter().max().unwrap() - packets.iter().min().unwrap() <= 64, "{packets:?}");
}

#[test]
fn each_setting_has_a_largest_and_a_smallest_value() {
    let valid = |change: &dyn Fn(&mut WifiConfig)| {
        let mut config = WifiConfig::of(Standard::Ac);
        change(&mut config);
        config.check().is_ok()
    };
    for (least, most, is_valid) in [(1, 1, true), (0, 1, false), (2, 1, false), (1, 32_767, true), (1, 32_768, false)] {
        assert_eq!(valid(&|wifi| (wifi.cw_min, wifi.cw_max) = (least, most)), is_valid, "{least} to {most}");
    }
    type Set = fn(&mut WifiConfig, u32);
    let ranges: [(&str, u32, u32, Set); 5] = [
        ("aifsn", 1, 15, |wifi, value| wifi.aifsn = value),
        ("retries", 0, 255, |wifi, value| wifi.retries = value),
        ("ampdu", 1, 1024, |wifi, value| wifi.ampdu = value),
        ("window", 1, 1024, |wifi, value| wifi.window = value),
        ("aggregation_queues", 1, 16, |wifi, value| wifi.aggregation_queues = value),
    ];
    for (key, least, most, set) in ranges {
        for value in [least, most, least.wrapping_sub(1), most + 1] {
            assert_eq!(valid(&|wifi| set(wifi, value)), (least..=most).contains(&value), "{key} {value}");
        }
    }
    for (error, is_valid) in [(0.0, true), (1.0, true), (-0.1, false), (1.1, false), (f64::NAN, false)] {
        assert_eq!(valid(&|wifi| wifi.frame_error = error), is_valid, "{error}");
        assert_eq!(valid(&|wifi| wifi.ack_error = error), is_valid, "{error}");
    }
    for (amsdu, ms, is_valid) in [(11_454, 100, true), (11_455, 100, false), (11_454, 101, false)] {
        let change = |wifi: &mut WifiConfig| {
            (wifi.amsdu, wifi.ppdu_time) = (Bytes::new(amsdu), Duration::from_millis(ms));
        };
        assert_eq!(valid(&change), is_valid, "{amsdu} bytes, {ms} ms");
    }
}

#[test]
fn settings_that_a_file_omits_follow_from_the_standard_and_the_aggregate() {
    let complete = |keys: &[&str], mut config: WifiConfig| {
        let given = Given { keys, preset: None, line_rate: None, line_peeks: false, folder: "" };
        config.complete(&given).expect("the settings are valid");
        config
    };
    let with = |ampdu| complete(&["ampdu"], WifiConfig { ampdu, ..WifiConfig::of(Standard::N) });
    assert_eq!([1, 2, 16].map(|ampdu| with(ampdu).window), [WifiConfig::of(Standard::N).window, 2, 16]);
    // A station with a scheme of its own keeps the width, the streams and the guard interval of the channel.
    let far = WifiStation { name: "far".to_owned(), mcs: Some(0), ..WifiStation::default() };
    let mixed = complete(&["mcs"], WifiConfig { mcs: Some(7), stations: vec![far], ..WifiConfig::of(Standard::N) });
    let slow = complete(&["mcs"], WifiConfig { mcs: Some(0), ..WifiConfig::of(Standard::N) });
    assert_eq!(mixed.stations[0].rate, Some(slow.rate));
    assert!(slow.rate < mixed.rate);
}
