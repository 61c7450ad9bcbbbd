//! Tests of the scenario reader and writer through the crate's public API.

mod errors;
mod examples;
mod names;
mod overrides;
mod resolve;
mod round_trip;
mod schema;
mod sweep;

use lopsided_scenario::{Errors, Scenario};

/// A small valid scenario, to which tests add keys.
const BASE: &str = "[scenario]\nduration = \"60 s\"\n[link]\nrtt = \"20 ms\"\ndown.rate = \"2.4 Mbit/s\"\nup.rate = \"196 kbit/s\"\n[[flow]]\ndirection = \"down\"\n";

fn parse(text: &str) -> Result<Scenario, Errors> {
    Scenario::parse(text, "test.toml", &[])
}

/// Parses a scenario, which must be valid.
#[track_caller]
fn good(text: &str) -> Scenario {
    parse(text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Returns the error messages for a scenario, which must be invalid.
#[track_caller]
fn messages(text: &str) -> Vec<String> {
    parse(text).expect_err("this must be refused").problems.into_iter().map(|problem| problem.message).collect()
}

fn with(overrides: &[(&str, &str)]) -> Result<Scenario, Errors> {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(BASE, "test.toml", &overrides)
}
