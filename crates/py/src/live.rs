//! Runs commands behind emulated links.

use crate::columns;
use crate::error::Failure;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Runs a command behind an emulated link, with the arguments of `lopsided-live emulate`. Returns its exit code, the
/// tables of the link, and the lateness of packets.
///
/// If there is a terminal, the command controls it until the command ends.
#[cfg(target_os = "linux")]
#[pyfunction]
pub(crate) fn emulate<'py>(
    py: Python<'py>,
    arguments: Vec<std::ffi::OsString>,
) -> PyResult<(u8, Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    use lopsided_live::command::{Ran, emulate_arguments, emulate_line};

    let asked = emulate_arguments(arguments).map_err(Failure::Usage)?;
    let Ran { emulated, .. } = py.detach(|| emulate_line(&asked)).map_err(failure)?;
    let facts = PyDict::new(py);
    let late = |share| emulated.pumped.lateness.quantile(share).map(|late| late.as_secs_f64() * 1e6);
    for (name, share) in [("late_p50_us", 0.5), ("late_p99_us", 0.99), ("late_max_us", 1.0)] {
        facts.set_item(name, late(share))?;
    }
    facts.set_item("duration_s", emulated.result.duration_s)?;
    facts.set_item("malformed_packets", emulated.pumped.malformed)?;
    facts.set_item("refused_packets", emulated.refused)?;
    facts.set_item("starved_flows", emulated.starved)?;
    let found = PyDict::new(py);
    for (name, table) in emulated.result.tables() {
        found.set_item(name, columns::columns(py, &table)?)?;
    }
    Ok((emulated.exit_code, found, facts))
}

#[cfg(target_os = "linux")]
fn failure(error: lopsided_live::emulate::EmulateError) -> Failure {
    use lopsided_live::emulate::{EmulateError, LineError};

    match error {
        EmulateError::Line(LineError::Scenario(errors)) => Failure::Scenario { file: "line".to_owned(), errors },
        EmulateError::Line(LineError::Usage(what)) => Failure::Usage(what),
        EmulateError::Build(error) => Failure::Usage(error.to_string()),
        EmulateError::Capture { file, error } => Failure::Capture { file: file.display().to_string(), error },
        error => Failure::Live(error.to_string()),
    }
}

#[cfg(not(target_os = "linux"))]
#[pyfunction]
pub(crate) fn emulate<'py>(
    _py: Python<'py>,
    _arguments: Vec<std::ffi::OsString>,
) -> PyResult<(u8, Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    Err(Failure::Live("lines can be emulated only on Linux".to_owned()).into())
}

/// Shapes an interface until a signal ends the program, with the arguments of `lopsided-live shape`. Prints `note` if
/// the arguments are valid. Returns the exit code.
#[cfg(target_os = "linux")]
#[pyfunction]
#[pyo3(signature = (arguments, note=None))]
pub(crate) fn shape(py: Python<'_>, arguments: Vec<std::ffi::OsString>, note: Option<&str>) -> u8 {
    py.detach(|| lopsided_live::command::shape(arguments, note))
}

#[cfg(not(target_os = "linux"))]
#[pyfunction]
#[pyo3(signature = (_arguments, _note=None))]
pub(crate) fn shape(_arguments: Vec<std::ffi::OsString>, _note: Option<&str>) -> PyResult<u8> {
    Err(Failure::Live("queue disciplines can be applied to interfaces only on Linux".to_owned()).into())
}

/// Returns sensing packets (delay probes) to their senders until a signal ends the program, with the arguments of
/// `lopsided-live reflect`. Returns the exit code.
#[cfg(target_os = "linux")]
#[pyfunction]
pub(crate) fn reflect(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| lopsided_live::command::run(std::iter::once("reflect".into()).chain(arguments)))
}

#[cfg(not(target_os = "linux"))]
#[pyfunction]
pub(crate) fn reflect(_arguments: Vec<std::ffi::OsString>) -> PyResult<u8> {
    Err(Failure::Live("sensing packets can be returned only on Linux".to_owned()).into())
}
