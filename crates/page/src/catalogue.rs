//! The choices that the page offers: every built-in part, with its description.

use crate::answer::Answer;
use crate::json::Json;
use lopsided_core::{DropReason, MarkReason};
use lopsided_scenario::PRESETS;
use lopsided_tcp::CONTROLLERS;

/// Lists the congestion controls, access links and reasons for losses, each with a description for display.
pub fn catalogue() -> Answer {
    let entry = |name: &str, text: &str| Json::object([("name", Json::text(name)), ("text", Json::text(text))]);
    let controllers = CONTROLLERS.iter().map(|name| entry(name, lopsided_tcp::cc::text(name).unwrap_or_default()));
    let presets = PRESETS.iter().map(|preset| entry(preset.name, preset.title));
    let reasons = DropReason::ALL
        .iter()
        .map(|why| entry(why.name(), why.meaning()))
        .chain(MarkReason::ALL.iter().map(|why| entry(why.name(), why.meaning())));
    Answer::of(Json::object([
        ("version", Json::text(env!("CARGO_PKG_VERSION"))),
        ("controllers", Json::list(controllers)),
        ("presets", Json::list(presets)),
        ("reasons", Json::list(reasons)),
    ]))
}
