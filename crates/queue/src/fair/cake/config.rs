//! The settings of CAKE.

use super::hosts::Isolation;
use super::tins::TinMode;
use crate::Framing;
use crate::bounds;
use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of CAKE, named as in tc-cake(8).
#[derive(Clone, Debug, PartialEq)]
pub struct CakeConfig {
    /// Rate of the shaper. `None`: CAKE does not shape, so packets leave at the link's rate.
    pub bandwidth: Option<BitRate>,
    /// The tins, which are classes of service with separate queues.
    pub tins: TinMode,
    /// Flow isolation: the flows and hosts among which the rate is shared.
    pub isolation: Isolation,
    /// Typical round-trip time. COBALT uses it as its interval, and 5 % of it as its target.
    pub rtt: Duration,
    /// Framing of the line behind the shaper. The framing adds bytes to each packet.
    pub framing: Framing,
    /// Limit of all queues in bytes of IP packets. `None`: the bytes that the bandwidth sends in 4 round trips, but at
    /// least 4 MiB and at most 10,240 full frames.
    pub memlimit: Option<Bytes>,
}

impl Default for CakeConfig {
    /// Linux's defaults.
    fn default() -> CakeConfig {
        CakeConfig {
            bandwidth: None,
            tins: TinMode::Diffserv3,
            isolation: Isolation::TripleIsolate,
            rtt: Duration::from_millis(100),
            framing: Framing::NONE,
            memlimit: None,
        }
    }
}

impl Part for CakeConfig {
    const NAME: &'static str = "cake";
    const TEXT: &'static str = "CAKE: a shaper that accounts for the line's framing, tins selected by DSCP, fairness between hosts and flows, and COBALT.";
    const SHORTHAND: Option<&'static str> = Some("bandwidth");
    const KEYS: &'static [Key<CakeConfig>] = &[
        key("bandwidth", |part: &mut Self| &mut part.bandwidth, "Rate of the shaper, including framing.")
            .none_word("unlimited"),
        key("tins", |part: &mut Self| &mut part.tins, "Classes of service that have their own queues."),
        key(
            "isolation",
            |part: &mut Self| &mut part.isolation,
            "Units between which the rate is shared fairly: flows, hosts, or hosts first and then the flows of each host.",
        ),
        key(
            "rtt",
            |part: &mut Self| &mut part.rtt,
            "Typical round-trip time. COBALT uses it as its interval, and 5 % of it as its target.",
        ),
        key("framing", |part: &mut Self| &mut part.framing, "Framing of the line behind the shaper."),
        key(
            "memlimit",
            |part: &mut Self| &mut part.memlimit,
            "Maximum number of octets in all queues together, including IP headers.",
        )
        .none_word("auto")
        .default_text("four round trips at the bandwidth, at least 4 MiB and at most 15.5 MB"),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.bandwidth.is_some_and(|rate| rate.as_bps() < LEAST_BANDWIDTH) {
            return Err(Fault::new("bandwidth", "the shaper's rate must be at least 64 bit/s"));
        }
        if !(Duration::from_micros(1)..=Duration::from_secs(60)).contains(&self.rtt) {
            return Err(Fault::new("rtt", "a round trip must be from 1 us to 60 s"));
        }
        self.memlimit.map_or(Ok(()), |limit| bounds::limit("memlimit", limit.get()))
    }
}

/// Minimum rate of the shaper in bit/s.
const LEAST_BANDWIDTH: u64 = 64;

/// Minimum and maximum of the default limit of all queues in bytes: 4 MiB, and 10,240 full frames.
const ROOM: (u64, u64) = (4 << 20, 10_240 * 1514);

impl CakeConfig {
    /// Returns the limit of all queues in bytes.
    pub(super) fn room(&self) -> u64 {
        // As in Linux's cake_reconfigure: four round trips at the shaper's rate.
        let round_trips = |rate: BitRate| (rate.as_bps() as f64 / 8.0 * self.rtt.as_secs_f64() * 4.0) as u64;
        let automatic = self.bandwidth.map_or(ROOM.1, |rate| round_trips(rate).clamp(ROOM.0, ROOM.1));
        self.memlimit.map_or(automatic, Bytes::get)
    }
}
