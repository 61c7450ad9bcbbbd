//! `lopsided.Controller`, the base class of congestion controls in Python. It stores the targets (window, threshold,
//! pacing rate), and checks each value at its assignment.

use super::values::{Acked, Idle, Lost, PathState, Setup, Signal};
use lopsided_core::Time;
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// RFC 7323, section 2.3: the largest TCP window, in bytes.
const LARGEST_WINDOW: u64 = 1 << 30;

/// Base class of congestion controls. Derive a class, define `on_ack`, `on_congestion` and `on_undo`, and assign the
/// targets.
///
/// Each connection creates one object. The initial value of the window is the stack's initial window.
#[pyclass(subclass, module = "lopsided._native")]
#[derive(Debug)]
pub(crate) struct Controller {
    pub(super) now: Time,
    cwnd: Number,
    ssthresh: Option<Number>,
    pacing_rate: Option<Number>,
    /// True if the controller paces packets. The value is fixed after the connection is established.
    pub(super) paces: Option<bool>,
}

/// A number that is 0 or larger. Fractions are kept, because an algorithm may add fractions of a byte.
#[derive(Clone, Copy, Debug, IntoPyObject)]
pub(super) enum Number {
    Whole(u64),
    Real(f64),
}

/// The targets of a controller, as the connection uses them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Targets {
    pub cwnd: u64,
    pub ssthresh: Option<u64>,
    pub pacing_rate: Option<u64>,
}

impl Controller {
    pub(super) fn targets(&self) -> Targets {
        // An algorithm may compute any number, but TCP's window has a maximum.
        let window = |number: Number| number.whole().min(LARGEST_WINDOW);
        Targets {
            cwnd: window(self.cwnd),
            ssthresh: self.ssthresh.map(window),
            pacing_rate: self.pacing_rate.map(Number::whole),
        }
    }

    pub(super) fn settle_pacing(&mut self) {
        self.paces = Some(self.pacing_rate.is_some());
    }
}

#[pymethods]
impl Controller {
    /// Accepts any additional arguments, because the derived class may need them.
    #[new]
    #[pyo3(signature = (setup, *_own, **_named))]
    fn new(setup: &Bound<'_, Setup>, _own: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> Controller {
        let cwnd = Number::Whole(setup.get().0.initial_window.get());
        Controller { now: Time::ZERO, cwnd, ssthresh: None, pacing_rate: None, paces: None }
    }

    #[classattr]
    const fn owns_recovery() -> bool {
        false
    }

    #[classattr]
    const fn ecn() -> &'static str {
        "classic"
    }

    /// Virtual time since the start of the run, in seconds.
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }

    #[getter]
    fn cwnd_bytes(&self) -> Number {
        self.cwnd
    }

    #[setter]
    fn set_cwnd_bytes(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.cwnd = Number::read("cwnd_bytes", value)?;
        Ok(())
    }

    #[getter]
    fn ssthresh_bytes(&self) -> Option<Number> {
        self.ssthresh
    }

    #[setter]
    fn set_ssthresh_bytes(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.ssthresh = Number::read_or_none("ssthresh_bytes", value)?;
        Ok(())
    }

    #[getter]
    fn pacing_rate_bps(&self) -> Option<Number> {
        self.pacing_rate
    }

    #[setter]
    fn set_pacing_rate_bps(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let rate = Number::read_or_none("pacing_rate_bps", value)?;
        // The connection determines once whether it paces packets, when it is established. It cannot start to pace
        // later.
        if rate.is_some() && self.paces == Some(false) {
            return Err(PyValueError::new_err(
                "a controller that paces must set pacing_rate_bps in on_established or earlier",
            ));
        }
        self.pacing_rate = rate;
        Ok(())
    }

    /// Called before `on_established`, when the handshake has determined how the peer reports ECN marks. `now_s` is 0
    /// during this call.
    #[pyo3(text_signature = "($self, feedback)")]
    fn on_feedback_agreed(&self, _feedback: &str) {}

    /// Called after the handshake, when the segment size and possibly an RTT are known.
    #[pyo3(text_signature = "($self, path)")]
    fn on_established(&self, _path: &Bound<'_, PathState>) {}

    /// Called after an idle time, or if the window was not used. The default calls `limit_window` if the event has a
    /// window.
    #[pyo3(text_signature = "($self, idle, path)")]
    fn on_idle(this: &Bound<'_, Self>, idle: &Bound<'_, Idle>, _path: &Bound<'_, PathState>) -> PyResult<()> {
        match idle.get().0.window() {
            Some(window) => this.call_method1("limit_window", (window.get(),)).map(drop),
            None => Ok(()),
        }
    }

    /// Called for each ACK that delivers data.
    #[pyo3(text_signature = "($self, ack, path)")]
    fn on_ack(this: &Bound<'_, Self>, _ack: &Bound<'_, Acked>, _path: &Bound<'_, PathState>) -> PyResult<()> {
        Err(missing(this, "on_ack(self, ack, path)"))
    }

    /// Called when the window must be reduced. After a timeout, `path.in_flight_bytes` is the amount of data that may
    /// still be in the network.
    #[pyo3(text_signature = "($self, signal, path)")]
    fn on_congestion(
        this: &Bound<'_, Self>,
        _signal: &Bound<'_, Signal>,
        _path: &Bound<'_, PathState>,
    ) -> PyResult<()> {
        Err(missing(this, "on_congestion(self, signal, path)"))
    }

    /// Called when a segment is marked lost, before the congestion signal and the ACK event that result from the loss.
    #[pyo3(text_signature = "($self, lost, path)")]
    fn on_lost(&self, _lost: &Bound<'_, Lost>, _path: &Bound<'_, PathState>) {}

    /// Called when a reduction is complete, because all data that was outstanding at its start is acknowledged.
    #[pyo3(text_signature = "($self, path)")]
    fn on_recovered(&self, _path: &Bound<'_, PathState>) {}

    /// Called when the last congestion signal turns out to be wrong. Restore the state before the signal.
    fn on_undo(this: &Bound<'_, Self>) -> PyResult<()> {
        Err(missing(this, "on_undo(self)"))
    }

    /// Called to reduce the window to `most_bytes` if the window is larger: with the initial window before
    /// `on_established`, at the end of a reduction, and by `on_idle`. The default does nothing.
    #[pyo3(text_signature = "($self, most_bytes)")]
    fn limit_window(&self, _most_bytes: u64) {}
}

pub(super) fn missing<T>(this: &Bound<'_, T>, method: &str) -> PyErr {
    let class = this.as_any().get_type();
    let class = class.name().map_or_else(|_| "the class".to_owned(), |name| name.to_string());
    PyNotImplementedError::new_err(format!("{class} does not define {method}"))
}

impl Number {
    /// Reads a number. The error message contains `what`, the name of the value.
    pub(super) fn read(what: &str, value: &Bound<'_, PyAny>) -> PyResult<Number> {
        let refused = || {
            let shown = value.repr().map_or_else(|_| "that".to_owned(), |text| text.to_string());
            format!("{what} must be a number from 0 up, not {shown}")
        };
        // Integers are tried first, because a 64-bit float cannot represent every integer.
        if let Ok(whole) = value.extract::<u64>() {
            return Ok(Number::Whole(whole));
        }
        match value.extract::<f64>() {
            Ok(real) if real >= 0.0 && real.is_finite() => Ok(Number::Real(real)),
            Ok(_) => Err(PyValueError::new_err(refused())),
            Err(_) => Err(PyTypeError::new_err(refused())),
        }
    }

    fn read_or_none(what: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Number>> {
        if value.is_none() { Ok(None) } else { Number::read(what, value).map(Some) }
    }

    /// Returns the number rounded down, for quantities in bytes or segments.
    pub(super) fn whole(self) -> u64 {
        match self {
            Number::Whole(whole) => whole,
            Number::Real(real) => real as u64,
        }
    }
}
