//! The FTP client: logs in, then stores or retrieves files.

use super::config::FtpConfig;
use super::session::{Control, DIALOGUE, Outgoing};
use crate::{Application, Report, SocketEvent, SocketId, Sockets};
use lopsided_core::{Duration, Time};

/// Time from the failure of a session to the next session.
const RETRY: Duration = Duration::from_secs(1);

/// The client of an FTP session for several files. If the session fails, the client opens a new session and transfers
/// the incomplete file again.
#[derive(Debug)]
pub struct FtpClient {
    config: FtpConfig,
    control: Option<Control>,
    data: Option<Data>,
    /// Number of files that were transferred completely.
    done: u32,
    /// Time at which to open a session or to request the next file.
    next: Option<Time>,
}

/// The data connection of the current file.
#[derive(Debug)]
struct Data {
    file: Outgoing,
    /// True if the server replied 150. The server is then ready to receive the file.
    wanted: bool,
    /// Number of bytes that the client has read from the file that it retrieves.
    read: u64,
    /// True if all bytes of the file were read or written.
    moved: bool,
    /// True if the server replied 226: the transfer is complete.
    confirmed: bool,
}

impl FtpClient {
    /// Creates a client that transfers files with these settings.
    pub fn new(config: FtpConfig) -> FtpClient {
        FtpClient { config, control: None, data: None, done: 0, next: None }
    }

    fn is_done(&self) -> bool {
        self.config.repeat.is_some_and(|files| self.done >= files)
    }

    fn open(&mut self, io: &mut dyn Sockets) {
        self.control = io.connect().map(Control::new);
        self.next = self.control.is_none().then(|| io.now() + RETRY);
    }

    /// Aborts the session after a failure, and opens a new session after a pause.
    fn restart(&mut self, io: &mut dyn Sockets) {
        self.leave(io);
        self.next = Some(io.now() + RETRY);
    }

    fn leave(&mut self, io: &mut dyn Sockets) {
        let sockets =
            [self.control.take().map(|control| control.socket), self.data.take().map(|data| data.file.socket)];
        sockets.into_iter().flatten().for_each(|socket| io.abort(socket));
        self.next = None;
    }

    /// Handles the server's replies: sends the next command after each reply.
    fn converse(&mut self, io: &mut dyn Sockets) {
        loop {
            let Some(control) = &mut self.control else { return };
            control.read(io);
            let Some(reply) = control.take_word() else { return };
            if let Some((_, line)) = DIALOGUE.iter().find(|(wanted, _)| *wanted == reply) {
                control.say(line, io);
                continue;
            }
            match reply.as_str() {
                "200" => control.say("PASV\r\n", io),
                // The reply to PASV: the server is ready for the data connection.
                "227" => {
                    let Some(socket) = io.connect() else { return self.restart(io) };
                    let file = Outgoing { socket, left: self.config.size.get() };
                    self.data = Some(Data { file, wanted: false, read: 0, moved: false, confirmed: false });
                }
                // STOR was accepted. After RETR the client sends nothing, because the data arrives on the data
                // connection.
                "150" if self.config.store => {
                    io.report(Report::Begun);
                    if let Some(data) = &mut self.data {
                        data.wanted = true;
                    }
                    self.store(io);
                }
                "226" => {
                    if let Some(data) = &mut self.data {
                        data.confirmed = true;
                    }
                    self.go_on(io);
                }
                // The server has replied to QUIT.
                "221" => {
                    io.close(control.socket);
                    self.control = None;
                }
                _ => {}
            }
        }
    }

    /// Completes the file once all bytes have arrived and the server has confirmed it.
    fn go_on(&mut self, io: &mut dyn Sockets) {
        if !self.data.as_ref().is_some_and(|data| data.moved && data.confirmed) {
            return;
        }
        self.data = None;
        self.done += 1;
        match &self.control {
            // RFC 959, section 4.1.1: QUIT ends the session after the last file.
            Some(control) if self.is_done() => control.say("QUIT\r\n", io),
            _ => self.next = Some(io.now() + self.config.pause),
        }
    }

    fn store(&mut self, io: &mut dyn Sockets) {
        if let Some(data) = self.data.as_mut().filter(|data| data.wanted && !data.moved) {
            data.moved = data.file.write(io);
        }
        self.go_on(io);
    }

    /// Handles an event on the data connection.
    fn moves(&mut self, event: SocketEvent, io: &mut dyn Sockets) {
        let (Some(control), Some(data)) = (&self.control, &mut self.data) else { return };
        let (socket, size, storing) = (data.file.socket, self.config.size, self.config.store);
        match event {
            // The command is sent only after the data connection is open, so that the file can follow immediately.
            SocketEvent::Connected => control.say(if storing { "STOR file\r\n" } else { "RETR file\r\n" }, io),
            SocketEvent::Ready if storing => return self.store(io),
            SocketEvent::Ready => {
                data.read += u64::from(io.read(socket).len());
                if !data.moved && data.read >= size.get() {
                    data.moved = true;
                    io.report(Report::Delivered { size });
                }
            }
            SocketEvent::PeerClosed => io.close(socket),
            // The connection failed before the file was complete, so transfer the whole file again.
            SocketEvent::Closed(_) if !data.moved => return self.restart(io),
            SocketEvent::Closed(_) | SocketEvent::Accepted => {}
        }
        self.go_on(io);
    }
}

impl Application for FtpClient {
    fn on_start(&mut self, io: &mut dyn Sockets) {
        self.open(io);
    }

    fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets) {
        if self.control.as_ref().is_some_and(|control| control.socket == socket) {
            match event {
                SocketEvent::Ready => self.converse(io),
                SocketEvent::Closed(_) => {
                    self.control = None;
                    self.restart(io);
                }
                SocketEvent::PeerClosed => io.close(socket),
                SocketEvent::Connected | SocketEvent::Accepted => {}
            }
        } else if self.data.as_ref().is_some_and(|data| data.file.socket == socket) {
            self.moves(event, io);
        }
    }

    fn on_timeout(&mut self, io: &mut dyn Sockets) {
        if self.next.is_none_or(|next| io.now() < next) {
            return;
        }
        self.next = None;
        match &self.control {
            Some(control) => control.say("PASV\r\n", io),
            None => self.open(io),
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next
    }

    fn on_stop(&mut self, io: &mut dyn Sockets) {
        self.leave(io);
    }
}
