//! Failures in the environment of a running link: a full disk, an interface that disappears, a changed MTU, jumps of
//! the system clock.
//!
//! A test prints a note and passes if the machine does not permit namespaces or lacks a tool. A preloaded library
//! simulates jumps of the date, and records which processes read the date.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::thread;

const LIVE: &str = env!("CARGO_BIN_EXE_lopsided-live");
const LEFT_OUT: i32 = 77;

/// Runs a bash script, prefixed with the command `before`. Returns `None` if this machine cannot run it.
fn run(before: &[&str], script: &str) -> Option<Output> {
    let folder =
        std::env::temp_dir().join(format!("lopsided-faults-{}-{:?}", std::process::id(), thread::current().id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let words: Vec<&str> = before.iter().copied().chain(["bash", "-c", script]).collect();
    let done = Command::new(words[0])
        .args(&words[1..])
        .env("LIVE", LIVE)
        .env("FOLDER", &folder)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let _ = std::fs::remove_dir(&folder);
    let stderr = String::from_utf8_lossy(&done.stderr);
    if done.status.code() == Some(LEFT_OUT) || stderr.contains("unshare: ") || stderr.contains("error: cannot make") {
        println!("left out: {stderr}");
        return None;
    }
    Some(done)
}

fn shown(done: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr))
}

/// Sends this many bytes to the first client that connects. Returns the port.
fn server(count: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let octets: Vec<u8> = (0..count).map(|place| b'a' + (place % 25) as u8).collect();
        let _ = stream.write_all(&octets);
    });
    port
}

#[test]
fn a_full_disk_does_not_stop_the_line_and_is_reported_at_the_end() {
    let script = r#"
        mount -t tmpfs -o size=64k none $FOLDER || exit 77
        $LIVE emulate -q --no-meter --down 50M --up 50M --rtt 2ms --pcap $FOLDER/line.pcapng -- \
            bash -c "exec 3<>/dev/tcp/100.64.0.1/PORT; wc -c <&3; exit 4"
        echo "exit $?"
        cp $FOLDER/line.pcapng KEPT
    "#;
    let kept = std::env::temp_dir().join(format!("lopsided-kept-{}.pcapng", std::process::id()));
    let script =
        script.replace("PORT", &server(400_000).to_string()).replace("KEPT", kept.to_str().expect("a readable path"));
    let done = run(&["unshare", "--mount"], &script);
    let capture = std::fs::read(&kept);
    let _ = std::fs::remove_file(&kept);
    let Some(done) = done else { return };
    let output = shown(&done);
    // The command finished, but the exit code 1 of the failed capture replaces the command's own exit code.
    assert!(output.starts_with("400000\nexit 1\n"), "{output}");
    assert!(output.contains("cannot write") && output.contains("No space left"), "{output}");
    // The part of the capture that fit on the disk is readable and reported as truncated.
    let (capture, mut packets) = (capture.expect("the capture was copied"), 0);
    let read = lopsided_trace::read(&capture[..], |_, _| packets += 1);
    assert!(packets > 20, "{packets} packets in {} octets: {read:?}", capture.len());
}

#[test]
fn an_existing_capture_is_replaced_only_with_overwrite() {
    let script = r#"
        echo mine > $FOLDER/line.pcapng
        line="emulate -q --no-meter --down 50M --up 50M --rtt 2ms --pcap $FOLDER/line.pcapng"
        $LIVE $line -- true; echo "exit $?"; cat $FOLDER/line.pcapng
        $LIVE $line --overwrite -- true; head -c 4 $FOLDER/line.pcapng | od -An -tx1; rm $FOLDER/line.pcapng
    "#;
    let Some(done) = run(&[], script) else { return };
    let output = shown(&done);
    assert!(output.starts_with("exit 1\nmine\n 0a 0d 0d 0a\n"), "{output}");
    assert!(output.contains("line.pcapng: File exists"), "{output}");
}

#[test]
fn a_change_of_the_mtu_during_a_transfer_changes_no_octet() {
    let script = r#"
        exec 3<>/dev/tcp/100.64.0.1/PORT
        { for mtu in 1280 9000 600 1500; do sleep 0.05; ip link set line0 mtu $mtu; done; } >&2 &
        tr -d '\n' <&3 | wc -c
    "#;
    let script = script.replace("PORT", &server(1_500_000).to_string());
    let line = [LIVE, "emulate", "-q", "--no-meter", "--down", "40M", "--up", "4M", "--rtt", "2ms", "--"];
    let Some(done) = run(&line, &script) else { return };
    assert_eq!(String::from_utf8_lossy(&done.stdout), "1500000\n", "{}", shown(&done));
}

#[test]
fn a_removed_interface_ends_the_shaper_with_an_error() {
    let script = r#"
        rules() { { nft list ruleset; iptables -t mangle -S; iptables-legacy -t mangle -S; } 2>/dev/null | grep -c 'queue'; }
        ip link add gone0 type veth peer name gone1 && ip link set gone0 up || exit 77
        $LIVE shape gone0 --up 4M -q & shaper=$!
        for _ in $(seq 600); do
            [ "$(rules)" != 0 ] && break
            kill -0 $shaper 2>/dev/null || exit 77
            sleep 0.05
        done
        ip link del gone0
        wait $shaper
        echo "exit $?, rules $(rules)"
    "#;
    let line = [LIVE, "emulate", "-q", "--no-meter", "--down", "40M", "--up", "4M", "--rtt", "2ms", "--"];
    let Some(done) = run(&line, script) else { return };
    let output = shown(&done);
    assert!(output.contains("exit 1, rules 0"), "{output}");
    assert!(output.contains("the interface gone0 is gone"), "{output}");
}

#[test]
fn a_clock_with_another_origin_changes_nothing() {
    let script = r#"
        began=$(date +%s%N)
        $LIVE emulate -q --no-meter --down 8M --up 8M --rtt 2ms -- bash -c "exec 3<>/dev/tcp/100.64.0.1/PORT; wc -c <&3"
        echo "took $((($(date +%s%N) - began) / 1000000))"
    "#;
    let script = script.replace("PORT", &server(300_000).to_string());
    let elsewhere = ["unshare", "--time", "--fork", "--monotonic", "100000000", "--boottime", "100000000"];
    let Some(done) = run(&elsewhere, &script) else { return };
    let output = shown(&done);
    let took: u64 =
        output.lines().find_map(|line| line.strip_prefix("took ")).and_then(|ms| ms.parse().ok()).expect(&output);
    // 300 kB at 8 Mbit/s take 300 ms.
    assert!(output.starts_with("300000\n") && took >= 300, "{output}");
}

/// A preloaded library that makes the date jump by 1,000,000 s, and records the processes that read the date.
const JUMPING: &str = r#"
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <fcntl.h>
    #include <stdlib.h>
    #include <string.h>
    #include <time.h>
    #include <unistd.h>
    int clock_gettime(clockid_t clock, struct timespec *at) {
        static int (*next)(clockid_t, struct timespec *);
        static int asked;
        if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
        int done = next(clock, at);
        if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI) {
            at->tv_sec += asked++ % 2 ? -1000000 : 1000000;
            int file = open(getenv("ASKED"), O_WRONLY | O_CREAT | O_APPEND, 0644);
            char name[64] = {0};
            int own = open("/proc/self/comm", O_RDONLY);
            ssize_t len = read(own, name, sizeof name);
            if (len > 0 && write(file, name, len)) close(file);
            close(own);
        }
        return done;
    }
"#;

#[test]
fn the_date_is_never_read_and_its_jumps_change_nothing() {
    let script = r#"
        cd $FOLDER
        trap 'rm -f date.so asked' EXIT
        echo "$JUMPING" | cc -shared -fPIC -x c -o date.so - -ldl || exit 77
        export LD_PRELOAD=$FOLDER/date.so ASKED=$FOLDER/asked
        $LIVE emulate -q --no-meter --down 8M --up 8M --rtt 2ms -- bash -c "exec 3<>/dev/tcp/100.64.0.1/PORT; wc -c <&3; date +%s >/dev/null"
        echo "exit $?"
        unset LD_PRELOAD
        sort -u asked
    "#;
    let script = script.replace("PORT", &server(300_000).to_string());
    let Some(done) = run(&["env", &format!("JUMPING={JUMPING}")], &script) else { return };
    let output = shown(&done);
    // The name `date` in the record shows that the library works.
    assert!(output.starts_with("300000\nexit 0\n") && output.contains("\ndate\n"), "{output}");
    assert!(!output.contains("lopsided-live"), "{output}");
}
