//! The HTTP client, which loads pages.

use super::config::HttpConfig;
use super::content::MAX_HEADER;
use super::frames::{self, Frame, Kind};
use super::message::{Head, Request, parse_response};
use crate::{Application, Report, SocketEvent, SocketId, Sockets};
use lopsided_core::{Bytes, Duration, Payload, Time};

/// Time from the failure of a page to the next attempt.
const RETRY: Duration = Duration::from_secs(1);

/// Loads web pages one after the other, and reports the duration of each connection, object and page.
#[derive(Debug)]
pub struct HttpClient {
    config: HttpConfig,
    /// True if each request uses its own stream of the transport. All streams of a page share one connection.
    streams: bool,
    /// Start time of the next page; `None` while a page is loading and after the last page.
    next: Option<Time>,
    /// Number of pages started.
    pages: u32,
    page: Option<Page>,
}

/// A page that is being loaded.
#[derive(Debug)]
struct Page {
    began: Time,
    /// The connection that carries the streams; `None` if the transport has no streams.
    carrier: Option<SocketId>,
    /// True if the index was requested, or if the page has no index.
    index_requested: bool,
    /// True if the index has arrived, or if the page has no index.
    index_done: bool,
    /// Number of objects, not counting the index, that are not yet requested.
    unrequested: u32,
    /// Number of objects, not counting the index, that are not yet complete.
    to_come: u32,
    connections: Vec<Connection>,
}

/// One connection of the page, or one stream if the transport has streams.
#[derive(Debug)]
struct Connection {
    socket: SocketId,
    began: Time,
    open: bool,
    /// True for a stream of the page's connection. A stream carries a single request.
    is_stream: bool,
    inbox: Vec<u8>,
    /// Bytes of requests that did not fit into the send buffer.
    outbox: Vec<u8>,
    fetches: Vec<Fetch>,
    next_stream: u32,
}

/// A requested object.
#[derive(Debug)]
struct Fetch {
    /// The stream of a multiplexed connection on which the object arrives.
    stream: u32,
    size: Bytes,
    asked: Time,
    is_index: bool,
    /// Number of bytes of the object that have not arrived; `None` until the response header has arrived.
    left: Option<u64>,
}

impl HttpClient {
    /// Creates a client that loads pages over parallel connections, or over one multiplexed connection.
    pub fn new(config: HttpConfig) -> HttpClient {
        HttpClient { config, streams: false, next: None, pages: 0, page: None }
    }

    /// Creates a client that opens a stream of the transport for each request.
    pub fn over_streams(config: HttpConfig) -> HttpClient {
        // The transport multiplexes the streams, so no multiplexing in HTTP is needed.
        HttpClient { streams: true, ..HttpClient::new(HttpConfig { multiplexed: false, ..config }) }
    }

    fn begin(&mut self, io: &mut dyn Sockets) {
        let no_index = self.config.index_size == Bytes::ZERO;
        self.pages += 1;
        self.next = None;
        let (unrequested, to_come) = (self.config.objects, self.config.objects);
        let (connections, began) = (Vec::new(), io.now());
        // RFC 9114, section 3.3: one connection carries all requests of a page.
        let carrier = if self.streams { io.connect() } else { None };
        let page =
            Page { began, carrier, index_requested: no_index, index_done: no_index, unrequested, to_come, connections };
        self.page = Some(page);
        self.ask(io);
    }

    /// Sends all requests that can be sent now, on idle connections and on new connections.
    fn ask(&mut self, io: &mut dyn Sockets) {
        let config = self.config;
        let Some(page) = &mut self.page else { return };
        while let Some(is_index) = page.next_request() {
            let idle = |connection: &Connection| config.multiplexed || connection.fetches.is_empty();
            // A stream ends after its only request, so it is never reused.
            let found = if self.streams { None } else { page.connections.iter().position(idle) };
            let at = match (found, page.carrier) {
                (Some(at), _) => at,
                (None, Some(carrier)) => {
                    let Some(socket) = io.open_stream(carrier) else { break };
                    page.connections.push(Connection {
                        open: true,
                        is_stream: true,
                        ..Connection::new(socket, io.now())
                    });
                    page.connections.len() - 1
                }
                (None, None) if !self.streams && page.connections.len() < config.connections_at_once() => {
                    let Some(socket) = io.connect() else { break };
                    page.connections.push(Connection::new(socket, io.now()));
                    page.connections.len() - 1
                }
                (None, None) => break,
            };
            page.count_requested(is_index);
            let size = if is_index { config.index_size } else { config.object_size };
            page.connections[at].ask(size, is_index, &config, io);
        }
        if page.connections.is_empty() && (page.carrier.is_none() || page.next_request().is_some()) {
            // The host had no free port for the first connection of the page.
            self.give_up(io);
        }
    }

    /// Reads and processes the data of one connection.
    fn read(&mut self, at: usize, io: &mut dyn Sockets) {
        let Some(page) = &mut self.page else { return };
        let arrived = io.read(page.connections[at].socket);
        if let Some(octets) = arrived.bytes() {
            page.connections[at].inbox.extend_from_slice(octets);
        }
        loop {
            let connection = &mut page.connections[at];
            let step = if self.config.multiplexed { connection.take_frame() } else { connection.take_response() };
            match step {
                Err(()) => return self.give_up(io),
                Ok(Step::NotWhole) => break,
                Ok(Step::More) => {}
                Ok(Step::Done(fetch)) => {
                    let what = if fetch.is_index { "index" } else { "object" };
                    io.report(Report::Completed { what, start: fetch.asked, size: fetch.size });
                    page.count_come(fetch.is_index);
                    // The stream ends after its only response.
                    if self.streams {
                        page.connections.swap_remove(at);
                        break;
                    }
                }
            }
        }
        if page.index_done && page.to_come == 0 {
            return self.finish(io);
        }
        self.ask(io);
    }

    /// Reports a complete page, closes its connections, and schedules the next page.
    fn finish(&mut self, io: &mut dyn Sockets) {
        let Some(page) = self.page.take() else { return };
        io.report(Report::Completed { what: "page", start: page.began, size: self.config.page_size() });
        page.sockets().for_each(|socket| io.close(socket));
        if self.config.pages.is_none_or(|pages| self.pages < pages) {
            self.next = Some(io.now() + self.config.pause);
        }
    }

    /// Aborts a page that cannot be loaded, and schedules another attempt after a pause.
    fn give_up(&mut self, io: &mut dyn Sockets) {
        let Some(page) = self.page.take() else { return };
        page.sockets().for_each(|socket| io.abort(socket));
        // The failed attempt does not count as a page.
        self.pages -= 1;
        self.next = Some(io.now() + RETRY);
    }
}

impl HttpConfig {
    fn connections_at_once(&self) -> usize {
        if self.multiplexed { 1 } else { self.connections as usize }
    }
}

impl Page {
    /// Returns all sockets of the page. The connection that carries the streams is last.
    fn sockets(&self) -> impl Iterator<Item = SocketId> + '_ {
        self.connections.iter().map(|connection| connection.socket).chain(self.carrier)
    }

    /// Returns `Some(true)` if the next request is for the index, and `Some(false)` if it is for an object. Returns
    /// `None` if no request can be sent now.
    fn next_request(&self) -> Option<bool> {
        if !self.index_requested {
            return Some(true);
        }
        // The objects are known only after the index is complete.
        (self.index_done && self.unrequested > 0).then_some(false)
    }

    fn count_requested(&mut self, is_index: bool) {
        if is_index {
            self.index_requested = true;
        } else {
            self.unrequested -= 1;
        }
    }

    fn count_come(&mut self, is_index: bool) {
        if is_index {
            self.index_done = true;
        } else {
            self.to_come -= 1;
        }
    }
}

/// The result of one attempt to parse data from the front of the inbox.
enum Step {
    /// The inbox contains only a part of a message: wait for more data.
    NotWhole,
    /// A part of an object was removed from the inbox.
    More,
    /// An object is complete.
    Done(Fetch),
}

impl Connection {
    fn new(socket: SocketId, began: Time) -> Connection {
        // RFC 9113, section 5.1.1: streams that a client opens have odd numbers.
        let (inbox, outbox) = (Vec::new(), Vec::new());
        Connection { socket, began, open: false, is_stream: false, inbox, outbox, fetches: Vec::new(), next_stream: 1 }
    }

    fn ask(&mut self, size: Bytes, is_index: bool, config: &HttpConfig, io: &mut dyn Sockets) {
        let text = Request { size: size.get(), range: None }.text(config.request_size.get());
        let stream = self.next_stream;
        self.next_stream += 2;
        if config.multiplexed {
            let frame = Frame { kind: Kind::Headers, stream, len: text.len() as u32 };
            self.outbox.extend_from_slice(&frame.encode());
        }
        self.outbox.extend_from_slice(&text);
        self.fetches.push(Fetch { stream, size, asked: io.now(), is_index, left: None });
        self.write(io);
    }

    fn write(&mut self, io: &mut dyn Sockets) {
        if self.open && !self.outbox.is_empty() {
            let taken = io.write(self.socket, &Payload::real(self.outbox.clone()));
            self.outbox.drain(..taken as usize);
            // RFC 9114, section 4.1: a client ends its side of the stream after the request.
            if self.is_stream && self.outbox.is_empty() {
                io.close(self.socket);
            }
        }
    }

    fn take_response(&mut self) -> Result<Step, ()> {
        // The server must not send data that was not requested.
        let Some(fetch) = self.fetches.first_mut() else {
            return if self.inbox.is_empty() { Ok(Step::NotWhole) } else { Err(()) };
        };
        let Some(left) = &mut fetch.left else {
            let Some(Head { body, len, .. }) = parse_response(&self.inbox).map_err(|_| ())? else {
                return self.wait_for_head();
            };
            if body != fetch.size.get() {
                return Err(());
            }
            fetch.left = Some(body);
            self.inbox.drain(..len);
            return Ok(Step::More);
        };
        // The inbox may also contain the start of the next response.
        let len = self.inbox.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        self.inbox.drain(..len);
        *left -= len as u64;
        Ok(if *left == 0 { Step::Done(self.fetches.remove(0)) } else { Step::NotWhole })
    }

    fn wait_for_head(&self) -> Result<Step, ()> {
        // Reject a header longer than `MAX_HEADER`, so that a faulty server cannot fill the memory.
        if self.inbox.len() > MAX_HEADER { Err(()) } else { Ok(Step::NotWhole) }
    }

    fn take_frame(&mut self) -> Result<Step, ()> {
        let Some(frame) = Frame::decode(&self.inbox).map_err(|_| ())? else { return Ok(Step::NotWhole) };
        if u64::from(frame.len) > frames::MAX_PAYLOAD {
            return Err(());
        }
        let end = frames::HEADER + frame.len as usize;
        let Some(payload) = self.inbox.get(frames::HEADER..end) else { return Ok(Step::NotWhole) };
        // Responses may arrive in any order, so the stream number identifies the object.
        let at = self.fetches.iter().position(|fetch| fetch.stream == frame.stream).ok_or(())?;
        let fetch = &mut self.fetches[at];
        let mut ended = false;
        match frame.kind {
            Kind::Headers => {
                let Head { body, .. } = parse_response(payload).map_err(|_| ())?.ok_or(())?;
                if body != fetch.size.get() || fetch.left.is_some() {
                    return Err(());
                }
                fetch.left = Some(body);
            }
            Kind::Data { ends } => {
                let left = fetch.left.as_mut().ok_or(())?;
                *left = left.checked_sub(u64::from(frame.len)).ok_or(())?;
                // RFC 9113, section 8.1.1: END_STREAM must agree with the announced length.
                if ends != (*left == 0) {
                    return Err(());
                }
                ended = ends;
            }
        }
        self.inbox.drain(..end);
        Ok(if ended { Step::Done(self.fetches.remove(at)) } else { Step::More })
    }
}

impl Application for HttpClient {
    fn on_start(&mut self, io: &mut dyn Sockets) {
        self.begin(io);
    }

    fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets) {
        if let Some(page) = self.page.as_ref().filter(|page| page.carrier == Some(socket)) {
            match event {
                SocketEvent::Connected => {
                    io.report(Report::Completed { what: "connect", start: page.began, size: Bytes::ZERO });
                }
                SocketEvent::Closed(_) => self.give_up(io),
                SocketEvent::Accepted | SocketEvent::Ready | SocketEvent::PeerClosed => {}
            }
            return;
        }
        let find = |page: &Page| page.connections.iter().position(|connection| connection.socket == socket);
        let Some(at) = self.page.as_ref().and_then(find) else { return };
        let Some(page) = &mut self.page else { return };
        match event {
            SocketEvent::Accepted => {}
            SocketEvent::Connected => {
                page.connections[at].open = true;
                let start = page.connections[at].began;
                io.report(Report::Completed { what: "connect", start, size: Bytes::ZERO });
                page.connections[at].write(io);
            }
            SocketEvent::Ready => {
                page.connections[at].write(io);
                self.read(at, io);
            }
            // The server closed the connection before the page was complete.
            SocketEvent::PeerClosed => self.give_up(io),
            SocketEvent::Closed(_) => {
                page.connections.swap_remove(at);
                self.give_up(io);
            }
        }
    }

    fn on_timeout(&mut self, io: &mut dyn Sockets) {
        if self.next.is_some_and(|next| next <= io.now()) {
            self.begin(io);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next
    }

    fn on_stop(&mut self, io: &mut dyn Sockets) {
        self.next = None;
        if let Some(page) = self.page.take() {
            page.sockets().for_each(|socket| io.close(socket));
        }
    }
}
