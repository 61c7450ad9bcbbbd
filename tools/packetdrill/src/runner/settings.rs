//! Applies the settings of the suite to a profile: `sysctl` commands and packetdrill's options.

use super::{ISS, LOCAL, Outcome, REMOTE, Runner, Setup, TS_OFFSET};
use crate::script::{Kind, Script};
use lopsided_core::{Bytes, Duration, Time};
use lopsided_tcp::{AckSettings, BufferRule, ConnConfig, EcnRule, IdleRestart, LossDetection, Profile, TimerGrain};
use std::collections::{BTreeMap, VecDeque};

/// Returns each `name=value` of `sysctl` commands and of `set_sysctls.py`.
fn settings(shell: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let shell = shell.replace("\\\n", " ");
    for line in shell.lines() {
        let mut rest = line;
        while let Some(at) = rest.find('=') {
            let name: String = rest[..at]
                .chars()
                .rev()
                .take_while(|c| c.is_ascii_alphanumeric() || "_./-".contains(*c))
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect();
            let after = &rest[at + 1..];
            let (value, used) = if let Some(quoted) = after.strip_prefix('"') {
                let end = quoted.find('"').unwrap_or(quoted.len());
                (quoted[..end].to_owned(), (end + 2).min(after.len()))
            } else {
                let end = after.find(|c: char| c.is_whitespace()).unwrap_or(after.len());
                (after[..end].to_owned(), end)
            };
            let name = name.rsplit(['.', '/']).next().unwrap_or("").to_owned();
            found.insert(name, value);
            rest = &after[used..];
        }
    }
    found
}

impl Runner {
    pub(super) fn new(script: &Script, setup: Setup) -> Result<Runner, String> {
        let mut out = Outcome::default();
        let mut profile = Profile::named(&setup.profile).expect("the profile is built in");
        if setup.hz != 250 {
            let grain = TimerGrain::Wheel(Duration::from_nanos(1_000_000_000 / setup.hz));
            profile.grain = grain;
            profile.ack = AckSettings { grain, ..profile.ack };
        }
        let mut set = BTreeMap::new();
        if script.setup.contains("defaults.sh") {
            // Settings in the suite's common/defaults.sh for which the profile has a key.
            for (name, value) in [
                ("tcp_congestion_control", "cubic"),
                ("tcp_slow_start_after_idle", "0"),
                ("tcp_ecn", "0"),
                ("tcp_timestamps", "1"),
                ("tcp_sack", "1"),
                ("tcp_dsack", "1"),
                ("tcp_frto", "2"),
                ("tcp_recovery", "1"),
                ("tcp_early_retrans", "4"),
                ("tcp_reordering", "3"),
                ("tcp_rmem", "4096 540000 15728640"),
                ("tcp_wmem", "4096 262144 4194304"),
            ] {
                set.insert(name.to_owned(), value.to_owned());
            }
        }
        set.extend(settings(&script.setup));
        let mut cc = "cubic".to_owned();
        let mut mtu = 1500;
        let (mut tolerance, mut ts_tick) = (4000, 0);
        for (name, value) in &set {
            let on = value != "0";
            match name.as_str() {
                "tcp_congestion_control" => cc = value.clone(),
                "tcp_slow_start_after_idle" => {
                    profile.idle_restart = if on { IdleRestart::Halving } else { IdleRestart::Never }
                }
                "tcp_ecn" => {
                    profile.ecn = match value.as_str() {
                        "0" => EcnRule::Off,
                        "1" => EcnRule::On,
                        "3" => EcnRule::Accurate,
                        // If the host opens the connection, the value 4 requests ECN like the value 1. In all scripts
                        // with the value 4, the host opens the connection.
                        "4" => EcnRule::On,
                        "5" => EcnRule::AcceptAccurate,
                        _ => EcnRule::Accept,
                    }
                }
                "tcp_ecn_option" => profile.ecn_option = on,
                "tcp_ecn_fallback" => profile.ecn_fallback = on,
                "tcp_timestamps" => profile.timestamps = on,
                "tcp_sack" => profile.sack = on,
                "tcp_dsack" => profile.dsack = on,
                "tcp_frto" => profile.undo.frto = on,
                "tcp_early_retrans" => profile.tlp = on,
                "tcp_window_scaling" => profile.window_scaling = on,
                "tcp_reordering" => profile.dup_threshold = value.parse().unwrap_or(3),
                "tcp_rmem" | "tcp_wmem" => {
                    let numbers: Vec<u64> = value.split_whitespace().filter_map(|word| word.parse().ok()).collect();
                    if let [_, initial, max] = numbers[..] {
                        if name == "tcp_wmem" {
                            profile.send_buffer =
                                BufferRule::Auto { initial: Bytes::new(initial), max: Bytes::new(max) };
                        } else {
                            // The profile counts window bytes, which are half of the memory (tcp_adv_win_scale = 1).
                            let half = |memory: u64| Bytes::new(memory / 2);
                            profile.receive_buffer = BufferRule::Auto { initial: half(initial), max: half(max) };
                        }
                    }
                }
                "tcp_recovery" if on => {}
                "tcp_recovery" => profile.loss_detection = LossDetection::Rfc6675,
                // Sizes of segmentation offload. Ignored, because the comparison joins consecutive segments.
                "tcp_min_tso_segs" | "tcp_tso_win_divisor" | "tcp_pacing_ss_ratio" | "tcp_pacing_ca_ratio" => {}
                // Settings that do not affect the applicable scripts.
                "tcp_fastopen" | "tcp_fastopen_key" | "tcp_syncookies" | "tcp_ecn_option_beacon" | "tcp_fack" => {}
                other if other.starts_with("tcp_") => {
                    out.unmapped.insert(format!("sysctl {other}={value}"));
                }
                _ => {}
            }
        }
        if script.setup.contains("root fq") {
            out.unmapped.insert("qdisc fq (pacing)".into());
        }
        if let Some(at) = script.setup.find("initcwnd ") {
            let digits: String = script.setup[at + 9..].chars().take_while(char::is_ascii_digit).collect();
            profile.initial_window_segments = digits.parse().unwrap_or(10);
        }
        for (name, value) in &script.options {
            match name.as_str() {
                "tolerance_usecs" => tolerance = value.parse().unwrap_or(4000),
                "tcp_ts_tick_usecs" => ts_tick = value.parse().unwrap_or(0),
                "mtu" => mtu = value.parse().unwrap_or(1500),
                "send_omit_free" => {}
                other => {
                    out.unmapped.insert(format!("--{other}"));
                }
            }
        }
        // A connection's segment size is fixed at its start, so look ahead for a later TCP_MAXSEG.
        for event in &script.events {
            let Kind::Call(call) = &event.kind else { continue };
            if call.name != "setsockopt" || call.result != 0 {
                continue;
            }
            let value: Option<u64> = call.args.get(3).and_then(|arg| arg.trim_matches(['[', ']', ' ']).parse().ok());
            if let (Some("TCP_MAXSEG"), Some(value)) = (call.args.get(2).map(String::as_str), value) {
                mtu = value + 40;
            }
        }
        if !lopsided_tcp::CONTROLLERS.contains(&cc.as_str()) {
            return Err(format!("no congestion control {cc}"));
        }
        Ok(Runner {
            setup,
            profile,
            cc,
            mtu,
            tolerance,
            ts_tick,
            connection: None,
            server: false,
            listener: None,
            socket: None,
            nonblocking: false,
            shut_write: false,
            shut_read: false,
            linger_zero: false,
            nodelay: false,
            corked: false,
            user_timeout: None,
            more: false,
            established: None,
            error_read: false,
            closed: false,
            peer_closed: false,
            blocked: false,
            now: Time::ZERO,
            queue: VecDeque::new(),
            irs_script: 0,
            ts_base: None,
            ts_seen: BTreeMap::new(),
            pending: None,
            out,
        })
    }

    pub(super) fn config(&self) -> ConnConfig {
        let config = ConnConfig::new(LOCAL, REMOTE, ISS, Bytes::new(self.mtu), self.profile.clone(), &self.cc)
            .unwrap_or_else(|_| unreachable!("`new` checked the name {}", self.cc));
        ConnConfig { timestamp_offset: TS_OFFSET, ..config }
    }
}
