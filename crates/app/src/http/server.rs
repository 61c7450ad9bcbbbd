//! The HTTP server. The path of a request is the size of the object, so the server needs no files.

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
    /// Requests arrive and objects leave in HTTP/2 frames.
    multiplexed: bool,
    peers: Vec<Peer>,
}

/// One connection.
#[derive(Debug)]
struct Peer {
    socket: SocketId,
    inbox: Vec<u8>,
    /// Bytes of responses that wait for room in the send buffer.
    outbox: Vec<u8>,
    responses: VecDeque<Response>,
    /// The client closed its direction or sent a malformed request: close after the last response.
    closing: bool,
}

/// A response in progress.
#[derive(Debug)]
struct Response {
    /// The stream of the request; 0 without multiplexing.
    stream: u32,
    /// The head of the response, empty once it is in the outbox.
    head: Vec<u8>,
    /// Bytes of the object that are not yet in the outbox.
    octets: Range<u64>,
}

impl HttpServer {
    /// A server, with HTTP/2 framing if `multiplexed`.
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

    /// Reads the data that arrived and takes the complete requests.
    fn read(&mut self, multiplexed: bool, io: &mut dyn Sockets) {
        if let Some(octets) = io.read(self.socket).bytes() {
            self.inbox.extend_from_slice(octets);
        }
        loop {
            let taken = if multiplexed { self.take_frame() } else { self.take_request() };
            match taken {
                // A request longer than `MAX_HEADER` is refused like a malformed one.
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

    /// Takes one request. Returns its length in the inbox, or 0 if the request is incomplete.
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
        // RFC 9113, section 4.1: take a frame only when its whole payload has arrived.
        let Some(text) = self.inbox.get(frames::HEADER..end) else { return Ok(0) };
        let (request, _) = Request::parse(text).map_err(|_| ())?.ok_or(())?;
        self.responses.push_back(Response::new(&request, frame.stream));
        Ok(end)
    }

    /// Writes as much as there is room for: first the outbox, then more of the objects.
    fn write(&mut self, multiplexed: bool, io: &mut dyn Sockets) {
        loop {
            let room = io.writable(self.socket);
            if !self.outbox.is_empty() && room > 0 {
                let len = self.outbox.len().min(room as usize);
                // Keep the part that does not fit for the next call.
                let rest = self.outbox.split_off(len);
                let taken = io.write(self.socket, &Payload::real(std::mem::replace(&mut self.outbox, rest)));
                debug_assert_eq!(taken, len as u64, "the room was asked for");
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

    /// Puts more of one object into the outbox. Without multiplexing the first object is completed first; otherwise the
    /// objects take turns.
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
        // One frame per turn keeps the objects interleaved. Without framing nothing is gained by smaller pieces.
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
            // HTTP/1.1 responses leave in the order of their requests (RFC 9112, section 9.3.2).
            self.responses.push_front(response);
        }
    }
}
