//! The seam between the Rust crates and Python: conversions only, no logic.
