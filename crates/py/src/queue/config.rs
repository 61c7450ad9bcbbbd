//! The settings of a queue discipline in Python. The Python class declares the name, type and default of each key.

use super::base::QueueSetup;
use super::discipline::PythonQueue;
use super::{ANY_REGISTERED, CURRENT_RUN, QUEUE_DISCIPLINE};
use crate::controller::Object;
use crate::error::Failure;
use lopsided_queue::{Queue, QueuePlace, register_member};
use lopsided_spec::{AnyPart, Fault, Given, KeyInfo, Member, PartInfo, Value, ValueType};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Registers a class as a queue discipline for scenarios. `parameters` contains its keys with their defaults.
#[pyfunction]
pub(crate) fn register_queue(
    name: String,
    cls: Py<PyAny>,
    text: String,
    parameters: Vec<(String, Bound<'_, PyAny>)>,
) -> PyResult<()> {
    let keys = parameters
        .into_iter()
        .map(|(name, default)| Ok((leaked(name), value_of(&default)?)))
        .collect::<PyResult<Vec<_>>>()?;
    let values = keys.iter().map(|(_, default)| default.clone()).collect();
    let declared = Arc::new(Declared { name: leaked(name), text: leaked(text), keys, class: cls });
    let config = PythonQueueConfig { declared, values };
    let member = Member { info: config.info(), part: Box::new(config) };
    register_member(member, Arc::new(build)).map_err(|taken| Failure::Usage(taken.to_string()))?;
    ANY_REGISTERED.store(true, Ordering::Relaxed);
    Ok(())
}

/// Leaks a text, because a declaration must have static lifetime. Only a few short texts are leaked.
fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// A registered Python class: its name and description in scenarios, and its keys with their defaults.
struct Declared {
    name: &'static str,
    text: &'static str,
    keys: Vec<(&'static str, Value)>,
    class: Py<PyAny>,
}

#[derive(Clone)]
struct PythonQueueConfig {
    declared: Arc<Declared>,
    /// The values of the declared keys, in the order of the keys.
    values: Vec<Value>,
}

impl fmt::Debug for PythonQueueConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct(self.declared.name);
        for ((name, _), value) in self.declared.keys.iter().zip(&self.values) {
            shown.field(name, value);
        }
        shown.finish()
    }
}

impl PythonQueueConfig {
    fn place(&self, name: &str) -> Option<usize> {
        self.declared.keys.iter().position(|(key, _)| *key == name)
    }
}

impl AnyPart for PythonQueueConfig {
    fn info(&self) -> PartInfo {
        let Declared { name, text, keys, .. } = &*self.declared;
        let describe = |(name, default): &(&'static str, Value)| KeyInfo {
            default: default.clone(),
            ..KeyInfo::new(name, type_of(default), "A parameter of a discipline of the user's own.")
        };
        let keys = keys.iter().map(describe).collect();
        PartInfo { name, text, shorthand: None, keys, exclusive: &[], make: None }
    }

    fn get(&self, key: &str) -> Value {
        self.place(key).map_or(Value::None, |place| self.values[place].clone())
    }

    fn set(&mut self, key: &str, value: Value) -> Result<(), String> {
        let place = self.place(key).ok_or_else(|| format!("there is no key `{key}`"))?;
        self.values[place] = value;
        Ok(())
    }

    fn complete(&mut self, _given: &Given<'_>) -> Result<(), Fault> {
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed_clone(&self) -> Box<dyn AnyPart> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn AnyPart) -> bool {
        other.info().name == self.declared.name
            && self.declared.keys.iter().zip(&self.values).all(|((name, _), value)| other.get(name) == *value)
    }
}

/// Creates the queue of one run.
fn build(part: &dyn AnyPart, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
    let config = part.as_any().downcast_ref::<PythonQueueConfig>().expect("a queue is built by its own discipline");
    // The function that builds a queue cannot receive the run as an argument, so a thread-local variable contains the
    // run.
    let abort = CURRENT_RUN.with_borrow(Clone::clone);
    let abort = abort.ok_or_else(|| Fault::new("kind", "a discipline in Python can be built only within a run"))?;
    let name = config.declared.name;
    Python::attach(|py| {
        let class = config.declared.class.bind(py);
        let setup = Bound::new(py, QueueSetup { seed: place.seed, role: place.role.to_owned() })?;
        // Set the parameters before `__init__` is called, because `__init__` may use them.
        let object = class.call_method1("__new__", (class, &setup))?;
        for ((name, _), value) in config.declared.keys.iter().zip(&config.values) {
            object.setattr(*name, to_python(py, value)?)?;
        }
        class.call_method1("__init__", (&object, &setup))?;
        PythonQueue::new(Object::new(QUEUE_DISCIPLINE, name, &object, &abort), &object)
    })
    .map(|queue| Queue::Custom(Box::new(queue)))
    .map_err(|error: PyErr| Fault::new("kind", format!("the queue discipline {name:?} cannot be created: {error}")))
}

/// Converts a default to a value of a scenario. The type of the default determines the type of the key.
fn value_of(default: &Bound<'_, PyAny>) -> PyResult<Value> {
    // Test for bool first, because a Python bool is also an int.
    if default.is_instance_of::<PyBool>() {
        return Ok(Value::Flag(default.extract()?));
    }
    if let Ok(number) = default.extract::<u64>() {
        return Ok(Value::Integer(number));
    }
    if let Ok(number) = default.extract::<f64>() {
        return Ok(Value::Number(number));
    }
    if let Ok(text) = default.extract::<String>() {
        return Ok(Value::Text(text));
    }
    let what =
        format!("a parameter must be a bool, a number that is 0 or larger, or a string, not {}", default.repr()?);
    Err(PyTypeError::new_err(what))
}

fn type_of(value: &Value) -> ValueType {
    match value {
        Value::Flag(_) => ValueType::Flag,
        Value::Integer(_) => ValueType::Integer,
        Value::Number(_) => ValueType::Number,
        _ => ValueType::Text,
    }
}

fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Flag(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Integer(number) => number.into_pyobject(py)?.into_any(),
        Value::Number(number) => number.into_pyobject(py)?.into_any(),
        Value::Text(text) => text.into_pyobject(py)?.into_any(),
        _ => py.None().into_bound(py),
    })
}
