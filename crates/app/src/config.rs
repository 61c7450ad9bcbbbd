//! Applications as plain data, and those of a user's own.

use crate::{
    AppPair, Application, DatagramReceiver, DatagramSender, HttpClient, HttpConfig, HttpServer, Receiver, Sender, Side,
    Transfer,
};
use lopsided_core::{BitRate, Bytes, Time};
use std::fmt;
use std::sync::Arc;

/// What a flow's two ends do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppConfig {
    Transfer(Transfer),
    /// Datagrams at a constant rate; `rate` and `size` count whole IP packets.
    Datagrams {
        rate: BitRate,
        size: Bytes,
    },
    Http(HttpConfig),
    /// One of the run's own, by name.
    Custom(String),
}

/// What an application is told of its flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowContext {
    pub name: String,
    pub start: Time,
    /// When the flow ends; at the latest the end of the run.
    pub stop: Time,
}

/// Why there is no application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppError {
    /// No application has this name.
    Unknown(String),
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AppError::Unknown(name) => write!(f, "there is no application {name:?}: none was given under this name"),
        }
    }
}

impl std::error::Error for AppError {}

impl AppConfig {
    /// The two applications of one flow.
    pub fn build(&self, flow: &FlowContext, own: &Applications) -> Result<AppPair, AppError> {
        let pair = match self {
            AppConfig::Transfer(transfer) => {
                pair(Sender::new(*transfer), Receiver::new(transfer.size()), Side::To, false)
            }
            AppConfig::Datagrams { rate, size } => {
                pair(DatagramSender::new(*rate, *size, flow.stop), DatagramReceiver, Side::To, true)
            }
            AppConfig::Http(config) => {
                pair(HttpServer::new(config.multiplexed), HttpClient::new(*config), Side::From, false)
            }
            AppConfig::Custom(name) => own.get(name).ok_or_else(|| AppError::Unknown(name.clone()))?(flow),
        };
        Ok(pair)
    }
}

fn pair(from: impl Application + 'static, to: impl Application + 'static, listener: Side, datagrams: bool) -> AppPair {
    AppPair { from: Box::new(from), to: Box::new(to), listener, datagrams }
}

/// Makes the two applications of a flow.
pub type AppFactory = Arc<dyn Fn(&FlowContext) -> AppPair + Send + Sync>;

/// Applications of a user's own, by name.
#[derive(Clone, Default)]
pub struct Applications {
    named: Vec<(String, AppFactory)>,
}

impl Applications {
    /// Adds one, or replaces that of the same name.
    pub fn add(&mut self, name: &str, factory: AppFactory) {
        self.named.retain(|(known, _)| known != name);
        self.named.push((name.to_owned(), factory));
    }

    pub fn get(&self, name: &str) -> Option<&AppFactory> {
        self.named.iter().find(|(known, _)| known == name).map(|(_, factory)| factory)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }
}

impl fmt::Debug for Applications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
