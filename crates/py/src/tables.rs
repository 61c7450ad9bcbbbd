//! A run's results as Python values: every table a dictionary of columns, every column a kind and its octets or texts; and the catalogue
//! that says what each column is.

use crate::traces::TraceTable;
use lopsided_core::{DropReason, MarkReason};
use lopsided_sim::{Column, Kind, RunResult, TableSpec};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Everything about a run.
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
    run.set_item("tables", tables)?;
    Ok(run)
}

/// Every table that a run may have: name, meaning, and of each column name, kind, unit, heading and meaning.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn catalogue() -> Vec<(&'static str, &'static str, Vec<[&'static str; 5]>)> {
    let specs = lopsided_sim::catalogue().into_iter().chain([TraceTable::spec()]);
    specs.map(|TableSpec { name, meaning, columns }| (name, meaning, columns.iter().map(told).collect())).collect()
}

fn told(column: &lopsided_sim::ColumnSpec) -> [&'static str; 5] {
    let kind = match column.kind {
        Kind::Integer => "integer",
        Kind::Float => "float",
        Kind::Text => "text",
    };
    [column.name, kind, column.unit.name(), column.heading, column.meaning]
}

/// The reasons that the tables `drops` and `marks` may give, each with its meaning.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn reasons() -> (Vec<(&'static str, &'static str)>, Vec<(&'static str, &'static str)>) {
    let drops = DropReason::ALL.iter().map(|reason| (reason.name(), reason.meaning()));
    let marks = MarkReason::ALL.iter().map(|reason| (reason.name(), reason.meaning()));
    (drops.collect(), marks.collect())
}

/// A table's columns by name.
pub(crate) fn columns<'py>(py: Python<'py>, columns: &[(&'static str, Column<'_>)]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    for (name, column) in columns {
        match column {
            Column::U32(values) => table.set_item(name, ("u32", octets(py, values, u32::to_ne_bytes)?))?,
            Column::U64(values) => table.set_item(name, ("u64", octets(py, values, u64::to_ne_bytes)?))?,
            Column::MaybeU64(values) => table.set_item(name, ("maybe", values.to_vec()))?,
            Column::F64(values) => table.set_item(name, ("f64", octets(py, values, f64::to_ne_bytes)?))?,
            Column::Word(values) => table.set_item(name, ("word", coded(py, values.iter().copied())?))?,
            Column::Name(values) => table.set_item(name, ("word", coded(py, values.iter().map(|name| &**name))?))?,
            Column::Text(values) => table.set_item(name, ("text", values.to_vec()))?,
        }
    }
    Ok(table)
}

/// Each word's place in the list of words that occur, and that list.
fn coded<'py, 'w>(
    py: Python<'py>,
    values: impl Iterator<Item = &'w str>,
) -> PyResult<(Bound<'py, PyBytes>, Vec<&'w str>)> {
    let mut words: Vec<&str> = Vec::new();
    let mut code = |value| match words.iter().position(|word| *word == value) {
        Some(place) => place as u32,
        None => {
            words.push(value);
            words.len() as u32 - 1
        }
    };
    let codes: Vec<u32> = values.map(&mut code).collect();
    Ok((octets(py, &codes, u32::to_ne_bytes)?, words))
}

fn octets<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    convert: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * N, |out| {
        for (value, place) in values.iter().zip(out.chunks_exact_mut(N)) {
            place.copy_from_slice(&convert(*value));
        }
        Ok(())
    })
}
