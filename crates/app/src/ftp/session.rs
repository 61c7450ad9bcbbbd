//! What both ends have: the lines of a control connection, and a file on its way out.

use crate::{SocketId, Sockets};
use lopsided_core::Payload;

/// Where a client logs in and goes before its first file: the reply that it waits for, and what it says then.
pub(super) const DIALOGUE: [(&str, &str); 4] =
    [("220", "USER anonymous\r\n"), ("331", "PASS guest@\r\n"), ("230", "CWD pub\r\n"), ("250", "TYPE I\r\n")];

/// What a server answers to each command, by its first word. The commands that move a file are answered twice.
pub(super) const ANSWERS: [(&str, &str); 6] = [
    ("USER", "331 Please specify the password.\r\n"),
    ("PASS", "230 Login successful.\r\n"),
    ("CWD", "250 Directory successfully changed.\r\n"),
    ("TYPE", "200 Switching to Binary mode.\r\n"),
    ("PASV", "227 Entering Passive Mode (0,0,0,0,0,0).\r\n"),
    ("QUIT", "221 Goodbye.\r\n"),
];

/// A connection on which lines of text go both ways.
#[derive(Debug)]
pub(super) struct Control {
    pub socket: SocketId,
    inbox: Vec<u8>,
}

impl Control {
    pub fn new(socket: SocketId) -> Control {
        Control { socket, inbox: Vec::new() }
    }

    /// Says a line: some tens of octets, for which there is room while one waits for the other.
    pub fn say(&self, line: &str, io: &mut dyn Sockets) {
        io.write(self.socket, &Payload::real(line.as_bytes().to_vec()));
    }

    pub fn read(&mut self, io: &mut dyn Sockets) {
        if let Some(octets) = io.read(self.socket).bytes() {
            self.inbox.extend_from_slice(octets);
        }
    }

    /// The first word of the next whole line.
    pub fn take_word(&mut self) -> Option<String> {
        let end = self.inbox.iter().position(|octet| *octet == b'\n')?;
        let line: Vec<u8> = self.inbox.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line).split_whitespace().next().unwrap_or_default().to_owned())
    }
}

/// A file on its way out.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub socket: SocketId,
    pub left: u64,
}

impl Outgoing {
    /// Writes what there is room for; whether that was all, and the connection is closed behind it.
    pub fn write(&mut self, io: &mut dyn Sockets) -> bool {
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
