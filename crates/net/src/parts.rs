//! Runs a network in several parts, each on a thread of its own, with the same result as in one part.
//!
//! # Windows
//!
//! A packet that enters a line arrives at least the line's delay later. If the network is cut at a line, each part can
//! therefore run ahead by that delay, the *lookahead*, without packets from the other parts. These are the conservative
//! windows of Chandy and Misra (1979). After each window the parts exchange the packets that crossed a cut, and the
//! next window begins.
//!
//! A cut link belongs to the part that sends into it. The part behind the link has [`NetNode::Elsewhere`] instead of
//! the link, with the packets in flight.
//!
//! # Why the result is the same
//!
//! - A node receives the same packets at the same times in the same order, whatever the number of parts.
//! - If two events in two parts have the same time, none of them can affect the other part before the window ends.
//!   Their order does not matter.
//! - Digest and counters are kept per node. Only the number of events may differ, because a packet that arrives at a
//!   cut is an event.
//!
//! # Exchange
//!
//! Each part has two mailboxes: one for windows with an even number, one for windows with an odd number. In a window
//! all parts write into one set of mailboxes. After a barrier each part reads its own mailbox of that set, while faster
//! parts already write into the other set. So no lock is ever contended for long, and each packet is read exactly one
//! window after it was written.
//!
//! [`Division`] chooses where to cut.

use crate::division::Division;
use crate::network::{Crossed, NetNode, Network, Progress, foretelling};
use lopsided_core::{Node, NodeId, Time};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};

/// The parts of a network. They are empty except during [`Parts::run`], which moves the nodes into them and back.
///
/// # Examples
///
/// Two routers, joined by a line of 20 ms, run in two parts:
///
/// ```
/// use lopsided_core::{Accounting, BitRate, Duration, NodeId, Port, Time};
/// use lopsided_link::{Link, LinkConfig};
/// use lopsided_net::{Attachment, Division, NetNode, Network, Parts, Router, Routes, Together};
/// use lopsided_queue::QueueConfig;
///
/// let router = || NetNode::Router(Box::new(Router::new(Routes::default())));
/// let rate = Some(BitRate::from_bps(10_000_000));
/// let config = LinkConfig::new(rate, Duration::from_millis(20), QueueConfig::packets(50));
/// let link = |role| NetNode::Link(Box::new(config.build(1, role).unwrap()));
/// let nodes: Vec<NetNode<Link>> = vec![router(), router(), link("there"), link("back")];
/// let to = |node| vec![Attachment { node: NodeId(node), port: Port(0) }];
/// let mut network = Network::new(nodes, &[to(2), to(3), to(1), to(0)], Accounting::new(4));
///
/// let division = Division::of(&network, &[(NodeId(2), NodeId(3))], &[1, 1, 0, 0], 2).unwrap();
/// let mut parts = Parts::new(&network, division);
/// let end = Time::ZERO + Duration::from_secs(1);
/// assert_eq!(parts.run(&mut network, end, 1 << 20, |_| true), Together::Reached);
/// assert_eq!(network.now(), end);
/// ```
#[derive(Debug)]
pub struct Parts<H> {
    division: Division,
    networks: Vec<Network<H>>,
}

/// How a call of [`Parts::run`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// All events up to and including the given time are done.
    Reached,
    /// The caller's `goes_on` returned false.
    Stopped,
    /// One part handled the maximum number of events at one instant.
    Stuck {
        /// The instant at which the part is stuck.
        at: Time,
    },
}

/// Data that all threads share.
struct Shared<'a> {
    /// The end of the run.
    until: Time,
    /// Number of events at one instant after which a part counts as stuck.
    stuck: u64,
    division: &'a Division,
    /// The mailboxes of each part, for windows with an even number and with an odd number: no part writes into a
    /// mailbox that another part still reads.
    mail: [Vec<Mutex<Vec<Crossed>>>; 2],
    /// All parts wait here at the end of each window.
    barrier: Barrier,
    /// The last window of the run. A part that ends the run sets it before the barrier of that window, so all parts
    /// read the same value after the barrier.
    last_window: AtomicU64,
}

/// How the thread of a part ended.
enum Ended {
    Reached,
    Stopped,
    Stuck(Time),
    Panicked(Box<dyn Any + Send>),
}

impl<H: Node> Parts<H> {
    /// Creates the parts of a network.
    pub fn new(network: &Network<H>, division: Division) -> Parts<H> {
        let leads_out_of = |exit: &NodeId, part| division.part_of[exit.index()] == part;
        let networks = (0..division.parts)
            .map(|part| network.part(division.exits.iter().copied().filter(|exit| leads_out_of(exit, part))))
            .collect();
        Parts { division, networks }
    }

    /// Where the network is cut.
    pub fn division(&self) -> &Division {
        &self.division
    }

    /// Runs all events of `network` up to and including `until`, in parts.
    ///
    /// `network` must be the one that the parts were created for; it may run by itself between two calls. `goes_on` is
    /// called after each window with the time reached, and stops the run if it returns false. The run also ends if a
    /// part handles `stuck` events at one instant.
    ///
    /// # Panics
    /// If a node panics.
    pub fn run(
        &mut self,
        network: &mut Network<H>,
        until: Time,
        stuck: u64,
        goes_on: impl Fn(Time) -> bool,
    ) -> Together {
        let from = network.now();
        self.lend(network);
        let count = self.networks.len();
        let mailboxes = || (0..count).map(|_| Mutex::default()).collect();
        let shared = &Shared {
            until,
            stuck,
            division: &self.division,
            mail: [mailboxes(), mailboxes()],
            barrier: Barrier::new(count),
            last_window: AtomicU64::new(u64::MAX),
        };
        // The calling thread runs the first part, so that `goes_on` need not be `Send`.
        let ended: Vec<Ended> = std::thread::scope(|scope| {
            let mut parts = self.networks.iter_mut().enumerate();
            let first = parts.next();
            let others: Vec<_> =
                parts.map(|(me, part)| scope.spawn(move || run_part(me, part, from, shared, |_| true))).collect();
            let of_first = first.map(|(me, part)| run_part(me, part, from, shared, goes_on));
            let of_others = others.into_iter().map(|thread| thread.join().unwrap_or_else(Ended::Panicked));
            of_first.into_iter().chain(of_others).collect()
        });
        // Packets of the last window may still be on their way into another part.
        self.hand_over_rest();
        // Even after a panic, so that the network is complete when the panic is resumed.
        self.take_back(network);
        let mut together = Together::Reached;
        for end in ended {
            match end {
                Ended::Reached => {}
                Ended::Panicked(payload) => resume_unwind(payload),
                Ended::Stuck(at) => together = Together::Stuck { at },
                Ended::Stopped if together == Together::Reached => together = Together::Stopped,
                Ended::Stopped => {}
            }
        }
        together
    }

    /// Moves each node into its part, and the packets in flight on each cut link into the part behind the link.
    fn lend(&mut self, network: &mut Network<H>) {
        let now = network.now();
        for exit in &self.division.exits {
            let arriving = network.with_link(*exit, |link, _| foretelling(link).take_arriving().collect());
            let beyond = self.beyond(network, *exit);
            self.networks[beyond].put(*exit, NetNode::Elsewhere(Box::new(arriving)));
        }
        for (node, part) in self.division.part_of.iter().enumerate() {
            self.networks[*part].exchange(NodeId(node as u32), network);
        }
        for part in &mut self.networks {
            part.resume(now, 0);
            part.promise_unseen(network.accounting().unseen_until());
        }
    }

    /// Delivers the packets of the last window. A packet that arrives may cross the next cut at once, hence the loop.
    fn hand_over_rest(&mut self) {
        loop {
            let left: Vec<Crossed> = self.networks.iter_mut().flat_map(Network::take_crossed).collect();
            if left.is_empty() {
                return;
            }
            for crossed in left {
                let to = self.division.part_of[self.networks[0].behind(crossed.link).index()];
                self.networks[to].arrive(crossed);
            }
        }
    }

    /// Moves all nodes, and the packets in flight on cut links, back into the network.
    fn take_back(&mut self, network: &mut Network<H>) {
        for (node, part) in self.division.part_of.iter().enumerate() {
            self.networks[*part].exchange(NodeId(node as u32), network);
        }
        for exit in &self.division.exits {
            let beyond = self.beyond(network, *exit);
            let place = NetNode::Elsewhere(Box::default());
            if let NetNode::Elsewhere(arriving) = self.networks[beyond].put(*exit, place) {
                network.with_link(*exit, |link, _| foretelling(link).put_arriving(arriving.into_iter()));
            }
        }
        let events = self.networks.iter_mut().map(Network::take_events).sum();
        let now = self.networks.iter().map(Network::now).max().unwrap_or(network.now());
        network.resume(now, events);
    }

    /// The part at the far end of a link.
    fn beyond(&self, network: &Network<H>, exit: NodeId) -> usize {
        self.division.part_of[network.behind(exit).index()]
    }
}

/// The thread of one part: runs window after window.
fn run_part<H: Node>(
    me: usize,
    part: &mut Network<H>,
    from: Time,
    shared: &Shared<'_>,
    goes_on: impl Fn(Time) -> bool,
) -> Ended {
    let mut now = from;
    let mut ended = Ended::Stopped;
    let mut arrived = Vec::new();
    for window in 0_u64.. {
        if now >= shared.until {
            return Ended::Reached;
        }
        let end = (now + shared.division.lookahead).min(shared.until);
        // A panic must not skip the barrier: the other threads would wait forever.
        let done = catch_unwind(AssertUnwindSafe(|| {
            let stood = advance(part, end, shared.stuck);
            post(part, &shared.mail[(window % 2) as usize], shared.division);
            stood
        }));
        ended = match done {
            Ok(Progress::Reached) => ended,
            Ok(Progress::Paused) => Ended::Stuck(part.now()),
            Err(payload) => Ended::Panicked(payload),
        };
        if !matches!(ended, Ended::Stopped) || !goes_on(end) {
            shared.last_window.fetch_min(window, Ordering::Relaxed);
        }
        // The barrier also orders memory: all writes above happen before all reads below.
        shared.barrier.wait();
        std::mem::swap(&mut arrived, &mut *lock(&shared.mail[(window % 2) as usize][me]));
        if matches!(ended, Ended::Panicked(_)) {
            // The state of this part is undefined now. Dropping its packets would fail the debug check for lost packets
            // and hide the first panic.
            std::mem::forget(arrived);
            return ended;
        }
        arrived.drain(..).for_each(|left| part.arrive(left));
        if shared.last_window.load(Ordering::Relaxed) <= window {
            return ended;
        }
        now = end;
    }
    ended
}

/// Runs a part up to and including `end`. Returns `Paused` if the part is stuck.
fn advance<H: Node>(part: &mut Network<H>, end: Time, stuck: u64) -> Progress {
    let mut standing = 0;
    loop {
        let (before, handled) = (part.now(), part.events());
        if part.run(end, stuck) == Progress::Reached {
            return Progress::Reached;
        }
        standing = if part.now() == before { standing + part.events() - handled } else { 0 };
        if standing >= stuck {
            return Progress::Paused;
        }
    }
}

/// Puts the packets that crossed a cut into the mailboxes of the parts behind it.
fn post<H: Node>(part: &mut Network<H>, mail: &[Mutex<Vec<Crossed>>], division: &Division) {
    let mut crossed = part.take_crossed();
    let mut open: Option<(usize, MutexGuard<'_, Vec<Crossed>>)> = None;
    for left in crossed.drain(..) {
        let to = division.part_of[part.behind(left.link).index()];
        match &mut open {
            Some((at, mailbox)) if *at == to => mailbox.push(left),
            _ => {
                // Unlock the previous mailbox first. A part never holds two locks, so parts cannot deadlock.
                drop(open.take());
                let mut mailbox = lock(&mail[to]);
                mailbox.push(left);
                open = Some((to, mailbox));
            }
        }
    }
    drop(open);
    part.reuse_crossed(crossed);
}

// A poisoned mailbox is still usable: the thread that panicked ends the run itself.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
