//! The settings that disciplines with classes have in common: the rules, and a queue for each class.

use crate::{Classes, Classifier, Qdisc, QueueConfig, QueuePlace, Rule};
use lopsided_spec::{Fault, Part};

/// Text of the key `classify`.
pub(crate) const CLASSIFY: &str =
    "Rules that select the class of a packet; classes are numbered from 0. The first rule that matches applies.";
/// Text of the key `default_class`.
pub(crate) const DEFAULT_CLASS: &str = "The class of packets that no rule matches.";

fn no_class() -> Fault {
    Fault::new("classes", "there must be at least one class")
}

/// Checks the settings of all classes. There must be at least one class.
pub(crate) fn check<C: Part>(classes: &[C]) -> Result<(), Fault> {
    if classes.is_empty() {
        return Err(no_class());
    }
    classes.iter().try_for_each(Part::check)
}

/// Creates one class around each queue. Packets that no rule matches enter the class `default_class`; `None`: the
/// last class.
///
/// # Errors
///
/// Returns an error if there are no queues, if a queue cannot be built, or if a rule names a class that does not
/// exist.
pub(crate) fn around<'a>(
    queues: impl ExactSizeIterator<Item = &'a QueueConfig>,
    rules: &[Rule],
    default_class: Option<u32>,
    place: &QueuePlace<'_>,
) -> Result<Classes, Fault> {
    let last = queues.len().checked_sub(1).ok_or_else(no_class)?;
    let child = |(number, queue): (usize, &QueueConfig)| -> Result<(String, Box<dyn Qdisc>), Fault> {
        let name = format!("class {number}");
        let queue = queue.build(place.seed, &format!("{}/{name}", place.role))?;
        Ok((name, Box::new(queue)))
    };
    let children = queues.enumerate().map(child).collect::<Result<_, _>>()?;
    let default = default_class.map_or(last, |class| class as usize);
    Classes::new(Classifier { rules: rules.to_vec(), default }, children, "class")
}
