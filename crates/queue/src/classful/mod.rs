//! Disciplines with classes, and the rules that assign packets to classes.

mod cbwfq;
mod child;
mod class;
pub(crate) mod classes;
mod classifier;
mod drr;
mod prio;
pub(crate) mod settings;
mod wfq;

pub use cbwfq::{Cbwfq, CbwfqClass, CbwfqConfig};
pub use child::Child;
pub use class::Class;
pub use classes::Classes;
pub use classifier::{Classifier, PacketKind, Protocol, Rule};
pub use drr::{Drr, DrrClass, DrrConfig};
pub use prio::{Prio, PrioConfig};
pub use wfq::{Wfq, WfqConfig};
