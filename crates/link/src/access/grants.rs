//! An uplink whose sender requests capacity before it sends. In this model DOCSIS, GPON, LTE and 5G differ only in
//! their intervals and delays.
//!
//! - **Request.** A sender whose queue was empty sends a request at the next request opportunity (`request_interval`).
//!   The opportunity is a contention slot of a MAP (DOCSIS), a slot in the cycle of the bandwidth allocation (GPON), or
//!   a scheduling request on the control channel (LTE, 5G).
//! - **Grant.** The grant starts at the next slot boundary after `grant_delay`. A slot carries `rate` times `slot`
//!   bits. A slot may carry several packets, and a packet may be split across slots.
//! - **Further requests.** While packets wait, the sender reports its backlog with the data (piggyback, DBRu, buffer
//!   status report), and every slot is granted.
//! - **Proactive grants.** With `proactive`, every slot is granted without a request, as in the proactive grant service
//!   of low-latency DOCSIS and with configured grants of 5G.
//! - **Errors.** A block received in error is sent again after `retransmit_delay` (HARQ), at most `retransmissions`
//!   times. Later blocks wait, because delivery is in order. After the last retransmission the block counts as
//!   delivered.
//!
//! **Deviations.** Requests are never lost in contention, and other stations take no capacity.

use super::AccessKind;
use crate::shaper::{Shaper, scaled_bits};
use lopsided_core::{BitRate, Bytes, Duration, Rng, Time};
use lopsided_spec::{Fault, Given, Key, Part, key};

/// Settings of a line with requests and grants.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantsConfig {
    /// Time between two request opportunities.
    pub request_interval: Duration,
    /// Time from a request to the earliest slot that can be granted for it.
    pub grant_delay: Duration,
    /// Length of a slot. Slots follow each other without a gap.
    pub slot: Duration,
    /// True if every slot is granted without a request.
    pub proactive: bool,
    /// Probability that a slot's block is received in error: at least 0, and less than 1.
    pub error: f64,
    /// Delay that each retransmission adds to a block.
    pub retransmit_delay: Duration,
    /// Maximum number of retransmissions of a block.
    pub retransmissions: u32,
}

impl Default for GrantsConfig {
    /// Returns the values of DOCSIS with a MAP every 2 ms.
    fn default() -> GrantsConfig {
        GrantsConfig {
            request_interval: Duration::from_millis(2),
            grant_delay: Duration::from_millis(4),
            slot: Duration::from_millis(2),
            proactive: false,
            error: 0.0,
            retransmit_delay: Duration::from_millis(8),
            retransmissions: 3,
        }
    }
}

impl Part for GrantsConfig {
    const NAME: &'static str = "grants";
    const TEXT: &'static str = "Sends only in granted slots, as uplinks of DOCSIS, GPON, LTE and 5G do.";
    const KEYS: &'static [Key<GrantsConfig>] = &[
        key(
            "request_interval",
            |part: &mut Self| &mut part.request_interval,
            "Time between two opportunities to send a request.",
        ),
        key("grant_delay", |part: &mut Self| &mut part.grant_delay, "Time from a request to its grant."),
        key(
            "slot",
            |part: &mut Self| &mut part.slot,
            "Time between two transmission opportunities: a MAP interval, a cycle or a TTI.",
        ),
        key("proactive", |part| &mut part.proactive, "If true, every slot is granted without a request."),
        key(
            "error",
            |part| &mut part.error,
            "Probability that the block of a slot is received in error and must be sent again.",
        ),
        key(
            "retransmit_delay",
            |part: &mut Self| &mut part.retransmit_delay,
            "Time from a block with an error to its retransmission.",
        ),
        key(
            "retransmissions",
            |part: &mut Self| &mut part.retransmissions,
            "Largest number of retransmissions of a block.",
        ),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        if given.line_rate.is_none() {
            return Err(Fault::new("", "grants need the direction's rate").help("add rate = \"35 Mbit/s\""));
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        let shortest = Duration::from_micros(1);
        if self.slot < shortest || self.slot > Duration::from_secs(10) {
            return Err(Fault::new("slot", "a slot must be from 1 us to 10 s long"));
        }
        if self.request_interval < shortest {
            return Err(Fault::new("request_interval", "requests must be at least 1 us apart"));
        }
        if !(0.0..1.0).contains(&self.error) {
            return Err(Fault::new("error", "an error probability must be from 0 to below 1"));
        }
        Ok(())
    }
}

impl AccessKind for GrantsConfig {
    fn build(&self, rate: Option<BitRate>, rng: Rng) -> Result<Box<dyn Shaper>, Fault> {
        self.check()?;
        let Some(rate) = rate else { return Err(Fault::new("", "grants need the direction's rate")) };
        // The unit is 10^-9 bit (1 bit/s x 1 ns). In this unit, a slot's capacity is an integer at any rate.
        let capacity = u128::from(rate.as_bps()) * u128::from(self.slot.as_nanos());
        if !(1..=u128::from(u64::MAX / 2)).contains(&capacity) {
            return Err(Fault::new("slot", "at this rate, the capacity of a slot is zero or more than 1 GB"));
        }
        Ok(Box::new(Grants {
            config: self.clone(),
            rate,
            rng,
            capacity: capacity as u64,
            next: 0,
            left: capacity as u64,
            block_at: None,
            idle_since_slot: Some(Time::ZERO),
            delivered: Time::ZERO,
        }))
    }
}

/// The sender of the line, and the state of its slots.
#[derive(Debug)]
pub struct Grants {
    config: GrantsConfig,
    rate: BitRate,
    rng: Rng,
    /// Capacity of a slot, in units of 10^-9 bit.
    capacity: u64,
    /// Number of the slot in use, or of the next slot that the sender may use.
    next: u64,
    /// Unused capacity of the slot `next`, in units of 10^-9 bit.
    left: u64,
    /// Arrival of the current slot's block, drawn when the slot's first byte is sent.
    block_at: Option<Time>,
    /// Latest time at which the queue was empty and no request was pending. `None` while a request or a grant is
    /// pending.
    idle_since_slot: Option<Time>,
    /// Arrival time of the previous block. Blocks arrive in order, so no later block arrives before this time.
    delivered: Time,
}

impl Grants {
    fn slot_at(&self, number: u64) -> Time {
        Time::ZERO + self.config.slot * number
    }

    /// Returns the first slot that is granted if a packet arrives at `comes` and no request is pending.
    fn first_granted(&self, comes: Time) -> u64 {
        let granted = match self.config.proactive {
            true => comes,
            false => comes.ceil_to(self.config.request_interval) + self.config.grant_delay,
        };
        (granted - Time::ZERO).as_nanos().div_ceil(self.config.slot.as_nanos())
    }

    /// Makes `slot` the next slot to use and restores its full capacity.
    fn move_to(&mut self, slot: u64) {
        (self.next, self.left, self.block_at) = (slot, self.capacity, None);
    }

    /// Requests a slot for a waiting packet, if no request is pending.
    fn ask(&mut self) {
        if let Some(comes) = self.idle_since_slot.take() {
            self.move_to(self.first_granted(comes));
        }
    }

    /// Draws the arrival time of the block of the slot in use.
    fn draw_block(&mut self) -> Time {
        // Without an error the block arrives when its slot ends.
        let mut at = self.slot_at(self.next + 1);
        for _ in 0..self.config.retransmissions {
            if self.config.error == 0.0 || !self.rng.chance(self.config.error) {
                break;
            }
            at += self.config.retransmit_delay;
        }
        at
    }
}

impl Shaper for Grants {
    fn needs_size(&self) -> bool {
        true
    }

    fn advance_idle(&mut self, now: Time) {
        // The queue was empty when the granted slot began, so the grant expires and the sender must request again.
        if self.idle_since_slot.is_some() || self.slot_at(self.next) < now {
            self.idle_since_slot = Some(now);
        }
    }

    fn advance_backlogged(&mut self, _now: Time, _wire: Bytes) {
        self.ask();
    }

    fn ready_at(&mut self, _wire: Bytes) -> Time {
        self.slot_at(self.idle_since_slot.map_or(self.next, |comes| self.first_granted(comes)))
    }

    fn transmit(&mut self, _start: Time, wire: Bytes) -> Time {
        self.ask();
        let mut unsent = scaled_bits(wire);
        loop {
            // HARQ applies to the whole block of a slot, so the arrival time is drawn once, with the first byte.
            let block_at = match self.block_at {
                Some(at) => at,
                None => self.draw_block(),
            };
            self.block_at = Some(block_at);
            self.delivered = self.delivered.max(block_at);
            // A packet that does not fit into the rest of the slot continues in the next slot. That slot is always
            // granted, because the sender reports its backlog with the data.
            let sent = unsent.min(self.left);
            unsent -= sent;
            self.left -= sent;
            if self.left == 0 {
                self.move_to(self.next + 1);
            }
            if unsent == 0 {
                return self.delivered;
            }
        }
    }

    fn rate(&self) -> Option<BitRate> {
        Some(self.rate)
    }
}
