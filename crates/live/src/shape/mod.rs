//! A queue of the simulator's own on the way out of a real interface: the kernel hands over what it would send (NFQUEUE), and gets each
//! packet back when its turn has come on a line of the given rate.
//!
//! **Fail-open.** Whatever becomes of this process, traffic flows: the rule lets packets pass where nobody listens, and the kernel does
//! where its own queue is full. What waited as the process was killed is lost. The rule stays then, and does nothing; [`rules::undo`]
//! takes it away.
//!
//! Leaves out: disciplines that send packets of their own to sense the line (`asqm`, `bdp`), and what comes in. The way out to keep is the
//! narrowest place: give a rate a little below that of the modem.

pub mod rules;

use crate::linux::{Hurry, NfQueue, Verdict};
use crate::{Clock, Io, Pumped, Wake, pump};
use lopsided_core::{Ecn, Event, EventMask, NodeId, Observer, Packet, Time, wire};
use lopsided_scenario::{Errors, Scenario};
use lopsided_sim::{BuildError, Outside, Prepared, RunError, RunOptions, RunResult};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use rules::{Rules, RulesError, WayIn};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

const FOREVER: lopsided_core::Duration = lopsided_core::Duration::from_secs(10 * 365 * 24 * 3600);
const SERVER: NodeId = NodeId(0);
const CLIENT: NodeId = NodeId(1);

/// What to do on an interface's way out.
#[derive(Clone, Debug, Default)]
pub struct Shaping {
    pub interface: String,
    /// Such as `10M`.
    pub up: String,
    /// A discipline's name, a limit, or a table as in a scenario's file.
    pub queue: String,
    /// ACKs that later ones replace go, as the discipline `ack_filter` does it.
    pub ack_filter: bool,
    /// ACKs go before everything else.
    pub acks_first: bool,
    /// How octets are counted, such as `pppoe-llcsnap`.
    pub framing: Option<String>,
}

/// Why nothing is shaped, or no longer.
#[derive(Debug)]
pub enum ShapeError {
    Scenario(Errors),
    Usage(String),
    Build(BuildError),
    Rules(RulesError),
    Queue(io::Error),
    Run(RunError),
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeError::Scenario(errors) => errors.fmt(f),
            ShapeError::Usage(what) => f.write_str(what),
            ShapeError::Build(error) => error.fmt(f),
            ShapeError::Rules(error) => error.fmt(f),
            ShapeError::Queue(error) => write!(f, "the kernel's queue of packets failed: {error}"),
            ShapeError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ShapeError {}

impl Shaping {
    /// The line as a scenario: its uplink is the way out.
    ///
    /// # Errors
    /// If a setting is wrong.
    pub fn scenario(&self) -> Result<Scenario, ShapeError> {
        let queue = match self.queue.as_str() {
            name if name.starts_with(|first: char| first.is_ascii_alphabetic()) => {
                format!("{{ kind = {} }}", quoted(name))
            }
            table if table.starts_with('{') => table.to_owned(),
            limit => format!("{{ limit = {} }}", quoted(limit)),
        };
        let queue = if self.ack_filter { format!("{{ kind = \"ack_filter\", queue = {queue} }}") } else { queue };
        let queue = if self.acks_first {
            format!(
                "{{ kind = \"prio\", bands = [{{ limit = \"1000 packets\" }}, {queue}], classify = [{{ packet = \"ack\", class = 0 }}] }}"
            )
        } else {
            queue
        };
        let framing = self.framing.as_ref().map_or(String::new(), |framing| format!("framing = {}\n", quoted(framing)));
        let text = format!(
            "[scenario]\nduration = \"1 s\"\n[record]\ninterval = \"1 s\"\n[link]\nrtt = \"0 ms\"\ndown.rate = \"unlimited\"\n[link.up]\nrate = {}\n{framing}queue = {queue}\n\
             [[flow]]\nname = \"any\"\ndirection = \"up\"\n",
            quoted(&self.up)
        );
        let mut scenario = Scenario::parse(&text, "shape", &[]).map_err(ShapeError::Scenario)?;
        scenario.flows.clear();
        scenario.duration = FOREVER;
        // Years of samples would fill the memory.
        scenario.record.interval = None;
        Ok(scenario)
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Shapes until a signal ends it; gives what the line did.
///
/// # Errors
/// If a setting is wrong, or the kernel does not let this process.
pub fn shape(shaping: &Shaping, seed: u64) -> Result<(RunResult, Pumped), ShapeError> {
    let scenario = shaping.scenario()?;
    let dropped = Dropped::default();
    let outside = [(SERVER, true), (CLIENT, false)].map(|(host, takes_the_rest)| Outside {
        host: host.index(),
        addresses: Vec::new(),
        takes_the_rest,
    });
    let observers: Vec<Box<dyn Observer>> = vec![Box::new(dropped.clone())];
    let options = RunOptions { outside: outside.to_vec(), observers, ..RunOptions::default() };
    let prepared = Prepared::new(&scenario, seed, options).map_err(ShapeError::Build)?;
    let rules = Rules::of(&shaping.interface, WayIn::Nothing).map_err(ShapeError::Rules)?;
    let queue = NfQueue::bind(rules.queue(), true).map_err(ShapeError::Queue)?;
    let (mut before, mut ending) = (SigSet::empty(), SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        ending.add(signal);
    }
    let os = |error: Errno| ShapeError::Queue(error.into());
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&ending), Some(&mut before)).map_err(os)?;
    let signals = SignalFd::with_flags(&ending, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).map_err(os)?;
    // Only now that somebody listens.
    rules.add().map_err(ShapeError::Rules)?;
    let _hurry = Hurry::begin();
    let mut way = WayOut { clock: Clock::start(), queue, signals, dropped, waiting: BTreeMap::new(), entering: 0 };
    let (mut pumped, mut failed) = (Pumped::default(), None);
    let result = prepared.finish_on(|network, until| {
        pump(network, &mut way, until, &mut pumped).unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        })
    });
    let undone = rules.remove();
    // What still waits goes out: nobody else would send it.
    for number in way.waiting.into_values() {
        let _ = way.queue.verdict(number, Verdict::Accept, None);
    }
    let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    undone.map_err(ShapeError::Rules)?;
    failed.map_or(Ok(()), |error| Err(ShapeError::Queue(error)))?;
    Ok((result.map_err(ShapeError::Run)?, pumped))
}

/// The numbers of packets that the network dropped, until somebody takes them.
#[derive(Clone, Debug, Default)]
struct Dropped(Arc<Mutex<Vec<u64>>>);

impl Dropped {
    fn take(&self) -> Vec<u64> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Dropped {
    fn mask(&self) -> EventMask {
        EventMask::DROPS
    }

    fn record(&mut self, _at: Time, _node: NodeId, event: &Event<'_>) {
        if let Event::Dropped { packet, .. } = event {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(packet.id());
        }
    }
}

/// The kernel's queue as the network's world.
struct WayOut {
    clock: Clock,
    queue: NfQueue,
    signals: SignalFd,
    dropped: Dropped,
    /// The kernel's number of each packet in the network, by its number there.
    waiting: BTreeMap<u64, u32>,
    /// The kernel's number of the packet that was received last.
    entering: u32,
}

impl Io for WayOut {
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<NodeId>> {
        let Some(number) = self.queue.receive(packet)? else { return Ok(None) };
        self.entering = number;
        Ok(Some(CLIENT))
    }

    fn entered(&mut self, number: Option<u64>) {
        match number {
            Some(number) => {
                self.waiting.insert(number, self.entering);
            }
            // Whatever it is, it is not for us.
            None => drop(self.queue.verdict(self.entering, Verdict::Accept, None)),
        }
    }

    fn send(&mut self, _edge: NodeId, packet: &Packet) -> io::Result<()> {
        let Some(number) = self.waiting.remove(&packet.id()) else { return Ok(()) };
        // Queues change one thing in a packet: the mark that says that there is congestion.
        let marked = (packet.ecn() == Ecn::Ce).then(|| wire::encode(packet));
        self.queue.verdict(number, Verdict::Accept, marked.as_deref())
    }

    fn wait(&mut self, until: Time) -> io::Result<Wake> {
        for number in self.dropped.take() {
            if let Some(number) = self.waiting.remove(&number) {
                self.queue.verdict(number, Verdict::Drop, None)?;
            }
        }
        let left = until.saturating_since(self.clock.now());
        let mut waits =
            [PollFd::new(self.queue.as_fd(), PollFlags::POLLIN), PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        let patience = TimeSpec::from_duration(std::time::Duration::from_nanos(left.as_nanos()));
        match ppoll(&mut waits, Some(patience), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let asked = waits[1].any().unwrap_or(true);
        // One that is left there would end the process as soon as it hears of signals again.
        while self.signals.read_signal()?.is_some() {}
        Ok(if asked { Wake::Stop } else { Wake::Look })
    }
}
