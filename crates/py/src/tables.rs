//! Converts the results of a run to Python values: each table as a dictionary of columns, and the catalogue of columns.

use crate::columns::columns;
use crate::traces::TraceTable;
use lopsided_core::{DropReason, MarkReason};
use lopsided_sim::{Kind, RunResult, TableSpec};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns all results of a run as a dictionary.
pub(crate) fn to_python<'py>(py: Python<'py>, result: &RunResult, traces: &TraceTable) -> PyResult<Bound<'py, PyDict>> {
    let tables = PyDict::new(py);
    for (name, found) in result.tables() {
        tables.set_item(name, columns(py, &found)?)?;
    }
    tables.set_item(TraceTable::spec().name, columns(py, &traces.columns())?)?;
    let run = PyDict::new(py);
    run.set_item("seed", result.seed)?;
    run.set_item("digest", format!("{:016x}", result.digest))?;
    run.set_item("events", result.events)?;
    run.set_item("packets", result.conservation.originated.packets)?;
    run.set_item("cores", result.cores.as_ref().map(|used| (used.cores, used.share, &used.why)))?;
    run.set_item("tables", tables)?;
    Ok(run)
}

/// Returns for every table of a run its name and meaning, and for each of its columns the name, kind, unit, heading and
/// meaning.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn catalogue() -> Vec<(&'static str, &'static str, Vec<[&'static str; 5]>)> {
    let specs = lopsided_sim::catalogue().into_iter().chain([TraceTable::spec()]);
    specs.map(declared).collect()
}

/// Returns the name and meaning of a table, and the name, kind, unit, heading and meaning of each of its columns.
pub(crate) fn declared(spec: TableSpec) -> (&'static str, &'static str, Vec<[&'static str; 5]>) {
    (spec.name, spec.meaning, spec.columns.iter().map(described).collect())
}

fn described(column: &lopsided_sim::ColumnSpec) -> [&'static str; 5] {
    let kind = match column.kind {
        Kind::Integer => "integer",
        Kind::Float => "float",
        Kind::Text => "text",
    };
    [column.name, kind, column.unit.name(), column.heading, column.meaning]
}

/// Returns the reasons that occur in the tables `drops` and `marks`, each with its meaning.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn reasons() -> (Vec<(&'static str, &'static str)>, Vec<(&'static str, &'static str)>) {
    let drops = DropReason::ALL.iter().map(|reason| (reason.name(), reason.meaning()));
    let marks = MarkReason::ALL.iter().map(|reason| (reason.name(), reason.meaning()));
    (drops.collect(), marks.collect())
}
