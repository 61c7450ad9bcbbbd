//! Settings of a fetch of one object over several connections.

use lopsided_core::{Bytes, Duration};
use lopsided_rdra::{Detection, Mode, Settings, WindowRule};
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of an object fetched over several connections.
///
/// # Examples
///
/// ```
/// use lopsided_app::RdraConfig;
/// use lopsided_core::Bytes;
/// use lopsided_spec::Part;
///
/// let fetch = RdraConfig { size: Bytes::new(50_000_000), streams: 4, ..RdraConfig::default() };
/// assert!(fetch.check().is_ok());
/// assert!(RdraConfig { streams: 0, ..fetch }.check().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdraConfig {
    /// Size of the object.
    pub size: Bytes,
    /// Size of each request. A request is never smaller than its text.
    pub request_size: Bytes,
    /// Rule that determines the amount of data to request.
    pub mode: Mode,
    /// Number of parallel connections, 1 to 256. [`Mode::Single`] uses one.
    pub streams: u32,
    /// Rule for the window of the single TCP sender that [`Mode::Fair`] imitates.
    pub window: WindowRule,
    /// Rule that decides which losses count as congestion.
    pub detection: Detection,
    /// Minimum size of a requested range; only the last range may be smaller.
    pub min_chunk: Bytes,
    /// A connection is replaced if no data arrives on this connection for this time.
    pub stall_timeout: Duration,
    /// True to write each step of the controller as a row of the table `fetches`.
    pub record_steps: bool,
}

impl Default for RdraConfig {
    /// Returns a fetch of 10 GB over 8 streams, as in Havey 2015.
    fn default() -> RdraConfig {
        // The controller's own crate defines its defaults.
        let Settings { mode, streams, window, detection, min_chunk, stall_timeout } = Settings::default();
        RdraConfig {
            size: Bytes::new(10_000_000_000),
            request_size: Bytes::new(200),
            mode,
            streams,
            window,
            detection,
            min_chunk,
            stall_timeout,
            record_steps: false,
        }
    }
}

/// Maximum number of connections. No server would accept more from one client.
const MAX_STREAMS: u32 = 256;

impl Part for RdraConfig {
    const NAME: &'static str = "rdra";
    const TEXT: &'static str = "Downloads one object over several connections, which together take the share of one connection (Receiver Driven Rate Adaptation, Havey 2015). The receiver of data requests byte ranges.";
    const KEYS: &'static [Key<RdraConfig>] = &[
        key("size", |rdra| &mut rdra.size, "Size of the object."),
        key(
            "mode",
            |rdra| &mut rdra.mode,
            "Amount of data that the client requests at once. `fair`: as much as one TCP sender would have outstanding. `greedy`: as much as all senders can send, like plain parallel TCP. `single`: the whole object, over one connection.",
        ),
        key(
            "streams",
            |rdra| &mut rdra.streams,
            "Number of parallel connections. The mode `single` uses one connection.",
        ),
        key(
            "window",
            |rdra| &mut rdra.window,
            "With the mode `fair`: congestion control of the single TCP sender that the client imitates.",
        ),
        key(
            "detection",
            |rdra| &mut rdra.detection,
            "Losses that count as congestion. `queued`: losses that coincide with a standing queue or occur on several streams at once. `every`: all losses, as in Havey 2015.",
        ),
        key(
            "min_chunk",
            |rdra| &mut rdra.min_chunk,
            "Minimum size of a request. Only the last request may be smaller.",
        ),
        key(
            "stall_timeout",
            |rdra| &mut rdra.stall_timeout,
            "A connection on which no data arrives for this time is closed and opened again.",
        ),
        key(
            "request_size",
            |rdra| &mut rdra.request_size,
            "Size of a request. A request is never smaller than its text.",
        ),
        key(
            "record_steps",
            |rdra| &mut rdra.record_steps,
            "If true, each step of the controller is recorded as a row of the table `fetches`.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.size == Bytes::ZERO {
            return Err(Fault::new("size", "the size must be at least 1 B"));
        }
        if !(1..=MAX_STREAMS).contains(&self.streams) {
            return Err(Fault::new("streams", format!("this must be from 1 to {MAX_STREAMS}")));
        }
        if self.min_chunk == Bytes::ZERO {
            return Err(Fault::new("min_chunk", "this must be at least 1 B"));
        }
        if self.stall_timeout.is_zero() {
            return Err(Fault::new("stall_timeout", "this must be longer than 0 s"));
        }
        Ok(())
    }
}
