//! When timers fire: the grain of a stack's clock, and the one timer that a sender sack_ranges for its losses.

use crate::TimerGrain;
use lopsided_core::{Duration, Time};

impl TimerGrain {
    /// When a timer set at `now` for `after` fires.
    pub(crate) fn deadline(self, now: Time, after: Duration) -> Time {
        match self {
            TimerGrain::Exact => now + after,
            TimerGrain::Tick(tick) => (now + after).ceil_to(tick),
            TimerGrain::Wheel(tick) => wheel_deadline(now, after, tick),
        }
    }
}

/// A wheel has 64 slots a level, each level eight times as coarse as the one below; a timer waits in the first level
/// that reaches it and fires at the end of its slot.
fn wheel_deadline(now: Time, after: Duration, tick: Duration) -> Time {
    let tick = tick.as_nanos();
    // The clock shows the last tick that passed; the span is rounded up to whole ticks from there.
    let expires = now.as_nanos() / tick + after.as_nanos().div_ceil(tick);
    let ahead = expires - now.as_nanos() / tick;
    let mut shift = 0;
    while shift < 24 && ahead >= (63 << shift) {
        shift += 3;
    }
    let slot = if shift == 0 { expires } else { ((expires >> shift) + 1) << shift };
    Time::from_nanos(slot * tick)
}

/// Added to the timers that follow from measured times, so that the grain of the clock does not cut them short: Linux's
/// two ticks at 250 Hz.
pub(crate) const TIMER_MARGIN: Duration = Duration::from_millis(8);

/// What the sender's one loss timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossTimer {
    /// Retransmission timeout (RFC 6298).
    Rto,
    /// Tail loss probe (RFC 8985 section 7).
    Probe,
    /// The end of RACK's reordering window (RFC 8985 section 6.2).
    Reorder,
    /// Zero-window probe (RFC 9293 section 3.8.6.1).
    Persist,
}

/// A deadline and its purpose; unset is [`Time::MAX`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub at: Time,
    pub kind: LossTimer,
}

impl Deadline {
    pub const UNSET: Deadline = Deadline { at: Time::MAX, kind: LossTimer::Rto };

    pub fn is_set(self) -> bool {
        self.at != Time::MAX
    }

    pub fn is(self, kind: LossTimer) -> bool {
        self.is_set() && self.kind == kind
    }
}
