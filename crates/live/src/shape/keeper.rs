//! A process that removes rules when the process that set them ends, for whatever reason.

use super::rules::Rules;
use crate::linux::{Channel, Side, finish, fork};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::unistd::Pid;
use std::io;

/// Waits for the end of this process, with the privileges that this one then gives up.
///
/// It removes nothing before [`Keeper::arm`]: until then the rules may be those of another process.
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
                    // The first message arms it. It has one end: that of the parent's channel.
                    let Ok(Some(_)) = end.receive() else { return 0 };
                    let _ = end.receive();
                    i32::from(rules.remove().is_err())
                })
            }
            Side::Parent(pid) => Ok(Keeper { channel: Some(channel), pid }),
        }
    }

    /// From now on the rules are this process' own: the keeper removes them when this process ends.
    pub fn arm(&self) -> io::Result<()> {
        self.channel.as_ref().map_or(Ok(()), |channel| channel.send(b"+", None))
    }

    /// Lets it remove the rules now, and waits until they are gone.
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
