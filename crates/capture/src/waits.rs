//! Queueing delays of data and of ACKs, measured at any point of capture.
//!
//! The point of capture divides the path into four parts:
//!
//! - data from the sender to the point of capture: timestamps show the queueing delay ([`crate::clock::Clock`]);
//! - data from the point of capture to the receiver: the rest of the queueing delay in an RTT to the receiver;
//! - ACKs from the receiver to the point of capture: timestamps show the queueing delay;
//! - ACKs from the point of capture to the sender: the rest of the queueing delay in an RTT to the sender.
//!
//! Without timestamps, all queueing delay in an RTT to the receiver is attributed to the data.

use std::collections::VecDeque;

/// A capture counts as near an endpoint if the RTT between the two is at most this share of the whole RTT.
pub(crate) const AT_AN_END: f64 = 0.1;
/// Largest number of receiver timestamps that are stored until the sender echoes them.
const MOST_ECHOES: usize = 256;
/// Shortest time constant of the moving averages, in nanoseconds.
const LEAST_MEMORY: u64 = 20_000_000;

/// The current RTTs and queueing delays of a path, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    /// Minimum RTT of the whole path; 0 if unknown.
    pub(crate) floor: u64,
    /// Latest RTT of the whole path; 0 if unknown.
    pub(crate) rtt: u64,
    /// Latest RTT from the point of capture to the sender; 0 if unknown.
    pub(crate) near: u64,
    /// Mean queueing delay of data on the whole path in the last round trips.
    pub(crate) data: u64,
    /// Mean queueing delay of ACKs on the whole path in the last round trips.
    pub(crate) acks: u64,
}

impl Waits {
    /// Returns true if the queueing delay of ACKs clearly exceeds the queueing delay of data.
    pub(crate) fn are_of_acks(&self) -> bool {
        self.acks > (self.floor / 5).max(2_000_000) && self.acks as f64 > 1.5 * self.data as f64
    }
}

/// If the RTT to an endpoint is at most this, in nanoseconds, the capture was taken at this endpoint.
const AT_END: u64 = 200_000;

/// Returns true if the point of capture is at an endpoint. `this` and `other` are the minimum RTTs to this endpoint and
/// to the other endpoint.
fn is_at_end(this: u64, other: u64) -> bool {
    this <= AT_END || this <= other / 50
}

/// Moving averages of the queueing delays in the four parts of the path, and of the RTTs. Times are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways {
    /// Timestamps of the receiver, and the times at which the ACKs with these timestamps passed.
    echoes: VecDeque<(u32, u64)>,
    /// The latest timestamp that the sender echoed.
    last_echo: Option<u32>,
    /// Minimum and latest RTT from the point of capture to the sender.
    near_least: Option<u64>,
    near: u64,
    /// Minimum and latest RTT from the point of capture to the receiver.
    far_least: Option<u64>,
    far: u64,
    /// Queueing delay of data before and after the point of capture.
    data_here: Average,
    data_onward: Average,
    /// Queueing delay of ACKs before and after the point of capture.
    acks_here: Average,
    acks_onward: Average,
    /// Latest queueing delays: data before the point of capture, ACKs before the point of capture, and ACKs after it.
    latest: [u64; 3],
    /// Time at which the ACK that released the latest segment passed; `None` if no ACK released the segment.
    released: Option<u64>,
    /// Longest queueing delay of data in the current and in the previous round trip.
    recent: [u64; 2],
    /// Start of the current round trip.
    since: u64,
}

impl Ways {
    /// Sets the minimum RTTs to the receiver and sender from an earlier connection.
    pub(crate) fn start_from(&mut self, [far, near]: [Option<u64>; 2]) {
        (self.far_least, self.near_least) = (far, near);
    }

    /// Records the handshake's RTT to the sender, in nanoseconds.
    pub(crate) fn handshake(&mut self, near: u64) {
        // The packets of the handshake are as small as the packet whose one-way delay is the minimum. Data takes longer
        // to transmit. If this minimum RTT were an RTT of data, the transmission time would be subtracted from the
        // queueing delay twice.
        self.near_least = Some(self.near_least.map_or(near, |least| least.min(near)));
        self.near = if self.near == 0 { near } else { self.near };
    }

    /// Returns the minimum RTT from the point of capture to the receiver.
    pub(crate) fn far_least(&self) -> Option<u64> {
        self.far_least
    }

    /// Returns the minimum RTT from the point of capture to the sender, from echoed timestamps.
    pub(crate) fn near_least(&self) -> Option<u64> {
        self.near_least
    }

    /// Returns the time at which the ACK that released the latest segment passed the point of capture. The segment was
    /// captured at `at`.
    pub(crate) fn released(&self, at: u64) -> u64 {
        self.released.unwrap_or_else(|| at.saturating_sub(self.near))
    }

    /// Records an ACK with timestamp `value` and a queueing delay of `waited` ns before the point of capture.
    pub(crate) fn ack_passed(&mut self, at: u64, value: Option<u32>, waited: Option<u64>) {
        if let Some(waited) = waited {
            self.acks_here.add(at, waited, self.memory());
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

    /// Records a data segment that echoes the timestamp `echo` and was queued for `waited` ns. `clocked` is true if an
    /// ACK released the segment.
    pub(crate) fn data_passed(&mut self, at: u64, echo: Option<u32>, waited: Option<u64>, clocked: bool) {
        if let Some(waited) = waited {
            self.data_here.add(at, waited, self.memory());
            self.latest[0] = waited;
            self.remember(at, waited + self.data_onward.mean());
        }
        if !clocked {
            // The segment's one-way delay exceeds that of the handshake's packet by `waited`, which is exact to one tick.
            self.released = Some(at.saturating_sub(self.near_least.unwrap_or(0) + waited.unwrap_or(0)));
        }
        let Some(echo) = echo.filter(|echo| self.last_echo != Some(*echo)) else { return };
        self.last_echo = Some(echo);
        let found = self.echoes.iter().rposition(|(value, _)| *value == echo);
        let Some((_, sent)) = found.map(|place| self.echoes[place]) else { return };
        let near = at.saturating_sub(sent);
        let least = self.near_least.map_or(near, |least| least.min(near));
        self.near_least = Some(least);
        if self.is_at_sender(least) {
            // At the sender, the excess over the minimum is not a queueing delay: either the sender paces, or the
            // application was slow to write.
            self.near = least;
            self.released = None;
        } else if clocked {
            self.near = near;
            self.released = Some(sent);
            let onward = (near - least).saturating_sub(waited.unwrap_or(0));
            self.acks_onward.add(at, onward, self.memory());
            self.latest[2] = onward;
        }
    }

    /// Returns true if the point of capture is at the sender, judged by the minimum RTT to the sender.
    fn is_at_sender(&self, near_least: u64) -> bool {
        is_at_end(near_least, self.far_least.unwrap_or(0))
    }

    /// Returns true if the point of capture is near the sender, judged by the minimum RTTs.
    pub(crate) fn is_near_sender(&self) -> bool {
        let (near, far) = (self.near_least.unwrap_or(0), self.far_least.unwrap_or(0));
        near as f64 <= AT_AN_END * (near + far) as f64
    }

    /// Records an RTT of `far` ns to the receiver, whose ACK was queued for `waited` ns.
    pub(crate) fn round_trip(&mut self, at: u64, far: u64, waited: Option<u64>) {
        let least = self.far_least.map_or(far, |least| least.min(far));
        self.far_least = Some(least);
        self.far = far;
        let onward = self.data_onward_of(far, waited);
        self.data_onward.add(at, onward, self.memory());
        self.remember(at, self.data_here.mean() + onward);
    }

    /// Returns the queueing delay of the data in an RTT of `far` ns, whose ACK was queued for `waited` ns.
    pub(crate) fn data_wait(&self, far: u64, waited: Option<u64>) -> u64 {
        self.latest[0] + self.data_onward_of(far, waited)
    }

    /// Returns the queueing delay of data after the point of capture, in an RTT of `far` ns whose ACK was queued for
    /// `waited` ns.
    fn data_onward_of(&self, far: u64, waited: Option<u64>) -> u64 {
        let Some(least) = self.far_least else { return 0 };
        // If the capture was made at the receiver, a longer RTT than the minimum comes from delayed ACKs, not from a queue.
        let is_at_receiver = self.near_least.is_some_and(|near| is_at_end(least, near));
        if is_at_receiver { 0 } else { far.saturating_sub(least).saturating_sub(waited.unwrap_or(0)) }
    }

    /// Returns the queueing delay of the latest ACK on the whole path.
    pub(crate) fn ack_wait(&self) -> u64 {
        self.latest[1] + self.latest[2]
    }

    /// Returns the queueing delay of the latest data before the point of capture.
    pub(crate) fn data_wait_here(&self) -> u64 {
        self.latest[0]
    }

    /// Returns the longest queueing delay of data in the current and the previous round trip.
    pub(crate) fn recent(&self) -> u64 {
        self.recent[0].max(self.recent[1])
    }

    /// Returns the time constant of the moving averages: the latest RTT of the whole path, in nanoseconds.
    fn memory(&self) -> u64 {
        (self.far + self.near).max(LEAST_MEMORY)
    }

    /// Records a queueing delay of data for `recent`.
    fn remember(&mut self, at: u64, wait: u64) {
        if at.saturating_sub(self.since) > self.far + self.near {
            self.recent = [0, self.recent[0]];
            self.since = at;
        }
        self.recent[0] = self.recent[0].max(wait);
    }

    /// Returns the current RTTs and queueing delays.
    pub(crate) fn now(&self) -> Waits {
        Waits {
            floor: self.far_least.unwrap_or(0) + self.near_least.unwrap_or(0),
            rtt: self.far + self.near,
            near: self.near,
            data: self.data_here.mean() + self.data_onward.mean(),
            acks: self.acks_here.mean() + self.acks_onward.mean(),
        }
    }

    /// Returns the queueing delays of data before and after the point of capture, in nanoseconds.
    pub(crate) fn data_parts(&self) -> [u64; 2] {
        [self.data_here.mean(), self.data_onward.mean()]
    }

    /// Returns the queueing delays of ACKs before and after the point of capture, in nanoseconds.
    pub(crate) fn ack_parts(&self) -> [u64; 2] {
        [self.acks_here.mean(), self.acks_onward.mean()]
    }

    /// Frees the memory of the stored timestamps.
    pub(crate) fn close(&mut self) {
        self.echoes = VecDeque::new();
    }
}

/// The mean of recent values. The weight of a value decreases exponentially with its age.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    /// Weighted sum of the values, and sum of their weights.
    sum: f32,
    weight: f32,
    /// Time of the latest value, in nanoseconds of the file's clock.
    at: u64,
}

impl Average {
    /// Adds a value at time `at`. If values arrive evenly, their mean age is `memory`. Times are in nanoseconds.
    fn add(&mut self, at: u64, value: u64, memory: u64) {
        let kept = (-(at.saturating_sub(self.at) as f32) / memory as f32).exp();
        self.sum = kept * self.sum + value as f32;
        self.weight = kept * self.weight + 1.0;
        self.at = at;
    }

    /// Returns the mean; 0 without values.
    fn mean(&self) -> u64 {
        if self.weight > 0.0 { (self.sum / self.weight) as u64 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns the queueing delays after two RTTs to the receiver, in nanoseconds, and after a handshake of 20 ms with
    /// the sender.
    fn after(round_trips: [u64; 2]) -> Ways {
        let mut ways = Ways::default();
        ways.handshake(20 * MS);
        round_trips.into_iter().for_each(|far| ways.round_trip(0, far, Some(0)));
        ways
    }

    #[test]
    fn a_delayed_ack_at_the_receiver_is_not_a_queueing_delay_of_data() {
        assert_eq!(after([10_000, 40 * MS]).now().data, 0);
        assert_eq!(after([10 * MS, 50 * MS]).now().data, 20 * MS);
    }

    #[test]
    fn an_ack_releases_the_segment_that_echoes_its_timestamp_unless_the_sender_was_idle() {
        let mut ways = after([10 * MS, 10 * MS]);
        ways.ack_passed(100 * MS, Some(1), Some(0));
        ways.data_passed(123 * MS, Some(1), Some(0), true);
        assert_eq!(ways.released(123 * MS), 100 * MS);
        // The next segment echoes the same timestamp, so the same ACK released the segment.
        ways.data_passed(124 * MS, Some(1), Some(0), true);
        assert_eq!(ways.released(124 * MS), 100 * MS);
        // An idle sender needs no ACK. The segment waited for 2 ms and needed the minimum RTT of 20 ms.
        ways.ack_passed(130 * MS, Some(2), Some(0));
        ways.data_passed(190 * MS, Some(2), Some(2 * MS), false);
        assert_eq!(ways.released(190 * MS), (190 - 20 - 2) * MS);
    }

    #[test]
    fn the_transmission_time_of_data_does_not_shorten_the_queueing_delay_of_acks() {
        let mut ways = after([10_000, 10_000]);
        ways.ack_passed(100 * MS, Some(1), Some(0));
        // The ACK waits for 8 ms. The data takes 5 ms longer than the handshake's packets.
        ways.data_passed(133 * MS, Some(1), Some(5 * MS), true);
        assert_eq!(ways.now().acks, 8 * MS);
    }

    #[test]
    fn the_mean_queueing_delay_weighs_all_packets_of_a_round_trip_about_equally() {
        let mut average = Average::default();
        let memory = 100 * MS;
        (0..40).for_each(|number| average.add(number * MS, 10 * MS, memory));
        average.add(40 * MS, 50 * MS, memory);
        assert!((11 * MS..12 * MS).contains(&average.mean()), "{} ns", average.mean());
        // After ten round trips, the old values no longer count.
        average.add(1_040 * MS, 30 * MS, memory);
        assert!(average.mean().abs_diff(30 * MS) < MS / 10, "{} ns", average.mean());
    }
}
