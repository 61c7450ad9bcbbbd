//! ACKs-first variable-size queueing (AFVQ; Park, Park, Hong and Park, Preventing TCP Performance Interference on
//! Asymmetric Links Using ACKs-First Variable-Size Queuing, Computer Communications 34, 2011). ACKs have priority over
//! data. The limit on the number of queued ACKs adapts to the traffic and stays small.
//!
//! Only the paper's abstract was available, so the rule for the size of the ACK queue is ours. While data packets wait,
//! the limit is the number of ACKs sent between the last two data packets, plus 1. A full ACK queue drops its oldest
//! ACK. While no data packet waits, up to `ack_limit` ACKs may wait.
//!
//! ACKs could use the whole capacity of the line, so that data packets would never be sent (RFC 3449, section 5.4.1;
//! Kalampoukas, Varma and Ramakrishnan, SIGMETRICS 1998). `ack_share` limits the share of ACKs in the sent bytes.

use crate::{
    Backlog, Class, Classes, Classifier, Discipline, DropFrom, FifoConfig, Limit, PacketKind, Qdisc, Queue,
    QueueConfig, QueuePlace, QueuedPacket, Rule,
};
use lopsided_core::{Bytes, Cx, DropReason, Packet};
use lopsided_spec::{Fault, Key, Part, ValueType, key};

/// Settings of ACKs-first variable-size queueing.
#[derive(Clone, Debug, PartialEq)]
pub struct AfvqConfig {
    /// The queue of all packets that are not pure ACKs.
    pub queue: QueueConfig,
    /// Maximum number of ACKs in the ACK queue.
    pub ack_limit: u32,
    /// Maximum share of ACKs in the bytes that the link sends while data packets wait.
    pub ack_share: f64,
}

impl Default for AfvqConfig {
    fn default() -> AfvqConfig {
        AfvqConfig { queue: QueueConfig::default(), ack_limit: 100, ack_share: 0.5 }
    }
}

impl Part for AfvqConfig {
    const NAME: &'static str = "afvq";
    const TEXT: &'static str = "Sends ACKs before data, and limits the number of queued ACKs to the number that can leave between two data packets (Park and others 2011).";
    const KEYS: &'static [Key<AfvqConfig>] = &[
        key("queue", |part: &mut Self| &mut part.queue, "Queue of all packets except pure ACKs.")
            .default_text("a drop-tail queue"),
        key(
            "ack_limit",
            |part: &mut Self| &mut part.ack_limit,
            "Largest number of queued ACKs. While data is queued, fewer ACKs are allowed: one more than the number of ACKs that left since the last data packet.",
        )
        .typed(ValueType::Packets),
        key(
            "ack_share",
            |part: &mut Self| &mut part.ack_share,
            "Maximum fraction of the sent octets that are ACKs while data is queued; 1: no limit.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.ack_limit == 0 {
            return Err(Fault::new("ack_limit", "the limit is zero: no ACK would ever pass"));
        }
        if !(self.ack_share > 0.0 && self.ack_share <= 1.0) {
            let fault = Fault::new("ack_share", "a share must be above 0 and at most 1");
            return Err(fault.help("with 0.5, ACKs and data each get half of the octets while both are queued"));
        }
        Ok(())
    }
}

impl Discipline for AfvqConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Afvq::new(self, place)?)))
    }
}

const ACKS: usize = 0;
const DATA: usize = 1;

/// The discipline: a queue of ACKs with priority, and a queue of all other packets.
#[derive(Debug)]
pub struct Afvq {
    classes: Classes,
    /// Maximum number of ACKs in the ACK queue.
    most: u32,
    /// Maximum share of ACKs in the bytes that the link sends while data packets wait.
    share: f64,
    /// Limit of the ACK queue in packets while data packets wait. Each sent data packet updates the limit.
    size: u32,
    /// Number and total size of the ACKs that were sent since the last data packet.
    turn: Backlog,
}

impl Afvq {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings of the discipline or of the data queue are invalid.
    pub fn new(config: &AfvqConfig, place: &QueuePlace<'_>) -> Result<Afvq, Fault> {
        config.check_all()?;
        let most = config.ack_limit;
        let acks = FifoConfig { drop: DropFrom::Front, ..FifoConfig::new(Limit::Packets(most)) };
        let acks = acks.build(place)?;
        let data = config.queue.build(place.seed, &format!("{}/data", place.role))?;
        let rule = Rule { class: ACKS as u32, packet: Some(PacketKind::Ack), ..Rule::default() };
        let classifier = Classifier { rules: vec![rule], default: DATA };
        let children: Vec<(String, Box<dyn Qdisc>)> =
            vec![("acks".into(), Box::new(acks)), ("data".into(), Box::new(data))];
        let classes = Classes::new(classifier, children, "class")?;
        Ok(Afvq { classes, most, share: config.ack_share, size: most, turn: Backlog::default() })
    }

    /// True if the next ACK may be sent before a data packet of this size.
    fn may_go_first(&self, ack: Bytes, data: Bytes) -> bool {
        // ACK bytes / (ACK bytes + data bytes) <= share, without the division.
        let acks = (self.turn.bytes + ack).get() as f64;
        acks * (1.0 - self.share) <= self.share * data.get() as f64
    }

    /// Returns the class whose packet is sent next; `None` if no packet is ready.
    fn next(&mut self, cx: &mut Cx<'_>) -> Option<usize> {
        let now = cx.now();
        let ready = |classes: &Classes, class| classes.is_ready(class, now);
        match (ready(&self.classes, ACKS), ready(&self.classes, DATA)) {
            (false, false) => None,
            (true, false) => Some(ACKS),
            (false, true) => Some(DATA),
            (true, true) => {
                // The share of ACKs is computed in bytes, so the sizes of both head packets are needed.
                let data = self.classes.act(DATA, |class| class.peek(cx));
                let ack = self.classes.act(ACKS, |class| class.peek(cx));
                let first = ack.zip(data).is_none_or(|(ack, data)| self.may_go_first(ack, data));
                Some(if first { ACKS } else { DATA })
            }
        }
    }
}

impl Qdisc for Afvq {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let class = self.classes.classify(&packet);
        self.classes.enqueue_to(class, packet, cx);
        // Drop the oldest ACKs, because newer ACKs cover them.
        while self.classes.backlog_of(DATA).packets > 0 && self.classes.backlog_of(ACKS).packets > self.size {
            self.classes.drop_head_of(ACKS, DropReason::HeadDrop, cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let class = self.next(cx)?;
        let given = self.classes.act(class, |class: &mut Class| class.dequeue(cx))?;
        if class == ACKS {
            self.turn = self.turn + Backlog { packets: 1, bytes: given.packet.size() };
        } else {
            // The limit on queued ACKs is the number of ACKs sent since the previous data packet, plus 1.
            self.size = (self.turn.packets + 1).min(self.most);
            self.turn = Backlog::default();
        }
        // While no data packet waits, ACKs delay no other packet. Up to `ack_limit` ACKs may then wait.
        if self.classes.backlog_of(DATA).packets == 0 {
            self.size = self.most;
        }
        Some(given)
    }

    fn backlog(&self) -> Backlog {
        self.classes.backlog()
    }

    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        let class = self.next(cx)?;
        self.classes.act(class, |class: &mut Class| class.peek(cx))
    }

    fn children(&self) -> Option<&Classes> {
        Some(&self.classes)
    }

    fn children_mut(&mut self) -> Option<&mut Classes> {
        Some(&mut self.classes)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("ack_size_packets", f64::from(self.size));
        self.classes.gauges(out);
    }
}
