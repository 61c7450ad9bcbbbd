//! Congestion control in Python: Rust controllers that call an object of the user's class.
//!
//! The methods of the object are called on the thread of the run. An exception in a method ends the run and becomes the
//! run's error.

mod abort;
mod base;
mod harness;
mod object;
mod python_controller;
mod values;
mod window_algorithm;

pub(crate) use abort::{ControllerFailure, RunAbort};
pub(crate) use base::Controller;
pub(crate) use harness::simulate_controller;
pub(crate) use object::{Object, defines, nothing};
pub(crate) use values::{Acked, Idle, Lost, PathState, RateSample, Setup, Signal};
pub(crate) use window_algorithm::{Window, WindowAlgorithm};

use lopsided_core::Time;
use lopsided_sim::RunControllers;
use lopsided_tcp::cc;
use object::shown_name;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use python_controller::PythonController;
use std::sync::Arc;
use window_algorithm::PythonWindowAlgorithm;

/// A user's congestion control that scenarios may select by name.
#[derive(Clone)]
pub(crate) struct CustomController {
    pub(crate) name: String,
    /// A callable from `Setup` to a `Controller` or a `WindowAlgorithm`. If `None`, scenarios can be read but not run.
    pub(crate) make: Option<Arc<Py<PyAny>>>,
}

const CONGESTION_CONTROL: &str = "congestion control";

/// Returns the congestion controls of one run.
pub(crate) fn controllers(own: &[CustomController], abort: &Arc<RunAbort>) -> Result<RunControllers, cc::NameTaken> {
    let mut controllers = RunControllers::default();
    for CustomController { name, make } in own {
        // A scenario can be displayed even if the class of a congestion control that it names is not available.
        let Some(make) = make.clone() else { continue };
        let (own_name, abort) = (name.clone(), Arc::clone(abort));
        controllers.add(name, move |setup| {
            Python::attach(|py| {
                let make = make.bind(py);
                ask(&own_name, make, setup, &abort).unwrap_or_else(|error| {
                    let name = own_name.clone();
                    let what = CONGESTION_CONTROL;
                    abort.end(ControllerFailure { what, name, called: shown_name(make), at: Time::ZERO, error });
                    // The run is cancelled after an error, so any controller can be returned.
                    cc::build("reno", setup).expect("reno is built in")
                })
            })
        })?;
    }
    Ok(controllers)
}

/// Creates the user's object, and the Rust controller that calls it.
fn ask(
    name: &str,
    make: &Bound<'_, PyAny>,
    setup: &cc::Setup,
    abort: &Arc<RunAbort>,
) -> PyResult<Box<dyn cc::Controller>> {
    let made = make.call1((Setup(*setup),))?;
    let object = Object::new(CONGESTION_CONTROL, name, &made, abort);
    // For a window algorithm, Rust code handles timeouts, undo and idle times.
    if made.is_instance_of::<WindowAlgorithm>() {
        return Ok(Box::new(cc::WindowController::new(setup, PythonWindowAlgorithm::new(object, &made, setup)?)));
    }
    match made.cast::<Controller>() {
        Ok(controller) => Ok(Box::new(PythonController::new(object, controller)?)),
        Err(_) => {
            let made = shown_name(&made.get_type());
            Err(PyTypeError::new_err(format!(
                "it returned an object of type {made}; expected a lopsided.Controller or lopsided.WindowAlgorithm"
            )))
        }
    }
}
