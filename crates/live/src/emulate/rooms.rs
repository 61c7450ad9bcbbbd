//! The two network namespaces ("rooms") on either side of an emulated link.
//!
//! The command runs in the **inner** namespace, whose only interface is a TUN device. The **outer** namespace
//! represents the rest of the network. Its kernel answers for every address, and a process in it opens sockets for the
//! [gateway](super::gateway). Creating the namespaces needs a user namespace, or root.
//!
//! If a server represents the network, it runs in a namespace like the inner namespace, with the gateway's address and
//! its own keeper and init. There is then no gateway.
//!
//! ```text
//! this process   pump, gateway, meter: no privilege, the machine's own network
//!   keeper       in the outer namespace: opens sockets
//!     init       in the inner namespace, process 1 of its PID namespace: starts the command, waits for it
//!       command
//! ```
//!
//! Each process exits when its parent exits, and init ends all processes of the command. The kernel then removes the
//! namespaces and devices.

use super::inside::EXITED;
use super::room::{DEVICE, DONE, FAILED, INSIDE, INSIDE_V6, Inside, SetUpError, room, set, step, tell};
use super::{inside, keeper};
use crate::linux::{Channel, Netlink, Reach, Side, Tun, finish, fork};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::unistd::{Pid, geteuid};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, OwnedFd};

/// The namespaces at both ends of the link: their TUN devices, and the channels to their processes.
#[derive(Debug)]
pub(crate) struct Rooms {
    /// The namespace of the command.
    pub near: Room,
    pub far: Far,
}

/// The namespace at the far end.
#[derive(Debug)]
pub(crate) enum Far {
    /// The outer namespace, represented by its TUN device.
    Network(Tun),
    /// The namespace of a server.
    Server(Room),
}

/// A namespace in which a command runs.
#[derive(Debug)]
pub(crate) struct Room {
    pub tun: Tun,
    pub keeper: Channel,
    /// Channel to init: reports of the command's end, and signals for the command.
    pub init: Channel,
    /// Process ID of the keeper.
    pub pid: Pid,
}

/// First byte of a message in which the keeper requests the ID maps of its user namespace.
const NAME_USERS: u8 = b'u';

impl Rooms {
    /// Creates both namespaces. The command does not start before [`Rooms::start`]. Without a server, an outer
    /// namespace represents the network.
    pub fn make(inside: &Inside, server: Option<&Inside>) -> Result<Rooms, SetUpError> {
        let (near, outer) = Room::make(inside, server.is_none(), || ())?;
        if let Some(outer) = outer {
            return Ok(Rooms { near, far: Far::Network(outer) });
        }
        let mut near = Some(near);
        // The server's processes must not inherit the channels of the other namespace. Otherwise a channel would stay
        // open after the process at its other end has died.
        let far = server.map(|server| Room::make(server, false, || drop(near.take()))).transpose();
        match (far, near) {
            (Ok(Some((far, _))), Some(near)) => Ok(Rooms { near, far: Far::Server(far) }),
            (Err(error), Some(near)) => {
                near.end();
                Err(error)
            }
            _ => unreachable!("without an outer namespace there is a server, and this process keeps its own channels"),
        }
    }

    /// Starts the server, if there is a server, waits until it opens a port, and starts the command.
    pub fn start(&self) -> Result<(), SetUpError> {
        if let Far::Server(server) = &self.far {
            step(inside::START_SERVER, server.init.send(&[DONE], None))?;
            if let [EXITED, code] = answer(&server.init)?.0[..] {
                let cause = format!("it ended with exit code {code} before it opened a port");
                return Err(SetUpError { step: inside::START_SERVER.to_owned(), cause });
            }
        }
        step("start the command", self.near.init.send(&[DONE], None))
    }

    /// Ends all processes in the namespaces.
    pub fn end(self) {
        if let Far::Server(server) = self.far {
            server.end();
        }
        self.near.end();
    }
}

impl Room {
    /// Creates a namespace for a command. If `leads_out` is true, also creates the outer namespace. `forget` closes
    /// descriptors in the new process.
    fn make(inside: &Inside, leads_out: bool, forget: impl FnOnce()) -> Result<(Room, Option<Tun>), SetUpError> {
        let (keeper, keeper_end) = step("make a channel", Channel::pair())?;
        let (init, init_end) = step("make a channel", Channel::pair())?;
        let pid = match step("start a process", fork())? {
            Side::Child => {
                drop((keeper, init));
                forget();
                finish(|| keep(keeper_end, init_end, inside, leads_out));
            }
            Side::Parent(pid) => pid,
        };
        // Close the children's ends in this process, so that the death of a child closes its channel.
        drop((keeper_end, init_end));
        let rooms = (|| {
            if answer(&keeper)?.0.first() == Some(&NAME_USERS) {
                name_users(pid)?;
            }
            step("go on", keeper.send(&[DONE], None))?;
            let outer = leads_out.then(|| device(answer(&keeper)?)).transpose()?;
            Ok((outer, device(answer(&init)?)?))
        })();
        match rooms {
            Ok((outer, tun)) => Ok((Room { tun, keeper, init, pid }, outer)),
            Err(error) => {
                drop((keeper, init));
                let _ = nix::sys::wait::waitpid(pid, None);
                Err(error)
            }
        }
    }

    /// Ends the command and all processes that it started.
    pub fn end(self) {
        let Room { tun, keeper, init, pid } = self;
        // The processes in the namespace exit when the other ends of their channels are closed.
        drop((tun, keeper, init));
        let _ = nix::sys::wait::waitpid(pid, None);
    }
}

/// Receives the next message of a child process. Returns an error if the message reports one.
fn answer(channel: &Channel) -> Result<(Vec<u8>, Option<OwnedFd>), SetUpError> {
    let lost = || SetUpError {
        step: "create the namespaces".to_owned(),
        cause: "a process ended without an error message".to_owned(),
    };
    let (message, descriptor) = step("receive from a child process", channel.receive())?.ok_or_else(lost)?;
    match message.split_first() {
        Some((&FAILED, failure)) => {
            let failure = String::from_utf8_lossy(failure).into_owned();
            let (step, cause) = failure.split_once('\n').unwrap_or((&failure, ""));
            Err(SetUpError { step: step.to_owned(), cause: cause.to_owned() })
        }
        _ => Ok((message, descriptor)),
    }
}

fn device((_, descriptor): (Vec<u8>, Option<OwnedFd>)) -> Result<Tun, SetUpError> {
    let none = || SetUpError { step: "receive a device".to_owned(), cause: "the message contained none".to_owned() };
    descriptor.map(Tun::from).ok_or_else(none)
}

/// Writes the ID maps of a user namespace: all users and groups, or only the current user.
fn name_users(pid: Pid) -> Result<(), SetUpError> {
    let write = |file: &str, text: &str| std::fs::write(format!("/proc/{pid}/{file}"), text);
    let all = |file: &str| -> io::Result<String> {
        let own = std::fs::read_to_string(format!("/proc/self/{file}"))?;
        // Each line contains the first ID inside, the first ID outside, and the length of the range.
        let fields = own.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        Ok(fields.filter(|line| line.len() == 3).map(|line| format!("{0} {0} {1}\n", line[0], line[2])).collect())
    };
    if geteuid().is_root() && all("uid_map").and_then(|map| write("uid_map", &map)).is_ok() {
        return step("map the groups of a user namespace", all("gid_map").and_then(|map| write("gid_map", &map)));
    }
    // user_namespaces(7): an unprivileged process must deny setgroups before it writes gid_map.
    let (user, group) = (geteuid(), nix::unistd::getegid());
    let one = write("setgroups", "deny")
        .and_then(|()| write("uid_map", &format!("{user} {user} 1")))
        .and_then(|()| write("gid_map", &format!("{group} {group} 1")));
    step("map the user of a user namespace", one)
}

/// Runs the keeper: this is its main function.
fn keep(keeper: Channel, init: Channel, inside: &Inside, leads_out: bool) -> i32 {
    // Ignore the signals that the terminal sends to all of its processes, because only the command should react to
    // them. The keeper exits when its parent exits.
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None);
    let room = user_namespace(&keeper)
        .and_then(|()| if leads_out { outer_room(&keeper, inside.mtu) } else { Ok(()) })
        .and_then(|()| step("create a process namespace", unshare(CloneFlags::CLONE_NEWPID)));
    let child = match room.and_then(|()| step("start a process", fork())) {
        Err(error) => {
            tell(&keeper, &error);
            return 1;
        }
        Ok(side) => side,
    };
    match child {
        Side::Child => {
            drop(keeper);
            finish(|| inside::run(&init, inside))
        }
        Side::Parent(child) => {
            drop(init);
            keeper::serve(&keeper);
            let _ = nix::sys::wait::waitpid(child, None);
            0
        }
    }
}

fn user_namespace(keeper: &Channel) -> Result<(), SetUpError> {
    let message = match unshare(CloneFlags::CLONE_NEWUSER) {
        Ok(()) => NAME_USERS,
        // User namespaces are forbidden, or this process runs in a chroot. Root can create network namespaces without a
        // user namespace.
        Err(_) if geteuid().is_root() => DONE,
        Err(error) => {
            let cause = match error {
                Errno::EPERM | Errno::ENOSPC | Errno::EUSERS => {
                    format!(
                        "{error}: this machine does not permit it (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces, \
                             kernel.apparmor_restrict_unprivileged_userns); root does not need it"
                    )
                }
                error => error.to_string(),
            };
            return Err(SetUpError { step: "create a user namespace".to_owned(), cause });
        }
    };
    step("send to the parent process", keeper.send(&[message], None))?;
    if step("receive from the parent process", keeper.receive())?.is_none() {
        return Err(SetUpError { step: "continue".to_owned(), cause: "the parent process has ended".to_owned() });
    }
    Ok(())
}

fn outer_room(keeper: &Channel, mtu: u32) -> Result<(), SetUpError> {
    let tun = room(mtu)?;
    let netlink = step("open netlink", Netlink::open())?;
    // Treat every address as local to the outer namespace, except the addresses of the inner namespace.
    step(
        "add a route for all addresses to the outer namespace",
        netlink.add_route("lo", IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0, Reach::Here),
    )?;
    step("add a route to the inner namespace", netlink.add_route(DEVICE, INSIDE.into(), 32, Reach::BehindFirst))?;
    set("ipv4/ip_nonlocal_bind", "1");
    // Ignore an error: if the kernel has no IPv6, the link carries no IPv6 either.
    let _ = netlink.add_route("lo", IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0, Reach::Here);
    let _ = netlink.add_route(DEVICE, INSIDE_V6.into(), 128, Reach::BehindFirst);
    set("ipv6/ip_nonlocal_bind", "1");
    step("pass on the device of the outer namespace", keeper.send(&[DONE], Some(tun.as_fd())))
}
