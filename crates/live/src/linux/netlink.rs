//! Sets addresses, routes and interfaces over rtnetlink(7), in the network namespace of the thread that opened the
//! socket.

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;

const REQUEST: u16 = 0x1;
const ACKNOWLEDGE: u16 = 0x4;
const CREATE: u16 = 0x400;

const IS_UP: u32 = 0x1;
const LINK_MTU: u16 = 4;
const ADDRESS: u16 = 1;
const LOCAL_ADDRESS: u16 = 2;
const ADDRESS_FLAGS: u16 = 8;
/// IFA_F_NODAD: disables duplicate address detection, because the interface has no neighbours.
const NO_DUPLICATE_DETECTION: u32 = 0x2;
const ROUTE_DESTINATION: u16 = 1;
const ROUTE_INTERFACE: u16 = 4;

const LOCAL_TABLE: u8 = 255;
const MAIN_TABLE: u8 = 254;
const UNICAST: u8 = 1;
const LOCAL: u8 = 2;
const BOOT: u8 = 3;
const OF_LINK: u8 = 253;
const OF_HOST: u8 = 254;

/// The hosts that a route leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Hosts behind the interface.
    Behind,
    /// Hosts behind the interface; the route takes precedence over local addresses.
    BehindFirst,
    /// This host, as if it owned the addresses.
    Here,
}

#[derive(Debug)]
pub(crate) struct Netlink(OwnedFd);

impl Netlink {
    pub fn open() -> io::Result<Netlink> {
        let kind = SockType::Raw;
        Ok(Netlink(socket(AddressFamily::Netlink, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?))
    }

    pub fn bring_up(&self, interface: &str, mtu: Option<u32>) -> io::Result<()> {
        let mut body = vec![0; 16];
        body[4..8].copy_from_slice(&index(interface)?.to_ne_bytes());
        // struct ifinfomsg: the new flags, then the mask of the flags to change.
        body[8..12].copy_from_slice(&IS_UP.to_ne_bytes());
        body[12..16].copy_from_slice(&IS_UP.to_ne_bytes());
        if let Some(mtu) = mtu {
            attribute(&mut body, LINK_MTU, &mtu.to_ne_bytes());
        }
        self.ask(NEW_LINK, 0, &body)
    }

    /// Adds an address to an interface that has no neighbours.
    pub fn add_address(&self, interface: &str, address: IpAddr) -> io::Result<()> {
        let (family, octets) = parts(address);
        let mut body = vec![family, 8 * octets.len() as u8, 0, 0];
        body.extend_from_slice(&index(interface)?.to_ne_bytes());
        attribute(&mut body, LOCAL_ADDRESS, &octets);
        attribute(&mut body, ADDRESS, &octets);
        attribute(&mut body, ADDRESS_FLAGS, &NO_DUPLICATE_DETECTION.to_ne_bytes());
        self.ask(NEW_ADDRESS, CREATE, &body)
    }

    /// Adds a route to all addresses that share the first `bits` bits with `destination`.
    pub fn add_route(&self, interface: &str, destination: IpAddr, bits: u8, reach: Reach) -> io::Result<()> {
        let (family, octets) = parts(destination);
        let (table, scope, kind) = match reach {
            Reach::Behind => (MAIN_TABLE, OF_LINK, UNICAST),
            Reach::BehindFirst => (LOCAL_TABLE, OF_LINK, UNICAST),
            Reach::Here => (LOCAL_TABLE, OF_HOST, LOCAL),
        };
        let mut body = vec![family, bits, 0, 0, table, BOOT, scope, kind, 0, 0, 0, 0];
        if bits > 0 {
            attribute(&mut body, ROUTE_DESTINATION, &octets);
        }
        attribute(&mut body, ROUTE_INTERFACE, &index(interface)?.to_ne_bytes());
        self.ask(NEW_ROUTE, CREATE, &body)
    }

    /// Sends a request and waits for the kernel's acknowledgement.
    fn ask(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let mut message = Vec::with_capacity(16 + body.len());
        message.extend_from_slice(&(16 + body.len() as u32).to_ne_bytes());
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&(REQUEST | ACKNOWLEDGE | flags).to_ne_bytes());
        message.extend_from_slice(&[0; 8]);
        message.extend_from_slice(body);
        send(self.0.as_raw_fd(), &message, MsgFlags::empty())?;
        let mut answer = [0; 1024];
        let len = recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        // struct nlmsgerr follows the 16-byte header: 0 for success, or a negative errno.
        let error_code = answer[..len].get(16..20).and_then(|octets| octets.try_into().ok()).map(i32::from_ne_bytes);
        match error_code {
            Some(0) => Ok(()),
            Some(error) => Err(Errno::from_raw(-error).into()),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

fn index(interface: &str) -> io::Result<u32> {
    Ok(nix::net::if_::if_nametoindex(interface)?)
}

fn parts(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (AddressFamily::Inet as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (AddressFamily::Inet6 as u8, address.octets().to_vec()),
    }
}

/// Appends an attribute: length, type and value, padded to 4 bytes.
fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
    body.extend_from_slice(&kind.to_ne_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}
