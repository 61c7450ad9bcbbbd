//! Delayed ACKs that grow from one segment to N: each ACK may cover one segment more than the previous ACK. Source:
//! Altman and Jimenez, Novel Delayed ACK Techniques for Improving TCP Performance in Multihop Wireless Networks, PWC
//! 2003. Their thresholds of 2, 5 and 9 segments correspond to steps of 1, 2 and 3.
//!
//! Out-of-order data resets the count to one segment. An ACK that the timer sends also resets the count, because the
//! sender's window is probably small (de Oliveira and Braun, A Dynamic Adaptive Acknowledgment Strategy for TCP over
//! Multihop Wireless Networks, INFOCOM 2005). N is `max_delack`.

use super::contract::{AckDecision, AckPolicy, AckView, ArrivedData};
use crate::profile::AckSettings;
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Duration, Time};

#[derive(Debug)]
pub(super) struct Growing {
    timeout: Duration,
    /// Maximum number of segments that one ACK may cover (N).
    most: u32,
    /// Number of segments that the next ACK covers.
    segments: u32,
}

impl Growing {
    pub fn new(settings: &AckSettings) -> Growing {
        Growing { timeout: settings.max_delay, most: settings.max_delack.max(1), segments: 1 }
    }
}

impl AckPolicy for Growing {
    fn name(&self) -> &'static str {
        "growing"
    }

    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision {
        if let Some(why) = data.arrival.at_once() {
            self.segments = 1;
            AckDecision::Now(why)
        } else if view.unacked_segments >= self.segments {
            self.segments = (self.segments + 1).min(self.most);
            AckDecision::Now(AckReason::Count)
        } else {
            AckDecision::By(now + self.timeout)
        }
    }

    fn on_timeout(&mut self, _now: Time, _view: &AckView) -> AckDecision {
        self.segments = 1;
        AckDecision::Now(AckReason::Delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::receive::ack_policy::Arrival;
    use crate::receive::ack_policy::arrivals::{self, IN_ORDER, arrived};

    /// Simulates the arrival of `count` segments. Returns the positions, counted from 1, of the segments that are
    /// acknowledged at once.
    fn acked(policy: &mut Growing, count: u32, arrival: Arrival) -> Vec<u32> {
        let mut waiting = 0;
        let mut on = |_: &u32| {
            waiting += 1;
            let now = matches!(
                policy.on_data(Time::ZERO, &arrived(arrival), &arrivals::waiting(waiting)),
                AckDecision::Now(_)
            );
            waiting = if now { 0 } else { waiting };
            now
        };
        (1..=count).filter(|n| on(n)).collect()
    }

    #[test]
    fn each_ack_covers_one_more_segment_up_to_n_and_a_gap_resets_the_count() {
        let mut policy = Growing::new(&AckSettings { max_delack: 4, ..Profile::ns2_reno().ack });
        assert_eq!(acked(&mut policy, 18, IN_ORDER), [1, 3, 6, 10, 14, 18]);
        assert_eq!(acked(&mut policy, 2, Arrival::OutOfOrder), [1, 2]);
        assert_eq!(acked(&mut policy, 6, IN_ORDER), [1, 3, 6]);
        policy.on_timeout(Time::ZERO, &arrivals::waiting(0));
        assert_eq!(acked(&mut policy, 3, IN_ORDER), [1, 3]);
    }
}
