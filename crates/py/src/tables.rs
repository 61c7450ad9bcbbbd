//! A run's results as Python values: every table a dictionary of columns, every column a kind and its octets or texts.

use lopsided_sim::{Column, RunResult};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Everything about a run.
pub(crate) fn to_python<'py>(py: Python<'py>, result: &RunResult) -> PyResult<Bound<'py, PyDict>> {
    let tables = PyDict::new(py);
    tables.set_item("flows", columns(py, &result.flows.columns())?)?;
    tables.set_item("samples", columns(py, &result.samples.columns())?)?;
    tables.set_item("queues", columns(py, &result.queues.columns())?)?;
    tables.set_item("links", columns(py, &result.links.columns())?)?;
    tables.set_item("transfers", columns(py, &result.transfers.columns())?)?;
    tables.set_item("events", columns(py, &result.packet_events.columns())?)?;
    tables.set_item("nodes", columns(py, &result.nodes.columns())?)?;
    let run = PyDict::new(py);
    run.set_item("seed", result.seed)?;
    run.set_item("digest", format!("{:016x}", result.digest))?;
    run.set_item("events", result.events)?;
    run.set_item("packets", result.conservation.originated.packets)?;
    run.set_item("tables", tables)?;
    Ok(run)
}

fn columns<'py>(py: Python<'py>, columns: &[(&'static str, Column<'_>)]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    for (name, column) in columns {
        match column {
            Column::U32(values) => table.set_item(name, ("u32", octets(py, values, u32::to_ne_bytes)?))?,
            Column::U64(values) => table.set_item(name, ("u64", octets(py, values, u64::to_ne_bytes)?))?,
            Column::F64(values) => table.set_item(name, ("f64", octets(py, values, f64::to_ne_bytes)?))?,
            Column::Word(values) => {
                let (codes, words) = coded(values);
                table.set_item(name, ("word", (octets(py, &codes, u32::to_ne_bytes)?, words)))?;
            }
            Column::Text(values) => table.set_item(name, ("text", values.to_vec()))?,
        }
    }
    Ok(table)
}

/// Each word's place in the list of words that occur.
fn coded<'w>(values: &[&'w str]) -> (Vec<u32>, Vec<&'w str>) {
    let mut words: Vec<&str> = Vec::new();
    let mut code = |value| match words.iter().position(|word| *word == value) {
        Some(place) => place as u32,
        None => {
            words.push(value);
            words.len() as u32 - 1
        }
    };
    let codes = values.iter().map(|value| code(*value)).collect();
    (codes, words)
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
