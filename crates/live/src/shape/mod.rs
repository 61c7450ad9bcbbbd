//! Applies a simulated queue discipline to the packets that leave a real interface. The kernel passes each packet to
//! this process (NFQUEUE), and sends the packet when the discipline dequeues it, at the configured rate.
//!
//! **Fail-open.** Packets pass if no process listens or the kernel's queue is full. If this process is killed, the
//! packets in its queue are lost, and a keeper process removes the rules. If the keeper is killed too, the rules remain
//! without effect until [`rules::Rules::remove`].
//!
//! **Sensing.** The probes of `asqm` and `bdp` (sensing packets) leave through a raw socket. A
//! [reflector](crate::reflect) behind the link returns them. `bdp` also reads the timestamps of arriving packets.
//!
//! Left out: a queue for arriving packets. The queue of this module must be the bottleneck, so set a rate slightly
//! below the rate of the modem.

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

/// The settings of a shaped interface.
///
/// # Examples
///
/// ```
/// use lopsided_live::shape::Shaping;
///
/// let shaping = Shaping {
///     interface: "eth0".to_owned(),
///     up: "9500k".to_owned(),
///     queue: "fq_codel".to_owned(),
///     ..Shaping::default()
/// };
/// assert!(shaping.scenario().is_ok());
/// assert!(Shaping { queue: "no such queue".to_owned(), ..shaping }.scenario().is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Shaping {
    /// Name of the interface.
    pub interface: String,
    /// Rate of the shaper, such as `10M`; slightly below the rate of the link behind the interface.
    pub up: String,
    /// The queue: the name of a discipline, a limit, or a table as in a scenario file.
    pub queue: String,
    /// True to drop ACKs that later ACKs make redundant, like the discipline `ack_filter`.
    pub ack_filter: bool,
    /// True to send ACKs before all other packets.
    pub acks_first: bool,
    /// The link layer's overhead per packet, such as `pppoe-llcsnap`.
    pub framing: Option<String>,
}

/// The reason why an interface cannot be shaped, or why shaping stopped.
#[derive(Debug)]
pub enum ShapeError {
    /// The settings do not form a valid scenario.
    Scenario(Errors),
    /// The settings contradict each other.
    Usage(String),
    /// The simulator cannot build the scenario.
    Build(BuildError),
    /// The rules could not be set.
    Rules(RulesError),
    /// Another process already shapes this interface.
    Taken(String),
    /// The kernel's queue, a socket or the interface failed.
    Queue(io::Error),
    /// The simulation of the discipline failed.
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
                write!(f, "another `shape` already runs on {interface}; end it first")
            }
            ShapeError::Queue(error) => write!(f, "the kernel's queue of packets failed: {error}"),
            ShapeError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ShapeError {}

impl Shaping {
    /// Returns the link as a scenario. Packets that leave the interface use its uplink.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid.
    pub fn scenario(&self) -> Result<Scenario, ShapeError> {
        let queue = match self.queue.as_str() {
            // On a real link, the probes (sensing packets) of these disciplines are returned only by a reflector, so
            // the reflector must be a separate stage.
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
        // A run without a time limit must not record samples, because they would fill the memory.
        scenario.record.interval = None;
        Ok(scenario)
    }

    /// Returns the set of arriving packets that must be passed to the discipline.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid, or the sensing packets would never be returned.
    pub fn way_in(&self) -> Result<WayIn, ShapeError> {
        let scenario = self.scenario()?;
        let queue = &scenario.graph.links[0].up.queue;
        let fault = |fault| ShapeError::Usage(format!("--queue {}: {fault}", self.queue));
        match queue.build(1, "shape").map_err(fault)?.sensing().map(|sensing| sensing.far_end()) {
            None => Ok(WayIn::Nothing),
            Some(FarEnd::Link) => Err(ShapeError::Usage(format!(
                "--queue {}: a reflector behind the line (`lopsided reflect`) must return its sensing packets: write far_end = \"stage\"",
                self.queue
            ))),
            Some(FarEnd::Stage) if self.queue.contains("bdp") => Ok(WayIn::All),
            Some(FarEnd::Stage) => Ok(WayIn::Sensing),
        }
    }

    /// Returns the rules that divert packets to this process.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid, or there is no such interface.
    pub fn rules(&self) -> Result<Rules, ShapeError> {
        Rules::of(&self.interface, self.way_in()?).map_err(ShapeError::Rules)
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The result of shaping an interface.
#[derive(Debug)]
pub struct Shaped {
    /// Measurements of the link.
    pub result: RunResult,
    /// Measurements of the pump, such as the lateness of packets.
    pub pumped: Pumped,
    /// Number of sent probes (sensing packets), and number of returned probes; `None` if the discipline sends no
    /// probes.
    pub sensed: Option<(u64, u64)>,
}

/// Shapes an interface until a signal ends the program.
///
/// # Errors
/// Returns an error if a setting is invalid, the kernel rejects a request, or the interface disappears.
pub fn shape(shaping: &Shaping, seed: u64) -> Result<Shaped, ShapeError> {
    let scenario = shaping.scenario()?;
    let ended = EndedPackets::default();
    let outside = [(SERVER, true), (CLIENT, false)].map(|(host, takes_the_rest)| Outside {
        host: host.index(),
        takes_the_rest,
        ..Outside::default()
    });
    let observers: Vec<Box<dyn Observer>> = vec![Box::new(ended.clone())];
    let options = RunOptions { outside: outside.to_vec(), observers, ..RunOptions::default() };
    let prepared = Run::new(&scenario, seed, options).map_err(ShapeError::Build)?;
    let rules = shaping.rules()?;
    let senses = shaping.way_in()? != WayIn::Nothing;
    let keeper = Keeper::start(rules.clone()).map_err(ShapeError::Queue)?;
    let queue = NfQueue::bind(rules.queue(), true).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => ShapeError::Taken(shaping.interface.clone()),
        _ => ShapeError::Queue(error),
    })?;
    let raw = senses
        .then(|| RawOut::open(Some(OWN_MARK), Some(&shaping.interface)))
        .transpose()
        .map_err(ShapeError::Queue)?;
    let ending = Ending::begin().map_err(ShapeError::Queue)?;
    // Set the rules only after the queue exists.
    keeper.set().map_err(ShapeError::Rules)?;
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
        ended,
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
    // Let the packets that are still queued pass, because no other process would send them.
    for number in way.waiting.into_values() {
        let _ = way.queue.verdict(number, Verdict::Accept, None);
    }
    failed.map_or(Ok(()), |error| Err(ShapeError::Queue(error)))?;
    let sensed = senses.then_some((way.sent, way.home));
    Ok(Shaped { result: result.map_err(ShapeError::Run)?, pumped, sensed })
}

/// Numbers of the packets that ended inside the network: dropped packets, and returned probes (sensing packets).
#[derive(Clone, Debug, Default)]
struct EndedPackets(Arc<Mutex<Vec<u64>>>);

impl EndedPackets {
    fn take(&self) -> Vec<u64> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for EndedPackets {
    fn mask(&self) -> EventMask {
        EventMask::DROPS | EventMask::HOSTS
    }

    fn record(&mut self, _at: Time, node: NodeId, event: &Event<'_>) {
        let packet = match event {
            Event::Dropped { packet, .. } => packet,
            // A packet received at one of the edges continues to the kernel. A packet received at any other node is a
            // returned probe (sensing packet).
            Event::Received(packet) if node != SERVER && node != CLIENT => packet,
            _ => return,
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(packet.id());
    }
}

/// Interval between two checks that the interface still exists.
const LOOK: lopsided_core::Duration = lopsided_core::Duration::from_secs(1);

/// NFQUEUE as the network's source and sink of packets.
struct WayOut {
    clock: Clock,
    interface: String,
    index: u32,
    looked: Time,
    queue: NfQueue,
    /// Socket for packets that the discipline creates; `None` if the discipline creates no packets.
    raw: Option<RawOut>,
    ending: Ending,
    ended: EndedPackets,
    /// Packets in the kernel's queue: number in the simulated network, and number in the kernel's queue.
    waiting: BTreeMap<u64, u32>,
    /// Number of the last received packet in the kernel's queue.
    entering: u32,
    /// Edge at which the last received packet entered.
    entered_by: NodeId,
    /// Number of probes (sensing packets) that were sent.
    sent: u64,
    /// Number of probes (sensing packets) that were returned.
    home: u64,
}

impl WayOut {
    fn check_interface(&mut self) -> io::Result<()> {
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
            // Let data that is not an IP packet pass.
            None => drop(self.queue.verdict(self.entering, Verdict::Accept, None)),
        }
    }

    fn send(&mut self, _edge: NodeId, packet: &Packet) -> io::Result<()> {
        let Some(number) = self.waiting.remove(&packet.id()) else {
            // The discipline created this packet, so the kernel's queue does not contain it.
            if let Some(raw) = self.raw.as_ref().filter(|_| is_sensing(packet)) {
                self.sent += u64::from(raw.send(&wire::encode(packet)));
            }
            return Ok(());
        };
        // A queue discipline changes only the ECN field of a packet, to CE.
        let marked = (packet.ecn() == Ecn::Ce).then(|| wire::encode(packet));
        self.queue.verdict(number, Verdict::Accept, marked.as_deref())
    }

    fn wait(&mut self, until: Time) -> io::Result<Wake> {
        for number in self.ended.take() {
            if let Some(kernels) = self.waiting.remove(&number) {
                // The upper bits of a packet's number identify the edge at which it entered.
                self.home += u64::from(number >> 40 == u64::from(SERVER.0));
                self.queue.verdict(kernels, Verdict::Drop, None)?;
            }
        }
        // NFQUEUE does not report that an interface disappeared. Packets only stop arriving.
        self.check_interface()?;
        let left = until.saturating_since(self.clock.now()).min(LOOK);
        let mut waits =
            [PollFd::new(self.queue.as_fd(), PollFlags::POLLIN), PollFd::new(self.ending.as_fd(), PollFlags::POLLIN)];
        let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(left.as_nanos()));
        match ppoll(&mut waits, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let asked = waits[1].any().unwrap_or(true);
        // An unread signal would end the process as soon as signals are unblocked.
        self.ending.take()?;
        Ok(if asked { Wake::Stop } else { Wake::Look })
    }
}
