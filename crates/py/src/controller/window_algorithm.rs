//! `lopsided.WindowAlgorithm`, a base class for algorithms that define only growth and reduction of the window, and its
//! Rust side.

use super::base::{Number, missing};
use super::object::{Object, defines, nothing};
use super::values::{Acked, PathState, Setup, Signal, ecn_use};
use lopsided_core::{Duration, Time};
use lopsided_tcp::{EcnUse, cc};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Base class of window algorithms, which compute the growth of the window and its size after congestion, in segments.
/// Derive a class, and define `cong_avoid` and `ssthresh`. Slow start is part of the growth (`window.reno_cong_avoid`).
/// Timeouts, undo and idle times are handled automatically.
#[pyclass(subclass, module = "lopsided._native")]
#[derive(Debug)]
pub(crate) struct WindowAlgorithm {
    now: Time,
}

#[pymethods]
impl WindowAlgorithm {
    /// Accepts any additional arguments, because the derived class may need them.
    #[new]
    #[pyo3(signature = (_setup, *_own, **_named))]
    fn new(
        _setup: &Bound<'_, Setup>,
        _own: &Bound<'_, PyTuple>,
        _named: Option<&Bound<'_, PyDict>>,
    ) -> WindowAlgorithm {
        WindowAlgorithm { now: Time::ZERO }
    }

    #[classattr]
    const fn increase_when_app_limited() -> bool {
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

    /// Called after the handshake, when the segment size and possibly an RTT are known.
    #[pyo3(text_signature = "($self, path, window)")]
    fn on_established(&self, _path: &Bound<'_, PathState>, _window: &Bound<'_, Window>) {}

    /// Called when data is sent while no data is in flight. `idle_s` is the time since new data was last sent.
    #[pyo3(text_signature = "($self, idle_s, path)")]
    fn on_transmit_start(&self, _idle_s: f64, _path: &Bound<'_, PathState>) {}

    /// Called for every ACK, including ACKs during recovery.
    #[pyo3(text_signature = "($self, ack, path, window)")]
    fn pkts_acked(&self, _ack: &Bound<'_, Acked>, _path: &Bound<'_, PathState>, _window: &Bound<'_, Window>) {}

    /// Called for each ACK that may increase the window.
    #[pyo3(text_signature = "($self, ack, path, window)")]
    fn cong_avoid(
        this: &Bound<'_, Self>,
        _ack: &Bound<'_, Acked>,
        _path: &Bound<'_, PathState>,
        _window: &Bound<'_, Window>,
    ) -> PyResult<()> {
        Err(missing(this, "cong_avoid(self, ack, path, window)"))
    }

    /// Returns the slow-start threshold after a congestion signal, in segments. Values below 2 are raised to 2.
    #[pyo3(text_signature = "($self, signal, path, window)")]
    fn ssthresh(
        this: &Bound<'_, Self>,
        _signal: &Bound<'_, Signal>,
        _path: &Bound<'_, PathState>,
        _window: &Bound<'_, Window>,
    ) -> PyResult<u64> {
        Err(missing(this, "ssthresh(self, signal, path, window)"))
    }

    /// Called when the retransmission timer has expired. The window is already reduced.
    #[pyo3(text_signature = "($self, path, window)")]
    fn on_timeout(&self, _path: &Bound<'_, PathState>, _window: &Bound<'_, Window>) {}

    /// Called when a reduction is complete, because all data that was outstanding at its start is acknowledged.
    #[pyo3(text_signature = "($self, path, window)")]
    fn on_recovered(&self, _path: &Bound<'_, PathState>, _window: &Bound<'_, Window>) {}

    /// Called when the last congestion signal turns out to be wrong. The window is already restored.
    fn on_undo(&self) {}
}

/// The congestion window of a window algorithm. It can be changed only during the call to which it is passed.
#[pyclass(module = "lopsided._native")]
#[derive(Debug)]
pub(crate) struct Window(cc::Window);

#[pymethods]
impl Window {
    #[getter]
    fn octets(&self) -> u64 {
        self.0.octets()
    }

    #[setter]
    fn set_octets(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.set_octets(Number::read("octets", value)?.whole());
        Ok(())
    }

    #[getter]
    fn segments(&self) -> u64 {
        self.0.segments()
    }

    #[setter]
    fn set_segments(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.set_segments(Number::read("segments", value)?.whole());
        Ok(())
    }

    /// Slow-start threshold in segments, rounded down; None before the first congestion signal.
    #[getter]
    fn ssthresh(&self) -> Option<u64> {
        self.0.ssthresh()
    }

    #[setter]
    fn set_ssthresh(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.set_ssthresh(Number::read("ssthresh", value)?.whole());
        Ok(())
    }

    #[getter]
    fn in_slow_start(&self) -> bool {
        self.0.in_slow_start()
    }

    #[getter]
    fn mss_bytes(&self) -> u64 {
        self.0.mss()
    }

    /// Sets the slow-start threshold to the current window.
    fn end_slow_start(&mut self) {
        self.0.end_slow_start();
    }

    /// Returns the number of bytes for which an ACK counts in the growth of the window, according to the stack's byte
    /// counting.
    fn acked_bytes_for_growth(&self, ack: &Bound<'_, Acked>) -> u64 {
        self.0.acked_bytes_for_growth(&ack.get().0)
    }

    /// Increases the window by `octets`, up to the threshold. Returns the remaining bytes, for congestion avoidance.
    fn slow_start(&mut self, octets: u64) -> u64 {
        self.0.slow_start(octets)
    }

    /// Increases the window by 1 segment for each `every` segments acknowledged.
    fn add_one_per(&mut self, every: &Bound<'_, PyAny>, octets: u64) -> PyResult<()> {
        self.0.add_one_per(Number::read("every", every)?.whole(), octets);
        Ok(())
    }

    /// Increases the window like Reno: slow start, and then 1 segment for each acknowledged window.
    fn reno_cong_avoid(&mut self, octets: u64) {
        self.0.reno_cong_avoid(octets);
    }
}

#[derive(Debug)]
pub(super) struct PythonWindowAlgorithm {
    object: Object,
    lent: Py<Window>,
    increase_when_app_limited: bool,
    ecn_use: EcnUse,
    defines_pkts_acked: bool,
    defines_on_transmit_start: bool,
}

impl PythonWindowAlgorithm {
    pub fn new(object: Object, made: &Bound<'_, PyAny>, setup: &cc::Setup) -> PyResult<PythonWindowAlgorithm> {
        Ok(PythonWindowAlgorithm {
            object,
            lent: Py::new(made.py(), Window(cc::Window::new(setup.initial_window, setup.counting)))?,
            increase_when_app_limited: made.getattr("increase_when_app_limited")?.extract()?,
            ecn_use: ecn_use(made)?,
            defines_pkts_acked: defines::<WindowAlgorithm>(made, "pkts_acked")?,
            defines_on_transmit_start: defines::<WindowAlgorithm>(made, "on_transmit_start")?,
        })
    }

    /// Calls a method that may change the window. The window is the last argument.
    fn tell<A>(&self, method: &'static str, now: Time, window: &mut cc::Window, arguments: impl FnOnce(Py<Window>) -> A)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        self.object.ask(method, now, |object| {
            object.cast::<WindowAlgorithm>()?.borrow_mut().now = now;
            let lent = self.lent.bind(object.py());
            // Copy the window to the Python object and back. Python may keep the object, but later changes must have no
            // effect.
            lent.borrow_mut().0 = *window;
            nothing(&object.call_method1(method, arguments(lent.clone().unbind()))?)?;
            *window = lent.borrow().0;
            Ok(())
        });
    }
}

impl cc::WindowAlgorithm for PythonWindowAlgorithm {
    fn needs_rate(&self) -> bool {
        true
    }

    fn name(&self) -> &str {
        &self.object.name
    }

    fn on_established(&mut self, now: Time, path: &cc::PathState, window: &mut cc::Window) {
        self.tell("on_established", now, window, |window| (PathState(*path), window));
    }

    fn on_transmit_start(&mut self, now: Time, idle: Duration, path: &cc::PathState) {
        if self.defines_on_transmit_start {
            self.object.ask("on_transmit_start", now, |object| {
                object.cast::<WindowAlgorithm>()?.borrow_mut().now = now;
                nothing(&object.call_method1("on_transmit_start", (idle.as_secs_f64(), PathState(*path)))?)
            });
        }
    }

    fn pkts_acked(&mut self, now: Time, ack: &cc::Acked, path: &cc::PathState, window: &mut cc::Window) {
        if self.defines_pkts_acked {
            self.tell("pkts_acked", now, window, |window| (Acked(*ack), PathState(*path), window));
        }
    }

    fn cong_avoid(&mut self, now: Time, ack: &cc::Acked, path: &cc::PathState, window: &mut cc::Window) {
        self.tell("cong_avoid", now, window, |window| (Acked(*ack), PathState(*path), window));
    }

    fn ssthresh(&mut self, now: Time, signal: cc::Signal, path: &cc::PathState, window: &cc::Window) -> u64 {
        let asked = self.object.ask("ssthresh", now, |object| {
            object.cast::<WindowAlgorithm>()?.borrow_mut().now = now;
            let shown = Bound::new(object.py(), Window(*window))?;
            let answer = object.call_method1("ssthresh", (Signal(signal), PathState(*path), shown))?;
            Number::read("a threshold", &answer)
        });
        // If the call failed, the run ends, so any threshold can be returned.
        asked.map_or_else(|| window.reno_ssthresh(), Number::whole)
    }

    fn on_timeout(&mut self, now: Time, path: &cc::PathState, window: &mut cc::Window) {
        self.tell("on_timeout", now, window, |window| (PathState(*path), window));
    }

    fn on_recovered(&mut self, now: Time, path: &cc::PathState, window: &mut cc::Window) {
        self.tell("on_recovered", now, window, |window| (PathState(*path), window));
    }

    fn on_undo(&mut self, now: Time) {
        self.object.ask("on_undo", now, |object| {
            object.cast::<WindowAlgorithm>()?.borrow_mut().now = now;
            nothing(&object.call_method0("on_undo")?)
        });
    }

    fn increase_when_app_limited(&self) -> bool {
        self.increase_when_app_limited
    }

    fn ecn_use(&self) -> EcnUse {
        self.ecn_use
    }
}
