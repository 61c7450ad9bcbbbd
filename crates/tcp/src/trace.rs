//! Records the trace events of a connection. An event is built only if its kind is enabled.

use lopsided_core::Time;
use lopsided_core::tcp_event::{Limit, TcpEvent, TcpEventMask, TimedTcpEvent};
use std::collections::VecDeque;

/// The recorded events, and the kinds of events that are enabled.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    mask: TcpEventMask,
    now: Time,
    /// `None` until a kind of event is enabled.
    record: Option<Box<Record>>,
}

/// The state of a trace whose events are recorded.
#[derive(Debug, Default)]
struct Record {
    events: VecDeque<TimedTcpEvent>,
    /// The limit in the last `Limited` event; `None` before the first.
    limit: Option<Limit>,
    /// The phase of the congestion control in the last `CcPhase` event; empty before the first.
    phase: &'static str,
}

impl Trace {
    pub fn listen_to(&mut self, mask: TcpEventMask) {
        self.mask = mask;
        if !self.is_off() {
            self.record.get_or_insert_default();
        }
    }

    /// Sets the timestamp of the next recorded events.
    #[inline]
    pub fn set_now(&mut self, now: Time) {
        self.now = now;
    }

    /// True if no kind of event is recorded.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.mask == TcpEventMask::NONE
    }

    #[inline]
    pub fn wants(&self, kinds: TcpEventMask) -> bool {
        self.mask.has(kinds)
    }

    /// Records an event if its kind is enabled. Calls `event` to build the event only if the kind is enabled.
    #[inline]
    pub fn emit(&mut self, kind: TcpEventMask, event: impl FnOnce() -> TcpEvent) {
        if self.mask.has(kind) {
            self.push(event());
        }
    }

    /// Records the limit that keeps the sender from sending, unless the last recorded limit is the same.
    #[inline]
    pub fn limited(&mut self, by: Limit) {
        if self.mask.has(TcpEventMask::LIMIT) {
            self.push_limit(by);
        }
    }

    /// Records the phase of the congestion control, unless the last recorded phase is the same.
    #[cold]
    pub fn entered_phase(&mut self, to: &'static str) {
        let Some(record) = &mut self.record else { return };
        let from = std::mem::replace(&mut record.phase, to);
        if from != to {
            self.push(TcpEvent::CcPhase { from, to });
        }
    }

    #[cold]
    fn push_limit(&mut self, by: Limit) {
        if self.record.as_mut().is_some_and(|record| record.limit.replace(by) != Some(by)) {
            self.push(TcpEvent::Limited { by });
        }
    }

    #[cold]
    fn push(&mut self, event: TcpEvent) {
        if let Some(record) = &mut self.record {
            record.events.push_back(TimedTcpEvent { at: self.now, event });
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<TimedTcpEvent> {
        self.record.as_mut()?.events.pop_front()
    }
}
