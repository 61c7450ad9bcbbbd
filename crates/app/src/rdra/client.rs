//! The client of an RDRA fetch: several connections, on which [`Transfer`] requests byte ranges of one object.

use super::config::RdraConfig;
use crate::http::content::{MAX_HEADER, is_content};
use crate::http::{Head, Request, parse_response};
use crate::{Application, Report, SocketEvent, SocketId, Sockets};
use lopsided_core::{Bytes, Duration, Payload, Time};
use lopsided_rdra::{Ranges, Settings, Transfer};
use std::ops::Range;

/// Time from the failure of a connection to the next attempt.
const RETRY: Duration = Duration::from_secs(1);

/// Fetches one object over several connections, and verifies every byte.
#[derive(Debug)]
pub struct RdraClient {
    size: u64,
    request_size: u64,
    /// Chooses each range to request, its connection, and the time of the request.
    transfer: Transfer,
    streams: Vec<Stream>,
    began: Time,
    ended: bool,
}

/// One of the parallel connections. If a connection fails, a new connection replaces it in the same slot.
#[derive(Debug, Default)]
struct Stream {
    socket: Option<SocketId>,
    open: bool,
    inbox: Vec<u8>,
    /// The part of a request that did not fit into the send buffer.
    outbox: Vec<u8>,
    /// The requested range; `None` once the response header has arrived.
    asked: Option<Range<u64>>,
    /// Number of bytes of the response body that have not arrived.
    body: u64,
    /// Time at which to open a connection again.
    retry: Option<Time>,
}

impl RdraClient {
    /// Creates a client for one fetch with these settings.
    pub fn new(config: RdraConfig) -> RdraClient {
        let RdraConfig { size, request_size, mode, streams, window, detection, min_chunk, stall_timeout, record_steps } =
            config;
        let settings = Settings { mode, streams, window, detection, min_chunk, stall_timeout };
        let mut transfer = Transfer::new(settings, Ranges::whole(size.get()));
        if record_steps {
            transfer.record();
        }
        let streams = (0..transfer.streams()).map(|_| Stream::default()).collect();
        let request_size = request_size.get();
        RdraClient { size: size.get(), request_size, transfer, streams, began: Time::ZERO, ended: false }
    }

    fn open(&mut self, at: usize, io: &mut dyn Sockets) {
        let stream = &mut self.streams[at];
        *stream = Stream { socket: io.connect(), ..Stream::default() };
        if stream.socket.is_none() {
            stream.retry = Some(io.now() + RETRY);
        }
    }

    /// Sends a request on each idle connection with an assigned range, and reports the transfer's steps.
    fn ask(&mut self, io: &mut dyn Sockets) {
        for (at, stream) in self.streams.iter_mut().enumerate() {
            if !stream.open || stream.asked.is_some() || stream.body > 0 {
                continue;
            }
            let Some(range) = self.transfer.request(io.now(), at) else { continue };
            let request = Request { size: self.size, range: Some(range.clone()) };
            stream.outbox = request.text(self.request_size);
            stream.asked = Some(range);
            stream.write(io);
        }
        self.transfer.take_steps().into_iter().for_each(|step| io.report(Report::Fetching(step)));
    }

    /// Reads and verifies the data that arrived. Fails if the data does not match the request.
    fn read(&mut self, at: usize, io: &mut dyn Sockets) -> Result<(), Nonsense> {
        let stream = &mut self.streams[at];
        let Some(socket) = stream.socket else { return Ok(()) };
        if let Some(octets) = io.read(socket).bytes() {
            stream.inbox.extend_from_slice(octets);
        }
        let now = io.now();
        // Only the sender can count retransmissions. The receiver counts a segment that arrives out of order as a loss.
        if let Some(info) = io.info(socket) {
            self.transfer.observe(now, at, info.counters.out_of_order_received, info.snd_mss);
        }
        if stream.body == 0 && !stream.inbox.is_empty() {
            let Some(Head { body, range, len }) = parse_response(&stream.inbox).map_err(|_| Nonsense)? else {
                return if stream.inbox.len() > MAX_HEADER { Err(Nonsense) } else { Ok(()) };
            };
            // The server must not send a response header without an open request.
            let asked = stream.asked.take().ok_or(Nonsense)?;
            if body != asked.end - asked.start || range.as_ref() != Some(&asked) {
                return Err(Nonsense);
            }
            stream.inbox.drain(..len);
            stream.body = body;
        }
        let len = (stream.inbox.len() as u64).min(stream.body);
        if len > 0 {
            let place = self.transfer.received(now, at, len).map_err(|_| Nonsense)?;
            // Every byte depends on its position, so this check detects misplaced data.
            if !is_content(place.start, &stream.inbox[..len as usize]) {
                return Err(Nonsense);
            }
            stream.inbox.drain(..len as usize);
            stream.body -= len;
        }
        if stream.body == 0 && !stream.inbox.is_empty() { Err(Nonsense) } else { Ok(()) }
    }

    fn give_up(&mut self, at: usize, io: &mut dyn Sockets) {
        self.transfer.failed(io.now(), at);
        if let Some(socket) = self.streams[at].socket.take() {
            io.abort(socket);
        }
        self.streams[at] = Stream { retry: Some(io.now() + RETRY), ..Stream::default() };
    }

    fn finish(&mut self, io: &mut dyn Sockets) {
        if self.transfer.is_complete() && !self.ended {
            io.report(Report::Completed { what: "fetch", start: self.began, size: Bytes::new(self.size) });
            self.end(io);
        }
    }

    fn end(&mut self, io: &mut dyn Sockets) {
        self.ended = true;
        self.streams.iter().filter_map(|stream| stream.socket).for_each(|socket| io.close(socket));
    }
}

/// Error: the data is not a response to the request.
struct Nonsense;

impl Stream {
    fn write(&mut self, io: &mut dyn Sockets) {
        if let Some(socket) = self.socket.filter(|_| self.open && !self.outbox.is_empty()) {
            let taken = io.write(socket, &Payload::real(self.outbox.clone()));
            self.outbox.drain(..taken as usize);
        }
    }
}

impl Application for RdraClient {
    fn on_start(&mut self, io: &mut dyn Sockets) {
        self.began = io.now();
        (0..self.streams.len()).for_each(|at| self.open(at, io));
    }

    fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets) {
        let Some(at) = self.streams.iter().position(|stream| stream.socket == Some(socket)) else { return };
        if self.ended {
            return;
        }
        match event {
            SocketEvent::Accepted => {}
            SocketEvent::Connected => self.streams[at].open = true,
            SocketEvent::Ready => {
                self.streams[at].write(io);
                if self.read(at, io).is_err() {
                    self.give_up(at, io);
                }
                self.finish(io);
            }
            SocketEvent::PeerClosed => self.give_up(at, io),
            SocketEvent::Closed(_) => {
                self.streams[at].socket = None;
                self.give_up(at, io);
            }
        }
        self.ask(io);
    }

    fn on_timeout(&mut self, io: &mut dyn Sockets) {
        let now = io.now();
        for at in self.transfer.stalled(now) {
            // A stalled connection is replaced immediately. Only after a failure does the client wait for `RETRY`.
            self.give_up(at, io);
            self.open(at, io);
        }
        for at in 0..self.streams.len() {
            if self.streams[at].retry.is_some_and(|retry| retry <= now) {
                self.open(at, io);
            }
        }
        self.ask(io);
    }

    fn next_timeout(&self) -> Option<Time> {
        if self.ended {
            return None;
        }
        self.streams.iter().filter_map(|stream| stream.retry).chain(self.transfer.next_stall()).min()
    }

    fn on_stop(&mut self, io: &mut dyn Sockets) {
        self.end(io);
    }
}
