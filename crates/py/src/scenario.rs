//! Parses, changes and writes scenarios.

use crate::controller::CustomController;
use crate::error::Failure;
use lopsided_scenario::Axes;
use pyo3::prelude::*;
use std::sync::Arc;

/// A resolved scenario, with the congestion controls of the user that it can select by name. The text is also stored,
/// so that a changed scenario can be parsed and checked again.
#[pyclass(frozen, module = "lopsided._native")]
pub(crate) struct Scenario {
    pub(crate) resolved: Arc<lopsided_scenario::Scenario>,
    text: Arc<str>,
    file: String,
    overrides: Vec<(String, String)>,
    pub(crate) own: Arc<Vec<CustomController>>,
}

/// Names of congestion controls, each with its factory; see [`CustomController`].
type Controllers = Vec<(String, Option<Py<PyAny>>)>;

#[pymethods]
impl Scenario {
    #[staticmethod]
    #[pyo3(signature = (text, file, overrides = Vec::new(), controllers = Vec::new()))]
    fn parse(
        text: &str,
        file: String,
        overrides: Vec<(String, String)>,
        controllers: Controllers,
    ) -> PyResult<Scenario> {
        read(Arc::from(text), file, overrides, owned(controllers).collect())
    }

    /// Returns a changed scenario. A controller in `controllers` replaces an earlier controller with the same name.
    #[pyo3(signature = (overrides, controllers = Vec::new()))]
    fn with_changes(&self, overrides: Vec<(String, String)>, controllers: Controllers) -> PyResult<Scenario> {
        let mut own: Vec<CustomController> = owned(controllers).collect();
        // Keep the earlier controllers, except those that are replaced.
        let kept: Vec<CustomController> =
            self.own.iter().filter(|old| own.iter().all(|new| new.name != old.name)).cloned().collect();
        own.extend(kept);
        let overrides = self.overrides.iter().cloned().chain(overrides).collect();
        read(Arc::clone(&self.text), self.file.clone(), overrides, own)
    }

    /// Returns the names of the user's own congestion controls, each with its factory.
    fn controllers<'py>(&self, py: Python<'py>) -> Vec<(String, Option<Bound<'py, PyAny>>)> {
        let each = self.own.iter();
        each.map(|own| (own.name.clone(), own.make.as_ref().map(|make| make.bind(py).clone()))).collect()
    }

    /// Returns the original text and the overrides.
    fn source(&self) -> (&str, Vec<(String, String)>) {
        (&self.text, self.overrides.clone())
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

    /// Returns the axes of the table `[sweep]`, and the number of repetitions.
    fn axes(&self) -> PyResult<(Vec<Axis>, u32)> {
        match Axes::parse(&self.text, &self.file) {
            Ok(found) => Ok((found.axes.into_iter().map(axis_parts).collect(), found.repeat)),
            Err(errors) => Err(Failure::Scenario { file: self.file.clone(), errors }.into()),
        }
    }

    /// Returns the scenario with only these flows. The flows have the same random numbers as in the full scenario.
    fn only(&self, flows: Vec<String>) -> PyResult<Scenario> {
        let mut reduced = (*self.resolved).clone();
        reduced.flows.retain(|flow| flows.contains(&flow.name));
        read(Arc::from(reduced.to_toml()), self.file.clone(), Vec::new(), self.own.to_vec())
    }

    /// Returns for each flow the links that its data crosses, as name and direction.
    fn paths(&self) -> Vec<Vec<(&str, &'static str)>> {
        let graph = &self.resolved.graph;
        let routes = graph.routes();
        let path_of = |flow: &lopsided_scenario::FlowSpec| {
            let path = routes.path(flow.from, flow.to).expect("a resolved flow has a path");
            path.iter().map(|hop| (graph.links[hop.link].name.as_str(), hop.dir.name())).collect()
        };
        self.resolved.flows.iter().map(path_of).collect()
    }

    /// Returns the address and port of each flow's receiver in the simulator.
    fn receivers(&self) -> Vec<(String, u16)> {
        let places = lopsided_sim::listeners(&self.resolved);
        places.into_iter().map(|(address, port)| (address.to_string(), port)).collect()
    }

    /// Returns the addresses of the hosts in the simulator.
    fn addresses(&self) -> Vec<String> {
        (0..self.resolved.graph.hosts.len()).map(|host| lopsided_sim::address(host).to_string()).collect()
    }

    /// Returns the scenario as TOML, with every default written out.
    fn to_toml(&self) -> String {
        self.resolved.to_toml()
    }

    /// Returns the scenario as JSON, with quantities as plain numbers.
    fn to_json(&self) -> String {
        self.resolved.to_json()
    }
}

fn owned(controllers: Controllers) -> impl Iterator<Item = CustomController> {
    controllers.into_iter().map(|(name, make)| CustomController { name, make: make.map(Arc::new) })
}

fn read(
    text: Arc<str>,
    file: String,
    overrides: Vec<(String, String)>,
    own: Vec<CustomController>,
) -> PyResult<Scenario> {
    let names: Vec<&str> = own.iter().map(|own| own.name.as_str()).collect();
    match lopsided_scenario::Scenario::parse_with(&text, &file, &overrides, &names) {
        Ok(resolved) => Ok(Scenario { resolved: Arc::new(resolved), text, file, overrides, own: Arc::new(own) }),
        Err(errors) => Err(Failure::Scenario { file, errors }.into()),
    }
}

/// An axis of a sweep: its name and its values. Each value has a label and the overrides that set it.
type Axis = (String, Vec<(String, Vec<(String, String)>)>);

fn axis_parts(axis: lopsided_scenario::Axis) -> Axis {
    (axis.name, axis.arms.into_iter().map(|arm| (arm.label, arm.overrides)).collect())
}

/// Parses an axis such as `key=5..50:5 packets` or `key=a,b,c`.
#[pyfunction]
pub(crate) fn axis(text: &str) -> PyResult<Axis> {
    lopsided_scenario::Axis::parse(text).map(axis_parts).map_err(|error| Failure::Usage(error.to_string()).into())
}

/// Returns the JSON Schema of scenario files.
#[pyfunction]
pub(crate) fn schema() -> String {
    lopsided_scenario::schema_json()
}

/// Returns the presets of access links, each with its name, title, source and keys of `[link]`.
#[pyfunction]
pub(crate) fn presets() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    let described = |preset: &lopsided_scenario::Preset| (preset.name, preset.title, preset.source, preset.link);
    lopsided_scenario::PRESETS.iter().map(described).collect()
}
