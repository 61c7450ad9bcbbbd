//! A descriptor that becomes readable when a terminating signal arrives. The signal then does not end the program.

use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Until this value is dropped, Ctrl-C and similar signals are read from the descriptor instead of ending the process.
#[derive(Debug)]
pub(crate) struct Ending {
    signals: SignalFd,
    before: SigSet,
}

impl Ending {
    pub fn begin() -> io::Result<Ending> {
        let (mut before, mut ending) = (SigSet::empty(), SigSet::empty());
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            ending.add(signal);
        }
        pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&ending), Some(&mut before))?;
        let signals = SignalFd::with_flags(&ending, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Ending { signals, before })
    }

    /// Reads all pending signals. An unread signal would end the process when this value is dropped.
    pub fn take(&self) -> io::Result<()> {
        while self.signals.read_signal()?.is_some() {}
        Ok(())
    }
}

impl AsFd for Ending {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}
