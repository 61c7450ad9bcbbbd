//! Runs a command behind an emulated link in real time. The command replaces one host of a scenario, and the real
//! network replaces another host.
//!
//! The packets cross the simulated network. `rooms` describes the namespaces that send and receive them, and `gateway`
//! the connection to the real network.

mod datagrams;
mod devices;
mod gateway;
mod inside;
mod keeper;
mod line;
mod meter;
mod room;
mod rooms;

pub use line::{Ends, LineError, LineOptions, line};
pub use room::SetUpError;

use crate::linux::{Hurry, drop_privileges, own_terminal};
use crate::{Clock, Pumped, pump};
use devices::{Devices, End};
use gateway::Gateway;
use lopsided_core::{Duration, Observer, Time};
use lopsided_scenario::Scenario;
use lopsided_sim::{BuildError, Outside, Run, RunError, RunOptions, RunResult};
use meter::Meter;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::waitpid;
use room::{GATEWAY, GATEWAY_V6, INSIDE, INSIDE_V6, Inside};
use rooms::{Far, Room, Rooms};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::PathBuf;

/// Duration of a scenario without a limit: 1 year, longer than any command runs.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Exit code of a command that was ended by [`Emulation::limit`].
const TIMED_OUT: u8 = 124;

/// A command to run behind a link, and the settings of the emulation.
#[derive(Debug, Default)]
pub struct Emulation {
    /// The program and its arguments; empty to run the user's shell.
    pub command: Vec<OsString>,
    /// Program and arguments of a server at the far end. If set, the command reaches only this server, and starts after
    /// the server has opened a port. Empty to use the real network.
    pub server: Vec<OsString>,
    /// Time after which the emulation ends, with exit code 124 as in `timeout`(1). If `None`, the emulation lasts until
    /// the command ends.
    pub limit: Option<Duration>,
    /// Seed of all random choices of the link.
    pub seed: u64,
    /// Largest IP packet that the link carries, in bytes.
    pub mtu: u32,
    /// True to run the scenario's flows next to the command, between simulated hosts. Flows without a `stop` last until
    /// the command ends.
    pub flows: bool,
    /// True to show rate, queueing delay and losses in the last row of the terminal while the command runs.
    pub meter: bool,
    /// True to drop root privileges permanently after the namespaces are created. Set this only in a process that does
    /// nothing else afterwards.
    pub drops_privileges: bool,
}

/// The result of an emulation.
#[derive(Debug)]
pub struct Emulated {
    /// Exit code of the command, 128 plus the number of the signal that killed the command, or 124 if the command
    /// exceeded the limit.
    pub exit_code: u8,
    /// Measurements of the scenario.
    pub result: RunResult,
    /// Measurements of the pump, such as the lateness of packets.
    pub pumped: Pumped,
    /// Number of packets that crossed the link and were then rejected by the kernel.
    pub refused: u64,
    /// Number of connections that failed for lack of a descriptor, plus number of datagram flows that were closed to
    /// free descriptors.
    pub starved: u64,
}

/// The reason why an emulation failed.
#[derive(Debug)]
pub enum EmulateError {
    /// The options do not describe a valid link.
    Line(LineError),
    /// The simulator cannot build the scenario.
    Build(BuildError),
    /// The namespaces or devices could not be created.
    SetUp(SetUpError),
    /// A device failed during the emulation.
    Device(io::Error),
    /// The run of the scenario failed.
    Run(RunError),
    /// A capture could not be written.
    Capture {
        /// Name of the capture file.
        file: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

impl fmt::Display for EmulateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmulateError::Line(error) => error.fmt(f),
            EmulateError::Build(error) => error.fmt(f),
            EmulateError::SetUp(error) => error.fmt(f),
            EmulateError::Device(error) => write!(f, "the line's device failed: {error}"),
            EmulateError::Run(error) => error.fmt(f),
            EmulateError::Capture { file, error } => write!(f, "cannot write {}: {error}", file.display()),
        }
    }
}

impl std::error::Error for EmulateError {}

/// Runs a command behind the path between two hosts. `observers` see every packet.
///
/// # Errors
/// Returns an error if the scenario cannot be emulated, the machine does not permit an emulation, or a device fails.
pub fn emulate(
    scenario: &Scenario,
    ends: Ends,
    emulation: &Emulation,
    observers: Vec<Box<dyn Observer>>,
) -> Result<Emulated, EmulateError> {
    let mut scenario = scenario.clone();
    let usual_stop = Time::ZERO + scenario.duration;
    scenario.duration = emulation.limit.unwrap_or(FOREVER);
    if emulation.flows {
        let last = scenario.flows.iter_mut().filter(|flow| flow.stop == usual_stop);
        last.for_each(|flow| flow.stop = Time::ZERO + FOREVER);
    } else {
        scenario.flows.clear();
    }
    let keeps_flows = emulation.flows;
    let outside = vec![
        Outside {
            host: ends.inside,
            addresses: vec![INSIDE.into(), INSIDE_V6.into()],
            takes_the_rest: false,
            keeps_flows,
        },
        Outside {
            host: ends.outside,
            addresses: vec![GATEWAY.into(), GATEWAY_V6.into()],
            takes_the_rest: true,
            keeps_flows,
        },
    ];
    let options = RunOptions { outside, observers, ..RunOptions::default() };
    let prepared = Run::new(&scenario, emulation.seed, options).map_err(EmulateError::Build)?;
    // A server at the far end runs in a namespace without a name server.
    let resolver = if emulation.server.is_empty() { resolver() } else { None };
    let inside = Inside {
        command: command(emulation),
        addresses: (INSIDE, INSIDE_V6),
        serves: false,
        mtu: emulation.mtu,
        resolv_conf: resolver.filter(|resolver| resolver.ip().is_loopback()).and_then(|_| own_resolv_conf().ok()),
    };
    let server = (!emulation.server.is_empty()).then(|| Inside {
        command: emulation.server.clone(),
        addresses: (GATEWAY, GATEWAY_V6),
        serves: true,
        mtu: emulation.mtu,
        resolv_conf: None,
    });
    let rooms = Rooms::make(&inside, server.as_ref()).map_err(EmulateError::SetUp)?;
    let (mut before, mut ending) = (SigSet::empty(), SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        ending.add(signal);
    }
    let run = (|| {
        // Block these signals, so that they can be read from a descriptor and forwarded to the command.
        pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&ending), Some(&mut before)).map_err(io::Error::from)?;
        drive(prepared, &scenario, ends, emulation, rooms, &ending, resolver)
    })();
    let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    take_terminal_back();
    run
}

impl From<io::Error> for EmulateError {
    fn from(error: io::Error) -> EmulateError {
        EmulateError::Device(error)
    }
}

fn drive(
    prepared: Run<&Scenario>,
    scenario: &Scenario,
    ends: Ends,
    emulation: &Emulation,
    rooms: Rooms,
    signals: &SigSet,
    resolver: Option<SocketAddr>,
) -> Result<Emulated, EmulateError> {
    if let Err(error) = rooms.start() {
        rooms.end();
        return Err(EmulateError::SetUp(error));
    }
    let Rooms { near: Room { tun: inner, keeper, init, pid }, far } = rooms;
    let signals =
        SignalFd::with_flags(signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).map_err(io::Error::from)?;
    // Each connection needs descriptors, so raise the limit on open files to the hard limit.
    let _ = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(allowed, _)| allowed);
    let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
    // Set the priority before `drop_privileges`, because real-time priority needs a privilege.
    let _hurry = Hurry::begin();
    if emulation.drops_privileges {
        drop_privileges()?;
    }
    // Start the gateway after `drop_privileges`, so that its threads start without privileges.
    let (outer, gateway, server) = match far {
        Far::Network(outer) => {
            let gateway = Gateway::start(keeper, outer.again()?, resolver, descriptors)?;
            (outer, Some(gateway), None)
        }
        Far::Server(server) => (server.tun.again()?, None, Some((keeper, server))),
    };
    let &[inner_edge, outer_edge] = prepared.edges() else { unreachable!("the link has two ends") };
    let mut devices = Devices {
        clock: Clock::start(),
        inner: End::new(inner_edge, inner),
        outer: End::new(outer_edge, outer),
        outer_first: false,
        octets: Vec::new(),
        gateway,
        init,
        signals,
        exit_code: None,
        refused: 0,
    };
    let mut pumped = Pumped::default();
    let mut failed = None;
    let mut meter = emulation.meter.then(|| Meter::start(scenario, ends)).flatten();
    let result = prepared.finish_on(|network, until| match pump(network, &mut devices, until, &mut pumped) {
        Ok(ControlFlow::Continue(())) => {
            if let Some(meter) = &mut meter {
                meter.show(network);
            }
            ControlFlow::Continue(())
        }
        Ok(stop) => stop,
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    });
    drop(meter);
    let starved = devices.gateway.as_ref().map_or(0, Gateway::starved);
    let (exit_code, refused) = (devices.exit_code, devices.refused);
    // The processes in the namespaces exit when the other ends of their channels are closed.
    drop(devices);
    if let Some((keeper, server)) = server {
        drop(keeper);
        server.end();
    }
    let _ = waitpid(pid, None);
    if let Some(error) = failed {
        return Err(EmulateError::Device(error));
    }
    let result = result.map_err(EmulateError::Run)?;
    Ok(Emulated { exit_code: exit_code.unwrap_or(TIMED_OUT), result, pumped, refused, starved })
}

/// Returns the given command, or the user's shell.
fn command(emulation: &Emulation) -> Vec<OsString> {
    if !emulation.command.is_empty() {
        return emulation.command.clone();
    }
    vec![std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())]
}

const RESOLV_CONF: &str = "/etc/resolv.conf";
const NAMES: u16 = 53;

/// Returns the first name server of this machine.
fn resolver() -> Option<SocketAddr> {
    let text = std::fs::read_to_string(RESOLV_CONF).ok()?;
    let servers = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    let server: IpAddr = servers.filter_map(|server| server.trim().parse().ok()).next()?;
    Some((server, NAMES).into())
}

/// Writes a copy of resolv.conf with the gateway as the name server. The command cannot reach the machine's loopback
/// device.
fn own_resolv_conf() -> io::Result<PathBuf> {
    let text = std::fs::read_to_string(RESOLV_CONF)?;
    let others = text.lines().filter(|line| !line.trim().starts_with("nameserver"));
    let mut lines: Vec<String> = others.map(str::to_owned).collect();
    lines.push(format!("nameserver {GATEWAY}\n"));
    let path = std::env::temp_dir().join(format!("lopsided-resolv-{}.conf", std::process::id()));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
    file.write_all(lines.join("\n").as_bytes())?;
    Ok(path)
}

/// Makes this process's group the foreground group of the terminal again.
fn take_terminal_back() {
    let input = io::stdin();
    if input.is_terminal() {
        let _ = own_terminal(input.as_fd());
    }
}
