//! The axes of a sweep are parsed correctly and expand to the expected grid of points.

use super::BASE;
use lopsided_scenario::{Axes, Axis, Scenario};

fn values(text: &str) -> Vec<String> {
    Axis::parse(text).unwrap_or_else(|error| panic!("{error}")).arms.into_iter().map(|arm| arm.label).collect()
}

#[test]
fn axes_accept_ranges_lists_and_units() {
    assert_eq!(values("k=5..20:5"), ["5", "10", "15", "20"]);
    assert_eq!(values("k=5..22:5 packets"), ["5 packets", "10 packets", "15 packets", "20 packets"]);
    assert_eq!(values("k=1..3"), ["1", "2", "3"]);
    assert_eq!(values("k=4..64:x4 packets"), ["4 packets", "16 packets", "64 packets"]);
    // In floating point, adding 0.1 repeatedly would miss the end of the range.
    assert_eq!(values("k=0.1..1:0.1").len(), 10);
    assert_eq!(values("k=5,10,20 packets"), ["5 packets", "10 packets", "20 packets"]);
    assert_eq!(values("k=100 kbit/s, 1 Mbit/s"), ["100 kbit/s", "1 Mbit/s"]);
    assert_eq!(values("k=reno,cubic"), ["reno", "cubic"]);
    assert_eq!(values("k=7"), ["7"]);
    assert_eq!(values("k={ on = \"1 s\", off = \"2 s\" },bulk"), ["{ on = \"1 s\", off = \"2 s\" }", "bulk"]);
}

#[test]
fn invalid_ranges_are_rejected() {
    for (text, part) in [
        ("k", "has no `=`"),
        ("=5", "has no key before `=`"),
        ("k=", "empty value"),
        ("k=1,,2", "empty value"),
        ("k=5..1", "ends before it begins"),
        ("k=1..5:0", "never ends"),
        ("k=1..5:x1", "never ends"),
        ("k=0..5:x2", "never ends"),
        ("k=1..", "has no number after `..`"),
        ("k=1..5:", "has no number after `:`"),
        ("k=1..1e9", "has too many values"),
    ] {
        let error = Axis::parse(text).expect_err(text).to_string();
        assert!(error.contains(part), "{text} gives {error}");
    }
}

#[test]
fn repetitions_vary_fastest_then_the_last_axis() {
    let text = format!(
        "{BASE}[sweep]\nline = [{{ label = \"A\", link.up.rate = \"1 Mbit/s\", \"link.down.rate\" = \"3 Mbit/s\" }}, {{ link.up.rate = \"2 Mbit/s\" }}]\nlink.up.queue.limit = \"5..10:5 packets\"\nrepeat = 2\n"
    );
    let axes = Axes::parse(&text, "test.toml").expect("it is valid");
    assert_eq!(axes.count(), 8);
    let points: Vec<_> = axes.points().collect();
    let shown: Vec<String> = points
        .iter()
        .map(|point| format!("{} {} #{}", point.labels[0].1, point.labels[1].1, point.repetition))
        .collect();
    let expected = [
        "A 5 packets #0",
        "A 5 packets #1",
        "A 10 packets #0",
        "A 10 packets #1",
        "2 Mbit/s 5 packets #0",
        "2 Mbit/s 5 packets #1",
        "2 Mbit/s 10 packets #0",
        "2 Mbit/s 10 packets #1",
    ];
    assert_eq!(shown, expected);
    assert_eq!(points[2].index, 2);
    for point in &points {
        let scenario = Scenario::parse(&text, "test.toml", &point.overrides).expect("each point is valid");
        assert_eq!(point.seed(&scenario), 1 + u64::from(point.repetition), "arms share the seeds of their repetitions");
    }
    let keys: Vec<&str> = points[0].overrides.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["link.up.rate", "link.down.rate", "link.up.queue.limit"]);
}

#[test]
fn a_file_without_a_sweep_has_one_point_and_a_new_axis_replaces_an_old_one() {
    let mut axes = Axes::parse(BASE, "test.toml").expect("it is valid");
    assert_eq!(axes.count(), 1);
    axes.set(Axis::parse("scenario.seed=1,2,3").expect("an axis"));
    axes.set(Axis::parse("scenario.seed=4,5").expect("an axis"));
    assert_eq!(axes.points().map(|point| point.overrides[0].1.clone()).collect::<Vec<_>>(), ["4", "5"]);
}

#[test]
fn invalid_axes_are_rejected_with_the_files_name() {
    for (sweep, message) in [
        ("\"link.up.qeue\" = [1, 2]", "unknown key `qeue` in [link.up]"),
        ("link.up.queue.limit = []", "this axis has no values"),
        ("link.up.queue.limit = \"5..1\"", "the range `5..1` ends before it begins"),
        ("repeat = 0", "this must be at least 1"),
        (
            "\"scenario.seed\" = \"1..100000\"\nrepeat = 100",
            "this sweep has 10000000 points, but at most 1000000 are allowed",
        ),
    ] {
        let text = format!("{BASE}[sweep]\n{sweep}\n");
        for errors in [Axes::parse(&text, "test.toml").err(), Scenario::parse(&text, "test.toml", &[]).err()] {
            let problems = errors.expect(sweep).problems;
            assert_eq!((problems[0].message.as_str(), problems[0].file.as_str()), (message, "test.toml"));
        }
    }
}
