//! The declarations of all keys of a scenario file, for checks, overrides and the JSON Schema.

mod check;
mod family;
mod json;
mod keys;
mod limit;
mod overrides;
mod reference;

pub(crate) use check::{check, join};
pub(crate) use family::{WithKinds, table_of};
pub(crate) use json::schema_json;
pub(crate) use keys::file;
pub(crate) use overrides::{apply, entry_name};
pub(crate) use reference::reference_page;
