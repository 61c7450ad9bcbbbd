//! A shaper inside a tree of disciplines: a token bucket that limits the rate of its child (Linux's `sch_tbf`,
//! tc-tbf(8)).
//!
//! The head packet of the child waits until the bucket contains enough tokens for the packet. With a `peakrate`, the
//! packet also waits for a second bucket of depth `mtu`.
//!
//! The size of a packet is the size of the IP packet plus `overhead`. A packet larger than the bucket is dropped on
//! arrival. Linux segments the packet if possible.

use crate::{
    Backlog, Child, ClassStats, Discipline, Qdisc, Queue, QueueConfig, QueuePlace, QueuedPacket, Sensing, Waiting,
};
use lopsided_core::{BitRate, Bytes, Cx, DropReason, Packet, Time};
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of a token bucket filter, named as in tc-tbf(8).
#[derive(Clone, Debug, PartialEq)]
pub struct TbfConfig {
    /// Rate at which tokens are added to the bucket.
    pub rate: BitRate,
    /// Depth of the bucket in bytes.
    pub burst: Bytes,
    /// Maximum rate during a burst. `None`: no limit.
    pub peakrate: Option<BitRate>,
    /// Depth in bytes of the second bucket, which limits the rate to `peakrate`.
    pub mtu: Bytes,
    /// Number of bytes that are added to the size of each IP packet.
    pub overhead: Bytes,
    /// The queue in which packets wait for tokens.
    pub queue: QueueConfig,
}

impl Default for TbfConfig {
    fn default() -> TbfConfig {
        TbfConfig {
            rate: BitRate::from_bps(1_000_000),
            burst: Bytes::new(5000),
            peakrate: None,
            mtu: Bytes::new(1514),
            overhead: Bytes::ZERO,
            queue: QueueConfig::default(),
        }
    }
}

impl Part for TbfConfig {
    const NAME: &'static str = "tbf";
    const TEXT: &'static str = "A token bucket in front of a queue: a shaper inside a tree of disciplines.";
    const KEYS: &'static [Key<TbfConfig>] = &[
        key("rate", |tbf: &mut Self| &mut tbf.rate, "Long-term rate.").required("\"2 Mbit/s\""),
        key(
            "burst",
            |tbf: &mut Self| &mut tbf.burst,
            "Depth of the token bucket: the number of octets that may leave at once.",
        ),
        key("peakrate", |tbf: &mut Self| &mut tbf.peakrate, "Rate at which a burst leaves.").none_word("unlimited"),
        key(
            "mtu",
            |tbf: &mut Self| &mut tbf.mtu,
            "With a peakrate: number of octets that may leave faster than the peakrate.",
        ),
        key(
            "overhead",
            |tbf: &mut Self| &mut tbf.overhead,
            "Octets counted for each packet in addition to the IP packet.",
        ),
        key("queue", |tbf: &mut Self| &mut tbf.queue, "Queue in which packets wait for tokens.")
            .default_text("drop-tail"),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.burst < Bytes::new(1500) {
            return Err(Fault::new(
                "burst",
                format!("a bucket of {} octets is too small for a packet of 1500 octets", self.burst.get()),
            ));
        }
        if self.peakrate.is_some_and(|peak| peak < self.rate) {
            return Err(Fault::new("peakrate", "`peakrate` is below `rate`"));
        }
        if self.peakrate.is_some() && self.mtu < Bytes::new(1500) {
            return Err(Fault::new(
                "mtu",
                format!("a bucket of {} octets is too small for a packet of 1500 octets", self.mtu.get()),
            ));
        }
        Ok(())
    }
}

impl Discipline for TbfConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        let child = self.queue.build(place.seed, &format!("{}/shaped", place.role))?;
        Ok(Queue::Custom(Box::new(Tbf::new(self, Box::new(child))?)))
    }
}

/// A token bucket. One token is the right to send for 1 ns at the bucket's rate.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: BitRate,
    depth: i64,
    tokens: i64,
}

impl Bucket {
    fn new(rate: BitRate, depth: Bytes) -> Bucket {
        let depth = nanos_at(rate, depth);
        Bucket { rate, depth, tokens: depth }
    }

    /// Returns the number of tokens after `waited` nanoseconds and the departure of a packet. Negative if the packet
    /// must wait longer.
    fn left_after(&self, waited: i64, size: Bytes) -> i64 {
        self.depth.min(self.tokens.saturating_add(waited)) - nanos_at(self.rate, size)
    }
}

/// Returns the transmission time of `size` at `rate`, in nanoseconds.
fn nanos_at(rate: BitRate, size: Bytes) -> i64 {
    rate.time_to_send(size, 0).0.as_nanos() as i64
}

/// A token bucket filter, and its child discipline.
#[derive(Debug)]
pub struct Tbf {
    child: Child,
    bucket: Bucket,
    peak: Option<Bucket>,
    overhead: Bytes,
    /// Time up to which tokens have been added.
    counted: Time,
    /// Size of the packet at the child's head; `None` if no packet is ready.
    head: Option<Bytes>,
}

impl Tbf {
    /// Creates full buckets in front of an empty discipline.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &TbfConfig, child: Box<dyn Qdisc>) -> Result<Tbf, Fault> {
        config.check_all()?;
        Ok(Tbf {
            child: Child::new(child),
            bucket: Bucket::new(config.rate, config.burst),
            peak: config.peakrate.map(|rate| Bucket::new(rate, config.mtu)),
            overhead: config.overhead,
            counted: Time::ZERO,
            head: None,
        })
    }

    /// Looks up the size of the packet at the child's head.
    fn look(&mut self, cx: &mut Cx<'_>) {
        self.head = match self.child.ready_at(cx.now()) {
            Some(ready) if ready == cx.now() => self.child.peek(cx),
            // The child delays its packets.
            Some(_) => None,
            None => {
                // As in Linux, dequeue from an empty child as well, so that fq_codel and fq_pie remove their empty
                // flows.
                let found = self.child.dequeue(cx);
                assert!(found.is_none(), "an empty queue returns a packet: {:?}", self.child);
                None
            }
        };
    }

    /// Returns the number of nanoseconds until both buckets have enough tokens for a packet of this size.
    fn lacking(&self, size: Bytes, now: Time) -> u64 {
        let waited = now.saturating_since(self.counted).as_nanos() as i64;
        let lack = |bucket: &Bucket| -bucket.left_after(waited, size + self.overhead);
        self.peak.as_ref().map_or(0, lack).max(lack(&self.bucket)).max(0) as u64
    }
}

impl Qdisc for Tbf {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        // A packet larger than a bucket would wait forever.
        let deepest = |bucket: &Bucket| nanos_at(bucket.rate, packet.size() + self.overhead) > bucket.depth;
        if deepest(&self.bucket) || self.peak.as_ref().is_some_and(deepest) {
            return cx.drop(packet, DropReason::Policed);
        }
        self.child.enqueue(packet, cx);
        self.look(cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let now = cx.now();
        self.look(cx);
        let size = self.head?;
        // There are too few tokens for the head packet. `ready_at` returns the time at which there will be enough.
        if self.lacking(size, now) > 0 {
            return None;
        }
        let given = self.child.dequeue(cx)?;
        let waited = now.saturating_since(self.counted).as_nanos() as i64;
        let size = given.packet.size() + self.overhead;
        for bucket in std::iter::once(&mut self.bucket).chain(&mut self.peak) {
            // There are enough tokens, so the result is never negative.
            bucket.tokens = bucket.left_after(waited, size);
        }
        self.counted = now;
        // As in Linux, look up the size of the next head packet at once. If the child does not implement `peek`, the
        // lookup dequeues the packet from the child.
        self.look(cx);
        Some(given)
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        match self.head {
            Some(size) => Some(now + lopsided_core::Duration::from_nanos(self.lacking(size, now))),
            None => self.child.ready_at(now),
        }
    }

    fn backlog(&self) -> Backlog {
        self.child.backlog()
    }

    fn sensing(&mut self) -> Option<&mut dyn Sensing> {
        self.child.sensing()
    }

    fn removes(&mut self) -> bool {
        self.child.removes()
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.child.remove(waiting, cx)?;
        self.look(cx);
        Some(packet)
    }

    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        self.child.classes(out);
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("tokens_ms", self.bucket.tokens as f64 / 1e6);
        self.child.gauges(out);
    }
}
