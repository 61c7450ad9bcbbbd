//! Tests of each controller on a small path, and of the properties that all controllers share.

mod dctcp_echo;
pub(in crate::cc) mod path;
mod properties;
mod windows;
