//! Reserves ports of this machine's own address for lopsided's TCP.
//!
//! An NFQUEUE rule diverts packets that arrive for these ports. Packets leave through a raw socket and pass the
//! kernel's routes, filters and queues. Idle bound sockets prevent other programs from using the ports. All of this
//! needs root. If this process is killed, another process removes the rule, and the kernel resets the connections.

use super::Device;
use crate::linux::{NfQueue, RawOut, Verdict};
use crate::shape::keeper::Keeper;
use crate::shape::rules::Rules;
use lopsided_core::wire;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, getsockopt, setsockopt, socket, sockopt,
};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Range of port numbers that is searched for free ports.
const SEARCHED: RangeInclusive<u16> = 20_000..=31_000;

/// Largest MTU in bytes, limited by the message size of NFQUEUE. The loopback device would permit more.
const MOST_MTU: u32 = 65_500;

/// Ports of one address at which lopsided's TCP replaces the kernel's TCP.
#[derive(Debug)]
pub struct OwnPorts {
    address: IpAddr,
    ports: RangeInclusive<u16>,
    /// Removes the rule when this process ends or drops the ports. This field is dropped first, so that the rule is
    /// removed before its queue.
    _keeper: Keeper,
    queue: NfQueue,
    raw: RawOut,
    /// Bound sockets that keep other programs from using the ports.
    _bound: Vec<OwnedFd>,
}

impl OwnPorts {
    /// Takes `count` consecutive free ports from the kernel.
    ///
    /// # Errors
    /// Returns an error if there are not enough consecutive free ports, or if this process may not take them.
    pub fn reserve(address: IpAddr, count: u16) -> io::Result<OwnPorts> {
        let count = count.max(1);
        // Start at a port that depends on the process ID, so that concurrent processes rarely collide.
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

    /// Takes these ports from the kernel.
    ///
    /// # Errors
    /// Returns `AddrInUse` if a program uses one of the ports, `PermissionDenied` without root, or the error of the
    /// tools that set rules.
    pub fn take(address: IpAddr, ports: RangeInclusive<u16>) -> io::Result<OwnPorts> {
        let raw = RawOut::open(None, None)?;
        let mut bound = Vec::new();
        for port in ports.clone() {
            bound.push(hold(SocketAddr::new(address, port))?);
        }
        let rules = Rules::of_ports(address, &ports);
        // The keeper inherits the bound sockets, so that no other program can take a port whose rule still exists. The
        // keeper must not inherit the queue, because the kernel lets packets pass only if no process has the queue
        // open.
        let keeper = Keeper::start(rules.clone())?;
        // A full queue must drop packets. A dropped packet is retransmitted. A packet that passes would reach the
        // kernel's TCP, and the kernel would reset the connection.
        let queue = NfQueue::bind(rules.queue(), false)?;
        keeper.set().map_err(io::Error::other)?;
        Ok(OwnPorts { address, ports, _keeper: keeper, queue, raw, _bound: bound })
    }

    /// Returns the reserved ports.
    pub fn ports(&self) -> RangeInclusive<u16> {
        self.ports.clone()
    }

    /// Returns true if the packet is a TCP packet to one of the ports. The kernel reassembles fragments before it
    /// queues a packet.
    fn is_ours(&self, octets: &[u8]) -> bool {
        let Ok(packet) = wire::parse_captured(octets) else { return false };
        let port = packet.tcp().map(|header| header.dst_port);
        packet.dst() == self.address && port.is_some_and(|port| self.ports.contains(&port))
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
        // A packet that the kernel rejects counts as lost in the network.
        let _ = self.raw.send(packet);
        Ok(())
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

/// Binds a socket to the port in order to reserve it.
fn hold(port: SocketAddr) -> io::Result<OwnedFd> {
    let family = if port.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let holder = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    let address = SockaddrStorage::from(port);
    if bind(holder.as_raw_fd(), &address).is_err() {
        // Retry with SO_REUSEADDR, because the port may only be in TIME-WAIT. The first attempt omits SO_REUSEADDR:
        // otherwise another program that sets it could share the port.
        setsockopt(&holder, sockopt::ReuseAddr, &true)?;
        bind(holder.as_raw_fd(), &address)?;
    }
    Ok(holder)
}

/// Returns the source address of packets to `peer`, and the path MTU in bytes: the kernel's value for IPv4, and 1,280
/// for IPv6.
///
/// # Errors
/// Returns an error if there is no route to `peer`.
pub fn way_to(peer: IpAddr) -> io::Result<(IpAddr, u32)> {
    let any: SocketAddr = if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    // Connecting a UDP socket sends no packet; the kernel only looks up the route.
    socket.connect((peer, 9))?;
    let mtu = if peer.is_ipv4() { getsockopt(&socket, sockopt::IpMtu).ok() } else { None };
    // RFC 8200, section 5: every IPv6 link carries at least 1,280 bytes.
    let mtu = mtu.and_then(|mtu| u32::try_from(mtu).ok()).unwrap_or(1280).min(MOST_MTU);
    Ok((socket.local_addr()?.ip(), mtu))
}
