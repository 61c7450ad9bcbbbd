//! Files over FTP (RFC 959): a control connection with its dialogue, and a data connection for each file, which the
//! client opens (passive mode).
//!
//! What is said on the control connection is real text, one command a round trip, so that a capture of a run shows it
//! and a file comes as much later as a login and its commands take. A file is octets without a meaning.
//!
//! Leaves out: active mode, ports of data connections (all of a flow go to its one port; the reply to PASV names none,
//! and what opens after it is the data connection), refusals, and the time that programs and disks take.

mod client;
mod config;
mod server;
mod session;

pub use client::FtpClient;
pub use config::FtpConfig;
pub use server::FtpServer;

use crate::config::pair;
use crate::{AppError, AppPair, AppSettings, FlowContext, RunApplications, Side};

impl AppSettings for FtpConfig {
    fn build(&self, _flow: &FlowContext, _own: &RunApplications) -> Result<AppPair, AppError> {
        let (client, server) = (FtpClient::new(*self), FtpServer::new(*self));
        Ok(match self.store {
            true => pair(client, server, Side::To, false),
            false => pair(server, client, Side::From, false),
        })
    }
}
