//! The configuration of a line.

use lopsided_core::Dir;
use lopsided_scenario::{Errors, Scenario, queue_setting};
use lopsided_sim::BuildError;
use std::fmt;
use std::io::Write;

/// The scenario parser requires at least one flow. The line removes all flows after parsing.
const PLAIN: &str = "[scenario]\nduration = \"1 s\"\n[link]\n[[flow]]\nname = \"any\"\ndirection = \"down\"\n";

/// The configuration of a line: rates, RTT, queues and every other key of a scenario.
///
/// # Examples
///
/// ```
/// use lopsided_line::{Dir, Line, LineConfig};
///
/// // A named cable line, with CAKE instead of the modem's buffer and a packet loss of 0.1 % downstream.
/// let config = LineConfig::preset("docsis31-1000-35")
///     .queue(Dir::Up, "{ kind = \"cake\", bandwidth = \"34 Mbit/s\" }")
///     .set("link.down.loss", "0.1 %");
/// assert!(Line::new(config).is_ok());
///
/// let error = Line::new(LineConfig::preset("docsis31")).unwrap_err();
/// assert!(error.to_string().contains("docsis31"));
/// ```
pub struct LineConfig {
    pub(crate) text: String,
    pub(crate) name: String,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) seed: u64,
    pub(crate) capture: Option<Box<dyn Write + Send>>,
}

impl LineConfig {
    /// Configures a line with these rates (download, upload) and this base RTT. The notation is that of scenarios:
    /// `50 Mbit/s`, `40 ms`.
    #[must_use]
    pub fn new(down: &str, up: &str, rtt: &str) -> LineConfig {
        LineConfig::scenario(PLAIN, "line").set("link.rtt", rtt).set("link.down.rate", down).set("link.up.rate", up)
    }

    /// Configures the access line with this name, such as `docsis31-1000-35`. `lopsided list presets` prints the names.
    #[must_use]
    pub fn preset(name: &str) -> LineConfig {
        LineConfig::scenario(PLAIN, "line").set("link.preset", name)
    }

    /// Configures the network between the hosts `client` and `server` of a scenario in TOML, without the scenario's
    /// flows. `name` is the file name for error messages and relative paths.
    #[must_use]
    pub fn scenario(text: &str, name: &str) -> LineConfig {
        LineConfig { text: text.to_owned(), name: name.to_owned(), settings: Vec::new(), seed: 1, capture: None }
    }

    /// Sets a key of the scenario, such as `link.up.framing`.
    #[must_use]
    pub fn set(mut self, key: &str, value: &str) -> LineConfig {
        self.settings.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Sets the queue in front of one direction: a discipline (`fq_codel`), a limit (`100 packets`) or a table (`{ kind
    /// = "pie", target = "5 ms" }`). The limit of a preset still applies. If this limit is in bytes, a discipline that
    /// counts packets needs another limit (`limit = "10240 packets"`).
    #[must_use]
    pub fn queue(mut self, dir: Dir, queue: &str) -> LineConfig {
        self.settings.push(queue_setting(&format!("link.{}.queue", dir.name()), queue));
        self
    }

    /// Sets the seed of the random numbers that loss models, jitter and queue disciplines use. Default: 1.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> LineConfig {
        self.seed = seed;
        self
    }

    /// Writes a pcapng capture of the departing packets. Dropped packets are included, with the reason as a comment.
    /// [`crate::Line::finish`] completes the capture.
    #[must_use]
    pub fn pcapng(mut self, out: impl Write + Send + 'static) -> LineConfig {
        self.capture = Some(Box::new(out));
        self
    }

    pub(crate) fn parse(&self) -> Result<Scenario, LineError> {
        Scenario::parse(&self.text, &self.name, &self.settings).map_err(LineError::Scenario)
    }
}

impl fmt::Debug for LineConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LineConfig { text, name, settings, seed, capture } = self;
        f.debug_struct("LineConfig")
            .field("text", text)
            .field("name", name)
            .field("settings", settings)
            .field("seed", seed)
            .field("capture", &capture.is_some())
            .finish()
    }
}

/// The reason why a line cannot be built.
#[derive(Debug)]
#[non_exhaustive]
pub enum LineError {
    /// A setting is missing or wrong. The message names the key and the valid values.
    Scenario(Errors),
    /// The settings are valid but cannot be combined.
    Build(BuildError),
    /// The scenario has no host of this name, or no route between `client` and `server`.
    NoRoute(String),
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineError::Scenario(errors) => errors.fmt(f),
            LineError::Build(error) => error.fmt(f),
            LineError::NoRoute(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for LineError {}
