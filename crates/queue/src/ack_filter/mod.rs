//! ACK filtering (Balakrishnan, Padmanabhan and Katz, The Effects of Asymmetry on TCP Performance, 1999, sections 6.2
//! and 8.4; RFC 3449 section 5.2.1): as an acknowledgement is enqueued, earlier ones of its connection that say less
//! leave the queue.
//!
//! The filter stands around any discipline that can give up a packet from its middle ([`crate::Qdisc::removes`]): the
//! packet that is being sent, or was taken out to be sent, is not in the queue. Room is made first, so that the new ACK
//! finds it. A discipline that then drops the new ACK early loses what both said, until the next comes.
//!
//! What goes is judged by a [`FilterRule`]:
//! - `cumulative` and `window` are the paper's: numbers alone, of a time without SACK or ECN. Duplicates stay, so that
//!   the sender can count them; with `fast_retransmit` they go as well, and the filter counts (section 6.3): it sets a
//!   bit on every duplicate behind so many, on which a sender repairs at once.
//! - `conservative` and `aggressive` are those of CAKE in Linux (tc-cake(8)): ACKs with flags, options, SACK blocks or
//!   timestamps that the new one does not cover stay, and at most one goes for each that comes.
//! - `accurate_ecn` also lets what CAKE will not touch go, ACKs that count marks (RFC 9768), as far as the sender's
//!   count stays the same: see `rule.rs`. One ACK of the connection stays in the queue to count from. A connection
//!   shows that it counts by the flag AE or its option, as each does at its beginning.
//!
//! The paper leaves open how many go: `share` of those that are superfluous, spread evenly or at random, and only while
//! the queue holds `above` and less than `below`. Each ACK is judged once; what is spared stays.
//!
//! Left out: filtering of what a compressor of headers behind the queue would have to undo (section 8.4's third design
//! keeps the headers beside the packets, as here).

mod ack;
mod by_content;
mod by_number;
mod connections;
mod departures;
mod few;
mod filter;
mod rule;
mod share;
mod waiting_ack;

pub use filter::AckFilter;
pub use rule::FilterRule;

use crate::{
    Backlog, ClassStats, Discipline, FarEnd, Qdisc, Queue, QueueConfig, QueuePlace, QueuedPacket, Threshold, Waiting,
};
use lopsided_core::{Bytes, Cx, NewPacket, Packet, Rng, Time};
use lopsided_spec::{Choice, Fault, Key, Part, key};

/// An ACK filter as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct AckFilterConfig {
    pub queue: QueueConfig,
    pub rule: FilterRule,
    pub share: f64,
    pub pick: Pick,
    pub above: Option<Threshold>,
    pub below: Option<Threshold>,
    pub fast_retransmit: u32,
    pub segment: Bytes,
}

impl Default for AckFilterConfig {
    fn default() -> AckFilterConfig {
        AckFilterConfig {
            queue: QueueConfig::default(),
            rule: FilterRule::default(),
            share: 1.0,
            pick: Pick::Even,
            above: None,
            below: None,
            fast_retransmit: 0,
            segment: Bytes::new(1448),
        }
    }
}

/// Which of the superfluous ACKs go, where not all do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Every so many.
    Even,
    Random,
}

impl Choice for Pick {
    const WORDS: &'static [(&'static str, Pick)] = &[("even", Pick::Even), ("random", Pick::Random)];
}

impl Part for AckFilterConfig {
    const NAME: &'static str = "ack_filter";
    const TEXT: &'static str =
        "Removes waiting ACKs that a new one of their connection makes superfluous, from any queue.";
    const KEYS: &'static [Key<AckFilterConfig>] = &[
        key("queue", |filter: &mut Self| &mut filter.queue, "The queue that is filtered.").default_text("drop-tail"),
        key(
            "rule",
            |filter: &mut Self| &mut filter.rule,
            "Which ACKs go: those with a smaller number (cumulative), also those with another window (window), as CAKE's ack-filter \
             and ack-filter-aggressive (conservative, aggressive), or all that the new one covers, counts of marks included (accurate_ecn).",
        ),
        key("share", |filter: &mut Self| &mut filter.share, "So much of what is superfluous goes."),
        key("pick", |filter: &mut Self| &mut filter.pick, "Which, with a share: evenly spread, or at random."),
        key("above", |filter: &mut Self| &mut filter.above, "ACKs go only while at least so much waits.")
            .none_word("always"),
        key(
            "below",
            |filter: &mut Self| &mut filter.below,
            "ACKs go only while less than this waits. With what the queue holds, a full one drops the new ACK and gives none up, as \
             balakrishnan1999's own code does.",
        )
        .none_word("always"),
        key(
            "fast_retransmit",
            |filter: &mut Self| &mut filter.fast_retransmit,
            "With cumulative or window: duplicates go too, and those behind so many are marked, for a sender with marked_retransmit. \
             Zero: duplicates stay.",
        ),
        key(
            "segment",
            |filter: &mut Self| &mut filter.segment,
            "With accurate_ecn: the least octets of a full segment. A count of marks without its option is trusted for seven of them.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if !(0.0..=1.0).contains(&self.share) {
            return Err(Fault::new("share", "a share must be from 0 to 1"));
        }
        if self.fast_retransmit > 0 && !matches!(self.rule, FilterRule::Cumulative | FilterRule::Window) {
            let fault = Fault::new("fast_retransmit", "only the rules `cumulative` and `window` count duplicates");
            return Err(fault.help("the others leave duplicates in the queue"));
        }
        Ok(())
    }
}

impl Discipline for AckFilterConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        self.check()?;
        let queue = self.queue.build(place.seed, place.role)?;
        if !queue.removes() {
            let fault = Fault::new("queue", format!("`{}` cannot give up a packet from its middle", self.queue.kind()));
            return Err(fault.help("put the filter inside, around each of its classes"));
        }
        let rng = Rng::for_role(place.seed, &format!("{}/ack filter", place.role));
        let filter = AckFilter::new(self, rng);
        // The usual queue is asked without a look at its kind.
        Ok(Queue::Custom(match queue {
            Queue::Fifo(fifo) => Box::new(FilteredQueue::new(filter, fifo)),
            queue => Box::new(FilteredQueue::new(filter, queue)),
        }))
    }
}

/// What must wait for ACKs to go.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    above: Option<Threshold>,
    below: Option<Threshold>,
}

impl Bounds {
    fn new(config: &AckFilterConfig) -> Bounds {
        Bounds { above: config.above, below: config.below }
    }

    /// Whether so much is within them.
    #[inline]
    fn hold(self, backlog: Backlog) -> bool {
        self.above.is_none_or(|above| above.measure(backlog) >= above.count())
            && self.below.is_none_or(|below| below.measure(backlog) < below.count())
    }
}

/// A queue from which superfluous ACKs are removed.
#[derive(Debug)]
pub struct FilteredQueue<Q> {
    filter: AckFilter,
    queue: Q,
}

impl<Q: Qdisc> FilteredQueue<Q> {
    /// Around a queue that gives up packets from its middle; from one that does not, no ACK is removed.
    pub fn new(filter: AckFilter, queue: Q) -> FilteredQueue<Q> {
        FilteredQueue { filter, queue }
    }
}

impl<Q: Qdisc> Qdisc for FilteredQueue<Q> {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        self.filter.on_arrival(&mut packet, &mut self.queue, cx);
        self.queue.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let given = self.queue.dequeue(cx)?;
        self.filter.on_departure(&given, &self.queue);
        Some(given)
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        self.queue.ready_at(now)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        self.queue.peek(cx)
    }

    fn senses(&self) -> Option<FarEnd> {
        self.queue.senses()
    }

    fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool {
        self.queue.observe_reverse(packet, now)
    }

    fn poll_originate(&mut self) -> Option<NewPacket> {
        self.queue.poll_originate()
    }

    fn removes(&self) -> bool {
        true
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        self.queue.remove(waiting, cx)
    }

    fn next_place(&self) -> Option<u64> {
        self.queue.next_place()
    }

    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        self.queue.classes(out);
    }

    /// `filtered_acks` and `marked_acks` count since the beginning.
    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("filtered_acks", self.filter.filtered() as f64);
        out("marked_acks", self.filter.marked() as f64);
        self.queue.gauges(out);
    }
}
