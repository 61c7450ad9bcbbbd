//! Runs a user's congestion control as the only flow on a simple link, for tests of this congestion control.

use super::{CustomController, RunAbort, controllers};
use crate::error::Failure;
use lopsided_core::Duration;
use lopsided_sim::Monitor;
use lopsided_tcp::cc::harness::{Path, setup};
use pyo3::prelude::*;
use std::sync::Arc;

/// The result: used share of the capacity, lost segments, times of congestion signals in seconds, and (time, window in
/// segments) after each ACK.
type ControllerTrace = (f64, u64, Vec<f64>, Vec<(f64, u64)>);

/// Runs the controller that `make` returns for `span_ns` nanoseconds over a link. The link has a rate of `mbits`
/// Mbit/s, an RTT of `rtt_ns` nanoseconds and a queue of `room` segments.
#[pyfunction]
pub(crate) fn simulate_controller(
    make: Py<PyAny>,
    mbits: f64,
    rtt_ns: u64,
    room: u64,
    span_ns: u64,
) -> PyResult<ControllerTrace> {
    let name = "simulated".to_owned();
    let abort = Arc::new(RunAbort::new(Arc::new(Monitor::default())));
    let own = [CustomController { name: name.clone(), make: Some(Arc::new(make)) }];
    let known = controllers(&own, &abort).map_err(|taken| Failure::Usage(taken.to_string()))?;
    let make = known.get(&name).ok_or_else(|| Failure::Bug("a registered controller was not found".to_owned()))?;
    let mut path = Path::new(make(&setup()), mbits, Duration::from_nanos(rtt_ns), room);
    let share = path.run(Duration::from_nanos(span_ns));
    if let Some(raised) = abort.take() {
        return Err(Failure::Controller(Box::new(raised)).into());
    }
    let signals = path.signals.iter().map(|at| at.as_secs_f64()).collect();
    let windows = path.trace.iter().map(|(at, segments)| (at.as_secs_f64(), *segments)).collect();
    Ok((share, path.losses, signals, windows))
}
