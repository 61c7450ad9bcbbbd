//! Tests of the public interface of links.

mod access;
mod common;
mod config;
mod courses;
mod eager;
mod framing;
mod header_compression;
mod loss;
mod medium;
mod rates;
mod replay;
#[path = "../../../queue/tests/all/script.rs"]
mod script;
mod wifi;
