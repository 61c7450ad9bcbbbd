//! The keys of an access line by name, read as those of a file are.

use crate::error::Report;
use crate::presets::{PRESETS, Preset};
use crate::schema;
use crate::tree::{self, Table};
use std::sync::OnceLock;

/// The keys of a preset's `[link]`.
pub(crate) fn link(name: &str) -> Option<&'static Table> {
    static LINKS: OnceLock<Vec<Table>> = OnceLock::new();
    let links = LINKS.get_or_init(|| PRESETS.iter().map(read).collect());
    PRESETS.iter().position(|preset| preset.name == name).map(|place| &links[place])
}

fn read(preset: &Preset) -> Table {
    let text = preset.link.replace("[down]", "[link.down]").replace("[up]", "[link.up]");
    let text = format!("[link]\n{text}");
    let mut report = Report::new(preset.name, &text, Vec::new());
    let mut file = tree::parse_file(&text, &mut report);
    schema::check(&mut file, &schema::file(), "", &mut report);
    assert_eq!(report.count(), 0, "the preset {} is wrong: {:?}", preset.name, report.finish());
    let link = file.get("link").and_then(tree::Node::table).expect("every preset has a link");
    link.clone()
}
