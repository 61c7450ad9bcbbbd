//! Every scenario of the repository has the digest in `tests/digests.toml`, for every compiler profile and processor.
//!
//! This test is a separate binary, so that it can be run without the other tests.

use lopsided_scenario::Scenario;
use lopsided_sim::{Monitor, RunOptions};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use toml::de::{DeTable, DeValue};

const RECORD: &str = r#"tools/digests record --reason "why behaviour had to change""#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Paths of all scenarios, relative to the repository's root.
fn scenarios() -> Vec<String> {
    let papers = root().join("python/lopsided/papers");
    let folders = entries(&papers).into_iter().map(|name| format!("python/lopsided/papers/{name}/scenarios"));
    let mut found = Vec::new();
    for folder in folders.chain(["scenarios".to_owned()]) {
        let names = entries(&root().join(&folder)).into_iter().filter(|name| name.ends_with(".toml"));
        found.extend(names.map(|name| format!("{folder}/{name}")));
    }
    found.sort();
    found
}

/// Returns the names in a folder; an empty list if there is no such folder.
fn entries(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
}

/// The recorded digest of a scenario.
struct Entry {
    digest: String,
    reason: String,
}

fn ledger() -> BTreeMap<String, Entry> {
    let text = fs::read_to_string(root().join("tests/digests.toml")).expect("the ledger exists");
    let table = DeTable::parse(&text).unwrap_or_else(|error| panic!("tests/digests.toml: {error}"));
    let text_of =
        |value: &DeValue<'_>, key| value.get(key).and_then(|text| text.get_ref().as_str()).unwrap_or("").to_owned();
    let entry = |value: &DeValue<'_>| Entry { digest: text_of(value, "digest"), reason: text_of(value, "reason") };
    table.get_ref().iter().map(|(path, value)| (path.get_ref().to_string(), entry(value.get_ref()))).collect()
}

fn digest(path: &str) -> String {
    let text = fs::read_to_string(root().join(path)).expect("the scenario exists");
    let scenario = Scenario::parse(&text, path, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let result = lopsided_sim::run(&scenario, scenario.seed, RunOptions::default(), &Monitor::default());
    let result = result.unwrap_or_else(|error| panic!("{path}: {error}"));
    format!("{:016x}", result.digest)
}

#[test]
fn every_scenario_has_a_recorded_digest_with_a_reason() {
    let ledger = ledger();
    assert_eq!(ledger.keys().cloned().collect::<Vec<_>>(), scenarios(), "record new scenarios with: {RECORD}");
    for (path, entry) in &ledger {
        assert!(!entry.reason.trim().is_empty(), "{path}: the reason of the digest's last change is missing");
    }
}

#[test]
fn digests_match_the_recorded_digests() {
    let (ledger, next) = (Vec::from_iter(ledger()), AtomicUsize::new(0));
    let changed = Mutex::new(String::new());
    let compare = || {
        while let Some((path, entry)) = ledger.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (recorded, found) = (&entry.digest, digest(path));
            if found != *recorded {
                *changed.lock().unwrap() += &format!("{path}: recorded {recorded}, now {found}\n");
            }
        }
    };
    // This thread runs scenarios too, because WebAssembly cannot start other threads.
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        (1..cores).for_each(|_| drop(scope.spawn(compare)));
        compare();
    });
    let changed = changed.into_inner().unwrap();
    assert!(changed.is_empty(), "behaviour has changed:\n{changed}where that is meant, say why: {RECORD}");
}
