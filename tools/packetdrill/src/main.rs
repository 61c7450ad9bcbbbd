//! Runs packetdrill scripts against `lopsided_tcp::Connection` in virtual time.
//!
//! ```text
//! lopsided-packetdrill [--hz N] [--profile NAME] [-v] SCRIPT...
//! ```
//!
//! Prints a JSON object for each script. `report` runs a whole suite and writes the page of results.

mod runner;
mod script;

use serde_json::{Value, json};
use std::process::ExitCode;
use std::{env, fs};

const USAGE: &str = "usage: lopsided-packetdrill [--hz N] [--profile NAME] [-v] SCRIPT...";

fn main() -> ExitCode {
    match arguments() {
        Ok((setup, paths)) => {
            paths.iter().for_each(|path| println!("{}", result(path, &setup)));
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<(runner::Setup, Vec<String>), String> {
    let mut setup = runner::Setup { hz: 250, verbose: false, profile: "linux-6.1".to_owned() };
    let mut paths = Vec::new();
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--hz" => {
                setup.hz = args
                    .next()
                    .and_then(|value| value.parse().ok())
                    .filter(|hz| *hz > 0)
                    .ok_or("--hz needs a frequency")?
            }
            "--profile" => setup.profile = args.next().ok_or("--profile needs a name")?,
            "-v" => setup.verbose = true,
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            _ => paths.push(arg),
        }
    }
    if lopsided_tcp::Profile::named(&setup.profile).is_none() {
        return Err(format!("unknown profile {}", setup.profile));
    }
    if paths.is_empty() { Err("no script is named".to_owned()) } else { Ok((setup, paths)) }
}

/// Runs one script. `result` is `pass`, `fail`, or `unreadable`.
fn result(path: &str, setup: &runner::Setup) -> Value {
    let unreadable = |why: String| json!({ "script": path, "result": "unreadable", "got": why });
    let text = match fs::read(path) {
        Ok(octets) => String::from_utf8_lossy(&octets).into_owned(),
        Err(error) => return unreadable(error.to_string()),
    };
    let script = match script::parse(&text) {
        Ok(script) => script,
        Err(why) => return unreadable(why),
    };
    if script.events.is_empty() {
        return unreadable("the script has no events".to_owned());
    }
    let out = match runner::run(&script, setup.clone()) {
        Ok(out) => out,
        Err(why) => return unreadable(why),
    };
    eprint!("{}", out.log);
    let found = out.divergence.as_ref();
    let code: Vec<Value> = out
        .code
        .iter()
        .map(|(event, line, code, fields)| json!({ "event": event, "line": line, "code": code, "fields": fields }))
        .collect();
    json!({
        "script": path,
        "result": if found.is_none() { "pass" } else { "fail" },
        "event": found.map(|found| found.event),
        "line": found.map(|found| found.line),
        "expected": found.map(|found| &found.expected),
        "got": found.map(|found| &found.got),
        "packets": out.packets_checked,
        "merged": out.merged,
        "psh": out.psh_on_bare_fin + out.psh_on_merged + out.psh_elsewhere,
        "unmapped": out.unmapped,
        "code": code,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The project's own scripts pass. Each script tests one rule of Linux.
    #[test]
    fn the_projects_own_scripts_pass() {
        let setup = runner::Setup { hz: 250, verbose: false, profile: "linux-6.1".to_owned() };
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts");
        let mut count = 0;
        for entry in fs::read_dir(folder).expect("the folder exists") {
            let path = entry.expect("it can be read").path();
            let found = result(&path.to_string_lossy(), &setup);
            assert_eq!(found["result"], "pass", "{found}");
            count += 1;
        }
        assert!(count > 0);
    }

    #[test]
    fn a_wrong_packet_is_detected_and_a_damaged_script_is_rejected() {
        let setup = runner::Setup { hz: 250, verbose: false, profile: "linux-6.1".to_owned() };
        let folder = env::temp_dir().join(format!("lopsided-packetdrill-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let run = |text: &str| {
            let path = folder.join("script.pkt");
            fs::write(&path, text).expect("it is written");
            result(&path.to_string_lossy(), &setup)
        };
        let listen = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n";
        let found = run(&format!("{listen}+0 < S 0:0(0) win 1000 <mss 1000>\n+0 > S. 0:0(0) ack 2 <mss 1460>\n"));
        assert_eq!((found["result"].as_str(), found["line"].as_u64()), (Some("fail"), Some(5)));
        for damaged in
            ["x", "0 < S", "0 < Q 0:0(0)", "0 socket(", "--mtu", "`", "0 > S. 0:0(0) ack x", "%{", "0.5 close(3"]
        {
            let found = run(damaged);
            assert_ne!(found["result"], "pass", "{damaged}: {found}");
        }
        assert_eq!(
            run("`sysctl net.ipv4.tcp_congestion_control=nothing`\n0 socket(...) = 3\n+0 connect(3, ..., ...) = 0")["result"],
            "unreadable"
        );
        fs::remove_dir_all(&folder).expect("it is removed");
    }
}
