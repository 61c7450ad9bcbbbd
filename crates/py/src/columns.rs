//! Converts the columns of a table to Python values: bytes, or lists for texts and for columns with missing values.

use lopsided_sim::Column;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Returns a dictionary that maps the name of each column to its kind and its values.
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

/// Encodes words as indices into a list of distinct words. Returns the indices and the list.
fn coded<'py, 'w>(
    py: Python<'py>,
    values: impl Iterator<Item = &'w str>,
) -> PyResult<(Bound<'py, PyBytes>, Vec<&'w str>)> {
    // A column has few distinct words, so a linear search is fast enough.
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
    // Write directly into Python's buffer, to avoid an intermediate copy.
    PyBytes::new_with(py, values.len() * N, |out| {
        for (value, place) in values.iter().zip(out.chunks_exact_mut(N)) {
            place.copy_from_slice(&convert(*value));
        }
        Ok(())
    })
}
