//! Applications: what a flow's two ends do with their sockets.
//!
//! An [`Application`] is a state machine without a clock or I/O. The host that runs it calls it when a socket changed
//! or its time has come, and hands it [`Sockets`] to act through: the simulator's host implements them with its own
//! TCP. A flow is a pair of applications ([`AppPair`]): one at the sender of data, one at the receiver.
//!
//! Leaves out: processing time, files, TLS.

mod application;
mod bulk;
mod config;
mod datagrams;
mod ftp;
mod http;
mod kinds;
mod rdra;
mod repair;
mod transport;

pub use application::{AppPair, Application, CloseReason, OnReady, Report, Side, SocketEvent, SocketId, Sockets};
pub use bulk::{Asker, BulkConfig, OnOffConfig, Receiver, Sender, Transfer, TransferConfig};
pub use config::{AppConfig, AppError, AppFactory, AppSettings, CustomConfig, FlowContext, Opening, RunApplications};
pub use datagrams::{DatagramConfig, DatagramReceiver, DatagramSender};
pub use ftp::{FtpClient, FtpConfig, FtpServer};
pub use http::{HttpClient, HttpConfig, HttpServer};
pub use kinds::{APPS, register};
pub use rdra::{RdraClient, RdraConfig};
pub use repair::{RepairClient, RepairConfig};
pub use transport::{Datagram, Transport, TransportEnd, TransportInfo, TransportSettings};
