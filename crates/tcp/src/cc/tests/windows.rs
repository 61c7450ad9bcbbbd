//! Compares the window of each controller over time, for one flow alone on a line, with `windows.txt`.
//!
//! `UPDATE_EXPECT=1 cargo test -p lopsided-tcp windows` records new curves. Compare the new curves with the papers that
//! describe the controllers. If `LOPSIDED_PLOTS` names a folder, each curve is also written to it as `NAME.svg`.

use super::path::{Path, controller};
use crate::cc::CONTROLLERS;
use expect_test::expect_file;
use lopsided_core::{Duration, Time};
use std::fmt::Write;
use std::{env, fs};

const SECONDS: u64 = 60;
/// Time in seconds after which the first slow start has ended.
const SETTLED_S: f64 = 5.0;
/// Number of columns in the text plot. Each column shows the mean window over 1/100 of the time.
const COLUMNS: usize = 100;
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Width, height and margin of the SVG.
const SIZE: (f64, f64, f64) = (720.0, 240.0, 40.0);

/// The window of a controller at 20 Mbit/s and 50 ms, with a queue of one bandwidth-delay product.
struct Curve {
    name: &'static str,
    share: f64,
    losses: u64,
    /// Pairs of a time in seconds and a window in segments.
    points: Vec<(f64, f64)>,
}

#[test]
fn curves_match_the_reviewed_curves() {
    let curves: Vec<Curve> = CONTROLLERS.iter().map(|name| Curve::of(name)).collect();
    if let Ok(folder) = env::var("LOPSIDED_PLOTS") {
        for curve in &curves {
            fs::write(format!("{folder}/{}.svg", curve.name), curve.svg()).expect("the folder can be written to");
        }
    }
    let mut text = format!(
        "Windows of {SECONDS} s on 20 Mbit/s, 50 ms, a queue of 86 segments.\n\
         A column is full at the largest window after {SETTLED_S} s.\n\n"
    );
    curves.iter().for_each(|curve| text += &curve.text());
    expect_file!["windows.txt"].assert_eq(&text);
}

impl Curve {
    fn of(name: &'static str) -> Curve {
        let mut path = Path::new(controller(name), 20.0, Duration::from_millis(50), 86);
        let share = path.run(Duration::from_secs(SECONDS));
        let seconds = |at: Time| at.as_nanos() as f64 / 1e9;
        let points = path.trace.iter().map(|(at, window)| (seconds(*at), *window as f64)).collect();
        Curve { name, share, losses: path.losses, points }
    }

    /// Returns the largest window after the first slow start.
    fn largest(&self) -> f64 {
        let settled = self.points.iter().filter(|(at, _)| *at > SETTLED_S);
        settled.map(|(_, window)| *window).fold(1.0, f64::max)
    }

    fn text(&self) -> String {
        let mut sums = [(0.0, 0.0); COLUMNS];
        for (at, window) in &self.points {
            let column = (at / SECONDS as f64 * COLUMNS as f64) as usize;
            let (sum, number) = &mut sums[column.min(COLUMNS - 1)];
            *sum += window;
            *number += 1.0;
        }
        let level = |(sum, number): &(f64, f64)| if *number == 0.0 { 0.0 } else { sum / number / self.largest() };
        let bars: String = sums.iter().map(|column| LEVELS[((level(column) * 8.0).round() as usize).min(8)]).collect();
        let Curve { name, share, losses, .. } = self;
        let share = 100.0 * share;
        format!(
            "{name:<11} largest {:>4} segments, {share:>3.0} % of the line, {losses:>5} lost\n{bars}\n\n",
            self.largest()
        )
    }

    fn svg(&self) -> String {
        let (width, height, room) = SIZE;
        let largest = self.largest();
        let mut line = String::new();
        for (at, window) in &self.points {
            let x = room + at / SECONDS as f64 * (width - 2.0 * room);
            let y = height - room - (window / largest).min(1.1) * (height - 2.0 * room);
            write!(line, "{x:.1},{y:.1} ").expect("a string takes all");
        }
        let (bottom, right) = (height - room, width - room);
        format!(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' font-size='12'>\n\
             <text x='{room}' y='{}'>{}: window in segments, at most {largest} after slow start</text>\n\
             <path d='M{room},{room} V{bottom} H{right}' fill='none' stroke='gray'/>\n\
             <text x='{right}' y='{}' text-anchor='end'>{SECONDS} s</text>\n\
             <polyline points='{line}' fill='none' stroke='#1f77b4'/>\n</svg>\n",
            room - 12.0,
            self.name,
            bottom + 18.0,
        )
    }
}
