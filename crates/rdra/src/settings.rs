//! The settings of a transfer.

use crate::{Detection, WindowRule};
use lopsided_core::{Bytes, Duration};
use lopsided_spec::Choice;

/// The rule that determines the amount of data to request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// All streams together request the amount of data that a single TCP sender would have in flight (Havey 2015,
    /// equation 2.4).
    #[default]
    Fair,
    /// Plain parallel TCP: only the TCP sender of each stream limits the stream, not the receiver.
    Greedy,
    /// Plain TCP: one stream with one request.
    Single,
}

impl Choice for Mode {
    const WORDS: &'static [(&'static str, Mode)] =
        &[("fair", Mode::Fair), ("greedy", Mode::Greedy), ("single", Mode::Single)];
}

/// The settings of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The rule that determines the amount of data to request.
    pub mode: Mode,
    /// Number of parallel connections. [`Mode::Single`] always uses one connection.
    pub streams: u32,
    /// The rule that computes the window.
    pub window: WindowRule,
    /// The rule that decides which holes count as congestion.
    pub detection: Detection,
    /// Smallest size of a request in bytes; only the last request may be smaller.
    pub min_chunk: Bytes,
    /// A stream stalls if no data arrives on the stream for this time. Its connection is then replaced.
    pub stall_timeout: Duration,
}

impl Default for Settings {
    /// Returns the settings of Havey 2015: eight streams, and requests of at least 1 kB.
    fn default() -> Settings {
        Settings {
            mode: Mode::Fair,
            streams: 8,
            window: WindowRule::default(),
            detection: Detection::default(),
            min_chunk: Bytes::new(1000),
            stall_timeout: Duration::from_secs(5),
        }
    }
}
