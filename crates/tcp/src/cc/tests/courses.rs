//! Compares the decisions of each controller with `courses.txt`, on paths that the curves of a minute do not show:
//! with marks, with almost no queue, with a long queue, and after timeouts, undone reductions and pauses.
//!
//! `UPDATE_EXPECT=1 cargo test -p lopsided-tcp courses` records the decisions again.

use super::path::{Path, controller};
use crate::cc::{CONTROLLERS, Idle, Signal};
use expect_test::expect_file;
use lopsided_core::{Bytes, Digest, Duration};
use std::fmt::Write;

const MS: Duration = Duration::from_millis(1);

/// A path and what happens on it.
struct Course {
    mbits: f64,
    rtt_ms: u64,
    /// Size of the queue in segments.
    room: u64,
    mark_from: Option<u64>,
    /// Called after each millisecond, with the number of milliseconds.
    then: fn(ms: u64, path: &mut Path),
}

const QUIET: Course = Course { mbits: 4.0, rtt_ms: 60, room: 20, mark_from: None, then: |_, _| {} };

const COURSES: [Course; 8] = [
    QUIET,
    Course { mark_from: Some(6), ..QUIET },
    Course { room: 2, ..QUIET },
    Course { room: 200, rtt_ms: 120, mbits: 3.0, ..QUIET },
    Course { rtt_ms: 5, mbits: 2.0, room: 8, ..QUIET },
    Course { rtt_ms: 300, mbits: 6.0, room: 150, ..QUIET },
    // A timeout, whose reduction is undone in the second case.
    Course { then: |ms, path| timeout(path, ms, 4000, false), ..QUIET },
    Course {
        mark_from: Some(12),
        then: |ms, path| {
            timeout(path, ms, 3000, true);
            if ms == 6000 {
                let state = super::path::path_state();
                let window = Bytes::new(10 * super::path::MSS);
                path.controller.on_idle(path.now, Idle::Restart { window }, &state);
                path.controller.on_idle(path.now, Idle::TransmitStart { since: MS * 700 }, &state);
            }
        },
        ..QUIET
    },
];

fn timeout(path: &mut Path, ms: u64, at: u64, spurious: bool) {
    let state = super::path::path_state();
    if ms == at || ms == at + 400 {
        let consecutive = if ms == at { 1 } else { 2 };
        path.controller.on_congestion(path.now, Signal::Timeout { consecutive }, &state);
    }
    if ms == at + 500 && spurious {
        path.controller.on_undo(path.now);
    }
    if ms == at + 500 {
        path.controller.on_recovered(path.now, &state);
    }
}

/// Each line has the window in segments after every two seconds of the first course, and a number for each course.
#[test]
fn decisions_match_the_recorded_decisions() {
    let mut text = String::new();
    for name in CONTROLLERS {
        let (mut windows, mut digests) = (String::new(), String::new());
        for (number, course) in COURSES.iter().enumerate() {
            let mut path = Path::new(controller(name), course.mbits, MS * course.rtt_ms, course.room);
            path.mark_from = course.mark_from;
            let mut digest = Digest::default();
            for ms in 1..=10_000 {
                path.run(MS);
                (course.then)(ms, &mut path);
                let state = path.controller.state();
                digest.mix(state.cwnd.get());
                digest.mix(state.ssthresh.map_or(0, Bytes::get));
                digest.mix(state.pacing_rate.map_or(0, |rate| rate.as_bps()));
                if number == 0 && ms % 2000 == 0 {
                    write!(windows, " {}", state.cwnd.get() / super::path::MSS).expect("a string");
                }
            }
            write!(digests, " {:06x}", digest.value() & 0xff_ffff).expect("a string");
        }
        writeln!(text, "{name:<20}{windows:<16}{digests}").expect("a string");
    }
    expect_file!["courses.txt"].assert_eq(&text);
}
