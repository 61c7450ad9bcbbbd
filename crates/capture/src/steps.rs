//! The ACKs of a sender in groups of about 1/8 of a round trip, and the flight after each group.
//!
//! This log is sufficient to compare congestion controls, and is much shorter than a list of all ACKs.

/// Maximum number of steps. The log stops when it is full, after at least 500 round trips.
const MOST: usize = 4096;
/// Number of steps in a round trip.
const PER_ROUND: u64 = 8;
/// Shortest step in nanoseconds.
const SHORTEST: u64 = 1_000_000;

/// The way in which a sender detected a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The sender received duplicate ACKs or SACK blocks.
    Fast,
    /// The retransmission timer expired.
    Timeout,
}

/// A group of consecutive ACKs that reached the sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step {
    /// Time of the first ACK, in microseconds since the first step.
    pub at_us: u32,
    /// Bytes that the ACKs newly acknowledge.
    pub acked_bytes: u32,
    /// Bytes that these ACKs report as received for the first time, by acknowledgement or SACK.
    pub delivered_bytes: u32,
    /// Number of ACKs that acknowledge new data.
    pub acks: u16,
    /// Number of duplicate ACKs, which acknowledge no new data while data is in flight.
    pub duplicates: u16,
    /// True during loss recovery.
    pub repairs: bool,
    /// True if the application or the receiver limited the sender in this step.
    pub spoiled: bool,
    /// True in slow start.
    pub slow_start: bool,
    /// Minimum RTT of the whole path in this step, in microseconds; 0 without a sample.
    pub rtt_us: u32,
    /// Sum of the RTT samples in this step, in microseconds.
    pub rtt_sum_us: u64,
    /// Number of RTT samples in this step.
    pub rtts: u16,
    /// Largest flight after a segment outside loss recovery, in bytes; 0 without such a segment.
    pub flight_bytes: u32,
    /// A loss that ends this step, and the flight in bytes at that time.
    pub loss: Option<(Loss, u32)>,
}

impl Step {
    /// Returns the mean of the RTT samples in this step without the minimum, in microseconds.
    pub(crate) fn later_rtt_us(&self) -> u64 {
        let least = u64::from(self.rtt_us);
        (self.rtt_sum_us.saturating_sub(least)).checked_div(u64::from(self.rtts.saturating_sub(1))).unwrap_or(least)
    }
}

/// Log of the ACKs of one sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    steps: Vec<Step>,
    /// Time of the first step in nanoseconds.
    begin: Option<u64>,
    /// Latest RTT in nanoseconds.
    rtt: u64,
    repairs: bool,
    /// True if the next ACK begins a new step.
    is_closed: bool,
}

impl Steps {
    pub(crate) fn all(&self) -> &[Step] {
        &self.steps
    }

    /// Records an ACK at time `at` for `bytes` new bytes; 0 for a duplicate ACK. `delivered` is the number of bytes that
    /// the ACK reports as received for the first time. `rtt` is in nanoseconds; 0 without a sample.
    pub(crate) fn acked(&mut self, at: u64, bytes: u32, delivered: u32, rtt: u64) {
        let begin = *self.begin.get_or_insert(at);
        self.rtt = if rtt > 0 { rtt } else { self.rtt };
        let at_us = u32::try_from(at.saturating_sub(begin) / 1000).unwrap_or(u32::MAX);
        let width_us = (self.rtt / PER_ROUND).max(SHORTEST) / 1000;
        let is_over = |step: &Step| u64::from(at_us.saturating_sub(step.at_us)) >= width_us;
        if self.is_closed || self.steps.last().is_none_or(is_over) {
            if self.steps.len() >= MOST {
                return;
            }
            self.steps.push(Step { at_us, repairs: self.repairs, ..Step::default() });
            self.is_closed = false;
        }
        let Some(step) = self.steps.last_mut() else { return };
        step.acked_bytes = step.acked_bytes.saturating_add(bytes);
        step.delivered_bytes = step.delivered_bytes.saturating_add(delivered);
        let count = if bytes > 0 { &mut step.acks } else { &mut step.duplicates };
        *count = count.saturating_add(1);
        let rtt_us = u32::try_from(rtt / 1000).unwrap_or(u32::MAX);
        step.rtt_sum_us += u64::from(rtt_us);
        step.rtts = step.rtts.saturating_add(u16::from(rtt_us > 0));
        if rtt_us > 0 && (step.rtt_us == 0 || rtt_us < step.rtt_us) {
            step.rtt_us = rtt_us;
        }
    }

    /// Records the flight in bytes after a segment outside loss recovery.
    pub(crate) fn sent(&mut self, flight: u32, slow_start: bool) {
        if let Some(step) = self.steps.last_mut().filter(|_| !self.is_closed) {
            step.flight_bytes = step.flight_bytes.max(flight);
            step.slow_start = slow_start;
        }
    }

    /// Records that the application or the receiver limited the sender.
    pub(crate) fn spoiled(&mut self) {
        if let Some(step) = self.steps.last_mut().filter(|_| !self.is_closed) {
            step.spoiled = true;
        }
    }

    /// Records the start of a loss recovery; `flight` is the flight at that time in bytes.
    pub(crate) fn lost(&mut self, loss: Loss, flight: u32) {
        // The ACK that reveals the loss also reports data as received. The sender has not yet sent new data in
        // response, so the flight is too small at this time. Use the largest flight of the previous round trip instead,
        // which equals the window.
        let latest = self.steps.iter().rev().take(PER_ROUND as usize).take_while(|step| step.loss.is_none());
        let flight = latest.filter(|step| !step.repairs).map(|step| step.flight_bytes).fold(flight, u32::max);
        if let Some(step) = self.steps.last_mut() {
            step.loss = Some((loss, flight));
        }
        (self.repairs, self.is_closed) = (true, true);
    }

    /// Adds `bytes` to the flight before the latest loss.
    pub(crate) fn lost_more(&mut self, bytes: u32) {
        let latest = self.steps.iter_mut().rev().find(|step| step.loss.is_some());
        if let Some((Loss::Fast, flight)) = latest.and_then(|step| step.loss.as_mut()) {
            *flight += bytes;
        }
    }

    /// Records the end of a loss recovery.
    pub(crate) fn repaired(&mut self) {
        (self.repairs, self.is_closed) = (false, true);
    }

    /// Frees the unused capacity.
    pub(crate) fn close(&mut self) {
        self.steps.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_separates_the_minimum_rtt_from_the_mean_of_the_other_samples() {
        let mut steps = Steps::default();
        for (at, rtt_ms) in [(0, 12), (1, 10), (2, 16), (3, 0)] {
            steps.acked(at, 1448, 1448, rtt_ms * 1_000_000);
        }
        let [step] = steps.all() else { panic!("all ACKs are in one step: {:?}", steps.all()) };
        assert_eq!((step.rtt_us, step.later_rtt_us()), (10_000, 14_000));
        let first = Step { rtt_us: 10_000, rtt_sum_us: 10_000, rtts: 1, ..Step::default() };
        assert_eq!(first.later_rtt_us(), 10_000);
    }
}
