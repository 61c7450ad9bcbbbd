//! The filter, for any queue that can remove a packet from its middle.
//!
//! A packet costs one look-up of its connection, and one of each removed ACK: the queue is never scanned.

use super::AckFilterConfig;
use super::by_content::ByContent;
use super::by_number::ByNumber;
use super::rule::FilterRule;
use crate::{Qdisc, QueuedPacket};
use lopsided_core::{Cx, Packet, Rng};

/// Removes waiting ACKs.
#[derive(Debug)]
pub struct AckFilter(Filter);

#[derive(Debug)]
enum Filter {
    Number(ByNumber),
    Content(ByContent),
}

impl AckFilter {
    /// `rng` is this filter's own stream.
    pub fn new(config: &AckFilterConfig, rng: Rng) -> AckFilter {
        AckFilter(match config.rule {
            FilterRule::Cumulative | FilterRule::Window => Filter::Number(ByNumber::new(config, rng)),
            FilterRule::Conservative | FilterRule::Aggressive | FilterRule::AccurateEcn => {
                Filter::Content(ByContent::new(config, rng))
            }
        })
    }

    /// Removes the ACKs that a packet about to be enqueued makes superfluous.
    #[inline]
    pub fn on_arrival(&mut self, packet: &mut Packet, queue: &mut impl Qdisc, cx: &mut Cx<'_>) {
        match &mut self.0 {
            Filter::Number(filter) => filter.on_arrival(packet, queue, cx),
            Filter::Content(filter) => filter.on_arrival(packet, queue, cx),
        }
    }

    /// A packet left the queue for the line.
    #[inline]
    pub fn on_departure(&mut self, given: &QueuedPacket, queue: &impl Qdisc) {
        match &mut self.0 {
            Filter::Number(filter) => filter.on_departure(given, queue),
            Filter::Content(filter) => filter.on_departure(given, queue),
        }
    }

    /// ACKs removed since the beginning.
    pub fn filtered(&self) -> u64 {
        match &self.0 {
            Filter::Number(filter) => filter.filtered(),
            Filter::Content(filter) => filter.filtered(),
        }
    }

    /// ACKs marked for fast retransmission since the beginning.
    pub fn marked(&self) -> u64 {
        match &self.0 {
            Filter::Number(filter) => filter.marked(),
            Filter::Content(_) => 0,
        }
    }
}
