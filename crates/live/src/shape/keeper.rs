//! A process that removes rules when the process that set them exits, for whatever reason.

use super::rules::Rules;
use crate::linux::{Channel, Side, finish, fork};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::unistd::Pid;
use std::io;

/// A process that waits for this process to exit and then removes the rules. The keeper retains the necessary
/// privileges after this process has dropped its own.
///
/// Before [`Keeper::arm`] the keeper removes nothing, because the rules may still belong to another process.
#[derive(Debug)]
pub(crate) struct Keeper {
    channel: Option<Channel>,
    pid: Pid,
}

impl Keeper {
    /// Starts the keeper before this process opens other descriptors, so that the keeper inherits none.
    pub fn start(rules: Rules) -> io::Result<Keeper> {
        let (channel, end) = Channel::pair()?;
        match fork()? {
            Side::Child => {
                // Close the parent's end in the child, so that the parent's death closes the channel.
                drop(channel);
                finish(|| {
                    // Ignore the signals that the terminal sends to all of its processes: only the parent should react
                    // to them.
                    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None);
                    // The first message arms the keeper. The second receive returns when the parent's end is closed.
                    let Ok(Some(_)) = end.receive() else { return 0 };
                    let _ = end.receive();
                    i32::from(rules.remove().is_err())
                })
            }
            Side::Parent(pid) => Ok(Keeper { channel: Some(channel), pid }),
        }
    }

    /// Arms the keeper: the rules now belong to this process, and the keeper removes them when this process exits.
    pub fn arm(&self) -> io::Result<()> {
        self.channel.as_ref().map_or(Ok(()), |channel| channel.send(b"+", None))
    }

    /// Makes the keeper remove the rules now, and waits until they are removed.
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
