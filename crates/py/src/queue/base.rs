//! `lopsided.QueueDiscipline`, the base class of disciplines in Python.

use super::packet_view::PacketView;
use lopsided_core::{DropReason, Time};
use lopsided_queue::Backlog;
use pyo3::exceptions::{PyNotImplementedError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// The place of a queue in its run, and the seed of the run.
#[pyclass(frozen, get_all, module = "lopsided._native")]
#[derive(Clone, Debug)]
pub(crate) struct QueueSetup {
    /// The seed of the run. Use `random.Random(f"{seed} {role}")` for random numbers, so that runs are repeatable.
    pub(crate) seed: u64,
    /// Name of the link with the direction, such as `link/up`.
    pub(crate) role: String,
}

/// An action on a packet that the user's object has requested.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Drop(u64, DropReason),
    Mark(u64),
}

/// Base class of queue disciplines. Derive a class, define `enqueue` and `dequeue`, and register it with
/// `queue_discipline`.
#[pyclass(subclass, module = "lopsided._native")]
#[derive(Debug)]
pub(crate) struct QueueDiscipline {
    pub(super) now: Time,
    pub(super) backlog: Backlog,
    pub(super) actions: Vec<Action>,
}

#[pymethods]
impl QueueDiscipline {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> QueueDiscipline {
        QueueDiscipline { now: Time::ZERO, backlog: Backlog::default(), actions: Vec::new() }
    }

    /// Virtual time of the current call, in seconds.
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }

    /// Number of packets in the queue at the start of the current call.
    #[getter]
    fn backlog_packets(&self) -> u32 {
        self.backlog.packets
    }

    /// Size of the packets in the queue at the start of the current call, in bytes including IP headers.
    #[getter]
    fn backlog_bytes(&self) -> u64 {
        self.backlog.bytes.get()
    }

    /// Drops a packet that is being enqueued or is in the queue.
    #[pyo3(signature = (packet, why = "early"))]
    fn drop(&mut self, packet: &PacketView, why: &str) -> PyResult<()> {
        const REASONS: [DropReason; 3] = [DropReason::QueueFull, DropReason::HeadDrop, DropReason::Early];
        let Some(why) = REASONS.into_iter().find(|reason| reason.name() == why) else {
            return Err(PyValueError::new_err(format!("why is queue_full, head_drop or early, not {why:?}")));
        };
        self.actions.push(Action::Drop(packet.id, why));
        Ok(())
    }

    /// Marks a packet that is being enqueued or is in the queue, if its transport supports ECN (RFC 3168).
    fn mark(&mut self, packet: &PacketView) {
        self.actions.push(Action::Mark(packet.id));
    }

    /// Called when a packet arrives. The packet enters the queue unless this method drops it.
    #[pyo3(text_signature = "($self, packet)")]
    fn enqueue(&self, _packet: &PacketView) -> PyResult<()> {
        Err(PyNotImplementedError::new_err("a queue discipline must define enqueue(self, packet)"))
    }

    /// Returns the packet to send. Called only if the queue is not empty.
    fn dequeue(&self) -> PyResult<Option<PacketView>> {
        Err(PyNotImplementedError::new_err("a queue discipline must define dequeue(self)"))
    }

    /// Returns the time at which the next packet may leave, for a discipline that delays packets.
    fn ready_s(&self) -> f64 {
        self.now_s()
    }

    /// Returns quantities to record in the results, by name.
    fn gauges<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        PyDict::new(py)
    }
}
