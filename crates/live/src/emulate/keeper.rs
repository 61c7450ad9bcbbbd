//! The keeper: a process in the outer namespace that opens sockets in this namespace on request.

use crate::linux::Channel;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, listen, setsockopt, socket, sockopt,
};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Transport protocol of a requested socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

/// Length of the accept queue of a listening socket.
const BACKLOG: i32 = 1024;

/// Answers requests until the other end closes the channel.
pub(super) fn serve(channel: &Channel) {
    while let Ok(Some((message, _))) = channel.receive() {
        let made = request(&message).and_then(|(protocol, address)| make(protocol, address));
        let reply = match &made {
            Ok(socket) => channel.send(b"+", Some(socket.as_fd())),
            Err(error) => channel.send(format!("-{error}").as_bytes(), None),
        };
        if reply.is_err() {
            return;
        }
    }
}

/// Requests a socket in the outer namespace that is bound to this address.
pub(super) fn ask(channel: &Channel, protocol: Protocol, address: SocketAddr) -> io::Result<OwnedFd> {
    let name = if protocol == Protocol::Tcp { "tcp" } else { "udp" };
    channel.send(format!("{name} {address}").as_bytes(), None)?;
    match channel.receive()? {
        Some((_, Some(socket))) => Ok(socket),
        Some((message, None)) => Err(io::Error::other(String::from_utf8_lossy(&message[1..]).into_owned())),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn request(message: &[u8]) -> io::Result<(Protocol, SocketAddr)> {
    let text = std::str::from_utf8(message).map_err(io::Error::other)?;
    let (name, address) = text.split_once(' ').ok_or(io::ErrorKind::InvalidInput)?;
    let protocol = if name == "tcp" { Protocol::Tcp } else { Protocol::Udp };
    Ok((protocol, address.parse().map_err(io::Error::other)?))
}

fn make(protocol: Protocol, address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let kind = if protocol == Protocol::Tcp { SockType::Stream } else { SockType::Datagram };
    let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)?;
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    if address.is_ipv4() {
        // The address belongs to a remote host; IP_FREEBIND permits binding to this address.
        setsockopt(&socket, sockopt::IpFreebind, &true)?;
    } else {
        // A separate socket serves IPv4 on the same port. IPv6 does not need IP_FREEBIND, because `ip_nonlocal_bind` is
        // set.
        setsockopt(&socket, sockopt::Ipv6V6Only, &true)?;
    }
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
    if protocol == Protocol::Tcp {
        listen(&socket, Backlog::new(BACKLOG)?)?;
    }
    Ok(socket)
}
