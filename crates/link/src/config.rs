//! What a scenario says of a link, and what is wrong with it.

use crate::access::AccessConfig;
use crate::header_compression::HeaderCompression;
use crate::jitter::JitterConfig;
use crate::shaper::{AnyShaper, Serializer, TokenBucket};
use crate::{Framing, HeaderCompressionConfig, Link, LossConfig};
use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_queue::{Queue, QueueConfig};
use lopsided_spec::{Fault, Given, Key, Part, PartInfo, Scalar, Value, ValueType, key};
use lopsided_stage::StageConfig;
use std::fmt;

/// One direction of a line as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// The serializer's rate, or the rate of the shaper's credit where there is one. `None`: infinitely fast.
    pub rate: Option<BitRate>,
    pub shaper: Option<ShaperConfig>,
    pub framing: Framing,
    pub header_compression: HeaderCompressionConfig,
    /// The largest IP packet that the direction takes. `None`: any.
    pub mtu: Option<Bytes>,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// When the line may send, where that is more than the rate.
    pub access: Option<AccessConfig>,
    pub loss: LossConfig,
    pub jitter: JitterConfig,
    pub queue: QueueConfig,
    /// What stands on either side of the queue and the line, in the order in which packets meet it.
    pub stages: Vec<StageConfig>,
    /// Check every operation of the queue. Changes no result.
    pub audit: bool,
}

/// A token bucket, whose credit comes at the link's rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShaperConfig {
    /// The depth of the bucket (Bc), in octets on the wire.
    pub burst: Bytes,
    /// Credit comes in lumps of rate times interval (Tc), rather than all the time.
    pub interval: Option<Duration>,
    /// The rate at which a burst leaves. `None`: at once.
    pub line_rate: Option<BitRate>,
}

impl LinkConfig {
    /// A line of that rate and delay with a queue, and nothing else.
    pub fn new(rate: Option<BitRate>, delay: Duration, queue: QueueConfig) -> LinkConfig {
        LinkConfig {
            rate,
            shaper: None,
            framing: Framing::NONE,
            header_compression: HeaderCompressionConfig::default(),
            mtu: None,
            delay,
            access: None,
            loss: LossConfig::default(),
            jitter: JitterConfig::default(),
            queue,
            stages: Vec::new(),
            audit: false,
        }
    }

    /// The link, idle. Its random draws are keyed by the run's seed and the link's role, such as `"link/up"`.
    pub fn build(&self, seed: u64, role: &str) -> Result<Link, LinkError> {
        let queue = self.queue.build(seed, role)?;
        self.build_with(queue, self.build_shaper(seed, role)?, seed, role)
    }

    /// The same with this queue and shaper, such as [`Queue::Custom`]; those of the configuration are left aside.
    pub fn build_with(&self, queue: Queue, shaper: AnyShaper, seed: u64, role: &str) -> Result<Link, LinkError> {
        self.check_header_compression().map_err(LinkError::HeaderCompression)?;
        let loss = self.loss.build(seed, role)?;
        let queue = if self.audit { queue.checked() } else { queue };
        let compression = HeaderCompression::of(&self.header_compression, self.delay);
        Ok(Link::assemble(queue, shaper, self.framing, self.delay, loss, self.jitter.build(seed, role), compression))
    }

    /// A token bucket must know what a packet takes before it leaves the queue, which compression tells when it does.
    fn check_header_compression(&self) -> Result<(), Fault> {
        if self.header_compression.is_on() && (self.shaper.is_some() || self.access.is_some()) {
            let fault =
                Fault::new("", "headers are compressed behind a plain serializer: not behind a shaper or access");
            return Err(fault.help("compress on a link of its own behind it"));
        }
        if self.header_compression.is_on() && self.jitter.reorder {
            return Err(Fault::new(
                "",
                "a compressed header says what changed since the one before: none may overtake it",
            ));
        }
        self.header_compression.check()
    }

    /// The shaper of this configuration. Its random draws are keyed as those of [`LinkConfig::build`].
    pub fn build_shaper(&self, seed: u64, role: &str) -> Result<AnyShaper, LinkError> {
        if let Some(access) = &self.access {
            if self.shaper.is_some() {
                let fault = Fault::new("", "a direction has a shaper or an access, not both");
                return Err(LinkError::Access(fault.help("put the shaper in front of a link of its own")));
            }
            return access.build(self.rate, seed, role).map_err(LinkError::Access);
        }
        match (self.rate, self.shaper) {
            (None, None) => Ok(AnyShaper::Unlimited),
            (None, Some(_)) => Err(LinkError::ShaperWithoutRate),
            (Some(rate), _) if !(1..=MOST_RATE).contains(&rate.as_bps()) => Err(LinkError::Rate(rate)),
            (Some(rate), None) => Ok(AnyShaper::Serializer(Serializer::new(rate))),
            (Some(rate), Some(shaper)) => {
                shaper.check_at(rate).map_err(LinkError::Shaper)?;
                Ok(AnyShaper::TokenBucket(Box::new(TokenBucket::new(rate, &shaper))))
            }
        }
    }
}

/// Where Linux's path-MTU discovery ends, and the largest IP packet.
const LEAST_MTU: u64 = 552;
const MOST_MTU: u64 = 65_535;
/// 10 Tbit/s: far above any line, and low enough that no sum here overflows.
const MOST_RATE: u64 = 10_000_000_000_000;
/// The deepest bucket, of 2^30 octets: its credit fits 64 bits.
const MOST_BURST: Bytes = Bytes::new(1 << 30);

impl ShaperConfig {
    /// What is wrong with the bucket where credit comes at this rate.
    fn check_at(&self, rate: BitRate) -> Result<(), Fault> {
        if self.burst == Bytes::ZERO || self.burst > MOST_BURST {
            return Err(Fault::new("burst", format!("a burst of {:?}: it must be from 1 B to 1 GiB", self.burst)));
        }
        if self.line_rate.is_some_and(|line| !(rate.as_bps()..=MOST_RATE).contains(&line.as_bps())) {
            let fault = Fault::new("line_rate", "the line_rate is below the shaper's own rate, or above 10 Tbit/s");
            return Err(fault.help("it is the physical rate at which a burst leaves, such as \"100 Mbit/s\""));
        }
        let Some(interval) = self.interval else { return Ok(()) };
        if interval.is_zero() {
            let fault = Fault::new("refill_interval", "an interval of zero");
            return Err(fault.help("leave it out for credit that comes all the time"));
        }
        let lump = lump(rate, interval);
        if lump > self.burst {
            let message = format!(
                "a bucket of {} B cannot hold what comes in one interval: it must be at least {} B",
                self.burst.get(),
                lump.get()
            );
            return Err(
                Fault::new("burst", message).help("leave `burst` out: with an interval it follows from the rate")
            );
        }
        Ok(())
    }
}

/// What comes in one interval, rounded up: a bucket must hold all of it.
fn lump(rate: BitRate, interval: Duration) -> Bytes {
    let bits_e9 = u128::from(rate.as_bps()) * u128::from(interval.as_nanos());
    Bytes::new(u64::try_from(bits_e9.div_ceil(8_000_000_000)).unwrap_or(u64::MAX))
}

impl Part for ShaperConfig {
    const NAME: &'static str = "shaper";
    const TEXT: &'static str = "A token bucket that fills at the direction's rate.";
    const SHORTHAND: Option<&'static str> = Some("burst");
    const KEYS: &'static [Key<ShaperConfig>] = &[
        key(
            "burst",
            |shaper: &mut Self| &mut shaper.burst,
            "Bucket depth (Bc), in octets on the wire. Required without a refill_interval; with one it may be less than a packet.",
        )
        .default_text("rate x refill_interval"),
        key(
            "refill_interval",
            |shaper| &mut shaper.interval,
            "Credit comes in lumps of rate x refill_interval this often (Tc); without it, continuously.",
        ),
        key("line_rate", |shaper: &mut Self| &mut shaper.line_rate, "The physical rate at which a burst leaves.")
            .none_word("unlimited"),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        let Some(rate) = given.line_rate else {
            return Err(Fault::new("", "a shaper needs a rate").help("the bucket fills at the direction's rate"));
        };
        if !given.has("burst") {
            let Some(interval) = self.interval else {
                return Err(Fault::new("", "`burst` is missing in the shaper").help("add burst = \"1600 B\""));
            };
            self.burst = lump(rate, interval);
        }
        self.check_at(rate)
    }
}

impl Scalar for ShaperConfig {
    const TYPE: ValueType = ValueType::Part(PartInfo::of::<ShaperConfig>);

    fn to_value(&self) -> Value {
        Value::of_part(self)
    }

    fn from_value(value: Value) -> Result<ShaperConfig, String> {
        value.into_part()
    }
}

impl Default for LinkConfig {
    /// Infinitely fast, without delay.
    fn default() -> LinkConfig {
        LinkConfig::new(None, Duration::ZERO, QueueConfig::default())
    }
}

/// The keys of a direction. What a packet meets, in order: stages of the entry side, queue, shaper or serializer, loss, propagation
/// delay, stages of the exit side.
impl Part for LinkConfig {
    const NAME: &'static str = "direction";
    const TEXT: &'static str = "One direction of a link.";
    const KEYS: &'static [Key<LinkConfig>] = &[
        key(
            "rate",
            |link: &mut Self| &mut link.rate,
            "Bits per second on the wire, such as \"2.4 Mbit/s\" or \"196 kbit/s\"; \"unlimited\" for an infinitely fast line. \
             Required.",
        )
        .default_text("")
        .none_word("unlimited"),
        key("delay", |link| &mut link.delay, "One-way propagation delay, such as \"10 ms\"."),
        key(
            "mtu",
            |link: &mut Self| &mut link.mtu,
            "The largest IP packet that it takes, such as \"1400 B\". The router before it drops a larger one (too_big) and tells its \
             sender, which sends smaller segments from then on (path-MTU discovery, RFC 1191).",
        )
        .none_word("any"),
        key(
            "framing",
            |link: &mut Self| &mut link.framing,
            "Octets a packet takes on the wire: a kind such as \"ethernet\" or \"pppoe-llcsnap\", or a table.",
        )
        .default_text("none"),
        key(
            "header_compression",
            |link: &mut Self| &mut link.header_compression,
            "TCP/IP headers are compressed on the line: a scheme such as \"cslip\", or a table.",
        )
        .default_text("none"),
        key(
            "queue",
            |link: &mut Self| &mut link.queue,
            "The queue before the line: a limit such as \"50 packets\", or a table. [lan] and a dumbbell's access links default to \
             1000 packets.",
        )
        .default_text("50 packets"),
        key(
            "shaper",
            |link| &mut link.shaper,
            "A token bucket in place of the plain serializer: a burst such as \"1600 B\", or a table.",
        ),
        key(
            "access",
            |link| &mut link.access,
            "When the line may send, where that is more than a rate: a table of a kind, such as { kind = \"grants\" }. With a trace or \
             rates of its own the direction needs no rate.",
        ),
        key("jitter", |link: &mut Self| &mut link.jitter, "Delay that varies: a time such as \"5 ms\", or a table.")
            .default_text("none"),
        key("loss", |link| &mut link.loss, "Packets lost on the line: a probability such as \"1 %\", or a table."),
        key(
            "stages",
            |link: &mut Self| &mut link.stages,
            "What packets meet on either side of the queue and the line, in order: tables, each of a kind.",
        )
        .default_text("none"),
    ];

    fn check(&self) -> Result<(), Fault> {
        if let Some(mtu) = self.mtu.filter(|mtu| !(LEAST_MTU..=MOST_MTU).contains(&mtu.get())) {
            let fault = Fault::new("mtu", format!("an mtu of {} B: it must be from 552 to 65535 B", mtu.get()));
            return Err(fault.help("below 552 B Linux sends fragments, which are left out"));
        }
        self.check_header_compression().map_err(|fault| Fault { key: "header_compression", ..fault })
    }
}

/// Why a link cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    Rate(BitRate),
    ShaperWithoutRate,
    Shaper(Fault),
    Access(Fault),
    Loss(Fault),
    HeaderCompression(Fault),
    Queue(Fault),
}

impl From<Fault> for LinkError {
    fn from(fault: Fault) -> LinkError {
        LinkError::Queue(fault)
    }
}

impl LinkError {
    /// The key of the link's configuration that is at fault, as scenarios name it.
    pub fn key(&self) -> String {
        match self {
            LinkError::Rate(_) | LinkError::ShaperWithoutRate => "rate".to_owned(),
            LinkError::Shaper(fault) => format!("shaper.{}", fault.key),
            LinkError::Access(fault) => format!("access.{}", fault.key),
            LinkError::Loss(fault) => format!("loss.{}", fault.key),
            LinkError::HeaderCompression(fault) if fault.key.is_empty() => "header_compression".to_owned(),
            LinkError::HeaderCompression(fault) => format!("header_compression.{}", fault.key),
            LinkError::Queue(fault) => format!("queue.{}", fault.key),
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Rate(rate) => {
                write!(f, "a rate of {rate:?}: a link needs at least 1 bit/s and at most 10 Tbit/s")
            }
            LinkError::ShaperWithoutRate => {
                f.write_str("a shaper needs the link's rate: its credit comes at that rate")
            }
            LinkError::Shaper(fault)
            | LinkError::Access(fault)
            | LinkError::Loss(fault)
            | LinkError::HeaderCompression(fault)
            | LinkError::Queue(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for LinkError {}
