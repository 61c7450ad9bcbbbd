//! The network namespace on one side of the link (a "room"), and the messages between the processes that set it up.

use crate::linux::{Channel, Netlink, Reach, Tun};
use nix::sched::{CloneFlags, unshare};
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

/// Address of the far end of the link. At this address, the command reaches this machine's services.
pub(crate) const GATEWAY: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
pub(crate) const GATEWAY_V6: Ipv6Addr = Ipv6Addr::new(0xfd6c, 0x6f70, 0, 0, 0, 0, 0, 1);
/// Address of the command's end of the link.
pub(crate) const INSIDE: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 2);
pub(crate) const INSIDE_V6: Ipv6Addr = Ipv6Addr::new(0xfd6c, 0x6f70, 0, 0, 0, 0, 0, 2);

/// Name of the TUN device in both namespaces.
pub(super) const DEVICE: &str = "line0";

/// The contents of the inner namespace.
#[derive(Clone, Debug)]
pub(crate) struct Inside {
    pub command: Vec<OsString>,
    pub addresses: (Ipv4Addr, Ipv6Addr),
    /// True if the command is a server. Its open port is then reported, and its standard input is empty.
    pub serves: bool,
    pub mtu: u32,
    /// A file to mount over /etc/resolv.conf. The file is deleted after the mount.
    pub resolv_conf: Option<PathBuf>,
}

/// An error during the setup of the namespaces.
#[derive(Debug)]
pub struct SetUpError {
    /// The failed step, as an infinitive ("open the TUN device").
    pub step: String,
    /// The cause of the failure.
    pub cause: String,
}

impl std::fmt::Display for SetUpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot {}: {}", self.step, self.cause)
    }
}

impl std::error::Error for SetUpError {}

pub(super) fn step<T>(step: &str, done: Result<T, impl std::fmt::Display>) -> Result<T, SetUpError> {
    done.map_err(|error| SetUpError { step: step.to_owned(), cause: error.to_string() })
}

/// First byte of a message that reports success.
pub(super) const DONE: u8 = b'+';
/// First byte of a message that reports an error.
pub(super) const FAILED: u8 = b'-';
/// Reports an error to the parent process.
pub(super) fn tell(channel: &Channel, error: &SetUpError) {
    let mut message = vec![FAILED];
    message.extend(format!("{}\n{}", error.step, error.cause).into_bytes());
    // A message must fit into one packet of the channel.
    message.truncate(1000);
    let _ = channel.send(&message, None);
}

pub(super) fn inner_room(mtu: u32, (v4, v6): (Ipv4Addr, Ipv6Addr)) -> Result<Tun, SetUpError> {
    let tun = room(mtu)?;
    let netlink = step("open netlink", Netlink::open())?;
    step("give an address", netlink.add_address(DEVICE, v4.into()))?;
    step("lead out", netlink.add_route(DEVICE, IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0, Reach::Behind))?;
    if netlink.add_address(DEVICE, v6.into()).is_ok() {
        let _ = netlink.add_route(DEVICE, IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0, Reach::Behind);
    }
    // Permit the command to ping without root.
    if !set("ipv4/ping_group_range", "0 2147483647") {
        let group = nix::unistd::getegid();
        set("ipv4/ping_group_range", &format!("{group} {group}"));
    }
    set("ipv4/ip_unprivileged_port_start", "0");
    Ok(tun)
}

/// Creates a network namespace with a TUN device as its only interface.
pub(super) fn room(mtu: u32) -> Result<Tun, SetUpError> {
    step("create a network namespace", unshare(CloneFlags::CLONE_NEWNET))?;
    // Suppress packets that the kernel would send on its own, such as router solicitations.
    for (what, value) in [
        ("addr_gen_mode", "1"),
        ("accept_ra", "0"),
        ("autoconf", "0"),
        ("router_solicitations", "0"),
        ("accept_dad", "0"),
    ] {
        set(&format!("ipv6/conf/default/{what}"), value);
    }
    set("ipv4/conf/all/rp_filter", "0");
    set("ipv4/conf/default/rp_filter", "0");
    let tun = step("create a TUN device (/dev/net/tun)", Tun::create(DEVICE))?;
    let netlink = step("open netlink", Netlink::open())?;
    step("bring up the loopback device", netlink.bring_up("lo", None))?;
    step("bring up the TUN device", netlink.bring_up(DEVICE, Some(mtu)))?;
    Ok(tun)
}

/// Changes a setting of this network namespace. Returns false if that fails, for example because /proc is read-only.
pub(super) fn set(what: &str, value: &str) -> bool {
    std::fs::write(format!("/proc/sys/net/{what}"), value).is_ok()
}
