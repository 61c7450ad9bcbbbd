//! Runs commands behind emulated links, and checks the services that they reach, their exit codes, and that no process
//! remains.
//!
//! These tests print a note and pass if the machine does not permit namespaces or has no TUN driver.
#![cfg(target_os = "linux")]

use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, getsockname, socket};
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
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

/// Returns true if links can be emulated on this machine.
fn can_be() -> bool {
    let tried = outcome(&["-q"], &["true"]);
    if !tried.status.success() {
        println!("left out: {}", String::from_utf8_lossy(&tried.stderr));
    }
    tried.status.success()
}

/// Returns a port of 127.0.0.1 that has no listener while the socket exists.
fn held_port() -> (OwnedFd, u16) {
    let holder = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
    bind(holder.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).expect("a port");
    let port = getsockname::<SockaddrIn>(holder.as_raw_fd()).expect("its address").port();
    (holder, port)
}

/// Returns a sleep duration that identifies the test's processes in /proc.
fn nap(number: u32) -> String {
    (1_000_000_000 + u64::from(std::process::id()) * 10 + u64::from(number)).to_string()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

#[test]
fn the_exit_code_is_that_of_the_command() {
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
fn a_connection_through_the_line_reaches_this_machine() {
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
        stream.read_exact(&mut asked).expect("a request");
        assert_eq!(&asked, b"hello\n");
        stream.write_all(&sent).expect("an answer");
    });
    let script = format!("exec 3<>/dev/tcp/$LOPSIDED_GATEWAY/{port}; echo hello >&3; cat <&3");
    let done = outcome(&[], &["bash", "-c", &script]);
    assert_eq!(done.stdout.len(), expected.len(), "{}", text(&done.stderr));
    assert!(done.stdout == expected, "octets were changed");
    server.join().expect("the server thread succeeds");
    // 600 kB plus headers take 250 ms at 20 Mbit/s, and the first byte arrives after 1.5 RTT.
    let shown = text(&done.stderr);
    let seconds: f64 = shown.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("the time in seconds");
    assert!(seconds > 0.24, "faster than the line: {shown}");
}

#[test]
fn a_connection_that_the_host_refuses_fails_at_once() {
    if !can_be() {
        return;
    }
    // The bound socket keeps the port free of listeners.
    let (_holder, port) = held_port();
    let done = outcome(&["-q"], &["bash", "-c", &format!("exec 3<>/dev/tcp/100.64.0.1/{port}")]);
    assert!(!done.status.success());
    assert!(text(&done.stderr).contains("refused"), "{}", text(&done.stderr));
}

#[test]
fn datagrams_and_their_answers_cross_the_line() {
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
    server.join().expect("the server thread succeeds");
}

#[test]
fn a_scenarios_quic_flow_runs_next_to_the_command() {
    if !can_be() {
        return;
    }
    let file = std::env::temp_dir().join(format!("lopsided-flows-{}.toml", std::process::id()));
    let flow = "[[flow]]\nname = \"rival\"\ndirection = \"down\"\ntransport = \"quic\"";
    let keys =
        "[scenario]\nduration = \"1 s\"\n[link]\nrtt = \"20 ms\"\ndown.rate = \"4 Mbit/s\"\nup.rate = \"1 Mbit/s\"";
    std::fs::write(&file, format!("{keys}\n{flow}\n")).expect("a file");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    let server = thread::spawn(move || {
        let mut octets = [0; 100];
        let (len, from) = socket.recv_from(&mut octets).expect("a datagram");
        socket.send_to(&octets[..len].to_ascii_uppercase(), from).expect("an answer");
    });
    let script = format!("sleep 3; exec 3<>/dev/udp/100.64.0.1/{port}; echo word >&3; head -n 1 <&3");
    let done = Command::new(env!("CARGO_BIN_EXE_lopsided-live"))
        .args(["emulate", "--no-meter", "--flows", "--scenario"])
        .arg(&file)
        .args(["--", "bash", "-c", &script])
        .stdin(Stdio::null())
        .output()
        .expect("the binary was built");
    std::fs::remove_file(&file).expect("the file exists");
    let shown = text(&done.stderr);
    assert_eq!(text(&done.stdout), "WORD\n", "{shown}");
    server.join().expect("the server thread succeeds");
    let row = shown.lines().find(|row| row.starts_with("rival")).unwrap_or_else(|| panic!("{shown}"));
    // The flow outlasts the scenario's duration of 1 s.
    let rate: f64 = row.split_whitespace().nth(2).and_then(|word| word.parse().ok()).expect("a rate");
    assert!(row.contains("Mbit/s") && (1.5..4.0).contains(&rate), "{shown}");
}

#[test]
fn many_datagram_flows_do_not_use_up_the_file_descriptors() {
    if !can_be() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.expect("a connection").write_all(b"hello\n");
        }
    });
    let command = format!(
        "for port in $(seq 20001 20150); do echo x > /dev/udp/100.64.0.1/$port; done; sleep 0.5\n\
         exec 3<>/dev/tcp/100.64.0.1/{port}; head -n 1 <&3"
    );
    let mut all = Command::new("bash");
    let line = [LINE.as_slice(), &["--", "timeout", "60", "bash", "-c", &command]].concat();
    all.args(["-c", "ulimit -n 64 && exec \"$@\"", "bash", env!("CARGO_BIN_EXE_lopsided-live")]).args(line);
    let done = all.stdin(Stdio::null()).output().expect("bash is installed");
    let stderr = text(&done.stderr);
    assert_eq!(text(&done.stdout), "hello\n", "{stderr}");
    assert!(stderr.contains("had no file descriptor"), "{stderr}");
}

#[test]
fn child_processes_end_with_the_command_and_signals_are_forwarded() {
    if !can_be() {
        return;
    }
    let (first, second) = (nap(1), nap(2));
    let done = outcome(&["-q"], &["sh", "-c", &format!("sleep {first} & exit 3")]);
    assert_eq!(done.status.code(), Some(3));
    assert!(gone(&first), "a child process of the command is still running");
    let script = format!("trap 'echo caught; exit 5' TERM; echo up; sleep {second} & wait");
    let mut running =
        emulate(&["-q"], &["sh", "-c", &script]).stdout(Stdio::piped()).spawn().expect("the binary was built");
    let mut output = running.stdout.take().expect("its output");
    let mut shown = [0; 3];
    output.read_exact(&mut shown).expect("the command has started");
    signal(&running, "TERM");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the remaining output");
    assert_eq!((rest.as_str(), running.wait().expect("the process ends").code()), ("caught\n", Some(5)));
    assert!(gone(&second));
}

#[test]
fn a_kill_at_any_time_leaves_no_process_and_no_device() {
    if !can_be() {
        return;
    }
    let (asleep, arguments) = (nap(3), nap(4));
    // Set `LOPSIDED_KILLS=100` to run the long version.
    let kills = std::env::var("LOPSIDED_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(5u64);
    for number in 0..kills {
        let script = format!("sleep {asleep} & sleep {asleep}");
        // The last argument identifies all processes of this run in /proc.
        let mut running = emulate(&["-q"], &["sh", "-c", &script, &arguments]).spawn().expect("the binary was built");
        thread::sleep(Duration::from_millis(number * 37 % 160));
        running.kill().expect("the process was started");
        running.wait().expect("the process ends");
        assert!(gone(&asleep) && gone(&arguments), "kill {number} left a process");
    }
    let devices = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names: Vec<String> = devices.map(|device| device.file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.starts_with("line")), "{names:?}");
}

#[test]
fn a_server_without_a_port_and_a_command_over_its_time_limit_end_without_leftovers() {
    if !can_be() {
        return;
    }
    let done = outcome(&["-q", "--server", "exit 3"], &["echo", "started"]);
    assert_eq!((done.status.code(), text(&done.stdout).as_str()), (Some(1), ""));
    assert!(text(&done.stderr).contains("exit code 3 before it opened a port"), "{}", text(&done.stderr));
    let (asleep, late) = (nap(5), nap(6));
    let done = outcome(&["-q", "--limit", "200ms"], &["sleep", &late]);
    assert_eq!(done.status.code(), Some(124), "{}", text(&done.stderr));
    assert!(gone(&late));
    for wait_ms in [0, 20, 200] {
        let server = format!("sleep {asleep} & sleep {asleep}");
        let mut running = emulate(&["-q", "--server", &server], &["true"]).spawn().expect("the binary was built");
        thread::sleep(Duration::from_millis(wait_ms));
        running.kill().expect("the process was started");
        running.wait().expect("the process ends");
        assert!(gone(&asleep), "a process survived the kill after {wait_ms} ms");
    }
}

#[test]
fn privileges_are_dropped_after_the_setup() {
    if !can_be() {
        return;
    }
    // The command runs until the test has read enough.
    let mut running = emulate(&["-q"], &["sh", "-c", "echo up; read enough"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut shown = [0; 3];
    running.stdout.take().expect("its output").read_exact(&mut shown).expect("the command has started");
    let statuses = || -> Vec<String> {
        let tasks =
            std::fs::read_dir(format!("/proc/{}/task", running.id())).expect("the process has threads").flatten();
        tasks.map(|task| std::fs::read_to_string(task.path().join("status")).unwrap_or_default()).collect()
    };
    // Wait for the gateway's thread: the command starts shortly before the last step of the setup, which starts this
    // thread.
    assert!(met(|| statuses().len() >= 2), "the gateway has a thread of its own");
    for status in statuses() {
        for (name, expected) in [("CapInh", "0"), ("CapPrm", "0"), ("CapEff", "0"), ("NoNewPrivs", "1")] {
            let held = status.lines().find_map(|line| line.strip_prefix(&format!("{name}:\t"))).expect("a line");
            assert_eq!(held.trim_start_matches('0'), expected.trim_start_matches('0'), "{name} in {status}");
        }
    }
    running.stdin.take().expect("its input").write_all(b"enough\n").expect("the command reads");
    assert!(running.wait().expect("the process ends").success());
}

#[test]
fn a_removed_device_ends_the_line_with_an_error() {
    if !can_be() {
        return;
    }
    let done = outcome(&["-q"], &["sh", "-c", "ip link del line0 || exit 77; sleep 5; echo still"]);
    // Removing the device needs root in the namespace and the tool iproute2.
    if done.status.code() == Some(77) {
        println!("left out: {}", text(&done.stderr));
        return;
    }
    assert_eq!((done.status.code(), text(&done.stdout).as_str()), (Some(1), ""));
    assert!(text(&done.stderr).contains("device failed"), "{}", text(&done.stderr));
}

fn signal(process: &Child, name: &str) {
    let done = Command::new("kill").args([format!("-{name}"), process.id().to_string()]).status();
    assert!(done.expect("the tool kill is installed").success());
}

/// Returns true if the condition becomes true within 30 s, which is enough even on a busy machine.
fn met(condition: impl Fn() -> bool) -> bool {
    (0..3000).any(|_| {
        condition() || {
            thread::sleep(Duration::from_millis(10));
            false
        }
    })
}

/// Returns true if, within 30 s, no process has this word in its command line.
fn gone(word: &str) -> bool {
    met(|| !running(word))
}

fn running(word: &str) -> bool {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let mut lines = entries.map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
    lines.any(|line| line.split(|octet| *octet == 0).any(|argument| argument == word.as_bytes()))
}

#[test]
fn invalid_arguments_are_reported() {
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
    for (arguments, expected_text) in cases {
        let done =
            Command::new(env!("CARGO_BIN_EXE_lopsided-live")).args(arguments).output().expect("the binary was built");
        let stderr = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected_text), "{arguments:?}: {stderr}");
    }
}
