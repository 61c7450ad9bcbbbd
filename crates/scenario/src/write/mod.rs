//! Writes a resolved scenario as TOML that can be read back, and as JSON for other programs. Also generates Python
//! types of that JSON.

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
