//! The events of a connection on their way to a listener. Without one nothing is built: a bit is looked at.

use lopsided_core::Time;
use lopsided_core::tcp_event::{Limit, TcpEvent, TcpEventMask, TimedTcpEvent};
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(crate) struct Trace {
    mask: TcpEventMask,
    now: Time,
    events: VecDeque<TimedTcpEvent>,
    limit: Option<Limit>,
}

impl Trace {
    pub fn listen_to(&mut self, mask: TcpEventMask) {
        self.mask = mask;
    }

    /// The connection is called at `now`: what follows happens then.
    #[inline]
    pub fn set_now(&mut self, now: Time) {
        self.now = now;
    }

    /// Nobody listens.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.mask == TcpEventMask::NONE
    }

    #[inline]
    pub fn wants(&self, kinds: TcpEventMask) -> bool {
        self.mask.has(kinds)
    }

    /// Notes what `event` makes, if someone listens to events of that kind.
    #[inline]
    pub fn emit(&mut self, kind: TcpEventMask, event: impl FnOnce() -> TcpEvent) {
        if self.mask.has(kind) {
            self.push(event());
        }
    }

    /// Something holds the sender back: told when it is something else than the last time.
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
