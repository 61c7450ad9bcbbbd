use super::path::{MSS, Path, acked, controller, path_state, setup};
use crate::cc::{Acked, CONTROLLERS, Controller, Idle, PathState, RateSample, Signal, build};
use crate::tests::witness::Told;
use crate::{ByteCounting, CaState};
use lopsided_core::{Bytes, Duration, Time};
use proptest::prelude::*;

fn each() -> impl Iterator<Item = (&'static str, Box<dyn Controller>)> {
    CONTROLLERS.iter().map(|name| (*name, controller(name)))
}

/// Returns a controller after congestion avoidance and a loss, so that no part of its state has the initial value.
fn warmed(name: &str) -> Path {
    let mut path = Path::new(controller(name), 20.0, Duration::from_millis(50), 86);
    path.run(Duration::from_secs(10));
    path
}

#[test]
fn every_control_is_built_by_its_name_and_reports_it() {
    for (name, controller) in each() {
        assert_eq!(controller.name(), name);
    }
    assert!(build("tahoe", &setup()).is_none());
}

#[test]
fn every_control_fills_a_line_with_one_bdp_of_buffer() {
    for (name, controller) in each() {
        let mut path = Path::new(controller, 20.0, Duration::from_millis(50), 86);
        path.run(Duration::from_secs(30));
        let share = path.run(Duration::from_secs(30));
        assert!(share > 0.9 && share <= 1.001, "{name} uses {share} of the line");
    }
}

#[test]
fn a_loss_reduces_the_window_and_an_undo_restores_it() {
    for name in CONTROLLERS.iter().filter(|name| !name.starts_with("bbr")) {
        let Path { mut controller, now, .. } = warmed(name);
        let before = controller.cwnd();
        let state = PathState { in_flight: before, ..path_state() };
        controller.on_congestion(now, Signal::Loss, &state);
        controller.on_recovered(now, &state);
        assert!(controller.cwnd() <= before, "{name}");
        controller.on_undo(now);
        assert!(controller.cwnd() >= before, "{name}: {:?} after {before:?}", controller.cwnd());
    }
}

#[test]
fn a_timeout_reduces_the_window_to_one_segment() {
    for name in CONTROLLERS.iter().filter(|name| !name.starts_with("bbr")) {
        let Path { mut controller, now, .. } = warmed(name);
        controller.on_congestion(now, Signal::Timeout { consecutive: 1 }, &path_state());
        assert_eq!(controller.cwnd().get(), MSS, "{name}");
        let threshold = controller.ssthresh();
        assert!(threshold.is_some_and(|threshold| threshold.get() >= 2 * MSS), "{name}");
        controller.on_congestion(now, Signal::Timeout { consecutive: 2 }, &path_state());
        assert_eq!(controller.ssthresh(), threshold, "{name}: a repeated timeout must not lower it further");
    }
}

#[derive(Debug, Clone)]
enum Happening {
    Ack { delivered: u64, cumulative: u64, rtt: Option<u64>, flags: u8, interval: u64, prior: u64, lost: u64 },
    Signal(u8, u32),
    Undo,
    Recovered,
    Start(u64),
    Idle,
    Mss(u64),
}

fn happening() -> impl Strategy<Value = Happening> {
    let small_or_huge = prop_oneof![0..100_000u64, 0..(1u64 << 40)];
    let rtt = proptest::option::of(prop_oneof![0..1000u64, 0..10_000_000_000u64, Just(u64::MAX / 4)]);
    prop_oneof![
        8 => (small_or_huge.clone(), small_or_huge.clone(), rtt, any::<u8>(), any::<u64>(), small_or_huge.clone(), small_or_huge)
            .prop_map(|(delivered, cumulative, rtt, flags, interval, prior, lost)| Happening::Ack {
                delivered, cumulative, rtt, flags, interval, prior, lost,
            }),
        2 => (0..4u8, 1..20u32).prop_map(|(kind, count)| Happening::Signal(kind, count)),
        1 => Just(Happening::Undo),
        1 => Just(Happening::Recovered),
        1 => any::<u64>().prop_map(Happening::Start),
        1 => Just(Happening::Idle),
        1 => prop_oneof![Just(64u64), Just(536), Just(1448), Just(65_483)].prop_map(Happening::Mss),
    ]
}

fn happen(controller: &mut dyn Controller, what: &Happening, now: Time, path: &mut PathState) {
    match *what {
        Happening::Ack { delivered, cumulative, rtt, flags, interval, prior, lost } => {
            path.delivered += Bytes::new(delivered);
            path.lost += Bytes::new(lost);
            path.una += cumulative;
            path.nxt = path.una + prior;
            path.in_flight = Bytes::new(prior);
            path.srtt = rtt.map(Duration::from_nanos).or(path.srtt);
            path.min_rtt = path.srtt;
            let ack = Acked {
                delivered: Bytes::new(delivered),
                cumulative: Bytes::new(cumulative),
                segments: cumulative.div_ceil(MSS) as u32,
                predicted: flags & 4 == 0,
                told: false,
                may_raise: cumulative > 0 || flags & 8 != 0,
                rtt: rtt.map(Duration::from_nanos),
                maybe_delayed: false,
                newest_rtt: rtt.map(Duration::from_nanos),
                forward_ms: rtt.map(|rtt| rtt as u32),
                prior_in_flight: Bytes::new(prior),
                cwnd_limited: flags & 1 != 0,
                cwnd_full: flags & 1 != 0,
                in_recovery: flags & 2 != 0,
                reduced_to: (flags & 2 != 0 && flags & 8 != 0).then(|| Bytes::new(prior)),
                ca_state: [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss]
                    [usize::from(flags >> 4) % 5],
                next_departure: now,
                ecn_echo: flags & 4 != 0,
                marked: Bytes::new(if flags & 4 != 0 { delivered } else { 0 }),
                rate: RateSample {
                    delivered: Bytes::new(delivered),
                    interval: Duration::from_nanos(interval),
                    prior_delivered: Bytes::new(path.delivered.get().saturating_sub(prior)),
                    lost: Bytes::new(lost),
                    tx_in_flight: Bytes::new(prior),
                    lost_since_sent: Bytes::new(lost),
                    app_limited: flags & 8 != 0,
                },
            };
            controller.on_ack(now, &ack, path);
        }
        Happening::Signal(kind, consecutive) => {
            let signal = match kind {
                0 => Signal::EcnEcho,
                1 => Signal::Loss,
                _ => Signal::Timeout { consecutive },
            };
            controller.on_congestion(now, signal, path);
        }
        Happening::Undo => controller.on_undo(now),
        Happening::Recovered => controller.on_recovered(now, path),
        Happening::Start(idle) => {
            controller.on_idle(now, Idle::TransmitStart { since: Duration::from_nanos(idle) }, path);
        }
        Happening::Idle => controller.on_idle(now, Idle::Restart { window: Bytes::new(10 * path.mss.get()) }, path),
        Happening::Mss(mss) => path.mss = Bytes::new(mss),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any ACKs, the window stays between one segment and the largest TCP window, and nothing overflows.
    #[test]
    fn any_history_leaves_the_window_within_its_bounds(
        counting in prop_oneof![
            Just(ByteCounting::Acks),
            Just(ByteCounting::AcksExactly),
            Just(ByteCounting::Delivered),
            Just(ByteCounting::Limited { segments: 2 }),
            Just(ByteCounting::Half),
        ],
        history in proptest::collection::vec((happening(), 0..2_000_000_000u64), 1..60),
    ) {
        for name in CONTROLLERS {
            let setup = crate::cc::Setup { counting, ..setup() };
            let mut controller = build(name, &setup).expect("a known name");
            let mut path = path_state();
            let mut now = Time::from_nanos(1_000);
            controller.on_established(now, &path);
            for (what, wait) in &history {
                now += Duration::from_nanos(*wait);
                happen(controller.as_mut(), what, now, &mut path);
                let cwnd = controller.cwnd().get();
                prop_assert!((64..=1 << 31).contains(&cwnd), "{name}: {cwnd} after {what:?}");
            }
        }
    }
}

/// A controller depends only on its inputs, so equal histories result in equal windows.
#[test]
fn controllers_are_deterministic() {
    for name in CONTROLLERS {
        assert_eq!(warmed(name).trace, warmed(name).trace, "{name}");
    }
}

#[test]
fn the_window_does_not_grow_unless_it_limits_the_sender() {
    for name in CONTROLLERS.iter().filter(|name| !["vegas", "bbr", "bbr3"].contains(name)) {
        let Path { mut controller, now, .. } = warmed(name);
        let before = controller.cwnd();
        let ack = Acked { cwnd_limited: false, ..acked(2, Duration::from_millis(60)) };
        for step in 0..200 {
            controller.on_ack(now + Duration::from_millis(step), &ack, &path_state());
        }
        assert!(controller.cwnd() <= before, "{name}");
    }
}

/// RFC 8511 section 3.1: with alternative back-off, a mark reduces CUBIC's window to 85 % and Reno's to 80 %.
#[test]
fn with_abe_a_mark_reduces_the_window_less_than_a_loss() {
    for (name, loss, mark) in [
        ("reno", 500, 800),
        ("newreno", 500, 800),
        ("cubic", 700, 849),
        ("cubic-0.8", 799, 849),
        ("cubic-hystart++", 700, 849),
    ] {
        let left = |abe, signal| {
            let setup = crate::cc::Setup { abe, initial_window: Bytes::new(1000 * MSS), ..setup() };
            let mut controller = build(name, &setup).expect("a known name");
            controller.on_established(Time::ZERO, &path_state());
            controller.on_congestion(Time::ZERO, signal, &path_state());
            controller.cwnd().get() / MSS
        };
        assert_eq!((left(true, Signal::Loss), left(true, Signal::EcnEcho)), (loss, mark), "{name}");
        assert_eq!((left(false, Signal::Loss), left(false, Signal::EcnEcho)), (loss, loss), "{name}");
    }
}

/// The test path itself: a line of one segment per ms, an RTT of 100 ms, a queue of 20 segments.
#[test]
fn the_test_path_delivers_at_its_rate_and_drops_at_its_queue() {
    let path_with = |segments: u64, mark_from| {
        let (record, controller) = crate::tests::witness::Witness::with_record(&crate::Profile::linux_6_1(), MSS);
        let mut path = Path::new(controller, MSS as f64 * 8.0 / 1000.0, Duration::from_millis(100), 20);
        path.mark_from = mark_from;
        path.controller.adopt(path.now, Bytes::new(segments * MSS), Some(Bytes::new(MSS)));
        (path, record)
    };
    // Ten segments per round trip: the first is acknowledged after 101 ms, and the line is idle afterwards.
    let (mut path, record) = path_with(10, None);
    path.run(Duration::from_millis(105));
    assert_eq!((path.delivered, path.losses), (5, 0));
    let acks = record.acks();
    assert_eq!(acks.len(), 5);
    for (number, (ack, state)) in (0u64..).zip(&acks) {
        assert_eq!(ack.rtt, Some(Duration::from_millis(101 + number)), "each waits for those before it");
        assert_eq!((ack.delivered, ack.segments, ack.marked), (Bytes::new(MSS), 1, Bytes::ZERO));
        assert_eq!((state.delivered, state.una), (Bytes::new((number + 1) * MSS), (number + 1) * MSS));
        assert_eq!((ack.rate.lost, ack.ecn_echo, ack.in_recovery), (Bytes::ZERO, false, false));
        assert_eq!(ack.prior_in_flight, Bytes::new(10 * MSS));
    }
    let share = path.run(Duration::from_millis(5));
    assert!((share - 1.0).abs() < 1e-9, "the line was busy in these 5 ms: {share}");
    assert_eq!((acks[0].0.rate.delivered, acks[0].0.rate.interval), (Bytes::new(MSS), Duration::from_millis(101)));
    assert_eq!((acks[4].0.rate.delivered, acks[4].0.rate.tx_in_flight), (Bytes::new(5 * MSS), Bytes::new(5 * MSS)));
    // 30 segments at once: 20 wait and one is sent, so nine are lost.
    let (mut path, record) = path_with(30, Some(10));
    path.run(Duration::from_millis(110));
    assert_eq!(path.losses, 0, "their ACKs would follow those of the delivered segments");
    assert!(record.acks().iter().all(|(ack, _)| !ack.ecn_echo), "the first segments found a short queue");
    path.run(Duration::from_millis(20));
    assert_eq!((path.losses, path.signals.len()), (10, 1));
    let told = record.take();
    let lost: Vec<_> =
        told.iter().filter_map(|(_, told)| if let Told::Lost(lost) = told { Some(lost) } else { None }).collect();
    for (place, lost) in (20u64..).zip(&lost) {
        assert_eq!((lost.start, lost.end), (place * MSS, (place + 1) * MSS));
        assert_eq!(lost.tx_in_flight, Bytes::new(lost.end));
    }
    assert_eq!(lost.len(), 10);
    let acks = told.iter().filter_map(|(_, told)| if let Told::Ack(ack, _) = told { Some(ack) } else { None });
    let marked = acks.filter(|ack| ack.ecn_echo && ack.marked == Bytes::new(MSS)).count();
    assert_eq!(marked, 10, "the second half of the queue");
}

/// The description of an ACK for tests of controllers.
#[test]
fn an_ack_of_segments_describes_whole_segments_in_flight() {
    let Acked { delivered, cumulative, segments, rtt, newest_rtt, forward_ms, prior_in_flight, .. } =
        acked(3, Duration::from_millis(20));
    assert_eq!([delivered, cumulative, prior_in_flight], [Bytes::new(3 * MSS); 3]);
    assert_eq!((segments, forward_ms), (3, Some(20)));
    assert_eq!([rtt, newest_rtt], [Some(Duration::from_millis(20)); 2]);
}
