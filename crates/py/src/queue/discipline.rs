//! A Rust queue discipline that calls an object of a class derived from `lopsided.QueueDiscipline`.

use super::base::{Action, QueueDiscipline};
use super::packet_view::PacketView;
use crate::controller::{Object, defines, nothing};
use lopsided_core::{Cx, DropReason, Duration, MarkReason, Packet, Time};
use lopsided_queue::{Backlog, Qdisc, QueuedPacket};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct PythonQueue {
    object: Object,
    /// The packets in the queue, by identifier.
    inside: BTreeMap<u64, QueuedPacket>,
    backlog: Backlog,
    /// True if the class overrides `ready_s`, so packets may have to wait.
    holds_back: bool,
}

impl PythonQueue {
    pub(super) fn new(object: Object, made: &Bound<'_, PyAny>) -> PyResult<PythonQueue> {
        if !made.is_instance_of::<QueueDiscipline>() {
            return Err(PyTypeError::new_err("its class does not derive from lopsided.QueueDiscipline"));
        }
        let holds_back = defines::<QueueDiscipline>(made, "ready_s")?;
        Ok(PythonQueue { object, inside: BTreeMap::new(), backlog: Backlog::default(), holds_back })
    }

    /// Calls `question` with the object at the time `now`. Returns `None` if the run has ended.
    fn ask<T>(
        &self,
        method: &str,
        now: Time,
        question: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<(T, Vec<Action>)> {
        self.object.ask(method, now, |object| {
            let base = object.cast::<QueueDiscipline>()?;
            {
                // This borrow must end before the user's method runs, because that method may borrow the object too.
                let mut base = base.borrow_mut();
                (base.now, base.backlog) = (now, self.backlog);
            }
            let answer = question(object)?;
            let actions = std::mem::take(&mut base.borrow_mut().actions);
            for Action::Drop(id, _) | Action::Mark(id) in &actions {
                // Check the actions here, so that an error is attributed to the user's method.
                if !self.inside.contains_key(id) {
                    let what = format!(
                        "packet {id} is not in the queue: only a packet that is being enqueued or is in the queue can be dropped or marked"
                    );
                    return Err(PyValueError::new_err(what));
                }
            }
            Ok((answer, actions))
        })
    }

    /// Performs the requested actions on packets that are still in the queue.
    fn carry_out(&mut self, actions: Vec<Action>, offered: Option<u64>, cx: &mut Cx<'_>) {
        for action in actions {
            match action {
                Action::Mark(id) => {
                    if let Some(waiting) = self.inside.get_mut(&id) {
                        cx.mark(&mut waiting.packet, MarkReason::Early);
                    }
                }
                Action::Drop(id, why) => {
                    if let Some(waiting) = self.inside.remove(&id) {
                        // The packet that is being enqueued is not part of the backlog yet.
                        if offered != Some(id) {
                            self.backlog.remove(waiting.packet.size());
                        }
                        cx.drop(waiting.packet, why);
                    }
                }
            }
        }
    }

    /// Returns the packet that the object selected for sending, which must be in the queue.
    fn next(&self, object: &Bound<'_, PyAny>) -> PyResult<u64> {
        let answer = object.call_method0("dequeue")?;
        let view = answer.cast::<PacketView>().map_err(|_| {
            let waiting = self.inside.len();
            PyTypeError::new_err(format!(
                "it returned {answer:?}, but {waiting} packets are in the queue: return one of them"
            ))
        })?;
        let id = view.get().id;
        if !self.inside.contains_key(&id) {
            return Err(PyValueError::new_err(format!("it returned packet {id}, which is not in the queue")));
        }
        Ok(id)
    }
}

impl Qdisc for PythonQueue {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let (id, size, view) = (packet.id(), packet.size(), PacketView::of(&packet));
        // Insert the packet before the call, so that the object can drop or mark it.
        self.inside.insert(id, QueuedPacket { packet, enqueued_at: cx.now() });
        let asked = self.ask("enqueue", cx.now(), |object| nothing(&object.call_method1("enqueue", (view,))?));
        let actions = asked.map_or_else(|| vec![Action::Drop(id, DropReason::QueueFull)], |((), actions)| actions);
        self.carry_out(actions, Some(id), cx);
        if let Some(taken) = self.inside.get(&id) {
            self.backlog.add(&taken.packet, size, cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        // If the call fails, send the oldest packet: the run is ending, and the queue must not keep packets.
        let oldest = *self.inside.first_key_value()?.0;
        let asked = self.ask("dequeue", cx.now(), |object| self.next(object));
        let (id, actions) = asked.unwrap_or_else(|| (oldest, Vec::new()));
        self.carry_out(actions, None, cx);
        let given = self.inside.remove(&id)?;
        self.backlog.remove(given.packet.size());
        Some(given)
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        if self.inside.is_empty() {
            return None;
        }
        if !self.holds_back {
            return Some(now);
        }
        let asked = self.ask("ready_s", now, |object| {
            let ready: f64 = object.call_method0("ready_s")?.extract()?;
            if ready.is_finite() && ready < MOST_SECONDS {
                return Ok(ready);
            }
            Err(PyValueError::new_err(format!("it returned {ready}; expected a time in seconds")))
        });
        let ready = asked.map_or(now, |(ready, _)| Time::ZERO + Duration::from_nanos((ready * 1e9).ceil() as u64));
        // A time in the past means that the packet may leave now.
        Some(ready.max(now))
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        let gauges = self
            .object
            .ask("gauges", Time::ZERO, |object| object.call_method0("gauges")?.extract::<BTreeMap<String, f64>>());
        gauges.into_iter().flatten().for_each(|(name, value)| out(&name, value));
    }
}

/// 100 years in seconds, which is longer than any run.
const MOST_SECONDS: f64 = 3.2e9;
