//! The HTTP server. The path in a request is the size of the object, so the server needs no files.

use super::content::{MAX_HEADER, content};
use super::frames::{self, Frame, Kind};
use super::message::{BAD_REQUEST, Request, response_text};
use crate::{Application, SocketEvent, SocketId, Sockets};
use lopsided_core::Payload;
use std::collections::VecDeque;
use std::ops::Range;

/// Responds to requests for objects.
#[derive(Debug)]
pub struct HttpServer {
    /// True if requests and objects are sent in HTTP/2 frames.
    multiplexed: bool,
    peers: Vec<Peer>,
}

/// A connection to one client.
#[derive(Debug)]
struct Peer {
    socket: SocketId,
    inbox: Vec<u8>,
    /// Bytes of responses that did not fit into the send buffer.
    outbox: Vec<u8>,
    responses: VecDeque<Response>,
    /// True if the client closed its direction or sent a malformed request. The server then closes after the last
    /// response.
    closing: bool,
}

/// A response that is being sent.
#[derive(Debug)]
struct Response {
    /// Stream of the request; 0 without multiplexing.
    stream: u32,
    /// The header of the response. Empty once it is in the outbox.
    head: Vec<u8>,
    /// Range of the object that is not yet in the outbox.
    octets: Range<u64>,
}

impl HttpServer {
    /// Creates a server. It uses HTTP/2 frames if `multiplexed` is true.
    pub fn new(multiplexed: bool) -> HttpServer {
        HttpServer { multiplexed, peers: Vec::new() }
    }
}

impl Application for HttpServer {
    fn on_start(&mut self, _io: &mut dyn Sockets) {}

    fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets) {
        if event == SocketEvent::Accepted {
            self.peers.push(Peer::new(socket));
        }
        let Some(at) = self.peers.iter().position(|peer| peer.socket == socket) else { return };
        let peer = &mut self.peers[at];
        match event {
            SocketEvent::Accepted | SocketEvent::Connected => {}
            SocketEvent::Ready => {
                peer.read(self.multiplexed, io);
                peer.write(self.multiplexed, io);
            }
            SocketEvent::PeerClosed => {
                // A client may close its direction before it has received all responses.
                peer.closing = true;
                peer.write(self.multiplexed, io);
            }
            SocketEvent::Closed(_) => {
                self.peers.swap_remove(at);
            }
        }
    }
}

impl Response {
    fn new(request: &Request, stream: u32) -> Response {
        Response { stream, head: response_text(request), octets: request.octets() }
    }
}

impl Peer {
    fn new(socket: SocketId) -> Peer {
        Peer { socket, inbox: Vec::new(), outbox: Vec::new(), responses: VecDeque::new(), closing: false }
    }

    /// Reads the data that arrived, and starts a response to each complete request.
    fn read(&mut self, multiplexed: bool, io: &mut dyn Sockets) {
        if let Some(octets) = io.read(self.socket).bytes() {
            self.inbox.extend_from_slice(octets);
        }
        loop {
            let taken = if multiplexed { self.take_frame() } else { self.take_request() };
            match taken {
                // Reject a request longer than `MAX_HEADER` like a malformed request.
                Ok(0) if self.inbox.len() <= MAX_HEADER => return,
                Ok(len) if len > 0 => {
                    self.inbox.drain(..len);
                }
                _ => {
                    self.outbox.extend_from_slice(BAD_REQUEST);
                    self.inbox.clear();
                    self.closing = true;
                    return;
                }
            }
        }
    }

    /// Removes one request from the inbox. Returns the length of the request, or 0 if the request is incomplete.
    fn take_request(&mut self) -> Result<usize, ()> {
        let Some((request, len)) = Request::parse(&self.inbox).map_err(|_| ())? else { return Ok(0) };
        self.responses.push_back(Response::new(&request, 0));
        Ok(len)
    }

    fn take_frame(&mut self) -> Result<usize, ()> {
        let Some(frame) = Frame::decode(&self.inbox).map_err(|_| ())? else { return Ok(0) };
        let end = frames::HEADER + frame.len as usize;
        if frame.kind != Kind::Headers || frame.len as usize > MAX_HEADER {
            return Err(());
        }
        // RFC 9113, section 4.1: handle a frame only when its whole payload has arrived.
        let Some(text) = self.inbox.get(frames::HEADER..end) else { return Ok(0) };
        let (request, _) = Request::parse(text).map_err(|_| ())?.ok_or(())?;
        self.responses.push_back(Response::new(&request, frame.stream));
        Ok(end)
    }

    /// Writes the data that fits into the send buffer: first the outbox, then data of the objects.
    fn write(&mut self, multiplexed: bool, io: &mut dyn Sockets) {
        loop {
            let room = io.writable(self.socket);
            if !self.outbox.is_empty() && room > 0 {
                let len = self.outbox.len().min(room as usize);
                // The rest does not fit: keep it for the next call.
                let rest = self.outbox.split_off(len);
                let taken = io.write(self.socket, &Payload::real(std::mem::replace(&mut self.outbox, rest)));
                debug_assert_eq!(taken, len as u64, "the free space was requested before");
                continue;
            }
            if room == 0 || self.responses.is_empty() {
                break;
            }
            self.make(multiplexed, room);
        }
        if self.closing && self.outbox.is_empty() && self.responses.is_empty() {
            io.close(self.socket);
        }
    }

    /// Moves more data into the outbox: without multiplexing from the first response, with multiplexing from all
    /// responses in turn.
    fn make(&mut self, multiplexed: bool, room: u64) {
        let Some(mut response) = self.responses.pop_front() else { return };
        if !response.head.is_empty() {
            if multiplexed {
                let frame = Frame { kind: Kind::Headers, stream: response.stream, len: response.head.len() as u32 };
                self.outbox.extend_from_slice(&frame.encode());
            }
            self.outbox.append(&mut response.head);
        }
        let left = response.octets.end - response.octets.start;
        // One frame per turn interleaves the objects. Without frames, smaller pieces have no advantage.
        let most = if multiplexed { frames::MAX_PAYLOAD } else { room };
        let len = left.min(most);
        if multiplexed {
            let frame = Frame { kind: Kind::Data { ends: len == left }, stream: response.stream, len: len as u32 };
            self.outbox.extend_from_slice(&frame.encode());
        }
        self.outbox.extend(content(response.octets.start, len));
        response.octets.start += len;
        if response.octets.is_empty() {
            return;
        }
        if multiplexed {
            self.responses.push_back(response);
        } else {
            // HTTP/1.1 responses are sent in the order of their requests (RFC 9112, section 9.3.2).
            self.responses.push_front(response);
        }
    }
}
