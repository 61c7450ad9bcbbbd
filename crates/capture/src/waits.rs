//! How long data and ACKs wait on their ways, at any point of capture.
//!
//! The path is cut in four: data from the sender to the point of capture and onward to the receiver, ACKs from the
//! receiver to the point of capture and onward to the sender. Timestamps time the first part of each
//! ([`crate::clock::Clock`]); what a round trip to the receiver or to the sender takes in addition is the second part.
//! Without timestamps all that a round trip takes beyond the smallest one counts as waiting of the data.

use std::collections::VecDeque;

/// Timestamps of the receiver that the sender may still echo.
const MOST_ECHOES: usize = 256;

/// Times that the classification needs, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    /// The smallest round trip; 0 if unknown.
    pub(crate) floor: u64,
    /// The latest round trip; 0 if unknown.
    pub(crate) rtt: u64,
    /// From the point of capture to the sender and back.
    pub(crate) near: u64,
    /// Time that data waits on its way.
    pub(crate) data: u64,
    /// Time that ACKs wait on their way.
    pub(crate) acks: u64,
}

impl Waits {
    /// The ACKs wait, and longer than the data: the data's own bottleneck is not what slows the sender down.
    pub(crate) fn are_of_acks(&self) -> bool {
        self.acks > (self.floor / 5).max(2_000_000) && self.acks as f64 > 1.5 * self.data as f64
    }
}

/// A point of capture from which a round trip to the sender takes at most this many nanoseconds is at the sender.
const AT_SENDER: u64 = 200_000;

/// The four parts of the path, each a moving average of nanoseconds, and the round trips that they come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways {
    echoes: VecDeque<(u32, u64)>,
    last_echo: Option<u32>,
    near_least: Option<u64>,
    near: u64,
    far_least: Option<u64>,
    far: u64,
    data_here: u64,
    data_onward: u64,
    acks_here: u64,
    acks_onward: u64,
    /// The latest wait of data and of ACKs before the point of capture, and of ACKs behind it.
    latest: [u64; 3],
    /// The longest wait of data in this round trip and the one before, and when this one began.
    recent: [u64; 2],
    since: u64,
}

impl Ways {
    /// Takes over the smallest round trips of an earlier connection between the same hosts.
    pub(crate) fn start_from(&mut self, [far, near]: [Option<u64>; 2]) {
        (self.far_least, self.near_least) = (far, near);
    }

    /// The smallest round trip to the receiver.
    pub(crate) fn far_least(&self) -> Option<u64> {
        self.far_least
    }

    /// The smallest round trip to the sender, by the echo of timestamps.
    pub(crate) fn near_least(&self) -> Option<u64> {
        self.near_least
    }

    /// An ACK with this timestamp passes, after it waited on its way.
    pub(crate) fn ack_passed(&mut self, at: u64, value: Option<u32>, waited: Option<u64>) {
        if let Some(waited) = waited {
            self.acks_here = smooth(self.acks_here, waited);
            self.latest[1] = waited;
        }
        let Some(value) = value else { return };
        if self.echoes.back().is_none_or(|(last, _)| *last != value) {
            if self.echoes.len() == MOST_ECHOES {
                self.echoes.pop_front();
            }
            self.echoes.push_back((value, at));
        }
    }

    /// Data with this echo passes, after it waited on its way. `clocked`: an ACK released it.
    pub(crate) fn data_passed(&mut self, at: u64, echo: Option<u32>, waited: Option<u64>, clocked: bool) {
        if let Some(waited) = waited {
            self.data_here = smooth(self.data_here, waited);
            self.latest[0] = waited;
            self.remember(at, waited + self.data_onward);
        }
        let Some(echo) = echo.filter(|echo| self.last_echo != Some(*echo)) else { return };
        self.last_echo = Some(echo);
        let found = self.echoes.iter().rposition(|(value, _)| *value == echo);
        let Some((_, sent)) = found.map(|place| self.echoes[place]) else { return };
        let near = at.saturating_sub(sent);
        let least = self.near_least.map_or(near, |least| least.min(near));
        self.near_least = Some(least);
        if self.is_at_sender(least) {
            // The rest of the time is pacing or the application.
            self.near = least;
        } else if clocked {
            self.near = near;
            let onward = (near - least).saturating_sub(waited.unwrap_or(0));
            self.acks_onward = smooth(self.acks_onward, onward);
            self.latest[2] = onward;
        }
    }

    fn is_at_sender(&self, near_least: u64) -> bool {
        near_least <= AT_SENDER || self.far_least.is_some_and(|far| near_least <= far / 50)
    }

    /// A round trip from the point of capture to the receiver, of which the ACK `waited` on its way back.
    pub(crate) fn round_trip(&mut self, at: u64, far: u64, waited: Option<u64>) {
        let least = self.far_least.map_or(far, |least| least.min(far));
        self.far_least = Some(least);
        self.far = far;
        let onward = (far - least).saturating_sub(waited.unwrap_or(0));
        self.data_onward = smooth(self.data_onward, onward);
        self.remember(at, self.data_here + onward);
    }

    /// Time that data waited which a round trip to the receiver timed.
    pub(crate) fn data_wait(&self, far: u64, waited: Option<u64>) -> u64 {
        let onward = far.saturating_sub(self.far_least.unwrap_or(far)).saturating_sub(waited.unwrap_or(0));
        self.latest[0] + onward
    }

    /// Time that the latest ACK waited.
    pub(crate) fn ack_wait(&self) -> u64 {
        self.latest[1] + self.latest[2]
    }

    /// Time that the latest data waited before the point of capture.
    pub(crate) fn data_wait_here(&self) -> u64 {
        self.latest[0]
    }

    /// The longest that data waited in the last one or two round trips.
    pub(crate) fn recent(&self) -> u64 {
        self.recent[0].max(self.recent[1])
    }

    fn remember(&mut self, at: u64, wait: u64) {
        if at.saturating_sub(self.since) > self.far + self.near {
            self.recent = [0, self.recent[0]];
            self.since = at;
        }
        self.recent[0] = self.recent[0].max(wait);
    }

    /// The waits of now.
    pub(crate) fn now(&self) -> Waits {
        Waits {
            floor: self.far_least.unwrap_or(0) + self.near_least.unwrap_or(0),
            rtt: self.far + self.near,
            near: self.near,
            data: self.data_here + self.data_onward,
            acks: self.acks_here + self.acks_onward,
        }
    }

    /// Frees the memory of echoes.
    pub(crate) fn close(&mut self) {
        self.echoes = VecDeque::new();
    }
}

/// A moving average with a weight of a quarter.
fn smooth(before: u64, now: u64) -> u64 {
    (3 * before + now) / 4
}
