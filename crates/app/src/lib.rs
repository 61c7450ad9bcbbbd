//! Applications: the traffic that a flow's two ends send and receive through their sockets.
//!
//! An [`Application`] is a state machine without a clock or I/O. A host calls the application when one of its sockets
//! has changed or its timeout has expired. The application acts through [`Sockets`]. A flow is a pair of applications
//! ([`AppPair`]): one at the data sender, one at the data receiver.
//!
//! Left out: processing time, files, TLS.
//!
//! # Examples
//!
//! ```
//! use lopsided_app::{AppConfig, FlowContext, HttpConfig, Opening, RunApplications, Side};
//! use lopsided_core::Time;
//!
//! let app = AppConfig::new(HttpConfig { objects: 30, ..HttpConfig::default() });
//! let flow = FlowContext { name: "web".into(), start: Time::ZERO, stop: Time::MAX, opening: Opening::Sender };
//! let pair = app.build(&flow, &RunApplications::default())?;
//! assert_eq!(pair.listener, Side::From, "the server sends the data and waits for the client");
//! # Ok::<(), lopsided_app::AppError>(())
//! ```

#![deny(missing_docs)]

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
