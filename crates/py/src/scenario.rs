//! Scenarios: parsed, changed, written back.

use crate::error::Failure;
use lopsided_scenario::Axes;
use pyo3::prelude::*;
use std::sync::Arc;

/// A resolved scenario and the text it came from, so that settings can be changed before everything is checked again.
#[pyclass(frozen, module = "lopsided._native")]
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) resolved: Arc<lopsided_scenario::Scenario>,
    text: Arc<str>,
    file: String,
    overrides: Vec<(String, String)>,
}

#[pymethods]
impl Scenario {
    #[staticmethod]
    #[pyo3(signature = (text, file, overrides = Vec::new()))]
    fn parse(text: &str, file: String, overrides: Vec<(String, String)>) -> PyResult<Scenario> {
        read(Arc::from(text), file, overrides)
    }

    fn with_overrides(&self, overrides: Vec<(String, String)>) -> PyResult<Scenario> {
        read(Arc::clone(&self.text), self.file.clone(), self.overrides.iter().cloned().chain(overrides).collect())
    }

    #[getter]
    fn name(&self) -> &str {
        &self.resolved.name
    }

    #[getter]
    fn title(&self) -> Option<&str> {
        self.resolved.title.as_deref()
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.resolved.duration.as_secs_f64()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.resolved.seed
    }

    /// The axes of the text's `[sweep]`, and its repetitions.
    fn axes(&self) -> PyResult<(Vec<Axis>, u32)> {
        match Axes::parse(&self.text, &self.file) {
            Ok(found) => Ok((found.axes.into_iter().map(axis_parts).collect(), found.repeat)),
            Err(errors) => Err(Failure::Scenario { file: self.file.clone(), errors }.into()),
        }
    }

    /// The scenario as TOML, every default written out.
    fn to_toml(&self) -> String {
        self.resolved.to_toml()
    }

    /// The scenario as JSON, quantities as numbers.
    fn to_json(&self) -> String {
        self.resolved.to_json()
    }
}

fn read(text: Arc<str>, file: String, overrides: Vec<(String, String)>) -> PyResult<Scenario> {
    match lopsided_scenario::Scenario::parse(&text, &file, &overrides) {
        Ok(resolved) => Ok(Scenario { resolved: Arc::new(resolved), text, file, overrides }),
        Err(errors) => Err(Failure::Scenario { file, errors }.into()),
    }
}

/// An axis: its name, and its arms with their labels and overrides.
type Axis = (String, Vec<(String, Vec<(String, String)>)>);

fn axis_parts(axis: lopsided_scenario::Axis) -> Axis {
    (axis.name, axis.arms.into_iter().map(|arm| (arm.label, arm.overrides)).collect())
}

/// An axis from `key=5..50:5 packets` or `key=a,b,c`.
#[pyfunction]
pub(crate) fn axis(text: &str) -> PyResult<Axis> {
    lopsided_scenario::Axis::parse(text).map(axis_parts).map_err(|error| Failure::Usage(error.to_string()).into())
}

/// The JSON Schema of scenario files.
#[pyfunction]
pub(crate) fn schema() -> String {
    lopsided_scenario::schema_json()
}
