//! Raw sockets that send complete IP packets with any source address.

use lopsided_core::wire;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, sendto, setsockopt, socket, sockopt,
};
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// Size of a socket's send buffer in bytes.
const BUFFER: usize = 4 << 20;

/// Sends packets through the kernel's routes, filters and queues.
#[derive(Debug)]
pub(crate) struct RawOut {
    v4: OwnedFd,
    /// `None` if the kernel has no IPv6.
    v6: Option<OwnedFd>,
}

impl RawOut {
    /// Opens the sockets. Packets get the firewall mark `mark` and leave through `interface`, if these are given. Needs
    /// root.
    pub fn open(mark: Option<u32>, interface: Option<&str>) -> io::Result<RawOut> {
        let open = |family| -> io::Result<OwnedFd> {
            let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
            let raw = socket(family, SockType::Raw, flags, SockProtocol::Raw)?;
            // Packets that this process delayed leave in bursts, and the buffer must be large enough for a burst.
            // Without the privilege the buffer keeps its default size.
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

    /// Sends a packet. Returns false if the kernel rejects the packet.
    pub fn send(&self, packet: &[u8]) -> bool {
        let Ok(parsed) = wire::read_foreign(lopsided_core::FlowId(0), packet) else { return false };
        let destination = parsed.ip().addresses.dst();
        let raw = if destination.is_ipv4() { Some(&self.v4) } else { self.v6.as_ref() };
        // raw(7): the kernel ignores the port of the address.
        let to = SockaddrStorage::from(SocketAddr::new(destination, 0));
        raw.is_some_and(|raw| sendto(raw.as_raw_fd(), packet, &to, MsgFlags::empty()).is_ok())
    }
}
