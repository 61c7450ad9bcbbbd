//! Acknowledgement based on cwnd estimation (ACE; Ming-Chit, Jinsong and Wang, Improving TCP Performance over
//! Asymmetric Networks, Computer Communication Review, July 2000, as described in RFC 3449 section 4.5). The receiver
//! estimates the sender's window from the segments per round trip. The sender is unchanged.
//!
//! An ACK covers the window divided by `min_acks_per_window`, at least one segment and at most `max_delack`. Until an
//! RTT has been measured, each segment gets an ACK. Out-of-order data resets the estimate, because the sender has
//! probably reduced its window.

use super::contract::{AckDecision, AckPolicy, AckView, ArrivedData};
use crate::profile::AckSettings;
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Duration, Time};

#[derive(Debug)]
pub(super) struct WindowEstimate {
    timeout: Duration,
    most: u32,
    acks_per_window: u32,
    /// Start of the current round trip.
    since: Time,
    /// Number of segments that arrived in the current round trip.
    came: u32,
    /// Number of segments in the last complete round trip; 0 if unknown.
    window: u32,
}

impl WindowEstimate {
    pub fn new(settings: &AckSettings) -> WindowEstimate {
        WindowEstimate {
            timeout: settings.max_delay,
            most: settings.max_delack.max(1),
            acks_per_window: settings.min_acks_per_window.max(1),
            since: Time::ZERO,
            came: 0,
            window: 0,
        }
    }

    /// Counts an arriving segment. Starts a new round trip if the current round trip has ended.
    fn count(&mut self, now: Time, rtt: Option<Duration>) {
        let Some(rtt) = rtt else { return };
        let elapsed = now.saturating_since(self.since);
        if elapsed >= rtt {
            // After a pause of two RTTs the sender's window is unknown.
            self.window = if elapsed < rtt * 2 { self.came } else { 0 };
            (self.since, self.came) = (now, 0);
        }
        self.came += 1;
    }
}

impl AckPolicy for WindowEstimate {
    fn name(&self) -> &'static str {
        "ace"
    }

    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision {
        self.count(now, view.rtt.or(view.srtt));
        if let Some(why) = data.arrival.at_once() {
            self.window = 0;
            return AckDecision::Now(why);
        }
        let segments = (self.window / self.acks_per_window).clamp(1, self.most);
        if view.unacked_segments >= segments {
            AckDecision::Now(AckReason::Count)
        } else {
            AckDecision::By(now + self.timeout)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::receive::ack_policy::Arrival;
    use crate::receive::ack_policy::arrivals::{self, IN_ORDER, arrived};

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Returns the number of ACKs between `from` and `to` (in ms), with one segment per millisecond and an RTT of
    /// 100 ms.
    fn acks(policy: &mut WindowEstimate, from: u64, to: u64, arrival: Arrival) -> u32 {
        let (mut waiting, mut acks) = (0, 0);
        for ms in from..to {
            waiting += 1;
            let view = AckView { rtt: Some(Duration::from_millis(100)), ..arrivals::waiting(waiting) };
            if matches!(policy.on_data(at(ms), &arrived(arrival), &view), AckDecision::Now(_)) {
                (waiting, acks) = (0, acks + 1);
            }
        }
        acks
    }

    #[test]
    fn the_number_of_acks_per_window_is_met_once_the_window_is_known() {
        let settings = AckSettings { max_delack: 50, min_acks_per_window: 5, ..Profile::ns2_reno().ack };
        let mut policy = WindowEstimate::new(&settings);
        assert_eq!(acks(&mut policy, 1000, 1100, IN_ORDER), 100, "the window is not known");
        assert_eq!(acks(&mut policy, 1100, 1200, IN_ORDER), 5, "a hundred segments in a window, twenty for each ACK");
        assert_eq!(acks(&mut policy, 1200, 1300, IN_ORDER), 5);
        assert_eq!(acks(&mut policy, 1300, 1310, Arrival::OutOfOrder), 10);
        assert_eq!(acks(&mut policy, 1310, 1320, IN_ORDER), 10, "the estimate was reset");
        assert_eq!(acks(&mut policy, 2000, 2010, IN_ORDER), 10, "and after a pause");
    }
}
