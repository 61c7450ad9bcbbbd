//! The ACK filter, for any queue that can remove a packet from its middle.
//!
//! The filter looks up the connection of each packet once, and the place of each removed ACK in the queue once. It
//! never scans the queue.

use super::by_content::ByContent;
use super::by_number::ByNumber;
use super::compactor::Compactor;
use super::rule::FilterRule;
use super::{AckFilterConfig, RemovedAcks};
use crate::{Qdisc, QueuedPacket};
use lopsided_core::{Cx, Packet, Rng};

/// Removes superfluous ACKs from a queue.
#[derive(Debug)]
pub struct AckFilter(Filter);

/// The filter that implements the configured rule.
#[derive(Debug)]
enum Filter {
    Number(ByNumber),
    Content(ByContent),
    Compact(Compactor),
}

impl AckFilter {
    /// Creates the filter. No other component may use the random stream `rng`.
    pub fn new(config: &AckFilterConfig, rng: Rng) -> AckFilter {
        AckFilter(match config.rule {
            _ if config.prefix != RemovedAcks::None => Filter::Compact(Compactor::new(config)),
            // These two rules compare numbers only, so they store less state per connection.
            FilterRule::Cumulative | FilterRule::Window => Filter::Number(ByNumber::new(config, rng)),
            FilterRule::Conservative | FilterRule::Aggressive | FilterRule::AccurateEcn => {
                Filter::Content(ByContent::new(config, rng))
            }
        })
    }

    /// Removes the queued ACKs that an arriving packet makes superfluous. Call this before the packet is enqueued.
    #[inline]
    pub fn on_arrival(&mut self, packet: &mut Packet, queue: &mut impl Qdisc, cx: &mut Cx<'_>) {
        match &mut self.0 {
            Filter::Number(filter) => filter.on_arrival(packet, queue, cx),
            Filter::Content(filter) => filter.on_arrival(packet, queue, cx),
            Filter::Compact(filter) => filter.on_arrival(packet, queue, cx),
        }
    }

    /// Handles a packet that was dequeued.
    #[inline]
    pub fn on_departure(&mut self, given: &QueuedPacket, queue: &impl Qdisc) {
        match &mut self.0 {
            Filter::Number(filter) => filter.on_departure(given, queue),
            Filter::Content(filter) => filter.on_departure(given, queue),
            Filter::Compact(filter) => filter.on_departure(given, queue),
        }
    }

    /// Returns the number of ACKs removed since the start of the run.
    pub fn filtered(&self) -> u64 {
        match &self.0 {
            Filter::Number(filter) => filter.filtered(),
            Filter::Content(filter) => filter.filtered(),
            Filter::Compact(filter) => filter.filtered(),
        }
    }

    /// Returns the number of ACKs marked for fast retransmit since the start of the run.
    pub fn marked(&self) -> u64 {
        match &self.0 {
            Filter::Number(filter) => filter.marked(),
            Filter::Content(_) | Filter::Compact(_) => 0,
        }
    }
}
