//! The settings of a transfer.

use crate::{Detection, WindowRule};
use lopsided_core::{Bytes, Duration};
use lopsided_spec::Choice;

/// The rule for the amount of data that is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// All streams together request as much as a single TCP sender would have in flight (equation 2.4).
    #[default]
    Fair,
    /// Only its own sender limits a stream: plain parallel TCP.
    Greedy,
    /// One stream with one request: plain TCP.
    Single,
}

impl Choice for Mode {
    const WORDS: &'static [(&'static str, Mode)] =
        &[("fair", Mode::Fair), ("greedy", Mode::Greedy), ("single", Mode::Single)];
}

/// The settings of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The rule for the amount of data that is requested.
    pub mode: Mode,
    /// Number of parallel connections; [`Mode::Single`] always has one.
    pub streams: u32,
    /// The rule for the window.
    pub window: WindowRule,
    /// Which holes count as congestion.
    pub detection: Detection,
    /// Smallest size of a request in bytes; only the last request may be smaller.
    pub min_chunk: Bytes,
    /// A stream on which nothing arrives for this time is given up.
    pub stall_timeout: Duration,
}

impl Default for Settings {
    /// Eight streams and requests of at least 1 kB, as in the paper.
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
