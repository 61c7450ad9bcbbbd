//! One room: a network namespace with a TUN device and nothing else, and what the processes about it tell each other.

use crate::linux::{Channel, Netlink, Reach, Tun};
use nix::sched::{CloneFlags, unshare};
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

/// The far end of the line as the command sees it; there it reaches the services of this machine.
pub(crate) const GATEWAY: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
pub(crate) const GATEWAY_V6: Ipv6Addr = Ipv6Addr::new(0xfd6c, 0x6f70, 0, 0, 0, 0, 0, 1);
/// The command's own addresses.
pub(crate) const INSIDE: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 2);
pub(crate) const INSIDE_V6: Ipv6Addr = Ipv6Addr::new(0xfd6c, 0x6f70, 0, 0, 0, 0, 0, 2);

/// The device's name in either room.
pub(super) const DEVICE: &str = "line0";

/// What runs in the inner room.
#[derive(Clone, Debug)]
pub(crate) struct Inside {
    pub command: Vec<OsString>,
    pub mtu: u32,
    /// To be seen in the place of /etc/resolv.conf, and then removed.
    pub resolv_conf: Option<PathBuf>,
}

/// What went wrong as the rooms were made, and at which step.
#[derive(Debug)]
pub struct SetUpError {
    pub step: String,
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

/// What messages begin with.
pub(super) const DONE: u8 = b'+';
pub(super) const FAILED: u8 = b'-';
/// Tells the parent what went wrong.
pub(super) fn tell(channel: &Channel, error: &SetUpError) {
    let mut message = vec![FAILED];
    message.extend(format!("{}\n{}", error.step, error.cause).into_bytes());
    message.truncate(1000);
    let _ = channel.send(&message, None);
}

pub(super) fn inner_room(mtu: u32) -> Result<Tun, SetUpError> {
    let tun = room(mtu)?;
    let netlink = step("open netlink", Netlink::open())?;
    step("give an address", netlink.add_address(DEVICE, INSIDE.into()))?;
    step("lead out", netlink.add_route(DEVICE, IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0, Reach::Behind))?;
    if netlink.add_address(DEVICE, INSIDE_V6.into()).is_ok() {
        let _ = netlink.add_route(DEVICE, IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0, Reach::Behind);
    }
    // Whoever is inside may ping without being root.
    if !set("ipv4/ping_group_range", "0 2147483647") {
        let group = nix::unistd::getegid();
        set("ipv4/ping_group_range", &format!("{group} {group}"));
    }
    set("ipv4/ip_unprivileged_port_start", "0");
    Ok(tun)
}

/// A network namespace with the device and nothing else.
pub(super) fn room(mtu: u32) -> Result<Tun, SetUpError> {
    step("make a network namespace", unshare(CloneFlags::CLONE_NEWNET))?;
    // No packets but those of the users.
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
    let tun = step("make a TUN device (/dev/net/tun)", Tun::create(DEVICE))?;
    let netlink = step("open netlink", Netlink::open())?;
    step("bring up the loopback device", netlink.bring_up("lo", None))?;
    step("bring up the TUN device", netlink.bring_up(DEVICE, Some(mtu)))?;
    Ok(tun)
}

/// Changes a setting of this network namespace. False if it cannot be, as where /proc is read-only: then it stays as
/// Linux has it.
pub(super) fn set(what: &str, value: &str) -> bool {
    std::fs::write(format!("/proc/sys/net/{what}"), value).is_ok()
}
