//! Tests of each controller on a small path, and of properties that all controllers must have.

mod courses;
mod dctcp_echo;
pub(in crate::cc) mod path;
mod properties;
mod windows;
