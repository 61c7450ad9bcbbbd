//! Congestion control written in Python: controllers and algorithms that ask an object of the user's class.
//!
//! The class is called in the threads of the runs, of which one at a time can be in Python. What it raises ends the
//! run, and becomes that run's error.

mod base;
mod harness;
mod object;
mod python_controller;
mod values;
mod window_algorithm;

pub(crate) use base::Controller;
pub(crate) use harness::simulate_controller;
pub(crate) use object::{Object, defines, nothing};
pub(crate) use values::{Acked, Lost, PathState, RateSample, Setup, Signal};
pub(crate) use window_algorithm::{Window, WindowAlgorithm};

use lopsided_core::Time;
use lopsided_sim::{Controllers, Monitor};
use lopsided_tcp::cc;
use object::shown_name;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use python_controller::PythonController;
use std::sync::{Arc, Mutex, PoisonError};
use window_algorithm::PythonWindowAlgorithm;

/// A congestion control that scenarios may name.
#[derive(Clone)]
pub(crate) struct CustomController {
    pub(crate) name: String,
    /// Takes a `Setup` and gives a `Controller` or a `WindowAlgorithm`. Without it a scenario can be read but not run.
    pub(crate) make: Option<Arc<Py<PyAny>>>,
}

const CONGESTION_CONTROL: &str = "congestion control";

/// What went wrong in a user's code.
#[derive(Debug)]
pub(crate) struct ControllerFailure {
    /// What failed, such as "congestion control".
    pub(crate) what: &'static str,
    /// The name in the scenario.
    pub(crate) name: String,
    /// What was called, such as `Gentle.on_ack`.
    pub(crate) called: String,
    pub(crate) at: Time,
    pub(crate) error: PyErr,
}

/// A run as its controllers know it: the first error ends it.
#[derive(Debug)]
pub(crate) struct RunAbort {
    monitor: Arc<Monitor>,
    raised: Mutex<Option<ControllerFailure>>,
}

impl RunAbort {
    pub(crate) fn new(monitor: Arc<Monitor>) -> RunAbort {
        RunAbort { monitor, raised: Mutex::new(None) }
    }

    pub(crate) fn take(&self) -> Option<ControllerFailure> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn end(&self, raised: ControllerFailure) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(raised);
        self.monitor.cancel();
    }

    fn is_over(&self) -> bool {
        self.monitor.is_cancelled()
    }
}

/// The controllers of one run.
pub(crate) fn controllers(own: &[CustomController], abort: &Arc<RunAbort>) -> Result<Controllers, cc::NameTaken> {
    let mut controllers = Controllers::default();
    for CustomController { name, make } in own {
        let Some(make) = make.clone() else { continue };
        let (own_name, abort) = (name.clone(), Arc::clone(abort));
        controllers.add(name, move |setup| {
            Python::attach(|py| {
                let make = make.bind(py);
                ask(&own_name, make, setup, &abort).unwrap_or_else(|error| {
                    let name = own_name.clone();
                    let what = CONGESTION_CONTROL;
                    abort.end(ControllerFailure { what, name, called: shown_name(make), at: Time::ZERO, error });
                    // Of no account: the run is over.
                    cc::build("reno", setup).expect("reno is built in")
                })
            })
        })?;
    }
    Ok(controllers)
}

/// Makes the object, and the controller that asks it.
fn ask(
    name: &str,
    make: &Bound<'_, PyAny>,
    setup: &cc::Setup,
    abort: &Arc<RunAbort>,
) -> PyResult<Box<dyn cc::Controller>> {
    let made = make.call1((Setup(*setup),))?;
    let object = Object::new(CONGESTION_CONTROL, name, &made, abort);
    if made.is_instance_of::<WindowAlgorithm>() {
        return Ok(Box::new(cc::WindowController::new(setup, PythonWindowAlgorithm::new(object, &made, setup)?)));
    }
    match made.cast::<Controller>() {
        Ok(controller) => Ok(Box::new(PythonController::new(object, controller)?)),
        Err(_) => {
            let made = shown_name(&made.get_type());
            Err(PyTypeError::new_err(format!(
                "it gave a {made}: a lopsided.Controller or lopsided.WindowAlgorithm is wanted"
            )))
        }
    }
}
