//! The periodic acknowledgements of TACK (Li, Zheng, Xu, Lin, Zhu et al., TACK: Improving Wireless Transport
//! Performance by Taming Acknowledgments, SIGCOMM 2020, section 4): `acks_per_rtt` ACKs per RTT, each for at least
//! `segments` segments.
//!
//! Not modelled: TACK's loss reports and receiver-driven pacing, which a standard sender would ignore.

use super::contract::{AckDecision, AckPolicy, AckView, ArrivedData};
use crate::profile::AckSettings;
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Duration, Time};

#[derive(Debug)]
pub(super) struct Tack {
    /// L: minimum number of segments that an ACK covers, unless the timer expires.
    segments: u32,
    /// Beta: the number of ACKs per RTT.
    acks_per_rtt: u32,
    timeout: Duration,
    last_ack: Time,
    /// Deadline for the ACK of the oldest unacknowledged segment.
    latest: Option<Time>,
}

impl Tack {
    pub fn new(settings: &AckSettings) -> Tack {
        Tack {
            segments: settings.segments,
            acks_per_rtt: settings.acks_per_rtt.max(1),
            timeout: settings.max_delay,
            last_ack: Time::ZERO,
            latest: None,
        }
    }
}

impl AckPolicy for Tack {
    fn name(&self) -> &'static str {
        "tack"
    }

    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision {
        if let Some(why) = data.arrival.at_once() {
            return AckDecision::Now(why);
        }
        let latest = *self.latest.get_or_insert(now + self.timeout);
        if view.unacked_segments < self.segments {
            return AckDecision::By(latest);
        }
        let interval = view.rtt.or(view.srtt).map_or(Duration::ZERO, |rtt| rtt / u64::from(self.acks_per_rtt));
        let next = self.last_ack + interval;
        if next <= now { AckDecision::Now(AckReason::Paced) } else { AckDecision::By(next.min(latest)) }
    }

    fn on_timeout(&mut self, _now: Time, view: &AckView) -> AckDecision {
        AckDecision::Now(if view.unacked_segments < self.segments { AckReason::Delay } else { AckReason::Paced })
    }

    fn on_ack_sent(&mut self, now: Time, covered: bool) {
        if covered {
            self.last_ack = now;
        }
        self.latest = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Arrival;
    use super::*;
    use crate::profile::Profile;
    use crate::receive::ack_policy::arrivals::{self, IN_ORDER, arrived};

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn tack() -> Tack {
        Tack::new(&Profile::linux_6_1().ack)
    }

    /// Returns the decision about an arriving segment if `waiting` segments are unacknowledged and the RTT is 100 ms.
    fn on(tack: &mut Tack, now: Time, arrival: Arrival, waiting: u32) -> AckDecision {
        let view =
            AckView { rtt: Some(Duration::from_millis(100)), scheduled: waiting > 1, ..arrivals::waiting(waiting) };
        tack.on_data(now, &arrived(arrival), &view)
    }

    #[test]
    fn four_acks_are_sent_per_round_trip_at_any_segment_rate() {
        let mut tack = tack();
        let (mut waiting, mut acks, mut due) = (0, Vec::new(), None);
        // One segment per millisecond for three round trips.
        for ms in 1_000..1_300 {
            if due.is_some_and(|due| due <= at(ms)) {
                (waiting, due) = (0, None);
                acks.push(ms);
                tack.on_ack_sent(at(ms), true);
            }
            waiting += 1;
            match on(&mut tack, at(ms), IN_ORDER, waiting) {
                AckDecision::By(time) => due = due.into_iter().chain([time]).min(),
                AckDecision::Now(_) => due = Some(at(ms)),
                AckDecision::Unchanged => {}
            }
        }
        assert_eq!(acks.len(), 12, "{acks:?}");
    }

    #[test]
    fn a_single_segment_waits_for_a_second_at_most_until_the_timeout() {
        let mut tack = tack();
        assert_eq!(on(&mut tack, at(1000), IN_ORDER, 1), AckDecision::By(at(1200)));
        assert_eq!(on(&mut tack, at(1150), IN_ORDER, 2), AckDecision::Now(AckReason::Paced));
    }

    #[test]
    fn out_of_order_segments_are_acknowledged_at_once() {
        let mut tack = tack();
        tack.on_ack_sent(at(1000), true);
        assert_eq!(on(&mut tack, at(1001), Arrival::OutOfOrder, 2), AckDecision::Now(AckReason::OutOfOrder));
        let filled = Arrival::InOrder { closed_gap: true, gaps_left: false };
        assert_eq!(on(&mut tack, at(1001), filled, 3), AckDecision::Now(AckReason::GapFilled));
    }
}
