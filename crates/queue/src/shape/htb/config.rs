//! The settings of HTB, with the names and defaults of tc-htb(8).

use crate::classful::settings::{CLASSIFY, DEFAULT_CLASS};
use crate::{QueueConfig, Rule};
use lopsided_core::{BitRate, Bytes};
use lopsided_spec::{Fault, Given, Key, Part, key, part_value};

/// Settings of HTB: a tree of classes with rates.
#[derive(Clone, Debug, PartialEq)]
pub struct HtbConfig {
    /// The classes, numbered from 0. A parent precedes its children.
    pub classes: Vec<HtbClass>,
    /// Rules that assign packets to leaves. The first rule that matches decides.
    pub classify: Vec<Rule>,
    /// The leaf for packets that no rule matches. `None`: the last class.
    pub default_class: Option<u32>,
    /// Divisor for classes without a quantum. The quantum of such a class is its rate in bytes/s divided by `r2q`.
    pub r2q: u32,
    /// Number of bytes that are added to the size of each IP packet.
    pub overhead: Bytes,
}

/// Settings of one class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HtbClass {
    /// Number of the class from which this class borrows. `None` for a root.
    pub parent: Option<u32>,
    /// Guaranteed rate.
    pub rate: BitRate,
    /// Maximum rate of the class, including borrowed bandwidth. `None`: the guaranteed rate.
    pub ceil: Option<BitRate>,
    /// Maximum burst at the guaranteed rate, in bytes. `None`: 1,600.
    pub burst: Option<Bytes>,
    /// Maximum burst at the ceiling, in bytes. `None`: 1,600.
    pub cburst: Option<Bytes>,
    /// Number of bytes that the class may send per turn. `None`: computed from `r2q`.
    pub quantum: Option<Bytes>,
    /// Priority for unused bandwidth, from 0 (highest) to 7 (lowest).
    pub prio: u32,
    /// The queue of a leaf. Inner classes have no queue.
    pub queue: Option<QueueConfig>,
}

impl Default for HtbConfig {
    /// The default is one class of 1 Mbit/s.
    fn default() -> HtbConfig {
        let only = HtbClass { rate: BitRate::from_bps(1_000_000), ..HtbClass::default() };
        HtbConfig { classes: vec![only], classify: Vec::new(), default_class: None, r2q: 10, overhead: Bytes::ZERO }
    }
}

impl Part for HtbClass {
    const NAME: &'static str = "htb_class";
    const TEXT: &'static str = "A class of HTB.";
    const KEYS: &'static [Key<HtbClass>] = &[
        key(
            "parent",
            |class: &mut Self| &mut class.parent,
            "Number, from 0, of the class from which this class borrows.",
        )
        .none_word("root"),
        key("rate", |class: &mut Self| &mut class.rate, "Guaranteed rate of the class.").required("\"2 Mbit/s\""),
        key("ceil", |class: &mut Self| &mut class.ceil, "Largest rate of the class when it borrows.")
            .default_text("the rate"),
        key(
            "burst",
            |class: &mut Self| &mut class.burst,
            "Depth of the token bucket for the guaranteed rate: the number of octets that the class may send at once.",
        )
        .default_text("1600 B"),
        key(
            "cburst",
            |class: &mut Self| &mut class.cburst,
            "Depth of the token bucket for `ceil`: the number of octets that the class may send at once.",
        )
        .default_text("1600 B"),
        key(
            "quantum",
            |class: &mut Self| &mut class.quantum,
            "Number of octets that the class sends per turn while it borrows.",
        )
        .default_text("rate / 8 / r2q"),
        key("prio", |class: &mut Self| &mut class.prio, "Order of borrowing: 0 borrows first, 7 last."),
        key("queue", |class: &mut Self| &mut class.queue, "Queue of a class that is not the parent of another class.")
            .default_text("1000 packets, drop-tail"),
    ];
}

part_value!(HtbClass);

impl Part for HtbConfig {
    const NAME: &'static str = "htb";
    const TEXT: &'static str =
        "Hierarchical token bucket: classes have committed rates and may borrow up to a ceiling.";
    const KEYS: &'static [Key<HtbConfig>] = &[
        key("classes", |htb: &mut Self| &mut htb.classes, "The classes; a parent comes before its children.")
            .default_text("one class with 1 Mbit/s"),
        key("classify", |htb: &mut Self| &mut htb.classify, CLASSIFY).default_text("none"),
        key("default_class", |htb: &mut Self| &mut htb.default_class, DEFAULT_CLASS).default_text("the last"),
        key("r2q", |htb: &mut Self| &mut htb.r2q, "A class without its own `quantum` has the quantum rate / 8 / r2q."),
        key(
            "overhead",
            |htb: &mut Self| &mut htb.overhead,
            "Octets counted for each packet in addition to the IP packet.",
        ),
    ];

    fn complete(&mut self, _given: &Given<'_>) -> Result<(), Fault> {
        for number in 0..self.classes.len() {
            let leaf = self.is_leaf(number);
            let (quantum, class) = (self.quantum(number), &mut self.classes[number]);
            class.ceil = class.ceil.or(Some(class.rate));
            class.burst = class.burst.or(Some(LEAST_BURST));
            class.cburst = class.cburst.or(Some(LEAST_BURST));
            class.quantum = Some(quantum);
            if leaf && class.queue.is_none() {
                class.queue = Some(QueueConfig::packets(1000));
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        if self.classes.is_empty() {
            return Err(Fault::new("classes", "there must be at least one class"));
        }
        if self.r2q == 0 {
            return Err(Fault::new("r2q", "a divisor must be at least 1"));
        }
        (0..self.classes.len()).try_for_each(|number| self.check_class(number))?;
        for class in self.classify.iter().map(|rule| rule.class).chain(self.default_class) {
            if class as usize >= self.classes.len() {
                let what =
                    format!("there is no class {class}: there are {} classes, numbered from 0", self.classes.len());
                return Err(Fault::new("classify", what));
            }
            if !self.is_leaf(class as usize) {
                let what = format!("class {class} has children: assign the packets to one of the children");
                return Err(Fault::new("classify", what));
            }
        }
        Ok(())
    }
}

/// Default burst of a class, as `tc` computes it on a machine with high-resolution timers.
const LEAST_BURST: Bytes = Bytes::new(1600);

impl HtbConfig {
    /// Maximum depth of the tree (`TC_HTB_MAXDEPTH`).
    pub const MOST_LEVELS: usize = 8;
    /// Number of priorities (`TC_HTB_NUMPRIO`).
    pub const PRIORITIES: usize = 8;

    /// True if no class has this class as its parent.
    pub fn is_leaf(&self, class: usize) -> bool {
        self.classes.iter().all(|other| other.parent != Some(class as u32))
    }

    /// Returns the number of ancestors of a class.
    pub(super) fn depth(&self, class: usize) -> usize {
        std::iter::successors(self.classes[class].parent, |parent| self.classes[*parent as usize].parent).count()
    }

    /// Returns the number of bytes that a class may send per turn.
    pub(super) fn quantum(&self, class: usize) -> Bytes {
        // tc-htb(8): a quantum that is computed from `r2q` is at least 1,000 and at most 200,000 bytes.
        let by_rate = self.classes[class].rate.as_bps() / 8 / u64::from(self.r2q.max(1));
        self.classes[class].quantum.unwrap_or(Bytes::new(by_rate.clamp(1000, 200_000)))
    }

    /// Returns the leaf for packets that no rule matches.
    pub(super) fn default_leaf(&self) -> usize {
        self.default_class.map_or(self.classes.len() - 1, |class| class as usize)
    }

    /// Checks one class, and its position in the tree.
    fn check_class(&self, number: usize) -> Result<(), Fault> {
        let class = &self.classes[number];
        let fault = |what: String| Err(Fault::new("classes", format!("class {number}: {what}")));
        // A parent must have a smaller number than its children, so the tree cannot contain a cycle.
        if class.parent.is_some_and(|parent| parent as usize >= number) {
            return fault("a parent must precede its children".to_owned());
        }
        if class.rate.as_bps() == 0 {
            return fault("the rate is zero".to_owned());
        }
        if class.ceil.is_some_and(|ceil| ceil < class.rate) {
            return fault("`ceil` is below `rate`".to_owned());
        }
        if class.prio as usize >= HtbConfig::PRIORITIES {
            return fault(format!("`prio` must be from 0 to {}", HtbConfig::PRIORITIES - 1));
        }
        if class.quantum == Some(Bytes::ZERO) {
            return fault("with a quantum of zero, no packet would ever be sent".to_owned());
        }
        if self.depth(number) >= HtbConfig::MOST_LEVELS {
            return fault(format!("the tree must have at most {} levels", HtbConfig::MOST_LEVELS));
        }
        // Only leaves store packets.
        if class.queue.is_some() && !self.is_leaf(number) {
            return fault("only a class without children has a `queue`".to_owned());
        }
        Ok(())
    }
}
