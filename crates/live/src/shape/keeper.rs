//! A process that sets rules for another process, and removes them when the other process exits for any reason.

use super::rules::{Rules, RulesError};
use crate::linux::{Channel, MOST, Side, finish, fork};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::unistd::Pid;
use std::io;

/// Request to set the rules, and the reply that confirms that they are set. Any other reply is a [`refusal`].
const SET: &[u8] = b"+";
/// Message that ends the keeper.
const END: &[u8] = b"-";

/// Formats a reply that lists the failed tools. Each line contains a tool and its error message.
fn refusal(tried: &[(String, String)]) -> Vec<u8> {
    let lines: Vec<String> = tried.iter().map(|(tool, failure)| format!("{tool}\t{failure}")).collect();
    let mut answer = lines.join("\n").into_bytes();
    answer.truncate(MOST);
    answer
}

/// Parses the reply that [`refusal`] formats. Returns each failed tool with its error message.
fn tried(answer: &[u8]) -> Vec<(String, String)> {
    let answer = String::from_utf8_lossy(answer);
    answer
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(tool, failure)| (tool.into(), failure.into()))
        .collect()
}

/// A process that sets the rules, and removes them when this process exits. It keeps the privileges that are needed to
/// remove them.
///
/// Before [`Keeper::set`] the keeper changes nothing, because the rules may still belong to another process.
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
                    // The parent's first message requests the rules. The second call of `receive` returns at the
                    // parent's next message, or when the parent's end is closed.
                    match end.receive() {
                        Ok(Some((message, _))) if message == SET => {}
                        _ => return 0,
                    }
                    // The keeper sets the rules, not the parent. If the parent were killed while a tool sets the rules,
                    // the tool would finish after the keeper has removed them.
                    let answer = match rules.add() {
                        Ok(()) => SET.to_vec(),
                        Err(RulesError::Refused(tried)) => refusal(&tried),
                        Err(error) => refusal(&[(String::new(), error.to_string())]),
                    };
                    let _ = end.send(&answer, None);
                    let _ = end.receive();
                    rules.remove();
                    0
                })
            }
            Side::Parent(pid) => Ok(Keeper { channel: Some(channel), pid }),
        }
    }

    /// Makes the keeper set the rules, and waits until they are set.
    ///
    /// # Errors
    /// Returns an error if no tool could set the rules, or the keeper was killed.
    pub fn set(&self) -> Result<(), RulesError> {
        let lost = || RulesError::Refused(vec![("keeper".to_owned(), "its process was killed".to_owned())]);
        let channel = self.channel.as_ref().ok_or_else(lost)?;
        channel.send(SET, None).map_err(|_| lost())?;
        match channel.receive() {
            Ok(Some((answer, _))) if answer == SET => Ok(()),
            Ok(Some((answer, _))) => Err(RulesError::Refused(tried(&answer))),
            _ => Err(lost()),
        }
    }

    /// Makes the keeper remove the rules now, and waits until they are removed.
    pub fn end(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        if let Some(channel) = self.channel.take() {
            // Closing the channel is not sufficient, because the keeper of a later endpoint of this process has
            // inherited a copy of this end.
            let _ = channel.send(END, None);
            drop(channel);
            let _ = nix::sys::wait::waitpid(self.pid, None);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.finish();
    }
}
