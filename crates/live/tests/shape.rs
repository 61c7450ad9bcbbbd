//! A queue on a real interface's way out, within namespaces that `emulate` makes: it holds the rate, and nothing stands or falls with it.
//!
//! Where this machine allows no namespaces, or has no NFQUEUE or no tool that sets rules for it, this test says so and passes.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

const LIVE: &str = env!("CARGO_BIN_EXE_lopsided-live");

/// In a room of its own, where the device `line0` leads out at 200 Mbit/s.
const SCRIPT: &str = r#"
rules() { { nft list ruleset; iptables -t mangle -S; iptables-legacy -t mangle -S; } 2>/dev/null | grep -c 'queue'; }
upload() {
    begun=$(date +%s%N)
    exec 3<>/dev/tcp/100.64.0.1/$PORT
    head -c 300000 /dev/zero >&3
    head -n 1 <&3 >/dev/null
    exec 3>&-
    echo "$1 $((($(date +%s%N) - begun) / 1000000))"
}
shape() {
    $LIVE shape line0 --up 4M -q --queue fq_codel --ack-filter & shaper=$!
    for _ in $(seq 100); do
        [ "$(rules)" != 0 ] && return
        kill -0 $shaper 2>/dev/null || exit 77
        sleep 0.05
    done
    exit 78
}
shape
upload shaped
kill -9 $shaper
upload killed
echo "left $(rules)"
$LIVE shape line0 --undo
echo "undone $(rules)"
shape
kill -TERM $shaper
wait $shaper
echo "ended $?"
echo "removed $(rules)"
"#;

#[test]
fn it_holds_the_rate_and_fails_open() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    // Says so when it has got everything.
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
            "bash",
            "-c",
            SCRIPT,
        ])
        .env("PORT", port.to_string())
        .env("LIVE", LIVE)
        .stdin(Stdio::null())
        .output()
        .expect("the binary was built");
    let (shown, said) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    // Its own word, and those of a line that cannot be made here.
    if done.status.code() == Some(77) || said.contains("error: cannot") {
        println!("left out: {said}");
        return;
    }
    let number = |word: &str| -> u64 {
        let line =
            shown.lines().find_map(|line| line.strip_prefix(word)).unwrap_or_else(|| panic!("{word}: {shown}{said}"));
        line.trim().parse().expect("a number")
    };
    // 300 kB and headers at 4 Mbit/s take 618 ms, less what one burst of credit would save: a plain line has none.
    assert!(number("shaped") >= Duration::from_millis(600).as_millis() as u64, "{shown}");
    assert!(number("killed") < number("shaped") / 2, "{shown}");
    assert!(number("left") > 0, "{shown}");
    assert_eq!((number("undone"), number("ended"), number("removed")), (0, 0, 0), "{shown}{said}");
}

#[test]
fn what_is_asked_wrongly_is_told_and_what_would_be_done_is_shown() {
    let cases: [(&[&str], i32, &str); 7] = [
        (&["lo"], 2, "--up"),
        (&["--up", "3M"], 2, "which interface"),
        (&["lo", "--up", "fast"], 2, "fast"),
        (&["lo", "--up", "3M", "--queue", "fq-codel"], 2, "fq_codel"),
        (&["lo", "--up", "3M", "--queue", "asqm"], 2, "senses"),
        (&["nowhere0", "--up", "3M"], 1, "no interface"),
        (&["lo", "--up", "3M", "--dry-run", "--acks-first"], 0, "bypass"),
    ];
    for (arguments, code, told) in cases {
        let done = Command::new(LIVE).arg("shape").args(arguments).output().expect("the binary was built");
        let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(told), "{arguments:?}: {said}");
    }
    let unit = ["shape", "lo", "--up", "3M", "--queue", "100 packets", "--systemd"];
    let shown = Command::new(LIVE).args(unit).output().expect("the binary was built").stdout;
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("shape lo --up 3M --queue \"100 packets\"\n") && shown.contains("--undo"), "{shown}");
}
