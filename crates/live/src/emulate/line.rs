//! The emulated link, from settings, a preset or a scenario file, and the two hosts that it connects.

use lopsided_scenario::{Errors, Scenario, queue_setting};
use std::fmt;
use std::path::{Path, PathBuf};

/// The two hosts at the ends of the emulated path, as indices into the scenario's hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The host that the command replaces.
    pub inside: usize,
    /// The host that the real network replaces.
    pub outside: usize,
}

/// A link as the command line describes it. Its settings override the settings of the scenario file or preset.
#[derive(Clone, Debug, Default)]
pub struct LineOptions {
    /// A scenario file. Its flows are ignored.
    pub file: Option<PathBuf>,
    /// Name of a preset access link.
    pub preset: Option<String>,
    /// Rate of the downstream direction, such as `50M`.
    pub down: Option<String>,
    /// Rate of the upstream direction.
    pub up: Option<String>,
    /// Round-trip time without queueing delay, such as `40ms`.
    pub rtt: Option<String>,
    /// Mahimahi trace file of the downstream link, used instead of a rate.
    pub trace_down: Option<PathBuf>,
    /// Mahimahi trace file of the upstream link, used instead of a rate.
    pub trace_up: Option<PathBuf>,
    /// Downstream queue: a discipline, a limit such as `100 packets`, or a table: `{ kind = "pie", target = "5 ms" }`.
    pub queue_down: Option<String>,
    /// Upstream queue.
    pub queue_up: Option<String>,
    /// Fraction of the downstream packets that the link loses, such as `1 %`.
    pub loss_down: Option<String>,
    /// Fraction of the upstream packets that the link loses.
    pub loss_up: Option<String>,
    /// Other scenario settings, as pairs of key and value.
    pub settings: Vec<(String, String)>,
    /// The scenario's host that the command replaces; `client` by default.
    pub inside: Option<String>,
    /// The scenario's host that the real network replaces; `server` by default.
    pub outside: Option<String>,
}

/// The reason why the link cannot be built.
#[derive(Debug)]
pub enum LineError {
    /// The scenario is invalid.
    Scenario(Errors),
    /// Options are missing or contradict each other.
    Usage(String),
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineError::Scenario(errors) => errors.fmt(f),
            LineError::Usage(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for LineError {}

/// A scenario without a flow is invalid, so this scenario has a flow. The emulation does not run the flow.
const PLAIN: &str = "[scenario]\nduration = \"1 s\"\n[link]\n[[flow]]\nname = \"any\"\ndirection = \"down\"\n";

/// Builds the scenario of the link, and finds the hosts that it connects.
///
/// # Errors
/// Returns an error if an option is missing or invalid.
pub fn line(options: &LineOptions) -> Result<(Scenario, Ends), LineError> {
    let (text, name) = match &options.file {
        Some(file) => {
            let unreadable = |error| LineError::Usage(format!("cannot read {}: {error}", file.display()));
            (std::fs::read_to_string(file).map_err(unreadable)?, file.display().to_string())
        }
        None => (PLAIN.to_owned(), "line".to_owned()),
    };
    if options.file.is_none() && options.preset.is_none() {
        let way = |rate: &Option<String>, trace: &Option<PathBuf>| rate.is_some() || trace.is_some();
        // Without a preset or a file, the link has no default rates and no default RTT.
        let complete = way(&options.down, &options.trace_down) && way(&options.up, &options.trace_up);
        if !complete || options.rtt.is_none() {
            return Err(LineError::Usage(
                "write --down, --up and --rtt of the line, --preset NAME, or --scenario FILE".to_owned(),
            ));
        }
    }
    for (rate, trace, way) in [(&options.down, &options.trace_down, "down"), (&options.up, &options.trace_up, "up")] {
        if rate.is_some() && trace.is_some() {
            return Err(LineError::Usage(format!(
                "--{way} and --trace-{way} both set the rate: leave out one of them"
            )));
        }
    }
    let scenario = Scenario::parse(&text, &name, &overrides(options)?).map_err(LineError::Scenario)?;
    let ends = Ends {
        inside: host(&scenario, options.inside.as_deref(), "client", "--inside")?,
        outside: host(&scenario, options.outside.as_deref(), "server", "--outside")?,
    };
    // Two different hosts are needed: the path from a host to itself has no link.
    if ends.inside == ends.outside {
        return Err(LineError::Usage(
            "the line needs two hosts, but --inside and --outside name the same host".to_owned(),
        ));
    }
    if scenario.graph.routes().path(ends.outside, ends.inside).is_none()
        || scenario.graph.routes().path(ends.inside, ends.outside).is_none()
    {
        let names = [ends.inside, ends.outside].map(|host| &scenario.graph.hosts[host]);
        return Err(LineError::Usage(format!("there is no path from {} to {} and back", names[0], names[1])));
    }
    Ok((scenario, ends))
}

fn overrides(options: &LineOptions) -> Result<Vec<(String, String)>, LineError> {
    let mut all = Vec::new();
    let mut set = |key: &str, value: &Option<String>| {
        if let Some(value) = value {
            all.push((key.to_owned(), value.clone()));
        }
    };
    set("link.preset", &options.preset);
    set("link.rtt", &options.rtt);
    set("link.down.rate", &options.down);
    set("link.up.rate", &options.up);
    set("link.down.access", &options.trace_down.as_deref().map(trace).transpose()?);
    set("link.up.access", &options.trace_up.as_deref().map(trace).transpose()?);
    set("link.down.loss", &options.loss_down);
    set("link.up.loss", &options.loss_up);
    for (key, queue) in [("link.down.queue", &options.queue_down), ("link.up.queue", &options.queue_up)] {
        all.extend(queue.as_ref().map(|queue| queue_setting(key, queue)));
    }
    all.extend(options.settings.iter().cloned());
    Ok(all)
}

/// Returns the value of the key `access` for a trace file, with an absolute path.
fn trace(file: &Path) -> Result<String, LineError> {
    let path = std::path::absolute(file).ok().and_then(|path| path.to_str().map(str::to_owned));
    let path = path.filter(|path| !path.contains('\''));
    let path = path.ok_or_else(|| LineError::Usage(format!("the name {} cannot be used here", file.display())))?;
    Ok(format!("{{ kind = \"trace\", file = '{path}' }}"))
}

fn host(scenario: &Scenario, asked: Option<&str>, usual: &str, option: &str) -> Result<usize, LineError> {
    let hosts = &scenario.graph.hosts;
    let name = asked.unwrap_or(usual);
    hosts.iter().position(|host| host == name).ok_or_else(|| {
        // List at most 12 names, which fit on one line.
        let listed = hosts.iter().take(12).map(String::as_str).collect::<Vec<_>>().join(", ");
        LineError::Usage(format!("there is no host {name:?}: choose one with {option}, of {listed}"))
    })
}
