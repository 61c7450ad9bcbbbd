//! Strict priorities: a classifier assigns each packet to a band, and each band has its own discipline (Linux's
//! `sch_prio`, tc-prio(8)).
//!
//! The first band with a packet that can be sent now is served. Not modelled: Linux's default map from the TOS byte to
//! bands.

use crate::classful::classes::Classes;
use crate::{
    Backlog, Class, Classifier, Discipline, PacketKind, Qdisc, Queue, QueueConfig, QueuePlace, QueuedPacket, Rule,
};
use lopsided_core::{Bytes, Cx, Packet};
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of strict-priority scheduling.
#[derive(Clone, Debug, PartialEq)]
pub struct PrioConfig {
    /// The queue of each band, highest priority first.
    pub bands: Vec<QueueConfig>,
    /// Rules that assign packets to bands. The first rule that matches decides.
    pub classify: Vec<Rule>,
    /// The band of packets that no rule matches. `None`: the last band.
    pub default_class: Option<u32>,
}

impl Default for PrioConfig {
    /// Two bands: pure ACKs have priority over all other packets.
    fn default() -> PrioConfig {
        let acks = Rule { class: 0, packet: Some(PacketKind::Ack), ..Rule::default() };
        PrioConfig { bands: vec![QueueConfig::default(); 2], classify: vec![acks], default_class: None }
    }
}

impl Part for PrioConfig {
    const NAME: &'static str = "prio";
    const TEXT: &'static str = "Strict priorities: the first band that has a packet is served next.";
    const KEYS: &'static [Key<PrioConfig>] = &[
        key(
            "bands",
            |prio: &mut Self| &mut prio.bands,
            "Queues of the bands, the most urgent band first. At most 16 bands.",
        )
        .default_text("two drop-tail queues"),
        key(
            "classify",
            |prio: &mut Self| &mut prio.classify,
            "Rules that select the band of a packet; bands are numbered from 0. The first rule that matches applies.",
        )
        .default_text("pure ACKs to band 0"),
        key("default_class", |prio: &mut Self| &mut prio.default_class, "The band of packets that no rule matches.")
            .default_text("the last"),
    ];
}

impl Discipline for PrioConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        // The list may be empty, which `Prio::new` rejects.
        let last = self.bands.len().saturating_sub(1);
        let default = self.default_class.map_or(last, |class| class as usize);
        let classifier = Classifier { rules: self.classify.clone(), default };
        let band = |(band, config): (usize, &QueueConfig)| -> Result<Box<dyn Qdisc>, Fault> {
            Ok(Box::new(config.build(place.seed, &format!("{}/band {band}", place.role))?))
        };
        let bands = self.bands.iter().enumerate().map(band).collect::<Result<_, _>>()?;
        Ok(Queue::Custom(Box::new(Prio::new(classifier, bands)?)))
    }
}

/// The discipline: its bands, highest priority first.
#[derive(Debug)]
pub struct Prio {
    bands: Classes,
}

impl Prio {
    /// Maximum number of bands (`TCQ_PRIO_BANDS`).
    pub const MOST_BANDS: usize = 16;

    /// Creates bands with these disciplines, which must be empty.
    ///
    /// # Errors
    ///
    /// Returns an error if there are no bands, if there are more than [`Prio::MOST_BANDS`], or if the classifier names
    /// a band that does not exist.
    pub fn new(classifier: Classifier, bands: Vec<Box<dyn Qdisc>>) -> Result<Prio, Fault> {
        if bands.is_empty() || bands.len() > Prio::MOST_BANDS {
            return Err(Fault::new("bands", format!("there must be from 1 to {} bands", Prio::MOST_BANDS)));
        }
        let named = bands.into_iter().enumerate().map(|(band, child)| (format!("band {band}"), child));
        Ok(Prio { bands: Classes::new(classifier, named.collect(), "band")? })
    }

    /// Calls `act` for each band that is ready, in order of priority, until `act` returns a result.
    fn first_of<T>(&mut self, cx: &mut Cx<'_>, act: impl Fn(&mut Class, &mut Cx<'_>) -> Option<T>) -> Option<T> {
        let now = cx.now();
        for band in 0..self.bands.count() {
            if self.bands.is_ready(band, now) {
                let done = self.bands.act(band, |band| act(band, cx));
                // The band may have dropped all its packets instead. In that case, continue with the next band.
                if done.is_some() {
                    return done;
                }
            }
        }
        None
    }
}

impl Qdisc for Prio {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.bands.enqueue_to(self.bands.classify(&packet), packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.first_of(cx, Class::dequeue)
    }

    fn backlog(&self) -> Backlog {
        self.bands.backlog()
    }

    fn children(&self) -> Option<&Classes> {
        Some(&self.bands)
    }

    fn children_mut(&mut self) -> Option<&mut Classes> {
        Some(&mut self.bands)
    }

    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        self.first_of(cx, Class::peek)
    }
}
