//! A process that takes rules away when the one that set them is gone, however that came about.

use super::rules::Rules;
use crate::linux::{Channel, Side, finish, fork};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::unistd::Pid;
use std::io;

/// Waits for the end of this process, with the privileges that this one then gives up.
#[derive(Debug)]
pub(crate) struct Keeper {
    channel: Option<Channel>,
    pid: Pid,
}

impl Keeper {
    /// Starts it. What this process opens from now on is not held by it.
    pub fn start(rules: Rules) -> io::Result<Keeper> {
        let (channel, end) = Channel::pair()?;
        match fork()? {
            Side::Child => {
                drop(channel);
                finish(|| {
                    // What ends a terminal's processes is for its parent.
                    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None);
                    // Nothing is ever said: this waits for the end.
                    let _ = end.receive();
                    i32::from(rules.remove().is_err())
                })
            }
            Side::Parent(pid) => Ok(Keeper { channel: Some(channel), pid }),
        }
    }

    /// Lets it take the rules away now, and waits for that.
    pub fn end(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        if self.channel.take().is_some() {
            let _ = nix::sys::wait::waitpid(self.pid, None);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.finish();
    }
}
