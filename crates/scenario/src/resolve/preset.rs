//! The keys of access-line presets, parsed like the keys of a file.

use crate::error::Report;
use crate::presets::{PRESETS, Preset};
use crate::schema;
use crate::tree::{self, Table, Value};
use lopsided_core::Dir;
use std::sync::OnceLock;

/// Returns the keys of a preset's `[link]`.
pub(crate) fn link(name: &str) -> Option<&'static Table> {
    static LINKS: OnceLock<Vec<Table>> = OnceLock::new();
    let links = LINKS.get_or_init(|| PRESETS.iter().map(read).collect());
    PRESETS.iter().position(|preset| preset.name == name).map(|place| &links[place])
}

/// Removes from the file's `[link]` all keys that a preset in an override sets.
pub(crate) fn clear_for_preset(file: &mut Table, name: &str) {
    let Some(preset) = link(name.trim().trim_matches(['"', '\''])) else { return };
    let Some(Value::Table(own)) = file.get_mut("link").map(|node| &mut node.value) else { return };
    let directions = [Dir::Down, Dir::Up].map(Dir::name);
    let in_direction = |dir: &str, key: &str| below(preset, dir).is_some_and(|table| table.get(key).is_some());
    // A key in `[link]` applies to both directions, so it is removed even if the preset sets it for only one direction.
    // A key of one direction is removed even if the preset sets it in `[link]`.
    own.retain(|key| {
        directions.contains(&key) || (preset.get(key).is_none() && !directions.iter().any(|dir| in_direction(dir, key)))
    });
    // The preset's RTT replaces the file's one-way delays.
    if preset.get("rtt").is_some() {
        own.retain(|key| key != "delay");
    }
    for dir in directions {
        if let Some(Value::Table(direction)) = own.get_mut(dir).map(|node| &mut node.value) {
            direction.retain(|key| {
                let set_by_preset = preset.get(key).is_some() || in_direction(dir, key);
                let contradicts_rtt = key == "delay" && preset.get("rtt").is_some();
                // If the preset sets `access`, the preset also determines the rate.
                let contradicts_access = key == "rate" && in_direction(dir, "access");
                !(set_by_preset || contradicts_rtt || contradicts_access)
            });
        }
    }
}

fn below<'t>(table: &'t Table, key: &str) -> Option<&'t Table> {
    table.get(key).and_then(tree::Node::table)
}

fn read(preset: &Preset) -> Table {
    // Presets are written without the prefix `link.`.
    let text = preset.link.replace("[down]", "[link.down]").replace("[up]", "[link.up]");
    let text = format!("[link]\n{text}");
    let mut report = Report::new(preset.name, &text, Vec::new());
    let mut file = tree::parse_file(&text, &mut report);
    schema::check(&mut file, &schema::file(), "", &mut report);
    // Presets are part of the program, so an error is a bug.
    assert_eq!(report.count(), 0, "the preset {} is wrong: {:?}", preset.name, report.finish());
    let link = file.get("link").and_then(tree::Node::table).expect("every preset has a link");
    link.clone()
}
