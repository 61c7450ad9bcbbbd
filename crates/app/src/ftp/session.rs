//! Parts that the FTP client and server share: a control connection, and a file that is being sent.

use crate::{SocketId, Sockets};
use lopsided_core::Payload;

/// The dialogue before the first file: each reply of the server, and the command that the client sends after this
/// reply.
pub(super) const DIALOGUE: [(&str, &str); 4] =
    [("220", "USER anonymous\r\n"), ("331", "PASS guest@\r\n"), ("230", "CWD pub\r\n"), ("250", "TYPE I\r\n")];

/// The server's reply to each command, except RETR and STOR, which cause two replies.
pub(super) const ANSWERS: [(&str, &str); 6] = [
    ("USER", "331 Please specify the password.\r\n"),
    ("PASS", "230 Login successful.\r\n"),
    ("CWD", "250 Directory successfully changed.\r\n"),
    ("TYPE", "200 Switching to Binary mode.\r\n"),
    ("PASV", "227 Entering Passive Mode (0,0,0,0,0,0).\r\n"),
    ("QUIT", "221 Goodbye.\r\n"),
];

/// A control connection, which carries lines of text in both directions.
#[derive(Debug)]
pub(super) struct Control {
    pub socket: SocketId,
    inbox: Vec<u8>,
}

impl Control {
    pub fn new(socket: SocketId) -> Control {
        Control { socket, inbox: Vec::new() }
    }

    /// Sends a line, which always fits into the send buffer.
    pub fn say(&self, line: &str, io: &mut dyn Sockets) {
        io.write(self.socket, &Payload::real(line.as_bytes().to_vec()));
    }

    pub fn read(&mut self, io: &mut dyn Sockets) {
        if let Some(octets) = io.read(self.socket).bytes() {
            self.inbox.extend_from_slice(octets);
        }
    }

    /// Removes the next complete line, and returns its first word; `None` if no line is complete.
    pub fn take_word(&mut self) -> Option<String> {
        let end = self.inbox.iter().position(|octet| *octet == b'\n')?;
        // RFC 959, section 4.2: the first word of a reply is its code, and the first word of a command is its name.
        let line: Vec<u8> = self.inbox.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line).split_whitespace().next().unwrap_or_default().to_owned())
    }
}

/// A file that is being sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// The data connection.
    pub socket: SocketId,
    /// Number of bytes that remain to be written.
    pub left: u64,
}

impl Outgoing {
    /// Writes the part that fits into the send buffer. Returns true, and closes the connection, once the whole file is
    /// written.
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
