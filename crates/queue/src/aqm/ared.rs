//! Adaptive RED: RED that derives its settings from a target delay and the rate of the line (Floyd, Gummadi and
//! Shenker, Adaptive RED: an algorithm for increasing the robustness of RED's active queue management, 2001).
//!
//! `min` is half the number of packets that the line sends in the target delay, but at least 5. `max` is 3 times `min`
//! (section 5). The weight is `1 - exp(-1 / C)` if the line sends C packets per second. The probability adapts to the
//! average (section 4): see `adaptive` of [`crate::Red`].

use crate::{Discipline, Limit, Queue, QueuePlace, Red, RedConfig, Threshold};
use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_spec::{Fault, Given, Key, Part, key};

/// Settings of adaptive RED.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AredConfig {
    /// Capacity of the queue.
    pub limit: Limit,
    /// Target of the average queueing delay.
    pub target: Duration,
    /// Rate at which packets leave the queue. `None`: unknown, which is an error when the queue is built.
    pub bandwidth: Option<BitRate>,
    /// Average packet size in bytes.
    pub avpkt: Bytes,
    /// True if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for AredConfig {
    fn default() -> AredConfig {
        AredConfig {
            limit: Limit::Packets(1000),
            target: Duration::from_millis(5),
            bandwidth: None,
            avpkt: Bytes::new(1000),
            ecn: false,
        }
    }
}

impl Part for AredConfig {
    const NAME: &'static str = "ared";
    const TEXT: &'static str = "Adaptive RED (Floyd 2001): RED whose settings follow from the rate and a target delay.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<AredConfig>] = &[
        key("limit", |ared: &mut Self| &mut ared.limit, "Limit of the queue."),
        key("target", |ared: &mut Self| &mut ared.target, "Target of the average queueing delay."),
        key("bandwidth", |ared: &mut Self| &mut ared.bandwidth, "Rate at which packets leave.")
            .default_text("the line's"),
        key("avpkt", |ared: &mut Self| &mut ared.avpkt, "Size of a typical packet."),
        key("ecn", |ared: &mut Self| &mut ared.ecn, "Mark ECN-capable packets instead of dropping them."),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        if !given.has("bandwidth") {
            self.bandwidth = given.line_rate;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        self.red().and_then(|red| red.check())
    }
}

impl AredConfig {
    /// Returns the settings of the RED queue.
    ///
    /// # Errors
    ///
    /// Returns an error if the rate is unknown or zero, or if the packet size is zero.
    pub fn red(&self) -> Result<RedConfig, Fault> {
        let rate = self.bandwidth.filter(|rate| rate.as_bps() > 0).ok_or_else(|| {
            Fault::new("bandwidth", "adaptive RED needs a rate, and this line has no rate")
                .help("add bandwidth = \"10 Mbit/s\"")
        })?;
        if self.avpkt == Bytes::ZERO {
            return Err(Fault::new("avpkt", "this must be at least 1 B"));
        }
        let packets_a_second = rate.as_bps() as f64 / self.avpkt.bits() as f64;
        // Section 5 of the paper: at least 5 packets, so that bursts are not dropped on slow lines.
        let min = (self.target.as_secs_f64() * packets_a_second / 2.0).round().max(5.0);
        Ok(RedConfig {
            limit: self.limit,
            min: Threshold::Packets(min as u32),
            max: Threshold::Packets(3 * min as u32),
            probability: 0.1,
            avpkt: self.avpkt,
            bandwidth: self.bandwidth,
            weight: 1.0 - libm::exp(-1.0 / packets_a_second),
            ecn: self.ecn,
            gentle: true,
            adaptive: true,
            ..RedConfig::default()
        })
    }
}

impl Discipline for AredConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Red::new(&self.red()?, place.rng()).map(|red| Queue::Red(Box::new(red)))
    }
}
