//! Measures how long a sender had data to send, and which limits applied (Linux's tcp_chrono: `tcpi_busy_time` and its
//! parts).

use lopsided_core::{Duration, Time};

/// The activity of a sender at one instant, or the limit that blocks the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Occupation {
    /// All written data is acknowledged.
    #[default]
    Idle,
    /// Data is outstanding or waits for the congestion window.
    Busy,
    /// The peer's window limits the sender.
    ReceiverLimited,
    /// All data in the send buffer is outstanding, and the application waits for free space.
    BufferLimited,
}

/// Accumulated time in each state.
#[derive(Debug, Default)]
pub(crate) struct BusyTime {
    occupation: Occupation,
    since: Time,
    /// Time spent in each state up to `since`, indexed by [`Occupation`].
    spent: [Duration; 4],
}

/// Accumulated times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    /// Total time with unsent or outstanding data. The total includes the two times below.
    pub busy: Duration,
    /// Time during which the peer's window limited the sender.
    pub receiver_limited: Duration,
    /// Time during which the send buffer limited the sender.
    pub buffer_limited: Duration,
}

impl BusyTime {
    /// Switches to the state `to` at the time `now`.
    #[inline]
    pub fn switch(&mut self, now: Time, to: Occupation) {
        if self.occupation != to {
            self.spent[self.occupation as usize] += now.saturating_since(self.since);
            self.since = now;
            self.occupation = to;
        }
    }

    /// Returns the time spent in each state up to `now`.
    pub fn so_far(&self, now: Time) -> Spent {
        let spent = |of: Occupation| {
            let running = if self.occupation == of { now.saturating_since(self.since) } else { Duration::ZERO };
            self.spent[of as usize] + running
        };
        let (receiver_limited, buffer_limited) = (spent(Occupation::ReceiverLimited), spent(Occupation::BufferLimited));
        Spent { busy: spent(Occupation::Busy) + receiver_limited + buffer_limited, receiver_limited, buffer_limited }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busy_time_contains_the_time_of_both_limits() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut time = BusyTime::default();
        for (ms, to) in [
            (100, Occupation::Busy),
            (130, Occupation::ReceiverLimited),
            (135, Occupation::ReceiverLimited),
            (150, Occupation::BufferLimited),
            (157, Occupation::Idle),
            (200, Occupation::Busy),
        ] {
            time.switch(at(ms), to);
        }
        let Spent { busy, receiver_limited, buffer_limited } = time.so_far(at(201));
        let expected = [30 + 20 + 7 + 1, 20, 7].map(Duration::from_millis);
        assert_eq!([busy, receiver_limited, buffer_limited], expected);
    }
}
