//! Loss on the medium: at random, in bursts, by a pattern. All that are set apply together; a packet is lost once.

use crate::LinkError;
use lopsided_core::{DropReason, Rng, Time};

/// The ways a link loses packets, as plain data. The default loses none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LossConfig {
    /// The probability for each packet on its own (Bernoulli).
    pub random: f64,
    pub gilbert: Option<GilbertConfig>,
    /// These packets of the link, counted from 1 as they leave the queue: ascending.
    pub packets: Vec<u64>,
    /// What leaves the queue from the first instant until just before the second is lost: ascending, apart from each other.
    pub outages: Vec<(Time, Time)>,
}

/// Bursts of loss (Gilbert 1960, Elliott 1963): a good and a bad state, which is stepped once a packet, before its fate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertConfig {
    /// The probability to go from good to bad.
    pub to_bad: f64,
    /// The probability to go from bad to good.
    pub to_good: f64,
    /// The probability to lose a packet in the bad state.
    pub loss_bad: f64,
    /// The probability to lose a packet in the good state.
    pub loss_good: f64,
}

impl LossConfig {
    /// The state of this loss, or `None` if it never loses a packet. Draws are keyed by seed and role; random loss and bursts
    /// draw from streams of their own and once for each packet whatever else drop_reason it, so that neither shifts the other.
    pub(crate) fn build(&self, seed: u64, role: &str) -> Result<Option<Loss>, LinkError> {
        self.check()?;
        if *self == LossConfig::default() {
            return Ok(None);
        }
        Ok(Some(Loss {
            config: self.clone(),
            random: Rng::for_role(seed, &format!("{role}/loss/random")),
            bursts: Rng::for_role(seed, &format!("{role}/loss/gilbert")),
            bad: false,
            count: 0,
            next_packet: 0,
            next_outage: 0,
        }))
    }

    fn check(&self) -> Result<(), LinkError> {
        let gilbert = self.gilbert.iter().flat_map(|g| [g.to_bad, g.to_good, g.loss_bad, g.loss_good]);
        if !gilbert.chain([self.random]).all(|probability| (0.0..=1.0).contains(&probability)) {
            return Err(LinkError::NoProbability);
        }
        if self.packets.first() == Some(&0) || !self.packets.is_sorted_by(|a, b| a < b) {
            return Err(LinkError::PacketsOutOfOrder);
        }
        let instants: Vec<Time> = self.outages.iter().flat_map(|&(from, to)| [from, to]).collect();
        if !instants.is_sorted() || self.outages.iter().any(|(from, to)| from == to) {
            return Err(LinkError::OutagesOutOfOrder);
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Loss {
    config: LossConfig,
    random: Rng,
    bursts: Rng,
    bad: bool,
    count: u64,
    next_packet: usize,
    next_outage: usize,
}

impl Loss {
    /// The fate of the next packet, which leaves the queue at `now`.
    pub(crate) fn drop_reason(&mut self, now: Time) -> Option<DropReason> {
        self.count += 1;
        let pattern = self.in_pattern() || self.in_outage(now);
        // Both draw in any case, so that each keeps its own place in its stream.
        let random = self.at_random() | self.in_burst();
        match (pattern, random) {
            (true, _) => Some(DropReason::PatternLoss),
            (false, true) => Some(DropReason::RandomLoss),
            (false, false) => None,
        }
    }

    fn at_random(&mut self) -> bool {
        self.config.random > 0.0 && self.random.chance(self.config.random)
    }

    fn in_burst(&mut self) -> bool {
        let Some(gilbert) = self.config.gilbert else { return false };
        let (leave, lose) = (self.bursts.unit(), self.bursts.unit());
        self.bad = if self.bad { leave >= gilbert.to_good } else { leave < gilbert.to_bad };
        lose < if self.bad { gilbert.loss_bad } else { gilbert.loss_good }
    }

    fn in_pattern(&mut self) -> bool {
        let hit = self.config.packets.get(self.next_packet) == Some(&self.count);
        self.next_packet += usize::from(hit);
        hit
    }

    fn in_outage(&mut self, now: Time) -> bool {
        while self.config.outages.get(self.next_outage).is_some_and(|(_, to)| *to <= now) {
            self.next_outage += 1;
        }
        self.config.outages.get(self.next_outage).is_some_and(|(from, _)| *from <= now)
    }
}
