//! The client that fetches and repairs an object. It has a connection for the object, one or more connections for
//! repairs, and a list of missing ranges.

use super::config::RepairConfig;
use crate::http::content::{MAX_HEADER, is_content};
use crate::http::{Head, Request, parse_response};
use crate::{Application, Report, SocketEvent, SocketId, Sockets};
use lopsided_core::{Bytes, Duration, Payload, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// Time from the failure of a connection to the next attempt.
const RETRY: Duration = Duration::from_secs(1);
/// The first bytes of a response to a range request.
const ANSWER: &[u8] = b"HTTP/1.1 206 ";

/// Fetches one object, repairs it, and verifies every byte.
#[derive(Debug)]
pub struct RepairClient {
    config: RepairConfig,
    /// The connection for the object, and the connections for repairs. If all repairs share a connection, it is opened
    /// when the first repair is needed. Otherwise, a connection is in the list only while its range is missing.
    lines: Vec<Line>,
    /// Ranges that are missing and not yet requested, in the order in which they were detected.
    missing: VecDeque<Range<u64>>,
    /// Time at which connections for single ranges may be opened again.
    retry: Option<Time>,
    /// Number of bytes received so far.
    whole: u64,
    began: Time,
    ended: bool,
}

/// One connection. If the connection for the object or the shared connection for repairs fails, a new connection
/// replaces it in the same slot.
#[derive(Debug, Default)]
struct Line {
    socket: Option<SocketId>,
    open: bool,
    /// True if the connection is for a single range.
    single: bool,
    /// Data that was read but not yet processed.
    inbox: Vec<u8>,
    /// Position of the inbox's first byte in the peer's stream.
    place: u64,
    /// Placeholders at and after `place`, as positions in the peer's stream.
    holes: VecDeque<Range<u64>>,
    outbox: Vec<u8>,
    /// Requested ranges whose response header has not arrived, in order, each with the time of its request.
    asked: VecDeque<(Range<u64>, Time)>,
    /// The part of the current response's range that has not arrived.
    body: Range<u64>,
    /// The whole range of the current response, and the time of its request.
    answers: (Range<u64>, Time),
    /// Time at which to open a connection again.
    retry: Option<Time>,
    /// Time at which data last arrived on this connection.
    heard: Time,
}

/// Length above which a response counts as long, in bytes. A connection is aborted if the header of a long response is
/// missing.
const LONG: u64 = 64 << 10;

/// Reason to abort a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// The data is not a response to the request.
    Nonsense,
    /// The header of a long response is missing.
    NoHead,
}
use Trouble::{NoHead, Nonsense};

/// One result of processing a connection's inbox.
#[derive(Debug, PartialEq, Eq)]
enum Learned {
    /// This number of bytes arrived, and their content is correct.
    Came(u64),
    /// This range of the object is missing.
    Missing(Range<u64>),
    /// The response to a request is complete: the time of the request, and the length of the response in bytes.
    Answered(Time, u64),
}

impl RepairClient {
    /// Creates a client for one object with these settings.
    pub fn new(config: RepairConfig) -> RepairClient {
        RepairClient {
            config,
            // The connection for the object, and the shared connection for repairs.
            lines: (0..if config.range_connections.is_none() { 2 } else { 1 }).map(|_| Line::default()).collect(),
            missing: VecDeque::new(),
            retry: None,
            whole: 0,
            began: Time::ZERO,
            ended: false,
        }
    }

    fn open(&mut self, at: usize, io: &mut dyn Sockets) {
        let now = io.now();
        let socket = io.connect();
        let retry = socket.is_none().then(|| now + RETRY);
        self.lines[at] = Line { socket, heard: now, retry, ..Line::default() };
    }

    /// Requests the missing ranges. Opens connections for repairs if necessary.
    fn ask(&mut self, io: &mut dyn Sockets) {
        if let Some(most) = self.config.range_connections {
            self.ask_each(most as usize, io);
            return;
        }
        if !self.missing.is_empty() && self.lines[1].socket.is_none() && self.lines[1].retry.is_none() {
            self.open(1, io);
        }
        let line = &mut self.lines[1];
        if line.open {
            for range in self.missing.drain(..) {
                line.request(io.now(), self.config.size.get(), Some(range), self.config.request_size.get());
            }
            line.write(io);
        }
    }

    /// Opens a connection for each missing range, up to `most` at a time.
    fn ask_each(&mut self, most: usize, io: &mut dyn Sockets) {
        while self.retry.is_none() && self.lines.len() <= most {
            let Some(range) = self.missing.pop_front() else { return };
            let Some(socket) = io.connect() else {
                self.missing.push_front(range);
                self.retry = Some(io.now() + RETRY);
                return;
            };
            let mut line = Line { socket: Some(socket), single: true, heard: io.now(), ..Line::default() };
            line.request(io.now(), self.config.size.get(), Some(range), self.config.request_size.get());
            self.lines.push(line);
        }
    }

    /// Reads and processes the data that arrived.
    fn read(&mut self, at: usize, io: &mut dyn Sockets) -> Result<(), Trouble> {
        let line = &mut self.lines[at];
        let Some(socket) = line.socket else { return Ok(()) };
        let payload = io.read(socket);
        let Some(octets) = payload.bytes().filter(|octets| !octets.is_empty()) else { return Ok(()) };
        line.heard = io.now();
        line.inbox.extend_from_slice(octets);
        line.holes.extend(io.placeholders(socket));
        let (whole, missing) = (&mut self.whole, &mut self.missing);
        line.take(|learned| match learned {
            Learned::Came(octets) => *whole += octets,
            Learned::Missing(range) => missing.push_back(range),
            Learned::Answered(start, octets) if at > 0 => {
                io.report(Report::Completed { what: "repair", start, size: Bytes::new(octets) });
            }
            Learned::Answered(..) => {}
        })
    }

    /// Aborts a connection. Ranges that were requested on this connection and have not arrived count as missing again.
    fn give_up(&mut self, at: usize, why: Trouble, io: &mut dyn Sockets) {
        let single = self.lines[at].single;
        let line = if single { self.lines.swap_remove(at) } else { std::mem::take(&mut self.lines[at]) };
        if let Some(socket) = line.socket {
            io.abort(socket);
        }
        // The connection failed before it was established, so the whole object is missing.
        if at == 0 && !line.open {
            self.missing.push_back(0..self.config.size.get());
        }
        self.missing.extend(line.asked.into_iter().map(|(range, _)| range));
        if !line.body.is_empty() {
            self.missing.push_back(line.body);
        }
        // Wait for `RETRY` only after a wrong response. After a stall or a missing header, `ask` opens the connection
        // for repairs immediately.
        if at > 0 && why == Nonsense {
            *(if single { &mut self.retry } else { &mut self.lines[at].retry }) = Some(io.now() + RETRY);
        }
    }

    /// Closes a connection for a single range whose response is complete.
    fn close_answered(&mut self, at: usize, io: &mut dyn Sockets) {
        if self.lines[at].single && self.lines[at].open && !self.lines[at].waits() {
            let line = self.lines.swap_remove(at);
            line.socket.into_iter().for_each(|socket| io.close(socket));
        }
    }

    fn finish(&mut self, io: &mut dyn Sockets) {
        if self.whole == self.config.size.get() && !self.ended {
            io.report(Report::Completed { what: "object", start: self.began, size: self.config.size });
            self.end(io);
        }
    }

    fn end(&mut self, io: &mut dyn Sockets) {
        self.ended = true;
        self.lines.iter().filter_map(|line| line.socket).for_each(|socket| io.close(socket));
    }
}

impl Line {
    fn request(&mut self, now: Time, size: u64, range: Option<Range<u64>>, request_size: u64) {
        let request = Request { size, range };
        self.outbox.extend(request.text(request_size));
        self.asked.push_back((request.octets(), now));
    }

    fn write(&mut self, io: &mut dyn Sockets) {
        if let Some(socket) = self.socket.filter(|_| self.open && !self.outbox.is_empty()) {
            let taken = io.write(socket, &Payload::real(self.outbox.clone()));
            self.outbox.drain(..taken as usize);
        }
    }

    /// True if a response is outstanding. TCP repeats the handshake of a connection that is not open yet.
    fn waits(&self) -> bool {
        self.open && (!self.asked.is_empty() || !self.body.is_empty())
    }

    /// Removes bytes from the front of the inbox, and removes the holes before the new position.
    fn skip(&mut self, octets: usize) {
        self.inbox.drain(..octets);
        self.place += octets as u64;
        let place = self.place;
        while self.holes.front().is_some_and(|hole| hole.end <= place) {
            self.holes.pop_front();
        }
        if let Some(first) = self.holes.front_mut() {
            first.start = first.start.max(place);
        }
    }

    /// Processes all headers and bodies that have arrived.
    fn take(&mut self, mut learn: impl FnMut(Learned)) -> Result<(), Trouble> {
        while !self.inbox.is_empty() {
            if self.body.is_empty() {
                if !self.take_head(&mut learn)? {
                    return Ok(());
                }
            } else {
                self.take_body(&mut learn)?;
                if self.body.is_empty() {
                    let (range, at) = &self.answers;
                    learn(Learned::Answered(*at, range.end - range.start));
                }
            }
        }
        Ok(())
    }

    /// Processes the bytes of a body up to the next hole, or reports the hole as missing.
    fn take_body(&mut self, learn: &mut impl FnMut(Learned)) -> Result<(), Trouble> {
        let most = (self.inbox.len() as u64).min(self.body.end - self.body.start);
        // A hole may start in the middle of the body. Process the part before it first.
        let until_hole = self.holes.front().map_or(u64::MAX, |hole| hole.start - self.place);
        let start = self.body.start;
        if until_hole == 0 {
            let hole = self.holes.front().expect("a range starts here");
            let len = most.min(hole.end - hole.start);
            learn(Learned::Missing(start..start + len));
            self.body.start += len;
            self.skip(len as usize);
            return Ok(());
        }
        let len = most.min(until_hole);
        if !is_content(start, &self.inbox[..len as usize]) {
            return Err(Nonsense);
        }
        learn(Learned::Came(len));
        self.body.start += len;
        self.skip(len as usize);
        Ok(())
    }

    /// Processes the header of a response. Returns false if the header is incomplete.
    fn take_head(&mut self, learn: &mut impl FnMut(Learned)) -> Result<bool, Trouble> {
        // Only the bytes before the first hole arrived; the hole itself reads as zeros.
        let readable = self.holes.front().map_or(self.inbox.len(), |hole| {
            usize::try_from(hole.start - self.place).unwrap_or(usize::MAX).min(self.inbox.len())
        });
        match parse_response(&self.inbox[..readable]) {
            Ok(Some(Head { body, range, len })) => {
                let (asked, at) = self.asked.pop_front().ok_or(Nonsense)?;
                if body != asked.end - asked.start || range.is_some_and(|range| range != asked) {
                    return Err(Nonsense);
                }
                self.skip(len);
                self.answers = (asked.clone(), at);
                self.body = asked;
                Ok(true)
            }
            Ok(None) if readable < self.inbox.len() => self.find_head(learn),
            Ok(None) if readable > MAX_HEADER => Err(Nonsense),
            Ok(None) => Ok(false),
            Err(_) => Err(Nonsense),
        }
    }

    /// Skips a response header that contains a hole, and moves to the next complete header. The ranges requested before
    /// the range of that header become missing.
    fn find_head(&mut self, learn: &mut impl FnMut(Learned)) -> Result<bool, Trouble> {
        let mut from = 1;
        while let Some(found) = self.inbox.get(from..).and_then(|rest| find(rest, ANSWER)) {
            let at = from + found;
            from = at + 1;
            let place = self.place + at as u64;
            let clear = self.holes.iter().find(|hole| hole.end > place).map_or(u64::MAX, |hole| hole.start.max(place));
            let end = usize::try_from(clear - self.place).unwrap_or(usize::MAX).min(self.inbox.len());
            let Ok(Some(head)) = parse_response(&self.inbox[at..end]) else { continue };
            // The contents of an object could resemble a header, so the header must also match a request.
            let Some(number) = self.asked.iter().position(|(asked, _)| head.range.as_ref() == Some(asked)) else {
                continue;
            };
            self.asked.drain(..number).for_each(|(range, _)| learn(Learned::Missing(range)));
            self.skip(at);
            return Ok(true);
        }
        // If the header of the last response is missing, no later header arrives, and the connection would stall until
        // its timeout. Meanwhile a long response would waste much bandwidth, so abort the connection immediately.
        let is_long = self.asked.front().is_some_and(|(asked, _)| asked.end - asked.start > LONG);
        if is_long || self.single { Err(NoHead) } else { Ok(false) }
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

impl Application for RepairClient {
    fn on_start(&mut self, io: &mut dyn Sockets) {
        self.began = io.now();
        self.open(0, io);
    }

    fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets) {
        let Some(at) = self.lines.iter().position(|line| line.socket == Some(socket)) else { return };
        if self.ended {
            return;
        }
        match event {
            SocketEvent::Accepted => {}
            SocketEvent::Connected => {
                self.lines[at].open = true;
                self.lines[at].heard = io.now();
                // The first connection requests the whole object. On the second connection, `ask` requests the missing
                // ranges.
                if at == 0 {
                    let (size, request_size) = (self.config.size.get(), self.config.request_size.get());
                    self.lines[0].request(io.now(), size, None, request_size);
                }
                self.lines[at].write(io);
            }
            SocketEvent::Ready => {
                self.lines[at].write(io);
                match self.read(at, io) {
                    Err(why) => self.give_up(at, why, io),
                    Ok(()) => self.close_answered(at, io),
                }
                self.finish(io);
            }
            SocketEvent::PeerClosed => self.give_up(at, Nonsense, io),
            SocketEvent::Closed(_) => {
                self.lines[at].socket = None;
                self.give_up(at, Nonsense, io);
            }
        }
        if !self.ended {
            self.ask(io);
        }
    }

    fn on_timeout(&mut self, io: &mut dyn Sockets) {
        let now = io.now();
        let mut at = 0;
        while at < self.lines.len() {
            let line = &self.lines[at];
            if line.waits() && now.saturating_since(line.heard) >= self.config.stall_timeout {
                let single = line.single;
                self.give_up(at, NoHead, io);
                // `give_up` has removed the connection, and another connection may now have the index `at`.
                if single {
                    continue;
                }
            } else if self.lines[at].retry.take_if(|retry| *retry <= now).is_some() {
                self.open(at, io);
            }
            at += 1;
        }
        self.retry.take_if(|retry| *retry <= now);
        self.ask(io);
    }

    fn next_timeout(&self) -> Option<Time> {
        if self.ended {
            return None;
        }
        let stall = |line: &Line| line.waits().then(|| line.heard + self.config.stall_timeout);
        self.lines.iter().flat_map(|line| [line.retry, stall(line)]).flatten().chain(self.retry).min()
    }

    fn on_stop(&mut self, io: &mut dyn Sockets) {
        self.end(io);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::content::content;
    use crate::http::response_text;
    use proptest::prelude::*;

    proptest! {
        /// Any part of the responses may be missing. Each requested byte either arrives or is reported as missing,
        /// exactly once.
        #[test]
        fn each_octet_arrives_or_is_reported_missing_exactly_once(
            lengths in prop::collection::vec(1..6_000u64, 1..12),
            holes in prop::collection::vec((0..50_000u64, 1..4_000u64), 0..8),
            cuts in prop::collection::vec(1..5_000usize, 1..40),
        ) {
            let size: u64 = lengths.iter().sum();
            let (mut line, mut stream, mut from) = (Line::default(), Vec::new(), 0);
            for len in lengths {
                let request = Request { size, range: Some(from..from + len) };
                line.request(Time::ZERO, size, request.range.clone(), 100);
                stream.extend(response_text(&request));
                stream.extend(content(from, len));
                from += len;
            }
            let mut missing = vec![false; stream.len()];
            for (start, len) in holes {
                let places = missing.iter_mut().zip(&mut stream).skip(start as usize).take(len as usize);
                places.for_each(|(hole, octet)| (*hole, *octet) = (true, 0));
            }
            let mut seen = vec![0u8; size as usize];
            let (mut came, mut place) = (0, 0);
            let mut cuts = cuts.into_iter().cycle();
            let mut ended = Ok(());
            while place < stream.len() && ended.is_ok() {
                let end = (place + cuts.next().unwrap()).min(stream.len());
                line.inbox.extend_from_slice(&stream[place..end]);
                for at in (place..end).filter(|at| missing[*at]) {
                    match line.holes.back_mut() {
                        Some(last) if last.end == at as u64 => last.end += 1,
                        _ => line.holes.push_back(at as u64..at as u64 + 1),
                    }
                }
                place = end;
                ended = line.take(|learned| match learned {
                    Learned::Came(octets) => came += octets,
                    Learned::Missing(range) => range.for_each(|at| seen[at as usize] += 1),
                    Learned::Answered(..) => {}
                });
            }
            // When the connection is aborted, all outstanding ranges count as missing.
            line.asked.iter().for_each(|(range, _)| range.clone().for_each(|at| seen[at as usize] += 1));
            line.body.clone().for_each(|at| seen[at as usize] += 1);
            let lost: u64 = seen.iter().map(|count| u64::from(*count)).sum();
            prop_assert!(seen.iter().all(|count| *count <= 1), "requested twice");
            prop_assert_eq!(came + lost, size);
            prop_assert!(ended != Err(Nonsense));
        }
    }
}
