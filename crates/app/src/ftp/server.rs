//! The FTP server: replies to commands, and sends or receives files.

use super::config::FtpConfig;
use super::session::{ANSWERS, Control, Outgoing};
use crate::{Application, Report, SocketEvent, SocketId, Sockets};

/// The FTP server, which serves one session at a time. If a session fails, the client opens another session.
#[derive(Debug)]
pub struct FtpServer {
    config: FtpConfig,
    control: Option<Control>,
    data: Option<Data>,
    /// True if the server replied to PASV. The next connection is then a data connection.
    passive: bool,
}

/// The data connection and the progress of its file.
#[derive(Debug)]
struct Data {
    file: Outgoing,
    /// Number of bytes received from the file that the client stores.
    read: u64,
    /// True if RETR or STOR has arrived.
    asked: bool,
    /// True if the server has confirmed the file with a 226 reply.
    finished: bool,
}

impl FtpServer {
    /// Creates a server for sessions with these settings.
    pub fn new(config: FtpConfig) -> FtpServer {
        FtpServer { config, control: None, data: None, passive: false }
    }

    fn accept(&mut self, socket: SocketId, io: &mut dyn Sockets) {
        if std::mem::take(&mut self.passive) {
            let file = Outgoing { socket, left: self.config.size.get() };
            self.data = Some(Data { file, read: 0, asked: false, finished: false });
            return;
        }
        // A new control connection replaces the old connection, because the client has aborted the previous session.
        let control = Control::new(socket);
        control.say("220 ready\r\n", io);
        self.control = Some(control);
        self.data = None;
    }

    fn answer(&mut self, io: &mut dyn Sockets) {
        loop {
            let Some(control) = &mut self.control else { return };
            control.read(io);
            let Some(command) = control.take_word() else { return };
            match (command.as_str(), &mut self.data) {
                ("RETR" | "STOR", Some(data)) => {
                    // RFC 959, section 4.2: 150 announces the data transfer, and 226 ends it.
                    control.say("150 Ok to send data.\r\n", io);
                    data.asked = true;
                    if command == "RETR" {
                        io.report(Report::Begun);
                    }
                    self.go_on(io);
                }
                (command, _) => {
                    self.passive |= command == "PASV";
                    let known = ANSWERS.iter().find(|(word, _)| *word == command);
                    control.say(known.map_or("500 Unknown command.\r\n", |(_, answer)| answer), io);
                }
            }
        }
    }

    /// Sends or reads more of the file. Confirms a complete file with a 226 reply.
    fn go_on(&mut self, io: &mut dyn Sockets) {
        let (Some(control), Some(data)) = (&self.control, &mut self.data) else { return };
        let size = self.config.size;
        // The data connection may open before RETR arrives. The file is sent only after RETR.
        if self.config.store {
            data.read += u64::from(io.read(data.file.socket).len());
            if !data.finished && data.read >= size.get() {
                data.finished = true;
                io.report(Report::Delivered { size });
                control.say("226 Transfer complete.\r\n", io);
            }
        } else if data.asked && !data.finished && data.file.write(io) {
            data.finished = true;
            control.say("226 Transfer complete.\r\n", io);
        }
    }
}

impl Application for FtpServer {
    fn on_start(&mut self, _io: &mut dyn Sockets) {}

    fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets) {
        let is_control = self.control.as_ref().is_some_and(|control| control.socket == socket);
        match event {
            SocketEvent::Accepted => self.accept(socket, io),
            SocketEvent::Ready if is_control => self.answer(io),
            SocketEvent::Ready => self.go_on(io),
            SocketEvent::PeerClosed => io.close(socket),
            SocketEvent::Closed(_) if is_control => self.control = None,
            SocketEvent::Closed(_) | SocketEvent::Connected => {}
        }
    }
}
