//! File transfers over FTP (RFC 959) in passive mode. The client opens a control connection for commands and replies,
//! and one data connection per file.
//!
//! The control connection carries real text, and each command takes a round trip. The files have no contents.
//!
//! Left out: active mode, error replies, processing time, and disk access time. Data connections do not use separate
//! ports: the server treats the connection after PASV as the data connection.

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
