//! Waiting times of data and of ACKs in queues, measured at any point of capture.
//!
//! The point of capture divides the path into four parts:
//!
//! - data from the sender to the point of capture: timestamps show the wait ([`crate::clock::Clock`]);
//! - data from there to the receiver: the rest of the wait in a round trip to the receiver;
//! - ACKs from the receiver to the point of capture: timestamps show the wait;
//! - ACKs from there to the sender: the rest of the wait in a round trip to the sender.
//!
//! Without timestamps all waiting in a round trip to the receiver counts as waiting of data.

use std::collections::VecDeque;

/// Maximum number of receiver timestamps that are kept until the sender echoes them.
const MOST_ECHOES: usize = 256;

/// The current round trips and waiting times of a path, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    /// Smallest round trip of the whole path; 0 if unknown.
    pub(crate) floor: u64,
    /// Latest round trip of the whole path; 0 if unknown.
    pub(crate) rtt: u64,
    /// Latest round trip from the point of capture to the sender; 0 if unknown.
    pub(crate) near: u64,
    /// Smoothed time that data waits in queues on the whole path.
    pub(crate) data: u64,
    /// Smoothed time that ACKs wait in queues on the whole path.
    pub(crate) acks: u64,
}

impl Waits {
    /// True if ACKs wait in a queue, and clearly longer than data: the bottleneck of the ACKs slows the sender down.
    pub(crate) fn are_of_acks(&self) -> bool {
        self.acks > (self.floor / 5).max(2_000_000) && self.acks as f64 > 1.5 * self.data as f64
    }
}

/// The point of capture counts as at the sender if the smallest round trip to the sender takes at most this many
/// nanoseconds.
const AT_SENDER: u64 = 200_000;

/// The waits in the four parts of the path, as moving averages, and the round trips from which they are computed. All
/// times are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways {
    /// Timestamps of the receiver, and the times at which their ACKs passed.
    echoes: VecDeque<(u32, u64)>,
    /// The latest timestamp that the sender echoed.
    last_echo: Option<u32>,
    /// Smallest and latest round trip from the point of capture to the sender.
    near_least: Option<u64>,
    near: u64,
    /// Smallest and latest round trip from the point of capture to the receiver.
    far_least: Option<u64>,
    far: u64,
    /// Wait of data before and after the point of capture.
    data_here: u64,
    data_onward: u64,
    /// Wait of ACKs before and after the point of capture.
    acks_here: u64,
    acks_onward: u64,
    /// Latest wait, not smoothed: of data before the point of capture, of ACKs before it, of ACKs after it.
    latest: [u64; 3],
    /// Longest wait of data in the current and in the previous round trip.
    recent: [u64; 2],
    /// Begin of the current round trip.
    since: u64,
}

impl Ways {
    /// Sets the smallest round trips to the receiver and to the sender, from an earlier connection between the same
    /// hosts.
    pub(crate) fn start_from(&mut self, [far, near]: [Option<u64>; 2]) {
        (self.far_least, self.near_least) = (far, near);
    }

    /// Smallest round trip from the point of capture to the receiver.
    pub(crate) fn far_least(&self) -> Option<u64> {
        self.far_least
    }

    /// Smallest round trip from the point of capture to the sender, from echoed timestamps.
    pub(crate) fn near_least(&self) -> Option<u64> {
        self.near_least
    }

    /// Round trip of the whole path, from a round trip of `far` ns to the receiver. `None` until the first echo shows the
    /// round trip to the sender. Without timestamps the point of capture is assumed to be at the sender.
    pub(crate) fn whole(&self, far: u64) -> Option<u64> {
        let has_timestamps = !self.echoes.is_empty();
        (self.near_least.is_some() || !has_timestamps).then_some(far + self.near)
    }

    /// Records an ACK with timestamp `value` that waited `waited` ns before the point of capture.
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

    /// Records data that echoes the timestamp `echo` and waited `waited` ns before the point of capture. `clocked` is
    /// true if an ACK released the data.
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
            // Here the time beyond the minimum is not a queue: the sender paces, or the application is late.
            self.near = least;
        } else if clocked {
            self.near = near;
            let onward = (near - least).saturating_sub(waited.unwrap_or(0));
            self.acks_onward = smooth(self.acks_onward, onward);
            self.latest[2] = onward;
        }
    }

    /// True if the point of capture is at the sender, given the smallest round trip to the sender.
    fn is_at_sender(&self, near_least: u64) -> bool {
        near_least <= AT_SENDER || self.far_least.is_some_and(|far| near_least <= far / 50)
    }

    /// Records a round trip of `far` ns to the receiver, whose ACK waited `waited` ns before the point of capture.
    pub(crate) fn round_trip(&mut self, at: u64, far: u64, waited: Option<u64>) {
        let least = self.far_least.map_or(far, |least| least.min(far));
        self.far_least = Some(least);
        self.far = far;
        let onward = (far - least).saturating_sub(waited.unwrap_or(0));
        self.data_onward = smooth(self.data_onward, onward);
        self.remember(at, self.data_here + onward);
    }

    /// Wait of the data that a round trip of `far` ns to the receiver measured. Its ACK waited `waited` ns.
    pub(crate) fn data_wait(&self, far: u64, waited: Option<u64>) -> u64 {
        let onward = far.saturating_sub(self.far_least.unwrap_or(far)).saturating_sub(waited.unwrap_or(0));
        self.latest[0] + onward
    }

    /// Wait of the latest ACK on the whole path.
    pub(crate) fn ack_wait(&self) -> u64 {
        self.latest[1] + self.latest[2]
    }

    /// Wait of the latest data before the point of capture.
    pub(crate) fn data_wait_here(&self) -> u64 {
        self.latest[0]
    }

    /// Longest wait of data in the current and the previous round trip.
    pub(crate) fn recent(&self) -> u64 {
        self.recent[0].max(self.recent[1])
    }

    /// Records a wait of data for `recent`.
    fn remember(&mut self, at: u64, wait: u64) {
        if at.saturating_sub(self.since) > self.far + self.near {
            self.recent = [0, self.recent[0]];
            self.since = at;
        }
        self.recent[0] = self.recent[0].max(wait);
    }

    /// Returns the current round trips and waits.
    pub(crate) fn now(&self) -> Waits {
        Waits {
            floor: self.far_least.unwrap_or(0) + self.near_least.unwrap_or(0),
            rtt: self.far + self.near,
            near: self.near,
            data: self.data_here + self.data_onward,
            acks: self.acks_here + self.acks_onward,
        }
    }

    /// Frees the memory of the timestamps.
    pub(crate) fn close(&mut self) {
        self.echoes = VecDeque::new();
    }
}

/// Exponential moving average; the new value has a weight of 25 %.
fn smooth(before: u64, now: u64) -> u64 {
    (3 * before + now) / 4
}
