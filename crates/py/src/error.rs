//! Converts Rust errors to Python exceptions, which are classes of `lopsided.errors`. All such conversions are in this
//! file.

use crate::controller::ControllerFailure;
use crate::queue::QUEUE_DISCIPLINE;
use lopsided_scenario::Errors;
use lopsided_sim::RunError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::io;

/// An error in Rust code.
#[derive(Debug)]
pub(crate) enum Failure {
    Scenario {
        file: String,
        errors: Errors,
    },
    /// An invalid argument.
    Usage(String),
    Run(RunError),
    /// An exception in a user's congestion control or queue discipline.
    Controller(Box<ControllerFailure>),
    Capture {
        file: String,
        error: io::Error,
    },
    /// A capture cannot be read.
    Trace {
        file: String,
        what: String,
    },
    /// This machine does not permit runs on real packets.
    Live(String),
    /// The agent, which provides the hosts of a run on real packets, ended before the run.
    AgentGone,
    /// A violated invariant, with the message of the panic.
    Bug(String),
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        Python::attach(|py| to_exception(py, failure).unwrap_or_else(|error| error))
    }
}

fn to_exception(py: Python<'_>, failure: Failure) -> PyResult<PyErr> {
    let module = py.import("lopsided.errors")?;
    let (class, message) = match failure {
        Failure::Scenario { file, errors } => {
            let rendered = errors.to_string();
            let problem_class = module.getattr("Problem")?;
            let problems = errors
                .problems
                .into_iter()
                .map(|problem| {
                    let help = problem.help.unwrap_or_default();
                    problem_class.call1((
                        problem.message,
                        problem.line,
                        problem.column,
                        problem.excerpt,
                        help,
                        problem.key,
                    ))
                })
                .collect::<PyResult<Vec<_>>>()?;
            let problems = PyTuple::new(py, problems)?;
            return Ok(PyErr::from_value(module.getattr("ScenarioError")?.call1((rendered, file, problems))?));
        }
        Failure::Usage(message) => ("UsageError", message),
        Failure::Run(error) => ("RunError", error.to_string()),
        Failure::Controller(failure) => {
            let ControllerFailure { what, name, called, at, error } = *failure;
            let time_s = at.as_secs_f64();
            let message = format!("the {what} {name:?} failed in {called}, {time_s:.6} s into the run: {error}");
            let class = module.getattr(if what == QUEUE_DISCIPLINE { "QueueError" } else { "ControllerError" })?;
            let exception = PyErr::from_value(class.call1((message, name, called, time_s))?);
            // Show the user's own traceback as the cause.
            exception.set_cause(py, Some(error));
            return Ok(exception);
        }
        Failure::Capture { file, error } => ("FolderError", format!("cannot write {file}: {error}")),
        Failure::Trace { file, what } => ("FolderError", format!("cannot read {file}: {what}")),
        Failure::Live(message) => ("LiveError", message),
        Failure::AgentGone => ("LiveError", "the agent that represents the hosts has ended".to_owned()),
        Failure::Bug(message) => ("RunError", format!("an error in lopsided itself, please report it: {message}")),
    };
    Ok(PyErr::from_value(module.getattr(class)?.call1((message,))?))
}
