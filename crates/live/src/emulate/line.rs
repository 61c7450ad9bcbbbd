//! The line that is emulated: from a few settings, an access line by name, or a scenario's file; and the two hosts that
//! it joins.

use lopsided_scenario::{Errors, Scenario, queue_setting};
use std::fmt;
use std::path::{Path, PathBuf};

/// The two hosts between which the line is: the command's, and the world's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    pub inside: usize,
    pub outside: usize,
}

/// A line as the command line describes it. What stands here goes before what a file or a preset says.
#[derive(Clone, Debug, Default)]
pub struct LineOptions {
    /// A scenario's file; its flows are left out.
    pub file: Option<PathBuf>,
    /// An access line by name.
    pub preset: Option<String>,
    /// Rates, such as `50M`.
    pub down: Option<String>,
    pub up: Option<String>,
    /// The round trip without any queue, such as `40ms`.
    pub rtt: Option<String>,
    /// Traces of opportunities in the format of Mahimahi, in the place of rates.
    pub trace_down: Option<PathBuf>,
    pub trace_up: Option<PathBuf>,
    /// A discipline's name, a limit such as `100 packets`, or a table as in a file: `{ kind = "pie", target = "5 ms"
    /// }`.
    pub queue_down: Option<String>,
    pub queue_up: Option<String>,
    /// Shares of packets that are lost, such as `1 %`.
    pub loss_down: Option<String>,
    pub loss_up: Option<String>,
    /// Any other setting of the scenario: key and value.
    pub settings: Vec<(String, String)>,
    /// The hosts of the scenario that the command and the world take the part of; by default `client` and `server`.
    pub inside: Option<String>,
    pub outside: Option<String>,
}

/// Why there is no line.
#[derive(Debug)]
pub enum LineError {
    Scenario(Errors),
    /// Asked wrongly.
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

/// A flow is needed for a scenario to be one; none runs here.
const PLAIN: &str = "[scenario]\nduration = \"1 s\"\n[link]\n[[flow]]\nname = \"any\"\ndirection = \"down\"\n";

/// The scenario, and the hosts between which the line is.
///
/// # Errors
/// If something is missing, or wrong.
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
        let complete = way(&options.down, &options.trace_down) && way(&options.up, &options.trace_up);
        if !complete || options.rtt.is_none() {
            return Err(LineError::Usage(
                "write --down, --up and --rtt of the line, --preset NAME, or --scenario FILE".to_owned(),
            ));
        }
    }
    let scenario = Scenario::parse(&text, &name, &overrides(options)?).map_err(LineError::Scenario)?;
    let ends = Ends {
        inside: host(&scenario, options.inside.as_deref(), "client", "--inside")?,
        outside: host(&scenario, options.outside.as_deref(), "server", "--outside")?,
    };
    if ends.inside == ends.outside {
        return Err(LineError::Usage("the line needs two hosts: --inside and --outside name the same one".to_owned()));
    }
    if scenario.graph.routes().path(ends.outside, ends.inside).is_none()
        || scenario.graph.routes().path(ends.inside, ends.outside).is_none()
    {
        let names = [ends.inside, ends.outside].map(|host| &scenario.graph.hosts[host]);
        return Err(LineError::Usage(format!("no way leads from {} to {} and back", names[0], names[1])));
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

/// A trace as the value of `access`. Where a scenario's file lies does not matter for it.
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
        let listed = hosts.iter().take(12).map(String::as_str).collect::<Vec<_>>().join(", ");
        LineError::Usage(format!("there is no host {name:?}: choose one with {option}, of {listed}"))
    })
}
