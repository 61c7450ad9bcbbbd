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

/// One direction of a line, as a scenario describes it.
///
/// # Examples
///
/// ```
/// use lopsided_core::{BitRate, Duration};
/// use lopsided_link::LinkConfig;
/// use lopsided_queue::QueueConfig;
///
/// let uplink = LinkConfig::new(Some(BitRate::from_bps(1_000_000)), Duration::from_millis(20), QueueConfig::default());
/// let link = uplink.build(1, "link/up").unwrap();
/// assert_eq!(link.delay(), Duration::from_millis(20));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Rate of the serializer. With a shaper, the rate at which tokens are added to the bucket. `None`: infinitely
    /// fast.
    pub rate: Option<BitRate>,
    /// Settings of the token bucket. `None`: a plain serializer.
    pub shaper: Option<ShaperConfig>,
    /// Framing of the line, which determines the size of an IP packet on the wire.
    pub framing: Framing,
    /// Compression of TCP/IP headers on the line.
    pub header_compression: HeaderCompressionConfig,
    /// Size in bytes of the largest IP packet that the direction accepts. `None`: any size.
    pub mtu: Option<Bytes>,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Access method, which decides when the line may send. `None`: the line may always send.
    pub access: Option<AccessConfig>,
    /// Random loss on the line.
    pub loss: LossConfig,
    /// Variable part of the delay.
    pub jitter: JitterConfig,
    /// Queue in front of the line.
    pub queue: QueueConfig,
    /// Stages before and after the queue and the line, in the order in which packets pass through them.
    pub stages: Vec<StageConfig>,
    /// True if every operation of the queue is checked for consistency. Does not change results.
    pub audit: bool,
}

impl LinkConfig {
    /// Returns the settings of a line with this rate, delay and queue, and defaults for all other settings.
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

    /// Builds an idle link. The run's seed and the link's role, such as `"link/up"`, determine its random streams.
    ///
    /// # Errors
    /// Returns an error if the queue, the shaper or an impairment rejects its settings.
    pub fn build(&self, seed: u64, role: &str) -> Result<Link, LinkError> {
        let queue = self.queue.build(seed, role)?;
        self.build_with(queue, self.build_shaper(seed, role)?, seed, role)
    }

    /// Like [`LinkConfig::build`], but with this queue and shaper instead of the configured ones. The queue can be a
    /// [`Queue::Custom`].
    ///
    /// # Errors
    ///
    /// Returns an error if the loss model or header compression rejects its settings.
    pub fn build_with(&self, queue: Queue, shaper: AnyShaper, seed: u64, role: &str) -> Result<Link, LinkError> {
        self.check_header_compression().map_err(LinkError::HeaderCompression)?;
        let loss = self.loss.build(seed, role)?;
        // An audited queue uses the general transmit path instead of the drop-tail path. The two paths produce the same
        // results.
        let queue = if self.audit { queue.checked() } else { queue };
        let compression = HeaderCompression::of(&self.header_compression, self.delay);
        Ok(Link::assemble(queue, shaper, self.framing, self.delay, loss, self.jitter.build(seed, role), compression))
    }

    /// Checks that the other settings of the direction allow header compression.
    fn check_header_compression(&self) -> Result<(), Fault> {
        // A token bucket needs the size of a packet that is still in the queue, but the compressed size is known only
        // when the packet leaves.
        if self.header_compression.is_on() && (self.shaper.is_some() || self.access.is_some()) {
            let fault = Fault::new("", "header compression cannot be combined with a shaper or an access method");
            return Err(fault.help("compress headers on a separate link behind this link"));
        }
        // A compressed header encodes differences from the previous header, so packets must arrive in order.
        if self.header_compression.is_on() && self.jitter.reorder {
            let fault = Fault::new("", "header compression needs packets in order, but `jitter` reorders packets");
            return Err(fault.help("remove `reorder` from the jitter"));
        }
        self.header_compression.check()
    }

    /// Builds the configured shaper. The seed and the role determine its random streams, as in [`LinkConfig::build`].
    ///
    /// # Errors
    ///
    /// Returns an error if both an access method and a shaper are configured, if a shaper has no rate, or if the rate
    /// is outside the supported range. Also returns an error if the access method or the shaper rejects its settings.
    pub fn build_shaper(&self, seed: u64, role: &str) -> Result<AnyShaper, LinkError> {
        // A program can set a rate that a scenario cannot. Every kind of access divides by its rate.
        if let Some(rate) = self.rate.filter(|rate| !(1..=MOST_RATE).contains(&rate.as_bps())) {
            return Err(LinkError::Rate(rate));
        }
        if let Some(access) = &self.access {
            // A shaper and an access method both decide when packets leave the queue.
            if self.shaper.is_some() {
                let fault = Fault::new("", "a direction has a shaper or an access, not both");
                return Err(LinkError::Access(fault.help("use the shaper on a separate link")));
            }
            return access.build(self.rate, seed, role).map_err(LinkError::Access);
        }
        match (self.rate, self.shaper) {
            (None, None) => Ok(AnyShaper::Unlimited),
            (None, Some(_)) => Err(LinkError::ShaperWithoutRate),
            (Some(rate), None) => Ok(AnyShaper::Serializer(Serializer::new(rate))),
            // `rate` is the rate of the bucket, and `shaper.line_rate` is the rate of the line behind it.
            (Some(rate), Some(shaper)) => {
                shaper.check_at(rate).map_err(LinkError::Shaper)?;
                Ok(AnyShaper::TokenBucket(Box::new(TokenBucket::new(rate, &shaper))))
            }
        }
    }
}

/// The smallest MTU that Linux's path-MTU discovery uses (`ip_rt_min_pmtu`), in bytes.
const LEAST_MTU: u64 = 552;
/// The largest IP packet, in bytes.
const MOST_MTU: u64 = 65_535;
impl Default for LinkConfig {
    /// Returns an infinitely fast line without delay.
    fn default() -> LinkConfig {
        LinkConfig::new(None, Duration::ZERO, QueueConfig::default())
    }
}

/// The keys of one link direction, in the order in which a packet traverses the parts that they configure.
impl Part for LinkConfig {
    const NAME: &'static str = "direction";
    const TEXT: &'static str = "One direction of a link.";
    const KEYS: &'static [Key<LinkConfig>] = &[
        key(
            "rate",
            |link: &mut Self| &mut link.rate,
            "Bits per second on the wire, such as \"2.4 Mbit/s\" or \"196 kbit/s\"; \"unlimited\" for an \
             infinitely fast line. Required.",
        )
        .default_text("")
        .none_word("unlimited"),
        key("delay", |link| &mut link.delay, "One-way propagation delay, such as \"10 ms\"."),
        key(
            "mtu",
            |link: &mut Self| &mut link.mtu,
            "Largest IP packet that the link takes, such as \"1400 B\". The router before the link drops a larger \
             packet (too_big) and reports it to the sender, which then sends smaller segments (path-MTU \
             discovery, RFC 1191).",
        )
        .none_word("any"),
        key(
            "framing",
            |link: &mut Self| &mut link.framing,
            "Link-layer framing, which determines the size of a packet on the wire: a kind such as \"ethernet\" or \"pppoe-llcsnap\", or a table.",
        )
        .default_text("none"),
        key(
            "header_compression",
            |link: &mut Self| &mut link.header_compression,
            "Compression of TCP/IP headers on the line: a scheme such as \"cslip\", or a table.",
        )
        .default_text("none"),
        key(
            "queue",
            |link: &mut Self| &mut link.queue,
            "The queue before the line: a limit such as \"50 packets\", or a table. [lan] and a dumbbell's access \
             links default to 1000 packets.",
        )
        .default_text("50 packets"),
        key(
            "shaper",
            |link| &mut link.shaper,
            "A token bucket instead of the plain serializer: a burst such as \"1600 B\", or a table.",
        ),
        key(
            "access",
            |link| &mut link.access,
            "Rules that determine when the line may send, in addition to its rate: a table such as { kind = \"grants\" }. A direction needs no `rate` if these rules set its rate, as the kind trace does.",
        ),
        key("jitter", |link: &mut Self| &mut link.jitter, "Variation of the delay: a time such as \"5 ms\", or a table.")
            .default_text("none"),
        key("loss", |link| &mut link.loss, "Loss of packets on the line: a probability such as \"1 %\", or a table."),
        key(
            "stages",
            |link: &mut Self| &mut link.stages,
            "Stages that packets pass before the queue or after the line, in this order: a list of tables, each with a kind.",
        )
        .default_text("none"),
    ];

    fn check(&self) -> Result<(), Fault> {
        if let Some(mtu) = self.mtu.filter(|mtu| !(LEAST_MTU..=MOST_MTU).contains(&mtu.get())) {
            let fault = Fault::new("mtu", format!("an mtu of {} B: it must be from 552 to 65535 B", mtu.get()));
            return Err(fault.help("below 552 B Linux sends fragments, which are not modelled"));
        }
        self.check_header_compression().map_err(|fault| Fault { key: "header_compression", ..fault })
    }
}
