//! A token bucket in front of a queue of its own: a shaper inside the tree of disciplines (Linux's `sch_tbf`,
//! tc-tbf(8)).
//!
//! Tokens are nanoseconds at `rate`, up to those of `burst`. The packet at the head waits until there are tokens for
//! all of it. With a `peakrate` it also waits for a second bucket with a depth of `mtu`. A link's own token bucket
//! (`shaper`) behaves in the same way if nothing is between the bucket and the line.
//!
//! The head's size is looked up whenever something changes, as in the kernel. From a child that cannot return the size
//! ([`Qdisc::peek`]) the head is taken out at that time.
//!
//! Sizes are bytes of IP plus `overhead`. A packet larger than the bucket is dropped on arrival; Linux would segment it
//! if possible.

use crate::{
    Backlog, Child, ClassStats, Discipline, FarEnd, Qdisc, Queue, QueueConfig, QueuePlace, QueuedPacket, Waiting,
};
use lopsided_core::{BitRate, Bytes, Cx, DropReason, NewPacket, Packet, Time};
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of a token bucket filter, named as in tc-tbf(8).
#[derive(Clone, Debug, PartialEq)]
pub struct TbfConfig {
    /// Rate at which the bucket fills.
    pub rate: BitRate,
    /// Depth of the bucket in bytes.
    pub burst: Bytes,
    /// Rate at which a burst leaves. `None`: infinitely fast.
    pub peakrate: Option<BitRate>,
    /// Depth of the second bucket, for `peakrate`, in bytes.
    pub mtu: Bytes,
    /// Bytes counted for each packet in addition to the IP packet.
    pub overhead: Bytes,
    /// The queue behind the bucket.
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
        key("rate", |tbf: &mut Self| &mut tbf.rate, "Rate in the long run.").required("\"2 Mbit/s\""),
        key("burst", |tbf: &mut Self| &mut tbf.burst, "Depth of the bucket: the amount that may leave at once."),
        key("peakrate", |tbf: &mut Self| &mut tbf.peakrate, "The rate at which a burst leaves.").none_word("unlimited"),
        key("mtu", |tbf: &mut Self| &mut tbf.mtu, "With a peakrate: amount that may leave faster than the peakrate."),
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
                format!("a bucket of {} octets lets no full packet pass", self.burst.get()),
            ));
        }
        if self.peakrate.is_some_and(|peak| peak < self.rate) {
            return Err(Fault::new("peakrate", "`peakrate` is below `rate`"));
        }
        if self.peakrate.is_some() && self.mtu < Bytes::new(1500) {
            return Err(Fault::new("mtu", format!("a bucket of {} octets lets no full packet pass", self.mtu.get())));
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

/// A bucket of time at a rate: its tokens are nanoseconds.
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

    /// Returns the tokens after a wait and the cost of a packet. Negative if the packet must wait longer.
    fn left_after(&self, waited: i64, size: Bytes) -> i64 {
        self.depth.min(self.tokens.saturating_add(waited)) - nanos_at(self.rate, size)
    }
}

/// Returns the nanoseconds that this many bytes take at a rate.
fn nanos_at(rate: BitRate, size: Bytes) -> i64 {
    rate.time_to_send(size, 0).0.as_nanos() as i64
}

/// A token bucket filter, and the discipline behind it.
#[derive(Debug)]
pub struct Tbf {
    child: Child,
    bucket: Bucket,
    peak: Option<Bucket>,
    overhead: Bytes,
    /// Time up to which tokens are counted.
    counted: Time,
    /// Size of the packet at the child's head, if a packet is ready.
    head: Option<Bytes>,
}

impl Tbf {
    /// Creates full buckets in front of an empty discipline.
    ///
    /// # Errors
    ///
    /// If a setting is out of range.
    pub fn new(config: &TbfConfig, child: Box<dyn Qdisc>) -> Result<Tbf, Fault> {
        config.check()?;
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
        // A child may hold its packets back.
        let ready = self.child.ready_at(cx.now()) == Some(cx.now());
        self.head = if ready { self.child.peek(cx) } else { None };
    }

    /// Returns the nanoseconds until both buckets have the tokens for a packet of this size.
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
        // The head waits for tokens; `ready_at` returns when.
        if self.lacking(size, now) > 0 {
            return None;
        }
        let given = self.child.dequeue(cx)?;
        let waited = now.saturating_since(self.counted).as_nanos() as i64;
        let size = given.packet.size() + self.overhead;
        for bucket in std::iter::once(&mut self.bucket).chain(&mut self.peak) {
            // `dequeue` never overdraws a bucket, so tokens stay at zero or above.
            bucket.tokens = bucket.left_after(waited, size);
        }
        self.counted = now;
        // As in the kernel, the next head is looked up at once: a child without `peek` releases it now.
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

    fn senses(&self) -> Option<FarEnd> {
        self.child.senses()
    }

    fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool {
        self.child.observe_reverse(packet, now)
    }

    fn poll_originate(&mut self) -> Option<NewPacket> {
        self.child.poll_originate()
    }

    fn removes(&self) -> bool {
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
