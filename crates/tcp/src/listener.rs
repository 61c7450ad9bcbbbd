//! A listening socket: connections for those who open one, and a queue of them until they are accepted (listen(2)).
//!
//! As in Linux the backlog bounds both queues. A SYN is dropped where as many handshakes are under way, or where more
//! connections than that wait to be accepted; the acknowledgement that would complete a handshake then is dropped too,
//! so that the SYN ACK is sent again and the peer tries once more.
//!
//! A real endpoint may let a new SYN take the place of the oldest handshake ([`Listener::evicting`]).
//!
//! Left out: SYN cookies, TCP Fast Open, `tcp_abort_on_overflow`.

use crate::config::{ConnConfig, Endpoint};
use crate::connection::{Connection, Segment};
use lopsided_core::packet::{Flags, TcpHeader, TcpOptions};
use lopsided_core::tcp_event::State;
use lopsided_core::{Ecn, Payload, Seq, Time};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Makes the settings of a connection with the peer.
type MakeConfig = Box<dyn FnMut(Endpoint) -> ConnConfig + Send>;

/// A listening socket. It is polled as a connection is, and each segment goes to or comes from some peer. A connection
/// that was [accepted](Listener::accept) is its owner's: segments of that peer go there and no longer here.
pub struct Listener {
    backlog: usize,
    make: MakeConfig,
    /// Connections that nobody has accepted, their handshakes complete or not.
    waiting: BTreeMap<Endpoint, Connection>,
    /// Those whose handshakes are complete, the oldest first.
    complete: VecDeque<Endpoint>,
    /// Peers whose connections may have something to send.
    ready: Vec<Endpoint>,
    pending_rsts: VecDeque<(Endpoint, Segment)>,
    /// Peers whose handshakes are under way, the oldest first; may hold some that are over.
    opening: VecDeque<Endpoint>,
    evicts: bool,
    closed: bool,
    overflows: u64,
    drops: u64,
}

impl Listener {
    /// A socket that makes its connections by `make`, called with the peer's address.
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

    /// A SYN that finds as many handshakes under way as the backlog allows takes the place of the oldest handshake
    /// (RFC 4987, section 3.3), so that SYNs of invented senders do not keep others out.
    #[must_use]
    pub fn evicting(mut self) -> Listener {
        self.evicts = true;
        self
    }

    /// From now on the queues are of this length, as after another call of listen(2). What waits stays.
    pub fn set_backlog(&mut self, backlog: usize) {
        self.backlog = backlog;
    }

    /// Connections that can be accepted now.
    pub fn acceptable(&self) -> usize {
        self.complete.len()
    }

    /// Handshakes under way.
    pub fn half_open(&self) -> usize {
        self.waiting.len() - self.complete.len()
    }

    /// Completed handshakes that found the queue full (Linux's ListenOverflows).
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// SYNs and completed handshakes that were dropped (Linux's ListenDrops).
    pub fn drops(&self) -> u64 {
        self.drops
    }

    /// The connection that has waited longest.
    pub fn accept(&mut self) -> Option<Connection> {
        let peer = self.complete.pop_front()?;
        self.waiting.remove(&peer)
    }

    /// A segment from `peer` arrived for this socket.
    pub fn handle_segment(&mut self, now: Time, peer: Endpoint, header: &TcpHeader, payload: &Payload, ecn: Ecn) {
        if let Some(connection) = self.waiting.get_mut(&peer) {
            let completes = connection.state() == State::SynReceived
                && header.flags.has(Flags::ACK)
                && !header.flags.has(Flags::SYN)
                && !header.flags.has(Flags::RST);
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
            // Handshakes end in about the order in which they began.
            while self.opening.front().is_some_and(|oldest| !self.is_opening(oldest)) {
                self.opening.pop_front();
            }
            self.opening.push_back(peer);
        }
    }

    fn is_opening(&self, peer: &Endpoint) -> bool {
        self.waiting.contains_key(peer) && !self.complete.contains(peer)
    }

    /// Forgets the oldest handshake that is under way.
    fn evict(&mut self) {
        while let Some(peer) = self.opening.pop_front() {
            if self.is_opening(&peer) {
                self.forget(peer);
                self.drops += 1;
                return;
            }
        }
    }

    /// The next segment to send, and to whom. Call until it gives none.
    pub fn poll_segment(&mut self, now: Time) -> Option<(Endpoint, Segment)> {
        if let Some(rst) = self.pending_rsts.pop_front() {
            return Some(rst);
        }
        while let Some(&peer) = self.ready.last() {
            if let Some(connection) = self.waiting.get_mut(&peer) {
                if let Some(segment) = connection.poll_segment(now) {
                    return Some((peer, segment));
                }
                if connection.is_finished() {
                    self.forget(peer);
                }
            }
            self.ready.pop();
        }
        None
    }

    /// When `handle_timeout` is due; `None` for never.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.waiting.values().filter_map(Connection::poll_timeout).min()
    }

    /// Does what is due by `now`.
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

    /// Listens no more: connections that nobody accepted are reset, and who comes is refused.
    pub fn close(&mut self) {
        self.closed = true;
        self.complete.clear();
        self.waiting.values_mut().for_each(Connection::abort);
        self.ready = self.waiting.keys().copied().collect();
    }

    /// It was closed and has nothing more to send.
    pub fn is_finished(&self) -> bool {
        self.closed && self.waiting.is_empty() && self.pending_rsts.is_empty()
    }

    /// Something happened to the peer's connection. One that failed before it was accepted is not seen by anybody; one
    /// that the peer closed is.
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

/// What a segment for no connection and no listening socket is answered with (RFC 9293 section 3.10.7.1). `None`: a
/// reset, which nobody answers.
pub fn refuse(header: &TcpHeader, payload_octets: u32) -> Option<Segment> {
    if header.flags.has(Flags::RST) {
        return None;
    }
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
