//! Process 1 of the inner namespace. It starts the command, waits for the end of the command, and forwards signals. The
//! exit of process 1 ends all other processes in the namespace.

use super::room::{DONE, Inside, SetUpError, inner_room, step, tell};
use crate::linux::{Channel, Side, finish, forget_signals, fork, own_terminal};
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, killpg, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, setpgid};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// First byte of the message that carries the command's exit code.
pub(super) const EXITED: u8 = b'x';

/// Name of the step that starts the server, for [`SetUpError`].
pub(super) const START_SERVER: &str = "start the server at the far end";

/// Exit codes that shells use if a program is not found or not executable.
const NOT_FOUND: i32 = 127;
const NOT_RUN: i32 = 126;

/// A server that has opened no port after this time, in milliseconds, counts as failed.
const OPENS_WITHIN_MS: i32 = 10_000;
/// Interval in milliseconds at which process 1 checks whether the server has opened a port.
const LOOKS_EVERY_MS: u8 = 10;

pub(super) fn run(parent: &Channel, inside: &Inside) -> i32 {
    if let Err(error) = prepare(parent, inside) {
        tell(parent, &error);
        return 1;
    }
    match parent.receive() {
        Ok(Some((message, _))) if message == [DONE] => {}
        _ => return 1,
    }
    let Ok(code) = live(parent, inside) else { return 1 };
    let _ = parent.send(&[EXITED, code], None);
    i32::from(code)
}

fn prepare(parent: &Channel, inside: &Inside) -> Result<(), SetUpError> {
    step("create a mount namespace", unshare(CloneFlags::CLONE_NEWNS))?;
    let tun = inner_room(inside.mtu, inside.addresses)?;
    let none: Option<&str> = None;
    step("make mounts private", mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none))?;
    // If a container hides parts of /proc, the kernel forbids mounting /proc again. The command then also sees the
    // processes outside its namespace.
    let _ =
        mount(Some("proc"), "/proc", Some("proc"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC, none);
    if let Some(file) = &inside.resolv_conf {
        let target = Path::new("/etc/resolv.conf");
        // If this mount fails, the resolver may use 127.0.0.1, at which no name server listens in the inner namespace.
        // The emulation continues without name resolution.
        let _ = mount(Some(file.as_path()), target, none, MsFlags::MS_BIND, none);
        let _ = std::fs::remove_file(file);
    }
    step("pass on the device of the inner namespace", parent.send(&[DONE], Some(tun.as_fd())))
}

/// Starts the command and waits until it ends. Returns its exit code.
fn live(parent: &Channel, inside: &Inside) -> io::Result<u8> {
    let mut ending = SigSet::empty();
    ending.add(Signal::SIGCHLD);
    // Process 1 must survive every signal: if it dies, the kernel kills the whole namespace.
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None)?;
    let signals = SignalFd::with_flags(&ending, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let command = match fork()? {
        Side::Child => finish(|| become_command(inside)),
        Side::Parent(pid) => pid,
    };
    // Number of checks until the server counts as failed; `None` once the server has opened a port.
    let mut looks = inside.serves.then_some(OPENS_WITHIN_MS / i32::from(LOOKS_EVERY_MS));
    loop {
        if let Some(left) = looks {
            looks = Some(left - 1);
            if has_open_port() {
                parent.send(&[DONE], None)?;
                looks = None;
            } else if left == 0 {
                let cause = format!("it opened no port within {} s", OPENS_WITHIN_MS / 1000);
                tell(parent, &SetUpError { step: START_SERVER.to_owned(), cause });
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        let mut waits =
            [PollFd::new(signals.as_fd(), PollFlags::POLLIN), PollFd::new(parent.as_fd(), PollFlags::POLLIN)];
        poll(&mut waits, looks.map_or(PollTimeout::NONE, |_| LOOKS_EVERY_MS.into()))?;
        let is_readable = waits[1].any().unwrap_or(true);
        while signals.read_signal()?.is_some() {}
        if let Some(code) = reap(command)? {
            return Ok(code);
        }
        if is_readable {
            match parent.receive()? {
                // The parent process has ended. When this process exits, the kernel kills all other processes in the
                // namespace.
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some((message, _)) => {
                    let signal = message.first().and_then(|number| Signal::try_from(i32::from(*number)).ok());
                    signal.map_or(Ok(()), |signal| kill(command, signal))?;
                }
            }
        }
    }
}

/// Returns true if this namespace has a listening TCP socket, or a UDP socket without a peer (Linux's
/// proc_net_tcp.txt).
fn has_open_port() -> bool {
    const LISTENING: &str = "0A";
    let any = |table: &str, is_open: fn(&[&str]) -> bool| {
        let text = std::fs::read_to_string(format!("/proc/self/net/{table}")).unwrap_or_default();
        // Fields: number, local address, remote address, state.
        text.lines().skip(1).any(|line| is_open(&line.split_whitespace().take(4).collect::<Vec<_>>()))
    };
    ["tcp", "tcp6"].into_iter().any(|table| any(table, |fields| fields.get(3) == Some(&LISTENING)))
        || ["udp", "udp6"]
            .into_iter()
            .any(|table| any(table, |fields| fields.get(2).is_some_and(|to| to.ends_with(":0000"))))
}

/// Reaps ended children. Returns the command's exit code if the command is among them.
fn reap(command: Pid) -> io::Result<Option<u8>> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED)) {
            Ok(WaitStatus::StillAlive) | Err(nix::errno::Errno::ECHILD) => return Ok(None),
            Ok(WaitStatus::Exited(pid, code)) if pid == command => return Ok(Some(code as u8)),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == command => return Ok(Some(128 + signal as u8)),
            // No process outside the namespace could continue a stopped command, so continue it here.
            Ok(WaitStatus::Stopped(pid, _)) if pid == command => {
                let _ = killpg(pid, Signal::SIGCONT);
            }
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn become_command(inside: &Inside) -> i32 {
    let input = io::stdin();
    if !inside.serves && input.is_terminal() && setpgid(Pid::from_raw(0), Pid::from_raw(0)).is_ok() {
        let _ = own_terminal(input.as_fd());
    }
    // The command must not inherit the blocked signals of process 1.
    let _ = forget_signals();
    let Some((program, arguments)) = inside.command.split_first() else { return NOT_FOUND };
    let mut command = Command::new(program);
    if inside.serves {
        command.stdin(Stdio::null());
    }
    let error = command.args(arguments).env("LOPSIDED_GATEWAY", super::room::GATEWAY.to_string()).exec();
    let program = Path::new(program).display();
    if error.kind() == io::ErrorKind::NotFound {
        eprintln!("error: cannot run {program}: no program of this name is installed");
        return NOT_FOUND;
    }
    eprintln!("error: cannot run {program}: {error}");
    NOT_RUN
}
