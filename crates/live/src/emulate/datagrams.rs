//! Sends and receives several UDP datagrams of one flow per system call (`UDP_GRO`, `UDP_SEGMENT`; udp(7)).

use nix::cmsg_space;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt, sockopt,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;

/// Largest datagram and largest batch of datagrams, in bytes.
const MOST: usize = 65_535;
/// Largest number of datagrams per call (`UDP_MAX_SEGMENTS` of Linux).
const MOST_TOGETHER: usize = 64;

/// Requested size of the receive buffer in bytes: 16 ms of data at 1 Gbit/s.
const WAITING: usize = 2 << 20;

/// Enables batches if the kernel supports them, and enlarges the receive buffer.
pub(super) fn together(socket: &UdpSocket) {
    // Kernels before Linux 5.0 lack UDP_GRO and deliver datagrams one by one.
    let _ = setsockopt(socket, sockopt::UdpGroSegment, &true);
    let _ = setsockopt(socket, sockopt::RcvBuf, &WAITING);
}

/// Forwards datagrams from one socket to another.
#[derive(Debug)]
pub(super) struct Carrier {
    octets: Vec<u8>,
    control: Vec<u8>,
}

/// Datagrams that one call received.
#[derive(Debug)]
pub(super) struct Came<'a> {
    pub from: Option<SocketAddr>,
    octets: &'a [u8],
    /// Size in bytes of each datagram except the last, which may be shorter.
    size: usize,
}

impl Carrier {
    pub fn new() -> Carrier {
        Carrier { octets: vec![0; MOST], control: cmsg_space!(i32) }
    }

    /// Receives several datagrams of one sender. Fails if no datagram is waiting, or if the peer rejected an earlier
    /// datagram (ICMP port unreachable).
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<Came<'_>> {
        let (len, size, from) = {
            let mut into = [IoSliceMut::new(&mut self.octets)];
            let (control, flags) = (Some(self.control.as_mut_slice()), MsgFlags::MSG_DONTWAIT);
            let came = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut into, control, flags)?;
            let size = came.cmsgs()?.find_map(|message| match message {
                ControlMessageOwned::UdpGroSegments(size) => usize::try_from(size).ok(),
                _ => None,
            });
            (came.bytes, size, came.address.as_ref().and_then(address))
        };
        // Without a UDP_GRO control message, the call returned a single datagram.
        Ok(Came { from, octets: &self.octets[..len], size: size.filter(|size| *size > 0).unwrap_or(len) })
    }
}

impl Came<'_> {
    /// Sends the datagrams to `to`, or to the peer of a connected socket. Datagrams that the kernel rejects are
    /// dropped.
    pub fn send_on(&self, socket: &UdpSocket, to: Option<SocketAddr>) {
        let to = to.map(SockaddrStorage::from);
        let send = |octets: &[u8], size: Option<&u16>| {
            let control: Vec<ControlMessage<'_>> = size.map(ControlMessage::UdpGsoSegments).into_iter().collect();
            sendmsg(socket.as_raw_fd(), &[IoSlice::new(octets)], &control, MsgFlags::MSG_DONTWAIT, to.as_ref())
        };
        if self.octets.is_empty() {
            // `chunks` would skip an empty datagram, which UDP permits.
            let _ = send(&[], None);
            return;
        }
        for row in self.octets.chunks(self.size * MOST_TOGETHER) {
            let together = u16::try_from(self.size).ok().filter(|_| row.len() > self.size);
            // The kernel rejects a batch if its datagrams exceed the MTU. In this case, send each datagram separately,
            // and the kernel fragments it.
            if together.is_some_and(|size| send(row, Some(&size)).is_ok()) {
                continue;
            }
            for datagram in row.chunks(self.size) {
                let _ = send(datagram, None);
            }
        }
    }
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|address| SocketAddr::V4(SocketAddrV4::from(*address)));
    v4.or_else(|| storage.as_sockaddr_in6().map(|address| SocketAddr::V6(SocketAddrV6::from(*address))))
}
