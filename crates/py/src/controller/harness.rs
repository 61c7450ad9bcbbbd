//! A user's controller alone on a line, for its tests.

use super::{CustomController, RunAbort, controllers};
use crate::error::Failure;
use lopsided_core::Duration;
use lopsided_sim::Monitor;
use lopsided_tcp::cc::harness::{Path, setup};
use pyo3::prelude::*;
use std::sync::Arc;

/// What happened: the share of the line that was used, the segments lost, when congestion was told of (s), and the
/// window (time in s, segments) after each ACK.
type ControllerTrace = (f64, u64, Vec<f64>, Vec<(f64, u64)>);

/// Drives what `make` makes over a line of `mbits` Mbit/s with a round trip of `rtt_ns` and a queue of `room` segments,
/// for `span_ns`.
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
    let make = known.get(&name).ok_or_else(|| Failure::Bug("a controller that was added is not there".to_owned()))?;
    let mut path = Path::new(make(&setup()), mbits, Duration::from_nanos(rtt_ns), room);
    let share = path.run(Duration::from_nanos(span_ns));
    if let Some(raised) = abort.take() {
        return Err(Failure::Controller(Box::new(raised)).into());
    }
    let signals = path.signals.iter().map(|at| at.as_secs_f64()).collect();
    let windows = path.trace.iter().map(|(at, segments)| (at.as_secs_f64(), *segments)).collect();
    Ok((share, path.losses, signals, windows))
}
