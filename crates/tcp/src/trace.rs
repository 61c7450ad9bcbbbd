//! The recorded events of a connection. Without a listener no event is built; the only cost is the check of a bit.

use lopsided_core::Time;
use lopsided_core::tcp_event::{Limit, TcpEvent, TcpEventMask, TimedTcpEvent};
use std::collections::VecDeque;

#[derive(Debug, Default)]
/// Recorded events and the kinds to record.
pub(crate) struct Trace {
    mask: TcpEventMask,
    now: Time,
    events: VecDeque<TimedTcpEvent>,
    /// The limit that was recorded last.
    limit: Option<Limit>,
}

impl Trace {
    pub fn listen_to(&mut self, mask: TcpEventMask) {
        self.mask = mask;
    }

    /// Sets the time of the events that follow.
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

    /// Records the event that `event` builds, if events of this kind are recorded.
    #[inline]
    pub fn emit(&mut self, kind: TcpEventMask, event: impl FnOnce() -> TcpEvent) {
        if self.mask.has(kind) {
            self.push(event());
        }
    }

    /// Records the limit that holds the sender back, if it differs from the last one.
    #[inline]
    pub fn limited(&mut self, by: Limit) {
        if self.mask.has(TcpEventMask::LIMIT) && self.limit != Some(by) {
            self.limit = Some(by);
            self.push(TcpEvent::Limited { by });
        }
    }

    #[cold]
    fn push(&mut self, event: TcpEvent) {
        self.events.push_back(TimedTcpEvent { at: self.now, event });
    }

    #[inline]
    pub fn pop(&mut self) -> Option<TimedTcpEvent> {
        self.events.pop_front()
    }
}
