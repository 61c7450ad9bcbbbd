//! Tests of the exact error message for each kind of invalid scenario file.

use super::{BASE, good, messages, parse, with};
use lopsided_scenario::Scenario;

#[test]
fn all_errors_of_a_file_are_reported_together_with_their_lines() {
    let text = r#"[scenario]
duration = "4 min"

[link]
rtt = "20"

[link.down]
rate = 2.4
qeue = "50 packets"

[link.up]
rate = "196 kbit/s"
queue = "50 kb"

[[flow]]
direction = "dwn"
"#;
    let expected = r#"error: `20` has no unit
  --> adsl.toml:5:7
  |
5 | rtt = "20"
  |       ^^^^
  = help: did you mean `20 ms` or `20 s`? (units of a time: ns, us, ms, s, min or h)

error: `2.4` has no unit
  --> adsl.toml:8:8
  |
8 | rate = 2.4
  |        ^^^
  = help: did you mean `2.4 Mbit/s` or `2.4 kbit/s`? (units of a rate: bit/s, kbit/s, Mbit/s or Gbit/s)

error: unknown key `qeue` in [link.down]
  --> adsl.toml:9:1
  |
9 | qeue = "50 packets"
  | ^^^^
  = help: did you mean `queue`?

error: unknown unit `kb` for a queue limit in `50 kb`
   --> adsl.toml:13:9
   |
13 | queue = "50 kb"
   |         ^^^^^^^
   = help: did you mean `50 kB` (1000 bytes each) or `50 kbit` (a rate would be kbit/s)?

error: unknown direction `dwn`
   --> adsl.toml:16:13
   |
16 | direction = "dwn"
   |             ^^^^^
   = help: did you mean `down`? (known: `down`, `up`)

5 errors"#;
    let errors = Scenario::parse(text, "adsl.toml", &[]).expect_err("five mistakes");
    assert_eq!(errors.to_string(), expected);
    // Programs read the position from these fields.
    let problem = &errors.problems[2];
    assert_eq!((problem.line, problem.column, problem.key.as_str()), (9, 1, "link.down.qeue"));
}

#[test]
fn an_error_in_an_override_points_into_the_overrides_text() {
    let errors =
        with(&[("link.up.qeue.limit", "15 packets"), ("link.up.queue.limit", "15k")]).expect_err("two mistakes");
    let expected = r#"error: unknown key `qeue` in [link.up]
 --> override
 |
 | link.up.qeue.limit=15 packets
 |         ^^^^
 = help: did you mean `queue`?

error: unknown unit `k` for a queue limit in `15k`
 --> override
 |
 | link.up.queue.limit=15k
 |                     ^^^
 = help: did you mean `15 kB` (1000 bytes each) or `15 KiB` (1024 bytes each)?

2 errors"#;
    assert_eq!(errors.to_string(), expected);
}

#[test]
fn toml_mistakes_are_explained() {
    let errors = parse("[scenario]\nduration = 60 s\n").expect_err("the quotes are missing");
    let problem = &errors.problems[0];
    assert_eq!(problem.line, 2);
    assert_eq!(problem.help.as_deref(), Some("put values with units in quotes: duration = \"60 s\""));
    let errors = parse("[scenario\nduration = \"60 s\"").expect_err("the bracket is missing");
    assert!(errors.problems[0].message.starts_with("this is not TOML"), "{errors}");
}

#[test]
fn missing_tables_and_keys_are_reported_with_an_example() {
    let errors = parse("").expect_err("the file is empty").to_string();
    for part in [
        "[scenario] is missing",
        "start the file with [scenario] and duration = \"60 s\"",
        "the network is missing: there is neither [link] nor [topology]",
        "the scenario has no flow",
    ] {
        assert!(errors.contains(part), "{part} is not in\n{errors}");
    }
    assert_eq!(messages(&BASE.replace("duration = \"60 s\"", "seed = 3")), ["`duration` is missing in [scenario]"]);
    assert_eq!(messages(&BASE.replace("rtt = \"20 ms\"", "")), ["`rtt` is missing in [link]"]);
    assert_eq!(
        messages(&BASE.replace("up.rate = \"196 kbit/s\"", "")),
        ["`rate` is missing for direction up of [link]"]
    );
    assert_eq!(messages(&BASE.replace("direction = \"down\"", "")), ["the flow has no sender and no receiver"]);
}

/// Each line sets a key to an invalid value, which must cause exactly this error message.
#[test]
fn invalid_values_are_rejected() {
    let cases = [
        ("link.down.rate", "0 Mbit/s", "`0 Mbit/s` is not a valid rate: no packet could ever be sent"),
        ("link.down.loss", "1.5", "a probability cannot exceed 1: `1.5`"),
        ("link.down.loss", "-0.1", "a probability cannot be negative: `-0.1`"),
        ("link.delay", "5 ms", "`delay` and `rtt` of a link exclude each other"),
        ("link.down.delay", "5 ms", "`delay` and `rtt` of a link exclude each other"),
        ("link.rtt", "-20 ms", "a time cannot be negative: `-20 ms`"),
        ("link.up.queue.limit", "0", "`0 packets` is not a valid queue limit: no packet could ever wait"),
        (
            "link.down.queue.limit",
            "900 B",
            "the down queue of link `link` holds 900 B, less than one packet of flow `flow1` (1500 B)",
        ),
        (
            "link.down.queue",
            "{ limit = { bins = 2, size = \"512 B\" } }",
            "the down queue of link `link` holds 1024 B, less than one packet of flow `flow1` (1500 B)",
        ),
        ("link.down.queue.limit.size", "512 B", "`size` needs `bins`"),
        ("link.down.queue.kind", "blue", "unknown queue `blue`"),
        (
            "link.down.queue",
            "{ min = \"5 packets\" }",
            "`min` belongs to kind = \"red\" or \"choke\", but this queue is \"fifo\"",
        ),
        (
            "link.down.queue",
            "{ kind = \"red\", drop = \"front\" }",
            "`drop` belongs to kind = \"fifo\", but this queue is \"red\"",
        ),
        ("link.down.queue", "{ kind = \"red\", min = \"30 packets\", max = \"10 packets\" }", "`min` is above `max`"),
        (
            "link.down.queue",
            "{ kind = \"red\", min = \"5 kB\", max = \"10 packets\" }",
            "`min` and `max` count in different units",
        ),
        ("link.down.queue", "{ kind = \"red\", weight = 0.002, burst = 5 }", "`weight` and `burst` exclude each other"),
        ("link.down.queue", "{ kind = \"red\", weight = 0 }", "a weight of zero would keep the average at zero"),
        (
            "link.down.queue",
            "{ kind = \"red\", min = \"10 packets\", max = \"12 packets\", burst = 5 }",
            "a burst of 5 packets is smaller than `min`",
        ),
        ("link.down.queue", "{ kind = \"red\", harddrop = true }", "`harddrop` needs `ecn = true`"),
        (
            "link.down.queue",
            "{ kind = \"red\", limit = { bins = 50, size = \"1500 B\" } }",
            "`max` is missing: there is no default for a limit in bins",
        ),
        ("link.down.queue.kind", "step", "`mark_threshold` is missing in [link.down.queue]"),
        (
            "link.down.shaper",
            "{ refill_interval = \"4 ms\", burst = \"100 B\" }",
            "a bucket of 100 B is smaller than one refill: it must be at least 1200 B",
        ),
        (
            "link.down.shaper",
            "{ burst = \"1600 B\", line_rate = \"1 Mbit/s\" }",
            "the line_rate is below the shaper's own rate, or above 10 Tbit/s",
        ),
        ("link.down.shaper", "{ line_rate = \"100 Mbit/s\" }", "`burst` is missing in the shaper"),
        ("link.down.loss.outages", "[[\"2 s\", \"1 s\"]]", "an outage must end after it begins"),
        ("link.down.loss.outages", "[[\"2 s\", \"4 s\"], [\"3 s\", \"5 s\"]]", "two outages overlap"),
        ("link.down.loss.packets", "[0]", "packets are counted from 1"),
        ("link.down.framing", "atm", "unknown framing `atm`"),
        ("flow.1.transport", "{ kind = \"quic\", acks = \"chrom\" }", "unknown ACK preset `chrom`"),
        ("scenario.duration", "0 s", "the duration must be longer than 0 s"),
        ("scenario.duration", "1000 h", "samples at this interval would produce 108 million rows of flows and queues"),
        ("scenario.seed", "-1", "a count cannot be negative: `-1`"),
        ("scenario.seed", "1.5", "`1.5` is not a whole number"),
        ("flow.1.start", "60 s", "the flow starts at 60 s, but the run ends at 60 s"),
        ("flow.1.count", "0", "this must be at least 1"),
        ("flow.1.count", "1000000", "too many flows: at most 100000 are allowed"),
        ("flow.1.app", "0 B", "the size must be at least 1 B"),
        ("flow.1.app", "bulky", "unknown app `bulky`"),
        ("flow.1.app", "{ repeat = 3 }", "`size` is missing in [flow.1.app]"),
        ("flow.1.app", "{ on = \"1 s\" }", "`off` is missing in [flow.1.app]"),
        (
            "flow.1.app",
            "{ kind = \"bulk\", size = \"1 MB\" }",
            "`size` belongs to kind = \"transfer\" or \"udp\" or \"ftp\" or \"rdra\" or \"repair\", but this app is \"bulk\"",
        ),
        (
            "flow.1.app",
            "{ rate = \"64 kbit/s\", repeat = 2 }",
            "`rate` belongs to kind = \"udp\", but this app is \"transfer\"",
        ),
        (
            "flow.1.app",
            "{ kind = \"udp\", rate = \"64 kbit/s\", size = \"20 B\" }",
            "the size of a UDP packet, including its headers, must be from 28 B to 65535 B",
        ),
        ("flow.1.from", "server", "`from` and `direction` exclude each other"),
        ("flow.1.cc", "cubik", "unknown congestion control `cubik`"),
        ("stack.profile", "linux", "unknown profile `linux`"),
        ("stack.mss", "20 B", "`mss` must be from 64 B to 65495 B, not 20 B"),
        ("stack", "{ mss = \"1460 B\", mtu = \"1500 B\" }", "`mss` and `mtu` exclude each other"),
        ("stack", "{ rack = true, fack = true }", "`rack` and `fack` exclude each other"),
        ("stack", "{ abc = 2, abc_half = true }", "`abc` and `abc_half` exclude each other"),
        ("stack", "{ prr = true, rate_halving = true }", "`prr` and `rate_halving` exclude each other"),
        ("stack.initial_window", "0 segments", "a window of 0 would never allow a segment to be sent"),
        (
            "stack.delayed_ack",
            "{ mode = \"off\", segments = 2 }",
            "`segments` has no effect while delayed ACKs are off",
        ),
        ("flow.1.stack.dscp", "64", "a DSCP must be from 0 to 63, not 64"),
        ("stack.ecn", "maybe", "unknown ecn `maybe`"),
        ("stack", "{ cc = \"vegas\", abe = true }", "`abe` has no effect with cc = \"vegas\""),
        (
            "stack",
            "{ profile = \"bsdi-3\", cc = \"newreno\" }",
            "`newreno` has no effect on bsdi-3, which recovers from losses in another way",
        ),
        ("flow.1.start_spacing", "1 s", "`start_spacing` has no effect without `count`"),
        ("stack.sack", "yes", "expected true or false, found a string"),
        ("host.clinet.stack.sack", "true", "there is no host `clinet`"),
        ("record.interval", "fast", "`fast` is not a time: it does not start with a number"),
        ("fairness", "true", "`fairness` must be a table, not a boolean"),
        ("fairness.within", "2", "a probability cannot exceed 1: `2`"),
        ("link", "5", "`link` must be a table, not a number"),
        ("flow", "{ direction = \"down\" }", "`flow` must be a list of tables ([[flow]]), not a table"),
    ];
    for (key, value, message) in cases {
        let errors = with(&[(key, value)]).expect_err(key);
        let shown = errors.to_string();
        assert!(errors.problems.iter().any(|problem| problem.message == message), "{key}={value} gives\n{shown}");
    }
}

#[test]
fn a_flow_that_stops_before_it_starts_is_rejected() {
    let text = format!("{BASE}start = \"5 s\"\nstop = \"4 s\"\n");
    assert_eq!(messages(&text), ["the flow stops at 4 s, but starts at 5 s"]);
    let text = format!("{BASE}count = 10\nstart_spacing = \"10 s\"\n");
    assert_eq!(messages(&text), ["the last copy starts at 90 s, but the run ends at 60 s"]);
}

#[test]
fn hosts_must_exist_and_be_reachable() {
    let topology = "[scenario]\nduration = \"1 s\"\n[topology]\nhosts = [\"a\", \"b\", \"c\"]\nrouters = [\"r\"]\n\
        [[topology.link]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\n\
        [[topology.link]]\nbetween = [\"b\", \"c\"]\nrate = \"1 Mbit/s\"\n";
    assert_eq!(messages(&format!("{topology}[[flow]]\nfrom = \"a\"\nto = \"x\"\n")), ["there is no host `x`"]);
    assert_eq!(
        messages(&format!("{topology}[[flow]]\nfrom = \"a\"\nto = \"a\"\n")),
        ["sender and receiver are the same host `a`"]
    );
    assert_eq!(messages(&format!("{topology}[[flow]]\nfrom = \"a\"\nto = \"r\"\n")), ["`r` is a router, not a host"]);
    // Hosts do not forward packets. The host `b` has links to `a` and `c`, but is not on a path between them.
    assert_eq!(
        messages(&format!("{topology}[[flow]]\nfrom = \"a\"\nto = \"c\"\n")),
        ["there is no path from `a` to `c`"]
    );
    assert_eq!(
        messages(&format!("{topology}[[flow]]\ndirection = \"down\"\n")),
        ["`direction` is only allowed with [link] or [topology.dumbbell]"]
    );
    // Both links have the same default name.
    let twice = format!(
        "{topology}[[topology.link]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\n[[flow]]\nfrom=\"a\"\nto=\"b\"\n"
    );
    assert_eq!(messages(&twice), ["another link has the name `a-b`"]);
}

#[test]
fn an_error_for_a_key_in_the_wrong_table_names_the_right_table() {
    let errors = parse(&format!("{BASE}[record]\nduration = \"5 s\"\n")).expect_err("the key belongs in another table");
    assert_eq!(errors.problems[0].help.as_deref(), Some("`duration` belongs in [scenario]"));
}

#[test]
fn an_error_for_a_renamed_key_names_the_new_key() {
    let help =
        |line: &str| parse(&format!("{BASE}{line}\n")).expect_err(line).problems[0].help.clone().unwrap_or_default();
    assert_eq!(help("transfer = \"10 MB\""), "did you mean `app`?");
    assert_eq!(help("app = { kind = \"udp\", udp = \"1 Mbit/s\" }"), "did you mean `rate`?");
    let link =
        |key: &str, value: &str| with(&[(key, value)]).expect_err(key).problems[0].help.clone().unwrap_or_default();
    assert_eq!(link("link.down.framing.cells", "atm"), "did you mean `cell_format`?");
    assert_eq!(link("link.down.shaper.interval", "4 ms"), "did you mean `refill_interval`?");
}

#[test]
fn one_mistake_in_common_settings_is_reported_once() {
    // Each of the 50 flows reads [stack], but the error must appear only once.
    let text = format!("{BASE}count = 50\n[stack]\nmin_rto = \"200\"\n");
    assert_eq!(messages(&text), ["`200` has no unit"]);
}

#[test]
fn long_lines_and_control_characters_are_shown_safely() {
    let text = format!("{BASE}name = \"{}\u{202e}\"\n", "x".repeat(5_000));
    let shown = parse(&text).expect_err("the name is unknown").to_string();
    assert!(shown.len() < 1_000 && !shown.contains('\u{202e}'), "{shown}");
    let text = format!("x = {}\"\t\u{7f}\"", " ".repeat(100_000));
    assert!(parse(&text).expect_err("this is not a scenario").to_string().lines().all(|line| line.len() < 300));
}

#[test]
fn hostile_files_are_rejected_quickly() {
    // Deep nesting must not overflow the stack.
    let brackets = "[".repeat(10_000_000);
    assert!(parse(&brackets).is_err());
    let nested = format!("x = {}", "[".repeat(100_000));
    assert!(parse(&nested).is_err());
    let inline = format!("x = {}", "{a=".repeat(100_000));
    assert!(parse(&inline).is_err());
    // The comparison of unknown keys with all known keys must be bounded.
    let many: String = (0..50_000).map(|number| format!("key{number} = 1\n")).collect();
    assert!(parse(&many).expect_err("unknown keys").problems.len() <= 200);
    assert!(parse("\u{0}\u{1}\u{2}").is_err());
    // The file contains only a byte-order mark.
    assert!(parse("\u{feff}").is_err());
}

#[test]
fn windows_line_endings_are_accepted() {
    assert_eq!(good(BASE), good(&BASE.replace('\n', "\r\n")));
    let errors = parse(&BASE.replace('\n', "\r\n").replace("rtt", "rrt")).expect_err("the text contains a typo");
    assert_eq!((errors.problems[0].line, errors.problems[0].excerpt.as_str()), (4, "rrt = \"20 ms\""));
}
