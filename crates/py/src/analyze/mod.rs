//! The analysis of a capture as tables: directions, their limits over time, and points of diagrams. For two captures,
//! the tables also contain the delays between the two points of capture.

mod latest;
mod rows;
mod standard_input;
mod tables;

use crate::columns::columns;
use crate::error::Failure;
use crate::tables::declared;
use latest::latest;
use lopsided_capture::{Analysis, Between, ReadError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rows::{both_tables, capture_tables};
use standard_input::{StandardInput, signalled};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tables::{BetweenTable, DirectionTable, PassageTable, PointTable, TimelineTable};

/// Returns the declarations of the tables of `analyze`: for each table its name and meaning, and for each column its
/// name, kind, unit, heading and meaning.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn analysis_tables() -> Vec<(&'static str, &'static str, Vec<[&'static str; 5]>)> {
    let alone = [DirectionTable::spec(), TimelineTable::spec(), PointTable::spec()];
    alone.into_iter().chain([BetweenTable::spec(), PassageTable::spec()]).map(declared).collect()
}

/// Reads and analyzes a capture; `-` means standard input. `other` is a second capture of the same flows. If `points`
/// is true, the points of diagrams are also returned. `progress` is called regularly with the numbers of packets and
/// connections read so far. After each second of the capture, `live` is called with the directions that carried data in
/// that second: see [`latest`].
///
/// Ctrl-C ends standard input, because all programs of a pipe receive the signal. The packets that were read before are
/// analyzed. If the input is a file, Ctrl-C raises KeyboardInterrupt.
///
/// Returns the tables by name, and counts for the whole capture.
#[pyfunction]
#[pyo3(signature = (path, *, points, other=None, progress=None, live=None))]
pub(crate) fn analyze<'py>(
    py: Python<'py>,
    path: PathBuf,
    points: bool,
    other: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
    live: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let failed = |what: String| failed_on(&path, what);
    let mut interrupted = None;
    let is_pipe = path.as_os_str() == "-";
    let ended = Arc::new(AtomicBool::new(false));
    // Reading takes long, so release the interpreter for other Python threads.
    let found = py.detach(|| {
        let report = |packets: u64, found: &Analysis| {
            let done = Python::attach(|py| {
                if is_pipe && signalled(py, &ended) {
                    return Ok(false);
                }
                // If Ctrl-C was pressed, this raises KeyboardInterrupt.
                py.check_signals()?;
                if let Some(report) = &progress {
                    report.call1(py, (packets, found.connections.len()))?;
                }
                if let Some(live) = &live {
                    match live.call1(py, (latest(found),)) {
                        // Ctrl-C was pressed while Python printed.
                        Err(error) if is_pipe && error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                            ended.store(true, Ordering::Relaxed);
                            return Ok(false);
                        }
                        done => done?,
                    };
                }
                Ok(true)
            });
            done.unwrap_or_else(|error| {
                interrupted = Some(error);
                false
            })
        };
        let found = if is_pipe {
            Analysis::read(StandardInput::new(Arc::clone(&ended)), points, report)
        } else {
            Analysis::read_ahead(opened(&path)?, points, report)
        };
        found.map_err(|error| failed(error.to_string()))
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    let mut found = found?;
    if is_pipe && signalled(py, &ended) {
        // The input seems to end inside a record, but only because reading was stopped.
        found.read.cut = false;
    }
    let whole = whole(py, &found)?;
    let begin = found.times.0;
    // Free the connections before the tables are copied to Python, so that both are not in memory at the same time.
    let (directions, timeline, drawn) = py.detach(move || capture_tables(&found));
    let tables = PyDict::new(py);
    tables.set_item(DirectionTable::spec().name, columns(py, &directions.columns())?)?;
    tables.set_item(TimelineTable::spec().name, columns(py, &timeline.columns())?)?;
    tables.set_item(PointTable::spec().name, columns(py, &drawn.columns())?)?;
    let between = other.map(|other| py.detach(|| read_both(&path, &other))).transpose()?;
    let (ways, passages) = between.as_ref().map(|between| both_tables(between, begin)).unwrap_or_default();
    if let Some(between) = between {
        whole.set_item("clock_offset_s", between.offset * 1e-9)?;
        whole.set_item("clock_skew_ppm", between.skew_ppm)?;
    }
    tables.set_item(BetweenTable::spec().name, columns(py, &ways.columns())?)?;
    tables.set_item(PassageTable::spec().name, columns(py, &passages.columns())?)?;
    Ok((tables, whole))
}

/// Returns a usage error about a file.
fn failed_on(path: &Path, what: String) -> Failure {
    Failure::Usage(format!("{}: {what}", path.display()))
}

/// Opens a capture.
fn opened(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path).map_err(|error| {
        let reason = match error.kind() {
            io::ErrorKind::NotFound => "does not exist".into(),
            io::ErrorKind::PermissionDenied => "may not be read".into(),
            _ => error.to_string(),
        };
        failed_on(path, reason)
    })?;
    Ok(BufReader::new(file))
}

/// Reads two captures of the same flows and aligns their clocks.
fn read_both(one: &Path, other: &Path) -> Result<Between, Failure> {
    let both = || format!("{} and {}", one.display(), other.display());
    let failed = |error: ReadError| Failure::Usage(format!("{}: {error}", both()));
    Between::read(opened(one)?, opened(other)?).map_err(failed)
}

/// Returns the counts for the whole capture.
fn whole<'py>(py: Python<'py>, found: &Analysis) -> PyResult<Bound<'py, PyDict>> {
    let whole = PyDict::new(py);
    whole.set_item("frames", found.read.frames)?;
    whole.set_item("snapped", found.read.snapped)?;
    whole.set_item("cut", found.read.cut)?;
    whole.set_item("segments", found.segments)?;
    whole.set_item("passed_over", found.passed_over)?;
    whole.set_item("backwards", found.backwards)?;
    whole.set_item("connections", found.connections.len())?;
    whole.set_item("begin_s", found.times.0 as f64 * 1e-9)?;
    whole.set_item("elapsed_s", found.times.1.saturating_sub(found.times.0) as f64 * 1e-9)?;
    Ok(whole)
}
