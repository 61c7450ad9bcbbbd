//! Ports of this machine's own address, taken from its kernel for a while: the way of our TCP to any network that the
//! machine reaches.
//!
//! A rule hands over what arrives for them (NFQUEUE), before the kernel's TCP sees it; what is sent goes out by a raw
//! socket, as the kernel's own packets do, through the same routes, filters and queues. Sockets that are bound and
//! nothing else keep other programs off the ports. It takes root. Killed, the process leaves the rule, which then lets
//! packets pass: the kernel resets the connections.

use super::Device;
use crate::linux::{NfQueue, RawOut, Verdict};
use crate::shape::rules::Rules;
use lopsided_core::wire;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, getsockopt, setsockopt, socket, sockopt,
};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Where searches for free ports begin, and end.
const SEARCHED: RangeInclusive<u16> = 20_000..=31_000;

/// What fits a message of the kernel's queue. The loopback device takes more.
const MOST_MTU: u32 = 65_500;

/// Ports of an address that are ours.
#[derive(Debug)]
pub struct OwnPorts {
    address: IpAddr,
    ports: RangeInclusive<u16>,
    queue: NfQueue,
    raw: RawOut,
    rules: Rules,
    /// Hold the ports.
    _bound: Vec<OwnedFd>,
}

impl OwnPorts {
    /// So many free ports in a row.
    ///
    /// # Errors
    /// If there are none, or this process may not take them.
    pub fn reserve(address: IpAddr, count: u16) -> io::Result<OwnPorts> {
        let count = count.max(1);
        // Whoever else does the same begins elsewhere.
        let room = SEARCHED.end() - SEARCHED.start() - count;
        let begin = (std::process::id() % u32::from(room)) as u16;
        let mut last = io::Error::from(io::ErrorKind::AddrInUse);
        for tried in 0..64u16 {
            let first = SEARCHED.start() + (u32::from(begin) + u32::from(tried) * u32::from(count)) as u16 % room;
            match OwnPorts::take(address, first..=first + count - 1) {
                Ok(ports) => return Ok(ports),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// These ports.
    ///
    /// # Errors
    /// `AddrInUse` if a program has one of them, `PermissionDenied` without root, or as the tools say that set rules.
    pub fn take(address: IpAddr, ports: RangeInclusive<u16>) -> io::Result<OwnPorts> {
        let raw = RawOut::open(None, None)?;
        let mut bound = Vec::new();
        for port in ports.clone() {
            bound.push(hold(SocketAddr::new(address, port))?);
        }
        let rules = Rules::of_ports(address, &ports);
        // What we lose is sent again; what passed us by, the kernel would reset.
        let queue = NfQueue::bind(rules.queue(), false)?;
        rules.add().map_err(io::Error::other)?;
        Ok(OwnPorts { address, ports, queue, raw, rules, _bound: bound })
    }

    /// The ports, from the first to the last.
    pub fn ports(&self) -> RangeInclusive<u16> {
        self.ports.clone()
    }

    /// Whether it is TCP for one of the ports, and no fragment: these the kernel gives us whole.
    fn is_ours(&self, octets: &[u8]) -> bool {
        let Ok(packet) = wire::parse_captured(octets) else { return false };
        let port = packet.tcp().map(|header| header.dst_port);
        packet.dst() == self.address && port.is_some_and(|port| self.ports.contains(&port))
    }
}

impl Drop for OwnPorts {
    fn drop(&mut self) {
        let _ = self.rules.remove();
    }
}

impl Device for OwnPorts {
    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<bool> {
        while let Some(number) = self.queue.receive(packet)? {
            let ours = self.is_ours(packet);
            self.queue.verdict(number, if ours { Verdict::Drop } else { Verdict::Accept }, None)?;
            if ours {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        // One that the kernel does not take is lost, as on any way.
        let _ = self.raw.send(packet);
        Ok(())
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

/// A socket that holds the port and does nothing else.
fn hold(port: SocketAddr) -> io::Result<OwnedFd> {
    let family = if port.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let holder = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    let address = SockaddrStorage::from(port);
    if bind(holder.as_raw_fd(), &address).is_err() {
        // The kernel may only remember connections that are over. Another program could do the same, so this comes
        // second.
        setsockopt(&holder, sockopt::ReuseAddr, &true)?;
        bind(holder.as_raw_fd(), &address)?;
    }
    Ok(holder)
}

/// The own address that packets for this one are sent from, and the largest packet that the way takes, as far as the
/// kernel knows.
///
/// # Errors
/// If there is no way there.
pub fn way_to(peer: IpAddr) -> io::Result<(IpAddr, u32)> {
    let any: SocketAddr = if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    // Nothing is sent: the kernel looks for the way.
    socket.connect((peer, 9))?;
    let mtu = if peer.is_ipv4() { getsockopt(&socket, sockopt::IpMtu).ok() } else { None };
    // IPv6 promises so much (RFC 8200 section 5).
    let mtu = mtu.and_then(|mtu| u32::try_from(mtu).ok()).unwrap_or(1280).min(MOST_MTU);
    Ok((socket.local_addr()?.ip(), mtu))
}
