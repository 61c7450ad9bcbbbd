//! Deficit round robin: classes are served in turn, and each sends its quantum of bytes per round (Shreedhar and
//! Varghese, Efficient Fair Queuing Using Deficit Round Robin, 1996; Linux's `sch_drr`, tc-drr(8)).
//!
//! A class joins the end of the round when its first packet arrives, with a deficit of one quantum. The class at the
//! front sends packets until the next packet is larger than its deficit. The class then keeps the unused deficit, gains
//! a quantum, and moves to the end of the round.
//!
//! Unlike in Linux, a child may delay packets, and packets that no rule matches enter `default_class`.

use crate::bounds;
use crate::classful::classes::Classes;
use crate::classful::settings::{self, CLASSIFY, DEFAULT_CLASS};
use crate::{Backlog, Class, Discipline, Qdisc, Queue, QueueConfig, QueuePlace, QueuedPacket, Rule};
use lopsided_core::{Bytes, Cx, Packet, Time};
use lopsided_spec::{Fault, Key, Part, key, part_value};
use std::collections::VecDeque;

/// Settings of deficit round robin.
#[derive(Clone, Debug, PartialEq)]
pub struct DrrConfig {
    /// The classes, numbered from 0.
    pub classes: Vec<DrrClass>,
    /// Rules that assign packets to classes. The first rule that matches decides.
    pub classify: Vec<Rule>,
    /// The class of packets that no rule matches. `None`: the last class.
    pub default_class: Option<u32>,
}

/// Settings of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct DrrClass {
    /// Number of bytes that the class may send per round. The quanta determine the classes' shares of the line.
    pub quantum: Bytes,
    /// The queue of the class.
    pub queue: QueueConfig,
}

impl Default for DrrClass {
    fn default() -> DrrClass {
        DrrClass { quantum: Bytes::new(1514), queue: QueueConfig::default() }
    }
}

impl Default for DrrConfig {
    /// One class for TCP, and one for all other packets.
    fn default() -> DrrConfig {
        let tcp = Rule { class: 0, protocol: Some(crate::Protocol::Tcp), ..Rule::default() };
        DrrConfig { classes: vec![DrrClass::default(); 2], classify: vec![tcp], default_class: None }
    }
}

impl Part for DrrClass {
    const NAME: &'static str = "drr_class";
    const TEXT: &'static str = "A class of deficit round robin.";
    const KEYS: &'static [Key<DrrClass>] = &[
        key(
            "quantum",
            |class: &mut Self| &mut class.quantum,
            "Number of octets that the class sends per round. It determines the class's share of the line.",
        ),
        key("queue", |class: &mut Self| &mut class.queue, "Queue of the class.").default_text("a drop-tail queue"),
    ];

    fn check(&self) -> Result<(), Fault> {
        bounds::quantum(self.quantum)
    }
}

part_value!(DrrClass);

impl Part for DrrConfig {
    const NAME: &'static str = "drr";
    const TEXT: &'static str = "Deficit round robin: classes share the line in proportion to their quanta.";
    const KEYS: &'static [Key<DrrConfig>] = &[
        key("classes", |drr: &mut Self| &mut drr.classes, "The classes that take turns.").default_text("two classes"),
        key("classify", |drr: &mut Self| &mut drr.classify, CLASSIFY).default_text("TCP to class 0"),
        key("default_class", |drr: &mut Self| &mut drr.default_class, DEFAULT_CLASS).default_text("the last"),
    ];

    fn check(&self) -> Result<(), Fault> {
        settings::check(&self.classes)
    }
}

impl Discipline for DrrConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Drr::new(self, place)?)))
    }
}

/// The discipline: classes that are served in turn.
#[derive(Debug)]
pub struct Drr {
    classes: Classes,
    rounds: Vec<Turn>,
    /// The classes with packets, in the order in which they are served.
    active: VecDeque<usize>,
}

/// The deficit of a class, and its membership in the round.
#[derive(Clone, Copy, Debug)]
struct Turn {
    quantum: u64,
    deficit: u64,
    /// True if the class is in `active`.
    listed: bool,
}

impl Drr {
    /// Creates empty classes.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings of the discipline or of a class's queue are invalid.
    pub fn new(config: &DrrConfig, place: &QueuePlace<'_>) -> Result<Drr, Fault> {
        config.check_all()?;
        let queues = config.classes.iter().map(|class| &class.queue);
        let classes = settings::around(queues, &config.classify, config.default_class, place)?;
        let turn = |class: &DrrClass| Turn { quantum: class.quantum.get(), deficit: 0, listed: false };
        Ok(Drr { classes, rounds: config.classes.iter().map(turn).collect(), active: VecDeque::new() })
    }

    /// Removes the class at the front from the round.
    fn leave_round(&mut self) {
        let gone = self.active.pop_front().expect("the class at the front leaves");
        self.rounds[gone].listed = false;
    }
}

impl Qdisc for Drr {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let class = self.classes.classify(&packet);
        self.classes.enqueue_to(class, packet, cx);
        let turn = &mut self.rounds[class];
        if !turn.listed && self.classes.backlog_of(class).packets > 0 {
            *turn = Turn { deficit: turn.quantum, listed: true, ..*turn };
            self.active.push_back(class);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        // Count the classes that delay their packets, so that the loop ends if no class in the round has a packet
        // ready.
        let mut held_back = 0;
        while held_back < self.active.len() {
            let class = *self.active.front()?;
            let head = match self.classes.class_ready_at(class, cx.now()) {
                Some(ready) if ready > cx.now() => {
                    self.active.rotate_left(1);
                    held_back += 1;
                    continue;
                }
                Some(_) => self.classes.act(class, |class| class.peek(cx)),
                None => None,
            };
            let Some(head) = head else {
                // The child returned no packet, because it dropped all its packets or delays them.
                if self.classes.backlog_of(class).packets == 0 {
                    self.leave_round();
                }
                continue;
            };
            held_back = 0;
            let turn = &mut self.rounds[class];
            // The packet is larger than the deficit. The class keeps the deficit and gains a quantum in each round,
            // until the packet fits.
            if head.get() > turn.deficit {
                turn.deficit += turn.quantum;
                self.active.rotate_left(1);
                continue;
            }
            // `peek` returned the size, so the deficit can be charged before the dequeue.
            turn.deficit -= head.get();
            let given = self.classes.act(class, |class: &mut Class| class.dequeue(cx));
            if self.classes.backlog_of(class).packets == 0 {
                self.leave_round();
            }
            return given;
        }
        None
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        self.active.iter().filter_map(|class| self.classes.class_ready_at(*class, now)).min()
    }

    fn backlog(&self) -> Backlog {
        self.classes.backlog()
    }

    fn children(&self) -> Option<&Classes> {
        Some(&self.classes)
    }

    fn children_mut(&mut self) -> Option<&mut Classes> {
        Some(&mut self.classes)
    }
}
