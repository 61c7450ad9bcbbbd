//! ACKs-first variable-size queueing (AFVQ; Park, Park, Hong and Park, Preventing TCP Performance Interference on
//! Asymmetric Links Using ACKs-First Variable-Size Queuing, Computer Communications 34, 2011): ACKs go before data, and
//! how many of them may wait changes, so that few do.
//!
//! The paper has two causes for two-way traffic's loss of throughput, ACKs that wait behind data and ACKs in excess,
//! and a policy for each. The abstract alone was at hand, which gives no rule for the size. Here it is this one: while
//! data waits, as many ACKs may wait as left between the last two packets of data, and one more. So none waits for
//! longer than about one packet of data takes. The oldest is dropped for a new one, which says more. While no data
//! waits, `ack_limit` may.
//!
//! ACKs in excess of the line would leave nothing to data, whatever may wait. RFC 3449 section 5.4.1 (after
//! Kalampoukas, Varma and Ramakrishnan, SIGMETRICS 1998) bounds the ACKs that go before one packet of data; here that
//! bound is `ack_share` of the octets.

use crate::{
    Backlog, Class, Classes, Classifier, Discipline, DropFrom, FifoConfig, Limit, PacketKind, Qdisc, Queue,
    QueueConfig, QueuePlace, QueuedPacket, Rule,
};
use lopsided_core::{Bytes, Cx, DropReason, Packet};
use lopsided_spec::{Fault, Key, Part, ValueType, key};

/// ACKs-first variable-size queueing as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct AfvqConfig {
    /// The queue of all packets other than pure ACKs.
    pub queue: QueueConfig,
    /// The most ACKs that may wait.
    pub ack_limit: u32,
    /// The share of bytes that ACKs may take while data waits.
    pub ack_share: f64,
}

impl Default for AfvqConfig {
    fn default() -> AfvqConfig {
        AfvqConfig { queue: QueueConfig::default(), ack_limit: 100, ack_share: 0.5 }
    }
}

impl Part for AfvqConfig {
    const NAME: &'static str = "afvq";
    const TEXT: &'static str = "ACKs before data, in a queue whose size follows what leaves it (Park and others 2011).";
    const KEYS: &'static [Key<AfvqConfig>] = &[
        key("queue", |part: &mut Self| &mut part.queue, "The queue of what is no pure ACK.")
            .default_text("a drop-tail queue"),
        key("ack_limit", |part: &mut Self| &mut part.ack_limit, "The most ACKs that may wait, as while no data does.")
            .typed(ValueType::Packets),
        key(
            "ack_share",
            |part: &mut Self| &mut part.ack_share,
            "The part of the octets that ACKs may take while data waits; 1 for all.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.ack_limit == 0 {
            return Err(Fault::new("ack_limit", "the limit is zero: no ACK would ever pass"));
        }
        if !(self.ack_share > 0.0 && self.ack_share <= 1.0) {
            let fault = Fault::new("ack_share", "a share is above 0 and at most 1");
            return Err(fault.help("0.5 gives ACKs and data half of the octets each, while both wait"));
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

/// ACKs first, few of them.
#[derive(Debug)]
pub struct Afvq {
    classes: Classes,
    most: u32,
    share: f64,
    /// ACKs that may wait while data does.
    size: u32,
    /// ACKs that left since the last data packet, and their bytes.
    turn: Backlog,
}

impl Afvq {
    /// An empty queue.
    pub fn new(config: &AfvqConfig, place: &QueuePlace<'_>) -> Result<Afvq, Fault> {
        config.check()?;
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

    /// True if the next ACK may precede a data packet of this size.
    fn may_go_first(&self, ack: Bytes, data: Bytes) -> bool {
        let acks = (self.turn.bytes + ack).get() as f64;
        acks * (1.0 - self.share) <= self.share * data.get() as f64
    }

    /// The class whose turn it is.
    fn next(&mut self, cx: &mut Cx<'_>) -> Option<usize> {
        let now = cx.now();
        let ready = |classes: &Classes, class| classes.is_ready(class, now);
        match (ready(&self.classes, ACKS), ready(&self.classes, DATA)) {
            (false, false) => None,
            (true, false) => Some(ACKS),
            (false, true) => Some(DATA),
            (true, true) => {
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
            self.size = (self.turn.packets + 1).min(self.most);
            self.turn = Backlog::default();
        }
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
