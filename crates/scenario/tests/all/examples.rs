//! New users read the files in `scenarios/` first, so all of these files must be valid.

use lopsided_scenario::{Axes, Scenario};
use std::path::{Path, PathBuf};

pub fn files() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of examples")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).expect("text"))).collect()
}

#[test]
fn every_point_of_every_example_is_valid_and_parses_again() {
    let files = files();
    assert!(files.len() >= 6);
    for (path, text) in files {
        let file = path.display().to_string();
        let axes = Axes::parse(&text, &file).unwrap_or_else(|errors| panic!("{errors}"));
        for point in axes.points().filter(|point| point.repetition == 0) {
            let scenario =
                Scenario::parse(&text, &file, &point.overrides).unwrap_or_else(|errors| panic!("{file}: {errors}"));
            let again =
                Scenario::parse(&scenario.to_toml(), "again.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
            assert_eq!(scenario, again);
        }
    }
}
