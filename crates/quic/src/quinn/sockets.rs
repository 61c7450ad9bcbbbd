//! The sockets of an endpoint: the streams that the application reads and writes.

use super::stack::{ReadError, StreamId, WriteError, write};
use super::{Dir, QuicEndpoint, Socket};
use lopsided_app::{CloseReason, SocketEvent, SocketId};
use std::collections::VecDeque;

impl QuicEndpoint {
    pub(super) fn add_socket(&mut self, link: usize, stream: Option<StreamId>, opener: bool) -> u32 {
        let socket = Socket {
            link,
            stream,
            opener,
            queue: VecDeque::new(),
            queued: 0,
            written: 0,
            inbox: Vec::new(),
            readable: 0,
            closing: false,
            finished: false,
            sent_all: false,
            received_all: false,
            fresh: false,
            ended: false,
        };
        // Reuse the numbers of ended sockets, so that the table does not grow with the number of requests.
        let place = self.free_sockets.pop().unwrap_or_else(|| {
            self.sockets.push(None);
            self.sockets.len() as u32 - 1
        });
        self.sockets[place as usize] = Some(socket);
        if let Some(link) = self.connections[link].as_deref_mut() {
            link.open_sockets += 1;
        }
        place
    }

    pub(super) fn socket(&self, id: SocketId) -> Option<&Socket> {
        self.sockets.get(id.0 as usize)?.as_ref()
    }

    pub(super) fn socket_of(&self, link: usize, stream: StreamId) -> Option<u32> {
        let of = |socket: &Option<Socket>| {
            socket.as_ref().is_some_and(|socket| socket.link == link && socket.stream == Some(stream))
        };
        self.sockets.iter().position(of).map(|at| at as u32)
    }

    /// Passes queued data of the socket to quinn, as much as quinn accepts.
    pub(super) fn flush(&mut self, place: u32) {
        let Some(socket) = self.sockets.get_mut(place as usize).and_then(Option::as_mut) else { return };
        let Some(link) = self.connections.get_mut(socket.link).and_then(Option::as_deref_mut) else { return };
        if link.over || (socket.queue.is_empty() && !socket.closing) || socket.finished {
            return;
        }
        if socket.stream.is_none() {
            socket.stream = if link.established { link.connection.streams().open(Dir::Bi) } else { None };
            if socket.stream.is_none() {
                if !link.waiting.contains(&place) {
                    link.waiting.push_back(place);
                }
                return;
            }
        }
        let Some(id) = socket.stream else { return };
        let mut stream = link.connection.send_stream(id);
        while !socket.queue.is_empty() {
            // Pass chunks, which quinn accepts without copying.
            let pieces = socket.queue.make_contiguous();
            match write(&mut stream, pieces) {
                Ok((octets, chunks)) => {
                    link.written += octets as u64;
                    socket.written += octets as u64;
                    socket.queued -= octets as u64;
                    socket.queue.drain(..chunks);
                    link.touched = true;
                    if octets == 0 {
                        break;
                    }
                }
                Err(WriteError::Blocked) => break,
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    // The peer sent STOP_SENDING, so the rest of the data need not be sent.
                    (socket.queued, socket.sent_all, socket.finished) = (0, true, true);
                    socket.queue.clear();
                }
            }
        }
        if socket.queue.is_empty() && socket.closing && !socket.finished {
            socket.finished = true;
            link.touched = true;
            if stream.finish().is_err() {
                socket.sent_all = true;
            }
        }
    }

    /// Reads all data that arrived on a stream, and queues the socket's events.
    pub(super) fn take_readable(&mut self, link: usize, id: StreamId) {
        let Some(place) = self.socket_of(link, id) else { return };
        let (Some(socket), Some(link)) = (self.sockets[place as usize].as_mut(), self.connections[link].as_deref_mut())
        else {
            return;
        };
        let mut stream = link.connection.recv_stream(id);
        // quinn may report a stream as readable once more after its end has been read.
        let Ok(mut chunks) = stream.read(true) else { return };
        let (mut octets, mut ended) = (0, false);
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    octets += chunk.bytes.len() as u64;
                    // The application does not read contents, so discard them.
                    if !self.drains {
                        socket.inbox.extend_from_slice(&chunk.bytes);
                    }
                }
                Ok(None) | Err(ReadError::Reset(_)) => {
                    ended = true;
                    break;
                }
                Err(ReadError::Blocked) => break,
            }
        }
        if chunks.finalize().should_transmit() {
            link.touched = true;
        }
        socket.readable += octets;
        let id = SocketId(place);
        if std::mem::take(&mut socket.fresh) {
            self.events.push_back((id, SocketEvent::Accepted));
        }
        if octets > 0 {
            self.events.push_back((id, SocketEvent::Ready));
        }
        if ended && !socket.received_all {
            socket.received_all = true;
            self.events.push_back((id, SocketEvent::PeerClosed));
        }
        self.end_if_done(place);
    }

    /// Ends the socket if both directions are complete.
    pub(super) fn end_if_done(&mut self, place: u32) {
        let Some(socket) = self.sockets[place as usize].as_ref() else { return };
        if socket.sent_all && socket.received_all {
            self.end_socket(place, CloseReason::Normal);
        }
    }

    /// Queues the event `Closed`. The application can read from the socket until it fetches that event.
    pub(super) fn end_socket(&mut self, place: u32, reason: CloseReason) {
        let Some(socket) = self.sockets[place as usize].as_mut() else { return };
        if !std::mem::replace(&mut socket.ended, true) {
            self.events.push_back((SocketId(place), SocketEvent::Closed(reason)));
        }
    }

    pub(super) fn remove_socket(&mut self, place: u32) {
        let Some(socket) = self.sockets[place as usize].take() else { return };
        self.free_sockets.push(place);
        if let Some(link) = self.connections.get_mut(socket.link).and_then(Option::as_deref_mut) {
            link.open_sockets -= 1;
            link.waiting.retain(|waiting| *waiting != place);
            link.touched = true;
        }
    }

    /// Ends all sockets of a connection.
    pub(super) fn end_sockets(&mut self, link: usize, reason: CloseReason) {
        for place in 0..self.sockets.len() as u32 {
            if self.sockets[place as usize].as_ref().is_some_and(|socket| socket.link == link) {
                self.end_socket(place, reason);
            }
        }
    }

    pub(super) fn accept_stream(&mut self, link: usize) -> Option<StreamId> {
        self.connections[link].as_deref_mut()?.connection.streams().accept(Dir::Bi)
    }
}
