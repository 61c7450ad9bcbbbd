//! Linux's packet queue for user space (nfnetlink_queue): the kernel passes each packet to this process and waits for a
//! verdict.
//!
//! Packets pass if no process listens (`bypass`) or if the queue is full (fail-open).

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt, socket,
    sockopt,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const QUEUE_SUBSYSTEM: u16 = 3 << 8;
const PACKET: u16 = QUEUE_SUBSYSTEM;
const VERDICT: u16 = QUEUE_SUBSYSTEM | 1;
const CONFIG: u16 = QUEUE_SUBSYSTEM | 2;
const ERROR: u16 = 2;

const REQUEST: u16 = 0x1;
const ACKNOWLEDGE: u16 = 0x4;

const CONFIG_COMMAND: u16 = 1;
const CONFIG_PARAMETERS: u16 = 2;
const CONFIG_LENGTH: u16 = 3;
const CONFIG_MASK: u16 = 4;
const CONFIG_FLAGS: u16 = 5;
const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
const FAIL_OPEN: u32 = 1;

const PACKET_HEADER: u16 = 1;
const PREROUTING: u8 = 0;
const VERDICT_HEADER: u16 = 2;
const PAYLOAD: u16 = 10;

/// Maximum number of packets in the kernel's queue. It exceeds the limits of lopsided's disciplines, so that only these
/// disciplines drop packets.
const LENGTH: u32 = 65_536;
/// Size of the socket's receive buffer in bytes.
const BUFFER: usize = 8 << 20;
/// Size in bytes of the headers of a message: nlmsghdr and nfgenmsg.
const HEADERS: usize = 20;

/// The verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Drop = 0,
    Accept = 1,
}

#[derive(Debug)]
pub(crate) struct NfQueue {
    socket: OwnedFd,
    number: u16,
    buffer: Vec<u8>,
}

impl NfQueue {
    /// Binds to the queue with this number in this network namespace. If the queue overflows, packets pass if
    /// `fail_open` is true, and are dropped otherwise.
    ///
    /// # Errors
    /// Returns `AddrInUse` if another socket is bound to the queue, and `PermissionDenied` without `CAP_NET_ADMIN`.
    pub fn bind(number: u16, fail_open: bool) -> io::Result<NfQueue> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkNetFilter)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        // A size above net.core.rmem_max needs a privilege. Without the privilege the buffer keeps its default size.
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &BUFFER);
        let queue = NfQueue { socket, number, buffer: vec![0; 1 << 17] };
        queue.configure(CONFIG_COMMAND, &[BIND, 0, 0, 0]).map_err(|error| match error.raw_os_error() {
            // If another process owns the queue, the kernel returns EPERM, the same error as for missing privileges
            // (Linux's nfqnl_recv_config).
            Some(code) if code == Errno::EBUSY as i32 || (code == Errno::EPERM as i32 && is_taken(number)) => {
                io::ErrorKind::AddrInUse.into()
            }
            _ => error,
        })?;
        queue.configure(CONFIG_PARAMETERS, &[0, 0, 0xff, 0xff, COPY_PACKET])?;
        queue.configure(CONFIG_LENGTH, &LENGTH.to_be_bytes())?;
        if fail_open {
            let mut body = attribute(CONFIG_FLAGS, &FAIL_OPEN.to_be_bytes());
            body.extend(attribute(CONFIG_MASK, &FAIL_OPEN.to_be_bytes()));
            queue.ask(&body)?;
        }
        Ok(queue)
    }

    fn configure(&self, kind: u16, value: &[u8]) -> io::Result<()> {
        self.ask(&attribute(kind, value))
    }

    /// Sends a configuration request and waits for the kernel's acknowledgement.
    fn ask(&self, body: &[u8]) -> io::Result<()> {
        self.say(CONFIG, REQUEST | ACKNOWLEDGE, body)?;
        let mut answer = [0; 4096];
        loop {
            let len = match recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty()) {
                Err(Errno::EAGAIN) => continue,
                other => other?,
            };
            let kind = u16::from_ne_bytes([answer[4], answer[5]]);
            // Other messages are queued packets that arrived before the acknowledgement. An error number of 0 means
            // success.
            if kind == ERROR && len >= 20 {
                return match i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]) {
                    0 => Ok(()),
                    error => Err(Errno::from_raw(-error).into()),
                };
            }
        }
    }

    fn say(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let mut message = Vec::with_capacity(HEADERS + body.len());
        message.extend(((HEADERS + body.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend([0; 8]);
        message.extend([0, 0]);
        message.extend(self.number.to_be_bytes());
        message.extend(body);
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty())?;
        Ok(())
    }

    /// Receives the next packet that waits for a verdict into `packet`. Returns the packet's number in the kernel's
    /// queue.
    pub fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<u32>> {
        Ok(self.receive_with_way(packet)?.map(|(number, _)| number))
    }

    /// Like [`NfQueue::receive`]. Also returns true if the packet has just arrived at this machine (prerouting hook).
    pub fn receive_with_way(&mut self, packet: &mut Vec<u8>) -> io::Result<Option<(u32, bool)>> {
        loop {
            let len = match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
                Err(Errno::EAGAIN) => return Ok(None),
                // ENOBUFS: the socket buffer overflowed. The kernel has passed or dropped the packets that did not fit.
                Err(Errno::ENOBUFS | Errno::EINTR) => continue,
                other => other?,
            };
            if let Some(handed) = read(&self.buffer[..len], packet) {
                return Ok(Some(handed));
            }
        }
    }

    /// Sends the verdict on a packet, with the new contents if the packet was changed.
    pub fn verdict(&self, number: u32, verdict: Verdict, changed: Option<&[u8]>) -> io::Result<()> {
        let mut value = (verdict as u32).to_be_bytes().to_vec();
        value.extend(number.to_be_bytes());
        let mut body = attribute(VERDICT_HEADER, &value);
        if let Some(octets) = changed {
            body.extend(attribute(PAYLOAD, octets));
        }
        self.say(VERDICT, REQUEST, &body)
    }
}

impl AsFd for NfQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns true if a process owns the queue with this number. Only root can read the kernel's list of queues.
fn is_taken(number: u16) -> bool {
    let listed = std::fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue").unwrap_or_default();
    listed.lines().any(|line| line.split_whitespace().next() == Some(&number.to_string()))
}

/// Extracts a packet from a kernel message. Returns its number, and true if the packet was queued at the prerouting
/// hook.
fn read(message: &[u8], packet: &mut Vec<u8>) -> Option<(u32, bool)> {
    let kind = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
    if kind != PACKET {
        return None;
    }
    let mut rest = message.get(HEADERS..)?;
    let (mut number, mut octets) = (None, None);
    while rest.len() >= 4 {
        let len = usize::from(u16::from_ne_bytes([rest[0], rest[1]]));
        let kind = u16::from_ne_bytes([rest[2], rest[3]]) & 0x3fff;
        let value = rest.get(4..len)?;
        match kind {
            // struct nfqnl_msg_packet_hdr: packet number, protocol of the frame, hook.
            PACKET_HEADER => {
                let came_in = value.get(6) == Some(&PREROUTING);
                number = value.first_chunk().map(|octets| (u32::from_be_bytes(*octets), came_in));
            }
            PAYLOAD => octets = Some(value),
            _ => {}
        }
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    packet.clear();
    packet.extend_from_slice(octets.unwrap_or_default());
    number
}

/// Encodes an attribute: length, type and value, padded to 4 bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut octets = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    octets.extend(kind.to_ne_bytes());
    octets.extend(value);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(attributes: &[u8]) -> Vec<u8> {
        let mut message = vec![0; HEADERS];
        message[4..6].copy_from_slice(&PACKET.to_ne_bytes());
        message.extend(attributes);
        message
    }

    #[test]
    fn a_packet_is_parsed_with_its_number_and_its_hook() {
        let header = |hook| attribute(PACKET_HEADER, &[0, 0, 1, 2, 8, 0, hook]);
        let mut packet = vec![9; 9];
        let whole = [header(PREROUTING), attribute(PAYLOAD, b"octets")].concat();
        assert_eq!(read(&message(&whole), &mut packet), Some((258, true)));
        assert_eq!(packet, b"octets");
        assert_eq!(read(&message(&header(4)), &mut packet), Some((258, false)));
        assert_eq!(packet, b"");
        assert_eq!(
            read(&message(&attribute(PAYLOAD, b"octets")), &mut packet),
            None,
            "a message without a packet number is ignored"
        );
    }

    proptest! {
        #[test]
        fn arbitrary_messages_do_not_panic(octets in proptest::collection::vec(any::<u8>(), 0..100), as_packet in any::<bool>()) {
            let netlink_message = if as_packet { message(&octets) } else { octets };
            let mut packet = Vec::new();
            read(&netlink_message, &mut packet);
            prop_assert!(packet.len() <= netlink_message.len());
        }
    }
}
