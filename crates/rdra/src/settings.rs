//! The settings of a transfer.

use crate::{Detection, WindowRule};
use lopsided_core::{Bytes, Duration};
use lopsided_spec::Choice;

/// The rule for the size of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// All streams together request what one TCP sender would have outstanding (equation 2.4).
    #[default]
    Fair,
    /// Each stream's sender alone limits the stream: plain parallel TCP.
    Greedy,
    /// One stream and one request: plain TCP.
    Single,
}

impl Choice for Mode {
    const WORDS: &'static [(&'static str, Mode)] =
        &[("fair", Mode::Fair), ("greedy", Mode::Greedy), ("single", Mode::Single)];
}

/// The settings of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How streams share the window.
    pub mode: Mode,
    /// Connections at once; [`Mode::Single`] has one.
    pub streams: u32,
    /// The rule for the window.
    pub window: WindowRule,
    /// Which holes count as congestion.
    pub detection: Detection,
    /// The least size of a request; only the last may be smaller.
    pub min_chunk: Bytes,
    /// A stream is given up if nothing arrives on it for this time.
    pub stall_timeout: Duration,
}

impl Default for Settings {
    /// Eight streams and chunks of at least 1 kB, as in the paper.
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
