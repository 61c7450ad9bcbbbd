//! The timers of a connection, and the granularity of a stack's clock.

use crate::profile::TimerGrain;
use lopsided_core::tcp_event::TimerKind;
use lopsided_core::{Duration, Time};

impl TimerGrain {
    /// Returns the same kind of clock with the tick length `tick`.
    pub(crate) fn with_tick(self, tick: Duration) -> TimerGrain {
        match self {
            TimerGrain::Exact | TimerGrain::Tick(_) => TimerGrain::Tick(tick),
            TimerGrain::Wheel(_) => TimerGrain::Wheel(tick),
        }
    }

    /// Returns the expiry time of a timer that is armed at `now` with the duration `after`.
    pub(crate) fn deadline(self, now: Time, after: Duration) -> Time {
        match self {
            TimerGrain::Exact => now + after,
            TimerGrain::Tick(tick) => (now + after).ceil_to(tick),
            TimerGrain::Wheel(tick) => wheel_deadline(now, after, tick),
        }
    }

    /// Returns the time that the stack's clock shows at `now`: `now`, rounded down to a tick.
    pub(crate) fn floor(self, now: Time) -> Time {
        match self.tick().as_nanos() {
            0 => now,
            tick => Time::from_nanos(now.as_nanos() / tick * tick),
        }
    }

    /// The tick length; zero for an exact clock.
    pub(crate) fn tick(self) -> Duration {
        match self {
            TimerGrain::Exact => Duration::ZERO,
            TimerGrain::Tick(tick) | TimerGrain::Wheel(tick) => tick,
        }
    }
}

/// Returns the time at which Linux's timer wheel runs a timer: the end of the slot that contains the expiry time. The
/// slot is in the lowest level of the wheel that reaches the expiry time.
fn wheel_deadline(now: Time, after: Duration, tick: Duration) -> Time {
    let tick = tick.as_nanos();
    // The timer starts at the last tick, and its duration is rounded up to whole ticks.
    let ahead = after.as_nanos().div_ceil(tick);
    let expires = now.as_nanos() / tick + ahead;
    let mut shift = 0;
    // calc_wheel_index: the lowest level whose 64 slots reach the expiry.
    while shift < 24 && ahead >= (63 << shift) {
        shift += 3;
    }
    let slot = ((expires >> shift) + 1) << shift;
    Time::from_nanos(slot * tick)
}

/// Margin that is added to timers that are computed from the RTT (Linux's TCP_TIMEOUT_MIN, 2 ms). Without the margin,
/// the granularity of the clock could cause a timer to expire early.
pub(crate) const TIMER_MARGIN: Duration = Duration::from_millis(2);

/// All timers of a connection. As in Linux, the four loss timers share one slot: arming one loss timer cancels the
/// other three.
#[derive(Debug)]
pub(crate) struct TimerTable {
    /// Deadlines; [`UNSET`] if a timer is not armed.
    slots: [Time; SLOTS],
    /// Earliest deadline of the rare timers, cached so that [`TimerTable::next`] need not compare all slots.
    earliest_rare: Time,
    /// Kind of the loss timer that currently occupies the shared slot.
    loss: TimerKind,
}

const SLOTS: usize = 6;
/// Slot of the loss timers.
const LOSS: usize = 0;
/// First slot of the rare timers, which run while no data flows.
const RARE: usize = 3;
/// Deadline of a timer that is not armed.
const UNSET: Time = Time::MAX;

#[inline]
const fn slot(kind: TimerKind) -> usize {
    match kind {
        TimerKind::Retransmission | TimerKind::TailProbe | TimerKind::Reordering | TimerKind::Persist => LOSS,
        TimerKind::DelayedAck => 1,
        TimerKind::Pacing => 2,
        TimerKind::Handshake => 3,
        TimerKind::TimeWait => 4,
        TimerKind::KeepAlive => 5,
    }
}

impl TimerTable {
    pub fn new() -> TimerTable {
        TimerTable { slots: [UNSET; SLOTS], earliest_rare: UNSET, loss: TimerKind::Retransmission }
    }

    /// Arms a timer for the time `at`.
    #[inline]
    pub fn set(&mut self, kind: TimerKind, at: Time) {
        self.put(slot(kind), at);
        if slot(kind) == LOSS {
            self.loss = kind;
        }
    }

    #[inline]
    fn put(&mut self, slot: usize, at: Time) {
        self.slots[slot] = at;
        if slot >= RARE {
            self.earliest_rare = earliest(&self.slots[RARE..]);
        }
    }

    /// Arms a loss timer for the time `at`.
    #[inline]
    pub fn set_loss(&mut self, kind: TimerKind, at: Time) {
        debug_assert_eq!(slot(kind), LOSS);
        self.slots[LOSS] = at;
        self.loss = kind;
    }

    /// Cancels a timer.
    #[inline]
    pub fn stop(&mut self, kind: TimerKind) {
        if self.is_set(kind) {
            self.put(slot(kind), UNSET);
        }
    }

    /// Cancels the loss timer that is armed, if any.
    #[inline]
    pub fn stop_loss(&mut self) {
        self.slots[LOSS] = UNSET;
    }

    pub fn stop_all(&mut self) {
        self.slots = [UNSET; SLOTS];
        self.earliest_rare = UNSET;
    }

    /// Deadline of a timer; `None` if it is not armed.
    #[inline]
    pub fn get(&self, kind: TimerKind) -> Option<Time> {
        let at = self.slots[slot(kind)];
        (at != UNSET && (slot(kind) != LOSS || self.loss == kind)).then_some(at)
    }

    #[inline]
    pub fn is_set(&self, kind: TimerKind) -> bool {
        self.get(kind).is_some()
    }

    /// True if a loss timer is armed.
    #[inline]
    pub fn guards_loss(&self) -> bool {
        self.slots[LOSS] != UNSET
    }

    /// Cancels the timer if it is due, and returns true if it was due.
    #[inline]
    pub fn take_due(&mut self, kind: TimerKind, now: Time) -> bool {
        let due = self.slots[slot(kind)] <= now;
        if due {
            self.put(slot(kind), UNSET);
        }
        due
    }

    /// Like [`TimerTable::take_due`], for the loss timers. Returns the kind of the timer that was due.
    #[inline]
    pub fn take_due_loss(&mut self, now: Time) -> Option<TimerKind> {
        self.take_due(self.loss, now).then_some(self.loss)
    }

    /// The earliest deadline of all timers.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        const { assert!(RARE == 3, "the slots before the rare timers") };
        let [loss, ack, pacing, ..] = self.slots;
        let next = loss.min(ack).min(pacing).min(self.earliest_rare);
        (next != UNSET).then_some(next)
    }
}

fn earliest(slots: &[Time]) -> Time {
    slots.iter().copied().fold(UNSET, Time::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_nanos;

    #[test]
    fn a_loss_timer_replaces_another_loss_timer() {
        let mut timers = TimerTable::new();
        timers.set(TimerKind::Retransmission, AT(10));
        timers.set(TimerKind::TailProbe, AT(5));
        assert_eq!(timers.get(TimerKind::Retransmission), None);
        timers.stop(TimerKind::Retransmission);
        assert_eq!(timers.get(TimerKind::TailProbe), Some(AT(5)), "only the armed loss timer can be cancelled");
        assert_eq!(timers.take_due_loss(AT(4)), None);
        assert_eq!(timers.take_due_loss(AT(5)), Some(TimerKind::TailProbe));
        assert!(!timers.guards_loss());
    }

    #[test]
    fn the_next_timer_is_the_earliest_and_an_expired_timer_is_disarmed() {
        let mut timers = TimerTable::new();
        assert_eq!(timers.next(), None);
        timers.set(TimerKind::TimeWait, AT(30));
        timers.set(TimerKind::DelayedAck, AT(20));
        assert_eq!(timers.next(), Some(AT(20)));
        timers.set(TimerKind::KeepAlive, AT(25));
        assert!(timers.take_due(TimerKind::DelayedAck, AT(25)));
        assert_eq!(timers.next(), Some(AT(25)));
        assert!(timers.take_due(TimerKind::KeepAlive, AT(25)));
        assert_eq!(timers.next(), Some(AT(30)));
        timers.set(TimerKind::Handshake, AT(28));
        timers.stop(TimerKind::TimeWait);
        assert_eq!(timers.next(), Some(AT(28)));
        timers.stop_all();
        assert_eq!(timers.next(), None);
    }
}
