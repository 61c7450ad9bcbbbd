//! The command `lopsided-live emulate`: its arguments and its summary.

use super::{USAGE, complain, mistaken, say, summary};
use crate::emulate::{EmulateError, Emulated, Emulation, LineError, LineOptions, emulate, line};
use lexopt::prelude::*;
use lopsided_core::{Dir, Duration, Observer};
use lopsided_scenario::Scenario;
use lopsided_scenario::units::parse_span;
use lopsided_sim::{NodeKind, node_labels};
use lopsided_trace::{Capture, Tap};
use std::ffi::OsString;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

pub const EMULATE_HELP: &str = "\
Run a command, or your shell, behind an emulated line.

Usage: lopsided-live emulate OPTIONS [--] [COMMAND [ARGUMENTS]]

  lopsided-live emulate --down 50M --up 5M --rtt 40ms --queue-up fq_codel -- curl -O https://example.org/file
  lopsided-live emulate --preset docsis31-1000-35
  lopsided-live emulate --scenario scenario.toml -- iperf3 -c 100.64.0.1

The line:
  --scenario FILE      a scenario file, of which only the network is used
  --preset NAME        an access line by name, such as docsis31-1000-35
  --down, --up RATE    such as 50M
  --rtt TIME           round-trip time with empty queues, such as 40ms
  --queue-down, --queue-up QUEUE
                       a discipline such as fq_codel, a limit such as '100 packets', or a table
                       such as '{ kind = \"pie\", target = \"5 ms\" }'
  --loss-down, --loss-up SHARE   share of packets that are lost at random, such as '1 %'
  --trace-down, --trace-up FILE  a file with opportunities to send, in Mahimahi's format
  --set KEY=VALUE      any other setting of a scenario, such as link.down.jitter='5 ms'
  --server SHELL       a server at the far end instead of the network, as a shell command; the
                       COMMAND starts after the server has opened a port
  --flows              also run the flows of FILE, between simulated TCP or QUIC hosts at the
                       ends of the line; flows without `stop` last until the COMMAND ends
  --inside, --outside HOST       the hosts of FILE that COMMAND and the network replace [client, server]
  --limit TIME         end the emulation after this time, such as 60s, with exit code 124
  --mtu SIZE           largest packet that the line carries, in bytes [1500]
  --seed NUMBER        seed of all random numbers [1]

Output:
  --pcap FILE          capture the packets that leave the queues of each link, as pcapng; with several
                       links, each link has its own file NAME-LINK.pcapng
  --overwrite          replace existing captures
  --no-meter           show no status row at the bottom of the terminal
  --quiet              print no summary at the end

COMMAND reaches this machine's services and name server at $LOPSIDED_GATEWAY (100.64.0.1).
The exit code is that of COMMAND.
";

/// The arguments of `emulate`.
#[derive(Debug, Default)]
pub struct EmulateArguments {
    /// The link to emulate.
    pub line: LineOptions,
    /// The command and the settings of the emulation.
    pub emulation: Emulation,
    /// Name of the capture file; `None` if the link is not captured.
    pub pcap: Option<PathBuf>,
    /// Replace capture files that already exist.
    pub overwrite: bool,
    /// Print no summary at the end.
    pub quiet: bool,
    /// Print the help text and do nothing else.
    pub help: bool,
}

/// Permitted MTUs of a link, in bytes. RFC 8200, section 5: IPv6 needs at least 1,280.
const MTUS: std::ops::RangeInclusive<u32> = 1280..=65_535;

/// Parses the arguments of `emulate`.
///
/// # Errors
/// Returns a message that names the invalid argument.
pub fn emulate_arguments(arguments: impl IntoIterator<Item = OsString>) -> Result<EmulateArguments, String> {
    read(arguments).map_err(|error| error.to_string())
}

fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<EmulateArguments, lexopt::Error> {
    let mut found = EmulateArguments::default();
    let (line, emulation) = (&mut found.line, &mut found.emulation);
    // The help text states these defaults.
    (emulation.mtu, emulation.seed, emulation.meter) = (1500, 1, true);
    let mut parser = lexopt::Parser::from_args(arguments);
    loop {
        // Everything after `--` belongs to the command, even if it resembles an option.
        if let Some(raw) = parser.try_raw_args() {
            if raw.peek().is_some_and(|next| next == "--") {
                emulation.command = raw.skip(1).collect();
                return Ok(found);
            }
        }
        let Some(argument) = parser.next()? else { return Ok(found) };
        match argument {
            Long("scenario") => line.file = Some(parser.value()?.into()),
            Long("preset") => line.preset = Some(parser.value()?.string()?),
            Long("down") => line.down = Some(parser.value()?.string()?),
            Long("up") => line.up = Some(parser.value()?.string()?),
            Long("rtt") => line.rtt = Some(parser.value()?.string()?),
            Long("queue-down") => line.queue_down = Some(parser.value()?.string()?),
            Long("queue-up") => line.queue_up = Some(parser.value()?.string()?),
            Long("loss-down") => line.loss_down = Some(parser.value()?.string()?),
            Long("loss-up") => line.loss_up = Some(parser.value()?.string()?),
            Long("trace-down") => line.trace_down = Some(parser.value()?.into()),
            Long("trace-up") => line.trace_up = Some(parser.value()?.into()),
            Long("set") => {
                let setting = parser.value()?.string()?;
                let Some((key, value)) = setting.split_once('=') else {
                    return Err(format!("--set {setting:?}: write --set key=value").into());
                };
                line.settings.push((key.trim().to_owned(), value.trim().to_owned()));
            }
            Long("server") => {
                emulation.server = ["/bin/sh".into(), "-c".into(), parser.value()?].into();
            }
            Long("limit") => {
                let text = parser.value()?.string()?;
                let limit = parse_span(&text).map_err(|error| format!("--limit {text:?}: {error}"))?;
                emulation.limit = Some(limit);
            }
            Long("flows") => emulation.flows = true,
            Long("inside") => line.inside = Some(parser.value()?.string()?),
            Long("outside") => line.outside = Some(parser.value()?.string()?),
            Long("mtu") => {
                emulation.mtu = parser.value()?.parse()?;
                if !MTUS.contains(&emulation.mtu) {
                    return Err(format!(
                        "--mtu {}: it must be between {} and {}",
                        emulation.mtu,
                        MTUS.start(),
                        MTUS.end()
                    )
                    .into());
                }
            }
            Long("seed") => emulation.seed = parser.value()?.parse()?,
            Long("pcap") => found.pcap = Some(parser.value()?.into()),
            Long("overwrite") => found.overwrite = true,
            Long("no-meter") => emulation.meter = false,
            Long("quiet") | Short('q') => found.quiet = true,
            Long("help") | Short('h') => found.help = true,
            Value(program) => {
                // The first word that is not an option starts the command. Do not parse the command's own options here.
                emulation.command = std::iter::once(program).chain(parser.raw_args()?).collect();
                return Ok(found);
            }
            other => return Err(other.unexpected()),
        }
    }
}

pub(super) fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = match emulate_arguments(arguments) {
        Ok(found) => found,
        Err(error) => return mistaken("emulate", &error),
    };
    if arguments.help {
        return say(EMULATE_HELP);
    }
    let mut arguments = arguments;
    // This process only runs the emulation, so it can drop its privileges permanently. A Python process cannot do so.
    arguments.emulation.drops_privileges = true;
    match emulate_line(&arguments) {
        Ok(Ran { emulated, .. }) => {
            if !arguments.quiet {
                eprint!("{}", summary::of(&emulated));
            }
            emulated.exit_code
        }
        Err(EmulateError::Line(LineError::Scenario(errors))) => {
            // Scenario errors print their own file and line, so they need no prefix.
            eprintln!("{errors}");
            USAGE
        }
        Err(error) => {
            let is_usage_error = matches!(error, EmulateError::Line(_) | EmulateError::Build(_));
            complain(error, if is_usage_error { USAGE } else { 1 })
        }
    }
}

/// The result of `emulate_line`.
#[derive(Debug)]
pub struct Ran {
    /// The scenario of the emulated link.
    pub scenario: Scenario,
    /// Measurements of the link, and the command's exit code.
    pub emulated: Emulated,
}

/// Runs the emulation that the arguments describe, without printing a summary.
///
/// # Errors
/// Returns the errors of [`emulate`], and an error if a capture cannot be written.
pub fn emulate_line(arguments: &EmulateArguments) -> Result<Ran, EmulateError> {
    let usage = |what: &str| Err(EmulateError::Line(LineError::Usage(what.to_owned())));
    if arguments.emulation.flows && arguments.line.file.is_none() {
        return usage("--flows runs the flows of a scenario: add --scenario FILE");
    }
    if arguments.overwrite && arguments.pcap.is_none() {
        return usage("--overwrite replaces existing captures: add --pcap FILE");
    }
    let (scenario, ends) = line(&arguments.line).map_err(EmulateError::Line)?;
    let captures =
        arguments.pcap.as_deref().map_or(Ok(Vec::new()), |file| captures(&scenario, file, arguments.overwrite))?;
    let observers = captures.iter().map(|(_, capture)| Box::new(capture.clone()) as Box<dyn Observer>);
    // Finish the captures even if the emulation failed, because they contain all packets up to the failure.
    let emulated = emulate(&scenario, ends, &arguments.emulation, observers.collect());
    for (file, capture) in &captures {
        capture.finish().map_err(|error| EmulateError::Capture { file: file.clone(), error })?;
    }
    Ok(Ran { scenario, emulated: emulated? })
}

/// Opens a capture of the queues of each link. Fails if a file exists and `overwrite` is false.
fn captures(scenario: &Scenario, file: &Path, overwrite: bool) -> Result<Vec<(PathBuf, Capture)>, EmulateError> {
    let labels = node_labels(scenario);
    let directions: Vec<_> = labels.iter().filter(|label| matches!(label.kind, NodeKind::Link(_))).collect();
    let links = &scenario.graph.links;
    let named = |link: &str| match links.len() {
        1 => file.to_owned(),
        _ => file.with_file_name(format!("{}-{link}.pcapng", file.file_stem().unwrap_or_default().to_string_lossy())),
    };
    let open = |(link, nodes): (&lopsided_scenario::LinkSpec, &[&lopsided_sim::NodeLabel])| {
        let taps = Dir::BOTH
            .iter()
            .zip(nodes)
            .map(|(dir, label)| Tap::link(format!("{} {}", link.name, dir.name()), label.node, link.dir(*dir).rate));
        let path = named(&link.name);
        // The simulator computes a link's departures only when it next calls the link. This happens when the packet
        // arrives at the far end, or at the next sample, at most 1 s later. A departure is therefore reported late by
        // at most this time.
        let lateness = link.down.delay.max(link.up.delay).max(Duration::from_secs(1));
        match if overwrite { File::create(&path) } else { File::create_new(&path) } {
            Ok(created) => Ok((path, Capture::new(BufWriter::new(created), taps.collect(), lateness))),
            Err(error) => Err(EmulateError::Capture { file: path, error }),
        }
    };
    links.iter().zip(directions.chunks(Dir::BOTH.len())).map(open).collect()
}
