//! A resolved scenario as text: TOML that reads back to the same, and JSON with plain numbers for programs, whose types
//! Python is told.

mod inline;
mod json;
mod python;
mod resolved;
mod toml;
mod value;

pub(crate) use inline::quoted;
pub(crate) use json::Json;
pub(crate) use python::python_types;
pub(crate) use resolved::to_json;
pub(crate) use toml::to_toml;
pub(crate) use value::default_text;
