use super::*;
use crate::WindowRule;
use lopsided_spec::Choice;
use proptest::prelude::*;

const MSS: Bytes = Bytes::new(1448);

const fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn transfer(mode: Mode, size: u64) -> Transfer {
    Transfer::new(Settings { mode, ..Settings::default() }, Ranges::whole(size))
}

/// Each of the 8 streams requests 1/8 of the rest of the window. With a window of 10 segments, the first request is
/// 1,810 bytes and the second 1,583 bytes.
#[test]
fn the_first_chunks_match_equation_2_4() {
    let mut fair = transfer(Mode::Fair, 1 << 30);
    let mut expected_requested = 0;
    for stream in 0..8 {
        let range = fair.request(ms(0), stream).unwrap();
        let chunk = ((14_480 - expected_requested) / 8).max(1000);
        assert_eq!(range, expected_requested..expected_requested + chunk);
        expected_requested += chunk;
        assert_eq!(fair.requested(), expected_requested);
    }
    assert_eq!(fair.request(ms(0), 3), None, "busy");
}

#[test]
fn a_loss_with_a_standing_queue_reduces_the_window_once_per_round_trip() {
    let mut fair = transfer(Mode::Fair, 1 << 30);
    let mut now = 0;
    for round in 0..12 {
        for stream in 0..8 {
            fair.request(ms(now), stream);
        }
        now += if round < 6 { 100 } else { 180 };
        for stream in 0..8 {
            let left = fair.streams[stream].chunk.as_ref().unwrap().range.clone();
            fair.received(ms(now), stream, left.end - left.start).unwrap();
        }
    }
    let before = fair.window().unwrap().get();
    fair.observe(ms(now), 2, 5, MSS);
    let after = fair.window().unwrap().get();
    assert!((0.68..0.71).contains(&(after as f64 / before as f64)), "{before} to {after}: CUBIC keeps 0.7");
    fair.observe(ms(now + 50), 3, 1, MSS);
    assert_eq!(fair.window().unwrap().get(), after, "the same round trip");
    fair.observe(ms(now + 500), 2, 5, MSS);
    assert_eq!(fair.window().unwrap().get(), after, "no new loss");
    fair.observe(ms(now + 500), 2, 6, MSS);
    assert_eq!(fair.window().unwrap().get(), after, "the same loss, because no in-order data has arrived since then");
    fair.request(ms(now + 500), 2);
    fair.received(ms(now + 680), 2, 1).unwrap();
    let before = fair.window().unwrap().get();
    fair.observe(ms(now + 680), 2, 7, MSS);
    assert!(fair.window().unwrap().get() < before);
    assert_eq!(fair.reductions(), 2);
}

/// A client reads bytes 300 ms after their arrival. This delay is neither a long round trip nor a pause.
#[test]
fn a_late_reader_does_not_count_as_congestion() {
    let mut fair = transfer(Mode::Fair, 1 << 30);
    for round in 0..20 {
        for stream in 0..8 {
            fair.request(ms(500 * round), stream);
        }
        for stream in 0..8 {
            let left = fair.streams[stream].chunk.as_ref().unwrap().range.clone();
            let (came, read) = (ms(500 * round + 100), ms(500 * round + 400));
            fair.received_late(read, came, stream, left.end - left.start).unwrap();
        }
    }
    assert_eq!((fair.rtt(), fair.reductions()), (Some(Duration::from_millis(100)), 0));
}

#[test]
fn the_rest_of_a_stalled_request_is_requested_next() {
    let mut greedy = transfer(Mode::Greedy, 1 << 20);
    let (first, second) = (greedy.request(ms(0), 0).unwrap(), greedy.request(ms(0), 1).unwrap());
    assert_eq!(greedy.received(ms(10), 0, 100), Ok(0..100));
    greedy.received(ms(4000), 1, 100).unwrap();
    assert_eq!((greedy.stalled(ms(5009)), greedy.next_stall()), (vec![], Some(ms(5010))));
    assert_eq!(greedy.stalled(ms(5010)), [0]);
    greedy.failed(ms(5010), 0);
    assert_eq!(greedy.request(ms(5010), 0), Some(100..first.end), "missing data is requested first");
    assert_eq!(
        greedy.received(ms(5020), 1, second.end - second.start),
        Err(Excess),
        "100 of these bytes were received before"
    );
}

/// The kernel counts out-of-order segments per connection, so a new connection starts from zero.
#[test]
fn the_out_of_order_count_of_a_new_connection_starts_at_zero() {
    let mut fair = transfer(Mode::Fair, 1 << 30);
    fair.record();
    for (at, out_of_order) in [(0, 5), (200, 5), (400, 1), (600, 1)] {
        if at == 400 {
            fair.failed(ms(at), 0);
        }
        fair.request(ms(at), 0);
        fair.observe(ms(at + 100), 0, out_of_order, MSS);
        fair.received(ms(at + 100), 0, 1).unwrap();
    }
    let holes = fair.take_steps().iter().filter(|step| step.loss.is_some()).count();
    assert_eq!(holes, 2, "one loss on each connection");
}

#[test]
fn a_single_stream_sends_one_request() {
    let mut single = transfer(Mode::Single, 12_345);
    assert_eq!(single.streams(), 1);
    assert_eq!(single.request(ms(0), 0), Some(0..12_345));
    assert_eq!(single.request(ms(0), 1), None);
    single.received(ms(1), 0, 12_345).unwrap();
    assert!(single.is_complete());
}

#[derive(Clone, Debug)]
enum Call {
    Request,
    Receive(u64),
    Fail,
    Hole,
}

fn calls() -> impl Strategy<Value = Vec<(Call, usize, u64)>> {
    let call = prop_oneof![
        3 => Just(Call::Request),
        3 => (1u64..5000).prop_map(Call::Receive),
        1 => Just(Call::Fail),
        1 => Just(Call::Hole),
    ];
    prop::collection::vec((call, 0usize..9, 0u64..300), 0..200)
}

/// Replays the steps in another transfer, and returns the steps of that transfer.
fn again(settings: Settings, size: u64, steps: &[Step]) -> Vec<Step> {
    let mut transfer = Transfer::new(settings, Ranges::whole(size));
    transfer.record();
    for &Step { at, stream, what, .. } in steps {
        match what {
            What::Asked { .. } => drop(transfer.request(at, stream)),
            What::Received { octets, late, .. } => {
                let came = Time::from_nanos(at.as_nanos() - late.as_nanos());
                drop(transfer.received_late(at, came, stream, octets));
            }
            What::Observed { out_of_order, mss } => transfer.observe(at, stream, out_of_order, mss),
            What::Failed => transfer.failed(at, stream),
        }
    }
    transfer.take_steps()
}

proptest! {
    /// In any sequence of calls, every byte is received exactly once, and a replay returns the same steps.
    #[test]
    fn every_octet_is_received_once(
        calls in calls(),
        mode in prop::sample::select(Mode::WORDS),
        rule in prop::sample::select(WindowRule::WORDS),
        size in 1u64..300_000,
    ) {
        let settings = Settings { mode: mode.1, window: rule.1, ..Settings::default() };
        let mut transfer = Transfer::new(settings, Ranges::whole(size));
        transfer.record();
        let (mut got, mut now, mut counter) = (Ranges::default(), Time::ZERO, 0);
        for (call, stream, pause) in calls {
            now += Duration::from_millis(pause);
            match call {
                Call::Request => drop(transfer.request(now, stream)),
                Call::Receive(octets) => {
                    let came = Time::from_nanos(now.as_nanos().saturating_sub(octets * 10_000));
                    if let Ok(place) = transfer.received_late(now, came, stream, octets) {
                        let before = got.octets();
                        got.insert(place);
                        prop_assert_eq!(got.octets(), before + octets);
                    }
                }
                Call::Fail => transfer.failed(now, stream),
                Call::Hole => {
                    counter += 1;
                    transfer.observe(now, stream, counter, MSS);
                }
            }
            prop_assert_eq!(transfer.left() + got.octets(), size);
            prop_assert_eq!(transfer.octets_received(), got.octets());
        }
        (0..transfer.streams()).for_each(|stream| transfer.failed(now, stream));
        while let Some(range) = transfer.request(now, 0) {
            prop_assert!(range.end <= size);
            got.insert(transfer.received(now, 0, range.end - range.start).unwrap());
        }
        prop_assert!(transfer.is_complete());
        prop_assert_eq!(got, Ranges::whole(size));
        let steps = transfer.take_steps();
        prop_assert_eq!(again(settings, size, &steps), steps);
    }
}

/// Havey 2015, section 2.5: the window of Vegas stops growing when a queue builds up; the window of CUBIC grows until a
/// loss.
#[test]
fn a_delay_based_window_stops_growing_when_a_queue_builds_up() {
    let window_after = |rule: &str| {
        let window = WindowRule::WORDS.iter().find(|(name, _)| *name == rule).expect("a rule").1;
        let mut transfer = Transfer::new(Settings { window, ..Settings::default() }, Ranges::whole(1 << 40));
        let mut now_us = 0;
        for _ in 0..400 {
            let asked: u64 = (0..8)
                .filter_map(|stream| transfer.request(ms(now_us / 1000), stream))
                .map(|range| range.end - range.start)
                .sum();
            // The line has a rate of 10 Mbit/s and a delay of 100 ms, so each byte above 125 kB adds a queueing delay
            // of 0.8 us.
            now_us += 100_000 + asked.saturating_sub(125_000) * 8 / 10;
            for stream in 0..8 {
                let left = transfer.streams[stream].chunk.as_ref().expect("a request").range.clone();
                transfer
                    .received(ms(now_us / 1000), stream, left.end - left.start)
                    .expect("the octets belong to the request");
            }
        }
        transfer.window().expect("a window").get()
    };
    let (vegas, cubic) = (window_after("vegas"), window_after("cubic"));
    assert!((100_000..250_000).contains(&vegas), "{vegas}: the BDP is 125 kB");
    assert!(cubic > 4 * vegas, "{cubic}");
}
