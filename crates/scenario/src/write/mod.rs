//! A resolved scenario as text: TOML that reads back to the same, and JSON with plain numbers for programs.

mod json;
mod toml;
mod value;

pub(crate) use json::{Json, to_json};
pub(crate) use toml::{quoted, to_toml};
pub(crate) use value::default_text;
