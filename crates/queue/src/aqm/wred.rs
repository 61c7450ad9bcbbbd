//! Weighted RED: one queue with one average, but separate thresholds for each drop precedence (Cisco IOS's
//! `random-detect dscp-based`; RFC 2597's assured forwarding in one queue; Linux's `sch_gred` with a shared average).
//!
//! Packets of all precedences wait in one FIFO, so packets of one class are never reordered. When the average rises,
//! packets with the highest drop precedence are dropped or marked first.
//!
//! The defaults are IOS's: drops start at an average of 32 packets for AFx1, 28 for AFx2 and 24 for AFx3. The drop
//! probability reaches 10 % at 40 packets. Other codepoints use the last profile.
//!
//! Not modelled: a separate average for each precedence (RIO), which `gred` also offers.

use crate::aqm::red::law::{self, Average, Slope, Verdict};
use crate::{
    Backlog, Buffer, Classifier, Discipline, Fifo, FifoConfig, Limit, Qdisc, Queue, QueuePlace, QueuedPacket, Rule,
    Waiting,
};
use lopsided_core::{BitRate, Bytes, Cx, DropReason, Packet, Rng};
use lopsided_spec::{Fault, Given, Key, Part, ValueType, key, part_value};

/// Settings of a weighted RED queue.
#[derive(Clone, Debug, PartialEq)]
pub struct WredConfig {
    /// Capacity of the queue.
    pub limit: Limit,
    /// The thresholds of each drop precedence. Profiles are numbered from 0.
    pub profiles: Vec<WredProfile>,
    /// Rules that assign packets to profiles. The first rule that matches decides.
    pub classify: Vec<Rule>,
    /// The profile of packets that no rule matches. `None`: the last profile.
    pub default_class: Option<u32>,
    /// Weight of a new sample in the average, above 0 and at most 1.
    pub weight: f64,
    /// Average packet size in bytes.
    pub avpkt: Bytes,
    /// Rate at which packets leave the queue. `None`: infinite.
    pub bandwidth: Option<BitRate>,
    /// True if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// The thresholds of one drop precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WredProfile {
    /// Average backlog in packets above which some packets are dropped or marked.
    pub min: u32,
    /// Average backlog in packets above which all packets are dropped or marked.
    pub max: u32,
    /// Drop or mark probability at an average of `max`.
    pub probability: f64,
}

impl Part for WredProfile {
    const NAME: &'static str = "wred_profile";
    const TEXT: &'static str = "The RED thresholds of one drop precedence.";
    const KEYS: &'static [Key<WredProfile>] = &[
        key(
            "min",
            |profile: &mut Self| &mut profile.min,
            "Average queue length above which some packets are marked or dropped.",
        )
        .typed(ValueType::Packets),
        key(
            "max",
            |profile: &mut Self| &mut profile.max,
            "Average queue length above which all packets are marked or dropped.",
        )
        .typed(ValueType::Packets),
        key(
            "probability",
            |profile: &mut Self| &mut profile.probability,
            "Probability of a mark or drop when the average queue length reaches max.",
        ),
    ];
}

part_value!(WredProfile);

impl Default for WredConfig {
    fn default() -> WredConfig {
        let profile = |min| WredProfile { min, max: 40, probability: 0.1 };
        // AFxy has the codepoint 8x + 2y (RFC 2597, section 6).
        let of = |class: u32, precedence: u32| Rule {
            class: precedence - 1,
            dscp: Some(8 * class + 2 * precedence),
            ..Rule::default()
        };
        WredConfig {
            limit: Limit::Packets(64),
            profiles: vec![profile(32), profile(28), profile(24)],
            classify: (1..=4).flat_map(|class| (1..=3).map(move |precedence| of(class, precedence))).collect(),
            default_class: None,
            weight: 1.0 / 512.0,
            avpkt: Bytes::new(1000),
            bandwidth: None,
            ecn: false,
        }
    }
}

impl Part for WredConfig {
    const NAME: &'static str = "wred";
    const TEXT: &'static str = "Weighted RED: one queue, with thresholds for each drop precedence.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<WredConfig>] = &[
        key("limit", |wred: &mut Self| &mut wred.limit, "Limit of the queue."),
        key("profiles", |wred: &mut Self| &mut wred.profiles, "The thresholds of each drop precedence.")
            .default_text("as in Cisco IOS for AF: min 32, 28 and 24 packets, max 40 packets"),
        key(
            "classify",
            |wred: &mut Self| &mut wred.classify,
            "Rules that select the profile of a packet; profiles are numbered from 0. The first rule that matches applies.",
        )
        .default_text("each AF codepoint selects the profile of its drop precedence"),
        key("default_class", |wred: &mut Self| &mut wred.default_class, "The profile of packets that no rule matches.")
            .default_text("the last"),
        key("weight", |wred: &mut Self| &mut wred.weight, "Weight of each new sample in the average queue length."),
        key("avpkt", |wred: &mut Self| &mut wred.avpkt, "Size of a typical packet."),
        key("bandwidth", |wred: &mut Self| &mut wred.bandwidth, "Rate at which packets leave the queue. It determines how fast the average falls while the queue is empty.")
            .none_word("unlimited")
            .default_text("the line's"),
        key("ecn", |wred: &mut Self| &mut wred.ecn, "Mark ECN-capable packets instead of dropping them."),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        if !given.has("bandwidth") {
            self.bandwidth = given.line_rate;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        if self.profiles.is_empty() {
            return Err(Fault::new("profiles", "there must be at least one profile"));
        }
        for profile in &self.profiles {
            if profile.min > profile.max || !(0.0..=1.0).contains(&profile.probability) {
                return Err(Fault::new(
                    "profiles",
                    "`min` must be at most `max`, and a probability must be from 0 to 1",
                ));
            }
        }
        if !(self.weight > 0.0 && self.weight <= 1.0) {
            return Err(Fault::new("weight", "a weight must be above 0 and at most 1"));
        }
        let highest = self.classifier().highest_class();
        if highest >= self.profiles.len() {
            let what =
                format!("there is no profile {highest}: there are {} profiles, numbered from 0", self.profiles.len());
            return Err(Fault::new("classify", what));
        }
        Ok(())
    }
}

impl WredConfig {
    /// Returns the classifier that maps packets to profiles.
    fn classifier(&self) -> Classifier {
        let default = self.default_class.map_or(self.profiles.len().saturating_sub(1), |class| class as usize);
        Classifier { rules: self.classify.clone(), default }
    }
}

impl Discipline for WredConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Wred::new(self, place.rng())?)))
    }
}

/// A FIFO queue that weighted RED controls.
#[derive(Debug)]
pub struct Wred {
    classifier: Classifier,
    slopes: Vec<Slope>,
    average: Average,
    fifo: Fifo,
    ecn: bool,
    rng: Rng,
}

impl Wred {
    /// Creates an empty queue with its own random stream `rng`.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &WredConfig, rng: Rng) -> Result<Wred, Fault> {
        config.check_all()?;
        let slope = |profile: &WredProfile| {
            Slope::new(f64::from(profile.min), f64::from(profile.max), profile.probability, false)
        };
        Ok(Wred {
            classifier: config.classifier(),
            slopes: config.profiles.iter().map(slope).collect(),
            average: Average::new(config.weight, law::idle_packet(config.bandwidth, config.avpkt)),
            fifo: Fifo::new(&FifoConfig::new(config.limit))?,
            ecn: config.ecn,
            rng,
        })
    }
}

impl Qdisc for Wred {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        // All drop precedences share one average.
        self.average.arrival(u64::from(self.fifo.backlog().packets), cx.now());
        // The drop precedence selects the thresholds.
        let slope = &mut self.slopes[self.classifier.classify(&packet)];
        let verdict = slope.judge(self.average.value(), &mut self.rng);
        if verdict != Verdict::Pass && !(self.ecn && packet.is_ecn_capable()) {
            return cx.drop(packet, DropReason::Early);
        }
        // Mark the packet only if there is room for it. Otherwise the FIFO drops the packet, and the mark must not be
        // counted.
        if self.fifo.room().fits(packet.size()) {
            self.average.filled();
            if verdict != Verdict::Pass {
                cx.mark(&mut packet, verdict.mark_reason());
            }
        }
        self.fifo.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let given = self.fifo.dequeue(cx)?;
        if self.fifo.backlog() == Backlog::default() {
            self.average.emptied(cx.now());
        }
        Some(given)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        self.fifo.peek(cx)
    }

    fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        self.fifo.buffer_mut()
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        let removed = self.fifo.remove(waiting, cx)?;
        if self.fifo.backlog() == Backlog::default() {
            self.average.emptied(cx.now());
        }
        Some(removed)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("average", self.average.value());
    }
}
