//! Processes: a copy of this one that does something else, and who may read and write the terminal.

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction, sigprocmask};
use nix::unistd::{ForkResult, Pid, getpgrp, tcgetpgrp, tcsetpgrp};
use std::io;
use std::os::fd::BorrowedFd;

/// Which of the two a process is after [`fork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Parent(Pid),
    Child,
}

/// Makes a copy of this process. The copy ends by [`finish`], and never returns to what its parent was about.
pub(crate) fn fork() -> io::Result<Side> {
    #[expect(unsafe_code, reason = "the child has only this thread: what others held stays as it was")]
    // SAFETY: the child allocates, which the C libraries that this runs on allow after a fork, and takes no lock that
    // another thread of the parent could have held.
    let forked = unsafe { nix::unistd::fork() }?;
    Ok(match forked {
        ForkResult::Parent { child } => Side::Parent(child),
        ForkResult::Child => Side::Child,
    })
}

/// Does the child's work and ends it with the code that this gives.
pub(crate) fn finish(work: impl FnOnce() -> i32) -> ! {
    let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(101);
    #[expect(unsafe_code, reason = "what the parent would do as it ends is not for the child to do")]
    // SAFETY: ends the process at once.
    unsafe {
        nix::libc::_exit(code)
    }
}

/// Makes this process' group the one that reads the terminal.
pub(crate) fn own_terminal(terminal: BorrowedFd<'_>) -> io::Result<()> {
    if tcgetpgrp(terminal)? == getpgrp() {
        return Ok(());
    }
    // Whoever is in the background is stopped for asking, unless it does not listen.
    let mut stopping = SigSet::empty();
    stopping.add(Signal::SIGTTOU);
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&stopping), Some(&mut before))?;
    let done = tcsetpgrp(terminal, getpgrp());
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?;
    Ok(done?)
}

/// Every signal does again what it does to a new program.
pub(crate) fn forget_signals() -> io::Result<()> {
    let usual = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in Signal::iterator().filter(|signal| !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP)) {
        #[expect(unsafe_code, reason = "a handler could be anything; this is none")]
        // SAFETY: the default action runs no code of this process.
        unsafe {
            sigaction(signal, &usual)?;
        }
    }
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    Ok(())
}

/// As long as it is there, this thread goes before what else the machine does, where its user may say so, and wakes as
/// exactly as it can; what it starts does not.
#[derive(Debug)]
pub(crate) struct Hurry(());

impl Hurry {
    pub fn begin() -> Hurry {
        // The kernel groups the timers of those who do not say how exact they must be.
        let _ = nix::sys::prctl::set_timerslack(1);
        schedule(nix::libc::SCHED_RR | nix::libc::SCHED_RESET_ON_FORK, 10);
        Hurry(())
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        schedule(nix::libc::SCHED_OTHER, 0);
        // Zero stands for what it was.
        let _ = nix::sys::prctl::set_timerslack(0);
    }
}

/// How this thread comes to its turn; nothing changes where its user may not say so.
fn schedule(policy: i32, urgency: i32) {
    let parameter = nix::libc::sched_param { sched_priority: urgency };
    #[expect(unsafe_code, reason = "no library that is used here has this call")]
    // SAFETY: the kernel reads the parameter during the call.
    let _ = unsafe { nix::libc::sched_setscheduler(0, policy, &raw const parameter) };
}

/// From now on this thread, and those that it starts, may do what any user may: the capabilities of root are gone for
/// good.
pub(crate) fn drop_privileges() -> io::Result<()> {
    keep_capabilities(0)
}

/// As [`drop_privileges`], but for what each verdict on a packet takes (CAP_NET_ADMIN).
pub(crate) fn keep_only_net_admin() -> io::Result<()> {
    const NET_ADMIN: u32 = 12;
    keep_capabilities(1 << NET_ADMIN)
}

/// Of the first 32 capabilities those whose bits are set, and no other.
fn keep_capabilities(kept: u32) -> io::Result<()> {
    /// The third version of the structures (capabilities(7)), for 64 capabilities.
    const VERSION: u32 = 0x2008_0522;
    nix::sys::prctl::set_no_new_privs()?;
    let header: [u32; 2] = [VERSION, 0];
    // Effective, permitted, inheritable; then those of the upper 32.
    let sets = [kept, kept, 0, 0, 0, 0];
    #[expect(unsafe_code, reason = "no library that is used here has this call")]
    // SAFETY: the kernel reads both structures during the call; they are as large as this version says.
    let done = unsafe { nix::libc::syscall(nix::libc::SYS_capset, header.as_ptr(), sets.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
