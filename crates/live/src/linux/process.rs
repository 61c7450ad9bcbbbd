//! Processes: forks, signals, scheduling, privileges, and the terminal's foreground process.

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction, sigprocmask};
use nix::unistd::{ForkResult, Pid, getpgrp, tcgetpgrp, tcsetpgrp};
use std::io;
use std::os::fd::BorrowedFd;

/// The process that a [`fork`] returned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Parent(Pid),
    Child,
}

/// Forks this process. The child must end with [`finish`] and never return to the parent's code.
pub(crate) fn fork() -> io::Result<Side> {
    #[expect(unsafe_code, reason = "the child has only this thread: locks of other threads stay locked")]
    // SAFETY: the child allocates, which the supported C libraries permit after a fork, and takes no lock that another
    // thread of the parent could have held.
    let forked = unsafe { nix::unistd::fork() }?;
    Ok(match forked {
        ForkResult::Parent { child } => Side::Parent(child),
        ForkResult::Child => Side::Child,
    })
}

/// Runs `work` in the child, then exits with the code that `work` returns.
pub(crate) fn finish(work: impl FnOnce() -> i32) -> ! {
    let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(101);
    #[expect(unsafe_code, reason = "the child must not run the destructors of the parent")]
    // SAFETY: `_exit` ends the process immediately and runs none of the parent's destructors or handlers.
    unsafe {
        nix::libc::_exit(code)
    }
}

/// Makes this process's group the foreground group of the terminal.
pub(crate) fn own_terminal(terminal: BorrowedFd<'_>) -> io::Result<()> {
    if tcgetpgrp(terminal)? == getpgrp() {
        return Ok(());
    }
    // tcsetpgrp(3): a background process that makes this call is stopped by SIGTTOU unless it blocks that signal.
    let mut stopping = SigSet::empty();
    stopping.add(Signal::SIGTTOU);
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&stopping), Some(&mut before))?;
    let done = tcsetpgrp(terminal, getpgrp());
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?;
    Ok(done?)
}

/// Restores the default action of every signal.
pub(crate) fn forget_signals() -> io::Result<()> {
    let usual = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in Signal::iterator().filter(|signal| !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP)) {
        #[expect(unsafe_code, reason = "a handler could run any code; the default action runs none")]
        // SAFETY: the default action of a signal runs no code of this process.
        unsafe {
            sigaction(signal, &usual)?;
        }
    }
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    Ok(())
}

/// Sets the thread's timer slack to 1 ns and, if permitted, its priority to real time. Dropping this value restores
/// the defaults.
#[derive(Debug)]
pub(crate) struct Hurry(());

impl Hurry {
    pub fn begin() -> Hurry {
        // The kernel delays timers by the timer slack, 50 µs by default. Set it to 1 ns.
        let _ = nix::sys::prctl::set_timerslack(1);
        schedule(nix::libc::SCHED_RR | nix::libc::SCHED_RESET_ON_FORK, 10);
        Hurry(())
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        schedule(nix::libc::SCHED_OTHER, 0);
        // 0 restores the default timer slack.
        let _ = nix::sys::prctl::set_timerslack(0);
    }
}

/// Sets the scheduling policy and priority of this thread. Has no effect if the user lacks the permission.
fn schedule(policy: i32, urgency: i32) {
    let parameter = nix::libc::sched_param { sched_priority: urgency };
    #[expect(unsafe_code, reason = "none of the libraries in use has this call")]
    // SAFETY: the kernel reads the parameter only during the call.
    let _ = unsafe { nix::libc::sched_setscheduler(0, policy, &raw const parameter) };
}

/// Drops root's capabilities permanently, for this thread and the threads that it starts later.
pub(crate) fn drop_privileges() -> io::Result<()> {
    keep_capabilities(0)
}

/// Like [`drop_privileges`], but keeps CAP_NET_ADMIN, which the kernel requires for each verdict on a packet.
pub(crate) fn keep_only_net_admin() -> io::Result<()> {
    const NET_ADMIN: u32 = 12;
    keep_capabilities(1 << NET_ADMIN)
}

/// Drops all capabilities except those whose bits are set in `kept`, which covers the first 32 capabilities.
fn keep_capabilities(kept: u32) -> io::Result<()> {
    /// _LINUX_CAPABILITY_VERSION_3 (capget(2)): sets of 64 bits.
    const VERSION: u32 = 0x2008_0522;
    // A setuid program started later must not regain privileges.
    nix::sys::prctl::set_no_new_privs()?;
    let header: [u32; 2] = [VERSION, 0];
    // The effective, permitted and inheritable sets: first their lower 32 bits, then their upper 32 bits.
    let sets = [kept, kept, 0, 0, 0, 0];
    #[expect(unsafe_code, reason = "none of the libraries in use has this call")]
    // SAFETY: the kernel reads both structures only during the call, and each has the size that `VERSION` requires.
    let done = unsafe { nix::libc::syscall(nix::libc::SYS_capset, header.as_ptr(), sets.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
