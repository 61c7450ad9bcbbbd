//! Computes the first picture of a web page exactly as the page itself would.

use crate::error::Failure;
use lopsided_page::{Request, Session, View};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Runs the scenario, and returns the page's answer in the format of `lopsided_page::Answer`. `columns` is the width of
/// the plot in pixels, and `packets` is the time range, in seconds, in which packets are kept.
#[pyfunction]
pub(crate) fn page_picture<'py>(
    py: Python<'py>,
    text: String,
    settings: Vec<(String, String)>,
    columns: usize,
    packets: (f64, f64),
) -> PyResult<Bound<'py, PyBytes>> {
    let request = Request { text, settings };
    let answer = py.detach(|| {
        let scenario = request.scenario()?;
        let whole = View::whole(&scenario, columns);
        let view = View { packets_from_s: packets.0, packets_to_s: packets.1, ..whole };
        let mut session = Session::open(scenario, view)?;
        // Run in slices, because the page checks its limit on events only between slices.
        while !session.advance(f64::INFINITY, 1 << 20)? {}
        session.finish(None)
    });
    let (answer, _) = answer.map_err(|problems| Failure::Usage(problems.messages().join("; ")))?;
    Ok(PyBytes::new(py, answer.bytes()))
}

/// Returns the parts of a scenario that the page can show and change, as JSON: see `lopsided_page::describe`.
#[pyfunction]
pub(crate) fn page_description(text: String, settings: Vec<(String, String)>) -> PyResult<String> {
    let described = lopsided_page::describe(&Request { text, settings });
    Ok(described.map_err(|problems| Failure::Usage(problems.messages().join("; ")))?.head().to_owned())
}
