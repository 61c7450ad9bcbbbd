//! A policer: drops arriving packets that exceed its rate, and delays no packet.
//!
//! Tokens are added to a bucket at `rate`, up to `burst`. An arriving packet is dropped if there are too few tokens;
//! otherwise it enters a FIFO queue. Other names are committed token bucket (RFC 2697), `police` (Linux and IOS) and
//! "rate limiter" (merritt2010, section 2.6).
//!
//! The size of a packet is the size of the IP packet. Not modelled: a second bucket, re-marking instead of dropping,
//! layer-2 overhead.

use crate::{Backlog, Buffer, Discipline, Fifo, FifoConfig, Limit, Qdisc, Queue, QueuePlace, QueuedPacket};
use lopsided_core::{BitRate, Bytes, Cx, DropReason, Packet, Time};
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of a policer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicerConfig {
    /// Rate at which tokens are added, in bits of whole IP packets per second.
    pub rate: BitRate,
    /// Depth of the bucket in bytes of IP packets.
    pub burst: Bytes,
    /// Capacity of the queue behind the policer.
    pub limit: Limit,
}

impl Default for PolicerConfig {
    fn default() -> PolicerConfig {
        PolicerConfig { rate: BitRate::from_bps(1_000_000), burst: Bytes::new(15_000), limit: Limit::Packets(1000) }
    }
}

impl Part for PolicerConfig {
    const NAME: &'static str = "policer";
    const TEXT: &'static str = "Drops packets that exceed a rate instead of delaying them.";
    const KEYS: &'static [Key<PolicerConfig>] = &[
        key("rate", |policer: &mut Self| &mut policer.rate, "Long-term rate, counted in octets of IP packets.")
            .required("\"2 Mbit/s\""),
        key(
            "burst",
            |policer: &mut Self| &mut policer.burst,
            "Depth of the token bucket: the number of octets that may pass at once.",
        ),
        key(
            "limit",
            |policer: &mut Self| &mut policer.limit,
            "Limit of the queue in which accepted packets wait for the link.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.burst < Bytes::new(1500) {
            let message = format!("a bucket of {} octets is too small for a packet of 1500 octets", self.burst.get());
            return Err(Fault::new("burst", message));
        }
        Ok(())
    }
}

impl Discipline for PolicerConfig {
    fn build(&self, _place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Policer::new(self).map(|policer| Queue::Custom(Box::new(policer)))
    }
}

/// Number of tokens per byte. A token is 10^-9 bit.
const OCTET: u128 = 8 * 1_000_000_000;

/// A policer, and the FIFO queue behind it.
#[derive(Debug)]
pub struct Policer {
    fifo: Fifo,
    rate: BitRate,
    depth: u128,
    tokens: u128,
    filled_at: Time,
}

impl Policer {
    /// Creates an empty queue with a full bucket.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &PolicerConfig) -> Result<Policer, Fault> {
        config.check_all()?;
        let depth = u128::from(config.burst.get()) * OCTET;
        let fifo = Fifo::new(&FifoConfig::new(config.limit))?;
        Ok(Policer { fifo, rate: config.rate, depth, tokens: depth, filled_at: Time::ZERO })
    }

    /// Adds the tokens for the time since the last call.
    fn fill(&mut self, now: Time) {
        let waited = u128::from(now.saturating_since(self.filled_at).as_nanos());
        // Integer arithmetic is exact, because a rate of 1 bit/s adds one token per nanosecond.
        self.tokens = self.depth.min(self.tokens + waited * u128::from(self.rate.as_bps()));
        self.filled_at = now;
    }
}

impl Qdisc for Policer {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.fill(cx.now());
        let cost = u128::from(packet.size().get()) * OCTET;
        // A dropped packet removes no tokens.
        if self.tokens < cost {
            cx.drop(packet, DropReason::Policed);
            return;
        }
        self.tokens -= cost;
        self.fifo.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.fifo.dequeue(cx)
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

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("tokens_bytes", self.tokens as f64 / OCTET as f64);
    }
}
