//! Runs every fuzz target on random bytes until enough operations are done: `nightly [OPERATIONS] [CORPUS] [SEED]`. The
//! defaults are 10^9 operations on connections, `fuzz/corpus` and 1. The inputs of the corpus run first. An input that
//! fails is added to the corpus, and the exit code is not 0.
//!
//! Of 1,000 inputs, 490 go to `connection`, 485 to `peace`, and 5 to each of `scenario`, `capture`, `line`, `ack_way`
//! and `quic`. The progress is printed after each 1 % of the operations.

use lopsided_core::Rng;
use lopsided_fuzz::{ack_way, capture, connection, line, quic, scenario};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, panic};

type Target = (&'static str, fn(&[u8]) -> u64, usize);

/// Name of the target, function that returns its number of operations, and longest input in bytes.
const TARGETS: [Target; 7] = [
    ("connection", connection::run, 2000),
    ("peace", connection::run_to_completion, 2000),
    ("scenario", |octets| uncounted(scenario::run, octets), 2000),
    ("capture", |octets| uncounted(capture::run, octets), 2000),
    ("line", |octets| uncounted(line::run, octets), 200),
    ("ack_way", |octets| uncounted(ack_way::run, octets), 200),
    ("quic", |octets| uncounted(quic::run, octets), 4000),
];

/// Runs a target that does not count operations on a connection.
fn uncounted(run: fn(&[u8]), octets: &[u8]) -> u64 {
    run(octets);
    0
}

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let wanted: u64 = arguments.next().map_or(1_000_000_000, |text| text.parse().expect("a number of operations"));
    let corpus = PathBuf::from(arguments.next().unwrap_or_else(|| "fuzz/corpus".to_owned()));
    let seed: u64 = arguments.next().map_or(1, |text| text.parse().expect("a seed"));
    fs::create_dir_all(&corpus).expect("the corpus is a folder");

    let (mut operations, mut inputs, mut failures) = (0, 0, 0);
    let mut kept: Vec<PathBuf> =
        fs::read_dir(&corpus).expect("it is there").flatten().map(|file| file.path()).collect();
    kept.sort();
    for path in &kept {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let Some(target) = TARGETS.iter().find(|(known, ..)| name.starts_with(known)) else { continue };
        failures += u32::from(attempt(target, &fs::read(path).expect("a file of the corpus")).is_none());
    }
    let mut draws = Rng::for_role(seed, "nightly");
    let mut reported = 0;
    while operations < wanted {
        let target = &TARGETS[match draws.below(1000) {
            0..490 => 0,
            490..975 => 1,
            975..980 => 2,
            980..985 => 3,
            985..990 => 4,
            990..995 => 5,
            _ => 6,
        }];
        let octets: Vec<u8> = (0..draws.below(target.2 as u64)).map(|_| draws.next_u64() as u8).collect();
        match attempt(target, &octets) {
            Some(done) => operations += done,
            None => {
                failures += 1;
                keep(&corpus, target.0, inputs, seed, &octets);
            }
        }
        inputs += 1;
        if operations / (wanted / 100).max(1) > reported {
            reported = operations / (wanted / 100).max(1);
            eprintln!("{operations} operations, {inputs} inputs, {failures} failed");
        }
    }
    println!("{operations} operations, {inputs} inputs and {} of the corpus, {failures} failed", kept.len());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one input. Returns the number of operations, or `None` if the target panicked.
fn attempt(target: &Target, octets: &[u8]) -> Option<u64> {
    panic::catch_unwind(|| target.1(octets)).ok()
}

fn keep(corpus: &Path, target: &str, number: u64, seed: u64, octets: &[u8]) {
    let path = corpus.join(format!("{target}-{seed}-{number}"));
    fs::write(&path, octets).expect("the corpus can be written");
    eprintln!("kept in {}", path.display());
}
