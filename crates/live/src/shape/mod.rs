//! A queue of the simulator's own on the way out of a real interface: the kernel hands over what it would send
//! (NFQUEUE), and gets each packet back when its turn has come on a line of the given rate.
//!
//! **Fail-open.** Whatever becomes of this process, traffic flows: the rules let packets pass where nobody listens, and
//! the kernel does where its own queue is full. What waited as the process was killed is lost. A [`keeper`] takes the
//! rules away then; where it is killed too they stay, and do nothing, until [`rules::Rules::remove`]. Once all stands
//! this process keeps one capability, that of the verdicts.
//!
//! **Sensing.** What `asqm` and `bdp` send of their own goes out by a raw socket on the interface, behind the queue and
//! past the rules; a [reflector](crate::reflect) behind the line returns it, and it ends here. `bdp` also looks at what
//! else comes in, for its timestamps.
//!
//! Leaves out: a queue for what comes in. The way out to keep is the narrowest place: give a rate a little below that
//! of the modem.

pub(crate) mod keeper;
pub mod rules;
pub(crate) mod signals;

use crate::linux::{Hurry, NfQueue, RawOut, Verdict, keep_only_net_admin};
use crate::{Clock, Io, Pumped, Wake, pump};
use keeper::Keeper;
use lopsided_core::{Ecn, Event, EventMask, NodeId, Observer, Packet, Time, wire};
use lopsided_queue::{FarEnd, Qdisc, is_sensing};
use lopsided_scenario::{Errors, Scenario};
use lopsided_sim::{BuildError, Outside, Run, RunError, RunOptions, RunResult};
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use rules::{OWN_MARK, Rules, RulesError, WayIn};
use signals::Ending;
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
    /// Another process shapes this interface.
    Taken(String),
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
            ShapeError::Taken(interface) => {
                write!(f, "another `shape` runs on {interface} already; end it first")
            }
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
            // Nothing returns their packets at the other end of a real line but a reflector.
            name @ ("asqm" | "bdp") => format!("{{ kind = {}, far_end = \"stage\" }}", quoted(name)),
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

    /// What of the way in the discipline must see.
    ///
    /// # Errors
    /// If a setting is wrong, or its sensing packets would turn nowhere.
    pub fn way_in(&self) -> Result<WayIn, ShapeError> {
        let scenario = self.scenario()?;
        let queue = &scenario.graph.links[0].up.queue;
        let fault = |fault| ShapeError::Usage(format!("--queue {}: {fault}", self.queue));
        match queue.build(1, "shape").map_err(fault)?.senses() {
            None => Ok(WayIn::Nothing),
            Some(FarEnd::Link) => Err(ShapeError::Usage(format!(
                "--queue {}: its sensing packets turn at a reflector behind the line (`lopsided reflect`): write far_end = \"stage\"",
                self.queue
            ))),
            Some(FarEnd::Stage) if self.queue.contains("bdp") => Ok(WayIn::All),
            Some(FarEnd::Stage) => Ok(WayIn::Sensing),
        }
    }

    /// The rules of it.
    ///
    /// # Errors
    /// If a setting is wrong, or there is no such interface.
    pub fn rules(&self) -> Result<Rules, ShapeError> {
        Rules::of(&self.interface, self.way_in()?).map_err(ShapeError::Rules)
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A line that was shaped.
#[derive(Debug)]
pub struct Shaped {
    pub result: RunResult,
    pub pumped: Pumped,
    /// Where the discipline senses: the packets that it sent for that, and those that came home.
    pub sensed: Option<(u64, u64)>,
}

/// Shapes until a signal ends it; gives what the line did.
///
/// # Errors
/// If a setting is wrong, the kernel does not let this process, or the interface goes away.
pub fn shape(shaping: &Shaping, seed: u64) -> Result<Shaped, ShapeError> {
    let scenario = shaping.scenario()?;
    let gone = Gone::default();
    let outside = [(SERVER, true), (CLIENT, false)].map(|(host, takes_the_rest)| Outside {
        host: host.index(),
        addresses: Vec::new(),
        takes_the_rest,
    });
    let observers: Vec<Box<dyn Observer>> = vec![Box::new(gone.clone())];
    let options = RunOptions { outside: outside.to_vec(), observers, ..RunOptions::default() };
    let prepared = Run::new(&scenario, seed, options).map_err(ShapeError::Build)?;
    let rules = shaping.rules()?;
    let senses = shaping.way_in()? != WayIn::Nothing;
    let keeper = Keeper::start(rules.clone()).map_err(ShapeError::Queue)?;
    let queue = NfQueue::bind(rules.queue(), true).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => ShapeError::Taken(shaping.interface.clone()),
        _ => ShapeError::Queue(error),
    })?;
    keeper.arm().map_err(ShapeError::Queue)?;
    let raw = senses
        .then(|| RawOut::open(Some(OWN_MARK), Some(&shaping.interface)))
        .transpose()
        .map_err(ShapeError::Queue)?;
    let ending = Ending::begin().map_err(ShapeError::Queue)?;
    // Only now that somebody listens.
    rules.add().map_err(ShapeError::Rules)?;
    let _hurry = Hurry::begin();
    keep_only_net_admin().map_err(ShapeError::Queue)?;
    let mut way = WayOut {
        clock: Clock::start(),
        interface: shaping.interface.clone(),
        index: if_nametoindex(shaping.interface.as_str()).map_err(|error| ShapeError::Queue(error.into()))?,
        looked: Time::ZERO,
        queue,
        raw,
        ending,
        gone,
        waiting: BTreeMap::new(),
        entering: 0,
        entered_by: CLIENT,
        sent: 0,
        home: 0,
    };
    let (mut pumped, mut failed) = (Pumped::default(), None);
    let result = prepared.finish_on(|network, until| {
        pump(network, &mut way, until, &mut pumped).unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        })
    });
    keeper.end();
    // What still waits goes out: nobody else would send it.
    for number in way.waiting.into_values() {
        let _ = way.queue.verdict(number, Verdict::Accept, None);
    }
    failed.map_or(Ok(()), |error| Err(ShapeError::Queue(error)))?;
    let sensed = senses.then_some((way.sent, way.home));
    Ok(Shaped { result: result.map_err(ShapeError::Run)?, pumped, sensed })
}

/// The numbers of packets that ended in the network, until somebody takes them.
#[derive(Clone, Debug, Default)]
struct Gone(Arc<Mutex<Vec<u64>>>);

impl Gone {
    fn take(&self) -> Vec<u64> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Gone {
    fn mask(&self) -> EventMask {
        EventMask::DROPS | EventMask::HOSTS
    }

    fn record(&mut self, _at: Time, node: NodeId, event: &Event<'_>) {
        let packet = match event {
            Event::Dropped { packet, .. } => packet,
            // A sensing packet that has come home. What ends at an edge goes on to the kernel.
            Event::Received(packet) if node != SERVER && node != CLIENT => packet,
            _ => return,
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(packet.id());
    }
}

/// How often it is looked whether the interface is still there.
const LOOK: lopsided_core::Duration = lopsided_core::Duration::from_secs(1);

/// The kernel's queue as the network's world.
struct WayOut {
    clock: Clock,
    interface: String,
    index: u32,
    looked: Time,
    queue: NfQueue,
    /// The way for what the discipline sends of its own.
    raw: Option<RawOut>,
    ending: Ending,
    gone: Gone,
    /// The kernel's number of each packet in the network, by its number there.
    waiting: BTreeMap<u64, u32>,
    /// The kernel's number of the packet that was received last, and where it entered.
    entering: u32,
    entered_by: NodeId,
    /// Sensing packets that went out, and that came home.
    sent: u64,
    home: u64,
}

impl WayOut {
    fn still_there(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        if now.saturating_since(self.looked) < LOOK {
            return Ok(());
        }
        self.looked = now;
        if if_nametoindex(self.interface.as_str()) == Ok(self.index) {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::NotFound, format!("the interface {} is gone", self.interface)))
    }
}

impl Io for WayOut {
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<NodeId>> {
        let Some((number, came_in)) = self.queue.receive_with_way(packet)? else { return Ok(None) };
        (self.entering, self.entered_by) = (number, if came_in { SERVER } else { CLIENT });
        Ok(Some(self.entered_by))
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
        let Some(number) = self.waiting.remove(&packet.id()) else {
            // Nobody gave it to us: the discipline made it.
            if let Some(raw) = self.raw.as_ref().filter(|_| is_sensing(packet)) {
                self.sent += u64::from(raw.send(&wire::encode(packet)));
            }
            return Ok(());
        };
        // Queues change one thing in a packet: the mark that says that there is congestion.
        let marked = (packet.ecn() == Ecn::Ce).then(|| wire::encode(packet));
        self.queue.verdict(number, Verdict::Accept, marked.as_deref())
    }

    fn wait(&mut self, until: Time) -> io::Result<Wake> {
        for number in self.gone.take() {
            if let Some(kernels) = self.waiting.remove(&number) {
                // The number of a packet begins with that of the node that it came by.
                self.home += u64::from(number >> 40 == u64::from(SERVER.0));
                self.queue.verdict(kernels, Verdict::Drop, None)?;
            }
        }
        self.still_there()?;
        let left = until.saturating_since(self.clock.now()).min(LOOK);
        let mut waits =
            [PollFd::new(self.queue.as_fd(), PollFlags::POLLIN), PollFd::new(self.ending.as_fd(), PollFlags::POLLIN)];
        let patience = TimeSpec::from_duration(std::time::Duration::from_nanos(left.as_nanos()));
        match ppoll(&mut waits, Some(patience), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let asked = waits[1].any().unwrap_or(true);
        self.ending.take()?;
        Ok(if asked { Wake::Stop } else { Wake::Look })
    }
}
