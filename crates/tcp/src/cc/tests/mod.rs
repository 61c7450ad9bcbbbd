//! Every controller on a small path of its own, and what must hold of all of them.

mod dctcp_echo;
pub(in crate::cc) mod path;
mod properties;
mod windows;
