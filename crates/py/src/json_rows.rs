//! Rows of a table as JSON text. Python needs several times as long to encode a float.

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::fmt::Write;

/// The values of a column: see [`crate::columns::columns`].
enum Values<'py> {
    U32(Bound<'py, PyBytes>),
    U64(Bound<'py, PyBytes>),
    F64(Bound<'py, PyBytes>),
    /// The indices of words, and the words as JSON text.
    Word(Bound<'py, PyBytes>, Vec<String>),
    List(Bound<'py, PyList>),
}

/// Returns the members of the JSON objects of the rows `first` to `end` (exclusive): one line per column, indented by two
/// spaces, separated by commas. Numbers are written as Python writes them; a missing value is `null`.
#[pyfunction]
pub(crate) fn json_members(table: &Bound<'_, PyDict>, first: usize, end: usize) -> PyResult<Vec<String>> {
    // Python's own function for strings. Its escapes are those of `json.dumps`.
    let quoted = table.py().import("json.encoder")?.getattr("encode_basestring_ascii")?;
    let quote = |value: &Bound<'_, PyAny>| quoted.call1((value,))?.extract::<String>();
    let mut columns = Vec::new();
    for (name, column) in table.iter() {
        let (kind, data): (String, Bound<'_, PyAny>) = column.extract()?;
        let values = match kind.as_str() {
            "u32" => Values::U32(data.extract()?),
            "u64" => Values::U64(data.extract()?),
            "f64" => Values::F64(data.extract()?),
            "word" => {
                let (codes, words): (_, Vec<Bound<'_, PyAny>>) = data.extract()?;
                Values::Word(codes, words.iter().map(quote).collect::<PyResult<_>>()?)
            }
            "maybe" | "text" => Values::List(data.extract()?),
            kind => return Err(PyValueError::new_err(format!("there is no kind {kind} of columns"))),
        };
        columns.push((format!("  {}: ", quote(&name)?), values));
    }
    let mut longest = 0;
    let mut rows = Vec::with_capacity(end.saturating_sub(first));
    for row in first..end {
        let mut text = String::with_capacity(longest);
        for (place, (name, values)) in columns.iter().enumerate() {
            text.push_str(if place == 0 { "" } else { ",\n" });
            text.push_str(name);
            values.write(row, &mut text, &quote)?;
        }
        longest = longest.max(text.len());
        rows.push(text);
    }
    Ok(rows)
}

impl Values<'_> {
    /// Appends the value of a row. `quote` encodes a string.
    fn write(
        &self,
        row: usize,
        text: &mut String,
        quote: &impl Fn(&Bound<'_, PyAny>) -> PyResult<String>,
    ) -> PyResult<()> {
        // Writing to a string cannot fail.
        _ = match self {
            Values::U32(data) => write!(text, "{}", u32::from_ne_bytes(octets(data, row)?)),
            Values::U64(data) => write!(text, "{}", u64::from_ne_bytes(octets(data, row)?)),
            Values::F64(data) => write_float(text, f64::from_ne_bytes(octets(data, row)?)),
            Values::Word(codes, words) => {
                let code = u32::from_ne_bytes(octets(codes, row)?) as usize;
                text.write_str(words.get(code).ok_or_else(absent)?)
            }
            Values::List(list) => {
                let value = list.get_item(row)?;
                if value.is_none() {
                    text.write_str("null")
                } else if let Ok(number) = value.extract::<u64>() {
                    write!(text, "{number}")
                } else {
                    text.write_str(&quote(&value)?)
                }
            }
        };
        Ok(())
    }
}

/// Returns the bytes of a number in a column.
fn octets<const N: usize>(data: &Bound<'_, PyBytes>, row: usize) -> PyResult<[u8; N]> {
    data.as_bytes().get(row * N..).and_then(|rest| rest.first_chunk().copied()).ok_or_else(absent)
}

fn absent() -> PyErr {
    PyIndexError::new_err("the table has fewer rows")
}

/// Appends a number as Python's `repr` writes it, and `null` for infinities and NaN.
fn write_float(text: &mut String, value: f64) -> std::fmt::Result {
    if !value.is_finite() {
        return text.write_str("null");
    }
    let begin = text.len();
    write!(text, "{value:?}")?;
    // Both languages write the shortest digits. Python's exponents have a sign and at least two digits.
    let Some(place) = text[begin..].find('e').map(|place| begin + place) else { return Ok(()) };
    let exponent: i32 = text[place + 1..].parse().unwrap_or(0);
    text.truncate(place);
    write!(text, "e{exponent:+03}")
}
