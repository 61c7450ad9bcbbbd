//! A resolved scenario as text: TOML that reads back to the same, and JSON with plain numbers for programs.

mod json;
mod toml;

pub(crate) use json::{Json, to_json};
pub(crate) use toml::{quoted, to_toml};
