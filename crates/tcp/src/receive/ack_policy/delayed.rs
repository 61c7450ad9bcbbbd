//! Delayed acknowledgements (RFC 5681 section 4.2): sends an ACK for every N segments or after a timeout. Data that is
//! out of order or fills a gap is acknowledged at once.

use super::contract::{AckDecision, AckPolicy, AckView, ArrivedData};
use crate::profile::AckSettings;
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Duration, Time};

#[derive(Debug)]
pub(super) struct Delayed {
    segments: u32,
    timeout: Duration,
}

impl Delayed {
    pub fn new(settings: &AckSettings) -> Delayed {
        Delayed { segments: settings.segments, timeout: settings.max_delay }
    }
}

impl AckPolicy for Delayed {
    fn name(&self) -> &'static str {
        "delayed"
    }

    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision {
        match data.arrival.at_once() {
            Some(why) => AckDecision::Now(why),
            None if view.unacked_segments >= self.segments => AckDecision::Now(AckReason::Count),
            None => AckDecision::By(now + self.timeout),
        }
    }
}
