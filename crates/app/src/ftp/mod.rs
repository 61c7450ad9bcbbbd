//! Files over FTP (RFC 959): a control connection with its dialogue, and a data connection for each file, which the client
//! opens (passive mode).
//!
//! What is said on the control connection is real text, one command a round trip, so that a capture of a run shows it and a
//! file comes as much later as a login and its commands take. A file is octets without a meaning.
//!
//! Leaves out: active mode, ports of data connections (all of a flow go to its one port; the reply to PASV names none, and
//! what opens after it is the data connection), refusals, and the time that programs and disks take.

mod client;
mod config;
mod server;

pub use client::FtpClient;
pub use config::FtpConfig;
pub use server::FtpServer;

use crate::config::pair;
use crate::{AppError, AppPair, AppSettings, FlowContext, RunApplications, Side, SocketId, Sockets};
use lopsided_core::Payload;

impl AppSettings for FtpConfig {
    fn build(&self, _flow: &FlowContext, _own: &RunApplications) -> Result<AppPair, AppError> {
        let (client, server) = (FtpClient::new(*self), FtpServer::new(*self));
        Ok(match self.store {
            true => pair(client, server, Side::To, false),
            false => pair(server, client, Side::From, false),
        })
    }
}

/// Where a client logs in and goes before its first file: the reply that it waits for, and what it says then.
const DIALOGUE: [(&str, &str); 4] =
    [("220", "USER anonymous\r\n"), ("331", "PASS guest@\r\n"), ("230", "CWD pub\r\n"), ("250", "TYPE I\r\n")];

/// What a server answers to each command, by its first word. The commands that move a file are answered twice.
const ANSWERS: [(&str, &str); 6] = [
    ("USER", "331 Please specify the password.\r\n"),
    ("PASS", "230 Login successful.\r\n"),
    ("CWD", "250 Directory successfully changed.\r\n"),
    ("TYPE", "200 Switching to Binary mode.\r\n"),
    ("PASV", "227 Entering Passive Mode (0,0,0,0,0,0).\r\n"),
    ("QUIT", "221 Goodbye.\r\n"),
];

/// A connection on which lines of text go both ways.
#[derive(Debug)]
struct Control {
    socket: SocketId,
    inbox: Vec<u8>,
}

impl Control {
    fn new(socket: SocketId) -> Control {
        Control { socket, inbox: Vec::new() }
    }

    /// Says a line: some tens of octets, for which there is room while one waits for the other.
    fn say(&self, line: &str, io: &mut dyn Sockets) {
        io.write(self.socket, &Payload::real(line.as_bytes().to_vec()));
    }

    fn read(&mut self, io: &mut dyn Sockets) {
        if let Some(octets) = io.read(self.socket).bytes() {
            self.inbox.extend_from_slice(octets);
        }
    }

    /// The first word of the next whole line.
    fn take_word(&mut self) -> Option<String> {
        let end = self.inbox.iter().position(|octet| *octet == b'\n')?;
        let line: Vec<u8> = self.inbox.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line).split_whitespace().next().unwrap_or_default().to_owned())
    }
}

/// A file on its way out.
#[derive(Debug)]
struct Outgoing {
    socket: SocketId,
    left: u64,
}

impl Outgoing {
    /// Writes what there is room for; whether that was all, and the connection is closed behind it.
    fn write(&mut self, io: &mut dyn Sockets) -> bool {
        while self.left > 0 {
            let len = self.left.min(io.writable(self.socket)).min(crate::bulk::WRITE);
            let taken = if len == 0 { 0 } else { io.write(self.socket, &Payload::virtual_len(len as u32)) };
            if taken == 0 {
                return false;
            }
            self.left -= taken;
        }
        io.close(self.socket);
        true
    }
}
