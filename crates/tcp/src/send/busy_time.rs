//! How long a sender had data to send, and what limited it (Linux's tcp_chrono: `tcpi_busy_time` and its parts).

use lopsided_core::{Duration, Time};

/// What a sender does at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Occupation {
    /// Everything written is acknowledged.
    #[default]
    Idle,
    Busy,
    /// The peer's window limits the sender.
    ReceiverLimited,
    /// All data in the send buffer is outstanding, and the application waits for room.
    BufferLimited,
}

#[derive(Debug, Default)]
pub(super) struct BusyTime {
    occupation: Occupation,
    since: Time,
    spent: [Duration; 4],
}

/// Accumulated times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    /// Time with data to send, including the two limited times.
    pub busy: Duration,
    pub receiver_limited: Duration,
    pub buffer_limited: Duration,
}

impl BusyTime {
    #[inline]
    pub fn switch(&mut self, now: Time, to: Occupation) {
        if self.occupation != to {
            self.spent[self.occupation as usize] += now.saturating_since(self.since);
            self.since = now;
            self.occupation = to;
        }
    }

    pub fn so_far(&self, now: Time) -> Spent {
        let spent = |of: Occupation| {
            let running = if self.occupation == of { now.saturating_since(self.since) } else { Duration::ZERO };
            self.spent[of as usize] + running
        };
        let (receiver_limited, buffer_limited) = (spent(Occupation::ReceiverLimited), spent(Occupation::BufferLimited));
        Spent { busy: spent(Occupation::Busy) + receiver_limited + buffer_limited, receiver_limited, buffer_limited }
    }
}
