//! A command behind an emulated line: the path between two hosts of a scenario, in real time, with the command in the
//! place of one of them and the rest of the world in the place of the other.
//!
//! The network between the two is the simulator's own: queues, stages, access, media, every link on the way. See
//! [`rooms`] for where the packets come from and [`gateway`] for where they go on.

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
use lopsided_core::{Duration, Observer};
use lopsided_scenario::Scenario;
use lopsided_sim::{BuildError, Outside, Run, RunError, RunOptions, RunResult};
use meter::Meter;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::waitpid;
use room::{GATEWAY, GATEWAY_V6, INSIDE, INSIDE_V6, Inside};
use rooms::Rooms;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::PathBuf;

/// A year: whoever emulates stops before.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// What to run behind a line.
#[derive(Debug, Default)]
pub struct Emulation {
    /// A program and its arguments; none for the user's shell.
    pub command: Vec<OsString>,
    pub seed: u64,
    /// The largest packet of IP that the line takes.
    pub mtu: u32,
    /// Show rate, wait and losses in the terminal's last row while the command runs.
    pub meter: bool,
    /// Once the rooms are made, give up for good what root may do: for a process that does nothing else.
    pub drops_privileges: bool,
}

/// How an emulation went.
#[derive(Debug)]
pub struct Emulated {
    /// That of the command; 128 and the signal's number where one ended it.
    pub exit_code: u8,
    pub result: RunResult,
    pub pumped: Pumped,
    /// Packets that the kernel did not take behind the line.
    pub refused: u64,
    /// Connections that had no descriptor, and datagram flows that lost theirs to others.
    pub starved: u64,
}

/// Why there is no emulation.
#[derive(Debug)]
pub enum EmulateError {
    /// The scenario cannot be emulated.
    Line(LineError),
    Build(BuildError),
    SetUp(SetUpError),
    /// While it ran.
    Device(io::Error),
    Run(RunError),
    Capture {
        file: PathBuf,
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

/// Runs the command behind the path between the two hosts. `observers` see every packet.
///
/// # Errors
/// If the scenario cannot be emulated, this machine does not allow it, or a device fails.
pub fn emulate(
    scenario: &Scenario,
    ends: Ends,
    emulation: &Emulation,
    observers: Vec<Box<dyn Observer>>,
) -> Result<Emulated, EmulateError> {
    let mut scenario = scenario.clone();
    scenario.flows.clear();
    scenario.duration = FOREVER;
    let outside = vec![
        Outside { host: ends.inside, addresses: vec![INSIDE.into(), INSIDE_V6.into()], takes_the_rest: false },
        Outside { host: ends.outside, addresses: vec![GATEWAY.into(), GATEWAY_V6.into()], takes_the_rest: true },
    ];
    let options = RunOptions { outside, observers, ..RunOptions::default() };
    let prepared = Run::new(&scenario, emulation.seed, options).map_err(EmulateError::Build)?;
    let resolver = resolver();
    let inside = Inside {
        command: command(emulation),
        mtu: emulation.mtu,
        resolv_conf: resolver.filter(|resolver| resolver.ip().is_loopback()).and_then(|_| own_resolv_conf().ok()),
    };
    let rooms = Rooms::make(&inside).map_err(EmulateError::SetUp)?;
    let (mut before, mut ending) = (SigSet::empty(), SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        ending.add(signal);
    }
    let run = (|| {
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
    rooms.start()?;
    let Rooms { inner, outer, keeper, init, pid } = rooms;
    let signals =
        SignalFd::with_flags(signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).map_err(io::Error::from)?;
    // Every connection takes descriptors here.
    let _ = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(allowed, _)| allowed);
    let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
    let _hurry = Hurry::begin();
    if emulation.drops_privileges {
        drop_privileges()?;
    }
    // Its threads have no more privileges than this one.
    let gateway = Gateway::start(keeper, outer.again()?, resolver, descriptors)?;
    let mut devices = Devices {
        clock: Clock::start(),
        inner: End::new(ends.inside, inner),
        outer: End::new(ends.outside, outer),
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
    let (exit_code, refused, starved) = (devices.exit_code, devices.refused, devices.gateway.starved());
    // Whoever is left in the rooms notices that nobody has the other ends any more.
    drop(devices);
    let _ = waitpid(pid, None);
    if let Some(error) = failed {
        return Err(EmulateError::Device(error));
    }
    let result = result.map_err(EmulateError::Run)?;
    Ok(Emulated { exit_code: exit_code.unwrap_or(1), result, pumped, refused, starved })
}

/// What to run: the command, or the user's shell.
fn command(emulation: &Emulation) -> Vec<OsString> {
    if !emulation.command.is_empty() {
        return emulation.command.clone();
    }
    vec![std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())]
}

const RESOLV_CONF: &str = "/etc/resolv.conf";
const NAMES: u16 = 53;

/// The machine's first name server.
fn resolver() -> Option<SocketAddr> {
    let text = std::fs::read_to_string(RESOLV_CONF).ok()?;
    let servers = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    let server: IpAddr = servers.filter_map(|server| server.trim().parse().ok()).next()?;
    Some((server, NAMES).into())
}

/// A name server on the machine itself is not there in the inner room: the gateway takes its part.
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

/// The command had the terminal; it is over.
fn take_terminal_back() {
    let input = io::stdin();
    if input.is_terminal() {
        let _ = own_terminal(input.as_fd());
    }
}
