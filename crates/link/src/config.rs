//! The settings of a link in a scenario.

use crate::access::AccessConfig;
use crate::header_compression::HeaderCompression;
use crate::jitter::JitterConfig;
use crate::link_error::LinkError;
use crate::shaper::{AnyShaper, MOST_RATE, Serializer, ShaperConfig, TokenBucket};
use crate::{Framing, HeaderCompressionConfig, Link, LossConfig};
use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_queue::{Queue, QueueConfig};
use lopsided_spec::{Fault, Key, Part, key};
use lopsided_stage::StageConfig;

/// One direction of a line as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Rate of the serializer, or of the shaper's credit. `None`: infinitely fast.
    pub rate: Option<BitRate>,
    pub shaper: Option<ShaperConfig>,
    pub framing: Framing,
    pub header_compression: HeaderCompressionConfig,
    /// The largest IP packet that the direction takes. `None`: any.
    pub mtu: Option<Bytes>,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// When the line may send, if a constant rate is not enough.
    pub access: Option<AccessConfig>,
    pub loss: LossConfig,
    pub jitter: JitterConfig,
    pub queue: QueueConfig,
    /// Stages before and after the queue and the line, in the order in which packets pass them.
    pub stages: Vec<StageConfig>,
    /// Check every operation of the queue. Changes no result.
    pub audit: bool,
}

impl LinkConfig {
    /// A line with this rate, delay and queue, and nothing else.
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
    ///
    /// # Errors
    /// If queue, shaper or impairments refuse their settings.
    pub fn build(&self, seed: u64, role: &str) -> Result<Link, LinkError> {
        let queue = self.queue.build(seed, role)?;
        self.build_with(queue, self.build_shaper(seed, role)?, seed, role)
    }

    /// As [`LinkConfig::build`] with this queue and shaper instead of the configured ones, such as [`Queue::Custom`].
    ///
    /// # Errors
    ///
    /// As [`LinkConfig::build`], for the rest of the configuration.
    pub fn build_with(&self, queue: Queue, shaper: AnyShaper, seed: u64, role: &str) -> Result<Link, LinkError> {
        self.check_header_compression().map_err(LinkError::HeaderCompression)?;
        let loss = self.loss.build(seed, role)?;
        let queue = if self.audit { queue.checked() } else { queue };
        let compression = HeaderCompression::of(&self.header_compression, self.delay);
        Ok(Link::assemble(queue, shaper, self.framing, self.delay, loss, self.jitter.build(seed, role), compression))
    }

    /// A token bucket needs a packet's size before it leaves the queue, but the compressed size is known only when it
    /// leaves.
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

    /// Builds the configured shaper. Its random numbers are keyed like those of [`LinkConfig::build`].
    ///
    /// # Errors
    ///
    /// If there are both an access and a shaper, a shaper without a rate, a rate too large to count, or settings that
    /// the access or the shaper refuses.
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

/// The least MTU of Linux's path-MTU discovery, and the largest IP packet.
const LEAST_MTU: u64 = 552;
const MOST_MTU: u64 = 65_535;
impl Default for LinkConfig {
    /// Infinitely fast, without delay.
    fn default() -> LinkConfig {
        LinkConfig::new(None, Duration::ZERO, QueueConfig::default())
    }
}

/// The keys of a direction, in the order in which a packet passes them: entry stages, queue, shaper or serializer,
/// loss, propagation delay, exit stages.
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
