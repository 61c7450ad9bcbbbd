//! Congestion control written in Python: controllers and laws that ask an object of the user's class.
//!
//! The class is called in the threads of the runs, of which one at a time can be in Python. What it raises ends the run, and becomes
//! that run's error.

mod asked;
mod base;
mod law;
mod object;
mod on_a_line;
mod seen;

pub(crate) use base::Controller;
pub(crate) use law::{Law, Window};
pub(crate) use on_a_line::alone;
pub(crate) use seen::{Acked, Lost, PathState, RateSample, Setup, Signal};

use asked::AskedController;
use law::AskedLaw;
use lopsided_core::Time;
use lopsided_sim::{Controllers, Monitor};
use lopsided_tcp::cc;
use object::{Object, shown_name};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// A congestion control that scenarios may name.
#[derive(Clone)]
pub(crate) struct Own {
    pub(crate) name: String,
    /// Takes a `Setup` and gives a `Controller` or a `Law`. Without it a scenario can be read but not run.
    pub(crate) make: Option<Arc<Py<PyAny>>>,
}

/// What went wrong in a user's code.
#[derive(Debug)]
pub(crate) struct Raised {
    /// The name in the scenario.
    pub(crate) name: String,
    /// What was called, such as `Gentle.on_ack`.
    pub(crate) called: String,
    pub(crate) at: Time,
    pub(crate) error: PyErr,
}

/// A run as its controllers know it: the first error ends it.
#[derive(Debug)]
pub(crate) struct Fate {
    monitor: Arc<Monitor>,
    raised: Mutex<Option<Raised>>,
}

impl Fate {
    pub(crate) fn new(monitor: Arc<Monitor>) -> Fate {
        Fate { monitor, raised: Mutex::new(None) }
    }

    pub(crate) fn take(&self) -> Option<Raised> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn end(&self, raised: Raised) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(raised);
        self.monitor.cancel();
    }

    fn is_over(&self) -> bool {
        self.monitor.is_cancelled()
    }
}

/// The controllers of one run.
pub(crate) fn controllers(own: &[Own], fate: &Arc<Fate>) -> Result<Controllers, cc::NameTaken> {
    let mut controllers = Controllers::default();
    for Own { name, make } in own {
        let Some(make) = make.clone() else { continue };
        let (own_name, fate) = (name.clone(), Arc::clone(fate));
        controllers.add(name, move |setup| {
            Python::attach(|py| {
                let make = make.bind(py);
                ask(&own_name, make, setup, &fate).unwrap_or_else(|error| {
                    let name = own_name.clone();
                    fate.end(Raised { name, called: shown_name(make), at: Time::ZERO, error });
                    // Of no account: the run is over.
                    cc::build("reno", setup).expect("reno is built in")
                })
            })
        })?;
    }
    Ok(controllers)
}

/// Makes the object, and the controller that asks it.
fn ask(name: &str, make: &Bound<'_, PyAny>, setup: &cc::Setup, fate: &Arc<Fate>) -> PyResult<Box<dyn cc::Controller>> {
    let made = make.call1((Setup(*setup),))?;
    let object = Object::new(name, &made, fate);
    if made.is_instance_of::<Law>() {
        return Ok(Box::new(cc::Windowed::new(setup, AskedLaw::new(object, &made, setup)?)));
    }
    match made.cast::<Controller>() {
        Ok(controller) => Ok(Box::new(AskedController::new(object, controller)?)),
        Err(_) => {
            let made = shown_name(&made.get_type());
            Err(PyTypeError::new_err(format!("it gave a {made}: a lopsided.Controller or lopsided.Law is wanted")))
        }
    }
}
