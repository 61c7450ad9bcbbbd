//! The TCP of a host, layered key by key.

use super::read::{Layers, read};
use crate::error::Report;
use crate::model::{DelayedAck, StackSpec, Window};
use crate::names::{CONGESTION_CONTROLS, PROFILES};
use crate::tree::Node;
use crate::units::UnitError;
use crate::value;
use lopsided_core::Bytes;
use lopsided_spec::Amount;

/// The largest IP packet.
const LARGEST_MTU: u64 = 65_535;
/// IP and TCP headers without options.
const HEADERS: u64 = 40;
/// RFC 9293 section 3.7.1 lets an MSS be small; below this the headers' options would leave nothing for data.
const SMALLEST_MSS: u64 = 64;

/// `controllers` are the names that `cc` may have.
pub(super) fn resolve_stack(layers: &Layers<'_>, controllers: &[&str], report: &mut Report<'_>) -> StackSpec {
    let profile = read(layers, "profile", |node| value::choice(node, "profile", PROFILES), report);
    let cc = read(layers, "cc", |node| congestion_control(node, controllers), report);
    for (key, other) in [("rack", "fack"), ("prr", "rate_halving")] {
        exclude(layers, key, other, report);
    }
    let ecn = read(layers, "ecn", value::ecn, report);
    refuse_abe(layers, cc.unwrap_or(CONGESTION_CONTROLS[0]), report);
    let mut flag = |key: &str| read(layers, key, value::flag, report);
    StackSpec {
        profile: profile.unwrap_or(PROFILES[0]).to_owned(),
        cc: cc.unwrap_or(CONGESTION_CONTROLS[0]).to_owned(),
        sack: flag("sack"),
        dsack: flag("dsack"),
        timestamps: flag("timestamps"),
        window_scaling: flag("window_scaling"),
        ecn,
        abe: flag("abe"),
        rack: flag("rack"),
        fack: flag("fack"),
        tlp: flag("tlp"),
        prr: flag("prr"),
        rate_halving: flag("rate_halving"),
        frto: flag("frto"),
        limited_transmit: flag("limited_transmit"),
        abc: read(layers, "abc", value::small_count, report),
        delayed_ack: resolve_delayed_ack(&layers.below("delayed_ack"), report),
        initial_window: read(layers, "initial_window", window, report),
        remembered_threshold: read(layers, "remembered_threshold", window, report),
        min_rto: read(layers, "min_rto", value::span, report),
        max_window: read(layers, "max_window", window, report),
        mss: resolve_mss(layers, report),
        send_buffer: read(layers, "send_buffer", value::buffer, report),
        receive_buffer: read(layers, "receive_buffer", value::buffer, report),
    }
}

pub(super) fn congestion_control<'n>(node: &Node, controllers: &[&'n str]) -> Result<&'n str, UnitError> {
    const OWN: &str = "one of your own is given when the scenario is read: --controller FILE.py:CLASS";
    value::choice(node, "congestion control", controllers).map_err(|error| match &error.help {
        Some(help) if help.starts_with("known") => {
            let help = format!("{help}; {OWN}");
            error.help(help)
        }
        _ => error,
    })
}

/// Of two ways to do the same thing at most one may be asked for.
fn exclude(layers: &Layers<'_>, key: &str, other: &str, report: &mut Report<'_>) {
    let asked = |key: &str| layers.get(key).is_some_and(|(node, _)| matches!(value::flag(node), Ok(true)));
    if asked(key) && asked(other) {
        let message = format!("`{key}` and `{other}` exclude each other");
        report.problem(layers.place_of(other), layers.path(), message, None);
    }
}

/// RFC 8511 gives factors for Reno and CUBIC only.
fn refuse_abe(layers: &Layers<'_>, cc: &str, report: &mut Report<'_>) {
    let known = cc.starts_with("cubic") || ["reno", "newreno"].contains(&cc);
    if let Some((node, path)) = layers.get("abe") {
        if value::flag(node) == Ok(true) && !known {
            let help = "RFC 8511 defines it for reno, newreno and cubic".to_owned();
            report.problem(node.place, &path, format!("`abe` has no meaning with cc = \"{cc}\""), Some(help));
        }
    }
}

fn window(node: &Node) -> Result<Window, UnitError> {
    match value::window(node)? {
        Amount::Segments(0) | Amount::Bytes(Bytes::ZERO) => {
            Err(UnitError::new("a window of nothing lets nothing be sent"))
        }
        Amount::Segments(segments) => Ok(Window::Segments(segments)),
        Amount::Bytes(bytes) => Ok(Window::Bytes(bytes)),
        _ => Err(UnitError::new("a window is in segments or octets")),
    }
}

/// The most specific layer that speaks of delayed ACKs decides whether they are on; details may come from others.
fn resolve_delayed_ack(layers: &Layers<'_>, report: &mut Report<'_>) -> Option<DelayedAck> {
    let deciding = layers.deciding(&["mode", "segments", "timeout"]);
    if deciding.is_empty() {
        return None;
    }
    if read(&deciding, "mode", value::switch, report) == Some(false) {
        for key in ["segments", "timeout"] {
            if deciding.has(key) {
                report.problem(
                    deciding.place_of(key),
                    layers.path(),
                    format!("`{key}` means nothing with delayed ACKs off"),
                    None,
                );
            }
        }
        return Some(DelayedAck::Off);
    }
    let segments = read(layers, "segments", value::positive_count, report);
    let timeout = read(layers, "timeout", value::span, report);
    Some(DelayedAck::On { segments, timeout })
}

fn resolve_mss(layers: &Layers<'_>, report: &mut Report<'_>) -> Option<u16> {
    let deciding = layers.deciding(&["mss", "mtu"]);
    if deciding.has("mss") && deciding.has("mtu") {
        let help = "the MSS is the MTU less 40".to_owned();
        report.problem(deciding.place_of("mtu"), layers.path(), "`mss` and `mtu` exclude each other", Some(help));
    }
    let (key, headers) = if deciding.has("mtu") { ("mtu", HEADERS) } else { ("mss", 0) };
    let parse = |node: &Node| {
        let size = value::size(node)?.get();
        let (least, most) = (SMALLEST_MSS + headers, LARGEST_MTU - HEADERS + headers);
        match u16::try_from(size.saturating_sub(headers)) {
            Ok(mss) if (least..=most).contains(&size) => Ok(mss),
            _ => Err(UnitError::new(format!("an {key} of {size} B is out of range: {least} B to {most} B"))),
        }
    };
    read(&deciding, key, parse, report)
}
