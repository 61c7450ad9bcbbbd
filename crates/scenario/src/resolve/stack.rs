//! Reads the TCP settings of one end of a flow from several tables.

use super::part::{Line, read_value};
use super::read::{Layers, read};
use crate::error::Report;
use crate::schema::join;
use crate::tree::Node;
use crate::units::UnitError;
use crate::value;
use lopsided_spec::{KeyInfo, Value};
use lopsided_tcp::{CONTROLLERS, DelayedAck, FastRecovery, PROFILES, StackConfig, Switch};

/// Size of the largest IP packet in bytes.
const LARGEST_MTU: u64 = 65_535;
/// Length of IPv4 and TCP headers without options, in bytes.
const HEADERS: u64 = 40;
/// The smallest MSS in bytes. RFC 9293, section 3.7.1, permits smaller values, but they leave no room for data next to
/// options.
const SMALLEST_MSS: u64 = 64;

/// Reads the TCP settings of one end. `controllers` are the valid values of `cc`.
pub(super) fn resolve_stack(layers: &Layers<'_>, controllers: &[&str], report: &mut Report<'_>) -> StackConfig {
    let profile = read(layers, "profile", |node| value::choice(node, "profile", PROFILES), report);
    let cc = read(layers, "cc", |node| congestion_control(node, controllers), report).unwrap_or(CONTROLLERS[0]);
    // Linux replaced FACK with RACK, and rate halving with PRR. A stack uses at most one mechanism of each pair.
    for (key, other) in [("rack", "fack"), ("prr", "rate_halving")] {
        exclude(layers, key, other, report);
    }
    reject_abc_with_half(layers, report);
    refuse_abe(layers, cc, report);
    let mut stack = StackConfig::new(profile.unwrap_or(PROFILES[0]), cc);
    stack.mss = resolve_mss(layers, report);
    for key in StackConfig::keys() {
        if let Some(value) = resolve_setting(&key, layers, report) {
            stack.set(key.name, value);
        }
    }
    refuse_newreno_without_its_recovery(layers, &stack, report);
    stack
}

/// Returns the value of a key; `None` if the key is missing. If the value is invalid, reports an error and returns
/// `None`.
fn resolve_setting(key: &KeyInfo, layers: &Layers<'_>, report: &mut Report<'_>) -> Option<Value> {
    // `delayed_ack` is a table with its own rule of precedence.
    if key.name == "delayed_ack" {
        return resolve_delayed_ack(&layers.below(key.name), report).map(|delayed| Value::of_part(&delayed));
    }
    let found = read_value(key, layers, Line::default(), report)?;
    if let Err(fault) = StackConfig::check(key.name, &found) {
        report.problem(layers.place_of(key.name), &join(layers.path(), key.name), fault.message, fault.help);
    }
    Some(found)
}

pub(super) fn congestion_control<'n>(node: &Node, controllers: &[&'n str]) -> Result<&'n str, UnitError> {
    const OWN: &str = "for a class of your own, use --controller FILE.py:CLASS";
    value::choice(node, "congestion control", controllers).map_err(|error| match &error.help {
        Some(help) if help.starts_with("known") => {
            let help = format!("{help}; {OWN}");
            error.help(help)
        }
        _ => error,
    })
}

/// Reports an error if two switches that exclude each other are both on.
fn exclude(layers: &Layers<'_>, key: &str, other: &str, report: &mut Report<'_>) {
    let asked = |key: &str| layers.get(key).is_some_and(|(node, _)| matches!(value::flag(node), Ok(true)));
    if asked(key) && asked(other) {
        let message = format!("`{key}` and `{other}` exclude each other");
        report.problem(layers.place_of(other), layers.path(), message, None);
    }
}

/// Reports an error if both `abc` and `abc_half` are set, because both select the rule for counting ACKed bytes.
fn reject_abc_with_half(layers: &Layers<'_>, report: &mut Report<'_>) {
    let half = layers.get("abc_half").is_some_and(|(node, _)| value::flag(node) == Ok(true));
    if half && layers.has("abc") {
        report.problem(layers.place_of("abc_half"), layers.path(), "`abc` and `abc_half` exclude each other", None);
    }
}

/// Reports an error if `abe` is on and the congestion control is neither Reno nor CUBIC (RFC 8511).
fn refuse_abe(layers: &Layers<'_>, cc: &str, report: &mut Report<'_>) {
    // `cubic` and its variants.
    let known = cc.starts_with("cubic") || ["reno", "newreno"].contains(&cc);
    if let Some((node, path)) = layers.get("abe") {
        if value::flag(node) == Ok(true) && !known {
            let help = "RFC 8511 defines it only for reno, newreno and cubic".to_owned();
            report.problem(node.place, &path, format!("`abe` has no effect with cc = \"{cc}\""), Some(help));
        }
    }
}

/// Reports an error for `cc = "newreno"` unless `fast_recovery` selects its recovery (RFC 6582).
fn refuse_newreno_without_its_recovery(layers: &Layers<'_>, stack: &StackConfig, report: &mut Report<'_>) {
    let Some((node, path)) = layers.get("cc") else { return };
    let Some(profile) = stack.to_profile() else { return };
    if stack.cc == "newreno" && !profile.sack && profile.fast_recovery != FastRecovery::NewReno {
        let message = format!("`newreno` has no effect on {}, which recovers from losses in another way", profile.name);
        let help = "set fast_recovery = \"newreno\" with cc = \"reno\", or sack = true".to_owned();
        report.problem(node.place, &path, message, Some(help));
    }
}

/// Reads the keys of delayed ACKs. The most specific table that sets any of these keys turns delayed ACKs on or off.
fn resolve_delayed_ack(layers: &Layers<'_>, report: &mut Report<'_>) -> Option<DelayedAck> {
    // A table that sets any of these keys turns delayed ACKs on, unless the table also contains `mode = "off"`.
    let deciding = layers.deciding(&["mode", "segments", "timeout"]);
    if deciding.is_empty() {
        return None;
    }
    if read(&deciding, "mode", |node| value::word(node, "mode", &["on", "off"]), report) == Some("off") {
        for key in ["segments", "timeout"] {
            if deciding.has(key) {
                report.problem(
                    deciding.place_of(key),
                    layers.path(),
                    format!("`{key}` has no effect while delayed ACKs are off"),
                    None,
                );
            }
        }
        return Some(DelayedAck { mode: Switch::Off, ..DelayedAck::default() });
    }
    let segments = read(layers, "segments", value::positive_count, report);
    let timeout = read(layers, "timeout", value::span, report);
    Some(DelayedAck { mode: Switch::On, segments, timeout })
}

fn resolve_mss(layers: &Layers<'_>, report: &mut Report<'_>) -> Option<u16> {
    // The more specific setting wins, whether it is `mss` or `mtu`.
    let deciding = layers.deciding(&["mss", "mtu"]);
    if deciding.has("mss") && deciding.has("mtu") {
        let help = "the MSS is the MTU minus 40 B".to_owned();
        report.problem(deciding.place_of("mtu"), layers.path(), "`mss` and `mtu` exclude each other", Some(help));
    }
    let (key, headers) = if deciding.has("mtu") { ("mtu", HEADERS) } else { ("mss", 0) };
    let parse = |node: &Node| {
        let size = value::size(node)?.get();
        let (least, most) = (SMALLEST_MSS + headers, LARGEST_MTU - HEADERS + headers);
        match u16::try_from(size.saturating_sub(headers)) {
            Ok(mss) if (least..=most).contains(&size) => Ok(mss),
            _ => Err(UnitError::new(format!("`{key}` must be from {least} B to {most} B, not {size} B"))),
        }
    };
    read(&deciding, key, parse, report)
}
