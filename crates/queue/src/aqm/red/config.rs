//! The settings of RED, with the names and defaults of tc-red(8).

use crate::{Limit, Threshold};
use lopsided_core::{BitRate, Bytes};
use lopsided_spec::{Choice, Fault, Given, Key, Part, key};

/// Settings of a RED queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Capacity of the queue. It limits the current backlog, not the average.
    pub limit: Limit,
    /// Average backlog above which some packets are dropped or marked. Has the same unit as `max`.
    pub min: Threshold,
    /// Average backlog above which all packets are dropped or marked.
    pub max: Threshold,
    /// Drop or mark probability at an average of `max`.
    pub probability: f64,
    /// Average packet size in bytes. Together with `bandwidth` it determines how fast the average decays while the
    /// queue is idle.
    pub avpkt: Bytes,
    /// Rate at which packets leave the queue. `None`: infinite, so idle time resets the average.
    pub bandwidth: Option<BitRate>,
    /// True if the average decays while the queue is idle.
    pub idle_decay: bool,
    /// Size in packets of a burst that an empty queue must accept. If given, [`Part::complete`] computes the weight
    /// from it.
    pub burst: Option<u32>,
    /// Weight of a new sample in the average, above 0 and at most 1.
    pub weight: f64,
    /// True if the packets selected by `marks` are marked instead of dropped.
    pub ecn: bool,
    /// With `ecn`: true if packets are dropped while the average is above `max` (RFC 3168, section 7).
    pub harddrop: bool,
    /// True if the probability rises from `probability` at `max` to 1 at twice `max` (Floyd 2000).
    pub gentle: bool,
    /// True if the probability at `max` is adjusted to keep the average between `min` and `max` (Floyd 2001).
    pub adaptive: bool,
    /// With `ecn`: the packets that are marked instead of dropped.
    pub marks: Marks,
    /// The packet that is dropped if the queue is full.
    pub victim: Victim,
    /// True if the packet that ends an idle time counts as a sample, as in ns-2.
    pub count_first: bool,
    /// While the backlog is smaller than this number of packets, every arriving packet is accepted without a mark.
    pub least: u32,
}

/// With `ecn`: the packets that RED marks instead of dropping them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Marks {
    /// ECN-capable packets (RFC 3168, section 5).
    #[default]
    Capable,
    /// ECN-capable packets and pure ACKs (balakrishnan1999, section 6.1).
    CapableAndAcks,
    /// All packets.
    All,
    /// All packets except pure ACKs, which are neither marked nor dropped early (balakrishnan1999, section 7.1.3, with
    /// ACC disabled).
    Data,
}

impl Choice for Marks {
    const WORDS: &'static [(&'static str, Marks)] = &[
        ("capable", Marks::Capable),
        ("capable_and_acks", Marks::CapableAndAcks),
        ("all", Marks::All),
        ("data", Marks::Data),
    ];
}

/// The packet that is dropped if the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Victim {
    /// The arriving packet.
    #[default]
    Tail,
    /// A random queued packet, so that several consecutive ACKs are rarely lost.
    Random,
}

impl Choice for Victim {
    const WORDS: &'static [(&'static str, Victim)] = &[("tail", Victim::Tail), ("random", Victim::Random)];
}

impl Default for RedConfig {
    fn default() -> RedConfig {
        RedConfig {
            limit: Limit::default(),
            min: Threshold::Packets(1),
            max: Threshold::Packets(1),
            probability: 0.02,
            avpkt: Bytes::new(1000),
            bandwidth: None,
            idle_decay: true,
            burst: None,
            weight: 1.0,
            ecn: false,
            harddrop: false,
            gentle: false,
            adaptive: false,
            marks: Marks::default(),
            victim: Victim::default(),
            count_first: false,
            least: 0,
        }
    }
}

impl Part for RedConfig {
    const NAME: &'static str = "red";
    const TEXT: &'static str = "Random early detection, as in tc-red(8).";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const EXCLUSIVE: &'static [&'static [&'static str]] = &[&["weight", "burst"]];
    const KEYS: &'static [Key<RedConfig>] = &[
        key("limit", |red: &mut Self| &mut red.limit, "Limit of the queue."),
        key("min", |red: &mut Self| &mut red.min, "Average queue length above which some packets are marked or dropped.")
            .default_text("a third of max"),
        key("max", |red: &mut Self| &mut red.max, "Average queue length above which all packets are marked or dropped, unless `gentle` is true.")
            .default_text("a quarter of the limit"),
        key("probability", |red: &mut Self| &mut red.probability, "Probability of a mark or drop when the average queue length reaches max."),
        key(
            "weight",
            |red: &mut Self| &mut red.weight,
            "Weight of each new sample in the average queue length; 1: no averaging. Use either `weight` or `burst`.",
        )
        .default_text("computed from burst"),
        key(
            "burst",
            |red: &mut Self| &mut red.burst,
            "Number of packets that may arrive at once at the empty queue before a packet is marked or dropped. This number determines the weight of the average.",
        )
        .default_text("(2 min + max) / 3")
        .input_only(),
        key("avpkt", |red: &mut Self| &mut red.avpkt, "Size of a typical packet."),
        key(
            "bandwidth",
            |red: &mut Self| &mut red.bandwidth,
            "Rate at which packets leave. It determines how fast the average falls while the queue is empty.",
        )
        .none_word("unlimited")
        .default_text("the line's"),
        key(
            "idle_decay",
            |red: &mut Self| &mut red.idle_decay,
            "True if the average falls while the queue is empty. Inside a token bucket, htb or drr, Linux's RED does not detect that the queue is empty.",
        )
        .default_text("true, or false if the direction has a shaper or the queue is inside tbf, htb or drr"),
        key("ecn", |red: &mut Self| &mut red.ecn, "Mark ECN-capable packets instead of dropping them."),
        key(
            "harddrop",
            |red: &mut Self| &mut red.harddrop,
            "With ecn: while the average queue length exceeds max, drop packets instead of marking them (RFC 3168 section 7).",
        ),
        key(
            "gentle",
            |red: &mut Self| &mut red.gentle,
            "If true, the drop probability rises gradually to 1 while the average queue length is between max and twice max (Floyd 2000). Linux's RED does not support this.",
        ),
        key(
            "adaptive",
            |red: &mut Self| &mut red.adaptive,
            "Every 0.5 s, adapt `probability` to the average queue length, within 1 % to 50 % (Floyd 2001).",
        ),
        key(
            "marks",
            |red: &mut Self| &mut red.marks,
            "With ecn, the packets that are marked instead of dropped: ECN-capable packets (capable), these and pure ACKs (capable_and_acks), all packets (all), or all packets except pure ACKs, which are then neither marked nor dropped early (data, as in balakrishnan1999).",
        ),
        key(
            "victim",
            |red: &mut Self| &mut red.victim,
            "Packet to drop if the queue is full, or if the average queue length requires every packet to be dropped: the arriving packet (tail) or a random one (random).",
        ),
        key(
            "count_first",
            |red: &mut Self| &mut red.count_first,
            "If true, the first packet after an idle time adds a sample of an empty queue, in addition to the samples for the idle time, as in ns-2.",
        ),
        key(
            "least",
            |red: &mut Self| &mut red.least,
            "A packet is always accepted if fewer packets than this number are queued, even if the average queue length is high. ns-2 uses 2, so that the line never becomes idle.",
        ),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        // The defaults of tc-red(8): `max` is 1/4 of the limit, and `min` is 1/3 of `max`.
        if !given.has("max") {
            let of_bins = || {
                Fault::new("max", "`max` is missing: there is no default for a limit in bins")
                    .help("add max = \"30 kB\"")
            };
            self.max = quarter(self.limit).ok_or_else(of_bins)?;
        }
        if !given.has("min") {
            self.min = third(self.max);
        }
        // By default the line's rate determines how fast the average of an idle queue decays.
        if !given.has("bandwidth") {
            self.bandwidth = given.line_rate;
        }
        // Linux's RED never detects an idle queue under a discipline that peeks.
        if !given.has("idle_decay") {
            self.idle_decay = !given.line_peeks;
        }
        self.check_thresholds()?;
        // As in tc, the burst determines the weight if no weight is given.
        if !given.has("weight") {
            self.weight = self.weight_from_burst()?;
        }
        // A resolved scenario contains only the weight, so that burst and weight cannot contradict each other.
        self.burst = None;
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        self.check_thresholds()?;
        if !(self.weight > 0.0 && self.weight <= 1.0) {
            return Err(Fault::new("weight", "a weight of zero would keep the average at zero")
                .help("a weight must be above 0 and at most 1"));
        }
        if !(0.0..=1.0).contains(&self.probability) {
            return Err(Fault::new("probability", "a probability must be from 0 to 1"));
        }
        if self.avpkt == Bytes::ZERO {
            return Err(Fault::new("avpkt", "this must be at least 1 B"));
        }
        // Without ECN all selected packets are dropped, so `harddrop` would have no effect.
        if self.harddrop && !self.ecn {
            let fault = Fault::new("harddrop", "`harddrop` needs `ecn = true`");
            return Err(fault.help("without `ecn`, every selected packet is dropped"));
        }
        Ok(())
    }
}

impl RedConfig {
    fn check_thresholds(&self) -> Result<(), Fault> {
        if !self.min.is_same_unit(self.max) {
            let help = "both are compared with one average: give both in packets, or both in bytes or as times";
            return Err(Fault::new("min", "`min` and `max` count in different units").help(help));
        }
        if self.min.count() > self.max.count() {
            return Err(Fault::new("min", "`min` is above `max`"));
        }
        Ok(())
    }

    /// Returns the largest weight for which a burst of `burst` packets does not raise the average above `min`.
    fn weight_from_burst(&self) -> Result<f64, Fault> {
        // The formula of Floyd and Jacobson is in packets, so thresholds in bytes are divided by the average packet
        // size.
        let unit = if matches!(self.min, Threshold::Packets(_)) { 1.0 } else { self.avpkt.get() as f64 };
        let (min, max) = (self.min.count() as f64 / unit, self.max.count() as f64 / unit);
        let burst = self.burst.map_or((2.0 * min + max) / 3.0, f64::from);
        weight_for_burst(burst, min).ok_or_else(|| {
            let fault = Fault::new("burst", format!("a burst of {burst} packets is smaller than `min`"));
            fault.help(format!("set a burst of more than {} packets, or set `weight`", min.ceil()))
        })
    }
}

/// Returns the largest weight 2^-n for which a burst does not raise the average above `min` (Floyd and Jacobson 1993,
/// equation 2). `None` if the burst is smaller than `min`.
fn weight_for_burst(burst: f64, min: f64) -> Option<f64> {
    const SMALLEST: u32 = 31;
    let excess = burst + 1.0 - min;
    let fits = |weight: &f64| excess <= (1.0 - libm::pow(1.0 - weight, burst + 1.0)) / weight;
    (excess >= 1.0).then(|| (1..=SMALLEST).map(|shift| 1.0 / f64::from(1u32 << shift)).find(fits))?
}

/// Returns 1/4 of a limit, the default of `max`. `None` if the limit is in bins.
fn quarter(limit: Limit) -> Option<Threshold> {
    match limit {
        Limit::Packets(packets) => Some(Threshold::Packets((packets / 4).max(1))),
        Limit::Bytes(bytes) => Some(Threshold::Bytes(Bytes::new((bytes.get() / 4).max(1)))),
        Limit::Bins { .. } => None,
    }
}

/// Returns 1/3 of `max`, the default of `min`.
fn third(max: Threshold) -> Threshold {
    match max {
        Threshold::Packets(packets) => Threshold::Packets((packets / 3).max(1)),
        Threshold::Bytes(bytes) => Threshold::Bytes(Bytes::new((bytes.get() / 3).max(1))),
    }
}
