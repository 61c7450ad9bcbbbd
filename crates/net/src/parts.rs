//! A network in parts that run on threads of their own, to the same end as in one.
//!
//! A packet that enters a line arrives no sooner than the line's delay later. Where a network falls apart when a line
//! is cut, its parts can therefore run on by that delay without a word of each other: conservative windows, as in
//! Chandy and Misra (1979). Then they exchange what crossed the cut, and run on. The link that is cut stays with the
//! part that sends into it; the part behind it has
//! [`NetNode::Elsewhere`] in its place, with the packets on their way.
//!
//! **The result is the same** as in one part, at any number of them: a node sees the same packets at the same instants
//! in the same order. Of two events at one instant in two parts neither can reach the other part before the window
//! ends, so their order says nothing. Digest and accounting are kept by node; only the number of events may differ.
//!
//! Where a network is cut, [`Division`] says.

use crate::division::Division;
use crate::network::{Left, NetNode, Network, Progress, foretelling};
use lopsided_core::{Node, NodeId, Time};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};

/// A network's parts, between two spans in which they run.
#[derive(Debug)]
pub struct Parts<H> {
    division: Division,
    networks: Vec<Network<H>>,
}

/// How far the parts came together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// Every event up to the given instant, and that one included, has happened.
    Reached,
    /// Somebody asked for an end.
    Stopped,
    /// In one part, time does not go on.
    Stuck { at: Time },
}

/// What the threads share.
struct Shared<'a> {
    until: Time,
    /// Events without time going on that mean that it never will.
    stuck: u64,
    division: &'a Division,
    /// What crossed into each part, for windows with an even number and with an odd one: nobody writes what somebody
    /// still reads.
    mail: [Vec<Mutex<Vec<Left>>>; 2],
    barrier: Barrier,
    /// The window after which all end; the part that knows sets it before the barrier of that window.
    last_window: AtomicU64,
}

/// How a part's thread ended.
enum Ended {
    Reached,
    Stopped,
    Stuck(Time),
    Panicked(Box<dyn Any + Send>),
}

impl<H: Node> Parts<H> {
    pub fn new(network: &Network<H>, division: Division) -> Parts<H> {
        let leads_out_of = |exit: &NodeId, part| division.part_of[exit.index()] == part;
        let networks = (0..division.parts)
            .map(|part| network.part(division.exits.iter().copied().filter(|exit| leads_out_of(exit, part))))
            .collect();
        Parts { division, networks }
    }

    pub fn division(&self) -> &Division {
        &self.division
    }

    /// As [`Network::run`], in parts. `network` must be that which the parts were made of; in between it may run by
    /// itself. `goes_on` is asked after each window; `stuck` events in a part without time going on end the run.
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
        let ended: Vec<Ended> = std::thread::scope(|scope| {
            let mut parts = self.networks.iter_mut().enumerate();
            let first = parts.next();
            let others: Vec<_> =
                parts.map(|(me, part)| scope.spawn(move || run_part(me, part, from, shared, |_| true))).collect();
            let of_first = first.map(|(me, part)| run_part(me, part, from, shared, goes_on));
            let of_others = others.into_iter().map(|thread| thread.join().unwrap_or_else(Ended::Panicked));
            of_first.into_iter().chain(of_others).collect()
        });
        self.hand_over_rest();
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

    /// Each part gets its nodes, and behind each cut the packets on their way.
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

    /// What came over one cut in the last window may have gone on into the next.
    fn hand_over_rest(&mut self) {
        loop {
            let left: Vec<Left> = self.networks.iter_mut().flat_map(Network::take_left).collect();
            if left.is_empty() {
                return;
            }
            for crossed in left {
                let to = self.division.part_of[self.networks[0].behind(crossed.link).index()];
                self.networks[to].arrive(crossed);
            }
        }
    }

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

    /// The part behind a link.
    fn beyond(&self, network: &Network<H>, exit: NodeId) -> usize {
        self.division.part_of[network.behind(exit).index()]
    }
}

/// A part's thread: window after window.
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
        // Orders what was said before it with what is read behind it.
        shared.barrier.wait();
        std::mem::swap(&mut arrived, &mut *lock(&shared.mail[(window % 2) as usize][me]));
        if matches!(ended, Ended::Panicked(_)) {
            // Nothing is sure of this part any more, and packets that are dropped would be missed.
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

/// Everything up to and including `end`; paused if the part is stuck.
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

/// Hands on what crossed a cut.
fn post<H: Node>(part: &mut Network<H>, mail: &[Mutex<Vec<Left>>], division: &Division) {
    let mut crossed = part.take_left();
    let mut open: Option<(usize, MutexGuard<'_, Vec<Left>>)> = None;
    for left in crossed.drain(..) {
        let to = division.part_of[part.behind(left.link).index()];
        match &mut open {
            Some((at, mailbox)) if *at == to => mailbox.push(left),
            _ => {
                // The one before is closed first: no part ever holds two.
                drop(open.take());
                let mut mailbox = lock(&mail[to]);
                mailbox.push(left);
                open = Some((to, mailbox));
            }
        }
    }
    drop(open);
    part.reuse_left(crossed);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
