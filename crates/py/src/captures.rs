//! The capture files of a run: one per host, one per link, and one qlog for each end of each QUIC flow.

use crate::error::Failure;
use lopsided_app::Side;
use lopsided_core::{Dir, Duration, FlowId, Observer};
use lopsided_scenario::Scenario;
use lopsided_sim::{NodeKind, NodeLabel, node_labels};
use lopsided_trace::{Capture, Qlog, Tap};
use std::fs::{File, create_dir_all};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// The points at which a run captures packets: its hosts, its links or both. The files are written to `folder`.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    pub(crate) folder: PathBuf,
    pub(crate) hosts: bool,
    pub(crate) links: bool,
}

/// The open capture files of a run in progress, each with its observer.
pub(crate) struct Captures {
    packets: Vec<(PathBuf, Capture)>,
    /// The qlogs of QUIC flows; empty unless hosts are captured.
    qlogs: Vec<(PathBuf, Qlog)>,
}

impl Captures {
    pub(crate) fn open(scenario: &Scenario, points: &Points) -> Result<Captures, Failure> {
        create_dir_all(&points.folder).map_err(|error| failed(&points.folder, error))?;
        let mut files = Vec::new();
        let labels = node_labels(scenario);
        if points.hosts {
            for host in labels.iter().filter(|label| label.kind == NodeKind::Host) {
                let tap = Tap::host(host.name.clone(), host.node);
                files.push(create(&points.folder, "host", &host.name, vec![tap], Duration::ZERO)?);
            }
        }
        if points.links {
            let directions: Vec<&NodeLabel> =
                labels.iter().filter(|label| matches!(label.kind, NodeKind::Link(_))).collect();
            for (link, nodes) in scenario.graph.links.iter().zip(directions.chunks(Dir::BOTH.len())) {
                let taps = Dir::BOTH.iter().zip(nodes).map(|(dir, label)| {
                    Tap::link(format!("{} {}", link.name, dir.name()), label.node, link.dir(*dir).rate)
                });
                // A link reports a departure only when the link is next used, but not later than the packet's arrival.
                let lateness = link.down.delay.max(link.up.delay);
                files.push(create(&points.folder, "link", &link.name, taps.collect(), lateness)?);
            }
        }
        let qlogs = if points.hosts { qlogs(scenario, &labels, &points.folder)? } else { Vec::new() };
        Ok(Captures { packets: files, qlogs })
    }

    pub(crate) fn observers(&self) -> Vec<Box<dyn Observer>> {
        let packets = self.packets.iter().map(|(_, capture)| Box::new(capture.clone()) as Box<dyn Observer>);
        packets.chain(self.qlogs.iter().map(|(_, qlog)| Box::new(qlog.clone()) as Box<dyn Observer>)).collect()
    }

    pub(crate) fn finish(&self) -> Result<(), Failure> {
        self.packets
            .iter()
            .try_for_each(|(path, capture)| capture.finish().map(|_| ()).map_err(|error| failed(path, error)))?;
        self.qlogs.iter().try_for_each(|(path, qlog)| qlog.finish().map_err(|error| failed(path, error)))
    }
}

/// Opens a qlog for each end of each QUIC flow.
fn qlogs(scenario: &Scenario, labels: &[NodeLabel], folder: &Path) -> Result<Vec<(PathBuf, Qlog)>, Failure> {
    let mut files = Vec::new();
    for (number, flow) in scenario.flows.iter().enumerate().filter(|(_, flow)| flow.transport.kind() == "quic") {
        for (end, host) in [(Side::From, flow.from), (Side::To, flow.to)] {
            let Some(label) = labels.iter().filter(|label| label.kind == NodeKind::Host).nth(host) else { continue };
            // The QUIC client is the end that opens the connection.
            let (sends, client) = (end == Side::From, end != flow.listener());
            let name = if sends { "sender" } else { "receiver" };
            let path = folder.join(format!("qlog-{}-{name}.sqlog", flow.name));
            let file = BufWriter::new(File::create(&path).map_err(|error| failed(&path, error))?);
            let title = format!("{}, {name} of {}", scenario.name, flow.name);
            files.push((path, Qlog::new(file, &title, label.node, FlowId(number as u32), sends, client)));
        }
    }
    Ok(files)
}

fn create(
    folder: &Path,
    kind: &str,
    name: &str,
    taps: Vec<Tap>,
    lateness: Duration,
) -> Result<(PathBuf, Capture), Failure> {
    let path = folder.join(format!("{kind}-{name}.pcapng"));
    let file = File::create(&path).map_err(|error| failed(&path, error))?;
    Ok((path, Capture::new(BufWriter::new(file), taps, lateness)))
}

fn failed(path: &Path, error: std::io::Error) -> Failure {
    Failure::Capture { file: path.display().to_string(), error }
}
