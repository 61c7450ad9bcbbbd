//! Commands behind emulated lines, as a user runs them: what they reach, how they end, and that nothing of them stays.
//!
//! Where this machine allows no namespaces or has no TUN driver, these tests say so and pass.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

const LINE: [&str; 7] = ["emulate", "--no-meter", "--down", "20M", "--up", "2M", "--rtt=20ms"];

fn emulate(options: &[&str], command: &[&str]) -> Command {
    let mut all = Command::new(env!("CARGO_BIN_EXE_lopsided-live"));
    all.args(LINE).args(options).arg("--").args(command).stdin(Stdio::null());
    all
}

fn outcome(options: &[&str], command: &[&str]) -> Output {
    emulate(options, command).output().expect("the binary was built")
}

/// Whether lines can be emulated here at all.
fn can_be() -> bool {
    let tried = outcome(&["-q"], &["true"]);
    if !tried.status.success() {
        println!("left out: {}", String::from_utf8_lossy(&tried.stderr));
    }
    tried.status.success()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

#[test]
fn the_exit_code_is_the_commands() {
    if !can_be() {
        return;
    }
    let cases: [(&[&str], i32); 5] = [
        (&["true"], 0),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "kill -9 $$"], 128 + 9),
        (&["/nowhere/to/be/found"], 127),
        (&["/etc/passwd"], 126),
    ];
    for (command, code) in cases {
        assert_eq!(outcome(&["-q"], command).status.code(), Some(code), "{command:?}");
    }
    let shown = text(&outcome(&[], &["true"]).stderr);
    assert!(shown.contains("wait mean") && shown.contains("down"), "{shown}");
}

#[test]
fn a_connection_crosses_the_line_and_reaches_this_machine() {
    if !can_be() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let sent: Vec<u8> = (0..600_000u32).map(|place| (place * 7 + place / 253) as u8).collect();
    let expected = sent.clone();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut asked = [0; 6];
        stream.read_exact(&mut asked).expect("a question");
        assert_eq!(&asked, b"hello\n");
        stream.write_all(&sent).expect("an answer");
    });
    let script = format!("exec 3<>/dev/tcp/$LOPSIDED_GATEWAY/{port}; echo hello >&3; cat <&3");
    let done = outcome(&[], &["bash", "-c", &script]);
    assert_eq!(done.stdout.len(), expected.len(), "{}", text(&done.stderr));
    assert!(done.stdout == expected, "octets came changed");
    server.join().expect("the server's part");
    // 600 kB with headers at 20 Mbit/s, one and a half round trips before the first octet.
    let shown = text(&done.stderr);
    let seconds: f64 = shown.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("the time in seconds");
    assert!(seconds > 0.24, "faster than the line: {shown}");
}

#[test]
fn what_the_world_refuses_is_refused_at_once() {
    if !can_be() {
        return;
    }
    // A port that was just free, and is most likely free still.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let done = outcome(&["-q"], &["bash", "-c", &format!("exec 3<>/dev/tcp/100.64.0.1/{port}")]);
    assert!(!done.status.success());
    assert!(text(&done.stderr).contains("refused"), "{}", text(&done.stderr));
}

#[test]
fn datagrams_go_out_and_answers_come_back() {
    if !can_be() {
        return;
    }
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    let server = thread::spawn(move || {
        let mut octets = [0; 100];
        for _ in 0..2 {
            let (len, from) = socket.recv_from(&mut octets).expect("a datagram");
            socket.send_to(&octets[..len].to_ascii_uppercase(), from).expect("an answer");
        }
    });
    let script =
        format!("exec 3<>/dev/udp/100.64.0.1/{port}; for word in one two; do echo $word >&3; head -n 1 <&3; done");
    let done = outcome(&["-q"], &["bash", "-c", &script]);
    assert_eq!(text(&done.stdout), "ONE\nTWO\n", "{}", text(&done.stderr));
    server.join().expect("the server's part");
}

#[test]
fn what_the_command_starts_ends_with_it_and_signals_reach_it() {
    if !can_be() {
        return;
    }
    let done = outcome(&["-q"], &["sh", "-c", "sleep 986431 & exit 3"]);
    assert_eq!(done.status.code(), Some(3));
    assert!(gone("986431"), "what the command started goes on");
    let mut running = emulate(&["-q"], &["sh", "-c", "trap 'echo caught; exit 5' TERM; echo up; sleep 986432 & wait"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut output = running.stdout.take().expect("its output");
    let mut shown = [0; 3];
    output.read_exact(&mut shown).expect("it comes up");
    signal(&running, "TERM");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the rest");
    assert_eq!((rest.as_str(), running.wait().expect("its end").code()), ("caught\n", Some(5)));
    assert!(gone("986432"));
}

#[test]
fn killed_at_any_time_it_leaves_nothing() {
    if !can_be() {
        return;
    }
    let devices = || std::fs::read_dir("/sys/class/net").map_or(0, Iterator::count);
    let before = devices();
    // `LOPSIDED_KILLS=100` for the long form.
    let kills = std::env::var("LOPSIDED_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(5u64);
    for number in 0..kills {
        let mut running =
            emulate(&["-q"], &["sh", "-c", "sleep 986433 & sleep 986433"]).spawn().expect("the binary was built");
        thread::sleep(Duration::from_millis(number * 37 % 160));
        running.kill().expect("it ran");
        running.wait().expect("its end");
        assert!(gone("986433") && gone("--rtt=20ms"), "kill {number} left a process");
    }
    assert_eq!(devices(), before);
}

#[test]
fn privileges_are_dropped_once_it_is_set_up() {
    if !can_be() {
        return;
    }
    let mut running = emulate(&["-q"], &["sh", "-c", "echo up; sleep 0.3"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut shown = [0; 3];
    running.stdout.take().expect("its output").read_exact(&mut shown).expect("it comes up");
    thread::sleep(Duration::from_millis(50));
    let tasks = std::fs::read_dir(format!("/proc/{}/task", running.id())).expect("its threads").flatten();
    let statuses: Vec<String> =
        tasks.map(|task| std::fs::read_to_string(task.path().join("status")).unwrap_or_default()).collect();
    for status in &statuses {
        for name in ["CapEff", "CapPrm"] {
            let held = status.lines().find_map(|line| line.strip_prefix(name)).expect("what it may do");
            assert!(held.trim_matches([':', '\t', '0']).is_empty(), "{name} {held}");
        }
    }
    assert!(statuses.len() >= 2, "the gateway has a thread of its own");
    assert!(running.wait().expect("its end").success());
}

#[test]
fn a_device_that_vanishes_ends_the_line_with_an_error() {
    if !can_be() {
        return;
    }
    let done = outcome(&["-q"], &["sh", "-c", "ip link del line0 || exit 77; sleep 5; echo still"]);
    // Only root inside may take it away, and only with iproute2.
    if done.status.code() == Some(77) {
        println!("left out: {}", text(&done.stderr));
        return;
    }
    assert_eq!((done.status.code(), text(&done.stdout).as_str()), (Some(1), ""));
    assert!(text(&done.stderr).contains("device failed"), "{}", text(&done.stderr));
}

fn signal(process: &Child, name: &str) {
    let done = Command::new("kill").args([format!("-{name}"), process.id().to_string()]).status();
    assert!(done.expect("kill is there").success());
}

/// Whether, after a moment, no child of this test has this word in its command line.
fn gone(word: &str) -> bool {
    (0..200).any(|_| {
        thread::sleep(Duration::from_millis(10));
        !running(word)
    })
}

fn running(word: &str) -> bool {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter(|entry| entry.file_name() != own.to_string().as_str()).any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let marked = if word.starts_with("--") { "986433" } else { word };
        line.split(|octet| *octet == 0).any(|argument| argument == word.as_bytes())
            && String::from_utf8_lossy(&line).contains(marked)
    })
}

#[test]
fn what_is_asked_wrongly_is_told() {
    let cases: [(&[&str], &str); 9] = [
        (&["emulate"], "--down, --up and --rtt"),
        (&["emulate", "--down", "fast", "--up", "1M", "--rtt", "1ms"], "fast"),
        (
            &["emulate", "--down", "1M", "--up", "1M", "--rtt", "1ms", "--queue-up", "fqcodel"],
            "did you mean `fq_codel`",
        ),
        (&["emulate", "--preset", "dsl"], "adsl2plus-16-1"),
        (&["emulate", "--preset", "geo-100-5", "--mtu", "500"], "1280"),
        (&["emulate", "--preset", "geo-100-5", "--inside", "me"], "client"),
        (&["emulate", "--preset", "geo-100-5", "--inside", "server"], "two hosts"),
        (&["emulate", "--scenario", "nowhere.toml", "true"], "cannot read nowhere.toml"),
        (&["emulate", "--scenario", "Cargo.toml", "--frobnicate"], "--frobnicate"),
    ];
    for (arguments, told) in cases {
        let done =
            Command::new(env!("CARGO_BIN_EXE_lopsided-live")).args(arguments).output().expect("the binary was built");
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(told), "{arguments:?}: {said}");
    }
}
