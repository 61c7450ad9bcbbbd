//! The classes of a classful discipline, and their classifier.

use crate::{Backlog, Class, ClassStats, Classifier, FarEnd, Qdisc, Sensing, Waiting};
use lopsided_core::{Cx, DropReason, NewPacket, Packet, Time};
use lopsided_spec::Fault;

/// The classes of a discipline, numbered from 0, and their total backlog.
#[derive(Debug)]
pub struct Classes {
    classifier: Classifier,
    classes: Vec<Class>,
    backlog: Backlog,
}

impl Classes {
    /// Creates empty classes. `word` is the discipline's term for a class.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule of the classifier names a class that does not exist.
    pub fn new(classifier: Classifier, children: Vec<(String, Box<dyn Qdisc>)>, word: &str) -> Result<Classes, Fault> {
        let highest = classifier.highest_class();
        let count = children.len();
        // Check the class numbers here once, instead of for each packet in `classify`.
        if highest >= count {
            let plural = if word == "class" { "classes".to_owned() } else { format!("{word}s") };
            let what = format!("there is no {word} {highest}: there are {count} {plural}, numbered from 0");
            return Err(Fault::new("classify", what));
        }
        let classes = children.into_iter().map(|(name, child)| Class::new(name, child)).collect();
        Ok(Classes { classifier, classes, backlog: Backlog::default() })
    }

    /// Returns the number of the class to which a packet belongs.
    pub fn classify(&self, packet: &Packet) -> usize {
        self.classifier.classify(packet)
    }

    /// Offers a packet to a class, which enqueues or drops it.
    pub fn enqueue_to(&mut self, class: usize, packet: Packet, cx: &mut Cx<'_>) {
        let class = &mut self.classes[class];
        let beside = self.backlog - class.backlog();
        class.enqueue(packet, beside, cx);
        self.backlog = beside + class.backlog();
    }

    /// Drops the packet that a class would dequeue now.
    pub fn drop_head_of(&mut self, class: usize, why: DropReason, cx: &mut Cx<'_>) {
        self.act(class, |class| class.drop_head(why, cx));
    }

    /// Calls `act` with a class. Updates the total backlog afterwards, because `act` may change the backlog of the
    /// class.
    pub fn act<T>(&mut self, class: usize, act: impl FnOnce(&mut Class) -> T) -> T {
        let class = &mut self.classes[class];
        let beside = self.backlog - class.backlog();
        let done = act(class);
        self.backlog = beside + class.backlog();
        done
    }

    /// Returns the time at which a class can return a packet: see [`Qdisc::ready_at`].
    pub fn class_ready_at(&self, class: usize, now: Time) -> Option<Time> {
        self.classes[class].ready_at(now)
    }

    /// True if a class can return a packet now.
    pub fn is_ready(&self, class: usize, now: Time) -> bool {
        self.class_ready_at(class, now) == Some(now)
    }

    /// Returns the earliest time at which any class can return a packet; `None` if all classes are empty.
    pub fn ready_at(&self, now: Time) -> Option<Time> {
        self.classes.iter().filter_map(|class| class.ready_at(now)).min()
    }

    /// Returns the number of classes.
    pub fn count(&self) -> usize {
        self.classes.len()
    }

    /// Returns the backlog of one class.
    pub fn backlog_of(&self, class: usize) -> Backlog {
        self.classes[class].backlog()
    }

    /// Returns the total backlog of all classes.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// See [`Qdisc::sensing`].
    pub fn sensing(&mut self) -> Option<&mut dyn Sensing> {
        if self.classes.iter_mut().any(|class| class.sensing().is_some()) { Some(self) } else { None }
    }

    /// See [`Qdisc::removes`].
    pub fn removes(&mut self) -> bool {
        self.classes.iter_mut().all(Class::removes)
    }

    /// Removes a packet from the middle of its class: see [`Qdisc::remove`]. Returns the class and the packet.
    pub fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<(usize, Packet)> {
        let each = self.classes.iter_mut().enumerate();
        let (class, packet) =
            each.into_iter().find_map(|(at, class)| class.remove(waiting, cx).map(|packet| (at, packet)))?;
        // The class has already removed the packet from its own backlog.
        self.backlog.remove(packet.size());
        Some((class, packet))
    }

    /// Calls `out` for each class and its inner classes.
    pub fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        self.classes.iter().for_each(|class| class.classes(out));
    }

    /// Calls `out` for each gauge of each class.
    pub fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        self.classes.iter().for_each(|class| class.gauges(out));
    }
}

/// The sensing packets of all classes.
impl Sensing for Classes {
    fn far_end(&mut self) -> FarEnd {
        let first = self.classes.iter_mut().find_map(Class::sensing);
        first.expect("a class sends sensing packets").far_end()
    }

    fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool {
        self.classes.iter_mut().filter_map(Class::sensing).any(|class| class.observe_reverse(packet, now))
    }

    fn poll_originate(&mut self) -> Option<NewPacket> {
        self.classes.iter_mut().filter_map(Class::sensing).find_map(|class| class.poll_originate())
    }
}
