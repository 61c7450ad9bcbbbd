//! File transfers over FTP (RFC 959) in passive mode: a control connection for commands and replies, and one data
//! connection for each file, opened by the client.
//!
//! The control connection carries real text, one command per round trip. A capture of a run therefore shows the
//! commands, and each file is delayed by the login and its commands. The files themselves have no contents.
//!
//! Left out: active mode, refusals, the time that programs and disks take, and separate ports for data connections. All
//! connections of a flow use its one port. The reply to PASV names no port, and the next connection is taken as the
//! data connection.

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
