//! Calls the methods of a user's Python object: a congestion control or a queue discipline.

use super::abort::{ControllerFailure, RunAbort};
use lopsided_core::Time;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use std::fmt;
use std::sync::Arc;

pub(crate) struct Object {
    /// Kind of the user's class, for error messages: "congestion control" or "queue discipline".
    what: &'static str,
    /// Name by which the scenario selects the congestion control or queue discipline.
    pub name: String,
    class: String,
    object: Py<PyAny>,
    abort: Arc<RunAbort>,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.class)
    }
}

impl Object {
    pub fn new(what: &'static str, name: &str, object: &Bound<'_, PyAny>, abort: &Arc<RunAbort>) -> Object {
        Object {
            what,
            name: name.to_owned(),
            class: shown_name(&object.get_type()),
            object: object.clone().unbind(),
            abort: Arc::clone(abort),
        }
    }

    /// Calls `question` with the object. Returns `None` if the run has ended or the call raised an exception.
    pub fn ask<T>(
        &self,
        method: &str,
        now: Time,
        question: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        // After a run is cancelled, its user code must not be called again.
        if self.abort.is_over() {
            return None;
        }
        Python::attach(|py| {
            let answer = question(self.object.bind(py));
            answer
                .map_err(|error| {
                    let called = format!("{}.{method}", self.class);
                    self.abort.end(ControllerFailure {
                        what: self.what,
                        name: self.name.clone(),
                        called,
                        at: now,
                        error,
                    });
                })
                .ok()
        })
    }
}

/// Returns true if the object's class overrides a method of the base class `B`.
pub(crate) fn defines<B: PyTypeInfo>(object: &Bound<'_, PyAny>, method: &str) -> PyResult<bool> {
    let inherited = B::type_object(object.py()).getattr(method)?;
    Ok(!object.get_type().getattr(method)?.is(&inherited))
}

/// Checks that a method has returned `None`.
pub(crate) fn nothing(answer: &Bound<'_, PyAny>) -> PyResult<()> {
    if answer.is_none() {
        return Ok(());
    }
    let text =
        format!("it returned {}, but its return value is not used: assign to self or to the window", answer.repr()?);
    Err(PyTypeError::new_err(text))
}

/// Returns the name of a class or of another callable, for error messages.
pub(crate) fn shown_name(callable: &Bound<'_, PyAny>) -> String {
    let name = callable.getattr("__qualname__").and_then(|name| name.extract::<String>());
    name.or_else(|_| callable.repr().map(|text| text.to_string())).unwrap_or_else(|_| "a controller".to_owned())
}
