//! Strict priorities: a classifier, and a band with a discipline of its own for each class (Linux's `sch_prio`, tc-prio(8)).
//!
//! The first band that has a packet ready is served; a lower band only sends while all above it are empty or hold back. Linux's
//! default map from the TOS octet is not built in: the rules of the classifier say what goes where.

use crate::{Backlog, Class, ClassStats, Classifier, Qdisc, QueuedPacket};
use lopsided_core::{Bytes, Cx, Packet, Time};
use lopsided_spec::Fault;

/// Bands in order of priority, the most urgent first.
#[derive(Debug)]
pub struct Prio {
    classifier: Classifier,
    bands: Vec<Class>,
    backlog: Backlog,
}

impl Prio {
    /// The most bands there can be (`TCQ_PRIO_BANDS`).
    pub const MOST_BANDS: usize = 16;

    /// Bands of the given disciplines, which must be empty.
    pub fn new(classifier: Classifier, bands: Vec<Box<dyn Qdisc>>) -> Result<Prio, Fault> {
        if bands.is_empty() || bands.len() > Prio::MOST_BANDS {
            return Err(Fault::new("bands", format!("a prio queue has 1 to {} bands", Prio::MOST_BANDS)));
        }
        let highest = classifier.highest_class();
        if highest >= bands.len() {
            let what = format!("there is no band {highest}: {} bands count from 0", bands.len());
            return Err(Fault::new("classify", what));
        }
        let named = bands.into_iter().enumerate().map(|(band, child)| Class::new(format!("band {band}"), child));
        Ok(Prio { classifier, bands: named.collect(), backlog: Backlog::default() })
    }

    /// Lets the bands that have a packet ready act in order, until one gives something.
    fn first_of<T>(&mut self, cx: &mut Cx<'_>, act: impl Fn(&mut Class, &mut Cx<'_>) -> Option<T>) -> Option<T> {
        let now = cx.now();
        for band in &mut self.bands {
            if band.ready_at(now) == Some(now) {
                let before = band.backlog();
                let done = act(band, cx);
                self.backlog = self.backlog + band.backlog() - before;
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
        let band = &mut self.bands[self.classifier.classify(&packet)];
        let beside = self.backlog - band.backlog();
        band.enqueue(packet, beside, cx);
        self.backlog = beside + band.backlog();
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.first_of(cx, Class::dequeue)
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        self.bands.iter().filter_map(|band| band.ready_at(now)).min()
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        self.first_of(cx, Class::peek)
    }

    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        self.bands.iter().for_each(|band| band.classes(out));
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        self.bands.iter().for_each(|band| band.gauges(out));
    }
}
