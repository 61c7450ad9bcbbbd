//! A controller that calls an object of a class derived from `lopsided.Controller`.

use super::base::{Controller, Targets};
use super::object::{Object, defines, nothing};
use super::values::{Acked, Idle, Lost, PathState, Signal, ecn_use, feedback_word};
use lopsided_core::{BitRate, Bytes, Time};
use lopsided_tcp::{EcnUse, Feedback, cc};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

#[derive(Debug)]
pub(super) struct PythonController {
    object: Object,
    /// The window, threshold and pacing rate that the Python object assigned last.
    targets: Targets,
    mss: u64,
    owns_recovery: bool,
    ecn_use: EcnUse,
    defines_on_idle: bool,
    defines_on_recovered: bool,
    needs_losses: bool,
}

impl PythonController {
    pub fn new(object: Object, made: &Bound<'_, Controller>) -> PyResult<PythonController> {
        let targets = made.borrow().targets();
        let made = made.as_any();
        Ok(PythonController {
            object,
            targets,
            mss: 1,
            owns_recovery: made.getattr("owns_recovery")?.extract()?,
            ecn_use: ecn_use(made)?,
            // A method that the class does not override is not called, because each call must acquire the interpreter's
            // lock.
            defines_on_idle: defines::<Controller>(made, "on_idle")?,
            defines_on_recovered: defines::<Controller>(made, "on_recovered")?,
            needs_losses: defines::<Controller>(made, "on_lost")?,
        })
    }

    /// Calls a method, and then reads the targets that the method has assigned.
    fn tell<A: for<'py> PyCallArgs<'py>>(&mut self, method: &'static str, now: Time, arguments: A) {
        let new_targets = self.object.ask(method, now, |object| {
            let controller = object.cast::<Controller>()?;
            controller.borrow_mut().now = now;
            nothing(&object.call_method1(method, arguments)?)?;
            Ok(controller.borrow().targets())
        });
        // The run ends after an error, so the old targets can be used.
        self.targets = new_targets.unwrap_or(self.targets);
    }
}

impl cc::Controller for PythonController {
    fn name(&self) -> &str {
        &self.object.name
    }

    fn on_feedback_agreed(&mut self, feedback: Feedback) {
        // This event belongs to the handshake, so the time is not set.
        self.tell("on_feedback_agreed", Time::ZERO, (feedback_word(feedback),));
    }

    fn on_established(&mut self, now: Time, path: &cc::PathState) {
        self.mss = path.mss.get();
        self.tell("on_established", now, (PathState(*path),));
        self.object.ask("on_established", now, |object| {
            object.cast::<Controller>()?.borrow_mut().settle_pacing();
            Ok(())
        });
    }

    fn on_idle(&mut self, now: Time, idle: cc::Idle, path: &cc::PathState) {
        if self.defines_on_idle {
            self.tell("on_idle", now, (Idle(idle), PathState(*path)));
        } else if let Some(window) = idle.window() {
            self.limit_window(now, window);
        }
    }

    fn on_ack(&mut self, now: Time, ack: &cc::Acked, path: &cc::PathState) {
        self.mss = path.mss.get();
        self.tell("on_ack", now, (Acked(*ack), PathState(*path)));
    }

    fn on_congestion(&mut self, now: Time, signal: cc::Signal, path: &cc::PathState) {
        self.mss = path.mss.get();
        self.tell("on_congestion", now, (Signal(signal), PathState(*path)));
    }

    fn on_lost(&mut self, now: Time, lost: &cc::Lost, path: &cc::PathState) {
        self.tell("on_lost", now, (Lost(*lost), PathState(*path)));
    }

    fn needs_losses(&self) -> bool {
        self.needs_losses
    }

    fn on_recovered(&mut self, now: Time, path: &cc::PathState) {
        if self.defines_on_recovered {
            self.tell("on_recovered", now, (PathState(*path),));
        }
    }

    fn on_undo(&mut self, now: Time) {
        self.tell("on_undo", now, ());
    }

    fn limit_window(&mut self, now: Time, most: Bytes) {
        self.tell("limit_window", now, (most.get(),));
    }

    /// Returns the window, but at least one segment: the connection could never send with a smaller window.
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.targets.cwnd.max(self.mss))
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.targets.ssthresh.map(Bytes::new)
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.targets.pacing_rate.map(BitRate::from_bps)
    }

    fn owns_recovery(&self) -> bool {
        self.owns_recovery
    }

    fn ecn_use(&self) -> EcnUse {
        self.ecn_use
    }
}
