//! A queue discipline on a real interface sends at the configured rate, and traffic continues after the process is
//! killed.
//!
//! These tests print a note and pass if the machine does not permit namespaces, or lacks NFQUEUE or a tool that sets
//! its rules.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

const LIVE: &str = env!("CARGO_BIN_EXE_lopsided-live");

/// Time limit of a script in seconds. On an idle machine the script takes 20 s.
const TIMEOUT_S: &str = "240";
/// Exit code of `timeout` if the script exceeded its limit. The test then passes without a result.
const TOO_LATE: i32 = 124;

/// A script that runs in a namespace whose device `line0` leads to the network at 200 Mbit/s.
const SCRIPT: &str = r#"
rules() { { nft list ruleset; iptables -t mangle -S; iptables-legacy -t mangle -S; } 2>/dev/null | grep -c 'queue'; }
none_left() { for _ in $(seq 600); do [ "$(rules)" = 0 ] && return; sleep 0.05; done; }
upload() {
    begun=$(date +%s%N)
    exec 3<>/dev/tcp/100.64.0.1/$PORT
    head -c 300000 /dev/zero >&3
    answer=$(head -n 1 <&3)
    exec 3>&-
    echo "$1 $((($(date +%s%N) - begun) / 1000000)) $answer"
}
shape() {
    $LIVE shape line0 --up 4M -q --queue fq_codel --ack-filter & shaper=$!
    for _ in $(seq 600); do
        [ "$(rules)" != 0 ] && return
        kill -0 $shaper 2>/dev/null || exit 77
        sleep 0.05
    done
    exit 78
}
shape
# A second `live shape` is refused, and the rules of the first remain.
$LIVE shape line0 --up 4M -q 2>&1 | grep -c 'already' | sed 's/^/second /'
echo "kept $(rules)"
upload shaped
grep CapEff /proc/$shaper/status
kill -9 $shaper
wait $shaper
upload killed
none_left
echo "left $(rules)"
# Kill the keeper as well, so that nothing removes the rules.
shape
kill -9 $(cat /proc/$shaper/task/$shaper/children) $shaper
wait $shaper
upload both
echo "still $(rules)"
$LIVE shape line0 --undo | grep -c removed | sed 's/^/first_undo /'
echo "undone $(rules)"
$LIVE shape line0 --undo | grep -c nothing | sed 's/^/undo_again /'
# Slow tools are still running when `shape` is killed. They must not add a rule after the keeper has removed the rules.
tools=$(mktemp -d)
for tool in nft iptables iptables-legacy; do
    real=$(command -v $tool) || continue
    printf '#!/bin/sh\ncase "$*" in *-A*|*-f*) sleep 0.2;; esac\nexec %s "$@"\n' $real > $tools/$tool
    chmod +x $tools/$tool
done
whole=$PATH
PATH=$tools:$PATH
for kill in $(seq $KILLS); do
    $LIVE shape line0 --up 4M -q & shaper=$!
    sleep 0.0$((kill * 37 % 90 + 10))
    kill -9 $shaper
done 2>/dev/null
PATH=$whole
rm -r $tools
# The last keeper may still be setting its rules: wait longer than a slow tool takes.
sleep 0.5
none_left
echo "after_kills $(rules)"
shape
kill -TERM $shaper
wait $shaper
echo "ended $?"
echo "removed $(rules)"
"#;

#[test]
fn the_shaper_enforces_the_rate_and_fails_open() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    // The server confirms an upload after it has read all of it.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut upload = vec![0; 300_000];
            if stream.read_exact(&mut upload).is_ok() {
                let _ = stream.write_all(b"got it\n");
            }
        }
    });
    let done = Command::new(LIVE)
        .args([
            "emulate",
            "-q",
            "--no-meter",
            "--down",
            "200M",
            "--up",
            "200M",
            "--rtt=2ms",
            "--",
            "timeout",
            TIMEOUT_S,
            "bash",
            "-c",
            SCRIPT,
        ])
        .env("PORT", port.to_string())
        .env("LIVE", LIVE)
        // Set `LOPSIDED_KILLS=100` to run the long version.
        .env("KILLS", std::env::var("LOPSIDED_KILLS").unwrap_or("3".to_owned()))
        .stdin(Stdio::null())
        .output()
        .expect("the binary was built");
    let (shown, stderr) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    // The script exits with 77 if a tool is missing. The message shows that this machine cannot emulate links.
    if matches!(done.status.code(), Some(77 | TOO_LATE)) || stderr.contains("error: cannot") {
        println!("left out: {stderr}");
        return;
    }
    let number = |word: &str| -> u64 {
        let line =
            shown.lines().find_map(|line| line.strip_prefix(word)).unwrap_or_else(|| panic!("{word}: {shown}{stderr}"));
        line.split_whitespace().next().and_then(|first| first.parse().ok()).expect("a number")
    };
    // 300 kB plus headers take 618 ms at 4 Mbit/s. A plain link has no burst credit that could shorten this time. The
    // upper limit depends on the machine, so only the lower limit is checked.
    assert!(number("shaped") >= Duration::from_millis(600).as_millis() as u64, "{shown}");
    assert_eq!(shown.matches(" got it\n").count(), 3, "{shown}");
    for when in ["shaped", "killed", "both"] {
        number(when);
    }
    // 0x1000 is CAP_NET_ADMIN and no other capability.
    assert_eq!(number("CapEff:"), 1000, "{shown}");
    assert!(number("still") > 0, "{shown}");
    for once in ["second", "first_undo", "undo_again"] {
        assert_eq!(number(once), 1, "{once}: {shown}{stderr}");
    }
    assert!(number("kept") > 0, "{shown}{stderr}");
    for nothing in ["left", "undone", "after_kills", "ended", "removed"] {
        assert_eq!(number(nothing), 0, "{nothing}: {shown}{stderr}");
    }
}

#[test]
fn invalid_arguments_are_reported_and_a_dry_run_prints_the_rules() {
    let cases: [(&[&str], i32, &str); 9] = [
        (&["lo"], 2, "--up"),
        (&["--up", "3M"], 2, "the interface is missing"),
        (&["lo", "--up", "fast"], 2, "fast"),
        (&["lo", "--up", "3M", "--queue", "fq-codel"], 2, "fq_codel"),
        (&["lo", "--up", "3M", "--queue", "{ kind = \"asqm\" }"], 2, "reflector"),
        (&["lo", "--up", "3M", "--queue", "bdp", "--ack-filter", "--dry-run"], 0, "prerouting"),
        (&["nowhere0", "--up", "3M"], 1, "no interface"),
        (&["eth0\nExecStartPre=/bin/id", "--up", "3M", "--systemd"], 2, "cannot be the name"),
        (&["lo", "--up", "3M", "--dry-run", "--acks-first"], 0, "bypass"),
    ];
    for (arguments, code, expected_text) in cases {
        let done = Command::new(LIVE).arg("shape").args(arguments).output().expect("the binary was built");
        let output = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {output}");
        assert!(output.contains(expected_text), "{arguments:?}: {output}");
    }
    let bridge = Command::new(LIVE).args(["shape", "br-lan", "--up", "3M", "--systemd"]).output();
    let bridge = String::from_utf8_lossy(&bridge.expect("the binary was built").stdout).into_owned();
    assert!(bridge.contains("BindsTo=sys-subsystem-net-devices-br\\x2dlan.device\n"), "{bridge}");
    assert!(bridge.contains(&format!("ExecStart={LIVE} shape br-lan --up 3M\n")), "{bridge}");
    let unit = ["shape", "lo", "--up", "3M", "--queue", "100 packets", "--systemd"];
    let shown = Command::new(LIVE).args(unit).output().expect("the binary was built").stdout;
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("shape lo --up 3M --queue \"100 packets\"\n") && shown.contains("--undo"), "{shown}");
}

/// A client, a router that runs `shape`, a slow link, and a host that runs `reflect` and a server.
const SENSED: &str = r#"
set -e
# A process that is left would keep the output open, so the test would wait for ever.
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
mount -t tmpfs none /run
for room in client router far; do ip netns add $room; ip -n $room link set lo up; done
ip link add c0 netns client type veth peer name c1 netns router
ip link add r0 netns router type veth peer name r1 netns far
at() { ip -n $1 addr add $3 dev $2; ip -n $1 link set $2 up; }
at client c0 10.1.0.2/24; at router c1 10.1.0.1/24; at router r0 10.2.0.1/24; at far r1 10.2.0.2/24
ip -n client route add default via 10.1.0.1
ip -n far route add default via 10.2.0.1
on() { room=$1; shift; exec ip netns exec $room "$@"; }
(on router sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward')
# The queue builds up behind the interface, where a queue discipline on the interface cannot see it.
ip netns exec router tc qdisc add dev r0 root tbf rate 8mbit burst 5k latency 2s || exit 77
(on far env LOPSIDED_SERVE=10.2.0.2:5001 $THIS --exact serve_uploads_for_the_script) >&2 & server=$!
upload() {
    (on client bash -c 'for _ in $(seq 600); do
        { exec 3<>/dev/tcp/10.2.0.2/5001; } 2>/dev/null && break; sleep 0.05; done
        head -c 1500000 /dev/zero >&3; head -n 1 <&3')
}
# Waits until the process has set its rules in the network namespace.
ready() {
    for _ in $(seq 600); do
        (on $1 sh -c '{ nft list ruleset; iptables -t mangle -S; iptables-legacy -t mangle -S; } 2>/dev/null' | grep -q queue) && return
        kill -0 $2 || exit 77
        sleep 0.05
    done
    exit 78
}
sensed() {
    (on router $LIVE shape r0 --up 100M --queue "$2") 2>$OUT/$1 & shaper=$!
    ready router $shaper
    upload >&2
    kill $shaper
    wait $shaper || true
    echo "$1 $(grep -o '[0-9]* sensing.*' $OUT/$1)"
    echo "$1_dropped $(grep ' up ' $OUT/$1 | awk '{ print $(NF-1) }')"
}
ASQM='{ kind = "asqm", far_end = "stage", target = "30 ms", interval = "20 ms", ecn = false }'
sensed unheard "$ASQM"
(on far $LIVE reflect --sender 10.0.0.0/8) 2>$OUT/reflector & reflector=$!
ready far $reflector
sensed heard "$ASQM"
sensed flows bdp
kill $reflector; wait $reflector || true
echo "reflector $(cat $OUT/reflector)"
(on far $LIVE reflect --sender 192.0.2.1) 2>$OUT/reflector & reflector=$!
ready far $reflector
sensed refused "$ASQM"
kill $reflector; wait $reflector || true
echo "others $(cat $OUT/reflector)"
# The MTU may change, and the interface may disappear.
(on router $LIVE shape r0 --up 100M) 2>$OUT/vanished & shaper=$!
ready router $shaper
ip -n router link set r0 mtu 1300
upload >&2
ip -n router link del r0
gone=0
wait $shaper || gone=$?
echo "gone $gone"
kill $server
"#;

/// The upload server of the script above. Does nothing unless the script sets the variable `LOPSIDED_SERVE`.
#[test]
fn serve_uploads_for_the_script() {
    let Ok(address) = std::env::var("LOPSIDED_SERVE") else { return };
    for stream in TcpListener::bind(address).expect("a port").incoming().flatten() {
        let (mut stream, mut upload) = (stream, vec![0; 1_500_000]);
        if stream.read_exact(&mut upload).is_ok() {
            let _ = stream.write_all(b"got it\n");
        }
    }
}

#[test]
fn returned_sensing_packets_keep_the_queue_short() {
    let out = std::env::temp_dir().join(format!("lopsided-sensed-{}", std::process::id()));
    std::fs::create_dir(&out).expect("a folder");
    let this = std::env::current_exe().expect("the path of the test binary");
    let ways: [&[&str]; 2] = [&["--user", "--map-root-user", "--net", "--mount"], &["--net", "--mount"]];
    let room = |with: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(with).env("LIVE", LIVE).env("THIS", &this).env("OUT", &out).stdin(Stdio::null());
        command
    };
    let possible = |with: &&&[&str]| room(with).arg("true").status().is_ok_and(|status| status.success());
    let Some(with) = ways.iter().find(possible) else { return println!("left out: no namespaces") };
    let done =
        room(with).args(["timeout", TIMEOUT_S, "bash", "-c", SENSED]).output().expect("the command can be started");
    let (shown, stderr) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let kept = std::fs::read_dir(&out).into_iter().flatten().flatten();
    let logs: String = kept.map(|file| std::fs::read_to_string(file.path()).unwrap_or_default()).collect();
    std::fs::remove_dir_all(&out).expect("the folder of this test");
    if matches!(done.status.code(), Some(77 | TOO_LATE)) {
        return println!("left out: {stderr}{logs}");
    }
    let numbers = |word: &str| -> Vec<u64> {
        let line = shown.lines().find_map(|line| line.strip_prefix(&format!("{word} ")));
        let line = line.unwrap_or_else(|| panic!("{word}: {shown}{stderr}{logs}"));
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    // About 25 % of the data packets, of 1,500 bytes each, trigger a probe (sensing packet). Some probes are still in
    // flight when the upload ends.
    for (case, home) in [("unheard", false), ("heard", true), ("flows", true), ("refused", false)] {
        let sensed = numbers(case);
        assert!(sensed[0] >= 100, "{case}: {shown}{logs}");
        assert_eq!(sensed[1] > 0, home, "{case}: {shown}{logs}");
        assert!(sensed[1] <= sensed[0], "{case}: {shown}{logs}");
    }
    assert_eq!(numbers("unheard_dropped"), [0], "{shown}{logs}");
    assert!(numbers("heard_dropped")[0] > 0 && numbers("flows_dropped")[0] > 0, "{shown}{logs}");
    assert_eq!(numbers("refused_dropped"), [0], "{shown}{logs}");
    assert_eq!(numbers("gone"), [1], "{shown}{logs}");
    assert!(logs.contains("the interface r0 is gone"), "{logs}");
    let (returned, others) = (numbers("reflector"), numbers("others"));
    assert!(returned[0] >= numbers("heard")[1] + numbers("flows")[1], "{shown}{logs}");
    // The kernel may reject some packets if a busy machine delays many packets and then sends them in one burst.
    assert!(returned[2] < returned[0] / 10, "{shown}{logs}");
    assert!(others[0] == 0 && others[2] >= 100, "{shown}{logs}");
}
