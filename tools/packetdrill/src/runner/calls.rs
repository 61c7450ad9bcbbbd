//! Executes the application's system calls.

use super::{Blocked, Divergence, Pending, Runner, Step, instant, micros};
use crate::script::{Call, Event};
use lopsided_core::{Bytes, Duration, Payload};
use lopsided_tcp::{BufferRule, ConnError, Connection, KeepAlive, State};
use std::net::Shutdown;

impl Runner {
    pub(super) fn call(&mut self, number: usize, event: &Event, call: &Call, start: i64, until: Option<i64>) -> Step {
        let first = call.args.first().cloned().unwrap_or_default();
        let differs = |got: String| Err((event.text.clone(), got));
        match call.name.as_str() {
            "socket" => {
                self.socket = Some(call.result.to_string());
                self.connection = None;
                (self.shut_read, self.shut_write, self.closed, self.peer_closed) = (false, false, false, false);
                (self.nonblocking, self.server) = (false, false);
                (self.nodelay, self.corked, self.user_timeout, self.linger_zero) = (false, false, None, false);
            }
            "bind" => {}
            "listen" => {
                self.server = true;
                self.listener = Some(first);
            }
            "accept" => {
                self.socket = Some(call.result.to_string());
                return self.block(number, event, Blocked::Accept, call.result, start, until);
            }
            "connect" => {
                self.connection = Some(Connection::connect(self.config()));
                self.apply_options();
                self.collect();
                if call.result == 0 {
                    return self.block(number, event, Blocked::Connect, 0, start, until);
                }
            }
            "fcntl" => self.nonblocking = call.args.iter().any(|arg| arg.contains("O_NONBLOCK")),
            "setsockopt" => self.set_option(call),
            "getsockopt" => {
                let value: Option<u64> =
                    call.args.get(3).and_then(|arg| arg.trim_matches(['[', ']', ' ']).parse().ok());
                match call.args.get(2).map(String::as_str) {
                    Some("TCP_MAXSEG") => {
                        let mss = self.connection.as_ref().map_or(self.mtu - 40, |c| c.info(self.now).snd_mss.get());
                        if value.is_some_and(|value| value != mss) {
                            return differs(format!("{mss}"));
                        }
                    }
                    Some("SO_ERROR") => {
                        let error = self.connection.as_ref().and_then(Connection::error).filter(|_| !self.error_read);
                        self.error_read |= error.is_some();
                        let name = match error {
                            None => "0",
                            Some(error) => errno(error),
                        };
                        let want = call
                            .args
                            .get(3)
                            .map(|arg| arg.trim_matches(['[', ']', ' ']).to_owned())
                            .unwrap_or_default();
                        if want != name {
                            return differs(format!("SO_ERROR {name}"));
                        }
                    }
                    Some(name) => {
                        self.out.unmapped.insert(format!("getsockopt {name}"));
                    }
                    None => {}
                }
            }
            "write" | "send" | "sendto" | "sendmsg" | "sendfile" => {
                return self.write(number, event, call, start, until);
            }
            "read" | "recv" | "recvfrom" | "recvmsg" => return self.read(number, event, call, start, until),
            "shutdown" => {
                let how = call.args.get(1).cloned().unwrap_or_default();
                self.shut_read |= how != "SHUT_WR";
                self.shut_write |= how != "SHUT_RD";
                if let Some(connection) = &mut self.connection {
                    connection.shutdown(match how.as_str() {
                        "SHUT_RD" => Shutdown::Read,
                        "SHUT_WR" => Shutdown::Write,
                        _ => Shutdown::Both,
                    });
                }
            }
            "close" => {
                let listener = self.listener.as_ref() == Some(&first) && self.socket.as_ref() != Some(&first);
                if let Some(connection) = self.connection.as_mut().filter(|_| !listener) {
                    if self.linger_zero {
                        connection.abort();
                    } else {
                        connection.close(self.now);
                    }
                    self.closed = true;
                }
            }
            "ioctl" => {
                if call.args.get(1).is_some_and(|arg| arg == "SIOCINQ") {
                    let want: u64 = call.args[2].trim_matches(['[', ']', ' ']).parse().unwrap_or(0);
                    let have = self.connection.as_ref().map_or(0, Connection::readable);
                    if want != have {
                        return differs(format!("SIOCINQ {have}"));
                    }
                }
            }
            "poll" => {
                if call.args[0].contains("POLLOUT") && call.result == 1 {
                    self.out.unmapped.insert("poll".into());
                    return self.block(number, event, Blocked::PollOut, 1, start, until);
                }
                self.out.unmapped.insert("poll".into());
            }
            other => {
                self.out.unmapped.insert(format!("call {other}"));
            }
        }
        Ok(())
    }

    pub(super) fn apply_options(&mut self) {
        if let Some(connection) = self.connection.as_mut().filter(|_| self.setup.verbose) {
            connection.listen_to(lopsided_core::tcp_event::TcpEventMask::ALL);
        }
        let (nodelay, corked, timeout) = (self.nodelay, self.corked, self.user_timeout);
        if let Some(connection) = &mut self.connection {
            connection.set_nodelay(nodelay);
            connection.set_cork(corked);
            connection.set_user_timeout(timeout);
        }
    }

    pub(super) fn set_option(&mut self, call: &Call) {
        let name = call.args.get(2).cloned().unwrap_or_default();
        let number: Option<u64> = call.args.get(3).and_then(|arg| arg.trim_matches(['[', ']', ' ']).parse().ok());
        let on = number.is_some_and(|number| number != 0);
        match (name.as_str(), number) {
            ("SO_LINGER", _) => {
                let value: String = call.args.get(3).cloned().unwrap_or_default().split_whitespace().collect();
                self.linger_zero = value.contains("onoff=1") && value.contains("linger=0");
            }
            ("TCP_NODELAY", _) => {
                self.nodelay = on;
                // In Linux, setting TCP_NODELAY also sends the data that MSG_MORE holds back.
                self.more = false;
                if let Some(connection) = &mut self.connection {
                    connection.set_nodelay(on);
                    if !self.corked {
                        connection.set_cork(false);
                    }
                }
            }
            ("TCP_CORK", _) => {
                self.corked = on;
                if let Some(connection) = &mut self.connection {
                    connection.set_cork(on);
                }
            }
            ("TCP_USER_TIMEOUT", Some(number)) => {
                self.user_timeout = (number > 0).then(|| Duration::from_millis(number));
                let timeout = self.user_timeout;
                if let Some(connection) = &mut self.connection {
                    connection.set_user_timeout(timeout);
                }
            }
            ("SO_SNDBUF", Some(number)) => match &mut self.connection {
                Some(connection) => connection.set_send_buffer(Bytes::new(number)),
                None => self.profile.send_buffer = BufferRule::Fixed(Bytes::new(number)),
            },
            ("SO_RCVBUF", Some(number)) => match &mut self.connection {
                Some(connection) => connection.set_receive_buffer(Bytes::new(number)),
                None => self.profile.receive_buffer = BufferRule::Fixed(Bytes::new(number)),
            },
            ("SO_KEEPALIVE", _) => {
                let now = self.now;
                if let Some(connection) = &mut self.connection {
                    connection.set_keepalive(now, on.then(KeepAlive::default));
                }
            }
            ("SO_REUSEADDR" | "TCP_MAXSEG" | "IP_MTU_DISCOVER" | "IP_TOS", _) => {}
            _ => {
                self.out.unmapped.insert(format!("setsockopt {name}"));
            }
        }
    }

    pub(super) fn block(
        &mut self,
        event: usize,
        at: &Event,
        kind: Blocked,
        result: i64,
        start: i64,
        until: Option<i64>,
    ) -> Step {
        let pending = Pending {
            event,
            line: at.line,
            text: at.text.clone(),
            kind,
            result,
            done: 0,
            start,
            until: until.unwrap_or(start),
        };
        self.pending = Some(pending);
        self.collect();
        if until.is_none() { self.await_pending() } else { Ok(()) }
    }

    /// True if the blocking call made progress.
    pub(super) fn progress_pending(&mut self) -> bool {
        let Some(pending) = &mut self.pending else { return false };
        let Some(connection) = &mut self.connection else { return false };
        let open = connection.state() >= State::Established;
        let (mut moved, mut finished) = (false, false);
        match pending.kind {
            Blocked::Connect | Blocked::Accept => finished = open,
            Blocked::PollOut => finished = connection.writable() > 0,
            Blocked::Read(most) => {
                if connection.readable() > 0 {
                    pending.done = i64::from(connection.read(self.now, most).unwrap_or(Payload::EMPTY).len());
                    finished = true;
                } else if self.peer_closed || self.shut_read || connection.state() == State::Closed {
                    finished = true;
                }
                moved = finished;
            }
            Blocked::Write(len) => {
                let left = len - pending.done as u64;
                let taken = connection.write(&Payload::virtual_len(left as u32)).unwrap_or(0);
                pending.done += taken as i64;
                moved = taken > 0;
                finished = pending.done as u64 == len;
            }
        }
        if finished {
            let pending = self.pending.take().expect("it was there");
            let at = micros(self.now);
            let tolerance = self.tolerance.max((pending.until - pending.start) / 8);
            let result = match pending.kind {
                Blocked::Read(_) | Blocked::Write(_) => pending.done,
                _ => pending.result,
            };
            if result != pending.result || at < pending.until - tolerance || at > pending.until + tolerance {
                self.out.divergence.get_or_insert(Divergence {
                    event: pending.event,
                    line: pending.line,
                    expected: format!("{} at {:.4}", pending.text, pending.until as f64 / 1e6),
                    got: format!("{result} at {:.4}", at as f64 / 1e6),
                });
            }
        }
        moved
    }

    pub(super) fn await_pending(&mut self) -> Step {
        while let Some(pending) = &self.pending {
            let limit = instant(pending.until) + Duration::from_millis(500);
            match self.next_timer().filter(|due| *due <= limit) {
                Some(due) => self.fire(due),
                None => {
                    let pending = self.pending.take().expect("it is there");
                    return Err((pending.text, format!("did not return; {} done", pending.done)));
                }
            }
        }
        match self.out.divergence.take() {
            Some(found) => Err((found.expected, found.got)),
            None => Ok(()),
        }
    }

    pub(super) fn write(&mut self, number: usize, event: &Event, call: &Call, start: i64, until: Option<i64>) -> Step {
        let flags = call.args.last().cloned().unwrap_or_default();
        let more = flags.contains("MSG_MORE");
        if more {
            self.out.unmapped.insert("MSG_MORE (corked until the next ACK or write)".into());
        }
        for flag in ["MSG_EOR", "MSG_ZEROCOPY", "MSG_FASTOPEN"] {
            if flags.contains(flag) {
                self.out.unmapped.insert(flag.into());
            }
        }
        let Some(connection) = &mut self.connection else {
            return if call.result < 0 { Ok(()) } else { Err((event.text.clone(), "no connection".into())) };
        };
        let len: u64 = match call.name.as_str() {
            "sendmsg" => {
                let list = call.args.get(1).cloned().unwrap_or_default();
                list.split("{...,")
                    .skip(1)
                    .filter_map(|part| {
                        part.trim().split(['}', ',']).next().and_then(|word| word.trim().parse::<u64>().ok())
                    })
                    .sum()
            }
            "sendfile" => call.args.get(3).and_then(|arg| arg.parse().ok()).unwrap_or(0),
            _ => call.args.get(2).and_then(|arg| arg.parse().ok()).unwrap_or(0),
        };
        if call.result < 0 {
            if call.errno == "EFAULT" {
                self.out.unmapped.insert("EFAULT".into());
                return Ok(());
            }
            let may = connection.writable();
            let error = match connection.error() {
                Some(error) => errno(error),
                None if self.shut_write || connection.state() > State::CloseWait => "EPIPE",
                None => "EAGAIN",
            };
            let right =
                error == call.errno || call.errno.is_empty() || (call.errno == "EPIPE" && error == "ECONNRESET");
            return if may == 0 && right {
                Ok(())
            } else {
                Err((event.text.clone(), format!("{error}, {may} may be written")))
            };
        }
        let state = connection.state();
        if self.shut_write || state == State::Closed {
            return Err((event.text.clone(), format!("state {}", state.name())));
        }
        if until.is_some() {
            return self.block(number, event, Blocked::Write(len), call.result, start, until);
        }
        if more {
            connection.set_cork(true);
            self.more = true;
        } else if std::mem::take(&mut self.more) && !self.corked {
            connection.set_cork(false);
        }
        let taken = connection.write(&Payload::virtual_len(len as u32)).unwrap_or(0) as i64;
        if taken != call.result {
            return Err((event.text.clone(), format!("{taken} were taken")));
        }
        Ok(())
    }

    pub(super) fn read(&mut self, number: usize, event: &Event, call: &Call, start: i64, until: Option<i64>) -> Step {
        if call.args.last().is_some_and(|flags| flags.contains("ERRQUEUE")) {
            self.out.unmapped.insert("MSG_ERRQUEUE".into());
            return Ok(());
        }
        let Some(connection) = &mut self.connection else { return Err((event.text.clone(), "no connection".into())) };
        let most: u64 = if call.name == "recvmsg" {
            self.out.unmapped.insert("recvmsg's control data".into());
            let list = call.args.get(1).cloned().unwrap_or_default();
            list.split("{...,").nth(1).and_then(|part| part.trim().split('}').next()?.trim().parse().ok()).unwrap_or(0)
        } else {
            call.args.get(2).and_then(|arg| arg.parse().ok()).unwrap_or(0)
        };
        if until.is_some() {
            return self.block(number, event, Blocked::Read(most), call.result, start, until);
        }
        if call.errno == "EFAULT" {
            self.out.unmapped.insert("EFAULT".into());
            return Ok(());
        }
        let had = connection.readable();
        if call.args.last().is_some_and(|flags| flags.contains("MSG_PEEK")) {
            let seen = had.min(most) as i64;
            return if seen == call.result || (seen == 0 && call.result <= 0) {
                Ok(())
            } else {
                Err((event.text.clone(), format!("{seen}")))
            };
        }
        let over = self.peer_closed || self.shut_read || connection.state() == State::Closed;
        let taken = i64::from(connection.read(self.now, most).unwrap_or(Payload::EMPTY).len());
        let result = if had == 0 && !over { -1 } else { taken };
        if result != call.result {
            return Err((event.text.clone(), format!("{result}")));
        }
        Ok(())
    }
}

/// Returns Linux's name of an error.
fn errno(error: ConnError) -> &'static str {
    match error {
        ConnError::Refused => "ECONNREFUSED",
        ConnError::Reset => "ECONNRESET",
        ConnError::TimedOut => "ETIMEDOUT",
        // Default for all other errors. A script that expects another name fails, and its message shows `EIO`.
        _ => "EIO",
    }
}
