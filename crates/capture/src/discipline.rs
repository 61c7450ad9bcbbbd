//! The kinds of queue that a capture can show.

/// The way in which a bottleneck treats packets that exceed its capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// Drops packets that arrive while the buffer is full.
    DropTail,
    /// Active queue management: drops or marks packets before the buffer is full.
    Aqm,
    /// Drops packets that exceed the rate, without queueing them.
    Policer,
    /// The capture does not show the discipline.
    Unknown,
}

impl Discipline {
    /// Returns the discipline's name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Discipline::DropTail => "drop_tail",
            Discipline::Aqm => "aqm",
            Discipline::Policer => "policer",
            Discipline::Unknown => "unknown",
        }
    }
}
