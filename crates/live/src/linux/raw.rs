//! Raw sockets that take whole packets of IP, whoever's addresses are in them.

use lopsided_core::wire;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, sendto, setsockopt, socket, sockopt,
};
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// Octets that may be on their way out of a socket.
const BUFFER: usize = 4 << 20;

/// The way out for packets that no socket of the kernel made. They take its routes and pass its filters and queues.
#[derive(Debug)]
pub(crate) struct RawOut {
    v4: OwnedFd,
    /// A kernel without IPv6 has none.
    v6: Option<OwnedFd>,
}

impl RawOut {
    /// Packets bear the mark inside of the kernel, and leave by the interface, where one is given. It takes root.
    pub fn open(mark: Option<u32>, interface: Option<&str>) -> io::Result<RawOut> {
        let open = |family| -> io::Result<OwnedFd> {
            let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
            let raw = socket(family, SockType::Raw, flags, SockProtocol::Raw)?;
            // What waited for this process goes out at once; who may not have more room for it has the usual one.
            let _ = setsockopt(&raw, sockopt::SndBufForce, &BUFFER);
            if let Some(mark) = mark {
                setsockopt(&raw, sockopt::Mark, &mark)?;
            }
            if let Some(interface) = interface {
                setsockopt(&raw, sockopt::BindToDevice, &OsString::from(interface))?;
            }
            Ok(raw)
        };
        Ok(RawOut { v4: open(AddressFamily::Inet)?, v6: open(AddressFamily::Inet6).ok() })
    }

    /// False: the kernel did not take it.
    pub fn send(&self, packet: &[u8]) -> bool {
        let Ok(parsed) = wire::read_foreign(lopsided_core::FlowId(0), packet) else { return false };
        let destination = parsed.ip().addresses.dst();
        let raw = if destination.is_ipv4() { Some(&self.v4) } else { self.v6.as_ref() };
        // The port of a raw socket's address means nothing.
        let to = SockaddrStorage::from(SocketAddr::new(destination, 0));
        raw.is_some_and(|raw| sendto(raw.as_raw_fd(), packet, &to, MsgFlags::empty()).is_ok())
    }
}
