//! What a scenario file may contain, as declarations of [`lopsided_spec`]: from them unknown keys are refused,
//! overrides find their way, and the JSON Schema for editors is written.

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
