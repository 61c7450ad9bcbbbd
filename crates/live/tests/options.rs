//! Each option in a help text changes what its command does, or is refused. A new option fails the test until it has a
//! row here.
#![cfg(target_os = "linux")]

use lopsided_live::command::emulate_arguments;
use lopsided_live::emulate::line;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::{Command, Stdio};

/// A scenario that differs from the line of the other options.
const SCENARIO: &str = r#"
[scenario]
duration = "1 s"

[link]
rtt = "20 ms"
down.rate = "10 Mbit/s"
down.jitter = "3 ms"
up.rate = "1 Mbit/s"

[[flow]]
name = "upload"
direction = "up"
"#;

/// The observable difference that an option makes.
enum Effect {
    /// Another emulated line, or another pair of hosts.
    Line,
    /// Another text on standard output, exit code, set of files, or (only whether there is any) text on standard error.
    /// The command of `emulate` is the last element.
    Seen(&'static str),
    /// Another test shows the effect.
    Test(&'static str),
}
use Effect::{Line, Seen, Test};

const EMULATE: [(&str, &[&str], Effect); 22] = [
    ("--scenario", &["--scenario=line.toml"], Line),
    ("--preset", &["--preset=geo-100-5"], Line),
    ("--down", &["--down=5M"], Line),
    ("--up", &["--up=5M"], Line),
    ("--rtt", &["--rtt=5ms"], Line),
    ("--queue-down", &["--queue-down=fq_codel"], Line),
    ("--queue-up", &["--queue-up=7 packets"], Line),
    ("--loss-down", &["--loss-down=1 %"], Line),
    ("--loss-up", &["--loss-up=1 %"], Line),
    ("--trace-down", &["--trace-down=line.trace"], Line),
    ("--trace-up", &["--trace-up=line.trace"], Line),
    ("--set", &["--set=link.down.jitter='5 ms'"], Line),
    ("--inside", &["--inside=server", "--outside=client"], Line),
    ("--outside", &["--inside=server", "--outside=client"], Line),
    ("--server", &["--server=exit 0"], Seen("true")),
    ("--flows", &["--flows"], Test("emulate.rs: a_scenarios_quic_flow_runs_next_to_the_command")),
    ("--limit", &["--limit=100ms"], Seen("sleep 1")),
    ("--mtu", &["--mtu=1300"], Seen("cat /proc/sys/net/ipv6/conf/*/mtu")),
    ("--seed", &["--seed=2"], Test("digest.rs")),
    ("--pcap", &["--pcap=line.pcapng"], Seen("true")),
    ("--overwrite", &["--overwrite"], Seen("true")),
    ("--quiet", &["--quiet"], Seen("true")),
];

const SHAPE: [(&str, &[&str], Effect); 10] = [
    ("--up", &["--up=7M"], Seen("")),
    ("--queue", &["--queue=codel"], Seen("")),
    ("--ack-filter", &["--ack-filter"], Seen("")),
    ("--acks-first", &["--acks-first"], Seen("")),
    ("--framing", &["--framing=ethernet"], Seen("")),
    ("--seed", &["--seed=x"], Seen("")),
    ("--dry-run", &["--dry-run"], Test("the other rows, which print the rules and need no root")),
    ("--systemd", &["--systemd"], Test("tests/python/test_emulate.py: test_a_unit_starts_the_program_that_wrote_it")),
    ("--undo", &["--undo"], Test("shape.rs")),
    ("--quiet", &["--quiet"], Test("shape.rs")),
];

const REFLECT: [(&str, &[&str], Effect); 7] = [
    ("--interface", &["--interface=lo"], Seen("")),
    ("--sender", &["--sender=192.0.2.0/24"], Seen("")),
    ("--most", &["--most=7"], Seen("")),
    ("--dry-run", &["--dry-run"], Test("the other rows, which print the rules and need no root")),
    ("--systemd", &["--systemd"], Test("tests/python/test_emulate.py: test_a_unit_starts_the_program_that_wrote_it")),
    ("--undo", &["--undo"], Test("shape.rs")),
    ("--quiet", &["--quiet"], Test("shape.rs")),
];

fn live(arguments: &[&str], folder: &std::path::Path) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lopsided-live"));
    let done = command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().expect("the binary was built");
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

/// A new folder with a scenario and a trace.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("lopsided-options-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("line.toml"), SCENARIO).expect("a scenario");
    std::fs::write(folder.join("line.trace"), "1\n2\n3\n").expect("a trace");
    folder
}

/// The options that the help text of a command lists at the beginnings of lines.
fn listed(command: &str) -> BTreeSet<String> {
    let (_, help, _) = live(&["help", command], &std::env::temp_dir());
    let lines = help.lines().filter(|line| line.starts_with("  --"));
    let heads = lines.map(|line| line.trim_start().split("  ").next().unwrap_or_default().to_owned());
    let words = heads.flat_map(|head| head.split([' ', ',']).map(str::to_owned).collect::<Vec<_>>());
    words.filter(|word| word.starts_with("--")).collect()
}

fn check_names(command: &str, rows: &[(&str, &[&str], Effect)], other: &[&str]) {
    let tested = rows.iter().map(|(name, ..)| (*name).to_owned()).chain(other.iter().map(|name| (*name).to_owned()));
    assert_eq!(listed(command), tested.collect(), "{command}: each option has a row");
}

#[test]
fn each_option_of_emulate_has_an_effect() {
    // `--no-meter` changes the last row of a terminal, and this test has no terminal.
    check_names("emulate", &EMULATE, &["--no-meter"]);
    let folder = folder("emulate");
    let base = ["--down=20M", "--up=2M", "--rtt=20ms"];
    let can_be = {
        let (code, ..) = live(&[&["emulate"], &base[..], &["--", "true"]].concat(), &folder);
        code == Some(0)
    };
    for (name, given, effect) in &EMULATE {
        // A trace sets the rate, so it excludes the option for the rate.
        let way = name.strip_prefix("--trace");
        let here = base.iter().filter(|each| way.is_none_or(|way| !each.starts_with(&format!("-{way}="))));
        let without: Vec<&str> = here.copied().collect();
        let given: Vec<String> =
            given.iter().map(|each| each.replace("=line.", &format!("={}/line.", folder.display()))).collect();
        let with: Vec<&str> = without.iter().copied().chain(given.iter().map(String::as_str)).collect();
        match effect {
            Line => {
                let described = |arguments: &[&str]| {
                    let read = emulate_arguments(arguments.iter().map(OsString::from)).expect("valid arguments");
                    line(&read.line).map(|(scenario, ends)| format!("{:?} {ends:?}", scenario.graph))
                };
                // The base line fails without a rate in one direction.
                let (before, after) = (described(&without).ok(), described(&with).expect("a valid line"));
                assert_ne!(before.as_ref(), Some(&after), "{name} has no effect");
            }
            Seen(command) if can_be => {
                let seen = |options: &[&str]| {
                    let end = ["--", "sh", "-c", command];
                    let (code, stdout, stderr) = live(&[&["emulate"], options, &end[..]].concat(), &folder);
                    let files = std::fs::read_dir(&folder).expect("the folder").count();
                    (code, stdout, stderr.is_empty(), files)
                };
                let before = seen(&without);
                assert_ne!(before, seen(&with), "{name} has no effect");
            }
            Seen(_) => println!("{name}: left out, because this machine cannot emulate lines"),
            Test(place) => println!("{name}: tested in {place}"),
        }
    }
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn each_option_of_shape_and_reflect_has_an_effect() {
    check_names("shape", &SHAPE, &[]);
    check_names("reflect", &REFLECT, &[]);
    let folder = folder("shape");
    let bases: [(&[&str], &[_]); 2] =
        [(&["shape", "lo", "--up=9M", "--dry-run"], &SHAPE), (&["reflect", "--dry-run"], &REFLECT)];
    for (base, rows) in bases {
        let before = live(base, &folder);
        assert_eq!(before.0, Some(0), "{before:?}");
        for (name, given, effect) in rows {
            if matches!(effect, Seen(_)) {
                assert_ne!(before, live(&[base, given].concat(), &folder), "{name} has no effect");
            }
        }
    }
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let cases: [(&[&str], &str); 6] = [
        (&["shape", "lo", "--up=9M", "--dry-run", "--systemd"], "--dry-run and --systemd exclude each other"),
        (&["shape", "lo", "--undo", "--dry-run"], "--dry-run and --undo exclude each other"),
        (&["reflect", "--systemd", "--undo"], "--systemd and --undo exclude each other"),
        (&["emulate", "--preset=geo-100-5", "--overwrite"], "add --pcap"),
        (&["emulate", "--preset=geo-100-5", "--flows"], "add --scenario"),
        (
            &["emulate", "--preset=geo-100-5", "--up=1M", "--trace-up=line.trace"],
            "--up and --trace-up both set the rate",
        ),
    ];
    for (arguments, said) in cases {
        let (code, _, stderr) = live(arguments, &std::env::temp_dir());
        assert!(code == Some(2) && stderr.contains(said), "{arguments:?}: {code:?} {stderr}");
    }
}
