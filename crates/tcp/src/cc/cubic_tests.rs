use super::*;
use crate::cc::tests::path::{MSS, Path, acked, controller, path_state, setup};
use crate::cc::{Controller, Idle, WindowController};
use lopsided_core::Bytes;

/// RFC 9438 equation 2: K is the cube root of (W_max - cwnd_epoch) / C.
#[test]
fn k_is_the_time_until_the_window_is_w_max_again() {
    // For a W_max of 1000 segments and a beta of 0.7, K is the cube root of 750, which is 9.0856 s with C = 0.4; in
    // this file C is 410/1024. The expected values are those that Linux computes. They differ from the exact values.
    assert_eq!([10, 17, 25, 50, 52, 60, 100, 300].map(inflection), [2991, 3573, 4062, 5120, 5185, 5436, 6451, 9294]);
    assert_eq!(inflection(0), 0);
    for cube in [0u128, 1, 7, 8, 26, 27, 1 << 90] {
        let root = u128::from(cube_root(cube));
        assert!(root.pow(3) <= cube && (root + 1).pow(3) > cube);
    }
}

/// The curve of figure 1: concave up to W_max at K, flat there, convex beyond.
#[test]
fn the_curve_starts_at_the_reduced_window_and_passes_w_max_at_k() {
    let k = inflection(300);
    assert_eq!(curve(0, k, 1000), 701, "the fall is rounded down to whole segments");
    assert_eq!(curve(k, k, 1000), 1000);
    assert_eq!(curve(k + 5 * SCALE, k, 1000), 1050);
    assert_eq!(curve(k - 5 * SCALE, k, 1000), 950);
    assert_eq!(curve(u64::MAX, k, 1000), 1000 + 1_000_000_000_000, "no overflow however late");
}

/// After a reduction from 175 to 123 segments, Linux's K is 5,185/1024 s. With an exact cube root, K would be 2/1024 s
/// longer.
#[test]
fn the_window_grows_at_the_same_ack_as_on_linux() {
    let mut cubic = Cubic::new(LINUX, Duration::from_millis(4));
    cubic.w_max = 175;
    cubic.min_rtt = Some(Duration::from_millis(100));
    cubic.update(Time::ZERO, 123, 1);
    // The target for one RTT later is 127 segments, so the window grows by 1 segment per 123 / 4 acknowledged segments.
    assert_eq!(cubic.every, 30);
}

/// Linux's clock has ticks, so the target for one RTT later is constant within a tick.
#[test]
fn the_target_changes_once_per_tick() {
    let every = |ms: u64| {
        let mut cubic = Cubic::new(LINUX, Duration::from_millis(4));
        cubic.w_max = 760;
        cubic.update(Time::ZERO, 700, 1);
        cubic.update(Time::ZERO + Duration::from_millis(ms), 701, 1);
        cubic.every
    };
    let moves: Vec<u64> = (1..2000).filter(|ms| every(*ms) != every(ms - 1)).collect();
    assert!(moves.len() > 10 && moves.iter().all(|ms| ms % 4 == 0), "{moves:?}");
}

fn lossy(constants: Constants, cwnd: u64) -> WindowController<Cubic> {
    let mut cubic = WindowController::new(&setup(), Cubic::new(constants, Duration::ZERO));
    let state = path_state();
    // One large ACK in slow start grows the window to the requested size.
    let rest = cwnd - cubic.cwnd().get() / MSS;
    cubic.on_ack(Time::from_nanos(1), &Acked { newest_rtt: None, ..acked(rest, Duration::from_millis(100)) }, &state);
    assert_eq!(cubic.cwnd().get(), cwnd * MSS);
    cubic
}

/// RFC 9438 sections 4.6 and 4.7.
#[test]
fn beta_and_fast_convergence() {
    for (constants, first, second) in [(LINUX, 700, 490), (OLDER, 799, 639)] {
        let mut cubic = lossy(constants, 1000);
        cubic.on_congestion(Time::from_nanos(2), Signal::Loss, &path_state());
        assert_eq!(cubic.cwnd().get() / MSS, first);
        assert_eq!(cubic.algorithm().w_max, 1000);
        cubic.on_congestion(Time::from_nanos(3), Signal::Loss, &path_state());
        assert_eq!(cubic.cwnd().get() / MSS, second, "{}", constants.name);
        // The window was reduced before it had reached W_max again, so W_max becomes (1 + beta) / 2 of the window at
        // the reduction.
        assert_eq!(cubic.algorithm().w_max, first * (SCALE + constants.beta) / (2 * SCALE));
    }
}

/// Acknowledges one window per `rtt`. Returns the window after `span`, in segments.
fn grown(mut cubic: WindowController<Cubic>, rtt: Duration, span: Duration) -> u64 {
    let mut now = Time::from_nanos(3);
    let end = now + span;
    while now < end {
        let window = cubic.cwnd().get() / MSS;
        let gap = rtt / window;
        for _ in 0..window {
            now += gap;
            cubic.on_ack(now, &acked(1, rtt), &path_state());
        }
    }
    cubic.cwnd().get() / MSS
}

#[test]
fn a_fast_long_path_follows_the_cubic_function() {
    let rtt = Duration::from_millis(100);
    for (seconds, expected) in [(3, 911), (6, 989), (9, 1000), (12, 1010)] {
        let mut cubic = lossy(LINUX, 1000);
        cubic.on_congestion(Time::from_nanos(2), Signal::Loss, &path_state());
        let window = grown(cubic, rtt, Duration::from_secs(seconds));
        assert!(window.abs_diff(expected) <= 8, "{window} segments after {seconds} s, W_cubic is {expected}");
    }
}

/// Section 4.3: on a short path the window follows Reno's window, which grows by 3 (1 - beta) / (1 + beta) segments per
/// RTT.
#[test]
fn a_short_path_is_in_the_reno_friendly_region() {
    let rtt = Duration::from_millis(10);
    let mut cubic = lossy(LINUX, 100);
    cubic.on_congestion(Time::from_nanos(2), Signal::Loss, &path_state());
    let window = grown(cubic, rtt, Duration::from_secs(2));
    // Reno grows from 70 segments by 0.529 segments in each of 200 round trips. The cubic function alone would reach 99
    // segments.
    let reno = 70.0 + 200.0 * 3.0 * (1.0 - 0.7) / (1.0 + 0.7);
    assert!((window as f64 - reno).abs() < 6.0, "{window} segments, friendly {reno}");
}

/// Section 5.8: the cubic function does not advance during an idle period.
#[test]
fn an_idle_time_does_not_count() {
    let rtt = Duration::from_millis(100);
    let mut cubic = lossy(LINUX, 1000);
    cubic.on_congestion(Time::from_nanos(2), Signal::Loss, &path_state());
    let mut now = Time::from_nanos(3);
    cubic.on_ack(now, &acked(1, rtt), &path_state());
    now += Duration::from_secs(60);
    cubic.on_idle(now, Idle::TransmitStart { since: Duration::from_secs(60) }, &path_state());
    for _ in 0..700 {
        now += Duration::from_micros(140);
        cubic.on_ack(now, &acked(1, rtt), &path_state());
    }
    let window = cubic.cwnd().get() / MSS;
    assert!(window < 730, "{window} segments after one round trip of sending");
}

/// HyStart ends slow start at about one BDP. Plain slow start continues until the queue overflows.
#[test]
fn hystart_leaves_slow_start_before_the_queue_overflows() {
    let rtt = Duration::from_millis(100);
    // The BDP of 20 Mbit/s and 100 ms is 172 segments, and the queue also has space for 172 segments.
    for (name, early) in [("cubic", true), ("cubic-slow-start", false)] {
        let mut path = Path::new(controller(name), 20.0, rtt, 172);
        path.run(Duration::from_secs(1));
        assert_eq!(path.losses == 0, early, "{name} lost {} segments", path.losses);
        if early {
            let ended = path.controller.ssthresh().map_or(0, |threshold| threshold.get() / MSS);
            assert!((86..=344).contains(&ended), "{name} left slow start at {ended} segments");
        }
    }
}

/// Undoing a spurious reduction restores the window and the threshold.
#[test]
fn an_undo_restores_window_and_threshold() {
    let mut cubic = lossy(LINUX, 1000);
    cubic.on_congestion(Time::from_nanos(2), Signal::Loss, &path_state());
    cubic.on_undo(Time::from_nanos(3));
    assert_eq!((cubic.cwnd(), cubic.ssthresh()), (Bytes::new(1000 * MSS), None));
}

/// During a repair the window is below the threshold. Linux treats this state as slow start, so HyStart may end slow
/// start.
#[test]
fn hystart_can_lower_the_threshold_during_a_recovery() {
    let after = |reduced_to: Option<u64>| {
        let mut cubic = lossy(LINUX, 30);
        let state = path_state();
        cubic.on_congestion(Time::from_nanos(2), Signal::Loss, &state);
        for ms in 1..80 {
            let reduced_to = reduced_to.map(|segments| Bytes::new(segments * MSS));
            let ack = Acked { in_recovery: true, reduced_to, ..acked(1, Duration::from_millis(100)) };
            cubic.on_ack(Time::ZERO + Duration::from_millis(ms), &ack, &state);
        }
        (cubic.cwnd().get() / MSS, cubic.ssthresh().map(|ssthresh| ssthresh.get() / MSS))
    };
    assert_eq!(after(Some(17)), (17, Some(17)));
    assert_eq!(after(Some(15)), (21, Some(21)), "small windows are left alone");
    assert_eq!((after(Some(21)), after(None)), ((21, Some(21)), (21, Some(21))));
}
