//! A listening socket creates a connection for each peer that sends a SYN, and queues the connections until the
//! application accepts them (listen(2)).
//!
//! As in Linux, the backlog limits two queues: handshakes under way, and complete connections that wait to be accepted.
//! A SYN is dropped if either queue is full. The ACK that completes a handshake is dropped if the queue of complete
//! connections is full.
//!
//! A listener for real sockets may let a new SYN replace the oldest handshake ([`Listener::evicting`]).
//!
//! Not implemented: SYN cookies, TCP Fast Open, `tcp_abort_on_overflow`.

use crate::config::{ConnConfig, Endpoint};
use crate::connection::{Connection, Segment};
use lopsided_core::packet::{Flags, TcpHeader, TcpOptions};
use lopsided_core::tcp_event::State;
use lopsided_core::{Ecn, Payload, Seq, Time};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Returns the configuration of a connection with the given peer.
type MakeConfig = Box<dyn FnMut(Endpoint) -> ConnConfig + Send>;

/// A listening socket. Poll it like a connection. Once you have [accepted](Listener::accept) a connection, pass the
/// segments of that peer to the connection.
///
/// # Examples
///
/// ```
/// use lopsided_core::{Bytes, Ecn, Time};
/// use lopsided_tcp::{ConnConfig, Connection, Endpoint, Listener, Profile, State};
/// use std::net::Ipv4Addr;
///
/// let client = Endpoint { addr: Ipv4Addr::new(10, 0, 0, 1).into(), port: 40_000 };
/// let server = Endpoint { addr: Ipv4Addr::new(10, 0, 0, 2).into(), port: 80 };
/// let config = |from, to| ConnConfig::new(from, to, 1, Bytes::new(1500), Profile::linux_6_1(), "cubic").unwrap();
/// let mut listener = Listener::new(128, move |peer| config(server, peer));
/// let mut connection = Connection::connect(config(client, server));
/// let now = Time::ZERO;
/// for _ in 0..2 {
///     while let Some(segment) = connection.poll_segment(now) {
///         listener.handle_segment(now, client, &segment.header, &segment.payload, Ecn::NotEct);
///     }
///     while let Some((_, segment)) = listener.poll_segment(now) {
///         connection.handle_segment(now, &segment.header, &segment.payload, Ecn::NotEct);
///     }
/// }
/// let accepted = listener.accept().expect("the handshake is complete");
/// assert_eq!(accepted.state(), State::Established);
/// ```
pub struct Listener {
    backlog: usize,
    make: MakeConfig,
    /// Connections that the application has not accepted, with complete handshakes or with handshakes under way.
    waiting: BTreeMap<Endpoint, Connection>,
    /// Peers whose handshakes are complete, the oldest first.
    complete: VecDeque<Endpoint>,
    /// Peers whose connections may have a segment to send.
    ready: Vec<Endpoint>,
    /// Resets to send.
    pending_rsts: VecDeque<(Endpoint, Segment)>,
    /// Peers whose handshakes are under way, the oldest first. The list may still contain peers whose handshakes have
    /// ended.
    opening: VecDeque<Endpoint>,
    /// True if a SYN may replace the oldest handshake.
    evicts: bool,
    closed: bool,
    overflows: u64,
    drops: u64,
}

impl Listener {
    /// Creates a listener. `make` returns the configuration of a connection with the given peer. `backlog` is the
    /// maximum length of each queue.
    pub fn new(backlog: usize, make: impl FnMut(Endpoint) -> ConnConfig + Send + 'static) -> Listener {
        Listener {
            backlog,
            make: Box::new(make),
            waiting: BTreeMap::new(),
            complete: VecDeque::new(),
            ready: Vec::new(),
            pending_rsts: VecDeque::new(),
            opening: VecDeque::new(),
            evicts: false,
            closed: false,
            overflows: 0,
            drops: 0,
        }
    }

    /// Lets a SYN replace the oldest handshake if the backlog is full, so that SYNs with forged addresses cannot block
    /// real peers (RFC 4987, section 3.3).
    #[must_use]
    pub fn evicting(mut self) -> Listener {
        self.evicts = true;
        self
    }

    /// Changes the maximum length of each queue, like a second call of listen(2). Connections that are already queued
    /// stay in their queue.
    pub fn set_backlog(&mut self, backlog: usize) {
        self.backlog = backlog;
    }

    /// Number of connections that can be accepted now.
    pub fn acceptable(&self) -> usize {
        self.complete.len()
    }

    /// Number of handshakes under way.
    pub fn half_open(&self) -> usize {
        self.waiting.len() - self.complete.len()
    }

    /// Number of SYNs and handshake ACKs that arrived while the queue of complete connections was full (Linux's
    /// ListenOverflows).
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// Number of dropped SYNs and handshake ACKs, plus the number of replaced handshakes (Linux's ListenDrops).
    pub fn drops(&self) -> u64 {
        self.drops
    }

    /// Removes and returns the connection that has waited longest; `None` if no handshake is complete.
    pub fn accept(&mut self) -> Option<Connection> {
        let peer = self.complete.pop_front()?;
        self.waiting.remove(&peer)
    }

    /// Processes a segment from `peer`. An unknown peer's segment without SYN is answered with a reset.
    pub fn handle_segment(&mut self, now: Time, peer: Endpoint, header: &TcpHeader, payload: &Payload, ecn: Ecn) {
        if let Some(connection) = self.waiting.get_mut(&peer) {
            let completes = connection.state() == State::SynReceived
                && header.flags.has(Flags::ACK)
                && !header.flags.has(Flags::SYN)
                && !header.flags.has(Flags::RST);
            // sk_acceptq_is_full: drop the ACK. The retransmitted SYN-ACK causes another ACK later.
            if completes && self.complete.len() > self.backlog {
                self.overflows += 1;
                self.drops += 1;
                return;
            }
            connection.handle_segment(now, header, payload, ecn);
            return self.settle(peer);
        }
        let opens = header.flags.has(Flags::SYN) && !header.flags.has(Flags::ACK) && !header.flags.has(Flags::RST);
        if self.closed || !opens {
            self.pending_rsts.extend(refuse(header, payload.len()).map(|segment| (peer, segment)));
            return;
        }
        if self.evicts && self.complete.len() <= self.backlog && self.half_open() >= self.backlog.max(1) {
            self.evict();
        }
        if self.half_open() >= self.backlog.max(1) || self.complete.len() > self.backlog {
            self.drops += 1;
            self.overflows += u64::from(self.complete.len() > self.backlog);
            return;
        }
        let mut connection = Connection::listen((self.make)(peer));
        connection.handle_segment(now, header, payload, ecn);
        self.waiting.insert(peer, connection);
        self.ready.push(peer);
        if self.evicts {
            // Remove ended handshakes from the front: handshakes usually end in the order in which they began.
            while self.opening.front().is_some_and(|oldest| !self.is_opening(oldest)) {
                self.opening.pop_front();
            }
            self.opening.push_back(peer);
        }
    }

    fn is_opening(&self, peer: &Endpoint) -> bool {
        self.waiting.contains_key(peer) && !self.complete.contains(peer)
    }

    /// Drops the oldest handshake that is under way.
    fn evict(&mut self) {
        while let Some(peer) = self.opening.pop_front() {
            if self.is_opening(&peer) {
                self.forget(peer);
                self.drops += 1;
                return;
            }
        }
    }

    /// Returns the next segment to send and its peer. Call it until it returns `None`.
    pub fn poll_segment(&mut self, now: Time) -> Option<(Endpoint, Segment)> {
        if let Some(rst) = self.pending_rsts.pop_front() {
            return Some(rst);
        }
        while let Some(&peer) = self.ready.last() {
            if let Some(connection) = self.waiting.get_mut(&peer) {
                if let Some(segment) = connection.poll_segment(now) {
                    return Some((peer, segment));
                }
                // A connection is removed only after its last segment, such as a reset, was sent.
                if connection.is_finished() {
                    self.forget(peer);
                }
            }
            self.ready.pop();
        }
        None
    }

    /// Time at which `handle_timeout` must be called; `None` if no timer is armed.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.waiting.values().filter_map(Connection::poll_timeout).min()
    }

    /// Handles the timers that are due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        let due = |connection: &Connection| connection.poll_timeout().is_some_and(|due| due <= now);
        let peers: Vec<Endpoint> = self.waiting.iter().filter(|(_, conn)| due(conn)).map(|(peer, _)| *peer).collect();
        for peer in peers {
            if let Some(connection) = self.waiting.get_mut(&peer) {
                connection.handle_timeout(now);
                self.settle(peer);
            }
        }
    }

    /// Stops listening. Resets all connections that were not accepted, and answers new SYNs with a reset.
    pub fn close(&mut self) {
        self.closed = true;
        self.complete.clear();
        // Linux's inet_csk_listen_stop resets connections that were never accepted.
        self.waiting.values_mut().for_each(Connection::abort);
        self.ready = self.waiting.keys().copied().collect();
    }

    /// True if the listener was closed and has nothing left to send.
    pub fn is_finished(&self) -> bool {
        self.closed && self.waiting.is_empty() && self.pending_rsts.is_empty()
    }

    /// Queues the peer's connection for `accept` once its handshake is complete. Drops the connection if it fails
    /// before that. A connection that closes later can still be accepted.
    fn settle(&mut self, peer: Endpoint) {
        let Some(connection) = self.waiting.get(&peer) else { return };
        self.ready.push(peer);
        let is_new = !self.complete.contains(&peer);
        if is_new && connection.state() >= State::Established && connection.state() != State::Closed {
            self.complete.push_back(peer);
        }
        if connection.is_finished() && is_new {
            self.forget(peer);
        }
    }

    fn forget(&mut self, peer: Endpoint) {
        self.waiting.remove(&peer);
        self.complete.retain(|other| *other != peer);
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("backlog", &self.backlog)
            .field("acceptable", &self.acceptable())
            .field("half_open", &self.half_open())
            .finish_non_exhaustive()
    }
}

/// Returns the reset that answers a segment without a connection or listener (RFC 9293 section 3.10.7.1); `None` if the
/// segment is itself a reset. `payload_octets` is the length of the segment's data in bytes.
pub fn refuse(header: &TcpHeader, payload_octets: u32) -> Option<Segment> {
    if header.flags.has(Flags::RST) {
        return None;
    }
    // SYN and FIN consume one sequence number each (RFC 9293 section 3.4).
    let numbers = u32::from(header.flags.has(Flags::SYN)) + u32::from(header.flags.has(Flags::FIN));
    let (seq, ack, flags) = if header.flags.has(Flags::ACK) {
        (header.ack, Seq::default(), Flags::RST)
    } else {
        (Seq::default(), header.seq + (payload_octets + numbers), Flags::RST.with(Flags::ACK))
    };
    let header = TcpHeader {
        src_port: header.dst_port,
        dst_port: header.src_port,
        seq,
        ack,
        flags,
        window: 0,
        options: TcpOptions::default(),
    };
    Some(Segment { header, payload: Payload::EMPTY, ecn: Ecn::NotEct, last: true })
}
