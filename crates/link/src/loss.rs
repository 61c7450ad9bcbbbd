//! Loss on the line: at random, in bursts, or by a given pattern. A packet is lost if any of the configured models
//! loses it.

use crate::link_error::LinkError;
use lopsided_core::{DropReason, Rng, Time};
use lopsided_spec::{Fault, Given, Key, Part, key, part_value};

/// Loss on a line. By default no packet is lost.
///
/// # Examples
///
/// ```
/// use lopsided_link::{GilbertConfig, LossConfig};
///
/// // A burst has 4 packets on average (1 / to_good). In the good state, 1 % of packets start a burst.
/// let gilbert = GilbertConfig { to_bad: 0.01, to_good: 0.25, ..GilbertConfig::default() };
/// let loss = LossConfig { gilbert: Some(gilbert), ..LossConfig::default() };
/// assert_eq!(loss.random, 0.0);
/// ```
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LossConfig {
    /// Probability that a packet is lost, independently of all other packets (Bernoulli).
    pub random: f64,
    /// Bursty loss (Gilbert-Elliott model).
    pub gilbert: Option<GilbertConfig>,
    /// Numbers of the lost packets, ascending. Packets are counted from 1 as they leave the queue.
    pub packets: Vec<u64>,
    /// Outages as (start, end), ascending and disjoint. A packet that leaves the queue during an outage is lost.
    pub outages: Vec<(Time, Time)>,
}

/// Settings of bursty loss (Gilbert 1960, Elliott 1963): a good and a bad state. For each packet, first the state may
/// change, then the packet may be lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertConfig {
    /// Probability, per packet, of a change from the good to the bad state.
    pub to_bad: f64,
    /// Probability, per packet, of a change from the bad to the good state.
    pub to_good: f64,
    /// Loss probability in the bad state.
    pub loss_bad: f64,
    /// Loss probability in the good state.
    pub loss_good: f64,
}

impl Default for GilbertConfig {
    /// Returns a model that stays in the good state and loses no packet.
    fn default() -> GilbertConfig {
        GilbertConfig { to_bad: 0.0, to_good: 1.0, loss_bad: 1.0, loss_good: 0.0 }
    }
}

impl Part for LossConfig {
    const NAME: &'static str = "loss";
    const TEXT: &'static str = "Loss of packets on the line. If several kinds of loss are set, all of them apply.";
    const SHORTHAND: Option<&'static str> = Some("random");
    const KEYS: &'static [Key<LossConfig>] = &[
        key(
            "random",
            |loss| &mut loss.random,
            "Probability that a packet is lost, independent of other packets: 0.01 or \"1 %\".",
        ),
        key(
            "gilbert",
            |loss| &mut loss.gilbert,
            "Bursts of loss: the Gilbert-Elliott model, with one step for each packet.",
        ),
        key("packets", |loss| &mut loss.packets, "Numbers of the packets to lose in this direction, counted from 1."),
        key("outages", |loss| &mut loss.outages, "Times during which every packet is lost: [[\"10 s\", \"10.1 s\"]]."),
    ];

    /// Sorts packets and outages, which a scenario may list in any order.
    fn complete(&mut self, _given: &Given<'_>) -> Result<(), Fault> {
        // `in_pattern` looks only at the next listed packet, so the list must be sorted.
        self.packets.sort_unstable();
        self.packets.dedup();
        self.outages.sort_unstable();
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        if !(0.0..=1.0).contains(&self.random) {
            return Err(Fault::new("random", "a probability must be from 0 to 1"));
        }
        if let Some(gilbert) = &self.gilbert {
            gilbert.check().map_err(|fault| Fault { key: "gilbert", ..fault })?;
        }
        if self.packets.first() == Some(&0) {
            return Err(Fault::new("packets", "packets are counted from 1"));
        }
        if !self.packets.is_sorted_by(|a, b| a < b) {
            return Err(Fault::new("packets", "lost packets must be in ascending order"));
        }
        if self.outages.iter().any(|(from, to)| from >= to) {
            return Err(Fault::new("outages", "an outage must end after it begins"));
        }
        if self.outages.windows(2).any(|pair| pair[1].0 < pair[0].1) {
            return Err(Fault::new("outages", "two outages overlap"));
        }
        Ok(())
    }
}

impl Part for GilbertConfig {
    const NAME: &'static str = "gilbert";
    const TEXT: &'static str = "The Gilbert-Elliott model of losses, with a good and a bad state.";
    const KEYS: &'static [Key<GilbertConfig>] = &[
        key(
            "to_bad",
            |gilbert: &mut Self| &mut gilbert.to_bad,
            "Probability of a change from the good to the bad state.",
        )
        .required("0.01"),
        key(
            "to_good",
            |gilbert: &mut Self| &mut gilbert.to_good,
            "Probability of a change from the bad to the good state.",
        )
        .required("0.3"),
        key("loss_bad", |gilbert| &mut gilbert.loss_bad, "Probability of a loss in the bad state."),
        key("loss_good", |gilbert| &mut gilbert.loss_good, "Probability of a loss in the good state."),
    ];

    fn check(&self) -> Result<(), Fault> {
        let all = [self.to_bad, self.to_good, self.loss_bad, self.loss_good];
        if !all.iter().all(|probability| (0.0..=1.0).contains(probability)) {
            return Err(Fault::new("to_bad", "a probability must be from 0 to 1"));
        }
        Ok(())
    }
}

part_value!(LossConfig);

part_value!(GilbertConfig);

impl LossConfig {
    /// Builds the state of one run; `None` if no packet can be lost.
    pub(crate) fn build(&self, seed: u64, role: &str) -> Result<Option<Loss>, LinkError> {
        self.check().map_err(LinkError::Loss)?;
        // Without a loss model, the link can use its fast path.
        if *self == LossConfig::default() {
            return Ok(None);
        }
        Ok(Some(Loss {
            config: self.clone(),
            // Each model has its own random stream, so adding one model does not change the losses of the other model.
            random: Rng::for_role(seed, &format!("{role}/loss/random")),
            bursts: Rng::for_role(seed, &format!("{role}/loss/gilbert")),
            bad: false,
            count: 0,
            next_packet: 0,
            next_outage: 0,
        }))
    }
}

/// The loss models of one line in one run.
#[derive(Debug)]
pub(crate) struct Loss {
    config: LossConfig,
    random: Rng,
    bursts: Rng,
    /// True in the bad state of the Gilbert-Elliott model.
    bad: bool,
    /// Number of packets that have left the queue.
    count: u64,
    /// Index of the next listed packet.
    next_packet: usize,
    /// Index of the current or next outage.
    next_outage: usize,
}

impl Loss {
    /// Returns the reason if the next packet is lost; `None` if it is not lost. The packet leaves the queue at `now`.
    pub(crate) fn drop_reason(&mut self, now: Time) -> Option<DropReason> {
        self.count += 1;
        let pattern = self.in_pattern() || self.in_outage(now);
        // `|` does not short-circuit: both models must draw random numbers for every packet. Otherwise the losses of
        // one model would depend on the losses of the other model.
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
        // Draw two numbers for every packet, in either state. Runs with other probabilities then use the same random
        // numbers for each packet.
        let (leave, lose) = (self.bursts.unit(), self.bursts.unit());
        // The state changes before the packet's fate is drawn, so the first packet of a burst can be lost.
        self.bad = if self.bad { leave >= gilbert.to_good } else { leave < gilbert.to_bad };
        lose < if self.bad { gilbert.loss_bad } else { gilbert.loss_good }
    }

    fn in_pattern(&mut self) -> bool {
        let hit = self.config.packets.get(self.next_packet) == Some(&self.count);
        self.next_packet += usize::from(hit);
        hit
    }

    fn in_outage(&mut self, now: Time) -> bool {
        // Outages are in order of time and do not overlap.
        while self.config.outages.get(self.next_outage).is_some_and(|(_, to)| *to <= now) {
            self.next_outage += 1;
        }
        self.config.outages.get(self.next_outage).is_some_and(|(from, _)| *from <= now)
    }
}
